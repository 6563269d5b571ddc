"""`python -m nabla_array cache`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("max")

from nabla_array.__main__ import main
from nabla_array._lazy.config import config
from nabla_array._lazy.max.artifacts import Store

ROOT = Path(__file__).parents[1]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "cache")
    path = store.temporary()
    path.write_bytes(bytes(2_000_000))
    store.add(["a", "b"], path)
    store.add_failure("[bold]c", "no such operation", 2)
    store.add_failure("d", "only once")
    return store


def words(text: str) -> str:
    return re.sub(r"[│\s]+", " ", text)


def test_info_says_what_is_there(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    with config(cache_dir=str(store.folder), cache_size=7):
        assert main(["cache", "info"]) == 0
    said = words(capsys.readouterr().out)
    assert "size 2.0 of 7 MB" in said
    assert "programs 2 " in said
    assert "failing 1 " in said
    assert "[bold]c: no such operation" in said
    assert "only once" not in said


def test_clear_deletes_it(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    with config(cache_dir=str(store.folder)):
        assert main(["cache", "clear"]) == 0
        assert "2.0 MB deleted" in capsys.readouterr().out
        assert main(["cache", "info"]) == 0
        assert "programs 0 " in words(capsys.readouterr().out)
    assert list(store.folder.iterdir()) == []


@pytest.mark.parametrize("action", ["info", "clear"])
def test_a_refused_folder_is_said(action: str, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.folder.chmod(0o777)
    with config(cache_dir=str(store.folder), cache_size=8):
        assert main(["cache", action]) == 1
    assert "can be written to by others" in words(capsys.readouterr().out)


def warm(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "nabla_array", "cache", "warm", *arguments],
        env={**os.environ, "NABLA_ARRAY_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_warm_runs_a_script_as_python_would(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("x = 'imported'")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, beside, nabla_array\n"
        "print(__name__, sys.argv[1:], beside.x, nabla_array.config.mode)\n"
        "sys.exit(5)\n"
    )
    done = warm(tmp_path / "cache", str(script), "--x", "3")
    lines = done.stdout.splitlines()
    assert lines[0] == "__main__ ['--x', '3'] imported auto"
    assert lines[1] == f"0 compiled, 0 found in {tmp_path / 'cache'}"
    assert done.returncode == 5
    assert not done.stderr


def test_warm_without_a_script(tmp_path: Path) -> None:
    done = warm(tmp_path / "cache", str(tmp_path / "none.py"))
    assert f"cache warm: there is no script {tmp_path / 'none.py'}" in done.stdout
    assert done.returncode == 2


WITH_NUMPY = """
import sys
from nabla_array.__main__ import main
from tests.lazy import numpy_worker
numpy_worker.install()
sys.exit(main(["cache", "warm", *sys.argv[1:]]))
"""


def test_warm_compiles_all_of_a_script_together(tmp_path: Path) -> None:
    script, cache, log = tmp_path / "script.py", tmp_path / "cache", tmp_path / "batches"
    script.write_text(
        "import nabla_array as xp\n"
        "x = xp.eval(xp.linspace(0.0, 1.0, 1 << 19))\n"
        "for f in (xp.sqrt, xp.square):\n"
        "    assert float((f(x) * 2.0 + x)[-1]) == 3.0\n"
    )
    environment = {
        **os.environ,
        "NABLA_ARRAY_CACHE_DIR": str(cache),
        "FAKE_LOG": str(log),
        "PYTHONPATH": str(ROOT),
    }

    def said(**more: str) -> list[str]:
        command = [sys.executable, "-c", WITH_NUMPY, str(script)]
        done = subprocess.run(
            command, env={**environment, **more}, capture_output=True, text=True, check=False
        )
        assert not done.stderr
        return [str(done.returncode), *done.stdout.splitlines()]

    failed, *lines = said(FAULT="fail")
    assert failed == "1"
    assert lines[0] == f"0 compiled, 0 found in {cache}"
    assert sorted(lines[1:]) == [
        f"{f} mul add on float64: ValueError: no such operation" for f in ("sqrt", "square")
    ]
    shutil.rmtree(cache)
    log.unlink()
    assert said() == ["0", f"2 compiled, 0 found in {cache}"]
    assert len(log.read_text().splitlines()) == 1
    assert said() == ["0", f"0 compiled, 2 found in {cache}"]
