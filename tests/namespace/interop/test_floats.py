"""Modules of scikit-learn that make a Python number of their result leave an array to derivatives."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.interop.floats import number
from nabla_array._namespace.interop.policies import floats
from nabla_array._namespace.interop.rows import ROWS
from nabla_array.transforms import grad

metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is optional")

X = xp.asarray([0.2, 0.5, 0.9, 0.4])
# A call for each row: a function of X.
CALLS: dict[str, Callable[[Any], Any]] = {
    "sklearn.metrics._classification": lambda x: metrics.log_loss([0, 1, 1, 0], x),
    "sklearn.metrics._ranking": lambda x: metrics.auc([0.0, 1.0, 2.0, 3.0], x),
    "sklearn.metrics._regression": lambda x: metrics.mean_squared_error(np.ones(4), x),
}


def slope(call: Callable[[Any], Any]) -> Any:
    import sklearn

    with sklearn.config_context(array_api_dispatch=True, assume_finite=True):
        return grad(call)(X)


def test_every_row_is_here() -> None:
    assert {row.module for row in ROWS if row.told is floats} == {*CALLS}


@pytest.mark.parametrize("module", CALLS)
def test_metrics_have_derivatives(module: str) -> None:
    call, x, h = CALLS[module], np.asarray(X), 1e-6
    wanted = [(call(x + h * e) - call(x - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(slope(call), wanted, rtol=1e-6)
    assert type(call(x)) is float


@pytest.mark.parametrize("module", CALLS)
def test_they_would_not_without_the_row(module: str) -> None:
    names = vars(importlib.import_module(module))
    kept = names.pop("float")
    try:
        with pytest.raises(TypeError, match="no array"):
            slope(CALLS[module])
    finally:
        names["float"] = kept


def test_it_is_what_float_is() -> None:
    made: Any = number
    assert type(made(2)) is float
    assert isinstance(2.0, made)
    assert not isinstance(2, made)
    assert issubclass(np.float64, made)
