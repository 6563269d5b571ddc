"""The demo's second part: SciPy and scikit-learn as one calls them with NumPy's arrays, and the data.

Every step is a function of arrays and knows nothing of the library that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def mixture(pixels: Any) -> Any:
    """Groups of pixels that look alike: sky, roofs, leaves, shadow."""
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(
        4, covariance_type="diag", tol=0.01, init_params="random_from_data", random_state=0
    )
    return model.fit_predict(pixels)


def bayes(pixels: Any, groups: Any) -> Any:
    """How likely each pixel is in each group, by naive Bayes."""
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB().fit(pixels, groups).predict_proba(pixels)


def loss(groups: Any, likely: Any) -> Any:
    """How well these likelihoods foretell the groups."""
    from sklearn.metrics import log_loss

    return log_loss(groups, likely)


def regression(pixels: Any, groups: Any) -> Any:
    """Which pixels are sky, by logistic regression."""
    from sklearn.linear_model import LogisticRegression

    sky = groups == groups[0]
    return LogisticRegression().fit(pixels, sky.astype(groups.dtype)).predict_proba(pixels)


def components(patches: Any) -> Any:
    """Each patch by ten numbers: the principal components of all."""
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    standardized = StandardScaler().fit_transform(patches)
    return PCA(10, svd_solver="covariance_eigh").fit_transform(standardized)


def standard_scores(patches: Any) -> Any:
    """Each patch with its brightness and contrast taken out."""
    from scipy import stats

    return stats.zscore(patches, axis=1)


def description(patches: Any) -> Any:
    """Mean, variance, skewness and kurtosis of each patch."""
    from scipy import stats

    found = stats.describe(patches, axis=1)
    return found.mean, found.variance, found.skewness, found.kurtosis


def test(patches: Any) -> Any:
    """Which patches are brighter or darker than the middle: a t-test each."""
    from scipy import stats

    found = stats.ttest_1samp(patches, 0.5, axis=1)
    return found.statistic, found.pvalue


def entropy(patches: Any) -> Any:
    """How much there is to see in each patch."""
    from scipy import stats

    return stats.differential_entropy(patches, axis=1)


def light(photo: Any) -> Any:
    """How much light each row has up to each of its points, by Simpson's rule."""
    from scipy.integrate import cumulative_simpson

    return cumulative_simpson(photo, axis=1)


def blur(photo: Any) -> Any:
    """The photograph through a Gaussian window."""
    from scipy.signal import fftconvolve
    from scipy.signal.windows import gaussian

    xp = photo.__array_namespace__()
    bell = gaussian(31, 4.0, xp=xp)
    kernel = bell[:, None] * bell[None, :]
    return fftconvolve(photo, kernel / xp.sum(kernel), mode="same")


@dataclass(frozen=True)
class Step:
    """A function of the data and of earlier results, by name; `gives` names its results."""

    function: Callable[..., Any]
    title: str
    needs: tuple[str, ...]
    gives: tuple[str, ...]


STEPS = (
    Step(mixture, "GaussianMixture", ("pixels",), ("groups",)),
    Step(bayes, "GaussianNB", ("pixels", "groups"), ("likely",)),
    Step(loss, "log_loss", ("groups", "likely"), ("loss",)),
    Step(regression, "LogisticRegression", ("pixels", "groups"), ("sky",)),
    Step(components, "StandardScaler, PCA", ("patches",), ("components",)),
    Step(standard_scores, "stats.zscore", ("patches",), ("z",)),
    Step(description, "stats.describe", ("patches",), ("mean", "variance", "skewness", "kurtosis")),
    Step(test, "stats.ttest_1samp", ("patches",), ("t", "p")),
    Step(entropy, "stats.differential_entropy", ("patches",), ("entropy",)),
    Step(light, "integrate.cumulative_simpson", ("photo",), ("light",)),
    Step(blur, "signal.fftconvolve", ("photo",), ("blurred",)),
)


def photograph(quick: bool) -> np.ndarray:
    """Return scikit-learn's photograph, as large as a camera's."""
    from PIL import Image
    from sklearn.datasets import load_sample_image

    image = Image.fromarray(load_sample_image("china.jpg"))
    return np.asarray(image if quick else image.resize((6 * image.width, 6 * image.height)))


def load(picture: np.ndarray, quick: bool) -> dict[str, np.ndarray]:
    """Return the photograph in grey, its pixels by colour, and its patches of 8 x 8 as rows.

    A little noise, as a sensor has it, keeps patches of the sky from being all of one value.
    """
    from PIL import Image

    image = Image.fromarray(picture)
    width, height = (64, 42) if quick else (640, 427)
    colours = np.asarray(image.resize((width, height))) / 255
    grey = colours.mean(axis=2)
    noisy = grey + np.random.default_rng(0).normal(scale=0.01, size=grey.shape)
    patches = np.lib.stride_tricks.sliding_window_view(noisy, (8, 8))[:, ::2]
    return {
        "photo": np.asarray(image.convert("L").resize((4 * width, 4 * height))) / 255,
        "pixels": np.ascontiguousarray(colours.reshape(-1, 3)),
        "patches": patches.reshape(-1, 64),
    }
