"""Products: of vectors and matrices, outer ones, and those that `einsum` spells."""

from __future__ import annotations

import functools
import math
import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._lazy.ops.structure import reshape as reshape_p
from ..chapters.elementwise import conj, multiply
from ..chapters.joining import stack
from ..chapters.linalg_basics import cross as cross_in_space
from ..chapters.linear_algebra import matmul, tensordot, vecdot, with_core_options
from ..chapters.manipulation import moveaxis, reshape
from ..chapters.statistical import sum as sum_
from ..core.array import Array, as_scalar, view
from ..core.order import check_order
from ..core.outputs import deliver
from ..core.promotion import (
    as_array,
    astype,
    broadcast_shapes,
    broadcast_to,
    normalize_axis,
    promote,
    result_dtype,
)
from ..core.views import in_order, layout
from ..dispatch import eager, fastpath
from ..dispatch.ufuncs import make_ufunc
from .described import eager_numpys, numpys
from .joining import flat

if TYPE_CHECKING:
    from ..core.types import ArrayLike, DTypeLike, Out


@fastpath.product(np.dot)
@numpys
def dot(a: ArrayLike, b: ArrayLike, out: Out = None) -> Array:
    """Return the sum of products over the last axis of `a` and the last but one of `b`.

    >>> xp.dot([[1, 2], [3, 4]], [1, 10])
    array([21, 43])
    """
    x, y = as_array("dot", a), as_array("dot", b)
    if not x.ndim or not y.ndim:
        return deliver("dot", out, multiply(x, y), exact=True)
    if (found := eager.product(np.dot, x, y)) is not None:
        return deliver("dot", out, found, exact=True)
    if y.ndim <= 2:
        if x.shape[-1] != y.shape[0]:
            raise ValueError(
                f"dot: shapes {x.shape} and {y.shape} not aligned: {x.shape[-1]} != {y.shape[0]}"
            )
        if x.ndim <= 2:
            return deliver("dot", out, matmul(x, y), exact=True)
    return deliver("dot", out, as_scalar(tensordot(x, y, axes=((-1,), (max(y.ndim - 2, 0),)))), exact=True)


def _inner_size(a: Any, b: Any) -> float:
    last = a.shape[-1] if type(a) is np.ndarray and a.ndim else 1
    return fastpath.pairs(a, b) / max(last, 1) ** 2


@eager_numpys(elements=_inner_size)
def inner(a: ArrayLike, b: ArrayLike, /) -> Array:
    """Return the sum of products over the last axes.

    >>> xp.inner([1, 2, 3], [0, 1, 0])
    np.int64(2)
    """
    x, y = as_array("inner", a), as_array("inner", b)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"inner: shapes {x.shape} and {y.shape} need last axes of equal size")
    return as_scalar(tensordot(x, y, axes=((-1,), (-1,))))


@eager_numpys(elements=fastpath.pairs)
def outer(a: ArrayLike, b: ArrayLike, out: Out = None) -> Array:
    """Return the products of each element of one array with each of another, both flattened.

    >>> xp.outer([1, 2], [1, 10])
    array([[ 1, 10],
           [ 2, 20]])
    """
    x, y = flat("outer", a), flat("outer", b)
    return deliver("outer", out, multiply(reshape(x, (-1, 1)), y))


@eager_numpys()
def vdot(a: ArrayLike, b: ArrayLike, /) -> Array:
    """Return the dot product of the flattened arrays, the first one conjugated.

    >>> xp.vdot([1 + 1j, 2], [1, 1])
    np.complex128(3-1j)
    """
    x, y = flat("vdot", a), flat("vdot", b)
    if x.size != y.size:
        raise ValueError(f"vdot: needs as many elements in both, not shapes {np.shape(a)} and {np.shape(b)}")
    return vecdot(x, y)


