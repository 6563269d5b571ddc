"""The stubs say what there is when the package runs."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hatchling.builders.wheel import WheelBuilder

import nabla_array as xp
from nabla_array import transforms
from nabla_array._namespace.core.array import Array

from .stubs import PLATFORMS, ROOT, STUBS, chapters, text

STALE = "nabla_array/{} is out of date; `python -m tests.typing.stubs` writes it"


def ours(stub: str) -> list[str]:
    """Return the lines that do not depend on the version of NumPy."""
    return [line for line in stub.splitlines() if not line.startswith(("from numpy import", "def "))]


def defined(path: str) -> set[str]:
    """Return the names that a stub gives."""
    found = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.asname}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("path", [p for p in STUBS if p not in ("random.pyi", "special.pyi")])
def test_the_stubs_are_what_the_command_writes(path: str) -> None:
    assert ours((ROOT / path).read_text()) == ours(text(path)), STALE.format(path)


def test_the_names_of_the_namespace_are_there() -> None:
    missing = [n for n in defined("_names.pyi") - PLATFORMS if not hasattr(xp, n) and hasattr(np, n)]
    assert not missing, STALE.format("_names.pyi")


def test_random_has_its_names() -> None:
    assert {*xp.random.__all__} <= defined("random.pyi"), STALE.format("random.pyi")


def test_special_has_its_names() -> None:
    special = pytest.importorskip("scipy.special")
    names = {n for n in special.__all__ if hasattr(xp.special, n)}
    assert names <= defined("special.pyi"), STALE.format("special.pyi")


def test_each_public_attribute_of_arrays_is_told() -> None:
    told = {*vars(Array)} & {n for n in dir(Array) if not n.startswith("_")}
    here = {*defined_in("_namespace/core/_methods.pyi"), *defined_in("_namespace/core/array.py")}
    here |= defined_in("_namespace/core/_operators.pyi")
    assert told <= here


def defined_in(path: str) -> set[str]:
    """Return the names in the classes of a file."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.ClassDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef):
                    found.add(inner.name)
                elif isinstance(inner, ast.Assign | ast.AnnAssign):
                    targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                    found |= {t.id for t in targets if isinstance(t, ast.Name)}
    return found


def test_stubs_are_shipped() -> None:
    files = {f.relative_path for f in WheelBuilder(str(ROOT.parent)).recurse_included_files()}
    assert {f"nabla_array/{path}" for path in ("py.typed", *STUBS)} <= files


# What gives whatever it was given, or found in a file.
ANYTHING = {"tree_unflatten", "tree_transpose", "call"}


@pytest.mark.parametrize("folder", ["_namespace/chapters", "_namespace/numpy", "transforms"])
def test_no_public_function_gives_any(folder: str) -> None:
    public = {*chapters(), *xp.fft.__all__, *xp.linalg.__all__, *dir(transforms)} - ANYTHING
    wrong = []
    for path in (ROOT / folder).glob("*.py"):
        if path.stem == "ufunc_methods":  # of which `Ufunc` in core/types.py tells
            continue
        functions = [f for f in ast.parse(path.read_text()).body if isinstance(f, ast.FunctionDef)]
        overloaded = {
            f.name for f in functions if any(ast.unparse(d) == "overload" for d in f.decorator_list)
        }
        wrong += [
            f"{path.stem}.{f.name}"
            for f in functions
            if f.name in public - overloaded and (f.returns is None or ast.unparse(f.returns) == "Any")
        ]
    assert not wrong
