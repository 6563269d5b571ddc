"""`numpy/without_nan.py`, call by call, against NumPy."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import vmap

from .comparing import compare

CALLS = """
np.nansum(n)
np.nansum(n, axis=0)
np.nansum(i, 1)
np.nanprod(n, axis=1)
np.nanprod(n, keepdims=True)
np.nancumsum(n)
np.nancumsum(n, axis=1)
np.nancumprod(n, axis=0)
np.nanmax(n)
np.nanmax(n, axis=0)
np.nanmax([np.nan, np.nan])
np.nanmin(n, 1)
np.nanmin(n, axis=1, keepdims=True)
np.nanmin(i)
np.nanargmax(n)
np.nanargmax(n, axis=1)
np.nanargmin(n, 0)
np.nanargmin([np.nan])
np.nanmean(n)
np.nanmean(n, axis=0)
np.nanmean(n, axis=1, keepdims=True)
np.nanmean(n, where=b)
np.nanmean([np.nan])
np.nanmean(i)
np.nanvar(n)
np.nanvar(n, axis=1, ddof=1)
np.nanvar(n, axis=0, keepdims=True)
np.nanvar(i)
np.nanstd(n)
np.nanstd(n, 1)
np.nanstd(n, ddof=5)
np.nanmedian(n)
np.nanmedian(n, axis=0)
np.nanmedian(n, axis=1, keepdims=True)
np.nanmedian([np.nan])
np.nanquantile(n, 0.3)
np.nanquantile(n, [0.25, 0.5], axis=1)
np.nanquantile(n, 0.4, axis=0, keepdims=True)
np.nanpercentile(n, 30)
np.nanpercentile(n, [10, 90], axis=1)
np.nanpercentile(n, 120)
np.nanmean(s)
np.nanmax(n, axis=(0,1))
np.nanmedian(n, axis=(0,1))
np.nanquantile(n, 0.5, axis=(0,1))
np.nanvar(n, axis=(0,1))
np.nanmax(e)
np.nanpercentile(e, 50)
np.nanquantile(e, .5, axis=0)
np.nanvar(i, axis=0, mean=np.ones((1,3)))
np.nanstd(f, axis=0, mean=np.ones((1,3)))
np.nanmean(i, axis=1, out=np.zeros(2, int))
np.nanmedian(x, axis=1, out=np.zeros(2, int))
np.nanvar(i, axis=1, out=np.zeros(2, int))
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_median_warns_of_each_slice_without_numbers(axis: int | None) -> None:
    told = []
    for m in (xp, np):
        with xp.config(float_warnings=True), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = m.full((3, 4), m.nan)
            x[0, 0] = 1.0
            m.nanmedian(x, axis=axis)
        told.append([str(w.message) for w in caught])
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "x", [[1 + 1j, np.nan, 3, 2 - 5j], [[1 + 1j, np.nan, 3], [complex(1, np.nan), np.nan, 2]]]
)
@pytest.mark.parametrize("axis", [None, -1])
def test_the_median_of_complex_numbers_leaves_out_nan(x: Any, axis: int | None) -> None:
    expected = np.nanmedian(x, axis=axis)
    assert expected.dtype == complex
    np.testing.assert_array_equal(xp.nanmedian(xp.asarray(x), axis=axis), expected)
    np.testing.assert_array_equal(vmap(lambda y: xp.nanmedian(y, axis=axis))(xp.asarray([x, x]))[1], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_a_median_of_complex_nan_warns_as_of_real_ones(dtype: Any) -> None:
    with xp.config(float_warnings=True), pytest.warns(RuntimeWarning, match="All-NaN slice"):
        xp.nanmedian(xp.full((2, 2), np.nan, dtype=dtype), axis=0)


@pytest.mark.parametrize(
    "name", ["sum", "prod", "cumsum", "cumprod", "argmax", "argmin", "max", "min", "mean"]
)
def test_functions_with_and_without_nan_take_the_same(name: str) -> None:
    plain, without = (inspect.signature(getattr(xp, n)) for n in (name, f"nan{name}"))
    assert [str(p) for p in plain.parameters.values()] == [str(p) for p in without.parameters.values()]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("q", [0, 1, [0, 1], 0.0, [0.2, 1.0]])
def test_extremes_that_are_infinite(q: Any, axis: int) -> None:
    a = np.random.default_rng(0).standard_normal((300, 400))
    a[3, 5:50], a[8], a[9, 7] = np.nan, -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        wanted = np.nanquantile(a, q, axis)
    np.testing.assert_allclose(np.asarray(xp.nanquantile(xp.asarray(a), q, axis)), wanted, rtol=1e-12)
