"""Which tier runs a program: NumPy on the host, or what MAX has compiled of it (docs/concepts/tiers.md)."""

from __future__ import annotations

from _thread import _local as local  # `threading` takes a millisecond to import
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from ..config import active, config
from ..cpu.calls import StepFailed
from ..graph.program import Program
from ..max.canonical import Canonical, canonicalize
from ..max.trials import Trial, agree, compile_and_wait, kernel
from ..schedule.parts import parts
from ..schedule.planned import Planned
from ..schedule.steps import Part, Schedule
from ..stats import stats
from .executors import execute, execute_part
from .planning import planned, schedule_of

_NONE: frozenset[int] = frozenset()


class _Gathering(local):
    """What a thread gathers of its evaluations, innermost last."""

    def __init__(self) -> None:
        self.keys: list[set[str]] = []


_gathering = _Gathering()
# MAX takes all cores for one program: two at a time would only get in each other's way.
_max_lock = allocate_lock()


@contextmanager
def gather() -> Iterator[set[str]]:
    """Gather what MAX could run of everything evaluated meanwhile, which the host runs."""
    keys: set[str] = set()
    with config(mode="max"):
        _gathering.keys.append(keys)
        try:
            yield keys
        finally:
            _gathering.keys.pop()


def is_gathered(runners: Iterable[Runner]) -> bool:
    """Note what MAX could run, where that is gathered; says whether it is."""
    if not _gathering.keys:
        return False
    _gathering.keys[-1].update([r.kernel.key for r in runners if r.kernel is not None])
    return True


class Runner:
    """What runs a part of a program on either tier.

    Attributes
    ----------
    part, kernel
        The part, and its compiled form; None where MAX could not run it.
    size
        What the outcome of a trial holds for: of the largest value, the power of two that its bytes reach,
        and less than 0 where MAX has to copy inputs first. It is that of the last run, by any thread.
    seconds
        How long all its runs took.
    """

    def __init__(self, part: Part, canonical: Canonical | None, target: str = "") -> None:
        self.part = part
        self.canonical = canonical
        self.kernel = kernel(canonical.key, target) if canonical is not None else None
        self.seconds = 0.0
        program = part.program
        sizes = [program.aval(i) for i in range(len(program.inputs) + len(program.eqns))]
        self.size = max(getattr(a, "nbytes", 0) for a in sizes).bit_length()
        # What the part adds to the time of the whole, roughly.
        self.work = sum(getattr(e.aval, "nbytes", 0) for e in program.eqns if e.ins)
        self.execute: Callable[..., list[Any]] | None = None

    def on_host(self, ins: list[Any], counted: bool = True) -> list[Any]:
        """Run it with NumPy, which takes the inputs' references over; `counted` as what MAX could save."""
        start = perf_counter()
        outs = execute_part(self.part, on_host(self.part.program), ins)
        if counted and self.kernel is not None:
            self.kernel.spent(perf_counter() - start)
        return outs

    def on_max(self, ins: list[Any]) -> list[Any]:
        """Run the compiled form, of an accelerator on MAX's buffers."""
        assert self.kernel is not None
        assert self.canonical is not None
        if self.execute is None:
            from ..max import backend

            make = backend.buffer_runner if self.kernel.target else backend.runner
            self.execute = make(self.kernel.model, self.canonical.inputs, self.canonical.outputs)
        with _max_lock:
            start = perf_counter()
            out = self.execute(*ins)
            self.kernel.max_seconds += perf_counter() - start
            self.kernel.hits += 1
            stats.compiled += 1
        return out

    @property
    def is_faster(self) -> bool:
        """Whether MAX was found to be faster."""
        return self.kernel is not None and self.kernel.faster.get(self.size, False)

    def is_trusted(self) -> bool:
        """Say whether MAX runs it without a trial, whatever the time."""
        return active.settings["mode"] == "max"

    def is_on_max(self) -> bool:
        """Say whether MAX is to run it."""
        chosen = self.kernel
        if chosen is None or chosen.state != "ready":
            return False
        return self.is_trusted() or chosen.wants(self.size)

    def run(self, ins: list[Any]) -> list[Any]:
        """Run it where it should, in a trial against the host unless the better tier is known."""
        start = perf_counter()
        try:
            return self._run(ins)
        finally:
            self.seconds += perf_counter() - start

    def _run(self, ins: list[Any]) -> list[Any]:
        assert self.kernel is not None
        # Whether the step before ran on MAX may decide how an input lies.
        is_copied = not all([x.flags.c_contiguous and x.flags.writeable for x in ins])
        size = self.size = -abs(self.size) if is_copied else abs(self.size)
        try:
            if self.is_trusted() or self.kernel.faster.get(size, False):
                return self.on_max(ins)
            return self._try(ins, size)
        except StepFailed:
            raise
        except Exception as error:  # whatever MAX raises: the host goes on, and `report` tells
            self.kernel.fail(f"cannot be run: {error}")
            return self.on_host(ins)

    def _try(self, ins: list[Any], size: int) -> list[Any]:
        """Run the tier whose turn it is, at first both for their results; at last remember the better."""
        assert self.kernel is not None
        trial = self.kernel.trials.setdefault(size, Trial())
        is_first, is_hosts = not trial.host, trial.next_on_host
        start = perf_counter()
        out = self.on_host(list(ins)) if is_hosts else self.on_max(ins)
        trial.add(perf_counter() - start, is_hosts)
        if is_first and not all(agree(g, w) for g, w in zip(self.on_max(ins), out, strict=True)):
            self.kernel.distrust()
        if trial.is_over:
            self.kernel.decide(size, trial)
        return out


