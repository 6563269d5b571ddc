"""Which tier runs a program: NumPy on the host, or what MAX has compiled of it. See docs/max.md."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from itertools import groupby
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from ..config import config
from ..cpu import row_tiling
from ..cpu.blocks import StepFailed, run_plan
from ..graph.program import Program
from ..max.canonical import Canonical, canonicalize, for_target, parse
from ..schedule.groups import Plan, plan
from ..schedule.parts import Part, merge, parts, with_drops
from ..schedule.plan_cache import ways
from ..stats import stats

if TYPE_CHECKING:
    from ..max.compiler import Pending

# Seconds on the host, of all that MAX could run, after which its import (a second or two) may pay.
_IMPORT_AFTER = 0.5
# Runs of each tier in a trial, and how many times as fast one of them must be to end it sooner.
_TURNS, _CLEARLY = 3, 4
# Seconds on the host, and times the cost of a trial, after which one that MAX lost is repeated.
_AGAIN_AFTER, _AGAIN_TIMES = 10.0, 50


class Trial:
    """Seconds that each tier took, in turns, where the program called for them.

    What runs before and after is part of it: threads of BLAS that still spin slow down MAX's, and neither
    tier is itself in its first run.
    """

    def __init__(self) -> None:
        self.host: list[float] = []
        self.max: list[float] = []

    @property
    def ratio(self) -> float:
        """MAX's time in the host's."""
        return float(np.median(self.max) / np.median(self.host))

    @property
    def next_on_host(self) -> bool:
        """Whether it is the host's turn."""
        return len(self.host) <= len(self.max)

    def add(self, seconds: float) -> None:
        """Note how long the tier whose turn it was took."""
        (self.host if self.next_on_host else self.max).append(seconds)

    @property
    def is_over(self) -> bool:
        """Whether enough is known."""
        if not self.max:
            return False
        pairs = ((self.host, self.max), (self.max, self.host))
        return len(self.max) == _TURNS or any(_CLEARLY * max(x) < min(y) for x, y in pairs)


