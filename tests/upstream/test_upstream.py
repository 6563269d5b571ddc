"""The runner of NumPy's test files works, on two small ones."""

from __future__ import annotations

import pytest

from .__main__ import FILES, run
from .page import PAGE
from .results import Result


@pytest.mark.slow
@pytest.mark.parametrize("file", ["fft/tests/test_helper.py", "lib/tests/test_ufunclike.py"])
def test_a_small_file(file: str) -> None:
    mine, theirs = run(file, True).counts(), run(file, False).counts()
    assert theirs.failed == 0
    assert sum(mine) == sum(theirs)
    assert mine.passed >= theirs.passed / 2  # newer releases of NumPy deprecate more


def test_failures_are_told() -> None:
    result = Result("a.py", {"one": "passed", "two": "failed: ValueError: no", "three": "skipped"})
    assert result.counts() == (1, 1, 1)
    assert result.failures() == {"two": "ValueError: no"}


def test_the_page_has_every_file() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| {file} |" in text for file in FILES)
