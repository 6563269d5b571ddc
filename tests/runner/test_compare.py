"""`run --compare`: the same printed text and figures as under NumPy, or where they differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nabla_array.runner import figures, texts

from .running import run


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("", ""),
        ("[1.  2.5]\n", "[1.0 2.5]"),
        ("x = 0.3333333333333333", "x = 0.3333333333333334"),
        ("[ 1.e+00 -3.e-17]", "[1. 0.]"),
        ("3.0-2j", "3.0000000001-2j"),
        ("1e5 nan -inf", "100000.0 nan -inf"),
        ("<object at 0x7f3c> 1", "<object at 0x7f4d> 1"),
    ],
)
def test_texts_that_are_the_same(ours: str, theirs: str) -> None:
    assert not texts.first_difference(ours, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ("a b", "a c", "'b' instead of 'c', line 1: 'a b' instead of 'a c'"),
        ("1\n2\n3", "1\n2\n4", "'3' instead of '4', line 3"),
        ("1", "1.", "'1' instead of '1.'"),
        ("1000000001", "1000000000", "'1000000001'"),
        ("1.00001", "1.0", "'1.00001'"),
        ("a", "a\nb", "'the end' instead of 'b', line 2: 'nothing more' instead of 'b'"),
        ("a\nb", "a", "'b' instead of 'the end', line 2: 'b' instead of 'nothing more'"),
        ("nan", "inf", "'nan' instead of 'inf'"),
        ("True", "False", "'True'"),
        ("array([1])", "[1]", "'array'"),
    ],
)
def test_texts_that_differ(ours: str, theirs: str, said: str) -> None:
    assert texts.first_difference(ours, theirs).startswith(said)


def test_figures_may_differ_in_few_pixels(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    picture = np.zeros((100, 100, 4), np.uint8)
    near, other = picture + np.uint8(5), picture.copy()
    near[0, :9] = 255
    other[:50] = 255
    for folder in (ours, theirs):
        folder.mkdir()
        np.save(folder / "figure-000.npy", picture)
    np.save(ours / "figure-000.npy", near)
    assert figures.first_difference(ours, theirs) == (1, "")
    np.save(ours / "figure-001.npy", other)
    assert figures.first_difference(ours, theirs) == (1, "2 figures instead of 1")
    np.save(theirs / "figure-001.npy", picture)
    assert figures.first_difference(ours, theirs) == (2, "figure 2: 50% of the pixels are others")
    np.save(theirs / "figure-001.npy", picture[1:])
    assert figures.first_difference(ours, theirs) == (2, "figure 2: (100, 100) pixels instead of (99, 100)")


SCRIPT = """\
import sys

import numpy as np

print(np.arange(5) / 3, np.float64(1.5) * np.ones(2), sys.stdin.readline(), sys.argv[1:])
if sys.argv[1] == "text":
    print(np.__name__)
elif sys.argv[1] == "fail":
    print(np.zeros(3)[5])
elif sys.argv[1] == "status":
    sys.exit(3)
elif sys.argv[1] == "figures":
    import matplotlib.pyplot as plt

    plt.plot(np.linspace(0, 1, 50) ** 2)
    plt.savefig("picture.png")
    plt.imshow(np.add.outer(np.arange(5), np.arange(5)) * (len(sys.argv) == 2 or np.__name__ == "numpy"))
    plt.show()
"""


def test_the_same(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run("--compare", "script.py", "none", folder=tmp_path, stdin="a line")
    assert done.returncode == 0
    assert (
        done.stdout == "[0.         0.33333333 0.66666667 1.         1.33333333] [1.5 1.5] a line ['none']\n"
    )
    first, *said = done.stderr.strip().splitlines()
    assert first == "nabla_array against NumPy"
    assert [line.split()[0] for line in said] == ["printed", "figures", "seconds"]
    assert "the same (18 words" in said[0]
    assert said[1].split() == ["figures", "none"]


@pytest.mark.parametrize(
    ("what", "status", "said"),
    [
        ("text", 1, "printed      'nabla_array' instead of 'numpy', line 2"),
        ("status", 3, "exit status  3, NumPy 3"),
        ("fail", 1, "ours         IndexError"),
    ],
)
def test_what_differs_is_said(what: str, status: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run("--compare", "-m", "script", what, folder=tmp_path)
    assert done.returncode == status
    assert said in done.stderr


def test_figures_saved_and_shown(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run("--compare", "script.py", "figures", folder=tmp_path)
    assert (done.returncode, "figures      the same (2)" in done.stderr) == (0, True), done.stderr
    assert (tmp_path / "picture.png").stat().st_size > 1000
    done = run("--compare", "script.py", "figures", "others", folder=tmp_path)
    assert done.returncode == 1
    assert "figures      figure 2: " in done.stderr