@eager_numpys(elements=fastpath.pairs)
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Kronecker product: blocks of the second array scaled by the elements of the first.

    >>> xp.kron([1, 10], [1, 2])
    array([ 1,  2, 10, 20])
    """
    x, y = as_array("kron", a), as_array("kron", b)
    n = max(x.ndim, y.ndim)
    s, t = [(1,) * (n - z.ndim) + z.shape for z in (x, y)]
    wide = reshape(x, tuple(k for m in s for k in (m, 1)))
    inner_ = reshape(y, tuple(k for m in t for k in (1, m)))
    return reshape(multiply(wide, inner_), tuple(p * q for p, q in zip(s, t, strict=True)))


@eager_numpys()
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """Return the cross product of vectors in space (or, as it was once, in the plane).

    >>> xp.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promote("cross", a, b)
    if not x.ndim or not y.ndim:
        raise ValueError("At least one array has zero dimension")
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    sizes = x.shape[-1], y.shape[-1]
    if not set(sizes) <= {2, 3}:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{sizes[0]} and {sizes[1]} dimensional instead."
        )
    shape = broadcast_shapes("cross", x.shape[:-1], y.shape[:-1])
    if sizes == (2, 2):
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    in_space = [z if z.shape[-1] == 3 else stack([z[..., 0], z[..., 1], z[..., 0] * 0], -1) for z in (x, y)]
    x, y = [broadcast_to(z, (*shape, 3)) for z in in_space]
    out = cross_in_space(x, y)
    return moveaxis(out, -1, normalize_axis("cross", axisc, out.ndim))


# -- einsum ------------------------------------------------------------------------------------------


class _Spelled(NamedTuple):
    """What `einsum` was asked for: labels (ints) for each operand and for the result."""

    operands: list[Array]
    inputs: list[list[int]]
    output: list[int]


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DOTS = -1000


def _term(text: str) -> list[int]:
    """Return the labels of one operand; _DOTS stands for an ellipsis."""
    out = []
    parts = text.replace(" ", "").split("...")
    if len(parts) > 2:
        raise ValueError("einstein sum subscripts string contains more than one ellipsis")
    for i, part in enumerate(parts):
        out += [_DOTS] if i else []
        for letter in part:
            if letter not in _LETTERS:
                raise ValueError(f"einsum: {letter!r} is no subscript; letters and '...' would work")
            out.append(_LETTERS.index(letter))
    return out


def _label(i: Any) -> int:
    """Return the label that a number, or an ellipsis, stands for in a list of them."""
    label = _DOTS if i is Ellipsis else operator.index(i)
    if label != _DOTS and not 0 <= label < len(_LETTERS):
        raise ValueError(f"einsum: {label} is no subscript; 0 to {len(_LETTERS) - 1} would work")
    return label


@lru_cache(1024)
def _parsed(text: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[list[int]], list[int]]:
    """Return the labels that a string gives to operands of these shapes, and to the result."""
    left, arrow, right = text.partition("->")
    if not arrow and ("-" in text or ">" in text):
        raise ValueError("einstein sum subscript string contains '-' or '>' outside of '->'")
    return _without_dots(shapes, [_term(t) for t in left.split(",")], _term(right) if arrow else None)


def _spelled(args: tuple[Any, ...]) -> _Spelled:
    """Take both of NumPy's ways to write a call: a string, or lists of numbers beside operands."""
    if len(args) < 2:
        raise ValueError("must provide at least an operand and a subscripts list to einsum")
    if isinstance(args[0], str):
        operands = [as_array("einsum", x) for x in args[1:]]
        return _Spelled(operands, *_parsed(args[0], tuple([x.shape for x in operands])))
    pairs = len(args) // 2
    operands = [as_array("einsum", x) for x in args[: 2 * pairs : 2]]
    inputs = [list(map(_label, s)) for s in args[1 : 2 * pairs : 2]]
    output = list(map(_label, args[-1])) if len(args) % 2 else None
    return _Spelled(operands, *_without_dots(tuple([x.shape for x in operands]), inputs, output))


def _without_dots(
    shapes: tuple[tuple[int, ...], ...], inputs: list[list[int]], output: list[int] | None
) -> tuple[list[list[int]], list[int]]:
    """Give the axes of ellipses labels of their own (negative ones), and say what the result has."""
    if len(inputs) != len(shapes):
        raise ValueError(f"einsum: {len(inputs)} operands are spelled, {len(shapes)} are given")
    most = 0
    ready = []
    for shape, labels in zip(shapes, inputs, strict=True):
        named = len(labels) - (_DOTS in labels)
        more = len(shape) - named
        if more < 0 or (more and _DOTS not in labels):
            raise ValueError(f"einsum: {named} subscripts for an operand of shape {shape}")
        most = max(most, more if _DOTS in labels else 0)
        ready.append([k for i in labels for k in (range(-more, 0) if i == _DOTS else [i])])
    dots = list(range(-most, 0))
    if output is None:
        every = [i for labels in ready for i in labels if i >= 0]
        return ready, dots + sorted(i for i in set(every) if every.count(i) == 1)
    if dots and _DOTS not in output:
        raise ValueError("einsum: the result must name the ellipsis that operands have")
    final = [k for i in output for k in (dots if i == _DOTS else [i])]
    known = {i for labels in ready for i in labels}
    for i in final:
        if i not in known:
            raise ValueError("einsum: a subscript of the result is in no operand")
    if len(set(final)) < len(final):
        raise ValueError("einsum: a subscript stands twice in the result")
    return ready, final


