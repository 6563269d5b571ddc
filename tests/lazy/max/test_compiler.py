"""Compilation in a worker process: what it does, and everything that can happen to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("max")

from nabla_array._lazy.config import config
from nabla_array._lazy.max import compiler as compiler_module
from nabla_array._lazy.max.artifacts import Artifact, Failure, Store
from nabla_array._lazy.max.compiler import Compiler, Pending

from .compiling import BACKEND, SOON, batches, pids, running, states, until

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


@pytest.mark.parametrize("how", [pytest.param("hang", marks=pytest.mark.slow), "closed"])
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
