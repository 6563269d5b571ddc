"""The hints of `calls.py` are what type checkers find, and what is true when it runs."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, UnionType
from typing import Any, get_args, get_origin

import numpy as np
import pytest

import nabla_array as xp

from . import calls

CALLS = Path(calls.__file__)
# Where mypy keeps what it knows of NumPy and of us.
CACHE = Path(xp.__file__).parents[1] / ".mypy_cache" / "calls"
# What numbers of NumPy's pass for.
NUMBERS = {float: np.floating, int: np.integer, bool: np.bool, complex: (np.inexact, float)}


def fits(value: Any, hint: Any) -> bool:
    """Say whether a value is of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(fits(value, arg) for arg in args)
    if origin is tuple and args[-1] is not ...:
        return len(value) == len(args) and all(map(fits, value, args))
    if origin in (tuple, list):
        return type(value) is origin and all(fits(item, args[0]) for item in value)
    if origin is dict:
        return type(value) is dict and all(fits(item, args[1]) for item in value.values())
    kind = origin or hint
    if kind is None:
        return value is None
    return type(value) is kind or isinstance(value, (kind, NUMBERS.get(kind, kind)))


def test_there_are_many_calls_and_no_any() -> None:
    text = CALLS.read_text()
    assert text.count("assert_type(") >= 200
    assert "Any" not in text.partition("import")[2]


CHAPTERS = [
    f for f in vars(calls).values() if isinstance(f, FunctionType) and not inspect.signature(f).parameters
]


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda f: f.__name__)
def test_values_are_of_the_types_that_hints_tell(
    chapter: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(value: Any, hint: Any) -> Any:
        assert fits(value, hint), f"{value!r} is no {hint}"
        return value

    if chapter is calls.special_functions:
        pytest.importorskip("scipy")
    monkeypatch.setattr(calls, "assert_type", check)
    chapter()


def checked(folder: Path, *command: str) -> None:
    """Run a type checker on the calls as on a user's file, which lies elsewhere than the package."""
    shutil.copy(CALLS, folder)
    run = subprocess.run([*command, CALLS.name], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_mypy_finds_these_types(tmp_path: Path) -> None:
    (tmp_path / "empty.ini").write_text("[mypy]\n")
    options = ("--strict", "--config-file", "empty.ini", "--cache-dir", str(CACHE))
    checked(tmp_path, sys.executable, "-m", "mypy", *options)


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright[nodejs] has 100 MB")
def test_pyright_finds_these_types(tmp_path: Path) -> None:
    checked(tmp_path, "pyright", "--pythonpath", sys.executable)