class Kernel:
    """A canonical program, and what is known of its compiled form.

    Attributes
    ----------
    target
        The accelerator that it is compiled for, as MAX is told; of the CPU's, "".
    state
        "new", "loading" (looked for in the cache, or being loaded), "cold" (not compiled), "compiling",
        "ready" or "failed".
    message
        Why it is not on MAX, where there is a reason.
    host_seconds, max_seconds, hits
        Time spent on each tier, and the number of runs on MAX.
    faster
        For each size class that was tried, whether MAX runs it, because it took less time.
    again
        For those where it lost, the `host_seconds` at which it is tried again: something else may have
        kept the machine busy.
    trials
        For those that are being tried, the times until now.
    """

    def __init__(self, key: str, target: str) -> None:
        self.key = key
        self.target = target
        self.state = "new"
        self.message = ""
        self.host_seconds = 0.0
        self.max_seconds = 0.0
        self.hits = 0
        self.faster: dict[int, bool] = {}
        self.again: dict[int, float] = {}
        self.trials: dict[int, Trial] = {}
        self.model: Any = None
        self.pending: Pending | None = None

    def wanted(self, size: int) -> bool:
        """Say whether MAX should run this size class, be it to try."""
        if self.state != "ready":
            return False
        return self.faster.get(size, True) or self.host_seconds >= self.again.get(size, _AGAIN_AFTER)

    def spent(self, seconds: float) -> None:
        """Count time on the host, and take the next step towards a compiled form when it is due."""
        self.host_seconds += seconds
        if self.state == "new":
            if self.target or _is_worth_max():
                self._find()
        elif self.state == "cold" and (self.target or self.host_seconds >= config.compile_after):
            self.request()
        elif self.state == "compiling":
            self._poll()

    def _find(self) -> None:
        self.state = "loading"
        _in_background(self.load)  # MAX takes seconds to import, and a while to begin

    def load(self) -> None:
        """Take the compiled form from the cache, if it is there."""
        from ..max.artifacts import Failure, default_store

        store = default_store()
        found = store.find(self.key)
        if found is None:
            self.state = "cold"
        elif isinstance(found, Failure):
            self.fail(found.message)
        else:
            try:
                from ..max import backend

                self.model = backend.load(found.name, found.mef, self.target)[found.graph]
            except Exception as error:  # whatever MAX raises: the host goes on, and `report` tells
                self.fail(f"cannot be loaded: {error}")
            else:
                self.faster.update(store.verdicts(self.key))
                self.state = "ready"

    def request(self, awaited: bool = False) -> None:
        """Ask for the compilation; `awaited`: somebody does nothing else meanwhile."""
        from ..max.compiler import default_compiler

        self.pending = default_compiler().request(self.key, awaited, self.target)
        self.state = "compiling"

    def _poll(self) -> None:
        assert self.pending is not None
        if self.pending.state == "ready":
            self.pending = None
            self._find()
        elif self.pending.state == "failed":
            self.fail(self.pending.message)

    def wait(self) -> None:
        """Load it, compiling first where needed; afterwards it is ready or failed."""
        if self.state == "loading":
            _wait_for_background()
        if self.state == "new":
            self.load()
        if self.state == "cold":
            self.request(awaited=True)
        if self.state == "compiling":
            assert self.pending is not None
            self.pending.wait()
            if self.pending.state == "failed":
                self.fail(self.pending.message)
            else:
                self.load()
                if self.state == "cold":
                    self.fail("compiled, but not found in the cache")

    def status(self) -> str:
        """Say in a few words where it runs, and why."""
        if self.state == "ready":
            if self.faster and not any(self.faster.values()):
                return f"host: compiled, but {self.message or 'not faster'}"
            is_used = self.faster or (self.hits and not self.trials)
            return "MAX" if is_used else "compiled, to be tried on MAX"
        return {
            "new": "host: too short so far for MAX" if self.host_seconds else "host: not seen before",
            "loading": "host: looked for among the compiled",
            "cold": f"host: compiled after {config.compile_after:g} s, {self.host_seconds:.2g} s so far",
            "compiling": "host: being compiled",
            "failed": f"host: {self.message}",
        }[self.state]

    def title(self) -> str:
        """Say in a few words what it does."""
        program = parse(self.key)
        names = list(dict.fromkeys(e.prim for e in program.eqns if e.prim != "fill"))
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        dtypes = "/".join(dict.fromkeys(str(dtype) for _, dtype in program.inputs))
        return f"{' '.join(names[:6])}{more} on {dtypes}"

    def fail(self, message: str) -> None:
        """Keep to the host from now on."""
        self.state, self.message = "failed", message


def problems() -> tuple[str, ...]:
    """Return what went wrong with the cache, or with compiling."""
    if "nabla_array._lazy.max.artifacts" not in sys.modules:  # nothing was looked for
        return ()
    from ..max.artifacts import default_store  # waits where a loader is still importing it

    return tuple(default_store().problems)


# Those of the programs that are remembered (`_cut`), and with them their kernels.
_kernels: WeakValueDictionary[str, Kernel] = WeakValueDictionary()


def kernel(key: str, target: str = "") -> Kernel:
    """Return the one kernel of a canonical program for the CPU, or for an accelerator."""
    key = for_target(key, target) if target else key
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = Kernel(key, target)
    return found


def kernels() -> list[Kernel]:
    """Return the kernels that are in use."""
    return list(_kernels.values())


def _is_worth_max() -> bool:
    """Say whether this process has run for so long that it may import MAX, which its end waits for."""
    if "max.engine" in sys.modules:
        return True
    return sum(k.host_seconds for k in kernels()) >= min(_IMPORT_AFTER, config.compile_after)


_gathering: list[set[str]] = []


@contextmanager
def gather() -> Iterator[set[str]]:
    """Gather what MAX could run of everything evaluated meanwhile, which the host runs."""
    keys: set[str] = set()
    with config(mode="max"):
        _gathering.append(keys)
        try:
            yield keys
        finally:
            _gathering.remove(keys)


