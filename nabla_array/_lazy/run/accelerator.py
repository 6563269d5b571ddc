"""Running on an accelerator: what MAX has compiled for it runs there, all else on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from ..config import config
from ..cpu.blocks import StepFailed
from ..graph.aval import Aval, aval_of_value
from ..graph.node import Node
from ..graph.program import Program, held_outside, is_pending, linearize, pending_order
from ..max import backend
from ..max.canonical import canonicalize
from ..max.trials import agree, compile_and_wait
from ..ops.placement import host_value, is_resident, settle_as
from ..schedule.parts import parts, runs_on_max
from ..schedule.plan_cache import keep, plans
from ..schedule.steps import Compiled, Part, Schedule
from ..stats import stats
from .devices import CPU, devices
from .evaluator import heard, located, settle_hook
from .executors import execute
from .tiers import Runner

Evaluate = Callable[[list[Node]], None]


def names() -> tuple[list[str], str]:
    """Return the names of the accelerators that can be used, and what there is to say of them."""
    if config.mode == "host":
        return [], "the mode is 'host', in which MAX is never started"
    try:
        found = list(backend.accelerators())
    except ImportError as error:
        return [], f"MAX cannot be imported: {error}"
    return found, f"MAX finds {', '.join(found) or 'no accelerator'}"


class Placed:
    """A value of an accelerator's, which nobody changes: its memory there, its elements here, or both.

    What the host has computed for the accelerator stays here until something there needs it.

    Attributes
    ----------
    device
        The accelerator's name.
    aval
        Shape and dtype of the value, or a tuple of them for several.
    """

    __slots__ = ("_here", "_there", "aval", "device")

    def __init__(self, device: str, aval: Any, here: Any = None, there: Any = None) -> None:
        self.device = device
        self.aval = aval
        self._here = here
        self._there = there

    def here(self) -> Any:
        """Return the elements in the host's memory, read-only; they are fetched once."""
        if self._here is None:
            value = backend.download(self._there).reshape(self.aval.shape)
            value.flags.writeable = False
            self._here = value
        return self._here

    def there(self) -> Any:
        """Return MAX's buffer; what is only here is sent once."""
        if self._there is None:
            self._there = backend.upload(self._here, self.device)
        return self._there


def placed(device: str, value: Any) -> Placed:
    """Return a value of the host's, or a tuple of them, as one of an accelerator's."""
    aval = tuple([aval_of_value(v) for v in value]) if isinstance(value, tuple) else aval_of_value(value)
    return Placed(device, aval, value)


def settle(roots: Sequence[Node], evaluate_here: Evaluate) -> None:
    """Evaluate pending nodes, each on its device."""
    order = pending_order(roots)
    where = devices(order)
    moves = [n for n in order if n.prim.role == "transfer"]  # type: ignore[union-attr]
    del order  # whoever holds a node counts
    for node in moves:
        _settle(node.inputs, where, evaluate_here)
        _move(node)
    _settle(roots, where, evaluate_here)


settle_hook[:] = [settle]


def _settle(nodes: Sequence[Node], where: dict[int, str], evaluate_here: Evaluate) -> None:
    """Evaluate nodes below which nothing moves between devices any more."""
    pending = [n for n in nodes if is_pending(n)]
    for device in dict.fromkeys([where[id(n)] for n in pending]):
        some = [n for n in pending if where[id(n)] == device]
        if device == CPU:
            evaluate_here(some)
        else:
            _evaluate_there(some, device, where)


def _move(node: Node) -> None:
    (source,) = node.inputs
    value, device = host_value(source), node.params["device"]
    if device == CPU:
        node.value, node.inputs, node.depth = value, (), 0
        return
    moved = placed(device, value)
    if isinstance(moved.aval, Aval) and runs_on_max(moved.aval, "fiub"):
        moved.there()  # now, so that a lack of memory is told of where it was asked for
    settle_as(node, moved)


def _evaluate_there(roots: list[Node], device: str, where: dict[int, str]) -> None:
    order = pending_order(roots)
    alive = held_outside(order, order)
    # Of the host's values that only go along with an operand, no result is kept.
    kept = [n for n, more in zip(order, alive, strict=True) if more and where[id(n)] == device]
    line = linearize(order, kept)
    env = [n.params["value"] if is_resident(n) else placed(device, n.value) for n in line.inputs]
    env += [None] * len(line.program.eqns)
    start = perf_counter()
    try:
        heard(order, _run, line.program, env, device)
    except StepFailed as failure:
        raise located(failure.error, order[line.numbers.index(failure.eqn)]) from None
    stats.evaluations += 1
    stats.host_seconds += perf_counter() - start
    for node, k in zip(order, line.numbers, strict=True):
        if env[k] is not None and where[id(node)] == device:
            settle_as(node, env[k])


def _run(program: Program, env: list[Any], device: str) -> None:
    """Run a program over `env`, whose values are on the device."""
    found = schedule_of(program, device)
    if config.mode == "max":
        kernels = [s.runner.kernel for s in found.steps if isinstance(s, Compiled)]
        compile_and_wait([k for k in kernels if k is not None])
    execute(found, env)


def schedule_of(program: Program, device: str) -> Schedule:
    """Return how a program runs on an accelerator: each part there where it is compiled, or here for it."""
    key = device, program
    found = plans.get(key)
    if found is None:
        target = backend.accelerators()[device]
        some = parts(program, everything=True, accelerator=True)
        found = keep(key, Schedule(program, [Compiled(part, _Runner(part, device, target)) for part in some]))
    return found


class _Runner(Runner):
    """What runs a part of a program on an accelerator, or here for it."""

    def __init__(self, part: Part, device: str, target: str) -> None:
        super().__init__(part, canonicalize(part.program) if part.fusible else None, target)
        self.device = device
        self.avals = [part.program.aval(i) for i in part.program.outputs]

    def is_trusted(self) -> bool:
        """Say that the host only stands in there, until it is compiled."""
        return True

    def run(self, ins: list[Placed]) -> list[Any]:
        """Run it there if it is compiled; the first results of each size are compared with the host's."""
        chosen, mode = self.kernel, config.mode
        if mode == "host":
            return self._run_here(ins, counted=False)
        if chosen is None or not self.is_on_max():
            return self._run_here(ins)
        try:
            there = self.on_max([x.there() for x in ins])
        except Exception as error:  # whatever MAX raises: the host goes on, and `report` tells
            chosen.fail(f"cannot be run: {error}")
            return self._run_here(ins)
        outs = [Placed(self.device, a, there=t) for a, t in zip(self.avals, there, strict=True)]
        if mode == "max" or self.size in chosen.faster:
            return outs
        wanted = self._run_here(ins)
        if all(agree(x.here(), w.here()) for x, w in zip(outs, wanted, strict=True)):
            chosen.note(self.size, True)
        else:
            chosen.distrust()
        return wanted

    def _run_here(self, ins: list[Placed], counted: bool = True) -> list[Placed]:
        return [placed(self.device, v) for v in self.on_host([x.here() for x in ins], counted)]
