"""Which tier runs what: when something is compiled, tried, used, and given up."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from _thread import get_ident
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.max import backend, trials
from nabla_array._lazy.max.canonical import parse
from nabla_array._lazy.run import tiers

from ..canonical_host import Compiler, execute, numpy_as_max

N = 1 << 17
X = np.linspace(0.1, 2.0, N)


def work(x: Array) -> Array:
    return xp.sqrt(x * 2.0) + x


def slowly(key: str, *inputs: np.ndarray) -> list[np.ndarray]:
    time.sleep(0.05)
    return execute(key, *inputs)


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Put a clock in the place of the trials' that goes where a test says so: this machine may be busy."""
    clock: defaultdict[int, float] = defaultdict(float)  # of each thread

    def seconds() -> float:
        clock[get_ident()] += 1e-6
        return clock[get_ident()]

    def take(seconds: float) -> None:
        clock[get_ident()] += seconds

    monkeypatch.setattr(tiers, "perf_counter", seconds)
    return take


@pytest.fixture
def slow_host(monkeypatch: pytest.MonkeyPatch, takes: Callable[[float], None]) -> None:
    """Make the host lose every trial."""
    on_host = tiers.Runner.on_host

    def late(self: tiers.Runner, ins: list[object]) -> list[object]:
        takes(0.05)
        return on_host(self, ins)

    monkeypatch.setattr(tiers.Runner, "on_host", late)


@pytest.fixture
def fake() -> Iterator[Compiler]:
    with numpy_as_max() as compiler, xp.config(mode="auto", compile_after=0.0):
        yield compiler


def run(times: int, n: int = N) -> None:
    for _ in range(times):
        x = np.resize(X, n)
        np.testing.assert_array_equal(np.asarray(work(xp.asarray(x))), np.sqrt(x * 2.0) + x)


def kernel() -> trials.Kernel:
    (found,) = trials.kernels()
    return found


@pytest.mark.usefixtures("slow_host")
def test_a_hot_region_moves_to_max(fake: Compiler) -> None:
    run(1)
    assert kernel().state == "cold"  # looked for, not found
    run(1)
    assert kernel().state == "compiling"
    run(1)
    assert (kernel().state, kernel().hits) == ("ready", 0)
    run(2)
    assert set(kernel().faster.values()) == {True}
    assert kernel().status() == "MAX"
    before = kernel().hits
    run(3)
    assert kernel().hits == before + 3
    assert len(fake.requests) == 1
    assert "MAX" in str(xp.report())
    assert "compiled part of 3 operations: MAX" in str(xp.explain(work(xp.asarray(X))))


def test_nothing_is_compiled_before_it_is_worth_it(fake: Compiler) -> None:
    with xp.config(compile_after=1e9):
        run(2)
        kernel().spent(1000.0)
        run(2)
    assert not fake.requests
    assert "compiled after" in kernel().status()


def test_a_short_program_does_not_import_max(fake: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "max.engine", raising=False)
    xp.config.compile_after = 1.0
    run(2)
    assert kernel().state == "new"
    assert "too short" in kernel().status()
    kernel().spent(0.5)
    run(1)
    assert kernel().state == "cold"
    assert not fake.requests


def test_nothing_happens_in_host_mode(fake: Compiler) -> None:
    with xp.config(mode="host"):
        run(3)
    assert not trials.kernels()
    assert not fake.requests


@pytest.mark.usefixtures("slow_host")
def test_each_size_class_is_tried(fake: Compiler) -> None:
    run(9)
    tried = set(kernel().faster)
    run(6, 8 * N)
    assert len(kernel().faster) == len(tried) + 1
    assert len(fake.requests) == 1


def test_inputs_that_max_has_to_copy_are_tried_by_themselves(
    monkeypatch: pytest.MonkeyPatch, takes: Callable[[float], None], fake: Compiler
) -> None:
    on_host, on_max = tiers.Runner.on_host, tiers.Runner.on_max

    def hosts(self: tiers.Runner, ins: list[np.ndarray]) -> list[object]:
        takes(0.05)
        return on_host(self, ins)

    def maxs(self: tiers.Runner, ins: list[np.ndarray]) -> list[object]:
        takes(0.01 if ins[0].flags.c_contiguous else 0.2)
        return on_max(self, ins)

    monkeypatch.setattr(tiers.Runner, "on_host", hosts)
    monkeypatch.setattr(tiers.Runner, "on_max", maxs)
    spread = np.repeat(X, 2)[::2]

    def run(times: int, x: np.ndarray) -> None:
        for _ in range(times):
            np.testing.assert_array_equal(np.asarray(work(xp.asarray(x, copy=False))), np.sqrt(x * 2.0) + x)

    run(9, X)
    (size,) = kernel().faster
    run(9, spread)
    assert kernel().faster == {size: True, -size: False}
    hits = kernel().hits
    run(3, spread)
    assert kernel().hits == hits
    assert len(fake.requests) == 1


