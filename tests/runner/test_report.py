"""`run --report`: what was done, by lines of the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .running import run

SCRIPT = """\
import numpy as np

from helper import smooth

a = np.zeros((20, 20))
a[0] = 1
for _ in range(5):
    smooth(a)
x = np.linspace(0, 1, 10_000)
for _ in range(120):
    x = np.cos(x)
    if x[0] > 2:
        break
print(np.busday_count("2020-01-01", "2020-02-01"))
print(np.busday_count("2020-01-01", "2020-02-01"), np.ma.masked_greater([1, 2], 1))
raise SystemExit(3)
"""
HELPER = """\
def smooth(a):
    for i in range(1, 19):
        for j in range(1, 19):
            a[i, j] = (a[i - 1, j] + a[i + 1, j]) / 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text(HELPER)
    return tmp_path


def rows(text: str, title: str) -> list[str]:
    """Return the rows of a part of the report."""
    inside = text.split(f"  {title}\n", 1)[1]
    return [re.sub(r"\s+", " ", line).strip() for line in re.split(r"\n  (?! )", inside)[0].splitlines()]


def test_lines_and_hints(folder: Path) -> None:
    done = run("--report", "script.py", folder=folder)
    assert done.returncode == 3
    assert done.stdout == "23\n23 [1 --]\n"
    told = done.stderr
    assert re.search(r"\nnabla_array report\n  \d+ evaluations, ", told)
    looked = rows(told, "looked at")
    assert "120 script.py:12 if x[0] > 2:" in looked
    elements = rows(told, "element by element")
    assert elements[0] == f"{5 * 18 * 18 * 3} helper.py:4 a[i, j] = (a[i - 1, j] + a[i + 1, j]) / 2"
    left = rows(told, "left to NumPy")
    assert '1 script.py:14 busday_count print(np.busday_count("2020-01-01", "2020-02-01"))' in left
    assert any("3 script.py:15 busday_count, ma.masked_greater, numpy.ma" in line for line in left), left
    hints = rows(told, "what would help")
    assert hints[0].startswith("helper.py:4: 4860 elements are read or written one at a time; ")
    assert hints[1].startswith("script.py:12: 120 looks at values; ")
    assert any(line.startswith("script.py:14: busday_count runs in NumPy") for line in hints)
    assert not any("numpy.ma" in line for line in hints)


def test_beside_a_comparison(folder: Path) -> None:
    done = run("--report", "--compare", "script.py", folder=folder)
    assert done.returncode == 3
    assert done.stderr.count("nabla_array report") == 1
    assert "printed      the same" in done.stderr


def test_after_the_error(folder: Path) -> None:
    (folder / "wrong.py").write_text("import numpy as np\nprint(np.ones(3)[7])\n")
    done = run("--report", "wrong.py", folder=folder)
    assert done.returncode == 1
    error, told = done.stderr.split("\nnabla_array report\n")
    assert "IndexError" in error
    assert "what would help" not in told
