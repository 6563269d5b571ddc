"""Compilation in a worker process: what it does, and everything that can happen to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("max")

from nabla_array._lazy.config import config
from nabla_array._lazy.max import compiler as compiler_module
from nabla_array._lazy.max.artifacts import Artifact, Failure, Store
from nabla_array._lazy.max.compiler import Compiler, Pending

from .test_artifacts import small_disk

ROOT = Path(__file__).parents[3]
BACKEND = "tests.lazy.fake_backend"
# Seconds within which everything here happens, even on a busy machine.
SOON = 60.0


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file where the fake backend notes its batches."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "batches"))
    return tmp_path / "batches"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


@pytest.fixture
def make(store: Store) -> Iterator[Callable[..., Compiler]]:
    """Return what makes compilers, which are closed at the end."""
    made: list[Compiler] = []

    def new(backend: str = BACKEND, idle: float = 60.0, where: Store = store) -> Compiler:
        made.append(Compiler(where, backend, settle=0.05, idle=idle))
        made[-1]._starves = True  # as other tests run beside this one
        return made[-1]

    yield new
    # What a test leaves running ends here.
    for each in made:
        thread = each._thread
        each.close()
        if thread is not None:
            thread.join(SOON)
            assert not thread.is_alive()


@pytest.fixture
def compiler(make: Callable[..., Compiler], log: Path) -> Compiler:
    return make()


def batches(log: Path) -> list[list[str]]:
    return [json.loads(line)["keys"] for line in log.read_text().splitlines()] if log.exists() else []


def pids(log: Path) -> list[int]:
    return [json.loads(line)["pid"] for line in log.read_text().splitlines()]


def stored(store: Store, *keys: str) -> bool:
    """Say whether programs are in the folder: whatever the sources, which somebody may be editing now."""
    return set(keys) <= {entry.key for entry in store.entries() if entry.mef}


def states(pendings: list[Pending]) -> list[str]:
    for pending in pendings:
        assert pending.wait(SOON)
    return [pending.state for pending in pendings]


def until(condition: Callable[[], object], seconds: float = SOON) -> bool:
    """Wait until something holds; returns whether it does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


# When all goes well.


def test_what_waits_is_one_batch(compiler: Compiler, store: Store, log: Path) -> None:
    keys = [f"ok:{i}" for i in range(5)]
    start = time.perf_counter()
    pendings = [compiler.request(key) for key in keys]
    assert time.perf_counter() - start < 0.05
    assert {p.state for p in pendings} <= {"waiting"}
    assert states(pendings) == ["ready"] * 5
    assert batches(log) == [keys]
    for i, key in enumerate(keys):
        found = store.find(key)
        assert isinstance(found, Artifact)
        assert json.loads(found.mef)[int(found.graph[1:])] == keys[i]
    assert not store.problems


def test_a_batch_larger_than_a_pipe_holds(compiler: Compiler, log: Path) -> None:
    keys = [f"ok:{i}" + "x" * 20_000 for i in range(20)]
    assert states([compiler.request(key) for key in keys]) == ["ready"] * 20
    assert batches(log) == [keys]


def test_very_many_programs_are_several_batches(compiler: Compiler, log: Path) -> None:
    assert states([compiler.request(f"ok:{i}") for i in range(150)]) == ["ready"] * 150
    assert [len(batch) for batch in batches(log)] == [64, 64, 22]


