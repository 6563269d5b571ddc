"""Calls of library functions that are recorded as one operation, of a batch or in a program.

A function that leaves for C computes on the host. What is recorded says which function, with which other
arguments, so that plans and programs are found again. In a program it has the derivative of the function.

Threads: what is remembered is read and written in single operations of a dictionary; two threads may find the
same thing, and find it equal.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from ..._lazy.graph.aval import Aval, aval_of, is_differentiable
from ..._lazy.graph.bodies import Looked, holes, written
from ..._lazy.graph.node import Node, mark_origin, tapes
from ..._lazy.graph.primitive import Dims, Primitive
from ..._lazy.graph.tape import derivatives
from ..._lazy.rules.concretization import is_traced
from ..._lazy.rules.levels import only
from ..._lazy.run.evaluator import evaluate
from ..._namespace.core.array import Array, apply, apply_many, current
from ..derivatives import jvp
from ..vmap import vmap

T = TypeVar("T")
# Bytes of an array that are compared at most.
_LARGE = 1 << 20
# Calls of a function of which it is remembered what their results are like.
_KNOWN = 64


@dataclass(frozen=True, repr=False)
class Call:
    """A function of NumPy's arrays, how many axes of each are an example's, and the avals of one's results.

    `key` tells the function and its other arguments, so that plans and programs are found again. `places`
    says which of what the function gives the results are. `alone` is the function as it was called for one
    example, which has derivatives.
    """

    function: Callable[..., Any] = field(compare=False)
    key: Hashable
    ndims: tuple[int, ...]
    results: tuple[Aval, ...]
    alone: Callable[..., Any] = field(compare=False)
    places: tuple[int, ...] = (0,)

    def __repr__(self) -> str:
        return f"{self.function.module}.{self.function.name}"  # type: ignore[attr-defined]

    def lead(self, x: Any) -> tuple[int, ...]:
        """Return the axes before those of an example of the first operand."""
        shape: tuple[int, ...] = x.shape
        return shape[: len(shape) - self.ndims[0]]

    def avals(self, *xs: Any) -> tuple[Aval, ...]:
        """Return the avals of the results of a batch."""
        return tuple([aval_of((*self.lead(xs[0]), *r.shape), r.dtype) for r in self.results])

    def __call__(self, *xs: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the results of a batch."""
        if 0 in self.lead(xs[0]):  # which some functions refuse
            return tuple([np.empty(a.shape, a.dtype) for a in self.avals(*xs)])
        found = several(self.function(*xs))
        made = tuple([np.asarray(found[i]) for i in self.places])
        for y, aval in zip(made, self.avals(*xs), strict=True):
            if (y.shape, y.dtype) != (aval.shape, aval.dtype):
                raise TypeError(f"gave {y.dtype}{[*y.shape]} for a batch, where {aval} was due")
        return made


def _dims(*xs: Aval, call: Call) -> Dims:
    lead = tuple(range(len(call.lead(xs[0]))))
    ndims = [*call.ndims, *[r.ndim for r in call.results]]
    return tuple([(*lead, *(-1 - k,) * ndim) for k, ndim in enumerate(ndims)])


def _tangents(call: Call, tangents: Sequence[Node | None], inputs: Sequence[Node]) -> list[Node | None]:
    """Return the tangents of the results of a call in a program, by the rule of the function."""
    moving = [i for i, t in enumerate(tangents) if t is not None]

    def results(*xs: Array) -> list[Any]:
        found = several(call.alone(*xs))
        return [found[i] for i in call.places]

    for _ in call.lead(inputs[0].aval):
        results = vmap(results)

    def of_moving(*xs: Array) -> list[Any]:
        every = [Array(n, ()) for n in inputs]
        for i, x in zip(moving, xs, strict=True):
            every[i] = x
        return results(*every)

    primals, moves = [Array(inputs[i], ()) for i in moving], [Array(tangents[i], ()) for i in moving]
    try:
        with only(()):  # the axes of all batches lead here
            found = jvp(of_moving, primals, moves)[1]
    except Looked:
        raise TypeError(
            f"{call}: the rule for its derivative looks at values, which a loop, a branch or a compiled "
            "function does not have while it is written down: within a disable_jit block it is run"
        ) from None
    is_moving = [r.dtype.kind in "fc" for r in call.results]
    return [current(t) if moves else None for t, moves in zip(found, is_moving, strict=True)]


