"""Libraries whose C code reads at once borrow an array's memory, and give away that of their results."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import fft, integrate, ndimage, signal
from scipy.cluster import vq

import nabla_array as xp

LARGE = np.random.default_rng(0).standard_normal((200, 150))  # more than is copied without a thought
# Filters, which SciPy takes of the same library as what is filtered.
B, A = np.array([0.1, 0.2]), np.array([1.0, -0.5])
SECTIONS = np.array([[0.1, 0.2, 0.1, 1.0, -0.5, 0.1]])
PLACES = np.random.default_rng(1).uniform(0, 100, (2, 5000))


def like(x: Any, a: np.ndarray) -> Any:
    return xp.asarray(a) if type(x) is xp.Array else a


def like_all(x: Any, *arrays: np.ndarray) -> list[Any]:
    return [like(x, a) for a in arrays]


CALLS: dict[str, Callable[[Any], Any]] = {
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.5),
    "gaussian_filter of nothing": lambda x: ndimage.gaussian_filter(x, 0.0),
    "median_filter": lambda x: ndimage.median_filter(x, 3),
    "generic_filter": lambda x: ndimage.generic_filter(x[:50], np.max, 3),
    "sobel of a transposed one": lambda x: ndimage.sobel(x.T),
    "laplace of a part": lambda x: ndimage.laplace(x[::2, 1:]),
    "shift": lambda x: ndimage.shift(x, 0.5),
    "zoom": lambda x: ndimage.zoom(x, 2),
    "rotate": lambda x: ndimage.rotate(x, 30),
    "spline_filter": lambda x: ndimage.spline_filter(x, 3),
    "map_coordinates": lambda x: ndimage.map_coordinates(x, like(x, PLACES), order=3),
    "simpson": lambda x: integrate.simpson(x, axis=0),
    "cumulative_simpson": lambda x: integrate.cumulative_simpson(x, dx=0.5),
    "simpson between places": lambda x: integrate.simpson(x.ravel(), x=x.ravel() * 0.1),
    "vq": lambda x: vq.vq(x, x[:5])[1],
    "kmeans2": lambda x: vq.kmeans2(x, x[:3], minit="matrix")[0],
    "csd": lambda x: signal.csd(x, x[::-1], nperseg=64)[1],
    "periodogram": lambda x: signal.periodogram(x, detrend="linear")[1],
    "spectrogram": lambda x: signal.spectrogram(x.ravel())[2],
    "stft": lambda x: signal.stft(x.ravel(), detrend="constant")[2],
    "csd of one with itself": lambda x: signal.csd(x, x, nperseg=64)[1],
    "welch": lambda x: signal.welch(x.ravel(), nperseg=64)[1],
    "lfilter": lambda x: signal.lfilter(*like_all(x, B, A), x),
    "lfilter of a part": lambda x: signal.lfilter(*like_all(x, B, A), x[::2, 1:], axis=0),
    "lfilter without feedback": lambda x: signal.lfilter(*like_all(x, B, A[:1]), x),
    "sosfilt": lambda x: signal.sosfilt(*like_all(x, SECTIONS), x),
    "sosfilt along columns": lambda x: signal.sosfilt(*like_all(x, SECTIONS), x, axis=0),
    "filtfilt": lambda x: signal.filtfilt(*like_all(x, B, A), x),
    "detrend": signal.detrend,
    "detrend, constant": lambda x: signal.detrend(x, 0, "constant"),
    "convolve2d": lambda x: signal.convolve2d(x, x[:3, :3]),
    "correlate": lambda x: signal.correlate(x, x[:3, :3], method="direct"),
    "medfilt2d": signal.medfilt2d,
    "decimate": lambda x: signal.decimate(x, 2),
    "dct": lambda x: fft.dct(x, axis=0),
    "dctn of a part": lambda x: fft.dctn(x[::2, 1:]),
    "dctn along no axis": lambda x: fft.dctn(x, axes=()),
    "dst of complex numbers": lambda x: fft.dst(x * 1j),
    "idstn": fft.idstn,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_results_are_of_their_own(call: Callable[[Any], Any]) -> None:
    x = xp.asarray(LARGE)
    before, later = x + 1.0, x * 2.0
    found = call(x)
    y = xp.asarray(found)  # ours, unless SciPy was imported without its dispatch
    wanted = call(LARGE)
    x[:] = 0.0
    np.testing.assert_array_equal(np.asarray(y), wanted)
    y += 1.0
    np.testing.assert_array_equal(np.asarray(y), wanted + 1.0)
    np.testing.assert_array_equal(np.asarray(before), LARGE + 1.0)
    np.testing.assert_array_equal(np.asarray(later), LARGE * 2.0)
    assert not np.asarray(x).any()


def test_one_array_given_twice_stays_one() -> None:
    x, a = xp.asarray(LARGE), LARGE
    for call in (lambda x: signal.welch(x, nperseg=64)[1], lambda x: signal.csd(x, x, nperseg=64)[1]):
        assert np.asarray(call(x)).dtype == call(a).dtype == np.float64
        np.testing.assert_array_equal(np.asarray(call(x)), call(a))


@pytest.mark.parametrize("shape", [(), (1,), (30000,), (200, 150)])
def test_nothing_lent_is_overwritten(shape: tuple[int, ...]) -> None:
    a = np.resize(LARGE, shape)
    x = xp.asarray(a)
    kept = x.copy()
    for kind in ("linear", "constant"):
        try:
            wanted: Any = signal.detrend(a.copy(), type=kind, overwrite_data=True)
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                signal.detrend(x, type=kind, overwrite_data=True)
        else:
            found = signal.detrend(x, -1, kind, 0, True)
            np.testing.assert_array_equal(np.asarray(found), wanted)
    np.testing.assert_array_equal(np.asarray(x), a)
    np.testing.assert_array_equal(np.asarray(kept), a)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
def test_real_transforms_overwrite_nothing_lent(dtype: str) -> None:
    a = (LARGE * 10).astype(dtype)
    x = xp.asarray(a)
    kept = x.copy()
    for call in (fft.dct, fft.idst, fft.dctn, fft.idstn):
        found = call(x, overwrite_x=True)
        np.testing.assert_array_equal(np.asarray(found), call(a))
    np.testing.assert_array_equal(np.asarray(x), a)
    np.testing.assert_array_equal(np.asarray(kept), a)


def test_results_in_place() -> None:
    x = xp.asarray(LARGE)
    kept = x.copy()
    ndimage.sobel(x, output=x)
    np.testing.assert_array_equal(np.asarray(x), ndimage.sobel(LARGE))
    np.testing.assert_array_equal(np.asarray(kept), LARGE)


def test_nothing_is_copied() -> None:
    code = """
        import numpy as np
        import nabla_array as xp
        from nabla_array._lazy.native import compiled
        from nabla_array._namespace.core.array import current
        from scipy import ndimage
        from scipy.ndimage import _filters, _support_alternative_backends as backends

        x = xp.asarray(np.ones((200, 150)))
        exec("seen = np.asarray(x)", vars(_filters) | (here := {"x": x}), here)
        assert np.shares_memory(here["seen"], current(x).value)
        assert not here["seen"].flags.writeable
        assert not np.shares_memory(np.asarray(x), current(x).value)
        made = np.ones((200, 150))
        exec("given = xp.asarray(made)", vars(backends) | (here := {"xp": xp, "made": made}), here)
        if compiled is not None:
            assert np.shares_memory(current(here["given"]).value, made)
        assert not np.shares_memory(current(xp.asarray(made)).value, made)

        from scipy.signal import _signaltools

        exec("seen = np.asarray(x)", vars(_signaltools) | (here := {"x": x}), here)
        assert np.shares_memory(here["seen"], current(x).value)
        assert here["seen"].flags.writeable
        for code, is_shared in (
            ("np.ones((200, 150)).reshape(150, 200)", True),
            ("np.ones((200, 150)).T", False),
            ("np.ones((200, 150))[1:]", False),
            ("made.reshape(150, 200)", False),
        ):
            here = {"xp": xp, "made": made}
            exec(f"view = {code}; given = xp.asarray(view)", vars(_signaltools) | here, here)
            if compiled is not None:
                assert np.shares_memory(current(here["given"]).value, here["view"]) == is_shared, code
        assert type(ndimage.sobel(x)) is type(x)
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=True, env={**os.environ, "SCIPY_ARRAY_API": "1"}
    )
