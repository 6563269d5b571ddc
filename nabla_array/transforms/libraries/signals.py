"""`scipy.signal`: filters along one axis, convolutions, spectra, peaks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..implicit import custom_linear_solve
from .images import _chosen, _each, _ndimage
from .operands import array, mapped, padded, plain
from .tracking import is_tracked

# -- along one axis ------------------------------------------------------------------------------------


def _along(operand: str, flips: bool = False) -> Callable[..., Any]:
    """Return the rule of a function that is linear in an operand along one axis; all else is constant.

    `flips`: its transpose does the same backwards.
    """

    def rule(original: Any, axis: int, **options: Any) -> Any:
        x = options.pop(operand)
        if is_tracked([*options.values()]) or options.get("zi") is not None:
            return NotImplemented

        def forward(v: np.ndarray) -> Any:
            return original(axis=-1, **{operand: v}, **options)

        backward = (lambda ct: forward(ct[..., ::-1])[..., ::-1]) if flips else None
        return mapped(forward, array(x), axis, backward)

    return rule


def _lfilter(original: Any, b: Any, a: Any, x: Any, axis: int) -> Any:
    if not is_tracked([b, a]):
        return _along("x", flips=True)(original, axis, b=b, a=a, x=x)
    b, a, x = array(b), array(a), array(np.moveaxis(array(x), axis, -1))
    poles, one = plain(a), np.ones(1)

    def forward(v: np.ndarray) -> Any:
        return original(one, poles, v, axis=-1)

    def backward(v: np.ndarray) -> Any:
        return forward(v[..., ::-1])[..., ::-1]

    y = custom_linear_solve(
        lambda y: _taps(a, y),
        _taps(b, x),
        lambda _, r: mapped(forward, r, -1, backward),
        lambda _, r: mapped(backward, r, -1, forward),
    )
    return np.moveaxis(y, -1, axis)


def _taps(b: Any, x: Any) -> Any:
    """Return the sums of `x`, delayed along the last axis, weighted by `b`."""
    n = x.shape[-1]
    still = [(0, 0)] * (x.ndim - 1)
    terms = [b[k] * np.pad(x[..., : n - k], [*still, (k, 0)]) for k in range(min(b.shape[0], n))]
    return sum(terms[1:], terms[0])


def _upfirdn(original: Any, h: Any, x: Any, up: int, down: int, axis: int) -> Any:
    h, x = array(h), array(np.moveaxis(array(x), axis, -1))
    if h.ndim != 1:
        return NotImplemented
    n = x.shape[-1]
    spread = np.zeros((n, (n - 1) * up + 1), x.dtype)
    spread[np.arange(n), np.arange(n) * up] = 1.0
    found = _taps(h, array(np.pad(x @ spread, [(0, 0)] * (x.ndim - 1) + [(0, len(h) - 1)])))
    return np.moveaxis(found[..., ::down], -1, axis)


def _cspline1d(original: Any, signal: Any, lamb: float) -> Any:
    def forward(v: np.ndarray) -> np.ndarray:
        rows = v.reshape(-1, v.shape[-1])
        return np.stack([original(row, lamb) for row in rows]).reshape(v.shape)

    return mapped(forward, array(signal)) if not is_tracked(lamb) else NotImplemented


# -- convolutions --------------------------------------------------------------------------------------


def _products(x: Any, y: Any, mode: str) -> Any:
    """Convolve by transforms along all axes."""
    if x.ndim != y.ndim or mode not in ("full", "same", "valid"):
        return NotImplemented
    full = [n + k - 1 for n, k in zip(x.shape, y.shape, strict=True)]
    axes = [*range(x.ndim)]
    is_complex = x.dtype.kind == "c" or y.dtype.kind == "c"
    there, back = (np.fft.fftn, np.fft.ifftn) if is_complex else (np.fft.rfftn, np.fft.irfftn)
    z = back(there(x, full, axes=axes) * there(y, full, axes=axes), full, axes=axes)
    if mode == "valid":
        small = [min(n, k) for n, k in zip(x.shape, y.shape, strict=True)]
        return z[tuple(slice(k - 1, f - k + 1) for k, f in zip(small, full, strict=True))]
    if mode == "same":
        starts = [(f - n) // 2 for f, n in zip(full, x.shape, strict=True)]
        return z[tuple(slice(s, s + n) for s, n in zip(starts, x.shape, strict=True))]
    return z


def _convolve(original: Any, in1: Any, in2: Any, mode: str, method: str) -> Any:
    return _products(array(in1), array(in2), mode)


def _fftconvolve(original: Any, in1: Any, in2: Any, mode: str) -> Any:
    return _products(array(in1), array(in2), mode)


def _correlate(original: Any, in1: Any, in2: Any, mode: str, method: str) -> Any:
    x, y = array(in1), array(in2)
    if x.ndim != y.ndim or (mode == "valid" and any(n < k for n, k in zip(x.shape, y.shape, strict=True))):
        return NotImplemented
    return _products(x, np.flip(np.conj(y)), mode)


_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def _convolve2d(original: Any, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    x, y = array(in1), array(in2)
    if mode == "valid":
        return _products(x, y, mode)
    pads = [(k - 1, k - 1) for k in y.shape]
    full = _products(padded(x, pads, _BOUNDARIES[boundary], fillvalue), y, "valid")
    starts = [0, 0] if mode == "full" else [(k - 1) // 2 for k in y.shape]
    sizes = full.shape if mode == "full" else x.shape
    return full[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))]


def _correlate2d(original: Any, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    x, y = array(in1), array(in2)
    if mode == "same" and not all(k % 2 for k in y.shape):
        return NotImplemented
    if mode == "valid" and any(n < k for n, k in zip(x.shape, y.shape, strict=True)):
        return NotImplemented
    return _convolve2d(original, x, np.flip(np.conj(y)), mode, boundary, fillvalue)


def _medfilt(original: Any, volume: Any, kernel_size: Any) -> Any:
    x = array(volume)
    sizes = [3 if kernel_size is None else k for k in _each(kernel_size, range(x.ndim))]
    wide = np.pad(x, [(k // 2, k // 2) for k in sizes])
    found = _chosen(_ndimage("median_filter"), wide, None, "reflect", size=tuple(sizes))
    return found[tuple(slice(k // 2, k // 2 + n) for k, n in zip(sizes, x.shape, strict=True))]


# -- spectra -------------------------------------------------------------------------------------------


def _window(window: Any, nperseg: Any, n: int) -> np.ndarray:
    from scipy.signal import get_window

    if isinstance(window, str | tuple):
        return np.asarray(get_window(window, min(256 if nperseg is None else int(nperseg), n)))
    return np.asarray(window)


def _segments(
    x: Any, fs: float, win: np.ndarray, noverlap: Any, nfft: Any, detrend: Any, onesided: bool, scaling: str
) -> Any:
    """Return the spectra of segments of `x` along its last axis: of axes (..., segment, frequency)."""
    from scipy.signal import detrend as without_trend

    n = len(win)
    step = n - (n // 2 if noverlap is None else int(noverlap))
    parts = np.take(x, np.arange(0, x.shape[-1] - n + 1, step)[:, None] + np.arange(n), axis=-1)
    if detrend:  # a projection, which is its own transpose
        flat = partial(without_trend, type=detrend, axis=-1)
        parts = mapped(flat, array(parts), -1, flat)
    scale = win.sum() if scaling == "spectrum" else np.sqrt(fs * (win * win).sum())
    weights = (win / scale).astype(np.result_type(x.dtype.type(0).real, np.float32))
    transform = np.fft.rfft if onesided else np.fft.fft
    return transform(parts * weights, n if nfft is None else int(nfft))


def _csd(
    original: Any, x: Any, y: Any, fs: float, window: Any, nperseg: Any, noverlap: Any, nfft: Any,
    detrend: Any, return_onesided: bool, scaling: str, axis: int, average: str,
) -> Any:  # fmt: skip
    if is_tracked([fs, window]) or callable(detrend) or average != "mean" or nperseg == 0:
        return NotImplemented
    x, y = (array(np.moveaxis(array(v), axis, -1)) for v in (x, y))
    n = max(x.shape[-1], y.shape[-1])
    x, y = (padded(v, [(0, 0)] * (v.ndim - 1) + [(0, n - v.shape[-1])], "constant", 0) for v in (x, y))
    onesided = return_onesided and x.dtype.kind != "c" and y.dtype.kind != "c"
    win = _window(window, nperseg, n)
    if len(win) > n or (nperseg not in (None, len(win)) and nperseg <= n):
        return NotImplemented
    same = (fs, win, noverlap, nfft, detrend, onesided, scaling)
    power = np.conj(_segments(x, *same)) * _segments(y, *same)
    size = len(win) if nfft is None else int(nfft)
    doubled = np.ones(power.shape[-1], power.real.dtype)
    if onesided:
        doubled[1 : None if size % 2 else -1] = 2
    found = np.moveaxis((power * doubled).mean(-2), -1, axis)
    return (np.fft.rfftfreq if onesided else np.fft.fftfreq)(size, 1 / fs), found


def _welch(original: Any, x: Any, axis: int, **options: Any) -> Any:
    found = _csd(original, x, x, axis=axis, **options)
    return found if found is NotImplemented else (found[0], np.real(found[1]))


def _periodogram(original: Any, x: Any, window: Any, nfft: Any, axis: int, **options: Any) -> Any:
    x = array(x)
    n = x.shape[axis]
    if nfft is not None and nfft < n:
        x, n, nfft = np.take(x, np.arange(nfft), axis=axis), nfft, None
    window = "boxcar" if window is None else window
    if n == 0 or (not isinstance(window, str | tuple) and len(window) != n):
        return NotImplemented
    return _welch(
        original, x, axis, window=window, nperseg=n, noverlap=0, nfft=nfft, average="mean", **options
    )


_EXTENSIONS: dict[str, Any] = {"zeros": "constant", "constant": "edge", "even": "reflect", "odd": "reflect"}


def _extended(x: Any, n: int, boundary: str) -> Any:
    wide: Any = array(np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], _EXTENSIONS[boundary]))
    if boundary != "odd" or not n:
        return wide
    ends = 2 * x[..., :1] - wide[..., :n], 2 * x[..., -1:] - wide[..., -n:]
    return np.concatenate([ends[0], x, ends[1]], axis=-1)


def _stft(
    original: Any, x: Any, fs: float, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
    return_onesided: bool, boundary: Any, padded: bool, axis: int, scaling: str,
) -> Any:  # fmt: skip
    if is_tracked([fs, window]) or callable(detrend):
        return NotImplemented
    x = array(x)
    win = _window(window, nperseg, x.shape[axis])
    options = dict(noverlap=noverlap, nfft=nfft, detrend=detrend, return_onesided=return_onesided)
    options |= dict(nperseg=nperseg, boundary=boundary, padded=padded, axis=axis, scaling=scaling)
    frequencies, times, found = original(plain(x), fs, window, **options)
    x = array(np.moveaxis(x, axis, -1))
    n, still = len(win), [(0, 0)] * (x.ndim - 1)
    if boundary is not None:
        x = _extended(x, n // 2, boundary)
    if padded:
        step = n - (n // 2 if noverlap is None else int(noverlap))
        x = array(np.pad(x, [*still, (0, (-(x.shape[-1] - n) % step) % n)]))
    onesided = return_onesided and x.dtype.kind != "c"
    parts = _segments(x, fs, win, noverlap, nfft, detrend, onesided, scaling)
    place = axis if axis >= 0 else axis - 1
    parts = np.moveaxis(np.matrix_transpose(parts), -2, place)
    return frequencies, times, parts.astype(found.dtype)


# -- peaks ---------------------------------------------------------------------------------------------


def _find_peaks(original: Any, x: Any, **options: Any) -> Any:
    """The places of peaks are piecewise constant; heights, thresholds and prominences are differences."""
    if is_tracked([*options.values()]) or options["width"] is not None:
        return NotImplemented
    x = array(x)
    peaks, found = original(plain(x), **options)
    if "peak_heights" in found:
        found["peak_heights"] = x[peaks]
    for name, step in (("left_thresholds", -1), ("right_thresholds", 1)):
        if name in found:
            found[name] = x[peaks] - x[peaks + step]
    if "prominences" in found:
        found["prominences"] = x[peaks] - np.maximum(x[found["left_bases"]], x[found["right_bases"]])
    return peaks, found


RULES: dict[str, dict[str, Callable[..., Any]]] = {
    "scipy.signal": {
        "lfilter": _lfilter,
        "sosfilt": _along("x", flips=True),
        **dict.fromkeys(
            ("filtfilt", "sosfiltfilt", "savgol_filter", "resample_poly", "decimate"), _along("x")
        ),
        "detrend": _along("data"),
        "upfirdn": _upfirdn,
        "cspline1d": _cspline1d,
        "convolve": _convolve,
        "correlate": _correlate,
        **dict.fromkeys(("fftconvolve", "oaconvolve"), _fftconvolve),
        "convolve2d": _convolve2d,
        "correlate2d": _correlate2d,
        "medfilt": _medfilt,
        "csd": _csd,
        "welch": _welch,
        "periodogram": _periodogram,
        "stft": _stft,
        "find_peaks": _find_peaks,
    }
}
