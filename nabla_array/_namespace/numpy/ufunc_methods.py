"""What ufuncs do besides: ``out=``, ``where=``, ``dtype=`` and their like, and methods such as `reduce`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._lazy.graph.aval import MOST_AXES
from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops import elementwise as p
from ..._lazy.ops.elementwise import add, neg, select
from ..._lazy.ops.structure import concat, permute, reshape
from ..chapters import scans, statistical, utility
from ..core.array import Array, apply
from ..core.indexing import combine_at
from ..core.outputs import deliver
from ..core.promotion import (
    SCALARS,
    as_array,
    astype,
    broadcast_shapes,
    broadcast_to,
    check_kind,
    elementwise,
    full,
    normalize_axes,
)
from ..dispatch import eager
from ..dispatch.elementwise_calls import PRIMITIVES
from ..dispatch.ufuncs import Function, host_hook

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
# Those whose pairs may be joined in any order; the logical ones are of bits.
_ASSOCIATIVE = {r.ufunc for r in vars(p).values() if isinstance(r, Primitive) and r.associative}
_ASSOCIATIVE |= {np.logical_and, np.logical_or, np.logical_xor}
_MODES: dict[np.ufunc, str] = {np.add: "add", np.multiply: "mul", np.maximum: "max", np.minimum: "min"}
_LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
# Operands for which a function that has none for others does nothing odd.
_HARMLESS = {
    np.arctanh: 0,
    **dict.fromkeys((np.log, np.log2, np.log10, np.log1p, np.sqrt, np.reciprocal, np.arccos, np.arcsin), 1),
    **dict.fromkeys((np.arccosh, np.divide, np.divmod, np.floor_divide, np.remainder, np.fmod, np.power), 1),
    np.float_power: 1,
}
# A chain of operations that cannot be joined in any order is recorded up to this length.
_LONGEST = 1000


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
    for x in (*args, *(out if isinstance(out, tuple) else (out,)), where):
        check_kind(name, x)  # may answer for itself, by `__array_ufunc__`
    out = None if out is ... else out  # what asks for an array, which all are
    if out is not None and like.nout > 1 and not isinstance(out, tuple):
        raise TypeError("'out' must be a tuple of arrays")
    outs = out if isinstance(out, tuple) else (out,) * like.nout
    if len(outs) != like.nout:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    if any([target is ... for target in outs]):
        raise TypeError("must use `...` as `out=...` and not per-operand/in a tuple")
    for target in outs:
        if target is not None and not isinstance(target, Array | np.ndarray):
            raise TypeError("return arrays must be of ArrayType")
    if dtype is not None and signature is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    casting = "same_kind" if casting is None else casting
    operands = [x if type(x) in SCALARS else as_array(name, x) for x in args]
    if all(type(x) is not Array for x in operands):
        operands = [as_array(name, x) for x in operands]
    kinds = [
        a.dtype
        if isinstance(a, np.ndarray)
        else x.dtype
        if type(x) is Array
        else _BOOL
        if type(x) is bool
        else type(x)
        for a, x in zip(args, operands, strict=True)
    ]
    if dtype is not None:
        is_class = isinstance(dtype, type) and issubclass(dtype, np.dtype)  # np.dtypes.Float64DType
        signature = (None,) * like.nin + (dtype() if is_class else np.dtype(dtype),) * like.nout
    targets = [None if t is None else t.dtype for t in outs]
    options = {} if signature is None else {"signature": signature}
    dtypes = like.resolve_dtypes((*kinds, *targets), casting=casting, **options)
    if name in _LOGICAL:  # they look at what is given
        dtypes = tuple(k if isinstance(k, np.dtype) else d for k, d in zip(kinds, dtypes, strict=False))
    ready = [as_array(name, x, d) for x, d in zip(operands, dtypes, strict=False)]
    if where is not True:
        if isinstance(where, Array | np.ndarray) and where.dtype != _BOOL:
            raise TypeError(f"Cannot cast array data from {where.dtype} to bool according to the rule 'safe'")
        where = as_array(name, where, _BOOL)
        if like in _HARMLESS:  # where the mask is false nothing may fail, nor spoil a derivative
            ready = [_chosen(name, where, x, _HARMLESS[like]) for x in ready]
    results = function(*ready)
    many = results if isinstance(results, tuple) else (results,)
    if where is not True:
        pairs = [(y, 0) if t is None else (astype(y, t.dtype), t) for y, t in zip(many, outs, strict=True)]
        many = tuple([_chosen(name, where, y, before) for y, before in pairs])
    many = tuple([deliver(name, t, y, casting) for y, t in zip(many, outs, strict=True)])
    return many if isinstance(results, tuple) else many[0]


def _chosen(name: str, mask: Array, y: Array, before: Any) -> Array:
    """Return `y` where a mask is true, and `before` elsewhere, an array or a number."""
    shape = broadcast_shapes(name, mask.shape, y.shape, getattr(before, "shape", ()))
    other = astype(as_array(name, before), y.dtype)
    return apply(select, broadcast_to(mask, shape), broadcast_to(y, shape), broadcast_to(other, shape))


def _check_binary(like: np.ufunc, method: str) -> None:
    if like.signature is not None:
        raise RuntimeError(f"{method} is not defined on ufuncs with signatures")
    if like.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if like.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")


def _numpys(
    function: Function, like: np.ufunc, method: str, result: np.dtype, *args: Any, **options: Any
) -> Any:
    """Return what NumPy's method gives for known arrays; None where ours may differ, or MAX is to see it."""
    prim = PRIMITIVES.get(function)
    # What we compute of floats otherwise than NumPy is NumPy's for integers.
    if prim is None or not (prim.host is like or (prim.ufunc is like and result.kind in "iu")):
        return None
    found = eager.numpys(getattr(like, method), args, options, at_once=True)
    return found if found is not None and found.dtype == result else None


