"""NumPy's names for functions that the standard calls otherwise."""

from __future__ import annotations

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.stats import stats
from nabla_array._namespace.interop.functions import _NOT_OURS, ALIASES


@pytest.mark.parametrize("name", sorted({*ALIASES} - _NOT_OURS))
def test_a_numpy_name_is_our_function(name: str) -> None:
    ours = getattr(xp, name)
    assert ours is getattr(xp, ALIASES[name]) or ours.__module__.startswith("nabla_array")


@pytest.mark.usefixtures("recorded")
def test_a_numpy_name_stays_in_the_graph() -> None:
    before = stats.fallbacks.copy()
    x = xp.array([0.0, 0.5])
    y = xp.power(xp.arcsin(x), x)
    assert y._node.value is None
    np.testing.assert_array_equal(np.asarray(y), np.power(np.arcsin([0.0, 0.5]), [0.0, 0.5]))
    assert stats.fallbacks == before


def test_array_copies() -> None:
    x = xp.array([1.0, 2.0])
    y = xp.array(x)
    y[0] = 9.0
    assert x.tolist() == [1.0, 2.0]


def test_an_error_names_the_public_function() -> None:
    with pytest.raises(TypeError, match=r"^bitwise_and: no such operation on float64, int"):
        xp.bitwise_and(xp.array([1.0]), 1)
