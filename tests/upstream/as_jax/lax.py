"""`jax.lax` in terms of ours: control flow is ours under the same names, operations are NumPy's."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array import special
from nabla_array import transforms as t
from nabla_array.distributed import named_axes

from .missing import Names, Refused

Precision = Names("jax.lax.Precision", HIGHEST=None, DEFAULT=None, HIGH=None)
FftType = Enum("FftType", "FFT IFFT RFFT IRFFT")

associative_scan, custom_linear_solve, custom_root = t.associative_scan, t.custom_linear_solve, t.custom_root
fori_loop, map, stop_gradient, switch, while_loop = (
    t.fori_loop,
    t.map,
    t.stop_gradient,
    t.switch,
    t.while_loop,
)


def scan(f: Any, init: Any, xs: Any = None, length: Any = None, **options: Any) -> Any:
    options.pop("_split_transpose", None)
    return t.scan(f, init, xs, length, **options)


def cond(pred: Any, *args: Any, operand: Any = None, **options: Any) -> Any:
    if operand is not None:
        args = (*args, operand)
    if len(args) == 4 and callable(args[1]) and callable(args[3]):  # an operand for each branch
        a, true_fun, b, false_fun = args
        return t.cond(pred, lambda a, b: true_fun(a), lambda a, b: false_fun(b), a, b)
    return t.cond(pred, *args, **options)


def _renamed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        dtype = options.pop("out_dtype", None)  # what is left says how exact, which is always exact here
        operands = [xp.asarray(a) for a in args]
        return function(*(operands if dtype is None else [a.astype(dtype) for a in operands]))

    call.__name__ = name
    return call


_RENAMED = """
    neg=negative sub=subtract max=maximum min=minimum eq=equal ne=not_equal lt=less le=less_equal gt=greater
    ge=greater_equal mul=multiply rem=fmod is_finite=isfinite bitwise_not=invert shift_left=left_shift
    shift_right_arithmetic=right_shift population_count=bitwise_count
    erf_inv=erfinv lgamma=gammaln bessel_i0e=i0e bessel_i1e=i1e igamma=gammainc igammac=gammaincc
"""
_SAME = """
    abs pow add exp exp2 expm1 log log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh atan2
    sqrt cbrt real imag conj floor ceil sign nextafter square reciprocal bitwise_and bitwise_or bitwise_xor
    betainc erf erfc digamma polygamma zeta