# Of one operand, and one result: threads share a large batch.
host_call = Primitive(
    "host_call",
    lambda x, call: call.avals(x)[0],
    lambda x, call: call(x)[0],
    dims=_dims,
    by_rows=True,
    jvp=lambda tangents, out, x, call: _tangents(call, tangents, [x])[0],
)
host_calls = Primitive(
    "host_calls",
    lambda *xs, call: call.avals(*xs),
    lambda *xs, call: call(*xs),
    dims=_dims,
    jvp=lambda tangents, out, *xs, call: _tangents(call, tangents, xs),
)


def varies(x: Any) -> bool:
    """Say whether an argument is a batch, or part of a program that is recorded."""
    return type(x) is Array and bool(x._levels or (tapes and is_traced(current(x))))


def holds_any(x: Any) -> bool:
    """Say whether an argument is such, or a list or tuple that has one."""
    return any(map(holds_any, x)) if type(x) in (list, tuple) else varies(x)


def several(found: Any) -> Sequence[Any]:
    """Return results, of which a batch of SciPy's may have a list."""
    return found if isinstance(found, tuple | list) else (found,)


class _Trying(threading.local):
    """Whether this thread tries a derivative: what its rule calls is not tried by itself."""

    now = False


_trying = _Trying()


@lru_cache(_KNOWN)
def _has_derivative(call: Call, avals: tuple[Aval, ...]) -> bool:
    """Say whether a call in a program can be differentiated: some rules look at values."""
    xs = holes(avals)
    ts = [t if is_differentiable(t.aval) else None for t in holes(avals)]
    _trying.now = True
    try:
        sources = [*xs, *[t for t in ts if t is not None]]
        written(sources, lambda: [t for t in _tangents(call, ts, xs) if t is not None])
    except (TypeError, NotImplementedError):
        return False
    finally:
        _trying.now = False
    return True


def record_call(call: Call, operands: Sequence[Array], name: str) -> tuple[Array, ...] | None:
    """Record a call, and evaluate it unless a program is recorded: what it raises, it raises here.

    None where the program is part of what is differentiated, and the call cannot be.
    """
    nodes = [current(x) for x in operands]
    is_program = any(map(is_traced, nodes))
    is_to_have_one = is_program and not _trying.now and bool(derivatives())
    if is_to_have_one and not _has_derivative(call, tuple([n.aval for n in nodes])):
        return None
    made: tuple[Array, ...]
    if len(operands) == len(call.results) == 1:
        made = (apply(host_call, *operands, call=call),)
    else:
        made = apply_many(host_calls, *operands, call=call)
    for y in made:
        mark_origin(y._node, name)
    if not is_program:
        evaluate([current(y) for y in made])
    return made


def remembered(known: dict[Any, T], key: Hashable, find: Callable[[], T]) -> T:
    """Return what is known by a key, or find it; few are remembered."""
    try:
        return known[key]
    except KeyError:
        if len(known) >= _KNOWN:
            known.clear()
    found = known[key] = find()
    return found


# -- arguments, compared ------------------------------------------------------------------------------


class _Memory:
    """What is equal for the same memory, which it keeps alive."""

    def __init__(self, buffer: pickle.PickleBuffer) -> None:
        self.array = np.frombuffer(buffer.raw(), np.uint8)
        self.place = self.array.ctypes.data, self.array.nbytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Memory) and self.place == other.place

    def __hash__(self) -> int:
        return hash(self.place)


def text_of(arguments: Mapping[Any, Any]) -> Hashable:
    """Return what is equal for equal arguments; of large arrays, for the same ones."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        text = pickle.dumps(arguments, 5, buffer_callback=buffers.append)
    except (pickle.PicklingError, AttributeError, TypeError):  # a function within another one, or a file
        return object()
    return text, *[bytes(b) if b.raw().nbytes <= _LARGE else _Memory(b) for b in buffers]