def prepare(keys: Iterable[str]) -> list[Kernel]:
    """Have programs compiled, together, where they are not yet; returns their kernels."""
    wanted = [kernel(key) for key in keys]
    compile_and_wait(wanted)
    return wanted


_loading = threading.Lock()
_loaders: list[threading.Thread] = []


def _in_background(work: Callable[[], None]) -> None:
    def one_at_a_time() -> None:
        with _loading:
            work()

    thread = threading.Thread(target=one_at_a_time, name="nabla_array loader", daemon=True)
    _loaders[:] = [t for t in _loaders if t.is_alive()]
    _loaders.append(thread)
    thread.start()


@atexit.register
def _wait_for_background() -> None:
    # An interpreter that ends while MAX is being imported takes the process down with it.
    for thread in _loaders:
        thread.join(30)


def _after_fork() -> None:
    """Begin anew in a forked child: it has neither MAX's threads nor the loaders."""
    global _loading
    _loading = threading.Lock()
    _loaders.clear()
    ways.clear()
    _cut.cache_clear()
    _stretches.cache_clear()
    _on_host.clear()
    _kernels.clear()


class Step:
    """A part of a program, made ready to run on either tier."""

    def __init__(self, part: Part, canonical: Canonical | None, target: str = "") -> None:
        self.part = part
        self.canonical = canonical
        self.kernel = kernel(canonical.key, target) if canonical is not None else None
        self.plan: Plan | None = None
        program = part.program
        sizes = [program.aval(i) for i in range(len(program.inputs) + len(program.eqns))]
        self.size = max(getattr(a, "nbytes", 0) for a in sizes).bit_length()
        # What the part adds to the time of the whole, roughly.
        self.work = sum(getattr(e.aval, "nbytes", 0) for e in program.eqns if e.ins)
        self.execute: Callable[..., list[Any]] | None = None

    def on_host(self, ins: list[Any], counted: bool = True) -> list[Any]:
        """Run it with NumPy, which takes the inputs' references over; `counted` as what MAX could save."""
        program = self.part.program
        if self.plan is None:
            self.plan = plan(program)
        env = [*ins, *[None] * len(program.eqns)]
        ins.clear()
        start = perf_counter()
        try:
            _run_on_host(self.plan, env, frozenset())
        except StepFailed as failure:
            k = self.part.eqns[failure.eqn - len(program.inputs)]
            raise StepFailed(failure.error, k) from failure.error
        if counted and self.kernel is not None:
            self.kernel.spent(perf_counter() - start)
        return [env[i] for i in program.outputs]

    def on_max(self, ins: list[Any]) -> list[Any]:
        """Run the compiled form, of an accelerator on MAX's buffers."""
        assert self.kernel is not None
        assert self.canonical is not None
        if self.execute is None:
            from ..max import backend

            make = backend.buffer_runner if self.kernel.target else backend.runner
            self.execute = make(self.kernel.model, self.canonical.inputs, self.canonical.outputs)
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

    def is_on_max(self, trusted: bool) -> bool:
        """Say whether MAX is to run it; `trusted`: without a trial, whatever the time."""
        chosen = self.kernel
        return chosen is not None and (chosen.state == "ready" if trusted else chosen.wanted(self.size))

    def run(self, ins: list[Any], trusted: bool) -> list[Any]:
        """Run it where it should; `trusted`: without a trial against the host."""
        if not self.is_on_max(trusted):
            return self.on_host(ins)
        chosen = self.kernel
        assert chosen is not None
        try:
            if trusted or self.is_faster:
                return self.on_max(ins)
            return self._try(ins)
        except StepFailed:
            raise
        except Exception as error:  # whatever MAX raises: the host goes on, and `report` tells
            chosen.fail(f"cannot be run: {error}")
            return self.on_host(ins)

    def again(self, env: list[Any]) -> bool:
        """Run it on MAX over a program's `env`, whose only step it is; False: it has to be looked at anew."""
        assert self.kernel is not None
        if self.kernel.state != "ready" or _gathering:
            return False
        try:
            outs = self.on_max([env[i] for i in self.part.inputs])
        except Exception as error:  # whatever MAX raises: the host goes on, and `report` tells
            self.kernel.fail(f"cannot be run: {error}")
            return False
        for i, value in zip(self.part.outputs, outs, strict=True):
            env[i] = value
        return True

    def _try(self, ins: list[Any]) -> list[Any]:
        """Run the tier whose turn it is, at first both for their results; at last remember the better."""
        chosen = self.kernel
        assert chosen is not None
        trial = chosen.trials.setdefault(self.size, Trial())
        start = perf_counter()
        if not trial.next_on_host:
            out = self.on_max(ins)
            trial.add(perf_counter() - start)
        else:
            is_first = not trial.host
            out = self.on_host(list(ins))
            trial.add(perf_counter() - start)
            if is_first and not all(agree(g, w) for g, w in zip(self.on_max(ins), out, strict=True)):
                self.distrust()
        if trial.is_over:
            self._decide(trial)
        return out

    def _decide(self, trial: Trial) -> None:
        chosen = self.kernel
        assert chosen is not None
        chosen.trials.pop(self.size, None)
        ratio = trial.ratio
        self.note(ratio < 0.95)
        if ratio >= 0.95:
            wait = max(_AGAIN_AFTER, _AGAIN_TIMES * sum(trial.max))
            chosen.again[self.size] = chosen.host_seconds + wait
            chosen.message = f"not faster: {ratio:.1f} of the host's time"

    def note(self, faster: bool) -> None:
        """Remember for this size, in later processes too, whether MAX is to run it."""
        from ..max.artifacts import default_store

        assert self.kernel is not None
        self.kernel.faster[self.size] = faster
        default_store().note(self.kernel.key, self.size, faster)

    def distrust(self) -> None:
        """Never use it again, for no size and in no later process: its results are wrong."""
        from ..max.artifacts import FAILURES, default_store

        chosen = self.kernel
        assert chosen is not None
        chosen.fail("its results differ from the host's")
        default_store().add_failure(chosen.key, chosen.message, FAILURES)


