"""What compiles the native module where the package is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hatchling")
pytest.importorskip("setuptools")

from setuptools.command.build_ext import build_ext

from nabla_array._lazy.native.build import FOLDER, CompileFast

ROOT = Path(__file__).parents[3]


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
