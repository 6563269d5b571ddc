"""SciPy's compiled filters, whose work threads share."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._namespace.interop import threaded

ndimage = pytest.importorskip("scipy.ndimage")
signal = pytest.importorskip("scipy.signal")
sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")
distance = pytest.importorskip("scipy.spatial.distance")
stats = pytest.importorskip("scipy.stats")

Counted = list[int]


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """Have three threads share the smallest work, and count in how many parts each call is cut."""
    counted: Counted = []

    def spread(work: Any, blocks: list[Any], **options: Any) -> Any:
        counted.append(len(blocks))
        return behind(work, blocks, **options)

    behind = threaded.spread
    monkeypatch.setattr(threaded, "spread", spread)
    monkeypatch.setattr(threaded, "_STEPS", 1)
    with xp.config(threads=3):
        yield counted


def image(*shape: int, dtype: Any = float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 50
    return x + 1j * rng.standard_normal(shape) if dtype is complex else x.astype(dtype)


def like(x: Any, values: Any) -> Any:
    """Return an array of the namespace of `x`: SciPy takes no two of them in one call."""
    return x.__array_namespace__().asarray(values)


DISK = ndimage.generate_binary_structure(2, 1)
SOS = signal.butter(4, 0.2, output="sos")
MATRIX = sparse.random(300, 40, density=0.2, format="csr", random_state=0)
SQUARE = MATRIX.T @ MATRIX + sparse.eye(40) * 50
PLACES = np.random.default_rng(1).uniform(-5, 70, (2, 40, 30))

Call = Callable[[Any], Any]
# Calls with images of 60 x 50.
FILTERS: dict[str, Call] = {
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 2.0),
    "gaussian_filter, two widths": lambda x: ndimage.gaussian_filter(x, (1.0, 3.0), order=(0, 1)),
    "gaussian_filter, one axis": lambda x: ndimage.gaussian_filter(x, 2.0, axes=(1,)),
    "gaussian_filter1d": lambda x: ndimage.gaussian_filter1d(x, 1.5, axis=0),
    "uniform_filter": lambda x: ndimage.uniform_filter(x, 4),
    "sobel": lambda x: ndimage.sobel(x),
    "laplace": lambda x: ndimage.laplace(x),
    "gaussian_laplace": lambda x: ndimage.gaussian_laplace(x, 1.0),
    "convolve": lambda x: ndimage.convolve(x, like(x, np.arange(12.0).reshape(4, 3)), origin=(1, -1)),
    "correlate1d": lambda x: ndimage.correlate1d(x, like(x, [1.0, 2.0, -1.0, 0.5]), axis=1, origin=-1),
}
# Of real numbers.
REAL: dict[str, Call] = {
    "median_filter": lambda x: ndimage.median_filter(x, 3),
    "rank_filter": lambda x: ndimage.rank_filter(x, 2, footprint=like(x, np.tri(3)), origin=(1, 0)),
    "maximum_filter": lambda x: ndimage.maximum_filter(x, 5),
    "minimum_filter, footprint": lambda x: ndimage.minimum_filter(x, footprint=like(x, np.tri(4)), origin=-1),
    "grey_closing": lambda x: ndimage.grey_closing(x, structure=like(x, np.arange(9.0).reshape(3, 3))),
    "spline_filter": lambda x: ndimage.spline_filter(x, 3),
    "map_coordinates": lambda x: ndimage.map_coordinates(x, like(x, PLACES)),
    "map_coordinates, order 1": lambda x: ndimage.map_coordinates(x, like(x, PLACES), order=1, mode="wrap"),
    "shift": lambda x: ndimage.shift(x, (0.3, -1.7)),
    "shift, by a half": lambda x: ndimage.shift(x, 0.5, order=1),
    "zoom": lambda x: ndimage.zoom(x, 1.3),
    "zoom of a grid": lambda x: ndimage.zoom(x, (0.7, 2.1), order=0, mode="grid-wrap", grid_mode=True),
    "affine_transform, by axes": lambda x: ndimage.affine_transform(x, like(x, [0.7, 1.9]), (0.3, 0)),
    "savgol_filter": lambda x: signal.savgol_filter(x, 7, 2, axis=0, mode="nearest"),
    "cdist": lambda x: distance.cdist(x, x[:20]),
    "cdist, cosine": lambda x: distance.cdist(x, x[::2], "cosine"),
    "cdist, minkowski": lambda x: distance.cdist(x, x[:20], "minkowski", p=3),
}
# Of float64 alone.
OTHERS: dict[str, Call] = {
    "binary_erosion": lambda x: ndimage.binary_erosion(x > -40, like(x, DISK)),
    "binary_dilation": lambda x: ndimage.binary_dilation(x > 60, border_value=1),
    "binary_erosion, masked": lambda x: ndimage.binary_erosion(x > -60, mask=x < 50, border_value=1),
    "binary_erosion, thrice": lambda x: ndimage.binary_erosion(x > -60, iterations=3, brute_force=True),
    "until nothing changes": lambda x: ndimage.binary_dilation(
        x > 100, mask=x > -60, iterations=-1, brute_force=True
    ),
    "sosfilt": lambda x: signal.sosfilt(like(x, SOS), x),
    "sosfilt, columns": lambda x: signal.sosfilt(like(x, SOS), x, axis=0),
    "sosfiltfilt": lambda x: signal.sosfiltfilt(like(x, SOS), x),
    "resample_poly": lambda x: signal.resample_poly(x, 3, 2, axis=1),
    "upfirdn, columns": lambda x: signal.upfirdn(like(x, [1.0, 2.0, 1.0]), x, 2, 3, axis=0),
    "matrix @ vector": lambda x: MATRIX @ x[0, :40],
    "matrix @ matrix": lambda x: MATRIX @ x[:40],
    "matrix.dot": lambda x: MATRIX.dot(x[:40, 0]),
    "norm.logpdf": lambda x: stats.norm.logpdf(x, 3.0, scale=20),
    "norm.cdf": lambda x: stats.norm.cdf(x, loc=x[0, 0]),
    "gamma(a).sf": lambda x: stats.gamma(2.5, scale=30).sf(x),
    "norm.ppf": lambda x: stats.norm.ppf(x / 100),
    "beta.isf": lambda x: stats.beta.isf(abs(x) / 200, 2.0, 0.5),
    "poisson.pmf": lambda x: stats.poisson.pmf(x // 10, 2.5),
    "binom.logsf": lambda x: stats.binom.logsf(x // 10, 9, 0.4),
    "cg": lambda x: linalg.cg(SQUARE.tocsr(), x[:40, 0])[0],
}
EVERY = FILTERS | REAL | OTHERS
MODES = ["reflect", "mirror", "nearest", "constant", "wrap"]
# Ways in which an image lies in memory.
LAYOUTS: dict[str, Call] = {
    "rows": lambda x: x,
    "columns": lambda x: x.T.copy().T,
    "every second": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
}


# Since SciPy 1.18, this finds its weights by functions of the array's namespace, with other last bits.
OWN_WEIGHTS = EVERY["savgol_filter"]


def check(call: Call, x: np.ndarray) -> None:
    """Compare with what the call gives for NumPy's array."""
    ours, theirs = xp.asarray(x), call(x)
    if call is OWN_WEIGHTS:
        with xp.config(threads=1):
            alone = np.asarray(call(ours))
        np.testing.assert_allclose(alone, theirs, rtol=1e-13, atol=1e-13 * abs(theirs).max())
        theirs = alone
    for found, wanted in zip(*map(np.atleast_1d, (call(ours), theirs)), strict=True):
        found = np.asarray(found)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", EVERY)
