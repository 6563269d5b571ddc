"""What users of other libraries try first: `benchmarks/border_lines.py`, of the libraries that are small."""

from __future__ import annotations

import pytest

from benchmarks import borders
from benchmarks.border_lines import LIBRARIES
from nabla_array._namespace.interop.doors import DOORS

SMALL = [name for name, library in LIBRARIES.items() if library.is_small]
# C code that takes Python's own numbers alone and asks nothing: its error names the type.
RAISES = {"datetime.timedelta(days=v.sum())", "decimal.Decimal(v.sum())"}


@pytest.mark.parametrize("name", SMALL)
def test_a_line_is_right_or_its_error_names_a_conversion(name: str) -> None:
    absent = borders.missing(name)
    if absent:
        pytest.skip(f"optional: {', '.join(absent)}")
    for line in borders.run(name):
        allowed = {borders.RIGHT, borders.RAISES} if line.code in RAISES else {borders.RIGHT, borders.TOLD}
        assert {*line.outcomes.values()} <= allowed, (line.code, line.said)
        assert not line.warned, (line.code, line.warned)


def test_there_are_enough_lines() -> None:
    assert sum(len(library.lines) >= 10 for library in LIBRARIES.values()) >= 15


def test_every_door_has_lines() -> None:
    packages = {package for library in LIBRARIES.values() for package in library.packages}
    assert {door.module.partition(".")[0] for door in DOORS} <= packages | {"scipy"}
    assert all(door.reason for door in DOORS)


def test_the_page_has_a_row_for_each_library() -> None:
    page = borders._PAGE.read_text(encoding="utf-8")
    for name, library in LIBRARIES.items():
        assert any(
            row.startswith(f"| {name} ") and f"| {len(library.lines)} |" in row for row in page.splitlines()
        )
