"""Evaluation: what is pending below a value that somebody needs is run, once."""

from __future__ import annotations

import os
import sys
from _thread import RLock  # `threading` takes a millisecond to import
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial, wraps
from time import perf_counter
from typing import Any, TypeVar, cast

import numpy as np
from numpy import ndarray

from ..config import settings
from ..cpu import blocks
from ..cpu.faults import listener, listening, one_by_one, tell
from ..graph.aval import LARGE, MEDIUM, MEDIUM_WEIGHT, Aval
from ..graph.node import NO_PARAMS, Node, evaluate_hook, origin
from ..graph.program import Line, held_outside, linearize, written
from ..interrupts import Uninterrupted
from ..native import compiled
from ..ops.placement import host_value, in_use, resident
from ..schedule.groups import Plan, plan
from ..schedule.parts import SCANS
from ..schedule.plan_cache import MOST_WAYS, Way, ways
from ..stats import stats

# Whoever runs pending nodes, writes to elements, or gives an array another node holds it.
lock = RLock() if compiled is None else compiled.lock
# Forking waits for what other threads evaluate: the child would inherit the lock, and not the thread.
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
F = TypeVar("F", bound=Callable[..., Any])


def locked(function: F) -> F:
    """Let who calls a function hold the lock meanwhile."""

    @wraps(function)
    def hold(*args: Any, **kwargs: Any) -> Any:
        with lock:
            return function(*args, **kwargs)

    return cast(F, hold)


