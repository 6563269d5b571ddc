"""Functions whose values are computed again when their derivatives are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from .._lazy.graph.aval import Aval
from .._lazy.graph.node import Node, tapes
from .._lazy.graph.primitive import Primitive, alike
from .._lazy.graph.program import Program
from .._lazy.graph.tape import forgotten, marking
from .._lazy.ops import lowerings as low
from .._lazy.ops.custom import again_call
from .._namespace.core.array import Array, apply, current
from .calls import array_leaf, decorator, fresh, named
from .captured import Capturing
from .custom import is_array, recorded
from .pytree import take, tree_flatten, tree_map, tree_unflatten
from .tracing import trace
from .watching import running_tapes

if TYPE_CHECKING:
    from ._types import Mapped, P, R, T

__all__ = ["checkpoint", "checkpoint_name", "remat"]

Policy = Callable[..., bool]

# Its operand, which policies know by a name.
checkpoint_name_p = Primitive(
    "checkpoint_name",
    lambda x, name: x,
    lambda x, name: x,
    kind="view",
    keeps_order=True,
    dims=alike,
    max=lambda b, x, out, name: low.identity(b, x, out),
    transpose=lambda ct, wanted, x, name: (ct,),
)


def checkpoint_name(x: T, name: str) -> T:
    """Return the same values, which policies of `checkpoint` know by a name.

    Parameters
    ----------
    x : pytree of arrays
    name : str

    Returns
    -------
    pytree of arrays

    >>> from nabla_array.transforms import checkpoint, checkpoint_name, checkpoint_policies, grad
    >>> def layer(x):
    ...     return xp.sin(checkpoint_name(xp.exp(x), "exp"))
    >>> grad(checkpoint(layer, policy=checkpoint_policies.save_only_these_names("exp")))(0.0)
    np.float64(0.5403023058681398)
    """
    return tree_map(lambda leaf: apply(checkpoint_name_p, array_leaf("checkpoint_name", leaf), name=name), x)


@overload
def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Mapped[P, R]: ...
@overload
def checkpoint(
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Callable[[Callable[P, R]], Mapped[P, R]]: ...
@decorator
def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Callable[..., Any]:
    """Return `fun`, computed again when its derivative is, so that nothing of it is kept in between.

    Parameters
    ----------
    fun : callable
        Of arrays, numbers and pytrees of these. One that writes to arrays that it captures is run as it is:
        what it computes is kept.
    policy : callable, optional
        Says which values are kept all the same: ``(primitive, *operands, **params) -> bool``, where operands
        have a shape and a dtype. `checkpoint_policies` has some.
    prevent_cse : bool
        Taken for JAX's sake; it changes nothing.
    static_argnums, static_argnames
        Taken for JAX's sake: what is no array is handed on as it is.

    Returns
    -------
    callable
        The same function; its gradient takes less memory and more time.

    >>> from nabla_array.transforms import checkpoint, grad
    >>> grad(lambda x: checkpoint(xp.sin)(xp.sin(x)))(0.0)
    np.float64(1.0)
    """

    del prevent_cse, static_argnums, static_argnames

    @named(fun, "Checkpointed form")
    def computed_again(*args: Any, **kwargs: Any) -> Any:
        if not tapes:
            return fun(*args, **kwargs)
        found, rest = take(*tree_flatten((args, kwargs)), is_array)
        arrays = [fresh(array_leaf("checkpoint", x)) for x in found]

        saved: list[Node] = []

        def of_arrays(*xs: Array) -> Any:
            some, more = rest.filled(xs)
            tape = running_tapes()[-1]

            def mark(node: Node) -> None:
                if isinstance(node.aval, Aval) and node.inputs and running_tapes()[-1] is tape:
                    prim, avals = node.prim, [i.aval for i in node.inputs]
                    if prim is not None and policy is not None and policy(prim, *avals, **node.params):
                        saved.append(node)

            if policy is None:
                return fun(*some, **more), []
            with marking(mark):
                result = fun(*some, **more)
            return result, [Array(n) for n in saved]

        with forgotten(), Capturing(fun) as scope:
            traced = trace(of_arrays, arrays, everything=True)
        if scope.line:
            return fun(*args, **kwargs)
        if traced.written:
            raise ValueError(
                "checkpoint: the function writes to its arguments; let it return what it computes"
            )
        tree = traced.tree.children[0]
        places = zip(traced.numbers[tree.num_leaves :], saved, strict=True)
        kept = {k: n for k, n in places if k is not None}
        leaves, numbers = traced.leaves[: tree.num_leaves], traced.numbers[: tree.num_leaves]
        given = {k: leaf for k, leaf in zip(numbers, leaves, strict=True) if k is not None}
        if not given:
            return tree_unflatten(tree, leaves)
        results = [*given.values()]
        program = Program(traced.program.inputs, traced.program.eqns, tuple(given))
        operands = [*map(current, results), *[x._node for x in arrays], *traced.captured, *kept.values()]
        made = recorded(again_call, operands, results[0]._levels, program=program, kept=tuple(kept))
        new = dict(zip(given, made, strict=True))
        found = [x if k is None else new[k] for k, x in zip(numbers, leaves, strict=True)]
        return tree_unflatten(tree, found)

    return computed_again


remat = checkpoint
