"""Functions around forks, systems without forks, and forks while threads import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nabla_array._lazy.forks import at_fork


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_child_runs_what_was_registered() -> None:
    read, write = os.pipe()
    in_child = []
    at_fork(after_in_child=lambda: in_child.append(True))
    child = os.fork()
    if child == 0:
        os.write(write, b"ran" if in_child else b"did not")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 10) == b"ran"
    assert not in_child
    os.close(read)
    os.close(write)


def test_nothing_happens_where_there_are_no_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork", raising=False)
    at_fork(before=pytest.fail)


FORK = """
import os, signal, sys, threading, time
from nabla_array._lazy import forks

forks._PATIENCE = {patience}
sys.path.insert(0, {folder!r})
thread = threading.Thread(target=forks.late, args=("slow",))
thread.start()
while "slow" not in sys.modules:
    time.sleep(0.01)
start = time.monotonic()
pid = os.fork()
waited = time.monotonic() - start
if pid == 0:
    signal.alarm(20)
    os._exit(not forks.late({name!r}).done)
print(os.waitpid(pid, 0)[1], waited < 5, flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize(
    ("seconds", "patience", "name"),
    [(0.3, 20, "slow"), (60, 0.1, "quick")],
    ids=["the same module", "not for ever"],
)
def test_a_child_imports(tmp_path: Path, seconds: float, patience: float, name: str) -> None:
    (tmp_path / "slow.py").write_text(f"import time\ntime.sleep({seconds})\ndone = True\n")
    (tmp_path / "quick.py").write_text("done = True\n")
    code = FORK.format(folder=str(tmp_path), patience=patience, name=name)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.stdout == "0 True\n", run.stderr
