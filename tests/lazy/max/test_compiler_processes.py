"""The compiler and the life of the user's process: its end, its forks, its folders."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytest.importorskip("max")

from nabla_array._lazy.config import config
from nabla_array._lazy.max import compiler as compiler_module
from nabla_array._lazy.max.artifacts import Store

from .compiling import SOON, batches, pids, running, until

pytestmark = pytest.mark.slow


def stored(store: Store, *keys: str) -> bool:
    """Say whether programs are in the folder: whatever the sources, which somebody may be editing now."""
    return set(keys) <= {entry.key for entry in store.entries() if entry.mef}


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