def runners_of(plan: Planned) -> tuple[Runner, ...]:
    """Return what could run each of the parts that a program is cut into for MAX, in the mode in force."""
    if plan.runners is None:
        plan.runners = tuple(
            [
                Runner(part, canonicalize(part.program) if part.fusible else None)
                for part in parts(plan.program, active.settings["mode"] == "max")
            ]
        )
        if plan.seconds:
            _count(plan.runners, _NONE, plan.seconds)
    return plan.runners


def run(plan: Planned, env: list[Any], owned: frozenset[int]) -> None:
    """Run a program over `env`, as `execute` does, on the tiers that are best for its parts."""
    mode = active.settings["mode"]
    if mode == "host" or is_gathered(runners_of(plan)):
        execute(schedule_of(plan), env, owned)
        return
    runners = runners_of(plan)
    if mode == "max":
        compile_and_wait([r.kernel for r in runners if r.kernel is not None])
    wanted = _on_max(runners)
    trial = _trial(plan, wanted)
    is_hosts: bool = trial.next_on_host if isinstance(trial, Trial) else trial
    on_max = _NONE if is_hosts else wanted
    if len(on_max) == len(runners):
        execute(schedule_of(plan, on_max), env, owned)
        return
    before = sum([runners[n].seconds for n in on_max])
    start = perf_counter()
    execute(schedule_of(plan, on_max), env, owned)
    seconds = perf_counter() - start
    if isinstance(trial, Trial):
        trial.add(seconds, is_hosts)
        if trial.is_over:
            plan.trials[wanted] = trial.ratio > 1
    _count(runners, on_max, seconds - (sum([runners[n].seconds for n in on_max]) - before))


def foreseen(plan: Planned) -> Schedule:
    """Return the schedule that `run` would take now."""
    on_max = _on_max(runners_of(plan)) if active.settings["mode"] != "host" else _NONE
    return schedule_of(plan, _NONE if _trial(plan, on_max) is True else on_max)


def on_host(program: Program) -> Schedule:
    """Return the schedule in which the host runs all of a program."""
    return schedule_of(planned(program))


def _on_max(runners: Iterable[Runner]) -> frozenset[int]:
    return frozenset([n for n, r in enumerate(runners) if r.is_on_max()])


def _trial(plan: Planned, on_max: frozenset[int]) -> Trial | bool:
    """Say whether the host runs all of a program though these parts are faster on MAX, or give the trial.

    That may be where threads share its rows.
    """
    if not on_max or active.settings["mode"] == "max" or not plan.may_tile:
        return False
    if not all([runners_of(plan)[n].is_faster for n in on_max]) or not schedule_of(plan).tiled:
        return False
    found: Trial | bool = plan.trials.setdefault(on_max, Trial())
    return found


def _count(runners: tuple[Runner, ...], on_max: frozenset[int], seconds: float) -> None:
    """Count time on the host for all that MAX could run of it."""
    some = [r for n, r in enumerate(runners) if n not in on_max] if on_max else runners
    total = sum([r.work for r in some])
    for r in some:
        if r.kernel is not None:
            r.kernel.spent(seconds * r.work / total)