def agree(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Say whether MAX's result is the host's, up to rounding: half of the digits, of the mean at least."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return False
    if wanted.dtype.kind != "f":
        return np.array_equal(got, wanted)
    finite = np.isfinite(wanted)
    if not np.array_equal(np.where(finite, 0, wanted), np.where(np.isfinite(got), 0, got), equal_nan=True):
        return False
    sizes = np.where(finite, np.abs(wanted), 0)
    tolerance = np.sqrt(np.finfo(wanted.dtype).eps)
    with np.errstate(all="ignore"):
        usual = np.sum(sizes, dtype=np.float64) / max(sizes.size, 1)
        return bool(np.all(np.where(finite, np.abs(got - wanted), 0) <= tolerance * (sizes + usual)))


@lru_cache(512)
def _cut(program: Program, everything: bool) -> tuple[Step, ...]:
    return tuple(
        Step(part, canonicalize(part.program) if part.fusible else None)
        for part in parts(program, everything)
    )


def steps_of(program: Program) -> tuple[Step, ...]:
    """Return the parts of a program, as `run` would take them in the mode in force."""
    return _cut(program, config.mode == "max")


@lru_cache(512)
def _stretches(
    program: Program, everything: bool, on_max: frozenset[int]
) -> tuple[tuple[Step, tuple[Step, ...]], ...]:
    """Return the steps of a program: those on MAX, by number, and between them what the host runs, as one.

    With each come those that it is made of.
    """
    steps = _cut(program, everything)
    groups = [
        [steps[n] for n in group]
        for _, group in groupby(range(len(steps)), lambda n: n if n in on_max else -1)
    ]
    merged = [merge(program, [s.part for s in group]) for group in groups]
    return tuple(
        (group[0] if len(group) == 1 else Step(part, None), tuple(group))
        for group, part in zip(groups, with_drops(merged, program), strict=True)
    )


# For programs whose rows threads could share, and what is on MAX: whether the host runs all of it instead.
_on_host: dict[tuple[Program, frozenset[int]], Trial | bool] = {}


def run(whole: Plan, env: list[Any], owned: frozenset[int]) -> Callable[[list[Any]], bool] | None:
    """Run a program over `env`, as `host.run_plan` does, on the tiers that are best for its parts.

    Returns
    -------
    function, optional
        Where all of it is on MAX for good, what runs it so in this mode: see `Step.again`.
    """
    mode = config.mode
    if _gathering:
        mode = "host"
        _gathering[-1].update(s.canonical.key for s in steps_of(whole.program) if s.canonical is not None)
    if mode == "host":
        _run_on_host(whole, env, owned)
        return None
    trusted = mode == "max"
    steps = _cut(whole.program, trusted)
    if trusted:
        compile_and_wait([s.kernel for s in steps if s.kernel is not None])
    on_max = frozenset([n for n, s in enumerate(steps) if s.is_on_max(trusted)])
    on_host = _is_on_host(whole.program, steps, on_max, trusted)
    start = perf_counter()
    if on_host.next_on_host if isinstance(on_host, Trial) else on_host:
        _run_on_host(whole, env, owned)
        _count(steps, perf_counter() - start)
    else:
        _run_mixed(whole.program, env, on_max, trusted)
    if isinstance(on_host, Trial):
        on_host.add(perf_counter() - start)
        if on_host.is_over:
            _on_host[whole.program, on_max] = on_host.ratio > 1
    if on_host is False and len(steps) == len(on_max) == 1 and (trusted or steps[0].is_faster):
        return steps[0].again
    return None


def _is_on_host(
    program: Program, steps: tuple[Step, ...], on_max: frozenset[int], trusted: bool
) -> Trial | bool:
    """Say whether the host runs all of a program, or give the trial that tells."""
    if trusted or not on_max:
        return not trusted
    if not (row_tiling.is_worthwhile(program) and all(steps[n].is_faster for n in on_max)):
        return False
    if len(_on_host) > 512:
        _on_host.clear()
    return _on_host.setdefault((program, on_max), Trial())


def stretches_of(program: Program) -> tuple[Step, ...]:
    """Return what `run` would now take in turn, where not all of it is the host's."""
    trusted = config.mode == "max"
    steps = _cut(program, trusted)
    on_max = frozenset([n for n, s in enumerate(steps) if s.is_on_max(trusted)])
    if _is_on_host(program, steps, on_max, trusted) is True:
        return ()
    return tuple(step for step, _ in _stretches(program, trusted, on_max))


def _run_on_host(whole: Plan, env: list[Any], owned: frozenset[int]) -> None:
    if row_tiling.is_worthwhile(whole.program):
        row_tiling.run(whole.program, env)
    else:
        run_plan(whole, env, owned)


def _run_mixed(program: Program, env: list[Any], on_max: frozenset[int], trusted: bool) -> None:
    for step, inside in _stretches(program, trusted, on_max):
        ins = [env[i] for i in step.part.inputs]
        for i in step.part.drop:
            env[i] = None
        start = perf_counter()
        outs = step.run(ins, trusted)
        if len(inside) > 1:
            _count(inside, perf_counter() - start)
        for i, value in zip(step.part.outputs, outs, strict=True):
            if i not in step.part.drop:
                env[i] = value


def _count(steps: Iterable[Step], seconds: float) -> None:
    """Count time on the host for all that MAX could run of it."""
    total = sum(s.work for s in steps)
    for s in steps:
        if s.kernel is not None:
            s.kernel.spent(seconds * s.work / total)


def compile_and_wait(wanted: list[Kernel]) -> None:
    """Have kernels compiled, together, where they are not yet, and loaded."""
    waiting = [k for k in dict.fromkeys(wanted) if k.state not in ("ready", "failed")]
    if not waiting:
        return
    for k in waiting:
        if k.state == "new":
            k.load()
        if k.state == "cold":
            k.request(awaited=True)  # all, before waiting for the first: they are compiled together
    with _progress(sum(k.state == "compiling" for k in waiting)):
        for k in waiting:
            k.wait()


def _progress(n: int) -> Any:
    if not n or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"nabla_array: MAX compiles {n} program{'s' * (n > 1)}")


os.register_at_fork(after_in_child=_after_fork)
