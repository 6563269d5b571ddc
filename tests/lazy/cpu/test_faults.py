"""A user's program in `auto` mode while something is broken: its results are right, and `report` says why.

NumPy stands in MAX's place (see `numpy_worker`), everything else is real: processes, files, disks.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("max")

from ..max.compiling import ROOT, SOON, pids, running, until
from ..max.filling import small_disk

pytestmark = pytest.mark.slow

# Goes on until nothing more will happen, and checks every result.
PROGRAM = """
import json, sys, time
import numpy as np
import nabla_array as xp
from tests.lazy import numpy_worker
numpy_worker.install({load})
values = np.linspace(0.1, 2.0, 400_000)
wanted = np.sqrt(values * 2.0) + values
x = xp.asarray(values)
passing = ("host: looked", "host: compiled after", "host: being compiled", "compiled, to be tried")
end = time.monotonic() + 60
while time.monotonic() < end:
    np.testing.assert_allclose(np.asarray(xp.sqrt(x * 2.0) + x), wanted, rtol=1e-14)
    report = xp.report()
    (kernel,) = report.kernels
    if not kernel.where.startswith(passing) and (kernel.where != "MAX" or kernel.hits):
        break
    time.sleep(0.005)
assert all(text in str(report) for text in (kernel.where, *report.problems))
print(json.dumps([kernel.where, min(report.compiled, 1), report.problems]))
"""


class Outcome(NamedTuple):
    """Where the program ended up, 1 if MAX ran it (or 0), and what `report` calls problems."""

    where: str
    compiled: int
    problems: list[str]


class User:
    """A process of somebody's; `outcome` waits for its end, which must be a good one."""

    def __init__(self, cache: Path, code: str, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-X", "dev", "-W", "error", "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "FAKE_LOG": str(cache.with_name("batches")),
                "NABLA_ARRAY_CACHE_DIR": str(cache),
                "NABLA_ARRAY_MODE": "auto",
                "NABLA_ARRAY_COMPILE_AFTER": "0",
                **environment,
            },
        )

    def outcome(self) -> Outcome:
        out, errors = self._process.communicate(timeout=SOON)
        assert not errors
        assert self._process.returncode == 0
        return Outcome(*json.loads(out))


def user(cache: Path, *, load: bool = True, **environment: str) -> User:
    return User(cache, PROGRAM.format(load=load), **environment)