@pytest.mark.usefixtures("slow_host")
def test_what_was_tried_before_is_trusted_at_once(fake: Compiler) -> None:
    run(9)
    trials.begin_anew()  # as in a new process
    run(1)
    run(1)
    assert kernel().hits == 1
    assert kernel().host_seconds < 1  # the first run alone was the host's


def test_the_loser_is_not_used_again() -> None:
    with numpy_as_max(slowly), xp.config(mode="auto", compile_after=0.0):
        run(5)
        hits = kernel().hits
        assert set(kernel().faster.values()) == {False}
        run(3)
        assert kernel().hits == hits
        assert "not faster" in kernel().status()


@pytest.mark.parametrize(("seconds", "tier"), [(0.02, "MAX"), (0.06, "host")])
def test_one_slow_run_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, takes: Callable[[float], None], seconds: float, tier: str
) -> None:
    """The host takes 40 ms and MAX so many seconds, but for one run of each that something else held up."""
    on_host, delays = tiers.Runner.on_host, {"host": iter([0.04, 0.3]), "MAX": iter([0.3, seconds, 0.15])}

    def late(self: tiers.Runner, ins: list[object]) -> list[object]:
        takes(next(delays["host"], 0.04))
        return on_host(self, ins)

    def late_max(key: str, *inputs: np.ndarray) -> list[np.ndarray]:
        takes(next(delays["MAX"], seconds))
        return execute(key, *inputs)

    monkeypatch.setattr(tiers.Runner, "on_host", late)
    with numpy_as_max(late_max), xp.config(mode="auto", compile_after=0.0):
        run(3)
        assert kernel().status() == "compiled, to be tried on MAX"
        run(5)
        assert not kernel().faster
        run(1)
        assert not kernel().trials
        assert kernel().status().startswith(tier)


@pytest.mark.usefixtures("slow_host")
def test_a_loser_has_another_chance(takes: Callable[[float], None]) -> None:
    busy = [True]

    def at_first_slowly(key: str, *inputs: np.ndarray) -> list[np.ndarray]:
        takes(0.3 if busy else 0)
        return execute(key, *inputs)

    with numpy_as_max(at_first_slowly), xp.config(mode="auto", compile_after=0.0):
        run(5)
        assert "not faster" in kernel().status()
        busy.clear()
        hits = kernel().hits
        trials.begin_anew()  # in a new process neither before it has run for long
        run(3)
        assert "not faster" in kernel().status()
        assert kernel().hits == 0 < hits
        kernel().host_seconds += 10.0
        run(2)
        assert kernel().status() == "MAX"


@pytest.mark.usefixtures("slow_host")
@pytest.mark.parametrize("wrong", [np.nan, -1.0, 1e-3])
def test_a_wrong_result_never_gets_out(wrong: float) -> None:
    def wrongly(key: str, *inputs: np.ndarray) -> list[np.ndarray]:
        (out,) = execute(key, *inputs)
        out.flat[7] += wrong
        return [out]

    with numpy_as_max(wrongly), xp.config(mode="auto", compile_after=0.0):
        run(6)
        assert kernel().state == "failed"
        assert "differ" in kernel().status()
        assert "differ" in str(xp.report())
        trials.begin_anew()  # as in a new process: it knows, whatever the size
        run(3, 8 * N)
        assert "differ" in kernel().status()
        assert kernel().max_seconds == 0


@pytest.mark.usefixtures("slow_host")
def test_the_last_bits_may_differ() -> None:
    def roughly(key: str, *inputs: np.ndarray) -> list[np.ndarray]:
        return [out * (1 + 1e-15) for out in execute(key, *inputs)]

    with numpy_as_max(roughly), xp.config(mode="auto", compile_after=0.0):
        for _ in range(6):
            got = np.asarray(work(xp.asarray(X)))
            np.testing.assert_allclose(got, np.sqrt(X * 2.0) + X, rtol=1e-14)
        assert kernel().status() == "MAX"


