"""Small NumPy programs of many kinds print on our arrays what they print on NumPy's, to the letter."""

from __future__ import annotations

import io
import re
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def printed(source: str, name: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out), np.printoptions(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # strings, dates and files are NumPy's to do, which is said
        exec(compile(source, name, "exec"), {"__name__": "__main__"})
    return out.getvalue()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_program(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    theirs = program.read_text(encoding="utf-8")
    ours = re.sub(r"^(import|from) numpy\b", r"\1 nabla_array", theirs, flags=re.M)
    assert ours != theirs
    assert printed(ours, program.name) == printed(theirs, program.name)
