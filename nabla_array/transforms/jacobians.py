"""Whole matrices of derivatives, and a check of derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Concatenate, Literal, overload

import numpy as np

from .._lazy.graph.node import Node
from .._lazy.ops.structure import reshape, slice_
from .._namespace.chapters.elementwise import add, multiply
from .._namespace.chapters.joining import stack
from .._namespace.core.array import Array, apply, from_value
from .calls import array_leaf, choose, decorator, levels_of, named, node_of
from .derivatives import Run, jvp, matched_one, run, vjp
from .derived import derived
from .linear import Linear, RuleLooksError, pulling, pushing
from .pytree import tree_flatten, tree_unflatten
from .vmap import vmap

if TYPE_CHECKING:
    from ._types import Gradient, Leaf, Mapped, P

__all__ = ["check_grads", "hessian", "jacfwd", "jacrev"]


@overload
def jacfwd(
    fun: Callable[Concatenate[Any, P], Leaf],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    *,
    strict: bool = False,
) -> Gradient[P]: ...
@overload
def jacfwd(
    fun: Callable[P, Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    strict: bool = False,
) -> Mapped[P, Any]: ...
@overload
def jacfwd(
    *,
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    strict: bool = False,
) -> Callable[[Callable[P, Any]], Mapped[P, Any]]: ...
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
        kinds = "c" if holomorphic else "f"
        made = run("jacfwd", "an input", of_chosen, chosen, has_aux, strict, kinds)
        result = _nested(_blocks(pushing("jacfwd", made), -1), made, argnums)
        return (result, made.aux) if has_aux else result

    return jacobian


@overload
def jacrev(
    fun: Callable[Concatenate[Any, P], Leaf],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    strict: bool = False,
) -> Gradient[P]: ...
@overload
def jacrev(
    fun: Callable[P, Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    strict: bool = False,
) -> Mapped[P, Any]: ...
@overload
def jacrev(
    *,
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    strict: bool = False,
) -> Callable[[Callable[P, Any]], Mapped[P, Any]]: ...
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
        kinds = "c" if holomorphic else "fcbiu" if allow_int else "fc"
        made = run("jacrev", "an input", of_chosen, chosen, has_aux, strict, kinds)
        for x in made.outs:
            if (x.dtype.kind == "c") != holomorphic or x.dtype.kind not in "fc":
                kind = "complex" if holomorphic else "real"
                raise TypeError(f"jacrev: outputs must be {kind} numbers, not {x.dtype}")
        columns = _blocks(pulling("jacrev", made), 0)
        result = _nested([*zip(*columns, strict=True)], made, argnums)
        return (result, made.aux) if has_aux else result

    return jacobian


@overload
def hessian(
    fun: Callable[Concatenate[Array, P], Leaf],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    *,
    strict: bool = False,
) -> Callable[Concatenate[Leaf, P], Array]: ...
@overload
def hessian(
    fun: Callable[P, Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    strict: bool = False,
) -> Mapped[P, Any]: ...
@overload
def hessian(
    *,
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    strict: bool = False,
) -> Callable[[Callable[P, Any]], Mapped[P, Any]]: ...
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


def _blocks(linear: Linear, axis: int) -> list[list[Array]]:
    """Return for each result of a derivative a block by each of its inputs, whose axes are first or last."""
    inputs, results, made = linear.inputs, linear.results, linear.made
    units: list[Node] = []

    def of_units(*values: Array) -> tuple[Array, ...]:
        pairs = zip(values, inputs, strict=True)
        return tuple(linear.recorded([matched_one(linear.function, "a unit vector", v, x) for v, x in pairs]))

    def record() -> list[Node]:
        basis = _basis(inputs)
        units[:] = [x._node for x in basis]
        try:
            found: Sequence[Array] = vmap(of_units, out_axes=axis)(*basis)
        except RuleLooksError:  # a rule that looks sees one unit vector after the other
            each = [
                of_units(*units)
                for units in zip(*[map(from_value, x._node.value) for x in basis], strict=True)
            ]
            found = [stack(some, axis=axis) for some in zip(*each, strict=True)]
        return [b._node for x in found for b in _split(x, inputs, axis)]

    sources, outs = [*map(node_of, made.sources)], [*map(node_of, made.outs)]
    how = linear.function, *map(len, map(levels_of, (*inputs, *results)))
    found = iter(derived(how, made.tape, sources, outs, record, units))
    return [[Array(next(found), x._levels) for _ in inputs] for x in results]


def _basis(arrays: Sequence[Array]) -> list[Array]:
    """Return for each array its parts of the unit vectors of all together, along a new first axis."""
    ends = [*accumulate([x.size for x in arrays])]
    return [
        from_value(np.eye(ends[-1], x.size, x.size - end, x.dtype).reshape(ends[-1], *x.shape))
        for x, end in zip(arrays, ends, strict=True)
    ]


def _split(x: Array, arrays: Sequence[Array], axis: int) -> list[Array]:
    """Take apart the axis (first or last) that runs over the elements of all `arrays`."""
    place, end, out = axis % x.ndim, 0, []
    before, after = x.shape[:place], x.shape[place + 1 :]
    for a in arrays:
        start, end = end, end + a.size
        size = *before, a.size, *after
        starts = tuple([start if i == place else 0 for i in range(x.ndim)])
        part = apply(slice_, x, start=starts, size=size, step=(1,) * x.ndim) if size != x.shape else x
        out.append(apply(reshape, part, shape=(*before, *a.shape, *after)))
    return out


def _nested(blocks: Sequence[Sequence[Array]], made: Run, argnums: Any) -> Any:
    """Return the blocks, a row an output, in the structure of the inputs within that of the outputs."""
    rows = [tree_unflatten(made.in_tree, row) for row in blocks]
    return tree_unflatten(made.out_tree, rows if isinstance(argnums, tuple | list) else [*map(_first, rows)])


_first = itemgetter(0)


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
