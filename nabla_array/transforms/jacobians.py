"""Whole matrices of derivatives, and a check of derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from .._lazy.ops.structure import reshape
from .._namespace.chapters.elementwise import add, multiply
from .._namespace.core.array import Array, apply, from_value
from .calls import array_leaf, choose, decorator, named
from .derivatives import jvp, linearize, vjp
from .pytree import TreeDef, tree_flatten, tree_unflatten
from .vmap import vmap

__all__ = ["check_grads", "hessian", "jacfwd", "jacrev"]


@decorator
def jacfwd(
    fun: Callable[..., Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    strict: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian of `fun`, column by column: best for few inputs.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them.
    argnums, has_aux, holomorphic, strict
        As for `value_and_grad`, but with any output in the place of the value.

    Returns
    -------
    callable
        Of the same arguments. For each output (in its structure) and each input (in its structure, inside) an
        array with the axes of the output, then those of the input. With `has_aux`, ``(jacobian, aux)``.

    Raises
    ------
    TypeError
        For inputs that are not real (with `holomorphic`: not complex) numbers.

    >>> from nabla_array.transforms import jacfwd
    >>> jacfwd(lambda x: x**2)(xp.asarray([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    @named(fun, "Jacobian")
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = choose("jacfwd", fun, argnums, args, kwargs)
        tree, arrays = _inputs("jacfwd", chosen, "c" if holomorphic else "f")
        found = linearize(of_chosen, *chosen, has_aux=has_aux, strict=strict)
        columns = vmap(lambda *ts: found[1](*tree_unflatten(tree, ts)), out_axes=-1)(*_basis(arrays))
        outs, out_tree = tree_flatten(columns)
        result = _nested([_split(x, arrays, -1) for x in outs], out_tree, tree, argnums)
        return (result, found[2]) if has_aux else result

    return jacobian


@decorator
def jacrev(
    fun: Callable[..., Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    strict: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the Jacobian of `fun`, row by row: best for few outputs.

    Parameters
    ----------
    fun, argnums, has_aux, holomorphic, strict
        As for `jacfwd`.
    allow_int : bool
        Inputs may be of integers and booleans too, whose Jacobians are zeros of their dtype.

    Returns
    -------
    callable
        As for `jacfwd`.

    Raises
    ------
    TypeError
        If inputs are of integers without `allow_int`, or outputs complex without `holomorphic`. Complex
        inputs of real outputs give what `grad` gives for each output.

    >>> from nabla_array.transforms import jacrev
    >>> jacrev(lambda x: {"s": xp.sum(x), "p": x[0] * x})(xp.asarray([1.0, 2.0]))
    {'p': array([[2., 0.],
           [2., 1.]]), 's': array([1., 1.])}
    """

    @named(fun, "Jacobian")
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = choose("jacrev", fun, argnums, args, kwargs)
        tree, _ = _inputs("jacrev", chosen, "c" if holomorphic else "fcbiu" if allow_int else "fc")
        found = vjp(of_chosen, *chosen, has_aux=has_aux, strict=strict)
        outs, out_tree = tree_flatten(found[0])
        outs = [array_leaf("jacrev", x) for x in outs]
        for x in outs:
            if (x.dtype.kind == "c") != holomorphic or x.dtype.kind not in "fc":
                kind = "complex" if holomorphic else "real"
                raise TypeError(f"jacrev: outputs must be {kind} numbers, not {x.dtype}")
        rows = vmap(lambda *cts: found[1](tree_unflatten(out_tree, cts)))(*_basis(outs))
        columns = [_split(x, outs, 0) for x in tree_flatten(rows)[0]]
        result = _nested([*zip(*columns, strict=True)], out_tree, tree, argnums)
        return (result, found[2]) if has_aux else result

    return jacobian


