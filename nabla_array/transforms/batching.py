"""Functions that bring their own way of being vectorized."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from .._lazy.rules.levels import closed, frames, only, opened
from .._namespace.core.array import Array, current
from .calls import Positions, array_leaf
from .pytree import flatten_up_to, tree_flatten, tree_unflatten

__all__ = ["custom_vmap"]

P = ParamSpec("P")
R = TypeVar("R")


class custom_vmap(Generic[P, R]):
    """A function with a rule for how `vmap` does it for many examples.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them.

    Raises
    ------
    AttributeError
        Where it is vectorized and has no rule.

    Notes
    -----
    Derivatives are those of what the function, or under `vmap` the rule, computes.

    >>> from nabla_array.transforms import custom_vmap, vmap
    >>> @custom_vmap
    ... def product(A, x):
    ...     return A @ x
    >>> @product.def_vmap
    ... def rule(axis_size, in_batched, A, x):
    ...     if in_batched == [False, True]:
    ...         print("one product for all examples")
    ...         return x @ A.T, True
    ...     raise NotImplementedError
    >>> vmap(lambda x: product(xp.asarray([[1.0, 2.0]]), x))(xp.ones((3, 2)))
    one product for all examples
    array([[3.],
           [3.],
           [3.]])
    """

    def __init__(self, fun: Callable[P, R]) -> None:
        self.fun = fun
        self._positions = Positions("custom_vmap", fun)
        self.rule: Callable[..., Any] | None = None
        functools.update_wrapper(self, fun)

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: ``(axis_size, in_batched, *args) -> (output, out_batched)``; returns it.

        The examples are along the first axis of what is batched, which `in_batched`, a list with an entry of
        the argument's structure for each, says of every array, and `out_batched` of the output's.
        """
        self.rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the function's value, under `vmap` by the rule, which gets all arguments by position."""
        fun: Callable[..., R] = self.fun
        places = self._positions.of(args, kwargs)
        leaves, tree = tree_flatten(places)
        here = {level for x in leaves if type(x) is Array for level in x._levels}
        frame = next((f for f in reversed(frames()) if f.level in here), None)
        if frame is None:
            return fun(*places)
        if self.rule is None:
            raise AttributeError(
                f"custom_vmap: {self.fun.__name__} has no rule yet; give it one with def_vmap"
            )
        level = frame.level
        flags = [type(x) is Array and level in x._levels for x in leaves]
        with only(tuple(f.level for f in frames() if f.level != level)):
            given = [_opened(x, level) if b else x for x, b in zip(leaves, flags, strict=True)]
            in_batched = [*tree_unflatten(tree, flags)]
            result = self.rule(frame.size, in_batched, *tree_unflatten(tree, given))
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"custom_vmap: the rule must return (output, out_batched), not {result!r}")
        outs, out_tree = tree_flatten(result[0])
        batched = flatten_up_to("custom_vmap: out_batched", out_tree, result[1])
        found = [_closed(x, b, frame) for x, b in zip(outs, batched, strict=True)]
        out: R = tree_unflatten(out_tree, found)
        return out


def _opened(x: Array, level: int) -> Array:
    return Array(*opened(current(x), x._levels, level))


def _closed(leaf: Any, batched: bool, frame: Any) -> Array:
    x = array_leaf("custom_vmap", leaf)
    if not batched:
        return x
    if not x.shape or x.shape[0] != frame.size:
        raise ValueError(
            f"custom_vmap: the rule says that an output of shape {x.shape} is batched, but there are "
            f"{frame.size} examples"
        )
    return Array(*closed(current(x), x._levels, frame.level))