"""
for _name, _, _ours in (_pair.partition("=") for _pair in (_RENAMED + _SAME).split()):
    _of = _ours or _name
    globals()[_name] = _renamed(getattr(xp if hasattr(xp, _of) else special, _of), _name)


def div(x: Any, y: Any) -> Any:
    x, y = xp.asarray(x), xp.asarray(y)
    if x.dtype.kind in "iu":
        return xp.trunc(x / y).astype(x.dtype)
    return x / y


def round(x: Any) -> Any:
    x = xp.asarray(x)
    return xp.sign(x) * xp.floor(xp.abs(x) + x.dtype.type(0.5))


def rsqrt(x: Any) -> Any:
    x = xp.asarray(x)
    return x.dtype.type(1) / xp.sqrt(x)


def logistic(x: Any, accuracy: Any = None) -> Any:
    x = xp.asarray(x)
    return special.expit(x) if x.dtype.kind == "f" else 1 / (1 + xp.exp(-x))


def index_take(x: Any, indices: Any, axes: Any) -> Any:
    x = xp.moveaxis(xp.asarray(x), axes, tuple(range(len(axes))))
    return x[tuple(xp.asarray(i) for i in indices)]


def integer_pow(x: Any, y: int) -> Any:
    return xp.asarray(x) ** y


def complex(x: Any, y: Any) -> Any:
    x, y = xp.asarray(x), xp.asarray(y)
    return x + xp.asarray(1j, dtype=np.result_type(x.dtype, np.complex64)) * y


def clamp(low: Any, x: Any, high: Any) -> Any:
    return xp.minimum(xp.maximum(xp.asarray(x), xp.asarray(low)), xp.asarray(high))


def select(which: Any, a: Any, b: Any) -> Any:
    return xp.where(xp.asarray(which), a, b)


def select_n(which: Any, *cases: Any) -> Any:
    result = xp.asarray(cases[0])
    for i, case in enumerate(cases[1:], 1):
        result = xp.where(xp.asarray(which) == i, case, result)
    return result


def convert_element_type(x: Any, dtype: Any) -> Any:
    x, dtype = xp.asarray(x), np.dtype(dtype)
    return (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype)


def bitcast_convert_type(x: Any, dtype: Any) -> Any:
    return xp.asarray(x).view(dtype)


def reshape(x: Any, new_sizes: Any, dimensions: Any = None) -> Any:
    x = xp.asarray(x)
    return (x if dimensions is None else xp.permute_dims(x, tuple(dimensions))).reshape(new_sizes)


def broadcast(x: Any, sizes: Any) -> Any:
    return xp.broadcast_to(xp.asarray(x), (*sizes, *np.shape(x)))


def broadcast_in_dim(x: Any, shape: Any, broadcast_dimensions: Any) -> Any:
    x = xp.asarray(x)
    full = [1] * len(shape)
    for d, n in zip(broadcast_dimensions, x.shape, strict=True):
        full[d] = n
    return xp.broadcast_to(x.reshape(full), tuple(shape))


broadcast_shapes = np.broadcast_shapes
stack, unstack, tile, expand_dims = xp.stack, xp.unstack, xp.tile, xp.expand_dims


def optimization_barrier(x: Any) -> Any:
    return x


def transpose(x: Any, permutation: Any) -> Any:
    return xp.permute_dims(xp.asarray(x), tuple(int(i) for i in permutation))


def rev(x: Any, dimensions: Any) -> Any:
    return xp.flip(xp.asarray(x), axis=tuple(dimensions))


def concatenate(operands: Any, dimension: int) -> Any:
    return xp.concat([xp.asarray(x) for x in operands], axis=dimension)


def split(x: Any, sizes: Any, axis: int = 0) -> Any:
    return xp.split(xp.asarray(x), [int(i) for i in np.cumsum(sizes)[:-1]], axis=axis)


def squeeze(x: Any, dimensions: Any) -> Any:
    return xp.squeeze(xp.asarray(x), axis=tuple(dimensions))


def _spread(x: Any, axis: int, low: int, high: int, between: int, value: Any) -> Any:
    """Put `value` before, after and between the elements along an axis; negative counts take away."""
    n = x.shape[axis]
    shape = list(x.shape)
    shape[axis] = builtins.max(low, 0) + builtins.max(high, 0) + n + builtins.max(n - 1, 0) * between
    out = xp.broadcast_to(xp.asarray(value, dtype=x.dtype), tuple(shape)).copy()
    start = builtins.max(low, 0)
    place = [builtins.slice(None)] * x.ndim
    place[axis] = builtins.slice(start, start + builtins.max(n - 1, 0) * (between + 1) + (n > 0), between + 1)
    out[tuple(place)] = x
    place[axis] = builtins.slice(-builtins.min(low, 0), shape[axis] + builtins.min(high, 0))
    return out[tuple(place)]


def pad(x: Any, padding_value: Any, padding_config: Any) -> Any:
    x = xp.asarray(x)
    for axis, (low, high, between) in enumerate(padding_config):
        x = _spread(x, axis, low, high, between, padding_value)
    return x


def slice(x: Any, start_indices: Any, limit_indices: Any, strides: Any = None) -> Any:
    strides = strides or [1] * len(start_indices)
    return xp.asarray(x)[tuple(builtins.map(builtins.slice, start_indices, limit_indices, strides))]


def slice_in_dim(x: Any, start: Any, limit: Any, stride: int = 1, axis: int = 0) -> Any:
    x = xp.asarray(x)
    return x[(builtins.slice(None),) * (axis % x.ndim) + (builtins.slice(start, limit, stride),)]


def index_in_dim(x: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    found = xp.take(xp.asarray(x), xp.asarray([index]), axis=axis)
    return found if keepdims else xp.squeeze(found, axis=axis)


def _starts(x: Any, starts: Any, sizes: Any) -> list[Any]:
    found = []
    for i, (start, n, whole) in enumerate(zip(starts, sizes, x.shape, strict=True)):
        start = xp.asarray(start)
        start = xp.where(start < 0, start + whole, start)
        index = xp.clip(start, 0, whole - n) + xp.arange(n, dtype=np.result_type(start.dtype, np.int32))
        found.append(index.reshape([-1] + [1] * (x.ndim - 1 - i)))
    return found


def dynamic_slice(x: Any, start_indices: Any, slice_sizes: Any) -> Any:
    x = xp.asarray(x)
    return x[tuple(_starts(x, start_indices, slice_sizes))] if x.ndim else x


def dynamic_update_slice(x: Any, update: Any, start_indices: Any) -> Any:
    x, update = xp.asarray(x), xp.asarray(update)
    if not x.ndim:
        return update
    out = x.copy()
    out[tuple(_starts(x, start_indices, update.shape))] = update
    return out


def dynamic_slice_in_dim(x: Any, start: Any, size: int, axis: int = 0) -> Any:
    x = xp.asarray(x)
    starts, sizes = [0] * x.ndim, list(x.shape)
    starts[axis], sizes[axis] = start, size
    return dynamic_slice(x, starts, sizes)


def dynamic_index_in_dim(x: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    found = dynamic_slice_in_dim(x, index, 1, axis)
    return found if keepdims else xp.squeeze(found, axis=axis)


def dynamic_update_slice_in_dim(x: Any, update: Any, start: Any, axis: int) -> Any:
    starts: list[Any] = [0] * np.ndim(x)
    starts[axis] = start
    return dynamic_update_slice(x, update, starts)


def dynamic_update_index_in_dim(x: Any, update: Any, index: Any, axis: int) -> Any:
    update = xp.asarray(update)
    update = xp.expand_dims(update, axis=axis) if update.ndim != np.ndim(x) else update
    return dynamic_update_slice_in_dim(x, update, index, axis)


def iota(dtype: Any, size: int) -> Any:
    return xp.arange(size, dtype=dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return xp.full(shape, fill_value, dtype=dtype or xp.asarray(fill_value).dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    x = xp.asarray(x)
    return xp.full(x.shape if shape is None else shape, fill_value, dtype=dtype or x.dtype)


def _reducer(function: Any, name: str) -> Any:
    def call(x: Any, axes: Any, **options: Any) -> Any:
        x = xp.asarray(x)
        result = function(x, axis=tuple(axes))
        return result.astype(x.dtype)

    call.__name__ = name
    return call


reduce_sum, reduce_prod = _reducer(xp.sum, "reduce_sum"), _reducer(xp.prod, "reduce_prod")
reduce_max, reduce_min = _reducer(xp.max, "reduce_max"), _reducer(xp.min, "reduce_min")


def reduce(x: Any, init: Any, computation: Any, dimensions: Any) -> Any:
    named = {"add": reduce_sum, "mul": reduce_prod, "max": reduce_max, "min": reduce_min}
    if getattr(computation, "__name__", "") not in named:
        raise Refused("jax.lax.reduce of another function")
    return computation(
        named[computation.__name__](x, dimensions), xp.asarray(init, dtype=xp.asarray(x).dtype)
    )


def argmax(x: Any, axis: int, index_dtype: Any) -> Any:
    return xp.argmax(xp.asarray(x), axis=axis).astype(index_dtype)


def argmin(x: Any, axis: int, index_dtype: Any) -> Any:
    return xp.argmin(xp.asarray(x), axis=axis).astype(index_dtype)


def _cumulative(function: Any, x: Any, axis: int = 0, reverse: bool = False) -> Any:
    x = xp.asarray(x)
    found = function(xp.flip(x, axis=axis) if reverse else x, axis=axis).astype(x.dtype)
    return xp.flip(found, axis=axis) if reverse else found


cumsum, cumprod = partial(_cumulative, xp.cumulative_sum), partial(_cumulative, xp.cumulative_prod)
cummax, cummin = partial(_cumulative, xp.maximum.accumulate), partial(_cumulative, xp.minimum.accumulate)


def sort(x: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    if isinstance(x, (tuple, list)):
        keys = [xp.asarray(k) for k in x]
        order = xp.lexsort(keys[:num_keys][::-1], axis=dimension)
        return tuple(xp.take_along_axis(k, order, axis=dimension) for k in keys)
    return xp.sort(xp.asarray(x), axis=dimension)


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    return sort((keys, values), dimension)


def top_k(x: Any, k: int, axis: int = -1) -> Any:
    x = xp.asarray(x)
    order = xp.flip(xp.argsort(xp.flip(x, axis=axis), axis=axis, stable=True), axis=axis)
    order = x.shape[axis] - 1 - order
    order = slice_in_dim(order, 0, k, axis=axis % x.ndim)
    return [xp.take_along_axis(x, order, axis=axis), order.astype(np.int32)]


def dot_general(a: Any, b: Any, dimension_numbers: Any, **options: Any) -> Any:
    (ca, cb), (ba, bb) = dimension_numbers
    a, b = xp.asarray(a), xp.asarray(b)
    names = iter(range(a.ndim + b.ndim))
    left = [next(names) for _ in range(a.ndim)]
    right = [next(names) for _ in range(b.ndim)]
    for i, j in (*zip(ca, cb, strict=True), *zip(ba, bb, strict=True)):
        right[j] = left[i]
    batch = [left[i] for i in ba]
    free = [n for i, n in enumerate(left) if i not in (*ca, *ba)]
    free += [n for j, n in enumerate(right) if j not in (*cb, *bb)]
    dtype = options.get("preferred_element_type")
    result = xp.einsum(a, left, b, right, batch + free)
    return result if dtype is None else result.astype(dtype)


def dot(a: Any, b: Any, *args: Any, **options: Any) -> Any:
    a, b = xp.asarray(a), xp.asarray(b)
    return dot_general(a, b, (((a.ndim - 1,), (builtins.max(b.ndim - 2, 0),)), ((), ())), **options)


def fft(x: Any, fft_type: Any, fft_lengths: Any) -> Any:
    name = (fft_type if isinstance(fft_type, str) else fft_type.name).lower() + "n"
    axes = tuple(range(-len(fft_lengths), 0))
    return getattr(xp.fft, name)(xp.asarray(x), s=tuple(fft_lengths), axes=axes)


def axis_size(axis_name: Any) -> Any:
    return int(psum(1, axis_name))


psum, pmean, pmax, pmin = named_axes.psum, named_axes.pmean, named_axes.pmax, named_axes.pmin
all_gather, ppermute, axis_index = named_axes.all_gather, named_axes.ppermute, named_axes.axis_index