def _sizes(spelled: _Spelled) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for x, labels in zip(spelled.operands, spelled.inputs, strict=True):
        for n, i in zip(x.shape, labels, strict=True):
            if sizes.get(i, 1) != 1 and n not in (1, sizes[i]):
                named = f"subscript {_LETTERS[i]!r}" if i >= 0 else "an axis of the ellipsis"
                raise ValueError(f"einsum: {named} has sizes {sizes[i]} and {n}")
            sizes[i] = max(sizes.get(i, 1), n) if n else 0
    return sizes


def _distinct(x: Array, labels: list[int]) -> tuple[Array, list[int]]:
    """Take the diagonal where a label stands twice in one operand."""
    for i in dict.fromkeys(labels):
        while labels.count(i) > 1:
            a = labels.index(i)
            b = labels.index(i, a + 1)
            n = max(x.shape[a], x.shape[b])
            rows = np.arange(n) if x.shape[a] == n else np.zeros(n, int)
            columns = np.arange(n) if x.shape[b] == n else np.zeros(n, int)
            x = moveaxis(x, (a, b), (0, 1))[rows, columns]
            labels = [i, *[k for j, k in enumerate(labels) if j not in (a, b)]]
    return x, labels


def _summed(x: Array, labels: list[int], keep: set[int]) -> tuple[Array, list[int]]:
    axes = tuple(a for a, i in enumerate(labels) if i not in keep)
    if axes:
        x = sum_(x, axes, dtype=x.dtype)
    return x, [i for i in labels if i in keep]


def _arranged(x: Array, labels: list[int], wanted: list[int]) -> Array:
    """Return `x` with its axes in the order of `wanted`, those it lacks with size 1."""
    have = [i for i in wanted if i in labels]
    order = [labels.index(i) for i in have]
    y = x.transpose(order) if order != list(range(len(order))) else x
    if len(have) == len(wanted):
        return y
    return reshape(y, tuple(x.shape[labels.index(i)] if i in labels else 1 for i in wanted))


def _pair(x: Array, a: list[int], y: Array, b: list[int], keep: set[int]) -> tuple[Array, list[int]]:
    """Multiply two operands, and sum over what only they have: by a matrix product where there is a sum."""
    x, a = _summed(x, a, keep | set(b))
    y, b = _summed(y, b, keep | set(a))
    shared = [i for i in a if i in b]
    size = {i: (x.shape[a.index(i)], y.shape[b.index(i)]) for i in shared}
    gone = [i for i in shared if i not in keep and size[i][0] == size[i][1]]
    stretched = [i for i in shared if i not in keep and i not in gone]
    if not gone or x.dtype.kind not in "fciu":
        labels = [*dict.fromkeys([*a, *b])]
        out = multiply(_arranged(x, a, labels), _arranged(y, b, labels))
        return _summed(out, labels, keep)
    batch = [i for i in shared if i in keep or i in stretched]
    left = [i for i in a if i not in b]
    right = [i for i in b if i not in a]

    def lengths(z: Array, labels: list[int], which: list[int]) -> list[int]:
        return [z.shape[labels.index(i)] for i in which]

    m, n, k = (math.prod(lengths(z, s, w)) for z, s, w in ((x, a, left), (y, b, right), (x, a, gone)))
    first = reshape(_arranged(x, a, batch + left + gone), (*lengths(x, a, batch), m, k))
    second = reshape(_arranged(y, b, batch + gone + right), (*lengths(y, b, batch), k, n))
    out = matmul(first, second)
    shape = (*out.shape[:-2], *lengths(x, a, left), *lengths(y, b, right))
    return _summed(reshape(out, shape), batch + left + right, keep)


