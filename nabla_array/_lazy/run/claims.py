"""The lock of the graph, and claims: pending nodes that one thread computes without the lock.

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

from _thread import RLock, allocate_lock, get_ident  # `threading` takes a millisecond to import
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from time import sleep
from typing import Any, TypeVar, cast

from ..forks import at_fork
from ..graph.node import CLAIMED, Node, origin
from ..graph.program import pending_order
from ..native import compiled

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


@contextmanager
def lock_within() -> Iterator[None]:
    """Hold the lock within an evaluation: who has it and waits for that lets go of it for a moment."""
    _wanting.add(get_ident())
    try:
        lock.acquire()
    finally:
        _wanting.discard(get_ident())
    try:
        yield
    finally:
        lock.release()


class Claim:
    """Pending nodes that this thread computes without the lock, once it has begun to claim them.

    Attributes
    ----------
    thread
        Which one.
    order
        The nodes, inputs before users; those that have their values may be taken out.
    ids
        Those of all of them.
    donates
        Whether memory that the nodes are computed from may be written over.
    running
        A lock that is held until all is published.
    """

    __slots__ = ("donates", "ids", "order", "running", "thread")

    def __init__(self, order: list[Node], donates: bool) -> None:
        self.thread = get_ident()
        self.order = order
        self.ids = frozenset(map(id, order))
        self.donates = donates
        self.running = allocate_lock()
        self.running.acquire()

    def begin(self) -> None:
        """Claim the nodes, with the lock, but for those that a finalizer has had computed meanwhile."""
        claims.append(self)
        for node in self.order:
            if node.value is None:
                node.depth += CLAIMED

    def end(self) -> None:
        """Let others have those of the nodes that are still pending; more than once is no matter."""
        if self not in claims:
            return
        for node in self.order:
            if node.depth >= CLAIMED:
                node.depth -= CLAIMED
        if self.running.locked():
            self.running.release()
        claims.remove(self)


# The claims of all threads; one is added with the lock.
claims: list[Claim] = []
# Which claim a thread waits for.
_waits: dict[int, Claim] = {}
# Threads that wait for the lock within an evaluation of theirs (`lock_within`).
_wanting: set[int] = set()
# A thread that waits with the lock looks after each `_TURN` seconds whether the other thread wants the lock
# for an evaluation. What else may want it, as a finalizer that writes, has it for a moment after `_TURNS`.
_TURNS, _TURN = 200, 0.05


def claim_below(roots: Sequence[Node]) -> Claim | None:
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


def wait_for(claim: Claim) -> None:
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
        wait_for(other)


at_fork(before=_before_fork, after_in_parent=lock.release, after_in_child=lock.release)
