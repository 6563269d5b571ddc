"""The same without what is compiled: Python's ways hold the lock themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nabla_array._lazy.native import compiled


@pytest.mark.slow
def test_all_of_it_without_the_compiled_module() -> None:
    if compiled is None:  # this is it
        return
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        str(Path(__file__).parent),
    ]
    env = {**os.environ, "NABLA_ARRAY_COMPILED": "0"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:]