def _host(like: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
    return host_hook[0](getattr(like, method), f"{like.__name__}.{method}", args, kwargs)


def _sole(out: Any) -> Any:
    """Return the one array that `out` is, alone or in a tuple."""
    (out,) = out if isinstance(out, tuple) else (out,)
    if out is not None and not isinstance(out, Array | np.ndarray):
        raise TypeError("return arrays must be of ArrayType")
    return out


def _joinable(like: np.ufunc, x: Array, dtype: Any, out: Any, uniform: bool) -> tuple[Array, np.dtype]:
    """Return `x` in the dtype in which its elements are joined, and the result's dtype.

    `uniform`: the results are joined again, so that they must have the elements' dtype.
    """
    first = None if dtype is None else np.dtype(dtype)
    given = None if out is None else out.dtype
    options: Any = {"reduction": True, "casting": "unsafe"}
    if first is not None:
        options["signature"] = (first, None, None)
    _, element, result = like.resolve_dtypes((given, x.dtype, None), **options)
    if uniform and element != result:
        raise TypeError(f"{like.__name__}: joins {element} to {result}, which cannot be joined again")
    if uniform or like.__name__ not in _LOGICAL:  # they look at the elements as they are
        x = astype(x, element)
    return x, result


def reduce(
    function: Function,
    like: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """Join the elements along axes, as ``ufunc.reduce`` does."""
    _check_binary(like, "reduce")
    name = f"{like.__name__}.reduce"
    out = _sole(out)
    x = as_array(name, array)
    # NumPy takes the first axis of a number for none.
    axes = () if not x.ndim and axis in (0, -1) else normalize_axes(name, axis, x.ndim)
    x, result = _joinable(like, x, dtype, out, False)
    start = like.identity if initial is np._NoValue else initial
    if start is None and where is not True:
        raise ValueError(f"{name}: has no identity, so 'where' needs 'initial'")
    if len(axes) > 1 and (like not in _ASSOCIATIVE or like is np.lcm):
        raise ValueError(f"{name}: the order of elements matters, so at most one axis may be given")
    if initial is None and 0 in [x.shape[k] for k in axes]:
        raise ValueError(f"zero-size array to reduction operation {like.__name__} which has no identity")
    own = _REDUCTIONS.get(like)
    if own is None and where is True and initial is np._NoValue:
        found = _numpys(function, like, "reduce", result, x, axis=axes, dtype=dtype, keepdims=keepdims)
        if found is not None:
            return deliver(name, out, found, "unsafe", exact=True)
    if own is not None:
        first = None if initial is np._NoValue else initial
        logical = like.__name__ in _LOGICAL
        y = own(x, axes, keepdims=keepdims, where=where, **({} if logical else {"initial": first}))
        y = function(first, y) if logical and first is not None else astype(y, result)
        return deliver(name, out, y, "unsafe", exact=True)
    n = math.prod(x.shape[k] for k in axes)
    if n > _LONGEST and (like not in _ASSOCIATIVE or where is not True):
        return _host(like, "reduce", x, axis, result, out, keepdims, initial, where)
    rows, mask = _in_rows(x, axes), None
    if where is not True:
        mask = _in_rows(broadcast_to(as_array(name, where, _BOOL), x.shape), axes)
        rows = _chosen(name, mask, rows, 1) if like in _HARMLESS else rows
    if start is not None and type(start) is not Array:
        start = full((), np.asarray(start).astype(rows.dtype).item(), rows.dtype)
    y = _folded(function, like, rows, start, mask)
    if keepdims:
        y = apply(reshape, y, shape=statistical.kept(x, axes))
    return deliver(name, out, astype(y, result), "unsafe", exact=True)


def _in_rows(x: Array, axes: tuple[int, ...]) -> Array:
    """Return `x` with one axis for those, which comes first."""
    rest = [k for k in range(x.ndim) if k not in axes]
    turned = apply(permute, x, axes=(*axes, *rest))
    return apply(reshape, turned, shape=(math.prod(x.shape[k] for k in axes), *[x.shape[k] for k in rest]))


def _folded(function: Function, like: np.ufunc, x: Array, start: Any, mask: Array | None) -> Array:
    """Join the parts of `x` along the first axis: by halves where the order is free, else from the left."""
    n = x.shape[0]
    if start is None:
        if n == 0:
            raise ValueError(f"zero-size array to reduction operation {like.__name__} which has no identity")
        y = x[0].copy()
    else:
        y = broadcast_to(start, x.shape[1:])
    if like in _ASSOCIATIVE and mask is None:
        while n > 1:
            half = n // 2
            joined = function(x[:half], x[half : 2 * half])
            odd = x[2 * half :]
            x = joined if n % 2 == 0 else apply(concat, joined, astype(odd, joined.dtype), axis=0)
            n = x.shape[0]
        if n == 0:
            return y
        return x[0].copy() if start is None else function(y, x[0])
    for i in range(start is None, n):
        new = function(y, x[i])
        y = new if mask is None else apply(select, mask[i], new, astype(y, new.dtype))
    return y


def accumulate(
    function: Function, like: np.ufunc, array: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Return what each element and those before it join to, as ``ufunc.accumulate`` does."""
    name, out, x, k = _along(like, "accumulate", array, axis, out)
    x, result = _joinable(like, x, dtype, out, True)
    n = x.shape[k]
    if like not in _SCANS or x.nbytes < eager.PART:  # MAX scans large ones sooner
        found = _numpys(function, like, "accumulate", result, x, axis=k, dtype=dtype)
        if found is not None:
            return deliver(name, out, found, "unsafe", exact=True)
    if like in _SCANS:
        y = _SCANS[like](x, axis=k, dtype=result)
    elif like not in _ASSOCIATIVE and n > _LONGEST:
        return _host(like, "accumulate", x, axis=k, out=out)
    else:
        y = _scanned(function, like, x, (slice(None),) * k)
    return deliver(name, out, y, "unsafe", exact=True)


def _along(like: np.ufunc, method: str, array: Any, axis: Any, out: Any) -> tuple[str, Any, Array, int]:
    """Return the name of a method along one axis, `out`, the array, and the axis."""
    _check_binary(like, method)
    name = f"{like.__name__}.{method}"
    out = _sole(out)
    x = as_array(name, array)
    if not x.ndim:
        raise TypeError(f"cannot {method} on a scalar")
    axes = normalize_axes(name, axis, x.ndim)
    if len(axes) != 1:
        raise ValueError(f"{name}: works along one axis, not along {axis!r} of {x.ndim}")
    return name, out, x, axes[0]


def _scanned(function: Function, like: np.ufunc, x: Array, lead: tuple[Any, ...]) -> Array:
    k, n = len(lead), x.shape[len(lead)]
    if like in _ASSOCIATIVE:
        step = 1
        while step < n:  # each element joins the one `step` before it, which has joined 2 * step already
            joined = function(x[*lead, : n - step], x[*lead, step:])
            x = apply(concat, astype(x[*lead, :step], joined.dtype), joined, axis=k)
            step *= 2
        return x.copy() if n < 2 else x
    parts = [x[*lead, i : i + 1] for i in range(n)]
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
    name, out, x, k = _along(like, "reduceat", array, axis, out)
    places = np.asarray(indices).astype(np.intp)
    if places.ndim != 1:
        raise ValueError(f"{name}: indices must stand along one axis, not in shape {places.shape}")
    n = x.shape[k]
    if places.size and not 0 <= places.min() <= places.max() < n:
        raise IndexError(f"index {places.max()} out-of-bounds in {name} [0, {n})")
    x, result = _joinable(like, x, dtype, out, True)
    found = _numpys(function, like, "reduceat", result, x, places, axis=k, dtype=dtype)
    if found is not None:
        return deliver(name, out, found, "unsafe", exact=True)
    if not 0 < places.size <= _LONGEST:
        return _host(like, "reduceat", x, places, axis=k, out=out)
    parts = []
    for i, j in zip(places, [*places[1:], n], strict=True):
        part = x[*[slice(None)] * k, int(i) : (int(j) if j > i else int(i) + 1)]
        parts.append(astype(reduce(function, like, part, k, keepdims=True, initial=None), result))
    return deliver(name, out, apply(concat, *parts, axis=k), "unsafe", exact=True)


def outer(function: Function, like: np.ufunc, A: Any, B: Any, /, **kwargs: Any) -> Any:
    """Apply a ufunc to each pair of an element of one array and one of another."""
    if like.signature is not None:
        raise TypeError("method outer is not allowed in ufunc with non-trivial signature")
    if like.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    a, b = as_array(like.__name__, A), as_array(like.__name__, B)
    if a.ndim + b.ndim > MOST_AXES:
        raise ValueError(f"{like.__name__}.outer: {a.ndim} and {b.ndim} axes, and {MOST_AXES} are the most")
    return function(a[(..., *[None] * b.ndim)] if b.ndim else a, b, **kwargs)


def _is_done_at_once(like: np.ufunc, a: Array, indices: Any, b: Any) -> bool:
    """Do what `at` does in the array's own memory, if one dtype will do and nobody could tell."""
    if b is None or not a.ndim or type(indices) not in (Array, np.ndarray, list):
        return False
    dtype = a.dtype
    own = b.dtype if type(b) is Array else np.asarray(b).dtype
    if own != dtype and not (type(b) is int and dtype == np.float64):
        return False
    places = eager.places(indices, a.shape[0]) if f"{dtype.char * 2}->{dtype.char}" in like.types else None
    return places is not None and eager.change(like.at, a, b, places)


def _holds(dtype: np.dtype, number: int) -> bool:
    limits = np.iinfo(dtype)
    return int(limits.min) <= number <= int(limits.max)


def at(function: Function, like: np.ufunc, a: Any, indices: Any, b: Any = None, /) -> None:
    """Apply a ufunc in place at indices, again where one stands there again."""
    if like.signature is not None:
        raise TypeError(f"{like.__name__}.at does not support ufunc with non-trivial signature")
    if (like.nin == 2) is (b is None):
        told = "needed for ufunc" if b is None else "provided when ufunc is unary"
        raise ValueError(f"second operand {told}")
    if type(a) is not Array:
        given = () if b is None else (np.asarray(b),)
        like.at(a, np.asarray(indices) if type(indices) is Array else indices, *given)
        return
    name = f"{like.__name__}.at"
    if _is_done_at_once(like, a, indices, b):
        return
    subtracts = like is np.subtract and a.dtype.kind in "iufc"
    mode = None if b is None else "add" if subtracts else _MODES.get(like)
    kind = type(b) if b is None or type(b) in SCALARS[1:] else as_array(name, b).dtype
    wraps = type(b) is int and a.dtype.kind in "iu" and not _holds(a.dtype, b)
    # Each step would round, or wrap round what is too large.
    if mode is None or wraps or like.resolve_dtypes((a.dtype, kind, None))[-1] != a.dtype:
        _host(like, "at", a, indices, *([] if b is None else [b]))
        return
    value = as_array(name, b, a.dtype)
    if subtracts:
        value = elementwise(neg, name, (value,))
        combine_at(a, indices, value, mode, lambda x, y: elementwise(add, name, (x, y)))
    else:
        combine_at(a, indices, value, mode, function)