def test_threads_give_the_bits_of_one_call(name: str, layout: str, shared: Counted) -> None:
    check(EVERY[name], LAYOUTS[layout](image(60, 50)))
    assert shared
    assert min(shared) > 1


OF_DTYPES = [
    *[(name, dtype) for name in FILTERS | REAL for dtype in (np.float32, np.int16, np.uint8, bool)],
    *[(name, complex) for name in FILTERS],
]


@pytest.mark.parametrize(("name", "dtype"), OF_DTYPES)
def test_other_dtypes(name: str, dtype: Any, shared: Counted) -> None:
    check((FILTERS | REAL)[name], image(60, 50, dtype=dtype))
    assert shared


@pytest.mark.parametrize("mode", MODES)
def test_images_are_continued_as_scipy_does(mode: str, shared: Counted) -> None:
    x = image(60, 50)
    check(lambda x: ndimage.gaussian_filter(x, 3.0, mode=mode, cval=2.0), x)
    check(lambda x: ndimage.uniform_filter(x, (7, 4), mode=mode, cval=2.0), x)
    check(lambda x: ndimage.correlate(x, like(x, np.arange(35.0).reshape(5, 7)), mode=mode, cval=2.0), x)
    check(lambda x: ndimage.median_filter(x, (5, 3), mode=mode, cval=2.0), x)
    check(lambda x: ndimage.minimum_filter(x, footprint=like(x, np.tri(5)), mode=mode, cval=2.0), x)
    check(lambda x: ndimage.gaussian_filter1d(x, 2.0, mode=mode, cval=2.0), x.reshape(-1))
    check(lambda x: ndimage.map_coordinates(x, like(x, PLACES), mode=mode, cval=2.0), x)
    assert shared


