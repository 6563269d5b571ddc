"""Every public name of NumPy's is ours, or runs on the host; most are ours."""

from __future__ import annotations

import importlib.util
import re
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.stats import stats
from nabla_array._namespace.numpy import homes

from . import calls

ROOT = Path(__file__).parents[3]


def generator() -> ModuleType:
    path = ROOT / "docs" / "generate_numpy_coverage.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = generator()
NAMES = GENERATOR.names()
ids = [f"{m}.{n}".removeprefix("numpy.") for m, n in NAMES]


def test_no_name_is_left_out() -> None:
    for module in (np, np.linalg, np.fft, np.random):
        assert {(module.__name__, name) for name in module.__all__} <= set(NAMES)


@pytest.mark.parametrize(("module", "name"), NAMES, ids=ids)
def test_a_name_is_there(module: str, name: str) -> None:
    assert GENERATOR.kind_of(module, name) in GENERATOR.KINDS


def test_most_functions_of_numbers_are_ours() -> None:
    kinds = [kind for _, _, kind, numeric in GENERATOR.rows() if numeric]
    assert len(kinds) > 350
    assert kinds.count("native") >= 0.95 * len(kinds)


def test_the_page_is_up_to_date() -> None:
    text = GENERATOR.PAGE.read_text(encoding="utf-8")
    if GENERATOR.RELEASE not in text:
        pytest.skip("the page lists the names of another release of NumPy's")
    assert text == GENERATOR.page(), "run `python docs/generate_numpy_coverage.py`"


def test_every_name_beyond_the_standard_is_called_in_the_tables() -> None:
    tests = [p.read_text() for p in Path(__file__).parents[1].glob("*/test_*.py")]
    text = " ".join(
        [*calls.TABLES, calls.HOST, *re.findall('^CALLS = """(.*?)^"""', "".join(tests), re.M | re.S)]
    )
    called = set(re.findall(r"np\.(?:linalg\.|fft\.|lib\.stride_tricks\.)?(\w+)", text))
    every = {name for homes in homes.HOMES.values() for name in homes}
    standard = set(" ".join(homes.STANDARD.values()).split())
    assert not every - standard - called


def test_a_star_imports_numpys_names() -> None:
    names: dict[str, object] = {}
    exec("from nabla_array import *", names)
    assert {"einsum", "sum", "float64", "linspace", "newaxis", "linalg", "random", "concat"} <= set(names)
    assert names["sum"] is xp.sum


def test_a_function_on_the_host_is_counted() -> None:
    before = stats.fallbacks["fromiter"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said once a process
        assert xp.fromiter(iter([1, 2]), float).tolist() == [1.0, 2.0]
    assert stats.fallbacks["fromiter"] == before + 1
