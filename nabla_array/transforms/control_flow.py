"""Branches and loops whose bodies are functions: recorded as one operation where no body looks at a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .._lazy.graph.node import tapes
from .._lazy.ops import control
from .._lazy.rules.levels import merge
from .._lazy.run import control as _run_control  # noqa: F401  gives the records their host functions
from .._namespace.chapters.elementwise import clip, equal, logical_not
from .._namespace.chapters.joining import stack
from .._namespace.core.array import Array, current
from .._namespace.core.promotion import astype
from .bodies import (
    Kind,
    Run,
    aligned,
    arrays_of,
    carried,
    common_dtype,
    copied,
    handed,
    kind_of,
    kinds_of,
    length_of,
    recorded,
    result,
)
from .calls import array_leaf
from .pytree import TreeDef, tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from ._types import Leaf, R, T, Ts, X

__all__ = ["cond", "fori_loop", "scan", "switch", "while_loop"]


# -- branches --------------------------------------------------------------------------------------------


@overload
def cond(
    pred: Any, true_fun: Callable[[Array], Leaf], false_fun: Callable[[Array], Leaf], operand: Leaf, /
) -> Array: ...
@overload
def cond(pred: Any, true_fun: Callable[[*Ts], R], false_fun: Callable[[*Ts], R], *operands: *Ts) -> R: ...
def cond(  # type: ignore[misc]  # mypy takes `*Any` for less than `*Ts`
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """Return ``true_fun(*operands)`` where `pred` holds, else ``false_fun(*operands)``.

    Parameters
    ----------
    pred : number or 0-d array
        Of any dtype; not zero is true. Under `vmap`, each example goes its way.
    true_fun, false_fun : callable
        Of arrays and pytrees of them. Both are run, to see what they do, but only what the chosen one does
        is computed. They should have no effects besides, and give results of the same structure, shapes and
        dtypes. If one looks at a value (``if x > 0``), the chosen one alone is run, as Python's ``if`` would.
    *operands : pytrees of arrays

    Returns
    -------
    pytree of arrays

    Raises
    ------
    TypeError
        If `pred` is no number, or the branches' results differ.

    >>> from nabla_array.transforms import cond, grad, vmap
    >>> def f(x):
    ...     return cond(x > 0, xp.log, lambda x: 2 * x, x)
    >>> vmap(f)(xp.asarray([1.0, -1.0]))
    array([ 0., -2.])
    >>> grad(f)(4.0)
    np.float64(0.25)
    """
    x = _scalar("cond", "the predicate", pred)
    index = astype(logical_not(x) if x.dtype.kind == "b" else equal(x, 0), np.dtype(np.int64))
    return _branch("cond", index, [true_fun, false_fun], operands)


@overload
def switch(index: Any, branches: Sequence[Callable[[Array], Leaf]], operand: Leaf, /) -> Array: ...
@overload
def switch(index: Any, branches: Sequence[Callable[[*Ts], R]], *operands: *Ts) -> R: ...
def switch(  # type: ignore[misc]  # mypy takes `*Any` for less than `*Ts`
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any
) -> Any:
    """Return ``branches[index](*operands)``.

    Parameters
    ----------
    index : integer or 0-d array of integers
        One that is out of range counts as the nearest in range.
    branches : sequence of callables
        As the two of `cond`.
    *operands : pytrees of arrays

    Returns
    -------
    pytree of arrays

    Raises
    ------
    TypeError
        If `index` is no integer, or the branches' results differ.
    ValueError
        If there are no branches.

    >>> from nabla_array.transforms import switch, vmap
    >>> vmap(lambda i: switch(i, [xp.sin, xp.cos, xp.exp], 0.0))(xp.asarray([0, 1, 2, 7]))
    array([0., 1., 1., 1.])
    """
    x = _scalar("switch", "the index", index)
    if x.dtype.kind not in "iu":
        raise TypeError(f"switch: the index must be an integer, not {x.dtype}")
    functions = list(branches)
    if not functions:
        raise ValueError("switch: needs at least one branch")
    if len(functions) == 1:
        return functions[0](*operands)
    # In its own dtype first, which may be unsigned and beyond int64.
    last = min(len(functions) - 1, int(np.iinfo(x.dtype).max))
    return _branch("switch", astype(clip(x, 0, last), np.dtype(np.int64)), functions, operands)


def _scalar(function: str, what: str, value: Any) -> Array:
    leaves, tree = tree_flatten(value)
    if tree.type is not None:
        raise TypeError(f"{function}: {what} must be a number, not the structure {tree}")
    x = array_leaf(function, leaves[0])
    if x.shape:
        raise TypeError(f"{function}: {what} must be a number, not an array of shape {x.shape}")
    return x


def _branch(
    function: str, index: Array, branches: Sequence[Callable[..., Any]], operands: Sequence[Any]
) -> Any:
    leaves, arrays, tree = arrays_of(function, tuple(operands))
    kinds = [kind_of(x, leaf) for x, leaf in zip(arrays, leaves, strict=True)]
    runs = []
    for branch in branches:
        run = Run(function, lambda *xs, f=branch: f(*tree_unflatten(tree, xs)), kinds, everything=True)
        if run.looked:
            with handed(arrays, kinds) as given:
                return branches[int(index)](*tree_unflatten(tree, given))
        runs.append(run)
    outs = _agreed(function, runs)
    # What every branch hands on is the operand, which examples that go different ways may share.
    ways = [{*some} for some in zip(*[run.handed_on() for run in runs], strict=True)]
    same = [some.pop() if len(some) == 1 else None for some in ways]
    results = [None if i is None else result(current(arrays[i]), kinds[i]) for i in same]
    chosen = [i for i, x in enumerate(results) if x is None]
    if not chosen:
        return tree_unflatten(runs[0].tree, results)
    outs = [outs[i] for i in chosen]
    levels = index._levels
    if levels:
        levels = merge([levels, *[k.levels for k in outs]])
        outs = [k._replace(levels=levels) for k in outs]
    made = [run.close(outs, chosen) for run in runs]
    programs, more = control.together([(program, nodes) for program, nodes, _ in made], len(arrays))
    along = [*[k.levels for k in kinds], *[some for _, _, found in made for some in found]]
    params = {
        "branches": programs,
        "lead": len(levels),
        "roles": tuple([control.ROW if levels and some == levels else control.SHARED for some in along]),
        "sums": (False,) * len(outs),
    }
    values = [aligned(index, levels), *[current(x) for x in arrays], *more]
    for i, node, kind in zip(chosen, recorded(control.switch, function, values, params), outs, strict=True):
        results[i] = result(node, kind)
    return tree_unflatten(runs[0].tree, results)


def _agreed(function: str, runs: Sequence[Run]) -> list[Kind]:
    """Return the kinds of the branches' results, which must be the same but for Python numbers."""
    first = runs[0]
    for run in runs[1:]:
        if run.tree != first.tree:
            raise TypeError(
                f"{function}: branches must give results of the same structure: {first.tree} and {run.tree}"
            )
    outs = []
    for kinds in zip(*[run.kinds for run in runs], strict=True):
        dtype = common_dtype(kinds)
        if any(k.shape != kinds[0].shape or (k.dtype != dtype and not k.weak) for k in kinds):
            given = [repr(tree_unflatten(run.tree, run.kinds)) for run in runs]
            raise TypeError(
                f"{function}: branches must give results of the same shapes and dtypes: {' and '.join(given)}"
            )
        weak = all(k.weak for k in kinds)
        outs.append(Kind(kinds[0].shape, dtype, merge([k.levels for k in kinds]), weak))
    return outs


