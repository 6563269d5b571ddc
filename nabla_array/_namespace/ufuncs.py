"""What makes a function a ufunc: ``out=``, ``where=``, ``dtype=``, and methods such as `reduce`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._lazy.primitives.elementwise import neg, select
from .._lazy.primitives.structure import concat, permute, reshape
from . import scans, statistical, utility
from .array import Array, apply
from .indexing import combine_at, getitem
from .outputs import deliver
from .promotion import (
    SCALARS,
    as_array,
    astype,
    broadcast_shapes,
    broadcast_to,
    elementwise,
    full,
    normalize_axes,
    normalize_axis,
)

Function = Callable[..., Any]
_BOOL = np.dtype(np.bool)

_REDUCTIONS: dict[np.ufunc, Function] = {
    np.add: statistical.sum,
    np.multiply: statistical.prod,
    np.maximum: statistical.max,
    np.minimum: statistical.min,
    np.logical_and: utility.all,
    np.logical_or: utility.any,
}
_SCANS: dict[np.ufunc, Function] = {
    np.add: scans.cumulative_sum,
    np.multiply: scans.cumulative_prod,
}
# Those whose pairs may be joined in any order.
_ASSOCIATIVE = {
    *(np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.gcd, np.lcm, np.hypot),
    *(np.logical_and, np.logical_or, np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor),
    *(np.logaddexp, np.logaddexp2),
}
_MODES: dict[np.ufunc, str] = {np.add: "add", np.multiply: "mul", np.maximum: "max", np.minimum: "min"}
# A chain of operations that cannot be joined in any order is recorded up to this length.
_LONGEST = 1000

# What runs a function of NumPy's on the host, counted; and the same after an error. Interop puts them here.
host_hook: list[Function] = []


class _Ufuncs(type):
    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, np.ufunc) or hasattr(thing, "reduceat")


class ufunc(metaclass=_Ufuncs):
    """The type of NumPy's ufuncs, for `isinstance`: ours are functions with a ufunc's attributes.

    References
    ----------
    https://numpy.org/doc/stable/reference/generated/numpy.ufunc.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> isinstance(xp.add, xp.ufunc), xp.add.nin
    (True, 2)
    """


def make_ufunc(function: Function, like: np.ufunc) -> None:
    """Give a function the attributes and the methods of a ufunc of NumPy's."""
    shared = ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature")
    function.__dict__.update({name: getattr(like, name) for name in shared})
    for method in (reduce, accumulate, reduceat, outer, at):
        function.__dict__[method.__name__] = partial(method, function, like)


def with_options(
    function: Function,
    like: np.ufunc,
    args: tuple[Any, ...],
    out: Any,
    where: Any,
    casting: Any,
    dtype: Any,
    signature: Any,
) -> Any:
    """Call a ufunc with more than its operands."""
    name = like.__name__
    outs = out if isinstance(out, tuple) else (out,) * (like.nout if out is None else 1)
    if len(outs) != like.nout:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    for target in outs:
        if target is not None and not isinstance(target, Array | np.ndarray):
            raise TypeError("return arrays must be of ArrayType")
    if dtype is not None and signature is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    casting = "same_kind" if casting is None else casting
    operands = [x if type(x) in SCALARS else as_array(name, x) for x in args]
    if all(type(x) is not Array for x in operands):
        operands = [as_array(name, x) for x in operands]
    kinds = [x.dtype if type(x) is Array else _BOOL if type(x) is bool else type(x) for x in operands]
    if dtype is not None:
        signature = (None,) * like.nin + (np.dtype(dtype),) * like.nout
    targets = [None if t is None else t.dtype for t in outs]
    options = {} if signature is None else {"signature": signature}
    dtypes = like.resolve_dtypes((*kinds, *targets), casting=casting, **options)
    if name in ("logical_and", "logical_or", "logical_xor", "logical_not"):  # they look at what is given
        dtypes = tuple(k if isinstance(k, np.dtype) else d for k, d in zip(kinds, dtypes, strict=False))
    ready = [as_array(name, x, d) for x, d in zip(operands, dtypes, strict=False)]
    results = function(*ready)
    many = results if isinstance(results, tuple) else (results,)
    if where is not True:
        many = tuple([_where(name, where, y, t) for y, t in zip(many, outs, strict=True)])
    many = tuple([y if t is None else deliver(name, t, y, casting) for y, t in zip(many, outs, strict=True)])
    return many if isinstance(results, tuple) else many[0]