def _path(spelled: _Spelled, optimize: Any) -> tuple[tuple[int, ...], ...]:
    """Return which operands are multiplied in turn."""
    n = len(spelled.operands)
    if n <= 2:
        return (tuple(range(n)),)
    if isinstance(optimize, list | tuple) and optimize and optimize[0] == "einsum_path":
        path = tuple(map(tuple, optimize[1:]))
        left = n - sum([len(step) - 1 for step in path])
        if left != 1:
            raise RuntimeError(f"einsum: the path leaves {left} operands; one would work")
        return path
    if isinstance(optimize, list | tuple) and optimize and not isinstance(optimize[0], str):
        return tuple(map(tuple, optimize))
    shapes = tuple(x.shape for x in spelled.operands)
    labels = tuple(map(tuple, spelled.inputs))
    wanted = tuple(optimize) if isinstance(optimize, list) else optimize or "greedy"
    return _found_path(shapes, labels, tuple(spelled.output), wanted)


@lru_cache(1024)
def _found_path(
    shapes: tuple[Any, ...], inputs: tuple[Any, ...], output: tuple[int, ...], optimize: Any
) -> tuple[tuple[int, ...], ...]:
    """Find the order as NumPy does, which looks at shapes alone."""
    args: list[Any] = []
    for shape, labels in zip(shapes, inputs, strict=True):
        args += [np.broadcast_to(np.float64(0), shape), [i + 26 for i in labels]]
    found = np.einsum_path(*args, [i + 26 for i in output], optimize=optimize)[0]
    return tuple(map(tuple, found[1:]))


def _little(operands: tuple[Any, ...], sizes: dict[int, int]) -> Array | None:
    """Return what NumPy gives for few elements of one array that is known: a diagonal, say."""
    if len(operands) != 2 or type(operands[1]) is not Array or type(operands[0]) is not str:
        return None
    if math.prod(sizes.values()) * operands[1].itemsize >= eager.LARGE:
        return None
    return eager.taken(lambda x: np.einsum(operands[0], x), operands[1])


def _contracted(spelled: _Spelled, sizes: dict[int, int], common: np.dtype, optimize: Any) -> Array:
    """Return the sums of products, as operations on two factors at a time."""
    wanted = set(spelled.output)
    terms = [
        _distinct(astype(x, common), labels)
        for x, labels in zip(spelled.operands, spelled.inputs, strict=True)
    ]
    # What a path leaves is multiplied at last.
    for step in (*_path(spelled, optimize), range(len(terms))):
        chosen = [t for i, t in enumerate(terms) if i in step]
        terms = [t for i, t in enumerate(terms) if i not in step]
        while len(chosen) > 1:
            (x, a), (y, b), *chosen = chosen
            rest = {i for _, labels in (*chosen, *terms) for i in labels}
            chosen.insert(0, _pair(x, a, y, b, wanted | rest))
        terms += chosen
    x, labels = _summed(*terms[0], wanted)
    y = _arranged(x, labels, spelled.output)
    shape = tuple(sizes[i] for i in spelled.output)
    return broadcast_to(y, shape) if y.shape != shape else y


def _seen(x: Array, labels: list[int], output: list[int]) -> Array:
    """Return an operand with its axes in the order of `output`, and the diagonals of those with one label."""
    if len(labels) == len(output):
        return x.transpose([labels.index(i) for i in output])
    axes = [[a for a, i in enumerate(labels) if i == k] for k in output]
    y = x.transpose([a for some in axes for a in some])
    sizes = [(x.shape[some[0]], len(some)) for some in axes]
    y = view(y, reshape_p, shape=tuple(n**many for n, many in sizes))
    return y[tuple(slice(None, None, sum(n**k for k in range(many))) for n, many in sizes)]