# -- loops -----------------------------------------------------------------------------------------------


@overload
def while_loop(
    cond_fun: Callable[[Array], Any], body_fun: Callable[[Array], Leaf], init_val: Leaf
) -> Array: ...
@overload
def while_loop(cond_fun: Callable[[T], Any], body_fun: Callable[[T], T], init_val: T) -> T: ...
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any) -> Any:
    """Return what ``val = body_fun(val)``, begun with `init_val`, is once ``cond_fun(val)`` does not hold.

    Parameters
    ----------
    cond_fun : callable
        Gives a boolean. Under `vmap`, each example goes on for as long as its own says.
    body_fun : callable
        Gives a value of the structure, shapes and dtypes that it takes. Neither should have effects besides.
        If one looks at a value, the loop runs in Python.
    init_val : pytree of arrays

    Returns
    -------
    pytree of arrays

    Raises
    ------
    TypeError
        If `cond_fun` gives no boolean, or `body_fun` something else than it takes.
    NotImplementedError
        In reverse mode (grad, vjp), unless the loop runs in Python: the number of steps is not known
        beforehand. Forward mode (jvp, jacfwd) works, and reverse mode through `scan` and `fori_loop`.

    >>> from nabla_array.transforms import vmap, while_loop
    >>> def log2(n):  # rounded down
    ...     return while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] + 1), (n, 0))[1]
    >>> vmap(log2)(xp.asarray([1, 2, 7, 1000]))
    array([0, 1, 2, 9])
    """
    return _while("while_loop", cond_fun, body_fun, init_val)


