"""Programs of small values that have run for so long that machine code of them pays (`cpu/machine.py`).

LLVM compiles one in the background, in some hundredths of a second. Its first run is compared with the host's
and timed against it: what disagrees, or is not faster, stays on the host.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from time import perf_counter
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..config import active, config
from ..cpu.faults import is_ignored
from ..cpu.kernels import Unfit
from ..cpu.loops import Loop
from ..cpu.machine import Machine, is_available
from ..forks import at_fork
from ..graph.aval import aval_of_value
from ..graph.primitive import Primitive
from ..graph.program import Eqn, Program, programs_in
from ..max.trials import agree
from ..ops.structure import project

# LLVM is so many times as fast as MAX's compiler: programs have that much less to run before.
_QUICK = 20
# Runs in which it must have been faster once.
_TURNS = 3

Cold = Callable[[], Sequence[Any]]


class Hot:
    """A program, and what is known of its machine code.

    Attributes
    ----------
    state
        "cold", "compiling", "new" (compiled, but not tried), "hot", or "failed".
    message
        Why it stays on the host.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        _hots[id(self)] = self
        self.state, self.message = "cold", ""
        self.seconds = 0.0
        self.turns = 0
        self.machine: Machine | None = None

    def run(self, inputs: Sequence[np.ndarray], cold: Cold) -> Sequence[Any]:
        """Run it by machine code if there is any, and else by `cold`, which does the same."""
        mode = active.settings["mode"]
        if self.state == "failed" or mode == "host":
            return cold()
        if mode == "max" and self.machine is None and self._can_compile():
            self._compile()
        if self.state == "hot" or (mode == "max" and self.machine is not None):
            found = self._on_machine(inputs)
            return cold() if found is None else found
        return self._watched(inputs, cold)

    def _watched(self, inputs: Sequence[np.ndarray], cold: Cold) -> Sequence[Any]:
        """Run it on the host, and take the next step towards machine code when it is due."""
        start = perf_counter()
        out = cold()
        seconds = perf_counter() - start
        self.seconds += seconds
        if self.state == "new":
            self._try(inputs, out, seconds)
        elif self.state == "cold" and self.seconds * _QUICK > config.compile_after and self._can_compile():
            self.state = "compiling"
            _in_background(self._compile)
        return out

    def _can_compile(self) -> bool:
        if not is_available():  # to look for it takes longer than many a loop, so it is not done before
            self._fail("llvmlite is not installed")
        return is_available()

    def _on_machine(self, inputs: Sequence[np.ndarray]) -> Sequence[Any] | None:
        """Run the machine code; None where the host has to, which says of a fault whose it is."""
        machine = self.machine
        found = None if machine is None else machine.run(inputs)
        if found is None or not is_ignored(found[1]):
            return None
        return found[0]

    def _try(self, inputs: Sequence[np.ndarray], wanted: Sequence[Any], seconds: float) -> None:
        """Compare a run of the machine code with the host's."""
        start = perf_counter()
        found = self._on_machine(inputs)
        took = perf_counter() - start
        if found is None:  # nothing is learned
            return
        self.turns += 1
        if not all(agree(got, np.asarray(w)) for got, w in zip(found, wanted, strict=True)):
            self._fail("its results differ from the host's")
        elif took < seconds:
            self.state = "hot"
        elif self.turns == _TURNS:
            self._fail(f"not faster: {took / seconds:.1f} of the host's time")

    def _fail(self, message: str) -> None:
        self.state, self.message, self.machine = "failed", message, None

    def _compile(self) -> None:
        with _compiling[0]:
            try:
                self.machine = self.machine or Machine(self.program)
            except Unfit as reason:
                self._fail(str(reason))
            except Exception as error:  # whatever LLVM raises: the host goes on, and `report` tells
                self._fail(f"cannot be compiled: {error}")
            else:
                self.state = "new"

    def title(self) -> str:
        """Say in a few words what it does."""
        names = list(dict.fromkeys(_names(self.program)))
        return " ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")

    def status(self) -> str:
        """Say in a few words where it runs, and why."""
        after = config.compile_after / _QUICK
        return {
            "cold": f"host: machine code after {after:g} s, {self.seconds:.2g} s so far",
            "compiling": "host: being compiled to machine code",
            "new": "compiled to machine code, to be tried",
            "hot": "machine code",
            "failed": f"host: {self.message}",
        }[self.state]


def _names(program: Program) -> Iterator[str]:
    """Name what a program does, and what is in its loops and branches."""
    for eqn in program.eqns:
        if eqn.ins and eqn.prim.role == "ordinary":
            yield eqn.prim.name
        for inner in programs_in(eqn):
            yield from _names(inner)


# Those that somebody holds.
_hots: WeakValueDictionary[int, Hot] = WeakValueDictionary()


def hots() -> list[Hot]:
    """Return what is known of the machine code of programs that are in use."""
    # Of this dictionary, `valuerefs` alone is one atomic operation.
    return [found for ref in _hots.valuerefs() if (found := ref()) is not None]


@lru_cache(512)
def hot_of(prim: Primitive, avals: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Hot:
    """Return what is known of the machine code of one operation with several results."""
    n, results = len(avals), prim.aval(*avals, **dict(params))
    eqns = [Eqn(prim, tuple(range(n)), params, results)]
    eqns += [Eqn(project, (n,), (("index", i),), aval) for i, aval in enumerate(results)]
    return Hot(Program(avals, tuple(eqns), tuple(range(n + 1, n + 1 + len(results)))))


def run_operation(prim: Primitive, operands: Sequence[np.ndarray], params: dict[str, Any], cold: Cold) -> Any:
    """Run an operation with several results by machine code if there is any, and else by `cold`."""
    if active.settings["mode"] == "host":
        return cold()
    avals = tuple([aval_of_value(x) for x in operands])
    return tuple(hot_of(prim, avals, tuple(params.items())).run(operands, cold))


class Function:
    """A program of small values as a function of arrays to arrays; `constants`: some of its inputs."""

    def __init__(self, program: Program, constants: Mapping[int, np.ndarray] | None = None) -> None:
        loop = Loop(program, constants=constants)
        body, self._fixed = loop.body
        self._hot, self._cold = Hot(body), loop.call

    def run(self, *inputs: np.ndarray) -> Sequence[np.ndarray]:
        """Return the results."""
        return self._hot.run((*inputs, *self._fixed), partial(self._cold, *inputs))

    def quick(self, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray] | None:
        """Return the results if machine code makes them, and met no fault of which somebody might hear."""
        machine = self._hot.machine
        if machine is None or self._hot.state != "hot" or active.settings["mode"] == "host":
            return None
        found = machine.run((*inputs, *self._fixed))
        return None if found is None or found[1] else found[0]


# One compiles at a time.
_compiling = [threading.Lock()]
_threads: list[threading.Thread] = []


def _in_background(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work, name="nabla_array machine code", daemon=True)
    _threads[:] = [t for t in _threads if t.is_alive()]
    _threads.append(thread)
    thread.start()


@atexit.register
def wait_for_compilers() -> None:
    """Wait until what is being compiled is ready: LLVM must not be left in the midst of it."""
    for thread in _threads:
        thread.join(30)


def _forked() -> None:
    """Begin anew in a forked child, which has none of these threads: what was being compiled stays cold."""
    _compiling[0] = threading.Lock()
    _threads.clear()
    hot_of.cache_clear()


at_fork(after_in_child=_forked)
