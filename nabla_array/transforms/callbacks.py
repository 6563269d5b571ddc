"""Functions of NumPy arrays that transformed functions call: for their results, or for what they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .._lazy.graph.aval import Aval, aval_of
from .._lazy.graph.bodies import Looked
from .._lazy.graph.node import Node, leaf, mark_origin
from .._lazy.graph.primitive import Primitive
from .._lazy.ops.structure import project, reshape
from .._lazy.rules.levels import Levels, align, bind, frames, merge
from .._lazy.run.evaluator import value_of
from .._namespace.core.array import Array, current
from .calls import array_leaf, is_array_like
from .pytree import Rest, take, tree_flatten, tree_unflatten
from .runs import going
from .shapes import ShapeDtypeStruct, is_evaluating_shapes
from .watching import run_as_it_is

if TYPE_CHECKING:
    from ._types import Leaf

__all__ = ["io_callback", "pure_callback"]

_ONE_BY_ONE = (None, "sequential", "sequential_unrolled")
_AT_ONCE = ("expand_dims", "broadcast_all")


class _Callback:
    """A function of NumPy arrays, what else it is given, and what it is to give."""

    def __init__(
        self,
        name: str,
        fun: Callable[..., Any],
        rest: Rest,
        results: Any,
        method: str | None = None,
    ) -> None:
        self.name = name
        self.fun = fun
        self.rest = rest
        leaves, self.tree = tree_flatten(results)
        self.avals = [aval_of(tuple(x.shape), np.dtype(x.dtype)) for x in leaves]
        self.method = method

    def __call__(self, values: Sequence[np.ndarray], lead: tuple[int, ...] = ()) -> list[np.ndarray]:
        """Return what it gives for arrays that have these axes in front."""
        args, kwargs = self.rest.filled(values)
        leaves, tree = tree_flatten(self.fun(*args, **kwargs))
        if tree != self.tree:
            raise TypeError(f"{self.name}: the callback gave the structure {tree}, not {self.tree}")
        return [self._result(x, a, lead) for x, a in zip(leaves, self.avals, strict=True)]

    def _result(self, found: Any, aval: Aval, lead: tuple[int, ...]) -> np.ndarray:
        x = np.asarray(found)
        fits = x.shape == (*lead, *aval.shape) and np.can_cast(x.dtype, aval.dtype, "same_kind")
        if not fits:
            raise TypeError(
                f"{self.name}: the callback gave {x.dtype}{list(x.shape)}, not "
                f"{aval.dtype}{[*lead, *aval.shape]}"
            )
        return x.astype(aval.dtype, copy=False)

    def of_each(self, values: Sequence[np.ndarray], lead: tuple[int, ...], where: Any) -> list[np.ndarray]:
        """Call it for one example after the other, but only `where`; elsewhere the results are zero."""
        outs = [np.zeros((*lead, *a.shape), a.dtype) for a in self.avals]
        for i in np.ndindex(*lead):
            if where is None or where[i]:
                for out, x in zip(outs, self([np.asarray(v[i]) for v in values]), strict=True):
                    out[i] = x
        return outs


def _host(*values: np.ndarray, callback: _Callback, examples: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    if examples and callback.method in _ONE_BY_ONE:
        return tuple(callback.of_each(values, examples, None))
    return tuple(callback(values, examples))


def _mixed(
    operands: Sequence[Node],
    batched: Sequence[bool],
    lead: tuple[int, ...],
    callback: _Callback,
    examples: Any,
) -> Node | None:
    if callback.method != "expand_dims":
        return None
    ones = (1,) * len(lead)
    given = [
        n if b else reshape(n, shape=(*ones, *n.aval.shape)) for n, b in zip(operands, batched, strict=True)
    ]
    return callback_call(*given, callback=callback, examples=(*lead, *examples))


callback_call = Primitive(
    "pure_callback",
    lambda *avals, callback, examples: tuple(aval_of((*examples, *a.shape), a.dtype) for a in callback.avals),
    _host,
    batch=lambda params, size: {**params, "examples": (size, *params["examples"])},
    mixed=_mixed,
)


@overload
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: ShapeDtypeStruct | Leaf,
    *args: Any,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Array: ...
@overload
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any: ...
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return what a function of NumPy arrays gives, called when somebody needs it.

    Functions that look at values run under every transform as they are; this is for those that are to be a
    part of a compiled function, a loop or a graph.

    Parameters
    ----------
    callback : callable
        Gets arrays as NumPy's, everything else as it is. It should do nothing but compute: it may be called
        again, or not at all.
    result_shape_dtypes : pytree of ShapeDtypeStruct
        What it gives; arrays will do.
    *args, **kwargs
        Its arguments.
    vmap_method : {None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all"}
        Under `vmap` the function is called for one example after the other; or once, for arrays with the axes
        of the examples in front, where an argument that is the same for all has axes of length 1
        (``"expand_dims"``), or is repeated (``"broadcast_all"``).

    Returns
    -------
    pytree of arrays

    Raises
    ------
    TypeError
        When the value is needed, if the callback gave something else than was said.
    ValueError
        For another `vmap_method`.
    NotImplementedError
        For derivatives, which `custom_jvp` and `custom_vjp` may give it.

    >>> import numpy as np
    >>> from nabla_array.transforms import ShapeDtypeStruct, compile, pure_callback
    >>> @compile
    ... def f(x):
    ...     count = pure_callback(np.count_nonzero, ShapeDtypeStruct((), xp.int64), x > 0)
    ...     return x / count
    >>> f(xp.asarray([1.0, 2.0, -4.0]))
    array([ 0.5,  1. , -2. ])
    """
    if vmap_method not in (*_ONE_BY_ONE, *_AT_ONCE):
        raise ValueError(
            f"pure_callback: vmap_method {vmap_method!r} is none of "
            f"{', '.join(map(repr, (*_ONE_BY_ONE, *_AT_ONCE)))}"
        )
    arrays, made = _taken("pure_callback", callback, result_shape_dtypes, args, kwargs, vmap_method)
    return _recorded(arrays, made)