def _while(function: str, cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init: Any) -> Any:
    leaves, arrays, tree = arrays_of(function, init)
    kinds = [kind_of(x, leaf) for x, leaf in zip(arrays, leaves, strict=True)]
    while True:
        test = Run(function, lambda *xs: cond_fun(tree_unflatten(tree, xs)), kinds)
        body = None if test.looked else Run(function, lambda *xs: body_fun(tree_unflatten(tree, xs)), kinds)
        if body is None or body.looked:
            return _while_in_python(function, cond_fun, body_fun, tree, arrays, kinds)
        _check_test(function, test.leaves, test.tree)
        grown = carried(function, "the value", tree, kinds, body.kinds, body.tree)
        moving, still = _parted(body, len(kinds))
        levels = test.arrays[0]._levels
        if levels:
            levels = merge([levels, *[grown[i].levels for i in moving]])
            for i in moving:
                grown[i] = grown[i]._replace(levels=levels)
        if grown == kinds:
            break
        kinds = grown
    order, outs = [*moving, *still], [kinds[i] for i in moving]
    cond_made = test.close([kind_of(test.arrays[0])._replace(levels=levels)], [0], order)
    body_made = body.close(outs, moving, order)
    (cond_program, body_program), more = control.together([cond_made[:2], body_made[:2]], len(kinds))
    along = [*[kinds[i].levels for i in still], *cond_made[2], *body_made[2]]
    params = {
        "cond": cond_program,
        "body": body_program,
        "carry": len(moving),
        "rows": tuple([bool(levels) and some == levels for some in along]),
    }
    state = [aligned(astype(x, k.dtype), k.levels) for x, k in zip(arrays, kinds, strict=True)]
    found = recorded(control.while_, function, [*[state[i] for i in order], *more], params)
    for i, node in zip(moving, found, strict=True):
        state[i] = node
    return tree_unflatten(tree, [result(n, k) for n, k in zip(state, kinds, strict=True)])


def _parted(body: Run, carry: int) -> tuple[list[int], list[int]]:
    """Say what of a carry moves, and what each step hands on as it is.

    The latter is no carry: examples that stop at different steps share it, and derivatives do not keep it for
    every step.
    """
    same = [i == where for i, where in enumerate(body.handed_on()[:carry])]
    return [i for i in range(carry) if not same[i]], [i for i in range(carry) if same[i]]


def _check_test(function: str, leaves: Sequence[Any], tree: TreeDef) -> None:
    if tree.type is None:
        x = array_leaf(function, leaves[0])
        if x.dtype.kind == "b" and not x.shape:
            return
        told = f"{x.dtype}{list(x.shape)}"
    else:
        told = f"the structure {tree}"
    raise TypeError(f"{function}: cond_fun must give a boolean, not {told}; a comparison would do")


def _while_in_python(
    function: str,
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    tree: TreeDef,
    state: Sequence[Any],
    kinds: Sequence[Kind],
) -> Any:
    while True:
        with handed(state, kinds) as given:
            test = cond_fun(tree_unflatten(tree, given))
        _check_test(function, *tree_flatten(test))
        if not test:
            return copied(tree, state)
        with handed(state, kinds) as given:
            leaves, out = tree_flatten(body_fun(tree_unflatten(tree, given)))
            made = kinds_of(function, leaves)
        kinds = carried(function, "the value", tree, kinds, made, out)
        state = _copies(function, leaves, kinds)


def _copies(function: str, leaves: Sequence[Any], kinds: Sequence[Kind]) -> list[Array]:
    return [astype(array_leaf(function, x), k.dtype).copy() for x, k in zip(leaves, kinds, strict=True)]


