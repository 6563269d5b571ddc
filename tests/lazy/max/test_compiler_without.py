"""Where nothing can be compiled: workers that do not start, full disks, a MAX that does not import."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("max")

from nabla_array._lazy.config import config
from nabla_array._lazy.max import compiler as compiler_module
from nabla_array._lazy.max.artifacts import Store
from nabla_array._lazy.max.compiler import Compiler, Pending

from .compiling import ROOT, SOON, batches, pids, running, states, until
from .filling import small_disk


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
