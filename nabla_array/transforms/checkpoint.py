"""Functions whose values are computed again when their derivatives are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._lazy.graph.node import tapes
from .._lazy.graph.tape import forgotten
from .._lazy.ops.custom import again_call
from .._namespace.core.array import Array, current
from .calls import array_leaf, decorator, fresh, named
from .captured import Capturing
from .custom import is_array, recorded
from .pytree import take, tree_flatten, tree_unflatten
from .tracing import trace

__all__ = ["checkpoint", "remat"]


@decorator
def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fun`, computed again when its derivative is, so that nothing of it is kept in between.

    Parameters
    ----------
    fun : callable
        Of arrays, numbers and pytrees of these. One that writes to arrays that it captures is run as it is:
        what it computes is kept.

    Returns
    -------
    callable
        The same function; its gradient takes less memory and more time.

    >>> from nabla_array.transforms import checkpoint, grad
    >>> grad(lambda x: checkpoint(xp.sin)(xp.sin(x)))(0.0)
    np.float64(1.0)
    """

    @named(fun, "Checkpointed form")
    def computed_again(*args: Any, **kwargs: Any) -> Any:
        if not tapes:
            return fun(*args, **kwargs)
        found, rest = take(*tree_flatten((args, kwargs)), is_array)
        arrays = [fresh(array_leaf("checkpoint", x)) for x in found]

        def of_arrays(*xs: Array) -> Any:
            some, more = rest.filled(xs)
            return fun(*some, **more)

        with forgotten(), Capturing(fun) as scope:
            traced = trace(of_arrays, arrays, everything=True)
        if scope.line:
            return fun(*args, **kwargs)
        outputs = traced.program.outputs
        given = {k: leaf for k, leaf in zip(traced.numbers, traced.leaves, strict=True) if k is not None}
        if len(given) < len(outputs):
            raise ValueError(
                "checkpoint: the function writes to its arguments; let it return what it computes"
            )
        if not given:
            return tree_unflatten(traced.tree, traced.leaves)
        results = [given[k] for k in outputs]
        operands = [*map(current, results), *[x._node for x in arrays], *traced.captured]
        made = recorded(again_call, operands, results[0]._levels, program=traced.program)
        new = dict(zip(outputs, made, strict=True))
        leaves = [new.get(k, x) for k, x in zip(traced.numbers, traced.leaves, strict=True)]  # type: ignore[arg-type]
        return tree_unflatten(traced.tree, leaves)

    return computed_again


remat = checkpoint