@functools.lru_cache(256)
def _lengths(subscripts: str, operands: int) -> tuple[tuple[int, int], ...] | None:
    """Return which operand's axis is as long as each of the result's; None where that is not so simple."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    if "." in inputs:
        return None
    if operands == 1 and (set(inputs) == set(output) if arrow else len({*inputs}) == len(inputs)):
        return None  # a view
    places: dict[str, tuple[int, int]] = {}
    for i, labels in enumerate(inputs.split(",")):
        places.update({label: (i, k) for k, label in enumerate(labels)})
    wanted = output if arrow else [i for i in places if inputs.count(i) == 1]
    known = all([i in places and places[i][0] < operands for i in wanted])
    return tuple([places[i] for i in wanted]) if known else None


def _einsum_size(subscripts: Any, *operands: Any, **options: Any) -> float:
    places = _lengths(subscripts, len(operands)) if type(subscripts) is str else None
    if places is None:
        return math.inf
    return math.prod([np.shape(operands[i])[k] for i, k in places if k < np.ndim(operands[i])])


@eager_numpys(elements=_einsum_size)
def einsum(
    *operands: Any,
    out: Out = None,
    dtype: DTypeLike | None = None,
    order: str = "K",
    casting: Any = "safe",
    optimize: Any = False,
) -> Array:
    """Return sums of products as Einstein's notation spells them.

    >>> xp.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 10])
    array([21, 43])
    """
    wanted = check_order(order)
    if casting != "safe":
        np.can_cast(np.bool_, np.bool_, casting)  # raises for what is no kind of cast
    spelled = _spelled(operands)
    first, labels, output = spelled.operands[0], spelled.inputs[0], spelled.output
    is_view = out is None and len(spelled.operands) == 1 and set(labels) == set(output)
    if is_view and all([n == first.shape[labels.index(i)] for i, n in zip(labels, first.shape, strict=True)]):
        return _seen(first, labels, output)
    sizes = _sizes(spelled)
    common = np.dtype(dtype) if dtype is not None else result_dtype(*spelled.operands)
    for x in spelled.operands:
        if not np.can_cast(x.dtype, common, casting):
            raise TypeError(f"einsum: {x.dtype} as {common} is no cast of the kind {casting!r}")
    y = _little(operands, sizes) if dtype is None else None
    if y is None:
        y = _contracted(spelled, sizes, common, optimize)
    if wanted == "A":
        wanted = "F" if all([layout(x).flags.fnc for x in spelled.operands]) else "C"
    return deliver("einsum", out, as_scalar(in_order("einsum", y, wanted)), casting)


@numpys
def einsum_path(
    *operands: Any, optimize: Any = "greedy", einsum_call: Any = False
) -> tuple[list[str | tuple[int, ...]], str]:
    """Return the order in which `einsum` would multiply, and a text on what that costs.

    >>> xp.einsum_path("ij,jk,kl->il", xp.ones((2, 9)), xp.ones((9, 9)), xp.ones((9, 3)))[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    shown = [np.broadcast_to(np.zeros((), x.dtype), x.shape) if type(x) is Array else x for x in operands]
    return np.einsum_path(*shown, optimize=optimize, einsum_call=einsum_call)


# -- matrices and vectors ----------------------------------------------------------------------------


@numpys
def matvec(x1: ArrayLike, x2: ArrayLike, /, out: Out = None, **options: Any) -> Array:
    """Return the products of matrices and vectors.

    >>> xp.matvec([[1, 2], [3, 4]], [1, 10])
    array([21, 43])
    """
    if out is not None or options:
        return with_core_options(matvec, np.matvec, (x1, x2), out=out, **options)
    a, b = promote("matvec", x1, x2)
    if a.ndim < 2 or not b.ndim:
        raise ValueError(f"matvec: needs a matrix and a vector, not shapes {a.shape} and {b.shape}")
    y = matmul(a, reshape(b, (*b.shape, 1)))
    return reshape(y, y.shape[:-1])


@numpys
def vecmat(x1: ArrayLike, x2: ArrayLike, /, out: Out = None, **options: Any) -> Array:
    """Return the products of vectors, conjugated, and matrices.

    >>> xp.vecmat([1, 10], [[1, 2], [3, 4]])
    array([31, 42])
    """
    if out is not None or options:
        return with_core_options(vecmat, np.vecmat, (x1, x2), out=out, **options)
    a, b = promote("vecmat", x1, x2)
    if not a.ndim or b.ndim < 2:
        raise ValueError(f"vecmat: needs a vector and a matrix, not shapes {a.shape} and {b.shape}")
    a = conj(a) if a.dtype.kind == "c" else a
    y = matmul(reshape(a, (*a.shape[:-1], 1, a.shape[-1])), b)
    return reshape(y, (*y.shape[:-2], y.shape[-1]))


make_ufunc(matvec, np.matvec)
make_ufunc(vecmat, np.vecmat)
