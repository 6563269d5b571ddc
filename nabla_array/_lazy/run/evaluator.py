"""Evaluation: what is pending below a value that somebody needs is run, once, by one thread.

The lock guards the graph. What is small is computed while it is held. For the rest, a thread *claims* the
pending nodes that it will compute, gives the lock back, computes, and publishes the values. Who needs one of
these nodes meanwhile waits for the claim. So several threads evaluate at one time.

- A claimed node says so (`CLAIMED`), and nobody but its thread reads its inputs: memory that these donate may
  be written over without the lock.
- Memory that is read without the lock is held by a reference, and who writes in place makes sure first that
  nobody else holds it.
- Publishing takes no lock: a value is set before anything else of its node changes, and the claim ends last.
- Who has the lock already (a write that reads what it replaces) evaluates under it, and claims nothing.
- A thread waits only for one that computes. An evaluation within another one, as in a finalizer, might close
  a circle of waits: it raises RuntimeError instead.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock, allocate_lock, get_ident  # `threading` takes a millisecond to import
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from functools import partial, wraps
from time import perf_counter, sleep
from typing import Any, TypeVar, cast

import numpy as np
from numpy import ndarray

from ..config import active
from ..cpu import blocks
from ..cpu.faults import listener, listening, one_by_one, tell
from ..graph.aval import LARGE, MEDIUM, MEDIUM_WEIGHT, Aval
from ..graph.node import CLAIMED, NO_PARAMS, Node, Part, evaluate_hook, origin
from ..graph.program import Line, held_outside, is_pending, linearize, pending_order, written
from ..interrupts import Uninterrupted
from ..native import compiled
from ..ops.placement import host_value, in_use
from ..schedule.plan_cache import Planned, keep, plans
from ..stats import stats

# Whoever claims pending nodes, runs small ones, writes to elements, or gives an array another node holds it.
lock = RLock() if compiled is None else compiled.lock
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


class Claim:
    """Pending nodes that a thread computes without the lock.

    Attributes
    ----------
    thread
        Which one.
    ids
        Those of the nodes.
    donates
        Whether memory that the nodes are computed from may be written over.
    running
        A lock that is held until all is published.
    """

    __slots__ = ("donates", "ids", "running", "thread")

    def __init__(self, order: list[Node], donates: bool) -> None:
        self.thread = get_ident()
        self.ids = frozenset(map(id, order))
        self.donates = donates
        self.running = allocate_lock()
        self.running.acquire()


# The claims of all threads; one is added with the lock.
claims: list[Claim] = []
# Which claim a thread waits for.
_waits: dict[int, Claim] = {}
# Threads that wait for the lock within an evaluation of theirs.
_wanting: set[int] = set()
# A thread that waits with the lock looks after each `_TURN` seconds whether the other thread wants the lock
# for an evaluation. What else may want it, as a finalizer that writes, has it for a moment after `_TURNS`.
_TURNS, _TURN = 200, 0.05


def _claim_below(roots: Sequence[Node]) -> Claim | None:
    """Return another thread's claim to something that is pending below; the lock is held."""
    me = get_ident()
    for node in pending_order(roots) if claims else ():
        for claim in tuple(claims) if node.depth >= CLAIMED else ():
            if id(node) in claim.ids and claim.thread != me:
                return claim
            if id(node) in claim.ids and claim.donates:
                raise RuntimeError(
                    f"evaluate: {origin(node)} is being computed by the evaluation that this one is part of"
                )
    return None


def _wait(claim: Claim) -> None:
    """Return once a claim has ended; the lock may have been let go of meanwhile."""
    me, last = get_ident(), claim
    with lock:
        while (after := _waits.get(last.thread)) is not None:
            if after.thread == me:
                raise RuntimeError("evaluate: two evaluations, each part of another, wait for each other")
            last = after
        before = _waits.get(me)  # in a finalizer, the thread may wait already
        _waits[me] = claim
    turns = 0
    try:
        while not claim.running.acquire(timeout=_TURN if lock._is_owned() else -1):
            turns += 1
            if claim.thread in _wanting or turns % _TURNS == 0:
                depth = lock._release_save()
                sleep(_TURN / 10)
                lock._acquire_restore(depth)
        claim.running.release()
    finally:
        if before is None:
            del _waits[me]
        else:
            _waits[me] = before


def _before_fork() -> None:
    # The child has neither the other threads' lock nor what they compute.
    while True:
        lock.acquire()
        other = next((c for c in tuple(claims) if c.thread != get_ident()), None)
        if other is None:
            return
        lock.release()
        _wait(other)


