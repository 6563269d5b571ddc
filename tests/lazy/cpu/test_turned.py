"""Tables whose columns are rows in memory: reduced, repeated and joined, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as na
from nabla_array._lazy.cpu import blocks
from nabla_array._lazy.native import compiled

from ..execution import in_jobs

pytestmark = pytest.mark.skipif(compiled is None, reason="what is tested here was not compiled")

Function = Callable[[Any, Any], Any]


def _mean(np: Any, x: Any) -> Any:
    return np.sum(x + 0, axis=-1, keepdims=True) / x.shape[-1]


FUNCTIONS: dict[str, Function] = {
    "centred": lambda np, x: x - _mean(np, x),
    "variance": lambda np, x: np.sum((x - _mean(np, x)) ** 2, axis=-1),
    "two results": lambda np, x: [x - np.max(x * 2, axis=-1, keepdims=True), np.max(x * 2, axis=-1)],
    "all of it": lambda np, x: [np.any(np.max(abs(x - 1), axis=-1) > 2), np.max(x * 3 - 1)],
    "row by element": lambda np, x: x - x[..., :1] * np.min(x * 2, axis=-1, keepdims=True),
    "table by table": lambda np, x: x * np.sum(x * x, axis=-1)[..., None] + (x > 0),
    "joined over what leads": lambda np, x: np.sum(
        x - np.max(x + 0, axis=-1, keepdims=True), axis=tuple(range(x.ndim - 1))
    ),
    "side by side": lambda np, x: np.concat([x / np.max(x * x, axis=-1, keepdims=True), x], axis=-1),
}


def _moved(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(x, 0, -1)


def _compare(f: Function, x: np.ndarray) -> None:
    ours, numpys = f(na, na.asarray(x, copy=False)), f(np, x)
    for y, z in zip(*[v if isinstance(v, list) else [v] for v in (ours, numpys)], strict=True):
        found = np.asarray(y)
        assert (found.shape, found.dtype) == (z.shape, z.dtype)
        np.testing.assert_allclose(found, z, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(deadline=None, max_examples=10)
@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=3).map(tuple),
    st.sampled_from(["float64", "int64"]),
    st.integers(1, 3),
)
def test_results_are_numpys(name: str, shape: tuple[int, ...], dtype: str, threads: int) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 10).astype(dtype)
    with in_jobs(), na.config(threads=threads), np.errstate(all="ignore"), na.errstate(all="ignore"):
        _compare(FUNCTIONS[name], _moved(x))


@pytest.mark.parametrize("shape", [(30_000, 20), (20_000, 5, 6), (100_000, 2)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_large_ones_are_run_turned(name: str, shape: tuple[int, ...]) -> None:
    x = _moved(np.random.default_rng(0).standard_normal(shape))
    blocks._kernel.cache_clear()
    with na.config(mode="host"), patch.object(blocks, "turned", wraps=blocks.turned) as turned:
        _compare(FUNCTIONS[name], x)
    assert turned.called


def test_sums_are_as_accurate_as_numpys() -> None:
    x = _moved(np.random.default_rng(0).uniform(0, 1, (200_000, 20)).astype(np.float32))
    exact = np.sum(x.astype(np.float64) * 2, axis=-1)
    with na.config(mode="host"):
        ours = np.asarray(na.sum(na.asarray(x, copy=False) * 2, axis=-1))
    assert np.abs(ours - exact).max() <= np.abs(np.sum(x * 2, axis=-1) - exact).max()


def test_faults_are_told_of() -> None:
    x = _moved(np.zeros((30_000, 20)))
    with na.config(mode="host", float_warnings=True):
        y = na.asarray(x, copy=False)
        y = y / na.sum(y * 2, axis=-1, keepdims=True)
        with pytest.warns(RuntimeWarning, match="invalid value encountered in divide"):
            np.asarray(y)
