"""What functions capture, made arguments of them; and linear functions transposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._lazy.graph.aval import aval_of
from .._lazy.graph.node import Node
from .._lazy.graph.program import Program
from .._lazy.graph.program import run as run_program
from .._lazy.graph.tape import Tape, taping
from .._lazy.ops.creation import fill_node
from .._lazy.ops.structure import alias, permute, reshape, span
from .._lazy.rules.autodiff import placeholder, pull
from .._lazy.rules.levels import Levels, align, bind, in_force, merge, sizes_in_force
from .._namespace.core.array import Array, current
from .bodies import Kind, Run, arrays_of, kind_of
from .calls import array_leaf
from .derivatives import Pullback, run
from .pytree import tree_flatten, tree_unflatten
from .shapes import is_shaped
from .watching import Watch, running_tapes, watched

if TYPE_CHECKING:
    from ._types import R, Ts

__all__ = ["closure_convert", "linear_transpose"]

_LOOKED = (
    "the function looks at a value ({}), while a transform runs that may have to do with what it captures: "
    "xp.where chooses without looking"
)


def closure_convert(fun: Callable[..., R], *example_args: Any) -> tuple[Callable[..., R], list[Array]]:
    """Return a function that takes what `fun` captures as further arguments, and that.

    For rules of one's own (`custom_jvp`, `custom_vjp`), which know nothing of what functions capture.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them.
    *example_args : pytrees of arrays
        Arguments like those that it will be called with.

    Returns
    -------
    (converted, captured)
        ``converted(*args, *captured)`` is ``fun(*args)``; `captured` holds the arrays that `fun` captures and
        a transform that runs has to do with. Where there are none, `converted` is `fun`.

    Raises
    ------
    TypeError
        If there are some, and the function looks at a value of its arguments.

    Notes
    -----
    An array that is captured, and is the same for all examples of a `vmap` around, stays so: where its place
    is given one for each example, that of the first counts.

    >>> from nabla_array.transforms import closure_convert, grad
    >>> def f(y):
    ...     converted, captured = closure_convert(lambda x: x * y, 2.0)
    ...     return converted(5.0, *captured)
    >>> grad(f)(3.0)
    np.float64(5.0)
    """
    found = converted("closure_convert", fun, example_args)
    assert found is not None
    return found


def converted(
    function: str, fun: Callable[..., Any], example_args: Sequence[Any], may_look: bool = False
) -> tuple[Callable[..., Any], list[Any]] | None:
    """Do what `closure_convert` does, for a transform of this name; with `may_look`, None where it raises."""
    outer = running_tapes()
    if not outer:
        return fun, []
    _, arrays, tree = arrays_of(function, tuple(example_args))
    watch = Watch(f"{function}: {_LOOKED}")
    levels = merge([x._levels for x in arrays])

    def body(*xs: Array) -> Any:
        watch.tape = None if may_look else running_tapes()[-1]
        return fun(*tree_unflatten(tree, xs))

    while True:
        with watched(watch):
            made = Run(function, body, [Kind(x.shape, x.dtype, levels) for x in arrays], always=True)
        if made.looked:
            return None if may_look else (fun, [])
        outs = [kind_of(x)._replace(levels=merge([levels, x._levels])) for x in made.arrays]
        program, more, theirs = made.close(outs)
        here = sizes_in_force()  # axes of a `vmap` within the function are ordinary axes by now
        theirs = [tuple(i for i in some if i in here) for some in theirs]
        wanted = merge([levels, *theirs, *[k.levels for k in outs]])
        if wanted == levels:
            break
        levels = wanted
    # What may have a derivative, and what differs from example to example: a rule is run for others of these.
    tracked = [n.aval.dtype.kind in "fc" and any(n in t for t in outer) for n in more]
    moving = [i for i, (one, some) in enumerate(zip(tracked, theirs, strict=True)) if one or some]
    if not any(tracked):
        return fun, []
    sizes = sizes_in_force()

    def call(*args: Any) -> Any:
        leaves, given = tree_flatten(args[: len(example_args)])[0], args[len(example_args) :]
        if len(leaves) != len(arrays) or len(given) != len(moving):
            raise ValueError(
                f"{function}: a converted function takes {len(example_args)} arguments and {len(moving)} "
                f"that were captured, not {len(args)}"
            )
        own, captured = ([array_leaf(function, x) for x in some] for some in (leaves, given))
        values = [_inside(x, levels, sizes) for x in own]
        rest: list[Any] = [(n, ()) for n in more]
        for i, x in zip(moving, captured, strict=True):
            rest[i] = _inside(x, theirs[i], sizes, levels)
        found: Any = run_program(program, [*values, *rest], bind)
        results = [_outside(n, others, k.levels) for (n, others), k in zip(found, outs, strict=True)]
        # Once the `vmap` around has ended, what is given for one example gives the same for all.
        there = {*in_force(), *[i for x in (*own, *captured) for i in x._levels]}
        return tree_unflatten(made.tree, [_without(x, set(x._levels) - there) for x in results])

    return call, [Array(more[i], theirs[i]) for i in moving]


def _inside(x: Array, own: Levels, sizes: dict[int, int], gone: Levels = ()) -> tuple[Node, Levels]:
    """Return an array as a program sees it of which the axes of the levels `own` are a part.

    Along `gone`, but for these, it is the same everywhere.
    """
    x = _without(x, set(gone) - set(own))
    node, levels = current(x), x._levels
    wanted = merge([levels, own])
    node = align(node, levels, wanted, sizes | sizes_in_force())
    others = tuple(i for i in wanted if i not in own)
    return _ordered(node, wanted, (*others, *own)), others


def _without(x: Array, gone: set[int]) -> Array:
    """Return an array that is the same along some levels without them."""
    node, levels = current(x), x._levels
    for place, level in reversed([*enumerate(levels)]):
        if level in gone:
            first = span(node, place, 0, 1)
            node = reshape(first, shape=(*first.aval.shape[:place], *first.aval.shape[place + 1 :]))
            levels = tuple(i for i in levels if i != level)
    return Array(node, levels) if levels != x._levels else x


def _outside(node: Node, others: Levels, own: Levels) -> Array:
    levels = merge([others, own])
    return Array(_ordered(node, (*others, *own), levels), levels)


def _ordered(node: Node, levels: Levels, wanted: Levels) -> Node:
    """Bring the axes of levels, which lead, into another order."""
    if levels == wanted:
        return node
    order = [levels.index(i) for i in wanted]
    return permute(node, axes=(*order, *range(len(order), node.aval.ndim)))


def linear_transpose(fun: Callable[..., Any], *primals: *Ts) -> Callable[[Any], tuple[*Ts]]:
    """Return the transpose of a linear function.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them, linear in all of them together.
    *primals : pytrees of arrays
        Arguments like those that it takes. Only shapes and dtypes count: `ShapeDtypeStruct` will do.

    Returns
    -------
    callable
        ``transposed(cotangent)`` takes what has the structure and shapes of the function's result, and gives
        a tuple with a cotangent for each primal. Complex numbers are not conjugated.

    Raises
    ------
    TypeError
        If the function is not linear, or looks at a value.

    >>> from nabla_array.transforms import linear_transpose
    >>> A = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> linear_transpose(lambda x: A @ x, xp.zeros(2))(xp.asarray([1.0, 0.0]))
    (array([1., 2.]),)
    """
    leaves, tree = tree_flatten(primals)
    probes = []
    for leaf in leaves:
        x = leaf if is_shaped(leaf) else array_leaf("linear_transpose", leaf)
        probes.append(alias(fill_node(aval_of(tuple(x.shape), x.dtype), 0)))
    watch = Watch(
        "linear_transpose: the function looks at a value ({}), which a linear function does not need"
    )
    with watched(watch), taping(probes, derivative=False) as tape:
        watch.tape = tape
        given = tree_unflatten(tree, [Array(n) for n in probes])
        made = run("linear_transpose", "a primal", fun, given, False, False)
        outs = [x._node for x in made.outs if x.dtype.kind in "fc"]
        found = pull(made.tape, [(n, placeholder(n)) for n in outs])
    varying = _varying(tape)
    if any(id(found.get(id(x._node))) in varying for x in made.sources):
        raise TypeError(
            "linear_transpose: the function is not linear: its derivative depends on its arguments"
        )
    return Pullback(made)


def _varying(tape: Tape) -> set[int]:
    """Return the ids of the nodes whose values depend on a tape's sources.

    A loop or branch, which the derivative of one hands all that the other had, reads what its programs read.
    """
    found = {id(n) for n in tape.sources}
    for node, _, inputs, params in tape.entries:
        programs = [p for v in params.values() for p in (v if isinstance(v, tuple) else (v,))]
        programs = [p for p in programs if isinstance(p, Program)]
        read = set(range(len(inputs)))
        for k in range(max([len(p.inputs) for p in programs], default=0)):
            if not any(_reads(p, k) for p in programs):
                read.discard(len(inputs) - len(programs[0].inputs) + k)
        if any(id(inputs[i]) in found for i in read):
            found.add(id(node))
    return found


def _reads(program: Program, k: int) -> bool:
    return k in program.outputs or any(k in e.ins for e in program.eqns)