os.register_at_fork(before=_before_fork, after_in_parent=lock.release, after_in_child=lock.release)


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
        begun: list[_Deep] = []
        try:
            with lock:
                roots = _pending(nodes)
                if not roots:
                    return
                other = _claim_below(roots)
                if other is None and in_use:
                    settle_hook[0](roots, _evaluate_here)
                elif other is None and _are_deep(roots):
                    begun.append(_Deep(roots))
                    if not is_nested:
                        begun[0].begin_claim()
            for deep in begun:
                deep.run()
        finally:
            try:
                _end(begun)
            finally:  # again, where Ctrl-C came in the midst of it
                _end(begun)
        if other is not None:
            _wait(other)


def _evaluate_within(nodes: Sequence[Node]) -> None:
    """Evaluate nodes within an evaluation of this thread's."""
    _wanting.add(get_ident())
    try:
        with lock:
            _wanting.discard(get_ident())
            evaluate(nodes)
    finally:
        _wanting.discard(get_ident())


def _end(begun: list[_Deep]) -> None:
    for deep in begun:
        deep.end_claim()


def _evaluate_here(roots: list[Node]) -> None:
    """Evaluate pending nodes below which nothing is on an accelerator, with the lock."""
    if _are_deep(roots):
        _Deep(roots).run()


def _are_deep(roots: list[Node]) -> bool:
    """Evaluate pending nodes below which all is small, with the lock; returns whether there are others."""
    left = [n for n in roots if not run_loops(n)]
    # A pending node of medium size alone weighs this much, so below it there is none.
    if any([n.depth >= MEDIUM_WEIGHT for n in left]) or (left and active.settings["mode"] == "max"):
        return True
    for n in left:
        _run_small(n)
    return False


def _run_small(node: Node) -> Any:
    start = perf_counter()
    value = _listening(_value_below, node)
    stats.evaluations += 1
    stats.host_seconds += perf_counter() - start
    if listener.heard:
        tell()
    return value


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
    if node.depth >= MEDIUM_WEIGHT or active.settings["mode"] == "max":
        evaluate((node,))
        return node.value
    with lock:  # what `evaluate` does, without its detours
        if not claims:
            return _run_small(node)
    evaluate((node,))
    return node.value


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
    everything = active.settings["mode"] == "max"
    found: tuple[Callable[..., None], Planned, list[int]] | None = plans.get((everything, key), _UNKNOWN)
    if found is _UNKNOWN:
        line = None if not everything and _is_alone(order) else scheduled(order)
        found = None
        if line is not None:
            from . import tiers

            found = tiers.run, tiers.planned(line.program), line.numbers
        if key is not None:
            keep((everything, key), found)
    return found


class _Deep:
    """An evaluation that is planned, or runs large nodes one by one."""

    def __init__(self, roots: list[Node]) -> None:
        key, self.order, self.leaves, self.alone = written(_pending(roots))
        self.planned = _planned(key, self.order)
        self.claim: Claim | None = None

    def begin_claim(self) -> None:
        """Claim the nodes, with the lock."""
        self.claim = Claim(self.order, donates=bool(self.alone))
        claims.append(self.claim)
        for node in self.order:
            node.depth += CLAIMED

    def end_claim(self) -> None:
        """Let others have those of the nodes that are still pending; more than once is no matter."""
        for node in self.order if self.claim is not None else ():
            if node.depth >= CLAIMED:
                node.depth -= CLAIMED
        if self.claim in claims:
            claims.remove(self.claim)
        if self.claim is not None and self.claim.running.locked():
            self.claim.running.release()
        self.claim = None

    def run(self) -> None:
        """Compute the nodes and tell of their floating-point errors."""
        start = perf_counter()
        if self.planned is None:
            self._run_one_by_one()
        else:
            self._run_planned(*self.planned)
        with lock:
            stats.evaluations += 1
            stats.host_seconds += perf_counter() - start
        if listener.heard:
            tell()

    def _run_one_by_one(self) -> None:
        # Forgotten when they have been run, so that no list counts as a user.
        self.leaves.clear()
        self.order.reverse()
        while self.order:
            _listening(_run_one, self.order[-1])
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
            heard(self.order, run, plan, env, frozenset(self.alone))
        except blocks.StepFailed as failure:
            raise located(failure.error, self.order[numbers.index(failure.eqn)]) from None
        finally:
            try:
                publish()
            finally:  # again, where Ctrl-C came in the midst of it
                publish()