def test_asking_twice_is_one_request(compiler: Compiler, log: Path) -> None:
    found: list[Pending] = []
    threads = [
        threading.Thread(target=lambda: found.append(compiler.request("slow_once:a"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    assert until(lambda: found[0].state == "compiling")
    assert compiler.request("slow_once:a") is found[0]
    assert not found[0].wait(0.01)
    assert states(found[:1]) == ["ready"]
    assert len(batches(log)) == 1


def test_what_another_process_compiled_meanwhile_is_not_compiled_again(
    compiler: Compiler, store: Store, log: Path
) -> None:
    path = store.temporary()
    store.add(["ok:a"], path)
    assert states([compiler.request("ok:a"), compiler.request("ok:b")]) == ["ready"] * 2
    assert batches(log) == [["ok:b"]]


def test_what_was_evicted_can_be_asked_for_again(compiler: Compiler, store: Store, log: Path) -> None:
    assert states([compiler.request("ok:a")]) == ["ready"]
    store.clear()
    assert states([compiler.request("ok:a")]) == ["ready"]
    assert isinstance(store.find("ok:a"), Artifact)
    assert len(batches(log)) == 2


def test_one_worker_serves_all_and_an_idle_one_is_let_go(make: Callable[..., Compiler], log: Path) -> None:
    compiler = make(idle=0.3)
    for i in range(3):
        assert states([compiler.request(f"ok:{i}")]) == ["ready"]
    (pid,) = set(pids(log))
    assert until(lambda: compiler._thread is None and not running(pid))
    assert states([compiler.request("ok:3")]) == ["ready"]
    assert pids(log)[-1] != pid


@pytest.mark.parametrize("starves", [False, True])
def test_the_worker_stands_aside(compiler: Compiler, log: Path, starves: bool) -> None:
    compiler._starves = starves
    assert states([compiler.request("inspect:a")]) == ["ready"]
    state = json.loads(log.with_name("state.json").read_text())
    assert state["nice"] == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 14)
    if state["policy"] is not None:
        idle = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))"
        allowed = (
            subprocess.run([sys.executable, "-c", idle], capture_output=True, check=False).returncode == 0
        )
        usual = os.sched_getscheduler(0)
        assert state["policy"] == (os.SCHED_IDLE if allowed and not starves else usual)
    assert state["group"] != os.getpgid(0)  # Ctrl-C is not for it
    assert state["main"] == "nabla_array._lazy.max.worker"
    assert state["mode"] == "host"
    assert state["input"] == ""


def test_the_worker_keeps_what_max_caches_for_itself(
    make: Callable[..., Compiler], store: Store, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MODULAR_CACHE_DIR", raising=False)
    assert states([make().request("inspect:a")]) == ["ready"]
    state = json.loads(log.with_name("state.json").read_text())
    assert state["cache"] == str(store.max_folder())
    assert state["umask"] == 0o077
    monkeypatch.setenv("MODULAR_CACHE_DIR", "/elsewhere")  # the user's word counts
    assert states([make().request("inspect:b")]) == ["ready"]
    assert json.loads(log.with_name("state.json").read_text())["cache"] == "/elsewhere"


def test_a_new_worker_deletes_what_a_killed_one_left(compiler: Compiler, store: Store) -> None:
    left = store.folder / "tmp-left"
    left.touch()
    os.utime(left, (0, 0))
    assert states([compiler.request("ok:a")]) == ["ready"]
    assert not left.exists()


def test_the_worker_hurries_where_somebody_waits(compiler: Compiler, log: Path) -> None:
    assert states([compiler.request("inspect:a", awaited=True)]) == ["ready"]
    state = json.loads(log.with_name("state.json").read_text())
    assert state["nice"] == os.getpriority(os.PRIO_PROCESS, 0)


# Programs that do not compile.


def test_a_bad_program_is_found_among_good_ones(compiler: Compiler, store: Store, log: Path) -> None:
    keys = [f"ok:{i}" for i in range(7)]
    keys.insert(5, "fail:a")
    pendings = [compiler.request(key) for key in keys]
    assert states(pendings) == ["failed" if key == "fail:a" else "ready" for key in keys]
    bad = pendings[5]
    assert bad.message == "ValueError: no such operation"
    assert store.find("fail:a") == Failure("ValueError: no such operation")
    assert all(isinstance(store.find(key), Artifact) for key in keys if key != "fail:a")
    assert len(batches(log)) == 7  # 8, 4 + 4, 2 + 2, 1 + 1
    assert len(set(pids(log))) == 1  # nothing died
    assert compiler.request("fail:a") is bad


def test_a_program_alone_is_tried_twice(compiler: Compiler, store: Store, log: Path) -> None:
    pendings = [compiler.request("fail:a")]
    assert states(pendings) == ["failed"]
    assert batches(log) == [["fail:a"]] * 2
    assert isinstance(store.find("fail:a"), Failure)


def test_a_program_may_fail_once(compiler: Compiler, store: Store) -> None:
    assert states([compiler.request("fail_once:a")]) == ["ready"]
    assert isinstance(store.find("fail_once:a"), Artifact)


def test_a_failure_of_the_last_process_counts(compiler: Compiler, store: Store, log: Path) -> None:
    store.add_failure("fail:a", "then")
    assert states([compiler.request("fail:a")]) == ["failed"]
    assert len(batches(log)) == 1


def test_a_program_that_needs_too_much_memory(compiler: Compiler, store: Store) -> None:
    pendings = [compiler.request("exhaust:a"), compiler.request("ok:b")]
    assert states(pendings) == ["failed", "ready"]
    assert pendings[0].message.startswith("MemoryError")
    assert isinstance(store.find("exhaust:a"), Failure)


def test_a_long_message_is_cut(compiler: Compiler) -> None:
    pending = compiler.request("recurse:a")
    assert states([pending]) == ["failed"]
    assert len(pending.message) <= 2000


# Workers that die, hang and talk nonsense.

DEATHS = {
    "kill": "ended by signal 9",
    "segfault": "ended by signal 11",
    "abort": "ended by signal 6",
    "exit": "exited with status 3",
    "leave": "exited with status 1",
    "garbage": "is no answer",
    "nested": "is no answer",
    "numbers": "is no answer",
    "twice": "answered twice",
    "flood": "has no end",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", DEATHS)
def test_a_program_that_is_the_end_of_workers(how: str, compiler: Compiler, store: Store, log: Path) -> None:
    keys = ["ok:1", f"{how}:a", "ok:2"]
    pendings = [compiler.request(key) for key in keys]
    assert states(pendings) == ["ready", "failed", "ready"]
    assert DEATHS[how] in pendings[1].message
    assert f"its log is {store.folder / 'worker.log'}" in pendings[1].message
    assert isinstance(store.find(keys[1]), Failure)
    assert isinstance(store.find("ok:1"), Artifact)
    assert until(lambda: sum(map(running, set(pids(log)))) <= 1)
    assert states([compiler.request("ok:3")]) == ["ready"]


@pytest.mark.parametrize("how", ["kill_once", "segfault_once", "exit_once", "garbage_once"])
def test_a_worker_may_die_once(how: str, compiler: Compiler, store: Store, log: Path) -> None:
    assert states([compiler.request(f"{how}:a"), compiler.request("ok:b")]) == ["ready"] * 2
    assert len(set(pids(log))) == 2
    assert not [e for e in store.entries() if e.failures]


def test_a_worker_killed_from_outside_in_the_middle(compiler: Compiler, store: Store, log: Path) -> None:
    pending = compiler.request("slow_once:a")
    assert until(lambda: batches(log))
    os.kill(pids(log)[0], signal.SIGKILL)
    assert states([pending]) == ["ready"]
    assert len(set(pids(log))) == 2
    assert isinstance(store.find("slow_once:a"), Artifact)


def test_an_idle_worker_that_was_killed_is_nobodys_fault(compiler: Compiler, store: Store, log: Path) -> None:
    assert states([compiler.request("ok:a")]) == ["ready"]
    (pid,) = pids(log)
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: not running(pid))
    assert states([compiler.request("ok:b")]) == ["ready"]
    assert not [e for e in store.entries() if e.failures]


@pytest.mark.parametrize("how", ["hang", "closed"])
def test_a_worker_that_hangs_is_killed(
    how: str, compiler: Compiler, store: Store, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_module, "_EXIT", 0.3)
    assert states([compiler.request("ok:a")]) == ["ready"]  # so that starting takes no time
    compiler._starves = how == "closed"
    with config(compile_timeout=3.0):
        pendings = [compiler.request(f"{how}:a"), compiler.request("ok:b")]
        assert states(pendings) == ["failed", "ready"]
    assert compiler._starves  # so the next worker stands less aside
    hung = how == "hang"
    assert ("did not answer within 3 s" if hung else "closed its pipes") in pendings[0].message
    # Slowness may be the machine's: it is forgotten with the process.
    assert isinstance(store.find(f"{how}:a"), type(None) if hung else Failure)
    assert until(lambda: sum(map(running, set(pids(log)))) <= 1)


def test_a_worker_that_hangs_gives_up_by_itself(store: Store, log: Path) -> None:
    # Its user was killed, and cannot kill it.
    code = "import nabla_array._lazy.max.worker as w; w._GRACE = 0.0; w.main()"
    arguments = ["--folder", str(store.folder), "--megabytes", "10", "--backend", BACKEND]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input='{"keys": ["hang:a"], "timeout": 0.5}\n',
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )
    assert done.returncode == 1
    assert "_hang" in done.stderr  # where it hung
    assert json.loads(done.stdout).keys() == {"toolchain"}


# Where nothing can be compiled at all.


def module(folder: Path, text: str) -> str:
    folder.joinpath("other_backend.py").write_text(textwrap.dedent(text))
    return "other_backend"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import os; os._exit(7)", "as it started, the worker exited with status 7"),
        ("import os, signal; os.kill(os.getpid(), 9)", "as it started, the worker was ended by signal 9"),
        ("raise ImportError('no CPU of mine')", "MAX cannot be used: ImportError: no CPU of mine"),
        ("1 / 0", "MAX cannot be used: ZeroDivisionError"),
        ("import nothing_of_that_name", "MAX cannot be used: ModuleNotFoundError"),
    ],
)
def test_a_worker_that_does_not_start(
    text: str,
    message: str,
    tmp_path: Path,
    store: Store,
    make: Callable[..., Compiler],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    compiler = make(module(tmp_path, text))
    pendings = [compiler.request(key) for key in "abc"]
    assert states(pendings) == ["failed"] * 3
    assert all(message in p.message for p in pendings)
    assert compiler.request("d").state == "failed"
    assert len(store.problems) == 1
    assert message in store.problems[0]
    assert store.entries() == []  # it is not the programs' fault


def test_a_worker_that_does_not_get_to_start_stands_less_aside(
    make: Callable[..., Compiler], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    compiler = make(module(tmp_path, "import time; time.sleep(60)"))
    compiler._starves = False
    with config(compile_timeout=0.5):
        (pending,) = pendings = [compiler.request("ok:a")]
        assert states(pendings) == ["failed"]
    assert "as it started, the worker did not answer" in pending.message
    assert compiler._starves


def test_a_worker_may_fail_to_start_once(
    tmp_path: Path, store: Store, make: Callable[..., Compiler], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    text = """
        import os
        from pathlib import Path

        flag = Path(__file__).with_name("started")
        if not flag.exists():
            flag.touch()
            os._exit(1)

        def compile_programs(keys, path):
            path.write_text("code")
        """
    assert states([make(module(tmp_path, text)).request("a")]) == ["ready"]
    assert not store.problems


def test_max_that_does_not_import(
    compiler: Compiler, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = tmp_path / "broken" / "max" / "engine"
    engine.mkdir(parents=True)
    (engine / "__init__.py").write_text("raise ImportError('libmax.so: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "broken"), str(ROOT)]))
    pending = compiler.request("import:a")
    assert states([pending]) == ["failed"]
    assert "MAX cannot be used: ImportError: libmax.so" in pending.message
    assert store.entries() == []
    assert len(store.problems) == 1


WITHOUT_MAX = """
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "max":
            {how}

sys.meta_path.insert(0, Blocked())
import subprocess
subprocess.Popen = None  # no process is started
from nabla_array._lazy.max.artifacts import Store
from nabla_array._lazy.max.compiler import Compiler
store = Store(Path(sys.argv[1]))
compiler = Compiler(store)
for key in "ab":
    pending = compiler.request(key)
    assert pending.wait(60)
    print(pending.state, pending.message)
print(store.problems, store.entries())
"""


@pytest.mark.parametrize(
    "how",
    [
        "raise ModuleNotFoundError(name)",
        # somebody's own module of that name
        "from importlib.util import spec_from_loader; return spec_from_loader(name, None)",
    ],
)
def test_without_max_no_worker_is_started(how: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MAX.format(how=how), str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )
    said = "nothing is compiled: MAX is not installed; `pip install max` installs it"
    assert done.stdout.splitlines() == [f"failed {said}"] * 2 + [f"['{said}'] []"], done.stderr
    assert not done.stderr


def test_a_frozen_application_is_not_started_again(
    compiler: Compiler, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    pending = compiler.request("ok:a")
    assert states([pending]) == ["failed"]
    assert "there is no Python interpreter to start a worker with" in pending.message
    assert batches(log) == []


def test_an_interpreter_that_cannot_be_started(
    compiler: Compiler, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    pending = compiler.request("ok:a")
    assert states([pending]) == ["failed"]
    assert "No such file or directory: '/no/such/python'" in pending.message
    assert len(store.problems) == 1


def test_sources_that_changed_under_a_running_process(
    compiler: Compiler, store: Store, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_module, "toolchain", lambda: "max 1.0")
    pending = compiler.request("ok:a")
    assert states([pending]) == ["failed"]
    assert "the worker has another toolchain" in pending.message
    assert batches(log) == []


def test_a_store_that_is_off(tmp_path: Path, make: Callable[..., Compiler], log: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file")
    compiler = make(where=store)
    pending = compiler.request("ok:a")
    assert states([pending]) == ["failed"]
    assert store.off in pending.message
    assert batches(log) == []


def test_a_full_disk_is_not_the_programs_fault(
    tmp_path: Path, make: Callable[..., Compiler], log: Path
) -> None:
    folder = tmp_path / "disk"
    with small_disk(folder):
        store = Store(folder)
        assert not store.off
        compiler = make(where=store)
        rest = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        (folder / "other people's data").write_bytes(bytes(rest))
        pendings = [compiler.request("ok:a"), compiler.request("ok:b")]
        assert states(pendings) == ["failed"] * 2
        assert f"the disk of {folder} has 0 MB left: OSError" in pendings[0].message
        assert len(store.problems) == 1
        assert store.entries() == []
        assert until(lambda: not running(pids(log)[0]))


def test_a_folder_that_becomes_a_file(compiler: Compiler, store: Store, log: Path) -> None:
    # As a read-only one, and true for root too.
    assert states([compiler.request("ok:a")]) == ["ready"]
    store.clear()
    (store.folder).rename(store.folder.with_name("gone"))
    store.folder.touch()
    pending = compiler.request("ok:b")
    assert states([pending]) == ["failed"]
    assert f"cannot write to the cache {store.folder}" in pending.message


def test_an_unexpected_error_of_ours_is_told_not_raised(
    compiler: Compiler, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(batch: list[Pending]) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(compiler, "_compile", wrong)
    pending = compiler.request("ok:a")
    assert states([pending]) == ["failed"]
    assert store.problems == ["nothing is compiled: KeyError('a bug')"]


def test_no_thread_can_be_started(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", full)
    pending = compiler.request("ok:a")
    assert pending.state == "failed"
    assert "can't start new thread" in pending.message


# The life of the user's process.

PROGRAM = """
import os, sys, time
from pathlib import Path
from nabla_array._lazy.max.compiler import Compiler, default_compiler
Compiler.__init__.__defaults__ = ("tests.lazy.fake_backend", 0.05, 60.0)

def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
"""


def program(code: str, store: Store, *flags: str) -> subprocess.Popen:
    environment = {**os.environ, "NABLA_ARRAY_CACHE_DIR": str(store.folder)}
    return subprocess.Popen(
        [sys.executable, *flags, "-c", PROGRAM + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


@pytest.mark.parametrize("when", ["waiting", "compiling", "ready"])
def test_the_end_of_the_program_is_quick_and_quiet(when: str, store: Store, log: Path) -> None:
    code = f"""
        pending = default_compiler().request("slow:a")
        until(lambda: pending.state == "{when}")
        until(lambda: "{when}" == "waiting" or Path(os.environ["FAKE_LOG"]).exists())
        """
    running_program = program(code, store, "-X", "dev", "-W", "error")
    if when != "waiting":
        assert until(lambda: batches(log))
    start = time.monotonic()
    out, errors = running_program.communicate(timeout=SOON)
    assert (out, errors, running_program.returncode) == ("", "", 0)
    assert time.monotonic() - start < 10
    if when != "waiting":
        # The worker finishes what it is at, for the next process, and ends.
        assert until(lambda: stored(store, "slow:a"))
        assert until(lambda: not running(pids(log)[0]))


def test_a_killed_program_does_not_leave_a_worker_behind(store: Store, log: Path) -> None:
    user = program("default_compiler().request('slow:a').wait(); time.sleep(100)", store)
    assert until(lambda: batches(log))
    user.kill()
    user.communicate()
    assert until(lambda: not running(pids(log)[0]))
    assert stored(store, "slow:a")


def test_a_killed_program_without_work_lets_its_worker_go(store: Store, log: Path) -> None:
    user = program(
        "default_compiler().request('ok:a').wait(); print('ok', flush=True); time.sleep(100)", store
    )
    assert user.stdout is not None
    assert user.stdout.readline() == "ok\n"
    assert running(pids(log)[0])
    user.kill()
    user.communicate()
    assert until(lambda: not running(pids(log)[0]))


def test_a_forked_process_has_its_own_worker(store: Store, log: Path) -> None:
    code = """
        import warnings
        warnings.simplefilter("ignore")  # a fork of a process with threads
        compiler = default_compiler()
        assert compiler.request("ok:before").wait(60)
        under_way = compiler.request("slow:a")
        until(lambda: under_way.state == "compiling")
        pid = os.fork()
        if pid == 0:
            assert under_way.wait(60) and under_way.state == "ready"
            assert default_compiler().request("ok:child").wait(60)
            time.sleep(0.5)  # outlives its parent's work
            os._exit(0)
        assert under_way.wait(60) and under_way.state == "ready"
        assert default_compiler().request("ok:parent").wait(60)
        assert os.waitpid(pid, 0)[1] == 0
        """
    out, errors = (user := program(code, store)).communicate(timeout=SOON)
    assert (out, errors, user.returncode) == ("", "", 0)
    by_key = {key: pid for pid, keys in zip(pids(log), batches(log), strict=True) for key in keys}
    assert by_key["ok:before"] == by_key["ok:parent"] != by_key["ok:child"]
    assert until(lambda: not any(map(running, pids(log))))


def test_a_forked_process_does_not_keep_its_parents_worker(store: Store, log: Path) -> None:
    code = """
        import warnings
        warnings.simplefilter("ignore")
        assert default_compiler().request("ok:a").wait(60)
        if os.fork() == 0:
            os.close(1), os.close(2)
            time.sleep(20)
            os._exit(0)
        """
    user = program(code, store)
    user.communicate(timeout=SOON)
    assert until(lambda: not running(pids(log)[0]), 10)


def test_two_programs_that_want_the_same(store: Store, log: Path) -> None:
    code = """
        pendings = [default_compiler().request(f"slow_once:{i}") for i in range(3)]
        assert all(p.wait(60) for p in pendings)
        print(*[p.state for p in pendings])
        """
    users = [program(code, store) for _ in range(2)]
    for user in users:
        assert user.communicate(timeout=SOON) == ("ready ready ready\n", "")
    assert stored(store, "slow_once:0", "slow_once:1", "slow_once:2")


def test_the_users_script_is_not_run_again(store: Store, log: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        PROGRAM
        + textwrap.dedent("""
        print("side effect", flush=True)
        pending = default_compiler().request("ok:a")
        assert pending.wait(60)
        print(pending.state)
        """)
    )
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong module')")
    environment = {**os.environ, "NABLA_ARRAY_CACHE_DIR": str(store.folder)}
    done = subprocess.run(
        [sys.executable, "-P", str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("side effect\nready\n", "")


def test_another_cache_folder_is_another_compiler(tmp_path: Path) -> None:
    with config(cache_dir=str(tmp_path / "one")):
        first = compiler_module.default_compiler()
        assert compiler_module.default_compiler() is first
    with config(cache_dir=str(tmp_path / "two")):
        assert compiler_module.default_compiler().store.folder == tmp_path / "two"


def test_importing_the_package_imports_none_of_this() -> None:
    code = "import sys, nabla_array; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {f"nabla_array._lazy.{m}" for m in ("artifacts", "compiler", "worker")} & set(
        done.stdout.split()
    )


# With MAX itself.

WITH_MAX = """
import sys
import nabla_array as xp
from nabla_array._lazy.max.artifacts import default_store
x = xp.arange(1000.0)
y = x * 2 + x * x
assert float(y[7]) == 63.0
assert [float(v) for v in y] == [v * 2 + v * v for v in range(1000)]
store = default_store()
print(len(store.found), len(store.entries()), store.problems, "max.engine" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.xdist_group("max")
def test_max_compiles_once_for_all_processes(tmp_path: Path) -> None:
    environment = {**os.environ, "NABLA_ARRAY_CACHE_DIR": str(tmp_path / "cache"), "NABLA_ARRAY_MODE": "max"}
    seconds, modules = [], []
    for _ in range(2):
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", WITH_MAX], env=environment, capture_output=True, text=True, check=False
        )
        seconds.append(time.monotonic() - start)
        assert (done.stdout, done.stderr) == ("1 1 [] True\n", "")
        modules.append([path.name for path in (tmp_path / "cache").glob("*.mef")])
    assert modules[0] == modules[1]
    assert len(modules[0]) == 1
    assert seconds[1] < seconds[0] / 2
