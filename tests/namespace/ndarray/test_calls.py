"""Methods and attributes, call by call, against NumPy."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

from ..numpy_names import comparing
from .calls import HOST, TABLES


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls name modules beside the arrays."""
    arrays = comparing.data
    modules: dict[str, Any] = {"math": math, "pickle": pickle, "copy": copy}
    monkeypatch.setattr(comparing, "data", lambda: {**arrays(), **modules})


@pytest.mark.parametrize("call", [c for table in TABLES for c in table.strip().splitlines()])
def test_a_call_is_numpys(call: str) -> None:
    comparing.compare(call)


@pytest.mark.parametrize("call", HOST.strip().splitlines())
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.HostFallbackWarning")
def test_a_call_through_the_host_is_numpys(call: str) -> None:
    comparing.compare(call, host=True)


# What is not as in NumPy, and why.
REFUSED = {
    "__array_interface__": "NumPy and C would read the memory past `__array__`: past derivatives, past vmap",
    "__array_struct__": "as __array_interface__",
    "__buffer__": "as __array_interface__",
    "__array_finalize__": "there are no subclasses that it could tell",
}


NAMES = {name for name in dir(np.ndarray) if name.startswith("__") or not name.startswith("_")}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_of_numpys_array_is_there_or_refused(name: str) -> None:
    assert hasattr(xp.Array, name) != (name in REFUSED)
