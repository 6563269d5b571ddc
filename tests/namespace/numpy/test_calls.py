"""Calls that concern no module alone, against NumPy: those of one are in its test."""

from __future__ import annotations

import pytest

from .calls import HOST, TABLES
from .comparing import compare


@pytest.mark.parametrize("call", [c for table in TABLES for c in table.strip().splitlines()])
def test_a_call_is_numpys(call: str) -> None:
    compare(call)


@pytest.mark.parametrize("call", HOST.strip().splitlines())
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_a_call_through_the_host_is_numpys(call: str) -> None:
    compare(call, host=True)
