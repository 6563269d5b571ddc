"""A process may fork while its threads import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

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