@pytest.mark.parametrize("mode", ["auto", "max"])
def test_an_error_in_max_leaves_the_host(mode: str) -> None:
    def never(key: str, *inputs: np.ndarray) -> list[np.ndarray]:
        raise RuntimeError("out of luck")

    with numpy_as_max(never), xp.config(mode=mode, compile_after=0.0):
        run(6)
        assert kernel().status() == "host: cannot be run: out of luck"


@pytest.mark.parametrize("mode", ["auto", "max"])
def test_what_does_not_compile_stays_on_the_host(fake: Compiler, mode: str) -> None:
    fake.refused["all"] = "no such thing"
    with xp.config(mode=mode):
        run(4)
    assert kernel().status() == "host: no such thing"
    assert len(fake.requests) == 1


@pytest.mark.parametrize("mode", ["auto", "max"])
def test_what_does_not_load_stays_on_the_host(
    fake: Compiler, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str, mef: bytes, target: str) -> dict[str, object]:
        raise ImportError("no module named max")

    monkeypatch.setattr(backend, "load", broken)
    with xp.config(mode=mode):
        run(4)
    assert kernel().status() == "host: cannot be loaded: no module named max"


def test_max_mode_compiles_everything_and_waits(fake: Compiler) -> None:
    with xp.config(mode="max"):
        run(1, 3)
        assert kernel().hits == 1
        assert float(xp.asarray(2.0) * 3) == 6.0  # a single operation, too
    assert len(fake.requests) == 2


def test_max_runs_what_is_compiled_until_it_may_not(fake: Compiler) -> None:
    with xp.config(mode="max"):
        run(3)
        assert kernel().hits == 3
    with xp.config(mode="host"):
        run(1)
        assert kernel().hits == 3
    with tiers.gather() as keys:  # in the mode `max`, too
        run(1)
    assert len(keys) == 1
    assert kernel().hits == 3
    with xp.config(mode="max"):
        run(2)
        assert kernel().hits == 5
        assert kernel().model is not None
        kernel().fail("for another reason")
        run(1)
    assert kernel().hits == 5


def test_what_fails_at_last_is_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [3]

    def tired(key: str, *inputs: np.ndarray) -> list[np.ndarray]:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("no more")
        return execute(key, *inputs)

    with numpy_as_max(tired), xp.config(mode="max"):
        run(5)
        assert kernel().status() == "host: cannot be run: no more"


def test_what_is_repeated_goes_along_with_who_reads_it(fake: Compiler) -> None:
    """As elements in memory it would be as large as the result."""
    x = xp.asarray(np.ones((5000, 2)))
    with xp.config(mode="max"):
        xp.eval(xp.sum(xp.square(x[:, None, :] - xp.asarray(np.ones((8, 2)))[None]), axis=-1))
    (key,) = fake.requests
    assert (
        max(np.prod([n if isinstance(n, int) else 5000 for n in s]) for s, _ in parse(key).inputs) == 10_000
    )


def test_parts_around_host_calls(fake: Compiler) -> None:
    x = np.random.default_rng(0).standard_normal((6, 5))

    def mixed(ns: object, x: object) -> object:
        y = ns.sort(ns.exp(x) * 2.0, axis=0)  # type: ignore[attr-defined]
        return ns.sum(y @ ns.matrix_transpose(y) + 1.0, axis=1) - y[:, 0]  # type: ignore[attr-defined]

    with xp.config(mode="max"):
        y = mixed(xp, xp.asarray(x))
        text = str(xp.explain(y))
        got = np.asarray(y)
    np.testing.assert_allclose(got, mixed(np, x), rtol=1e-14)  # type: ignore[arg-type]
    assert len(fake.requests) == 2
    assert "call: host" in text


def test_an_error_on_the_host_beside_max_names_the_users_line(fake: Compiler) -> None:
    x, at = xp.asarray([1.0, 2.0]), xp.asarray([5, 6])
    with xp.config(mode="max"):
        y = xp.take(x * 2.0, at + 1) * 3.0
        with pytest.raises(IndexError, match=r"take \(called at .*test_tiers.py"):
            xp.eval(y)
        np.testing.assert_array_equal(np.asarray(x * 2.0), [2.0, 4.0])


