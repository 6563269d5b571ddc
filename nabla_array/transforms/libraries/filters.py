"""Linear filters and transforms along axes, and filters that choose by order: `ndimage`, `signal`, `fft`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..implicit import custom_linear_solve
from .operands import array, mapped, plain
from .tracking import is_tracked

# -- along one axis ------------------------------------------------------------------------------------


def _along(place: int, default: int, names: Sequence[str] = (), flips: bool = False) -> Callable[..., Any]:
    """Return the rule of a function that is linear in the operand at `place`, along one axis.

    Its other arguments, of which the positional ones have these names, are constants. `flips`: its transpose
    does the same backwards.
    """

    def rule(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        before, (x, *after) = args[:place], args[place:]
        kwargs = {**dict(zip(names, after, strict=False)), **kwargs}
        if is_tracked([*before, *kwargs.values()]) or kwargs.pop("output", None) is not None:
            return NotImplemented
        if kwargs.get("zi") is not None:
            return NotImplemented
        axis = kwargs.pop("axis", default)

        def forward(v: np.ndarray) -> Any:
            return original(*before, v, axis=-1, **kwargs)

        backward = (lambda ct: forward(ct[..., ::-1])[..., ::-1]) if flips else None
        return mapped(forward, array(x), axis, backward)

    return rule


def _simpson(original: Any, y: Any, x: Any = None, *, dx: float = 1.0, axis: int = -1) -> Any:
    if is_tracked([x, dx]):
        return NotImplemented

    def forward(v: np.ndarray) -> Any:
        return original(v, x=x, dx=dx, axis=-1)[..., None]

    return np.squeeze(mapped(forward, array(y), axis), axis=axis)


# -- along several axes: ndimage -----------------------------------------------------------------------


def _each(value: Any, axes: Sequence[int]) -> list[Any]:
    return [value] * len(axes) if np.ndim(value) == 0 else list(value)


def _axes(x: Any, axes: Any) -> list[int]:
    return [*range(x.ndim)] if axes is None else [a % x.ndim for a in np.atleast_1d(axes)]


def _ndimage(name: str) -> Callable[..., Any]:
    from scipy import ndimage

    found: Callable[..., Any] = getattr(ndimage, name)
    return found


def _gaussian_filter(
    original: Any, input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect",
    cval: float = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    x = array(input)
    places = _axes(x, axes)
    if output is not None or is_tracked([sigma, cval]):
        return NotImplemented
    along = (_each(v, places) for v in (sigma, order, mode, radius))
    for axis, s, o, m, r in zip(places, *along, strict=True):
        if s > 1e-15:
            x = mapped(
                partial(
                    _ndimage("gaussian_filter1d"),
                    sigma=s,
                    order=o,
                    mode=m,
                    cval=cval,
                    truncate=truncate,
                    radius=r,
                ),
                x,
                axis,
            )
    return x


def _uniform_filter(
    original: Any, input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: float = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    x = array(input)
    places = _axes(x, axes)
    if output is not None:
        return NotImplemented
    for axis, n, m, o in zip(places, *(_each(v, places) for v in (size, mode, origin)), strict=True):
        if n > 1:
            x = mapped(partial(_ndimage("uniform_filter1d"), size=n, mode=m, cval=cval, origin=o), x, axis)
    return x


def _edges(smooth: Sequence[float]) -> Callable[..., Any]:
    """Return the rule of a derivative along one axis, smoothed along the others."""

    def rule(
        original: Any,
        input: Any,
        axis: int = -1,
        output: Any = None,
        mode: Any = "reflect",
        cval: float = 0.0,
    ) -> Any:
        x = array(input)
        if output is not None:
            return NotImplemented
        for a, m in enumerate(_each(mode, range(x.ndim))):
            weights = (-1, 0, 1) if a == axis % x.ndim else smooth
            x = mapped(partial(_ndimage("correlate1d"), weights=weights, mode=m, cval=cval), x, a)
        return x

    return rule


def _laplace(
    original: Any,
    input: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    *,
    axes: Any = None,
) -> Any:
    x = array(input)
    places = _axes(x, axes)
    if output is not None:
        return NotImplemented
    second = partial(_ndimage("correlate1d"), weights=(1, -2, 1), cval=cval)
    terms = [mapped(partial(second, mode=m), x, a) for a, m in zip(places, _each(mode, places), strict=True)]
    return sum(terms[1:], terms[0])


def _gaussian_terms(
    order: int, x: Any, sigma: Any, mode: Any, cval: float, axes: Any, kwargs: dict[str, Any]
) -> list[Any]:
    places = _axes(x, axes)
    smooth = partial(_gaussian_filter, None, x, sigma, mode=mode, cval=cval, axes=places, **kwargs)
    return [smooth(order=[order * (a == b) for b in places]) for a in places]


def _gaussian_laplace(
    original: Any, input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: float = 0.0, *,
    axes: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    if output is not None:
        return NotImplemented
    terms = _gaussian_terms(2, array(input), sigma, mode, cval, axes, kwargs)
    return sum(terms[1:], terms[0])


def _gaussian_gradient_magnitude(
    original: Any, input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: float = 0.0, *,
    axes: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    if output is not None:
        return NotImplemented
    terms = _gaussian_terms(1, array(input), sigma, mode, cval, axes, kwargs)
    return np.sqrt(sum(t * t for t in terms))


def _spline_filter(
    original: Any, input: Any, order: int = 3, output: Any = None, mode: str = "mirror"
) -> Any:
    x = array(input)
    if output not in (None, np.float64):
        return NotImplemented
    for axis in range(x.ndim) if order > 1 else ():
        x = mapped(partial(_ndimage("spline_filter1d"), order=order, mode=mode), x, axis)
    return x


def _moved(still: float) -> Callable[..., Any]:
    """Return the rule of `zoom` and `shift`, which move along each axis by itself; `still` does not."""

    def rule(original: Any, input: Any, by: Any, output: Any = None, *args: Any, **kwargs: Any) -> Any:
        x = array(input)
        if output is not None or is_tracked(by) or kwargs.get("grid_mode"):
            return NotImplemented
        for axis, b in enumerate(_each(by, range(x.ndim))):

            def forward(v: np.ndarray, b: float = b) -> Any:
                return original(v, (*[still] * (v.ndim - 1), b), None, *args, **kwargs)

            x = mapped(forward, x, axis) if b != still else x
        return x

    return rule


def _warped(original: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Of `rotate`, `affine_transform`, `map_coordinates`: linear in all of the image."""
    x = array(input)
    if is_tracked([*args, *kwargs.values()]) or kwargs.get("output") is not None:
        return NotImplemented
    shape = np.asarray(original(np.zeros(x.shape, x.dtype), *args, **kwargs)).shape

    def forward(v: np.ndarray) -> np.ndarray:
        images = v.reshape(-1, *x.shape)
        return np.stack([original(i, *args, **kwargs).ravel() for i in images]).reshape(*v.shape[:-1], -1)

    return mapped(forward, array(x.reshape(-1))).reshape(shape)