# Runs `(function, *args)` where faults are heard; a copy of the context each time, since a finalizer may
# evaluate something in the midst of an evaluation.
def _listening(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return listening.copy().run(function, *args)
    except BaseException:
        listener.heard.clear()  # nobody will tell of it
        raise


# `accelerator` puts itself here, which evaluates each node on its device.
settle_hook: list[Callable[[list[Node], Callable[[list[Node]], None]], None]] = []


def evaluate(nodes: Sequence[Node]) -> None:
    """Fill in the values of `nodes`, and of what is alive of the pending nodes below them."""
    with lock:
        roots = [n for n in nodes if n.value is None and n.prim is not resident]
        if not roots:
            return
        if in_use:
            settle_hook[0](roots, _evaluate_here)
        else:
            _evaluate_here(roots)


def _evaluate_here(roots: list[Node]) -> None:
    """Evaluate pending nodes below which nothing is on an accelerator."""
    roots = [n for n in roots if not run_loops(n)]
    if not roots:
        return
    start = perf_counter()
    # A pending node of medium size alone weighs this much, so below it there is none.
    if max([n.depth for n in roots]) < MEDIUM_WEIGHT and settings["mode"] != "max":
        for n in roots:
            _listening(_value_below, n)
    else:
        _run_deep(roots)
    stats.evaluations += 1
    stats.host_seconds += perf_counter() - start
    if listener.heard:
        tell()


def run_loops(node: Node) -> bool:
    """Compute a small tree of elementwise nodes with NumPy's loops; returns whether that was done."""
    if compiled is None or not compiled.run(node):
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
    if node.depth >= MEDIUM_WEIGHT or settings["mode"] == "max":
        evaluate((node,))
        return node.value
    with lock:  # what `evaluate` does, without its detours
        start = perf_counter()
        value = _listening(_value_below, node)
        stats.evaluations += 1
        stats.host_seconds += perf_counter() - start
        if listener.heard:
            tell()
    return value


evaluate_hook.append(evaluate)


def heard(order: list[Node], function: Callable[..., Any], *args: Any) -> Any:
    """Run a function that computes the nodes of `order`, and tell of their floating-point errors."""
    result = _listening(function, *args)
    if listener.heard:
        tell(order)
    return result


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
    return _refs(node, place) == _ALONE and blocks.can_write(node.inputs[place].value)


def _settle(node: Node, value: Any) -> None:
    """Give a node its value, unless a finalizer had it computed meanwhile: then it may be a part."""
    if node.value is None:
        node.value = value
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
    except blocks.DATA_ERRORS as error:
        raise located(error, node) from None
    if type(value) is not ndarray:
        value = blocks.as_value(value)
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
            function, writes = prim.inplace, True
    elif prim.kind == "elementwise" and prim.into is prim.ufunc and node.aval.nbytes >= MEDIUM:
        for place in range(len(node.inputs)):
            if node.inputs[place].aval is node.aval and _is_dying(node, place):
                function, writes = partial(function, out=node.inputs[place].value), True
                break
    elif prim.kind == "reduce":
        function = blocks.whole(prim, node.inputs[0].value)
    with Uninterrupted() if writes else nullcontext():
        try:
            value = blocks.as_value(function(*[i.value for i in node.inputs], **node.params))
        except blocks.DATA_ERRORS as error:
            raise located(error, node) from None
        _settle(node, value)
    return value


one_by_one.update((_run_shallow.__code__, _run_one.__code__))


def located(error: Exception, node: Node) -> Exception:
    """Return the error with the name of the operation, and the user's line where it is known."""
    message = f"{origin(node)}: {error}"
    return type(error)(message)


def _is_large(node: Node) -> bool:
    """Say whether a node has many elements to compute: a view has none."""
    aval = node.aval
    if not isinstance(aval, Aval):
        return any(a.nbytes >= LARGE for a in aval)
    return aval.nbytes >= LARGE and node.prim.kind != "view"  # type: ignore[union-attr]


def schedule(order: list[Node]) -> tuple[Plan, Line] | None:
    """Return how the pending nodes `order` are run, and how they stand in the plan's program.

    None: all of them are small, they are run one by one.
    """
    if settings["mode"] != "max" and not any(map(_is_large, order)):
        return None
    kept = [n for n, more in zip(order, held_outside(order, order), strict=True) if more]
    line = linearize(order, kept)
    return plan(line.program), line


def _is_alone(order: list[Node]) -> bool:
    """Say whether this is one operation, which the host runs as one call."""
    prim = order[0].prim
    return len(order) == 1 and prim is not None and prim.kind != "elementwise" and prim not in SCANS


def _way_of(key: tuple[Any, ...] | None, order: list[Node]) -> Way | None:
    """Return how pending nodes are run, as others with this key were; None: one by one."""
    everything = settings["mode"] == "max"
    if key is not None and (everything, key) in ways:
        return ways[everything, key]
    scheduled = None if not everything and _is_alone(order) else schedule(order)
    found = None if scheduled is None else Way(plan=scheduled[0], numbers=scheduled[1].numbers)
    if key is not None:
        if len(ways) >= MOST_WAYS:
            ways.clear()
        ways[everything, key] = found
    return found


def _run_deep(roots: list[Node]) -> None:
    key, order, leaves, alone = written(roots)
    way = _way_of(key, order)
    if way is None:
        # Popped, so that no list counts as a user.
        del leaves
        order.reverse()
        while order:
            _listening(_run_one, order.pop())
        return
    stats.regions += way.regions
    env: list[Any] = [n.value for n in leaves] + [None] * len(way.plan.program.eqns)
    mode = settings["mode"]

    def publish() -> None:
        # Also after an error: an owned input may have been written over, so what was computed from it
        # must not be computed again.
        for node, k in zip(order, way.numbers, strict=True):
            if env[k] is not None:
                _settle(node, env[k])

    try:
        if way.settled is None or way.settled[0] != mode or not way.settled[1](env):
            from . import tiers

            again = heard(order, tiers.run, way.plan, env, frozenset(alone))
            way.settled = None if again is None else (mode, again)
    except blocks.StepFailed as failure:
        raise located(failure.error, order[way.numbers.index(failure.eqn)]) from None
    finally:
        try:
            publish()
        finally:  # again, where Ctrl-C came in the midst of it
            publish()