@settings(max_examples=60, deadline=None)
@given(
    shape=st.lists(st.integers(1, 24), min_size=1, max_size=2)
    | st.lists(st.integers(1, 7), min_size=3, max_size=4),
    size=st.integers(1, 9),
    mode=st.sampled_from(MODES),
    seed=st.integers(0, 99),
)
def test_any_shape(shape: list[int], size: int, mode: str, seed: int) -> None:
    x = image(*shape, seed=seed)
    with pytest.MonkeyPatch.context() as patch, xp.config(threads=3):
        patch.setattr(threaded, "_STEPS", 1)
        check(lambda x: ndimage.gaussian_filter(x, size / 3, mode=mode), x)
        check(lambda x: ndimage.uniform_filter(x, size, mode=mode), x)
        check(lambda x: ndimage.correlate(x, like(x, np.ones([min(size, 3)] * x.ndim)), mode=mode), x)
        check(lambda x: ndimage.maximum_filter(x, size, mode=mode), x)
        if x.ndim > 1:  # SciPy's own filter of one row reads beyond a row of one element
            check(lambda x: ndimage.median_filter(x, min(size, 3), mode=mode), x)
        check(lambda x: ndimage.binary_dilation(x > 0), x)
        check(lambda x: ndimage.zoom(x, (size + 3) / 5, order=size % 6, mode=mode), x)
        check(lambda x: ndimage.shift(x, size / 4, order=size % 6, mode=mode), x)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0,)])
def test_empty_images(shape: tuple[int, ...], shared: Counted) -> None:
    check(lambda x: ndimage.gaussian_filter1d(x, 1.0), np.ones(shape))
    check(lambda x: ndimage.convolve1d(x, like(x, [1.0, 2.0])), np.ones(shape))


def test_one_point_is_refused_as_scipy_does(shared: Counted) -> None:
    for x in (xp.asarray(image(60, 50)), image(60, 50)):
        with pytest.raises(RuntimeError, match="rank must be > 0"):
            ndimage.map_coordinates(x, like(x, [2.5, 3.5]))


def test_outputs_that_are_given_are_written_to(shared: Counted) -> None:
    x = image(60, 50)
    found, wanted = xp.zeros_like(x), ndimage.gaussian_filter(x, 2.0)
    ndimage.gaussian_filter(xp.asarray(x), 2.0, output=found)
    assert found.tobytes() == wanted.tobytes()
    assert shared


def test_calls_with_numpys_arrays_are_scipys_own(shared: Counted) -> None:
    for call in EVERY.values():
        call(image(60, 50))
    assert not shared


def test_one_thread_cuts_nothing(shared: Counted) -> None:
    with xp.config(threads=1):
        check(EVERY["gaussian_filter"], image(60, 50))
    assert not shared


def test_small_images_are_not_cut(shared: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threaded, "_STEPS", 60 * 50 * 15)
    check(EVERY["gaussian_filter"], image(60, 50))
    assert not shared