@decorator
def hessian(
    fun: Callable[..., Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    strict: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the second derivatives of `fun`.

    Parameters
    ----------
    fun, argnums, has_aux, holomorphic, strict
        As for `jacfwd`.

    Returns
    -------
    callable
        For each output, for each input, for each input once more: an array with the axes of the output, then
        those of both inputs.

    >>> from nabla_array.transforms import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1])(xp.asarray([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    inner = jacrev(fun, argnums, has_aux, holomorphic, strict=strict)
    return named(fun, "Hessian")(jacfwd(inner, argnums, has_aux, holomorphic, strict=strict))


def _inputs(function: str, chosen: list[Any], kinds: str) -> tuple[TreeDef, list[Array]]:
    """Return the structure of arguments and their arrays; raises TypeError for dtypes of other kinds."""
    leaves, tree = tree_flatten(tuple(chosen))
    arrays = [array_leaf(function, x) for x in leaves]
    for x in arrays:
        if x.dtype.kind not in kinds:
            wanted = _WANTED.get(kinds, "floating-point numbers")
            raise TypeError(f"{function}: inputs must be {wanted}, not {x.dtype}")
    return tree, arrays


_WANTED = {"c": "complex numbers with holomorphic=True", "f": "real floating-point numbers"}


def _basis(arrays: Sequence[Array]) -> list[Array]:
    """Return for each array its parts of the unit vectors of all together, along a new first axis."""
    ends = [*accumulate([x.size for x in arrays])]
    return [
        from_value(np.eye(ends[-1], x.size, x.size - end, x.dtype).reshape(ends[-1], *x.shape))
        for x, end in zip(arrays, ends, strict=True)
    ]


def _split(x: Array, arrays: Sequence[Array], axis: int) -> list[Array]:
    """Take apart the axis (first or last) that runs over the elements of all `arrays`."""
    ends = accumulate([a.size for a in arrays])
    parts = [(a.shape, slice(end - a.size, end)) for a, end in zip(arrays, ends, strict=True)]
    if axis == 0:
        return [apply(reshape, x[part], shape=(*shape, *x.shape[1:])) for shape, part in parts]
    return [apply(reshape, x[..., part], shape=(*x.shape[:-1], *shape)) for shape, part in parts]


def _nested(blocks: Sequence[Sequence[Array]], out_tree: TreeDef, tree: TreeDef, argnums: Any) -> Any:
    """Return the blocks, a row an output, in the structure of the inputs within that of the outputs."""
    rows = [tree_unflatten(tree, row) for row in blocks]
    return tree_unflatten(out_tree, rows if isinstance(argnums, tuple | list) else [row[0] for row in rows])


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare derivatives of `f` with differences, along random directions.

    Parameters
    ----------
    f : callable
        Of arrays and pytrees of them.
    args : sequence of pytrees
        Where; of real or complex numbers.
    order : int
        Up to which order of derivatives.
    modes : sequence of "fwd" and "rev"
        Forward mode (`jvp`), reverse mode (`vjp`).
    atol, rtol : float, optional
        Tolerances; by default 1e-5 for double precision and 1e-2 for single, ten times that for each order.
    eps : float, optional
        The step of the differences; by default the cube root of the precision.

    Raises
    ------
    AssertionError
        Where they differ.

    >>> from nabla_array.transforms import check_grads
    >>> check_grads(lambda x: xp.sin(x) * x, (xp.asarray([1.0, 2.0]),), order=2)
    """
    if set(modes) - {"fwd", "rev"}:
        raise ValueError(f"check_grads: modes are 'fwd' and 'rev', not {modes!r}")
    leaves, tree = tree_flatten(tuple(args))
    arrays = [array_leaf("check_grads", x) for x in leaves]
    precision = max([np.finfo(x.dtype).eps for x in arrays], default=np.finfo(float).eps)
    step = float(eps if eps is not None else precision ** (1 / 3))
    tolerance = 1e-5 if precision < 1e-10 else 1e-2
    tolerances = np.array([tolerance if atol is None else atol, tolerance if rtol is None else rtol])
    rng = np.random.default_rng(0)
    _check(lambda *xs: f(*tree_unflatten(tree, xs)), arrays, order, modes, tolerances, step, rng)


def _check(
    f: Callable[..., Any],
    arrays: Sequence[Array],
    order: int,
    modes: Sequence[str],
    tolerances: np.ndarray,
    step: float,
    rng: np.random.Generator,
) -> None:
    directions = [_random(x, rng) for x in arrays]
    far = [
        tree_flatten(f(*[add(x, multiply(t, s * step)) for x, t in zip(arrays, directions, strict=True)]))[0]
        for s in (1, -1)
    ]
    wanted = [(np.asarray(a) - np.asarray(b)) / (2 * step) for a, b in zip(*far, strict=True)]
    out, tangent = jvp(f, arrays, directions)
    tangents = [np.asarray(t) for t in tree_flatten(tangent)[0]]
    if "fwd" in modes:
        _close("forward mode", tangents, wanted, tolerances)
    outs, out_tree = tree_flatten(out)
    cts = [_random(x, rng) for x in outs]
    _, pullback = vjp(f, *arrays)
    if "rev" in modes:
        left = _dot(pullback(tree_unflatten(out_tree, cts)), directions)
        _close("reverse mode", [left], [_dot(cts, wanted)], tolerances)
    next_order = {
        "fwd": lambda *xs: jvp(f, xs, directions)[1],
        "rev": lambda *xs: vjp(f, *xs)[1](tree_unflatten(out_tree, cts)),
    }
    for mode, derivative in next_order.items():
        if order > 1 and mode in modes:
            _check(derivative, arrays, order - 1, modes, tolerances * 10, step, rng)


def _dot(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    pairs = zip(xs, ys, strict=True)
    return sum(float(np.sum(np.asarray(x) * np.asarray(y)).real) for x, y in pairs)


def _random(x: Array, rng: np.random.Generator) -> Array:
    value = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        value = value + 1j * rng.standard_normal(x.shape)
    return from_value(np.asarray(value).astype(x.dtype))


def _close(what: str, found: Sequence[Any], wanted: Sequence[Any], tolerances: np.ndarray) -> None:
    message = f"check_grads: {what} against differences"
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=tolerances[0], rtol=tolerances[1], err_msg=message)
