"""Evaluation: what is pending below a value that somebody needs is run, once, by one thread.

The lock guards the graph. What is small is computed while it is held. For the rest, a thread *claims* the
pending nodes that it will compute, gives the lock back, computes, and publishes the values. Who needs one of
these nodes meanwhile waits for the claim. So several threads evaluate at one time.
`claims` holds the rules.
"""

from __future__ import annotations

import sys
from _thread import get_ident  # `threading` takes a millisecond to import
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ..config import active
from ..cpu import calls
from ..cpu.faults import heard_of, hearing, listener, one_by_one, tell
from ..graph.aval import LARGE, MEDIUM, MEDIUM_WEIGHT, Aval
from ..graph.node import NO_PARAMS, Node, Part, evaluate_hook, located
from ..graph.primitive import as_value
from ..graph.program import Line, held_outside, is_pending, linearize, written
from ..interrupts import Uninterrupted
from ..native import compiled
from ..ops.placement import host_value, in_use
from ..stats import stats
from .claims import Claim, claim_below, claims, lock, lock_within, wait_for

if TYPE_CHECKING:
    from ..schedule.planned import Planned
    from .settling import Move, There


def _pending(nodes: Sequence[Node]) -> list[Node]:
    return [n for n in nodes if is_pending(n)]


def evaluate(nodes: Sequence[Node]) -> None:
    """Fill in the values of `nodes`, and of what is alive of the pending nodes below them."""
    is_nested = lock._is_owned()
    if claims and not is_nested and any([c.thread == get_ident() for c in tuple(claims)]):
        _evaluate_within(nodes)
        return
    other: Claim | None = None
    while True:
        begun: list[_Deep | There | Move] = []
        nodes = [n for n in nodes if n.value is None and not run_loops(n, len(nodes) == 1)]
        try:
            with lock:
                roots = _pending(nodes)
                if not roots:
                    return
                other = claim_below(roots)
                if other is None:
                    begun += _next(roots)
                for evaluation in () if is_nested else begun:
                    evaluation.claim.begin()
            start = perf_counter()
            for evaluation in begun:
                evaluation.run()
        finally:
            try:
                _end(begun)
            finally:  # again, where Ctrl-C came in the midst of it
                _end(begun)
        if begun:  # the claims have ended: who waits for them may have the lock
            with lock:
                _count(start)
        if other is not None:
            wait_for(other)


def _evaluate_within(nodes: Sequence[Node]) -> None:
    """Evaluate nodes within an evaluation of this thread's."""
    with lock_within():
        evaluate(nodes)


def _end(begun: Sequence[_Deep | There | Move]) -> None:
    for evaluation in begun:
        evaluation.claim.end()


def _next(roots: list[Node]) -> Sequence[_Deep | There | Move]:
    """Return what evaluates the first of pending nodes, with the lock; what is small is evaluated at once."""
    if in_use:
        from .settling import begin

        begun, roots = begin(roots)
        if begun:
            return begun
    return [_Deep(roots)] if roots and _are_deep(roots) else []


def _are_deep(roots: list[Node]) -> bool:
    """Evaluate pending nodes below which all is small, with the lock; returns whether there are others."""
    # A pending node of medium size alone weighs this much, so below it there is none.
    if any([n.depth >= MEDIUM_WEIGHT for n in roots]) or active.settings["mode"] == "max":
        return True
    for n in roots:
        _run_small(n)
    return False


def _run_small(node: Node) -> Any:
    start = perf_counter()
    value = hearing(_value_below, node)
    _count(start)
    if listener.heard:
        tell()
    return value


def _count(start: float) -> None:
    """Count an evaluation that began then, with the lock."""
    stats.evaluations += 1
    stats.host_seconds += perf_counter() - start


def run_loops(node: Node, is_last: bool = True) -> bool:
    """Compute a small or quick tree of elementwise nodes with NumPy's loops; returns whether it was.

    More is quick where it is the last one that is looked at: others could be one program with it.
    """
    if compiled is None or not compiled.run(node, is_last):
        return False
    stats.evaluations += 1
    return True


def value_of(node: Node) -> Any:
    """Return the value of a node, evaluating it if it is pending."""
    value = node.value
    if value is not None or run_loops(node):
        return node.value
    if in_use:
        evaluate((node,))
        return host_value(node)
    if node.depth >= MEDIUM_WEIGHT or active.settings["mode"] == "max":
        evaluate((node,))
        return node.value
    with lock:  # what `evaluate` does, without its detours
        if not claims:
            return _run_small(node)
    evaluate((node,))
    return node.value


evaluate_hook.append(evaluate)


def _refs(node: Node, place: int) -> tuple[int, int]:
    operand = node.inputs[place]
    return sys.getrefcount(operand), sys.getrefcount(operand.value)


def _alone() -> tuple[int, int]:
    probe = Node(None, (), NO_PARAMS, None, 0, np.empty(1))
    user = Node(None, (probe,), NO_PARAMS, None, 0)
    del probe
    return _refs(user, 0)


# What `_refs` says when nothing but the node itself holds that input and its value.
_ALONE = _alone()


def _is_dying(node: Node, place: int) -> bool:
    """Say whether only `node` will ever look at that input, so that it may write over it."""
    return _refs(node, place) == _ALONE and calls.can_write(node.inputs[place].value)


def _settle(node: Node, value: Any) -> None:
    """Give a node its value, unless a finalizer had it computed meanwhile: then it may be a part."""
    if node.value is None:
        node.value = value
    if type(node) is not Part:
        node.inputs = ()
        node.depth = 0


