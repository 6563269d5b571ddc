"""What is known of compiled programs: whether they are ready, and which tier won their trials."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from ..config import config, with_settings
from ..forks import at_fork
from ..schedule.plan_cache import plans
from .canonical import for_target, parse

if TYPE_CHECKING:
    from .compiler import Pending

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

    def add(self, seconds: float, was_hosts: bool) -> None:
        """Note how long the tier whose turn it was took; another thread may have had one meanwhile."""
        (self.host if was_hosts else self.max).append(seconds)

    @property
    def is_over(self) -> bool:
        """Whether enough is known."""
        if not self.max or not self.host:
            return False
        pairs = ((self.host, self.max), (self.max, self.host))
        return len(self.max) >= _TURNS or any(_CLEARLY * max(x) < min(y) for x, y in pairs)


class Kernel:
    """A canonical program, and what is known of its compiled form."""

    def __init__(self, key: str, target: str) -> None:
        self.key = key
        self.target = target  # the accelerator that it is compiled for, as MAX is told; of the CPU's, ""
        # "new", "loading" (looked for in the cache, or being loaded), "cold" (not compiled), "compiling",
        # "ready" or "failed".
        self.state = "new"
        self.message = ""  # why it is not on MAX, where there is a reason
        # Time spent on each tier, and the number of runs on MAX.
        self.host_seconds = 0.0
        self.max_seconds = 0.0
        self.hits = 0
        # For each size class that was tried, whether MAX runs it, because it took less time.
        self.faster: dict[int, bool] = {}
        # Where it lost, the `host_seconds` at which it is tried again: something else may have kept the
        # machine busy.
        self.again: dict[int, float] = {}
        self.trials: dict[int, Trial] = {}  # of those that are being tried
        self.model: Any = None
        self.pending: Pending | None = None
        self._lock = threading.RLock()  # for what takes it from one state to the next

    def wants(self, size: int) -> bool:
        """Say whether MAX should run this size class of what is ready, be it to try."""
        return self.faster.get(size, True) or self.host_seconds >= self.again.get(size, _AGAIN_AFTER)

    def spent(self, seconds: float) -> None:
        """Count time on the host, and take the next step towards a compiled form when it is due."""
        self.host_seconds += seconds
        _times.host_seconds += seconds
        if self.state not in ("new", "cold", "compiling"):
            return
        with self._lock:
            if self.state == "new":
                if self.target or _is_worth_max():
                    self._find()
            elif self.state == "cold":
                if self.target or self.host_seconds >= config.compile_after:
                    self.request()
            elif self.state == "compiling":
                self._poll()

    def _find(self) -> None:
        self.state = "loading"
        _in_background(self.load)  # MAX takes seconds to import, and a while to begin

    def load(self) -> None:
        """Take the compiled form from the cache, if it is there."""
        from .artifacts import Failure, default_store

        store = default_store()
        found = store.find(self.key)
        if found is None:
            self.state = "cold"
        elif isinstance(found, Failure):
            self.fail(found.message)
        else:
            try:
                from . import backend

                self.model = backend.load(found.name, found.mef, self.target)[found.graph]
            except Exception as error:  # whatever MAX raises: the host goes on, and `report` tells
                self.fail(f"cannot be loaded: {error}")
            else:
                self.faster.update(store.verdicts(self.key))
                self.state = "ready"

    def request(self, awaited: bool = False) -> None:
        """Ask for the compilation; `awaited`: somebody does nothing else meanwhile."""
        from .compiler import default_compiler

        self.pending = default_compiler().request(self.key, awaited, self.target)
        self.state = "compiling"

    def _poll(self) -> None:
        assert self.pending is not None
        if self.pending.state == "ready":
            self.pending = None
            self._find()
        elif self.pending.state == "failed":
            self.fail(self.pending.message)

    def begin(self) -> None:
        """Load it, or ask for its compilation, for somebody who does nothing else meanwhile."""
        with self._lock:
            if self.state == "new":
                self.load()
            if self.state == "cold":
                self.request(awaited=True)

    def wait(self) -> None:
        """Load it, compiling first where needed; afterwards it is ready or failed."""
        if self.state == "loading":
            _wait_for_background()
        self.begin()
        pending = self.pending
        if pending is not None:
            pending.wait()
        with self._lock:
            if self.state == "compiling":  # and no other thread has seen to it
                assert pending is not None
                if pending.state == "failed":
                    self.fail(pending.message)
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

    def decide(self, size: int, trial: Trial) -> None:
        """Remember the better tier of a trial that is over."""
        self.trials.pop(size, None)
        ratio = trial.ratio
        self.note(size, ratio < 0.95)
        if ratio >= 0.95:
            wait = max(_AGAIN_AFTER, _AGAIN_TIMES * sum(trial.max))
            self.again[size] = self.host_seconds + wait
            self.message = f"not faster: {ratio:.1f} of the host's time"

    def note(self, size: int, faster: bool) -> None:
        """Remember for this size, in later processes too, whether MAX is to run it."""
        from .artifacts import default_store

        self.faster[size] = faster
        default_store().note(self.key, size, faster)

    def distrust(self) -> None:
        """Never use it again, for no size and in no later process: its results are wrong."""
        from .artifacts import FAILURES, default_store

        self.fail("its results differ from the host's")
        default_store().add_failure(self.key, self.message, FAILURES)


def problems() -> tuple[str, ...]:
    """Return what went wrong with the cache, or with compiling."""
    if "nabla_array._lazy.max.artifacts" not in sys.modules:  # nothing was looked for
        return ()
    from .artifacts import default_store  # waits where a loader is still importing it

    return tuple(default_store().problems)


# Those of the programs in the plan cache, which holds them.
_kernels: WeakValueDictionary[str, Kernel] = WeakValueDictionary()


def kernel(key: str, target: str = "") -> Kernel:
    """Return the one kernel of a canonical program for the CPU, or for an accelerator."""
    return _kernel(for_target(key, target) if target else key, target)


def _kernel(key: str, target: str) -> Kernel:
    return _kernels.get(key) or _kernels.setdefault(key, Kernel(key, target))


def kernels() -> list[Kernel]:
    """Return the kernels that are in use."""
    # Of this dictionary, `valuerefs` alone is one atomic operation: other threads add kernels meanwhile.
    return [found for ref in _kernels.valuerefs() if (found := ref()) is not None]


class _Times:
    """What this process has spent on programs that MAX could run."""

    host_seconds = 0.0


_times = _Times()


def _is_worth_max() -> bool:
    """Say whether this process has run for so long that it may import MAX, which its end waits for."""
    return "max.engine" in sys.modules or _times.host_seconds >= min(_IMPORT_AFTER, config.compile_after)


def prepare(keys: Iterable[str]) -> list[Kernel]:
    """Have programs compiled, together, where they are not yet; returns their kernels."""
    wanted = [_kernel(key, parse(key).target) for key in keys]
    compile_and_wait(wanted)
    return wanted


_loading = threading.Lock()
_loaders: list[threading.Thread] = []


def _in_background(work: Callable[[], None]) -> None:
    def one_at_a_time() -> None:
        with _loading:
            work()

    thread = threading.Thread(target=with_settings(one_at_a_time), name="nabla_array loader", daemon=True)
    _loaders[:] = [t for t in _loaders if t.is_alive()]
    _loaders.append(thread)
    thread.start()


@atexit.register
def _wait_for_background() -> None:
    # An interpreter that ends while MAX is being imported takes the process down with it.
    for thread in _loaders:
        thread.join(30)


def begin_anew() -> None:
    """Begin anew in a forked child: it has neither MAX's threads nor the loaders."""
    global _loading
    _loading = threading.Lock()
    _loaders.clear()
    _kernels.clear()
    _times.host_seconds = 0.0
    plans.clear()  # which hold them


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


def compile_and_wait(wanted: list[Kernel]) -> None:
    """Have kernels compiled, together, where they are not yet, and loaded."""
    waiting = [k for k in wanted if k.state not in ("ready", "failed")]
    if not waiting:
        return
    for k in waiting:
        k.begin()  # all, before waiting for the first: they are compiled together
    with _progress(sum(k.state == "compiling" for k in dict.fromkeys(waiting))):
        for k in waiting:
            k.wait()


def _progress(n: int) -> Any:
    if not n or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"nabla_array: MAX compiles {n} program{'s' * (n > 1)}")


at_fork(after_in_child=begin_anew)
