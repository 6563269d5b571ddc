"""What the demo runs: code as one writes it for NumPy, and the data that it runs on.

Every step is a function of arrays and knows nothing of the library that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def standardize(digits: Any) -> Any:
    """Each pixel to mean 0 and variance 1."""
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit_transform(digits)


def components(standardized: Any) -> Any:
    """The first twenty principal components."""
    from sklearn.decomposition import PCA

    return PCA(n_components=20, svd_solver="full").fit_transform(standardized)


def mixture(scores: Any) -> Any:
    """Groups of digits by a Gaussian mixture."""
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(10, covariance_type="diag", init_params="random_from_data", random_state=0)
    return model.fit_predict(scores)


def discriminants(scores: Any, labels: Any) -> Any:
    """A projection that separates the digits, and how many of them it classifies right."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.metrics import accuracy_score

    model = LinearDiscriminantAnalysis().fit(scores, labels)
    return model.transform(scores), accuracy_score(labels, model.predict(scores))


def probabilities(scores: Any, labels: Any) -> Any:
    """Which digit each image is, as probabilities."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=0.1).fit(scores, labels).predict_proba(scores)


def centroids(digits: Any) -> Any:
    """Ten clusters by k-means, from the first ten images."""
    from scipy.cluster.vq import kmeans2

    return kmeans2(digits, digits[:10, :], minit="matrix")


def moments(digits: Any) -> Any:
    """The shape of each image's distribution of ink."""
    from scipy import stats

    return stats.skew(digits, axis=1), stats.kurtosis(digits, axis=1)


def standard_scores(digits: Any) -> Any:
    """Each image with its mean and contrast taken out."""
    from scipy import stats

    return stats.zscore(digits, axis=1)


def differences(digits: Any, labels: Any) -> Any:
    """Where threes and eights differ: Welch's t-test, pixel by pixel."""
    from scipy import stats

    test = stats.ttest_ind(digits[labels == 3], digits[labels == 8], equal_var=False)
    return test.statistic, test.pvalue


def interval(digits: Any) -> Any:
    """A bootstrap confidence interval of the mean amount of ink."""
    from scipy import stats

    xp = digits.__array_namespace__()
    ink = xp.mean(digits, axis=1)
    found = stats.bootstrap((ink,), xp.mean, n_resamples=999, rng=np.random.default_rng(0))
    return found.confidence_interval.low, found.confidence_interval.high


def blur(photo: Any) -> Any:
    """The photograph through a Gaussian window."""
    from scipy.signal import fftconvolve
    from scipy.signal.windows import gaussian

    xp = photo.__array_namespace__()
    bell = gaussian(31, 4.0, xp=xp)
    kernel = bell[:, None] * bell[None, :]
    return fftconvolve(photo, kernel / xp.sum(kernel), mode="same")


def envelope(photo: Any) -> Any:
    """The envelope of each row, as a signal."""
    from scipy.signal import detrend, hilbert

    xp = photo.__array_namespace__()
    return xp.abs(hilbert(detrend(photo, axis=1), axis=1))


def spectrum(photo: Any) -> Any:
    """The logarithmic spectrum of the photograph."""
    from scipy import fft

    xp = photo.__array_namespace__()
    return xp.log1p(xp.abs(fft.fftshift(fft.fft2(photo))))


def exposure(photo: Any) -> Any:
    """For each pixel, the light that a film would have needed: 273,280 equations solved at once."""
    from scipy.optimize.elementwise import find_root

    xp = photo.__array_namespace__()
    bounds = xp.zeros_like(photo), xp.full_like(photo, 4.0)
    return find_root(
        lambda light, seen: 1 - xp.exp(-light) * (1 + light / 3) - 0.9 * seen, bounds, args=(photo,)
    ).x


def sharpen(photo: Any, blurred: Any) -> Any:
    """Unsharp masking, a tone curve and a vignette: an expression of one's own."""
    xp = photo.__array_namespace__()
    detail = photo - blurred
    edges = xp.tanh(6 * detail) * xp.exp(-4 * detail**2)
    bright = xp.clip(photo + 0.6 * edges, 0.0, 1.0)
    curve = bright**2 * (3 - 2 * bright)
    rows, columns = photo.shape
    y = xp.linspace(-1, 1, rows, dtype=photo.dtype)[:, None]
    x = xp.linspace(-1, 1, columns, dtype=photo.dtype)[None, :]
    return xp.where(curve > 0.5, curve, 0.5 * (curve + bright)) * (1 - 0.25 * (x**2 + y**2))


@dataclass(frozen=True)
class Step:
    """A function of the data and of earlier results, by name; `gives` names its results."""

    function: Callable[..., Any]
    title: str
    needs: tuple[str, ...]
    gives: tuple[str, ...]


STEPS = (
    Step(standardize, "StandardScaler", ("digits",), ("standardized",)),
    Step(components, "PCA", ("standardized",), ("scores",)),
    Step(mixture, "GaussianMixture", ("scores",), ("groups",)),
    Step(discriminants, "LinearDiscriminantAnalysis", ("scores", "labels"), ("plane", "accuracy")),
    Step(probabilities, "LogisticRegression", ("scores", "labels"), ("probabilities",)),
    Step(centroids, "scipy.cluster.vq.kmeans2", ("digits",), ("centroids", "nearest")),
    Step(moments, "scipy.stats.skew, kurtosis", ("digits",), ("skew", "kurtosis")),
    Step(standard_scores, "scipy.stats.zscore", ("digits",), ("z",)),
    Step(differences, "scipy.stats.ttest_ind", ("digits", "labels"), ("t", "p")),
    Step(interval, "scipy.stats.bootstrap", ("digits",), ("low", "high")),
    Step(blur, "scipy.signal.fftconvolve", ("photo",), ("blurred",)),
    Step(envelope, "scipy.signal.detrend, hilbert", ("photo",), ("envelope",)),
    Step(spectrum, "scipy.fft.fft2", ("photo",), ("spectrum",)),
    Step(exposure, "scipy.optimize…find_root", ("photo",), ("light",)),
    Step(sharpen, "array code of one's own", ("photo", "blurred"), ("sharp",)),
)


def load(quick: bool) -> tuple[dict[str, np.ndarray], str]:
    """Return the data by name, and a line that says what they are.

    Both come with scikit-learn: 1,797 handwritten digits of 8 x 8 pixels, and a photograph, which needs
    Pillow to be read; without it the digits, side by side, are the picture.
    """
    from sklearn.datasets import load_digits, load_sample_image

    digits, labels = load_digits(return_X_y=True)
    try:
        photo = load_sample_image("china.jpg").mean(axis=2) / 255
        about = "1,797 handwritten digits, one photograph"
    except ImportError:
        photo = np.block([[digits[40 * i + j].reshape(8, 8) for j in range(40)] for i in range(40)]) / 16
        about = "1,797 handwritten digits, also as one picture (for a photograph, install Pillow)"
    if quick:
        digits, labels, photo = digits[:300], labels[:300], np.ascontiguousarray(photo[::5, ::5])
    return {"digits": digits, "labels": labels, "photo": photo}, about
