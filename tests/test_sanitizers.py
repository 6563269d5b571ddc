"""The compiled module under gcc's address and undefined-behaviour sanitizers: `tests/sanitized.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests import sanitized

Python = Callable[..., "subprocess.CompletedProcess[str]"]
JOBS = (
    (
        "-m",
        "pytest",
        "-q",
        "tests/namespace/dispatch/test_loops.py",
        "-k",
        "not fork and not fuzz and not random",
    ),
    ("-m", "pytest", "-q", "tests/namespace/core/test_masks.py", "tests/namespace/core/test_indexing.py"),
    ("-m", "pytest", "-q", "tests/namespace/dispatch/test_eager.py", "tests/namespace/core/test_views.py"),
    ("-m", "pytest", "-q", "tests/lazy/cpu/test_kernels.py", "-k", "repeats or lie or joined"),
    (
        "-m",
        "pytest",
        "-q",
        "tests/namespace/dispatch/test_odd_objects.py",
        "-k",
        "key or bound or list or mask or in_place",
    ),
    ("-m", "benchmarks", "fuzz-numpy", "--programs", "300", "--seed", "31"),
    ("-m", "benchmarks", "fuzz-objects", "--calls", "400", "--seed", "31"),
)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Python:
    """Return what runs Python with arguments, where the module is sanitized."""
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("this is under the sanitizers already")
    folder = tmp_path_factory.mktemp("sanitized")
    try:
        environment = sanitized.make(folder)
    except sanitized.Unavailable as error:
        pytest.skip(str(error))

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *args]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    return run


def test_what_is_wrong_is_found(python: Python) -> None:
    program = "import ctypes, nabla_array; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p; "
    done = python("-c", program + "ctypes.memset(c.malloc(8), 0, 9)")
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr


@pytest.mark.parametrize("job", JOBS, ids=" ".join)
def test_nothing_is_reported(python: Python, job: tuple[str, ...]) -> None:
    done = python(*job)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "runtime error" not in done.stderr