def _taken(
    name: str, fun: Callable[..., Any], results: Any, args: Any, kwargs: Any, method: str | None = None
) -> tuple[list[Array], _Callback]:
    found, rest = take(*tree_flatten((args, kwargs)), is_array_like)
    return [array_leaf(name, x) for x in found], _Callback(name, fun, rest, results, method)


def _recorded(arrays: Sequence[Array], made: _Callback) -> Any:
    operands = [(current(x), x._levels) for x in arrays]
    node, levels = bind(callback_call, operands, {"callback": made, "examples": ()})
    mark_origin(node, made.name)
    outs = [Array(project(node, index=i), levels) for i in range(len(made.avals))]
    return tree_unflatten(made.tree, outs)


@overload
def io_callback(
    callback: Callable[..., Any], result_shape_dtypes: None, *args: Any, ordered: bool = False, **kwargs: Any
) -> None: ...
@overload
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: ShapeDtypeStruct | Leaf,
    *args: Any,
    ordered: bool = False,
    **kwargs: Any,
) -> Array: ...
@overload
def io_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, ordered: bool = False, **kwargs: Any
) -> Any: ...
def io_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, ordered: bool = False, **kwargs: Any
) -> Any:
    """Call a function of NumPy arrays here and now, for what it does, and return what it gives.

    Parameters
    ----------
    callback : callable
        Gets arrays as NumPy's, everything else as it is. Under `vmap` it is called for one example after the
        other; where examples part, once more for those that go another way.
    result_shape_dtypes : pytree of ShapeDtypeStruct
        What it gives; None for nothing.
    *args, **kwargs
        Its arguments.
    ordered : bool
        Taken for JAX's sake: calls are in order always.

    Returns
    -------
    pytree of arrays
        Constants for derivatives.

    Raises
    ------
    TypeError
        If the callback gave something else than was said, and in a function that must be written down
        (`trace`, `compile` with `fullgraph`).

    Notes
    -----
    A compiled function that does so runs as if it were not compiled, and a loop runs in Python.

    >>> from nabla_array.transforms import ShapeDtypeStruct, compile, io_callback
    >>> log = []
    >>> def note(x):
    ...     log.append(float(x))
    ...     return len(log)
    >>> f = compile(lambda x: x + io_callback(note, ShapeDtypeStruct((), int), x))
    >>> f(0.5), f(0.25), log
    (np.float64(1.5), np.float64(2.25), [0.5, 0.25])
    """
    del ordered
    arrays, made = _taken("io_callback", callback, result_shape_dtypes, args, kwargs)
    if is_evaluating_shapes():
        return _recorded(arrays, made)
    found, levels = called(arrays, made, False)
    return tree_unflatten(made.tree, [Array(leaf(x), levels) for x in found])


def effect(name: str, fun: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Call a function for what it does alone."""

    def nothing(*args: Any, **kwargs: Any) -> None:
        fun(*args, **kwargs)

    if not is_evaluating_shapes():
        called(*_taken(name, nothing, None, args, kwargs), True)


def called(arrays: Sequence[Array], made: _Callback, once: bool) -> tuple[list[np.ndarray], Levels]:
    """Call a callback for the examples that go this way; with `once`, not where another run has done so."""
    run_as_it_is()
    if once and any(f.is_behind() for f in frames()):
        return [], ()
    levels = merge([x._levels for x in arrays])
    sizes = {i: n for x in arrays for i, n in zip(x._levels, current(x).aval.shape, strict=False)}
    try:
        values = [value_of(align(current(x), x._levels, levels, sizes)) for x in arrays]
    except Looked:
        raise TypeError(
            f"{made.name}: a rule for a derivative does this in a loop or branch, where it is written down "
            "and not run: within a disable_jit block it is run"
        ) from None
    if not levels:
        return made(values), levels
    lead = tuple([sizes[i] for i in levels])
    return made.of_each(values, lead, going(levels, lead)), levels
