"""What users of other libraries try first: `benchmarks/border_lines.py`, of the libraries that are small."""

from __future__ import annotations

import pytest

from benchmarks import borders
from benchmarks.border_lines import INSTEAD, LIBRARIES
from nabla_array._namespace.interop.doors import DOORS

from ...optional import HAS_BUFFERS

SMALL = [name for name, library in LIBRARIES.items() if library.is_small]


@pytest.mark.parametrize("name", SMALL)
def test_a_line_is_right_or_its_error_names_a_conversion(name: str) -> None:
    absent = borders.missing(name)
    if absent:
        pytest.skip(f"optional: {', '.join(absent)}")
    for line in borders.run(name):
        if not HAS_BUFFERS and "bytes-like object" in line.said:
            continue
        assert borders.is_fair(line), (line.code, line.said)
        assert not line.warned, (line.code, line.warned)


def test_there_are_enough_lines() -> None:
    assert sum(len(library.lines) >= 10 for library in LIBRARIES.values()) >= 15


def test_what_to_write_instead_is_a_line_too() -> None:
    lines = {line for library in LIBRARIES.values() for line in library.lines}
    assert {*INSTEAD, *INSTEAD.values()} <= lines
    page = borders._PAGE.read_text(encoding="utf-8")
    assert all(f"write `{line}`" in page for line in INSTEAD.values())


def test_every_door_has_lines() -> None:
    packages = {package for library in LIBRARIES.values() for package in library.packages}
    assert {door.module.partition(".")[0] for door in DOORS} <= packages | {"_pytest", "numpy", "scipy"}
    assert all(door.reason for door in DOORS)


def test_the_page_has_a_row_for_each_library() -> None:
    page = borders._PAGE.read_text(encoding="utf-8")
    for name, library in LIBRARIES.items():
        assert any(
            row.startswith(f"| {name} ") and f"| {len(library.lines)} |" in row for row in page.splitlines()
        )