def _where(name: str, where: Any, y: Array, out: Any) -> Array:
    """Return `y` where a mask is true; what was in `out` elsewhere, or zeros."""
    if isinstance(where, Array | np.ndarray) and where.dtype != _BOOL:
        raise TypeError(f"Cannot cast array data from {where.dtype} to bool according to the rule 'safe'")
    mask = as_array(name, where, _BOOL)
    shape = broadcast_shapes(name, mask.shape, y.shape, *([] if out is None else [out.shape]))
    before = full(shape, 0, y.dtype)
    if out is not None:
        before = broadcast_to(astype(as_array(name, out), y.dtype), shape)
    return apply(select, broadcast_to(mask, shape), broadcast_to(y, shape), before)


def _check_binary(like: np.ufunc, method: str) -> None:
    if like.signature is not None:
        raise RuntimeError(f"{method} is not defined on ufuncs with signatures")
    if like.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if like.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")


def _host(like: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
    return host_hook[0](getattr(like, method), f"{like.__name__}.{method}", args, kwargs)


def reduce(
    function: Function,
    like: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Join the elements along axes, as ``ufunc.reduce`` does."""
    _check_binary(like, "reduce")
    name = f"{like.__name__}.reduce"
    if isinstance(out, tuple):
        (out,) = out
    x = as_array(name, array)
    own = _REDUCTIONS.get(like)
    if own is not None:
        y = _own_reduction(own, like, x, axis, dtype, keepdims, initial, where, out)
        return y if out is None else deliver(name, out, y)
    axes = normalize_axes(name, axis, x.ndim)
    if len(axes) > 1 and like not in _ASSOCIATIVE:
        raise ValueError(f"{name}: the order of elements matters, so at most one axis may be given")
    if dtype is not None:
        x = astype(x, np.dtype(dtype))
    if where is not True:
        if like.identity is None:
            raise ValueError(f"{name}: has no identity, so 'where' needs 'initial'")
        x = statistical.chosen(name, x, where, like.identity)
    n = math.prod(x.shape[k] for k in axes)
    if n > _LONGEST and like not in _ASSOCIATIVE:
        return _host(like, "reduce", x, axis=axis, keepdims=keepdims, out=out)
    rest = tuple(k for k in range(x.ndim) if k not in axes)
    rows = apply(reshape, apply(permute, x, axes=(*axes, *rest)), shape=(n, *[x.shape[k] for k in rest]))
    y = _folded(function, like, rows, initial)
    if keepdims:
        y = apply(reshape, y, shape=tuple(1 if k in axes else m for k, m in enumerate(x.shape)))
    return y if out is None else deliver(name, out, y)


def _own_reduction(
    own: Function,
    like: np.ufunc,
    x: Array,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    out: Any,
) -> Array:
    if like in (np.logical_and, np.logical_or):
        y = own(x, axis, keepdims=keepdims, where=where)
        return y if dtype is None else astype(y, np.dtype(dtype))
    if dtype is None and out is not None and like in _SCANS:
        dtype = out.dtype
    if dtype is not None:
        x = astype(x, np.dtype(dtype))
    y = own(x, axis, keepdims=keepdims, initial=initial, where=where)
    return y if dtype is None else astype(y, np.dtype(dtype))


def _folded(function: Function, like: np.ufunc, x: Array, initial: Any) -> Array:
    """Join the parts of `x` along the first axis: by halves where the order is free, else from the left."""
    n = x.shape[0]
    if n == 0:
        start = like.identity if initial is None else initial
        if start is None:
            raise ValueError(f"zero-size array to reduction operation {like.__name__} which has no identity")
        return full(x.shape[1:], start, x.dtype)
    if like in _ASSOCIATIVE:
        while n > 1:
            half = n // 2
            joined = function(getitem(x, slice(0, half)), getitem(x, slice(half, 2 * half)))
            odd = getitem(x, slice(2 * half, None))
            x = joined if n % 2 == 0 else apply(concat, joined, astype(odd, joined.dtype), axis=0)
            n = x.shape[0]
        y = getitem(x, 0)
    else:
        y = getitem(x, 0)
        for i in range(1, n):
            y = function(y, getitem(x, i))
    y = y.copy() if n == 1 else y
    return y if initial is None else function(initial, y)


def accumulate(
    function: Function, like: np.ufunc, array: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Return what each element and those before it join to, as ``ufunc.accumulate`` does."""
    _check_binary(like, "accumulate")
    name = f"{like.__name__}.accumulate"
    if isinstance(out, tuple):
        (out,) = out
    x = as_array(name, array)
    if not x.ndim:
        raise TypeError("cannot accumulate on a scalar")
    k = normalize_axis(name, axis, x.ndim)
    if like in _SCANS:
        return _SCANS[like](x, axis=k, dtype=dtype, out=out)
    if dtype is not None:
        x = astype(x, np.dtype(dtype))
    n = x.shape[k]
    if like not in _ASSOCIATIVE and n > _LONGEST:
        return _host(like, "accumulate", x, axis=k, out=out)
    y = _scanned(function, like, x, (slice(None),) * k)
    return y if out is None else deliver(name, out, y)


def _scanned(function: Function, like: np.ufunc, x: Array, lead: tuple[Any, ...]) -> Array:
    k, n = len(lead), x.shape[len(lead)]
    if like.__name__.startswith("logical"):
        x = astype(x, _BOOL)
    if like in _ASSOCIATIVE:
        step = 1
        while step < n:  # each element joins the one `step` before it, which has joined 2 * step already
            joined = function(getitem(x, (*lead, slice(0, n - step))), getitem(x, (*lead, slice(step, None))))
            x = apply(concat, astype(getitem(x, (*lead, slice(0, step))), joined.dtype), joined, axis=k)
            step *= 2
        return x.copy() if n < 2 else x
    parts = [getitem(x, (*lead, slice(i, i + 1))) for i in range(n)]
    for i in range(1, n):
        parts[i] = function(parts[i - 1], parts[i])
    return apply(concat, *[astype(q, parts[-1].dtype) for q in parts], axis=k) if parts else x.copy()


def reduceat(
    function: Function,
    like: np.ufunc,
    array: Any,
    indices: Any,
    axis: int = 0,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Join the elements between indices, as ``ufunc.reduceat`` does."""
    _check_binary(like, "reduceat")
    name = f"{like.__name__}.reduceat"
    x = as_array(name, array)
    k = normalize_axis(name, axis, x.ndim)
    places = np.asarray(indices)
    places = places if places.size else places.astype(np.intp)
    if places.dtype.kind not in "iu" or places.ndim != 1:
        raise TypeError(f"{name}: indices must be integers along one axis")
    n = x.shape[k]
    if places.size and not 0 <= places.min() <= places.max() < n:
        raise IndexError(f"index {places.max()} out-of-bounds in {name} [0, {n})")
    if not 0 < places.size <= _LONGEST:
        return _host(like, "reduceat", x, places, axis=k, dtype=dtype)
    parts = []
    for i, j in zip(places, [*places[1:], n], strict=True):
        part = getitem(x, (*[slice(None)] * k, slice(int(i), int(j) if j > i else int(i) + 1)))
        parts.append(reduce(function, like, part, k, dtype, keepdims=True))
    y = apply(concat, *parts, axis=k)
    return y if out is None else deliver(name, out, y)


def outer(function: Function, like: np.ufunc, A: Any, B: Any, /, **kwargs: Any) -> Any:
    """Apply a ufunc to each pair of an element of one array and one of another."""
    if like.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    a, b = as_array(like.__name__, A), as_array(like.__name__, B)
    return function(apply(reshape, a, shape=(*a.shape, *[1] * b.ndim)) if b.ndim else a, b, **kwargs)


def at(function: Function, like: np.ufunc, a: Any, indices: Any, b: Any = None, /) -> None:
    """Apply a ufunc in place at indices, again where one stands there again."""
    if like.nin == 2 and b is None:
        raise ValueError("second operand needed for ufunc")
    if type(a) is not Array:
        like.at(a, np.asarray(indices) if type(indices) is Array else indices, np.asarray(b))
        return
    name = f"{like.__name__}.at"
    if like is np.subtract and a.dtype.kind in "ifc":
        like, b = np.add, elementwise(neg, name, (b,))
    mode = None if b is None else _MODES.get(like)
    kind = type(b) if b is None or type(b) in SCALARS[1:] else as_array(name, b).dtype
    if mode is None or like.resolve_dtypes((a.dtype, kind, None))[-1] != a.dtype:  # each step would round
        _host(like, "at", a, indices, *([] if b is None else [b]))
        return
    value = as_array(name, b, a.dtype)
    combine_at(a, indices, value, mode, function)
