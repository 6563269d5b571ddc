"""What waits for a module is called once it is there, and nothing of the module is changed by that."""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import sys
from importlib.machinery import ExtensionFileLoader, SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from nabla_array._namespace.interop import imports
from nabla_array._namespace.interop.imports import after_import


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("waited_for", "waited_package", "waited_package.inner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_a_module_that_is_there() -> None:
    found: list[ModuleType] = []
    after_import("sys", found.append)
    assert found == [sys]


def test_a_module_that_comes(folder: Path) -> None:
    (folder / "waited_for.py").write_text("value = 3\nloader = __loader__, __spec__.loader\n")
    found: list[ModuleType] = []
    after_import("waited_for", found.append)
    after_import("waited_for", lambda m: found.append(m.value))
    assert importlib.util.find_spec("waited_for") is not None  # which does not import it
    assert found == []
    module = importlib.import_module("waited_for")
    assert found == [module, 3]
    assert [type(x) for x in (*module.loader, module.__loader__)] == [SourceFileLoader] * 3
    importlib.reload(module)
    assert len(found) == 2


def test_a_module_that_fails_and_comes_later(folder: Path) -> None:
    (folder / "waited_for.py").write_text("import waited_for_in_vain")
    found: list[ModuleType] = []
    after_import("waited_for", found.append)
    with pytest.raises(ModuleNotFoundError, match="in_vain"):
        importlib.import_module("waited_for")
    assert found == []
    (folder / "waited_for.py").write_text("value = 'another length'")
    importlib.invalidate_caches()
    assert [importlib.import_module("waited_for")] == found


def test_a_module_in_a_package(folder: Path) -> None:
    (folder / "waited_package").mkdir()
    (folder / "waited_package" / "__init__.py").touch()
    (folder / "waited_package" / "inner.py").write_text("from . import __name__ as above")
    found: list[ModuleType] = []
    for name in ("waited_package.inner", "waited_package"):
        after_import(name, found.append)
    inner = importlib.import_module("waited_package.inner")
    assert found == [sys.modules["waited_package"], inner]
    assert inner.above == "waited_package"


def test_a_module_that_is_run(folder: Path) -> None:
    (folder / "waited_for.py").write_text("value = 3")
    after_import("waited_for", print)
    assert runpy.run_module("waited_for")["value"] == 3


def test_a_module_that_is_nowhere() -> None:
    after_import("waited_for_in_vain", print)
    with pytest.raises(ModuleNotFoundError, match="waited_for_in_vain"):
        importlib.import_module("waited_for_in_vain")


def test_a_finder_of_old_hinders_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "waited_for.py").write_text("value = 3")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path[:2], object(), *sys.meta_path[2:]])
    assert importlib.import_module("waited_for").value == 3


def test_modules_that_are_there_are_not_asked_for_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise ImportError(name)

    monkeypatch.setitem(sys.modules, "waited_for", Lazy("waited_for"))
    monkeypatch.setattr(imports, "_of_extensions", [])
    found: list[ModuleType] = []
    imports.for_extensions(found.append)
    assert all(type(m.__loader__) is ExtensionFileLoader for m in found)
