"""What the porting guide says of NumPy and of us is so."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

from .optional import HAS_BUFFERS, NO_BUFFERS


def generator() -> ModuleType:
    path = Path(__file__).parents[1] / "docs" / "generate_differences.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = generator()
ROWS = [row for rows in GENERATOR.DIFFERENCES.values() for row in rows]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.code)
def test_a_difference(row: Any) -> None:
    if row.ours == "BufferError" and not HAS_BUFFERS:
        pytest.skip(NO_BUFFERS)
    assert row.numpy != row.ours
    assert GENERATOR.told(row.code, np) == row.numpy
    assert GENERATOR.told(row.code, xp) == row.ours


def test_the_page_is_up_to_date() -> None:
    text = GENERATOR.PAGE.read_text(encoding="utf-8")
    assert text == GENERATOR.page(), "run `python docs/generate_differences.py`"
