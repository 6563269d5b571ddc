"""What compiles the native module where the package is built."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hatchling")
pytest.importorskip("setuptools")

from setuptools.command.build_ext import build_ext

from nabla_array._lazy.native import build as module
from nabla_array._lazy.native.build import FOLDER, CompileFast

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _able(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the hook find headers and a compiler, whatever this machine has; neither is used."""
    monkeypatch.setattr(module, "is_able", lambda: True)
    monkeypatch.setenv("CC", shlex.quote(sys.executable))


class Builder:
    """What the hook tells of a failure."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)


def build(root: Path, monkeypatch: pytest.MonkeyPatch, run: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the build data, and the warnings, of a build in which `run` is in the compiler's place."""
    monkeypatch.setattr(build_ext, "run", run)
    builder = Builder()
    hook: Any = CompileFast(str(root), {}, None, None, str(root), "wheel", builder)  # type: ignore[arg-type]
    data: dict[str, Any] = {"artifacts": [], "pure_python": True}
    before = Path.cwd()
    hook.initialize("1", data)
    assert Path.cwd() == before
    return data, builder.warnings


def test_the_module_is_compiled_of_all_its_files_and_put_into_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def run(self: build_ext) -> None:
        seen.extend(self.extensions)
        for path in self.get_outputs():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).touch()

    native = tmp_path / FOLDER
    native.mkdir(parents=True)
    for path in (ROOT / FOLDER).glob("*.[ch]"):
        (native / path.name).write_bytes(path.read_bytes())
    data, warnings = build(tmp_path, monkeypatch, run)
    assert warnings == []
    (extension,) = seen
    included = re.findall(r'#include "(.*?)"', (native / "module.c").read_text())
    assert extension.sources == [f"{FOLDER}/module.c"]
    (artifact,) = data["artifacts"]
    assert (tmp_path / artifact).parent == native
    assert (tmp_path / artifact).is_file()
    assert (data["pure_python"], data["infer_tag"]) == (False, True)
    assert sorted(included) == sorted(path.name for path in native.glob("*.h"))


def test_a_build_without_a_compiler_is_a_wheel_of_python_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: build_ext) -> None:
        raise OSError("no compiler")

    data, warnings = build(tmp_path, monkeypatch, run)
    assert data == {"artifacts": [], "pure_python": True}
    assert warnings == [f"{FOLDER}/module.c is not compiled (no compiler): small arrays are slower"]


def test_zig_compiles_where_the_system_has_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook: Any = CompileFast(str(tmp_path), {}, None, None, str(tmp_path), "wheel", Builder())  # type: ignore[arg-type]
    assert hook.dependencies() == []
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    monkeypatch.setenv("LDSHARED", "")
    (needed,) = hook.dependencies()
    assert needed.startswith("ziglang")
    seen = {}
    build(tmp_path, monkeypatch, lambda self: seen.update(os.environ))
    assert "ziglang" in seen["CC"]
    assert seen["LDSHARED"] == f"{seen['CC']} -shared"


def test_no_compiler_is_asked_for_where_nothing_can_be_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(module, "is_able", lambda: False)  # Windows, or no headers of Python's
    hook: Any = CompileFast(str(tmp_path), {}, None, None, str(tmp_path), "wheel", Builder())  # type: ignore[arg-type]
    assert hook.dependencies() == []
    data, (warning,) = build(tmp_path, monkeypatch, pytest.fail)
    assert data == {"artifacts": [], "pure_python": True}
    assert "is not compiled" in warning


@pytest.mark.parametrize(("asked", "warns"), [("", True), ("0", False)])
def test_one_line_says_that_the_compiled_module_is_missing(asked: str, warns: bool) -> None:
    program = "import sys; sys.modules['nabla_array._lazy.native._fast'] = None; import nabla_array"
    env = {**os.environ, "NABLA_ARRAY_COMPILED": asked}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert ("three to ten times longer" in done.stderr) == warns
