"""The compiled module under gcc's sanitizers: `tests/sanitized.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import sanitized

pytestmark = pytest.mark.slow

Python = Callable[..., "subprocess.CompletedProcess[str]"]
PYTEST = ("-m", "pytest", "-q", "--hypothesis-profile=few")
PLAIN = (
    *("tests/namespace/core/test_masks.py", "tests/namespace/core/test_indexing.py"),
    *("tests/namespace/dispatch/test_eager.py", "tests/namespace/core/test_views.py"),
    *("tests/namespace/dispatch/test_writing.py", "tests/lazy/native/test_tapes.py"),
    *("tests/transforms/test_pytree.py", "tests/namespace/numpy/test_errors.py"),
)
JOBS = (
    (*PYTEST, "tests/namespace/dispatch/test_loops.py", "-k", "not fork and not fuzz and not random"),
    (*PYTEST, *PLAIN),
    (*PYTEST, "tests/lazy/cpu/test_kernels.py", "-k", "repeats or lie or joined"),
    (
        *(*PYTEST, "tests/namespace/dispatch/test_odd_objects.py", "-k"),
        "key or bound or list or mask or in_place",
    ),
    ("-m", "benchmarks", "fuzz-numpy", "--programs", "300", "--seed", "31"),
    ("-m", "benchmarks", "fuzz-objects", "--calls", "400", "--seed", "31"),
)


# Those that evaluate in threads. What a sanitizer writes as the process ends must not be captured.
THREADED_JOBS = (
    ("-m", "pytest", "-q", "--capture=sys", "tests/threads/test_claims.py", "-k", "not fork"),
    ("-m", "pytest", "-q", "--capture=sys", "tests/threads/test_meshes.py"),
    ("-m", "benchmarks", "fuzz-threads", "--programs", "8", "--seed", "31"),
)
# Two threads that write to the same memory.
RACE = """
import ctypes, threading, nabla_array
memory = ctypes.create_string_buffer(1 << 20)
both = threading.Barrier(2)  # Python's lock puts in order what does not overlap
write = lambda: [both.wait()] + [ctypes.memset(memory, k % 256, 1 << 20) for k in range(300)]
threads = [threading.Thread(target=write) for _ in range(2)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def _python(folder: Path, sanitizer: str) -> Python:
    if "san.so" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("this is under the sanitizers already")
    try:
        environment = sanitized.make(folder, sanitizer)
    except sanitized.Unavailable as error:
        pytest.skip(str(error))

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *args]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    return run


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Python:
    """Return what runs Python with arguments, where the module is compiled for the address sanitizer."""
    return _python(tmp_path_factory.mktemp("sanitized"), "address")


@pytest.fixture(scope="module")
def threaded(tmp_path_factory: pytest.TempPathFactory) -> Python:
    """Return the same for the thread sanitizer."""
    return _python(tmp_path_factory.mktemp("threaded"), "thread")


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


def test_races_are_found(threaded: Python) -> None:
    done = threaded("-c", RACE)
    assert done.returncode != 0
    assert "ThreadSanitizer: data race" in done.stderr


@pytest.mark.parametrize("job", THREADED_JOBS, ids=" ".join)
def test_no_race_is_reported(threaded: Python, job: tuple[str, ...]) -> None:
    done = threaded(*job)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