@overload
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Array, Array], Leaf],
    init_val: Leaf,
    *,
    unroll: int | bool | None = None,
) -> Array: ...
@overload
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Array, T], T],
    init_val: T,
    *,
    unroll: int | bool | None = None,
) -> T: ...
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[..., Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Return what ``val = body_fun(i, val)`` for each i from `lower` up to `upper` makes of `init_val`.

    Parameters
    ----------
    lower, upper : numbers or 0-d arrays
        `upper` is not reached. What is no integer is cut to one, towards zero. Where a transform runs and
        they depend on what it gave, they are not known beforehand: the loop is a `while_loop` then, which has
        no reverse mode.
    body_fun : callable
        ``(i, val) -> val`` of the same structure, shapes and dtypes. If it looks at a value, the loop runs
        in Python.
    init_val : pytree of arrays
    unroll : int or bool
        Taken for JAX's sake; it changes nothing.

    Returns
    -------
    pytree of arrays

    Raises
    ------
    TypeError
        If a bound is no real number, or `body_fun` gives something else than it takes.

    >>> from nabla_array.transforms import fori_loop, grad
    >>> fori_loop(0, 10, lambda i, total: total + i, 0)
    np.int64(45)
    >>> grad(lambda x: fori_loop(0, 3, lambda i, y: y * x, 1.0))(2.0)
    np.float64(12.0)
    """
    del unroll
    lower, upper = [int(b) if isinstance(b, float) and type(b) is not Array else b for b in (lower, upper)]
    bounds = [_scalar("fori_loop", "a bound", b) for b in (lower, upper)]
    for b in bounds:
        if b.dtype.kind not in "iuf":
            raise TypeError(f"fori_loop: bounds must be integers or real numbers, not {b.dtype}")
    bounds = [astype(b, np.dtype(np.int64)) if b.dtype.kind == "f" else b for b in bounds]
    pairs = zip((lower, upper), bounds, strict=True)
    dtype = np.result_type(*[b if type(b) is int else x.dtype for b, x in pairs])
    if dtype.kind not in "iu":
        raise TypeError(f"fori_loop: no integers hold both bounds, {bounds[0].dtype} and {bounds[1].dtype}")
    first, last = [astype(b, dtype) for b in bounds]
    if all(_is_known(b) for b in bounds):
        length = int(upper) - int(lower)
        if length <= 0:
            _, arrays, tree = arrays_of("fori_loop", init_val)
            return copied(tree, arrays)

        def step(state: Any, _: None) -> Any:
            i, value = state
            return (i + 1, body_fun(i, value)), None

        start = lower if type(lower) is type(upper) is int else first  # a number promotes as one
        return scan_of("fori_loop", step, (start, init_val), None, length, False)[0][1]
    return _while(
        "fori_loop",
        lambda state: state[0] < state[1],
        lambda state: (state[0] + 1, state[1], body_fun(state[0], state[2])),
        (first, last, init_val),
    )[2]


def _is_known(x: Array) -> bool:
    """Say whether a value does not depend on what a transform gave."""
    node = current(x)
    return not x._levels and not any(node in tape for tape in tuple(tapes))


@overload
def scan(
    f: Callable[[Array, Array], tuple[Leaf, R]],
    init: Leaf,
    xs: Leaf,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Array, R]: ...
@overload
def scan(
    f: Callable[[Array, X], tuple[Leaf, R]],
    init: Leaf,
    xs: X = ...,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Array, R]: ...
@overload
def scan(
    f: Callable[[T, Array], tuple[T, R]],
    init: T,
    xs: Leaf,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[T, R]: ...
@overload
def scan(
    f: Callable[[T, X], tuple[T, R]],
    init: T,
    xs: X = ...,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[T, R]: ...
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Return what ``carry, y = f(carry, x)`` makes of `init` along the first axis of `xs`, and all y stacked.

    Parameters
    ----------
    f : callable
        ``(carry, x) -> (carry, y)``; the carry keeps its structure, shapes and dtypes. It is run once, to see
        what it does, and should have no effects besides. If it looks at a value, the loop runs in Python.
    init : pytree of arrays
        The first carry.
    xs : pytree of arrays, optional
        Whose first axes have the same length. None hands None to `f`.
    length : int, optional
        The number of steps, where `xs` does not tell it.
    reverse : bool
        From the last to the first; `ys` stays in the order of `xs`.
    unroll : int or bool
        Taken for JAX's sake; it changes nothing.

    Returns
    -------
    (carry, ys)

    Raises
    ------
    ValueError
        If leaves of `xs` differ in length, or nothing says the number of steps.
    TypeError
        If `f` returns no pair, or another carry than it takes.

    >>> from nabla_array.transforms import grad, scan
    >>> scan(lambda total, x: (total + x, total * x), 0.0, xp.asarray([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 2., 9.]))
    >>> def last(decay):
    ...     return scan(lambda y, x: (decay * y + x, None), 0.0, xp.ones(4))[0]
    >>> grad(last)(0.5)
    np.float64(2.75)
    """
    del unroll
    return scan_of("scan", f, init, xs, length, reverse)


def scan_of(
    function: str, f: Callable[..., Any], init: Any, xs: Any, length: int | None, reverse: bool
) -> tuple[Any, Any]:
    leaves, arrays, tree = arrays_of(function, init)
    _, slices, x_tree = arrays_of(function, xs)
    steps = length_of(function, slices, length)
    kinds = [kind_of(x, leaf) for x, leaf in zip(arrays, leaves, strict=True)]
    x_kinds = [Kind(x.shape[1:], x.dtype, x._levels) for x in slices]
    n = len(kinds)

    def body(*given: Array) -> Any:
        pair = f(tree_unflatten(tree, given[:n]), tree_unflatten(x_tree, given[n:]))
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"{function}: f must return a pair (carry, y), not {pair!r}")
        return tuple(pair)

    while True:
        run = Run(function, body, [*kinds, *x_kinds])
        if run.looked:
            return _scan_in_python(function, body, tree, arrays, kinds, slices, steps, reverse)
        new, y_tree = run.tree.children
        grown = carried(function, "the carry", tree, kinds, run.kinds[: new.num_leaves], new)
        if grown == kinds:
            break
        kinds = grown
    y_kinds = [k._replace(weak=False) for k in run.kinds[n:]]
    moving, still = _parted(run, n)
    cut, ys = range(n, n + len(slices)), range(n, n + len(y_kinds))
    outs = [*[kinds[i] for i in moving], *y_kinds]
    program, more, _ = run.close(outs, [*moving, *ys], [*moving, *cut, *still])
    params = {
        "program": program,
        "length": steps,
        "reverse": bool(reverse),
        "carry": len(moving),
        "x_axes": tuple([len(k.levels) for k in x_kinds]),
        "y_axes": tuple([len(k.levels) for k in y_kinds]),
    }
    state = [aligned(astype(x, k.dtype), k.levels) for x, k in zip(arrays, kinds, strict=True)]
    whole = [*[state[i] for i in still], *more]
    values = [*[state[i] for i in moving], *[current(x) for x in slices], *whole]
    found = recorded(control.scan, function, values, params)
    for i, node in zip(moving, found, strict=False):
        state[i] = node
    results = [result(x, k) for x, k in zip(state, kinds, strict=True)]
    stacked = [Array(x, k.levels) for x, k in zip(found[len(moving) :], y_kinds, strict=True)]
    return tree_unflatten(tree, results), tree_unflatten(y_tree, stacked)


