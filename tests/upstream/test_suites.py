"""The comparison of test suites tells what passes with NumPy alone, on a small project of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import suites

PACKAGE = "import numpy as np\ndef double(x): return 2 * np.asarray(x)\n"
TESTS = """
import numpy as np, package
def test_same(): assert package.double(np.ones(2)).sum() == 4
def test_class(): assert type(package.double([1.0])).__module__ == "numpy"
def test_broken(): assert package.double([1.0]) == 3
"""


def test_a_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "src" / "package").mkdir(parents=True)
    (tmp_path / "src" / "package" / "__init__.py").write_text(PACKAGE, encoding="utf-8")
    (tmp_path / "test_package.py").write_text(TESTS, encoding="utf-8")
    suites.main(["--source", str(tmp_path), "--path", "src", "test_package.py"])
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("2 pass with NumPy, 1 of them with us")
    assert second.startswith("test_package::test_class: AssertionError")
