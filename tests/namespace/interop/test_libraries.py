"""What other libraries are told is imported with the first of them, and not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nabla_array._namespace.interop import doors, mixed, registered, rows, tables
from nabla_array._namespace.interop.imports import KNOWN

NAME = "nabla_array._namespace.interop.libraries"


def test_every_library_that_is_told_anything_is_known() -> None:
    told = {row.module for row in (*doors.DOORS, *rows.ROWS)} | {module for module, _, _ in mixed.PLACES}
    told |= {*registered.TOLD, tables.TOLD}
    roots = {name.partition(".")[0] for name in told}
    assert roots == {name.partition(".")[0] for name in KNOWN}
    # `numpy.random` is told when the first of the others comes: it is others that seed a generator with ours.
    numpys = {name for name in told if name.startswith("numpy.")}
    assert numpys == {"numpy.ctypeslib._ctypeslib", "numpy.random"}


OURS = "import sys, nabla_array as xp"


@pytest.mark.parametrize(
    "lines",
    [(OURS, f"assert {NAME!r} not in sys.modules", "import json"), ("import json", OURS)],
    ids=["a library that comes", "a library that is there"],
)
def test_it_is_imported_with_the_first_library(lines: tuple[str, ...]) -> None:
    checks = (f"assert {NAME!r} in sys.modules", "print(json.dumps(xp.asarray(1.5)))")
    command = [sys.executable, "-c", "\n".join((*lines, *checks))]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1.5\n"