# -- with weights --------------------------------------------------------------------------------------

# NumPy's names for ndimage's modes.
_PADS = {
    "reflect": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "constant": "constant",
}
_PADS |= {"grid-mirror": "symmetric", "grid-wrap": "wrap", "grid-constant": "constant"}


def _padded(x: Any, width: Sequence[tuple[int, int]], mode: str, value: float) -> Any:
    if mode == "constant":
        return array(np.pad(x - value, width) + value) if value else array(np.pad(x, width))
    padded: Any = np.pad(x, width, mode=mode)  # type: ignore[call-overload]
    return padded


def _weighted(flipped: bool, one: bool) -> Callable[..., Any]:
    """Return the rule of `correlate` and `convolve`, along `one` axis or all: sums over windows."""

    def rule(
        original: Any, input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
        cval: float = 0.0, origin: Any = 0, *, axes: Any = None,
    ) -> Any:  # fmt: skip
        x, w = array(input), array(weights)
        if output is not None or axes is not None or is_tracked(cval):
            return NotImplemented
        places = [axis % x.ndim] if one else [*range(x.ndim)]
        origins = [o if not flipped else -o for o in _each(origin, places)]
        for a, o, k in zip(places, origins, w.shape, strict=True):
            before = k // 2 + o - ((k % 2 == 0) if flipped else 0)
            width = [(0, 0)] * x.ndim
            width[a] = (before, k - 1 - before)
            x = _padded(x, width, _PADS[mode], cval)
        return _windowed(x, np.flip(w) if flipped else w, places)

    def every(original: Any, input: Any, weights: Any, *args: Any, **kwargs: Any) -> Any:
        return rule(original, input, weights, -1, *args, **kwargs)

    return rule if one else every