def test_places_that_change_are_found_in_one_call(shared: Counted) -> None:
    check(lambda x: ndimage.binary_propagation(x > 100, mask=x > -60), image(60, 50))
    assert not shared


def test_metrics_with_parameters_from_all_rows_are_not_cut(shared: Counted) -> None:
    for metric in ("seuclidean", "mahalanobis"):
        check(lambda x, metric=metric: distance.cdist(x, x[:20], metric), image(60, 5))
    assert not shared


def test_distributions_are_cut_between_places_alone(shared: Counted) -> None:
    class Ramp(stats.rv_continuous):
        def _pdf(self, x: Any) -> Any:
            return x / len(x)

    x = abs(image(40))
    check(lambda x: Ramp(a=0).pdf(x), x)  # of the user's
    check(lambda x: stats.norm.pdf(x, scale=x), x)
    check(lambda x: stats.exponnorm.ppf(x / 200, 2.0), x[:3])  # by one number after the other
    check(lambda x: stats.norm.pdf(x[0]), x)
    assert not shared


def test_places_with_faults_have_the_callers_error_state(shared: Counted) -> None:
    x = xp.asarray(np.full(100, 1e200))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not stats.norm.pdf(x).any()
    assert shared
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow"):
        stats.norm.pdf(x)


@pytest.mark.parametrize("first", ["nabla_array.transforms", "scipy.stats, scipy.spatial.distance"])
def test_transforms_have_their_arrays_whichever_is_imported_first(first: str) -> None:
    script = f"""
import {first}
import numpy as np
import nabla_array as xp
from nabla_array._namespace.interop import threaded
from nabla_array.transforms import compile, grad, vmap
from scipy import stats
from scipy.spatial import distance
threaded._STEPS = 1
x = xp.linspace(0.1, 0.9, 30)
with xp.config(threads=3):
    slope = grad(lambda x: xp.sum(stats.norm.logpdf(x)))(x)
    assert np.allclose(slope, -x), slope
    assert np.allclose(vmap(grad(stats.norm.logpdf))(x), -x)
    assert np.array_equal(vmap(stats.norm.cdf)(x), stats.norm.cdf(np.asarray(x)))
    assert np.array_equal(compile(stats.norm.cdf, fullgraph=True)(x), stats.norm.cdf(np.asarray(x)))
    table = x.reshape(10, 3)
    assert np.isfinite(grad(lambda x: xp.sum(distance.cdist(x, xp.ones((4, 3)))))(table)).all()
    assert vmap(lambda x: distance.cdist(x, xp.ones((4, 3))))(table[None]).shape == (1, 10, 4)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


def test_an_error_ends_the_call_and_no_more(shared: Counted) -> None:
    x = xp.asarray(image(60, 50))
    with pytest.raises(RuntimeError, match="no filter weights given"):
        ndimage.correlate1d(x, xp.zeros(0))
    with pytest.raises(RuntimeError, match="shape not correct"):
        ndimage.gaussian_filter(x, 1.0, output=xp.zeros((2, 2)))
    ndimage.gaussian_filter(np.asarray(x), 1.0)  # NumPy's: not cut
    assert not shared
    check(EVERY["gaussian_filter"], np.asarray(x))
    assert shared


def test_threads_may_filter_at_the_same_time(shared: Counted) -> None:
    images = [image(60, 50, seed=i) for i in range(4)]
    wanted = [ndimage.median_filter(ndimage.gaussian_filter(x, 2.0), 3) for x in images]
    found: list[Any] = [None] * len(images)

    def run(i: int) -> None:
        for _ in range(5):
            found[i] = ndimage.median_filter(
                xp.asarray(ndimage.gaussian_filter(xp.asarray(images[i]), 2.0)), 3
            )

    running = [threading.Thread(target=run, args=(i,)) for i in range(len(images))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert [np.asarray(f).tobytes() for f in found] == [w.tobytes() for w in wanted]


SPECTRA: dict[str, Call] = {
    "welch": lambda x: signal.welch(x, nperseg=32)[1],
    "welch, columns": lambda x: signal.welch(x, nperseg=16, axis=0)[1],
    "welch, no trend": lambda x: signal.welch(x, nperseg=32, detrend=False, average="median")[1],
    "welch, both sides": lambda x: signal.welch(x, nperseg=32, return_onesided=False, nfft=64)[1],
    "csd": lambda x: signal.csd(x, x[::-1], nperseg=32, noverlap=20)[1],
    "coherence": lambda x: signal.coherence(x, x * x, nperseg=16)[1],
    **{
        f"stft, {padding}": lambda x, padding=padding: SHORT.stft(x, padding=padding)
        for padding in ("zeros", "edge", "even", "odd")
    },
    "stft of some": lambda x: SHORT.stft(x, 2, 5, k_offset=3),
    "stft, columns": lambda x: SHORT.stft(x, axis=0),
    "stft, by a negative axis": lambda x: SHORT.stft(x, axis=-2),
    "stft, centered": lambda x: CENTERED.stft(x),
    "spectrogram": lambda x: SHORT.spectrogram(x, detr="constant"),
    "cross-spectrogram": lambda x: SHORT.spectrogram(x, x**2),
}
WINDOW = np.hanning(20)
SHORT = signal.ShortTimeFFT(WINDOW, hop=5, fs=2.0, mfft=32, fft_mode="onesided2X", scale_to="psd")
CENTERED = signal.ShortTimeFFT(WINDOW * (1 + 1j), hop=4, fs=1.0, fft_mode="centered", phase_shift=3)


@pytest.mark.parametrize("name", SPECTRA)
def test_segments_are_transformed_at_once(name: str, shared: Counted) -> None:
    """To the bits of one by one, but that SciPy may transform some numbers of both sides by half of them."""
    x = image(60, 70)
    check(SPECTRA[name], x)
    assert shared


def test_linear_trends_of_segments(shared: Counted) -> None:
    x = image(5, 600)
    for call in (lambda x: SHORT.stft_detrend(x, "linear"), lambda x: signal.welch(x, detrend="linear")[1]):
        np.testing.assert_allclose(call(xp.asarray(x)), call(x), rtol=1e-10, atol=1e-10)
    assert shared


def test_segments_that_a_function_of_the_users_changes_are_taken_one_by_one(shared: Counted) -> None:
    x, seen = image(300).ravel(), []

    def without_mean(segment: np.ndarray) -> np.ndarray:
        seen.append(segment.shape)
        return segment - segment.mean()

    check(lambda x: SHORT.stft_detrend(x, without_mean), x)
    assert set(seen) == {(20,)}
    assert not shared


@pytest.mark.parametrize(
    ("x", "match"),
    [
        (image(9).ravel(), r"len\(x\)=9 must be >="),
        (np.zeros(0), r"len\(x\)=0 must be >="),
        (image(60).ravel() * 1j, "Complex-valued `x` not allowed"),
    ],
    ids=["short", "empty", "complex"],
)
def test_signals_that_short_time_transforms_refuse(x: np.ndarray, match: str, shared: Counted) -> None:
    with pytest.raises(ValueError, match=match):
        SHORT.stft(x)
    with pytest.raises(ValueError, match=match):
        SHORT.stft(xp.asarray(x))


def test_functions_can_be_pickled() -> None:
    for function in (ndimage.gaussian_filter, signal.sosfilt, distance.cdist, linalg.cg):
        assert pickle.loads(pickle.dumps(function)) is function


def test_scipy_knows_the_capabilities_of_the_functions() -> None:
    """SciPy's own tests look for them by the function."""
    known = pytest.importorskip("scipy._lib._array_api").xp_capabilities_table
    for function in (ndimage.gaussian_filter, ndimage.label, signal.savgol_filter, signal.resample_poly):
        assert function in known


def test_every_function_of_the_table_is_there() -> None:
    code = threaded.shared(max, lambda *args: None).__code__
    for row in threaded.CUTS:
        function = reduce(getattr, row.name.split("."), importlib.import_module(row.module))
        while getattr(function, "__code__", None) is not code:
            function = function.__wrapped__  # of other tables