def outcome(cache: Path, **environment: Any) -> Outcome:
    return user(cache, **environment).outcome()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that has what the program needs; its log says so."""
    folder = tmp_path_factory.mktemp("filled") / "cache"
    assert outcome(folder) == ("MAX", 1, [])
    assert until(lambda: not running(pids(folder.with_name("batches"))[0]))
    return folder


@pytest.fixture
def warm(cache: Path, filled: Path) -> Path:
    """Return a cache like that to break."""
    shutil.copytree(filled, cache)
    return cache


def compilations(cache: Path) -> int:
    log = cache.with_name("batches")
    return len(pids(log)) if log.exists() else 0


def test_without_a_fault(warm: Path) -> None:
    assert outcome(warm) == ("MAX", 1, [])
    assert compilations(warm) == 0


# The worker.


@pytest.mark.parametrize("fault", ["kill_once", "exit_once", "fail_once"])
def test_a_worker_that_dies_once(fault: str, cache: Path) -> None:
    found = outcome(cache, FAULT=fault)
    assert found.where == "MAX"
    assert found.problems == []


def test_a_worker_killed_from_outside(cache: Path) -> None:
    unaware = user(cache, FAULT="hang_once")
    assert until(cache.with_name("hang_once:.once").exists)
    os.kill(pids(cache.with_name("batches"))[0], signal.SIGKILL)
    assert unaware.outcome().where == "MAX"
    assert compilations(cache) == 2


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("kill", "the worker was ended by signal 9"),
        ("abort", "the worker was ended by signal 6"),
        ("fail", "ValueError: no such operation"),
        ("garbage", "which is no answer"),
    ],
)
def test_a_worker_that_always_dies(fault: str, message: str, cache: Path) -> None:
    found = outcome(cache, FAULT=fault)
    assert found.where.startswith("host: ")
    assert message in found.where
    assert found.compiled == 0
    assert found.problems == []
    # The next process knows, and starts no worker.
    before = compilations(cache)
    assert message in outcome(cache, FAULT="ok").where
    assert compilations(cache) == before


def test_a_worker_that_hangs(cache: Path) -> None:
    found = outcome(cache, FAULT="hang", NABLA_ARRAY_COMPILE_TIMEOUT="1")
    assert "the worker did not answer within 1 s" in found.where
    # On a busy machine that is no reason never to try again.
    assert outcome(cache, FAULT="ok").where == "MAX"


# The cache.


def damaged(text: bytes, how: str) -> bytes:
    rng = random.Random(how)
    if how == "truncated":
        return text[: rng.randrange(len(text))]
    if how == "foreign":
        return rng.randbytes(len(text))
    k = rng.randrange(len(text))
    return text[:k] + bytes([text[k] ^ (1 << rng.randrange(8))]) + text[k + 1 :]


@pytest.mark.parametrize("how", ["one bit", "truncated", "foreign"])
@pytest.mark.parametrize("kind", ["mef", "json"])
def test_a_damaged_file_is_compiled_again(kind: str, how: str, warm: Path) -> None:
    (path,) = warm.glob(f"*.{kind}")
    path.write_bytes(damaged(path.read_bytes(), how))
    found = outcome(warm)
    assert found.where == "MAX"
    (problem,) = found.problems
    assert problem.startswith(f"dropped {path} from the cache: ")
    assert compilations(warm) == 1


@pytest.mark.parametrize("kind", ["mef", "json"])
def test_a_file_that_others_can_write_to(kind: str, warm: Path) -> None:
    (path,) = warm.glob(f"*.{kind}")
    path.chmod(0o666)
    found = outcome(warm)
    assert found.where == "MAX"
    (problem,) = found.problems
    assert "can be written to by others, who could put native code there" in problem
    assert compilations(warm) == 1


def test_a_folder_that_others_can_write_to(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    cache.chmod(0o777)
    found = outcome(cache)
    assert "the cache of compiled programs is off" in found.where
    assert any("can be written to by others" in problem for problem in found.problems)


def test_a_file_in_the_place_of_the_folder(cache: Path) -> None:
    cache.touch()
    found = outcome(cache)
    assert "the cache of compiled programs is off" in found.where
    assert any("cannot be made" in problem for problem in found.problems)


def test_a_folder_that_is_gone_meanwhile(cache: Path) -> None:
    found = outcome(cache, FAULT="gone")
    assert f"cannot write to the cache {cache}" in found.where
    assert len(found.problems) == 1
    assert outcome(cache).where == "MAX"


def forbid_writing(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


def test_a_read_only_folder(cache: Path) -> None:
    with small_disk(cache):
        forbid_writing(cache)
        found = outcome(cache)
    assert found.where.startswith("host: nothing is compiled")
    assert any("Read-only file system" in problem for problem in found.problems)


def test_a_read_only_folder_that_has_everything(cache: Path, filled: Path) -> None:
    with small_disk(cache):
        shutil.copytree(filled, cache, dirs_exist_ok=True)
        forbid_writing(cache)
        assert outcome(cache) == ("MAX", 1, [])


def test_a_full_disk(cache: Path) -> None:
    with small_disk(cache):
        (cache / "much").write_bytes(bytes(os.statvfs(cache).f_bavail * os.statvfs(cache).f_frsize))
        found = outcome(cache)
    assert found.where.startswith("host: nothing is compiled")
    assert any("No space left on device" in problem for problem in found.problems)


def test_a_full_disk_simulated(cache: Path) -> None:
    # The same where no disk can be mounted.
    found = outcome(cache, FAULT="full")
    assert found.where.startswith("host: nothing is compiled")
    assert any("No space left on device" in problem for problem in found.problems)
    assert outcome(cache).where == "MAX"


# Several processes.


def test_processes_race(cache: Path) -> None:
    racing = [user(cache) for _ in range(3)]
    assert [each.outcome() for each in racing] == [("MAX", 1, [])] * 3


def test_a_race_against_whoever_clears_the_cache(cache: Path) -> None:
    unaware = user(cache)
    clear = [sys.executable, "-m", "nabla_array", "cache", "clear"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NABLA_ARRAY_CACHE_DIR": str(cache)}
    for _ in range(3):
        subprocess.run(clear, env=environment, check=True, capture_output=True)
    unaware.outcome()  # wherever it ran, the results were right


# MAX.

BLOCKED = """
import sys
from importlib.abc import MetaPathFinder
class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "max":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
"""


def test_max_is_not_installed(cache: Path) -> None:
    found = User(cache, BLOCKED + PROGRAM.format(load=False)).outcome()
    said = "nothing is compiled: MAX is not installed; `pip install max` installs it"
    assert found == (f"host: {said}", 0, [said])


@pytest.fixture
def broken_max(tmp_path: Path) -> dict[str, str]:
    """Return the environment in which MAX does not import."""
    engine = tmp_path / "broken" / "max" / "engine"
    engine.mkdir(parents=True)
    for folder in (engine, engine.parent):
        (folder / "__init__.py").write_text("raise ImportError('libmax.so: cannot open shared object file')")
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path / "broken"), str(ROOT)])}


def test_max_does_not_import_in_the_worker(cache: Path, broken_max: dict[str, str]) -> None:
    found = outcome(cache, FAULT="import", **broken_max)
    assert "MAX cannot be used: ImportError: libmax.so" in found.where
    assert any("libmax.so" in problem for problem in found.problems)


def test_max_does_not_import_where_everything_is_compiled(warm: Path, broken_max: dict[str, str]) -> None:
    found = outcome(warm, load=False, **broken_max)
    assert found.where == "host: cannot be loaded: libmax.so: cannot open shared object file"
    assert found.compiled == 0


def test_a_report_while_the_cache_is_being_imported(warm: Path) -> None:
    late = """
        import builtins, time
        imported = builtins.__import__
        def slowly(name, *args, **kwargs):
            if name == "importlib.metadata":  # the cache's module imports it
                time.sleep(0.2)
            return imported(name, *args, **kwargs)
        builtins.__import__ = slowly
        """
    assert User(warm, textwrap.dedent(late) + PROGRAM.format(load=True)).outcome() == ("MAX", 1, [])