def _run_shallow(node: Node) -> Any:
    """Run the nodes below `node` one by one: for small values a plan would cost more than it saves.

    This recurses, which is what makes it fast, and only ever MEDIUM_WEIGHT deep.
    """
    inputs = node.inputs
    if node.params or len(inputs) > 2:
        i = None
        for i in inputs:
            _value_below(i)
        del inputs, i  # whoever counts references must not find these
        return _run_one(node)
    y = None
    if len(inputs) == 2:
        first, second = inputs
        y = second.value
        if y is None:
            y = _run_shallow(second)
    else:
        (first,) = inputs
    x = first.value
    if x is None:
        x = _run_shallow(first)
    try:
        value = node.prim.host(x) if y is None else node.prim.host(x, y)  # type: ignore[union-attr]
    except calls.DATA_ERRORS as error:
        raise located(error, node) from None
    if type(value) is not ndarray:
        value = as_value(value)
    if node.value is None:  # as in `_settle`, which would be a call
        node.value = value
        node.inputs = ()
        node.depth = 0
    return value


def _value_below(node: Node) -> Any:
    return _run_shallow(node) if node.value is None else node.value


def _run_one(node: Node) -> Any:
    """Run one node whose inputs have values, in place where nobody can tell."""
    prim = node.prim
    assert prim is not None
    function, writes = prim.host, False
    if prim.inplace is not None:
        if _is_dying(node, 0):
            function, writes = calls.over(prim, [i.value for i in node.inputs]), True
    elif prim.kind == "elementwise" and prim.into is prim.ufunc and node.aval.nbytes >= MEDIUM:
        for place in range(len(node.inputs)):
            if node.inputs[place].aval is node.aval and _is_dying(node, place):
                function, writes = partial(function, out=node.inputs[place].value), True
                break
    else:
        function = calls.whole(prim, [i.value for i in node.inputs])
    with Uninterrupted() if writes else nullcontext():
        try:
            value = as_value(function(*[i.value for i in node.inputs], **node.params))
        except calls.DATA_ERRORS as error:
            raise located(error, node) from None
        _settle(node, value)
    return value


one_by_one.update({id(c): c for c in (_run_shallow.__code__, _run_one.__code__)})


def _is_large(node: Node) -> bool:
    """Say whether a node has many elements to compute: a view has none."""
    aval = node.aval
    if not isinstance(aval, Aval):
        return any(a.nbytes >= LARGE for a in aval)
    return aval.nbytes >= LARGE and node.prim.kind != "view"  # type: ignore[union-attr]


def scheduled(order: list[Node]) -> Line | None:
    """Return the program of the pending nodes `order`; None: all of them are small, and run one by one."""
    if active.settings["mode"] != "max" and not any(map(_is_large, order)):
        return None
    kept = [n for n, more in zip(order, held_outside(order, order), strict=True) if more]
    return linearize(order, kept)


def _is_alone(order: list[Node]) -> bool:
    """Say whether this is one operation, which the host runs as one call."""
    prim = order[0].prim
    return len(order) == 1 and prim is not None and prim.kind not in ("elementwise", "scan")


# What no graph key has.
_UNKNOWN: Any = object()


def _planned(key: Hashable, order: list[Node]) -> tuple[Callable[..., None], Planned, list[int]] | None:
    """Return what runs pending nodes, as others with this key, by which plan, and the nodes' numbers in it.

    None: they are run one by one.
    """
    from ..schedule.plan_cache import keep, plans

    everything = active.settings["mode"] == "max"
    found: tuple[Callable[..., None], Planned, list[int]] | None = plans.get((everything, key), _UNKNOWN)
    if found is _UNKNOWN:
        line = None if not everything and _is_alone(order) else scheduled(order)
        found = None
        if line is not None:
            from . import early, planning

            found = early.run, planning.planned(line.program), line.numbers
        if key is not None and all(map(is_pending, order)):  # else it is the plan of other nodes
            keep((everything, key), found)
    return found


class _Deep:
    """An evaluation that is planned, or runs large nodes one by one."""

    def __init__(self, roots: list[Node]) -> None:
        key, self.order, self.leaves, self.alone = written(_pending(roots))
        self.planned = _planned(key, self.order)
        self.claim = Claim(self.order, donates=bool(self.alone))

    def run(self) -> None:
        """Compute the nodes and tell of their floating-point errors."""
        if self.planned is None:
            self._run_one_by_one()
        else:
            self._run_planned(*self.planned)
        if listener.heard:
            tell()

    def _run_one_by_one(self) -> None:
        # Forgotten when they have been run, so that no list counts as a user.
        self.leaves.clear()
        self.order.reverse()
        while self.order:
            if is_pending(self.order[-1]):  # else a finalizer had it computed
                hearing(_run_one, self.order[-1])
            self.order.pop()

    def _run_planned(self, run: Callable[..., None], plan: Planned, numbers: list[int]) -> None:
        env: list[Any] = [n.value for n in self.leaves] + [None] * len(plan.program.eqns)
        self.leaves.clear()

        def publish() -> None:
            # Also after an error: an owned input may have been written over, so what was computed from it
            # must not be computed again.
            for node, k in zip(self.order, numbers, strict=True):
                if env[k] is not None:
                    _settle(node, env[k])

        try:
            heard_of(self.order, run, plan, env, frozenset(self.alone))
        except calls.StepFailed as failure:
            raise located(failure.error, self.order[numbers.index(failure.eqn)]) from None
        finally:
            try:
                publish()
            finally:  # again, where Ctrl-C came in the midst of it
                publish()