def test_gathering_runs_on_the_host_and_prepares_together(fake: Compiler) -> None:
    with tiers.gather() as keys:
        run(1, 4)
        run(1, 5)  # the same text
        float(xp.asarray(1.0) + 1)
    assert not fake.requests
    assert len(keys) == 2
    prepared = trials.prepare(keys)
    assert sorted(fake.requests) == sorted(keys)
    assert all(k.state == "ready" and not k.hits for k in prepared)


@pytest.mark.usefixtures("slow_host")
def test_threads_share_kernels(fake: Compiler) -> None:
    errors = []

    def many() -> None:
        try:
            with xp.config(compile_after=0.0):
                run(5)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert kernel().hits
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("got", "wanted", "same"),
    [
        ([1.0, np.nan, np.inf], [1.0, np.nan, np.inf], True),
        ([1.0, np.nan, np.inf], [1.0, np.nan, -np.inf], False),
        ([1.0, 2.0, np.inf], [1.0, np.nan, np.inf], False),
        ([1.0, 1e-17, 2.0], [1.0, 0.0, 2.0], True),  # next to the others it is nothing
        ([1.0, 1e-3, 2.0], [1.0, 0.0, 2.0], False),
        ([], [], True),
    ],
)
def test_what_counts_as_the_same_result(got: list[float], wanted: list[float], same: bool) -> None:
    assert trials.agree(np.asarray(got), np.asarray(wanted)) is same
    assert not trials.agree(np.asarray(got, np.float32), np.asarray(wanted))


def test_recording_and_small_arrays_import_nothing_of_the_tier() -> None:
    code = """
import sys, nabla_array as xp
float(xp.sum(xp.asarray([1.0, 2.0]) * 3))
print([m for m in ("max", "subprocess", "nabla_array._lazy.max.backend") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_max_imported_in_the_background_leaves_quietly() -> None:
    pytest.importorskip("max", reason="MAX is not installed")
    code = (
        "import sys, threading\n"
        "from nabla_array._lazy.max import backend\n"
        "loader = threading.Thread(target=backend._import)\n"
        "loader.start(); loader.join()\n"
        "print('max.engine' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_does_not_wait_for_threads_of_max() -> None:
    pytest.importorskip("max", reason="MAX is not installed")
    code = """
        import os, warnings
        from nabla_array._lazy.max import backend
        warnings.simplefilter("ignore")  # a fork of a process with threads
        backend._session("")
        child = os.fork()
        if child == 0:
            try:
                backend.load("program", b"")
            except RuntimeError as error:
                raise SystemExit("forked" not in str(error))  # ends what there is of MAX
            os._exit(2)
        print(os.waitpid(child, 0)[1])
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == "0\n"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([], "MAX finds no accelerator"),
        (["gpu:1"], "MAX finds gpu:1"),
    ],
)
def test_a_device_that_cannot_be_used_is_told_with_what_there_is(
    monkeypatch: pytest.MonkeyPatch, found: list[str], told: str
) -> None:
    monkeypatch.setattr(backend, "accelerators", lambda: found)
    with pytest.raises(ValueError, match=rf"^ones: no device 'gpu:0' \({told}\); 'cpu' would work"):
        xp.ones(3, device="gpu:0")


def test_without_max_the_error_of_a_device_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> list[str]:
        raise ModuleNotFoundError("No module named 'max'")

    monkeypatch.setattr(backend, "accelerators", missing)
    with pytest.raises(ValueError, match=r"MAX cannot be imported: No module named 'max'"):
        xp.ones(3).to_device("gpu:0")


class _Model:
    """Stands for a model of MAX."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.seen: list[tuple[int, int]] = []

    def execute(self, *buffers: object) -> tuple[object, ...]:
        self.seen.append((threading.get_ident(), os.sched_getscheduler(0)))
        if self.errors:
            raise self.errors.pop()
        return buffers


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="this system has no such priority")
def test_threads_that_max_starts_in_its_first_execution_stand_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_has_executed", False)
    model = _Model(ValueError("out of luck"))
    with pytest.raises(ValueError, match="out of luck"):
        backend._execute(model, [])
    assert backend._execute(model, [1, 2]) == (1, 2)
    (first, aside), (second, usual) = model.seen
    assert first != second == threading.get_ident()
    assert usual == os.sched_getscheduler(0)
    idle = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))"
    allowed = not subprocess.run([sys.executable, "-c", idle], capture_output=True, check=False).returncode
    assert aside == (os.SCHED_IDLE if allowed else usual)