def _scan_in_python(
    function: str,
    body: Callable[..., Any],
    tree: TreeDef,
    state: Sequence[Any],
    kinds: Sequence[Kind],
    slices: Sequence[Array],
    steps: int,
    reverse: bool,
) -> tuple[Any, Any]:
    if not steps:
        raise ValueError(
            f"{function}: no steps, and a body that looks at values: what it would return is not known"
        )
    rows: list[list[tuple[Array, Kind]]] = []
    y_tree: Any = None
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        with handed(state, kinds) as given:
            leaves, out = tree_flatten(body(*given, *[x[t].copy() for x in slices]))
            made = kinds_of(function, leaves)
        new, y_tree = out.children
        n = new.num_leaves
        kinds = carried(function, "the carry", tree, kinds, made[:n], new)
        state = _copies(function, leaves[:n], kinds)
        rows.append([(array_leaf(function, x).copy(), k) for x, k in zip(leaves[n:], made[n:], strict=True)])
    if reverse:
        rows.reverse()
    return tree_unflatten(tree, state), tree_unflatten(y_tree, [_stacked(y) for y in zip(*rows, strict=True)])


def _stacked(rows: Sequence[tuple[Array, Kind]]) -> Array:
    dtype = common_dtype([k for _, k in rows])
    return stack([astype(x, dtype) for x, _ in rows])