def _windowed(x: Any, w: Any, places: Sequence[int]) -> Any:
    """Return the sums over all windows of `x`, weighted by `w` along some axes."""
    for a, k in reversed([*zip(places, w.shape, strict=True)]):
        index = np.arange(x.shape[a] - k + 1)[:, None] + np.arange(k)
        x = array(np.moveaxis(np.take(x, index, axis=a), a + 1, -1))  # the last axis's window comes first
    last = [*range(x.ndim - len(places), x.ndim)]
    return np.tensordot(x, w, axes=(last[::-1], [*range(len(places))]))


def _products(x: Any, y: Any, mode: str) -> Any:
    """Convolve by transforms along all axes."""
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


def _convolve(original: Any, in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    return _products(array(in1), array(in2), mode)


def _fftconvolve(original: Any, in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    return _products(array(in1), array(in2), mode) if axes is None else NotImplemented


def _several(
    original: Any, x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, **kw: Any
) -> Any:
    """Transform along one axis after the other."""
    x = array(x)
    if s is not None or kw.get("orthogonalize") is not None:
        return NotImplemented
    for axis in _axes(x, axes):
        x = mapped(lambda v: original(v, type, None, (-1,), norm), x, axis)
    return x


def _correlate(original: Any, in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    x, y = array(in1), array(in2)
    if mode == "valid" and any(n < k for n, k in zip(x.shape, y.shape, strict=True)):
        return NotImplemented
    return _products(x, np.flip(np.conj(y)), mode)


_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def _convolve2d(
    original: Any, in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    x, y = array(in1), array(in2)
    if mode == "valid":
        return _products(x, y, mode)
    pads = [(k - 1, k - 1) for k in y.shape]
    full = _products(_padded(x, pads, _BOUNDARIES[boundary], fillvalue), y, "valid")
    starts = [0, 0] if mode == "full" else [(k - 1) // 2 for k in y.shape]
    sizes = full.shape if mode == "full" else x.shape
    return full[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))]


def _correlate2d(original: Any, in1: Any, in2: Any, mode: str = "full", *args: Any, **kwargs: Any) -> Any:
    y = array(in2)
    if mode == "same" and not all(k % 2 for k in y.shape):
        return NotImplemented
    return _convolve2d(original, in1, np.flip(np.conj(y)), mode, *args, **kwargs)


def _upfirdn(
    original: Any,
    h: Any,
    x: Any,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: float = 0,
) -> Any:
    h, x = array(h), array(np.moveaxis(array(x), axis, -1))
    if mode != "constant" or cval:
        return NotImplemented
    n = x.shape[-1]
    spread = np.zeros((n, (n - 1) * up + 1))
    spread[np.arange(n), np.arange(n) * up] = 1.0
    found = _taps(h, array(np.pad(x @ spread, [(0, 0)] * (x.ndim - 1) + [(0, len(h) - 1)])))
    return np.moveaxis(found[..., ::down], -1, axis)


def _taps(b: Any, x: Any) -> Any:
    """Return the sums of `x`, delayed along the last axis, weighted by `b`."""
    n = x.shape[-1]
    still = [(0, 0)] * (x.ndim - 1)
    terms = [b[k] * np.pad(x[..., : n - k], [*still, (k, 0)]) for k in range(min(b.shape[0], n))]
    return sum(terms[1:], terms[0])


def _lfilter(original: Any, b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    if zi is not None:
        return NotImplemented
    if not is_tracked([b, a]):
        return _along(2, -1, flips=True)(original, b, a, x, axis=axis)
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


def _cspline1d(original: Any, signal: Any, lamb: float = 0.0) -> Any:
    def forward(v: np.ndarray) -> np.ndarray:
        rows = v.reshape(-1, v.shape[-1])
        return np.stack([original(row, lamb) for row in rows]).reshape(v.shape)

    return mapped(forward, array(signal))


# -- chosen by order -----------------------------------------------------------------------------------


def _chosen(original: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Take the elements that the filter chooses, which it tells by choosing among their ranks."""
    x = array(input)
    if kwargs.get("output") is not None or kwargs.get("mode", "reflect") in ("constant", "grid-constant"):
        return NotImplemented
    if any(isinstance(a, str) for a in args) or kwargs.get("structure") is not None:
        return NotImplemented
    order = np.argsort(plain(x), axis=None, kind="stable")
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size)
    return x.reshape(-1)[order[original(ranks.reshape(x.shape), *args, **kwargs)]]


def _medfilt(original: Any, volume: Any, kernel_size: Any = 3) -> Any:
    x = array(volume)
    sizes = [3 if kernel_size is None else k for k in _each(kernel_size, range(x.ndim))]
    padded = np.pad(x, [(k // 2, k // 2) for k in sizes])
    found = _chosen(_ndimage("median_filter"), padded, tuple(sizes))
    return found[tuple(slice(k // 2, k // 2 + n) for k, n in zip(sizes, x.shape, strict=True))]


_1D = ("axis", "output", "mode", "cval", "origin")
_DCT = ("type", "n", "axis", "norm", "overwrite_x", "workers", "orthogonalize")

RULES = {
    "simpson": _simpson,
    "gaussian_filter1d": _along(0, -1, ("sigma", "axis", "order", "output", "mode", "cval", "truncate")),
    "uniform_filter1d": _along(0, -1, ("size", *_1D)),
    "spline_filter1d": _along(0, -1, ("order", "axis", "output", "mode")),
    "gaussian_filter": _gaussian_filter,
    "uniform_filter": _uniform_filter,
    "sobel": _edges((1, 2, 1)),
    "prewitt": _edges((1, 1, 1)),
    "laplace": _laplace,
    "gaussian_laplace": _gaussian_laplace,
    "gaussian_gradient_magnitude": _gaussian_gradient_magnitude,
    "spline_filter": _spline_filter,
    "zoom": _moved(1.0),
    "shift": _moved(0.0),
    "rotate": _warped,
    "affine_transform": _warped,
    "map_coordinates": _warped,
    "ndimage.correlate": _weighted(False, False),
    "ndimage.convolve": _weighted(True, False),
    "correlate1d": _weighted(False, True),
    "convolve1d": _weighted(True, True),
    "median_filter": _chosen,
    "maximum_filter": _chosen,
    "minimum_filter": _chosen,
    "percentile_filter": _chosen,
    "rank_filter": _chosen,
    "medfilt": _medfilt,
    "signal.convolve": _convolve,
    "signal.correlate": _correlate,
    **dict.fromkeys(("fftconvolve", "oaconvolve"), _fftconvolve),
    "cspline1d": _cspline1d,
    **dict.fromkeys(("dctn", "idctn", "dstn", "idstn"), _several),
    "convolve2d": _convolve2d,
    "correlate2d": _correlate2d,
    "upfirdn": _upfirdn,
    "lfilter": _lfilter,
    "sosfilt": _along(1, -1, ("axis", "zi"), flips=True),
    "filtfilt": _along(2, -1, ("axis", "padtype", "padlen", "method", "irlen")),
    "sosfiltfilt": _along(1, -1, ("axis", "padtype", "padlen")),
    "savgol_filter": _along(0, -1, ("window_length", "polyorder", "deriv", "delta", "axis", "mode", "cval")),
    "detrend": _along(0, -1, ("axis", "type", "bp", "overwrite_data")),
    "resample_poly": _along(0, 0, ("up", "down", "axis", "window", "padtype", "cval")),
    "decimate": _along(0, -1, ("q", "n", "ftype", "axis", "zero_phase")),
    **dict.fromkeys(("dct", "idct", "dst", "idst"), _along(0, -1, _DCT)),
}
