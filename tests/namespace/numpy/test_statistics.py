"""`numpy/statistics.py`, call by call, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms

from .comparing import compare

CALLS = """
np.ptp(x)
np.ptp(x, axis=1)
np.ptp(i, 0, keepdims=True)
np.average(x)
np.average(x, axis=1)
np.average(v, weights=[1, 2, 3, 4])
np.average(x, axis=0, weights=[1, 3])
np.average(x, axis=1, weights=[1, 3, 0], returned=True)
np.average(x, weights=x, keepdims=True)
np.average(i, weights=i)
np.average(x, weights=[1, 2])
np.average(v, weights=[0, 0, 0, 0])
np.average(x, returned=True)
np.median(x)
np.median(x, axis=0)
np.median(v, keepdims=True)
np.median(t, axis=(0, 2))
np.median(n)
np.median(n, axis=1)
np.median(i)
np.median(f)
np.median([])
np.quantile(x, 0.3)
np.quantile(x, [0.1, 0.9], axis=1)
np.quantile(x, 0.5, method="lower")
np.quantile(x, 0.4, method="higher")
np.quantile(x, 0.4, method="midpoint")
np.quantile(v, [0.2, 0.8], method="weibull")
np.quantile(v, [0.2, 0.8], method="hazen")
np.quantile(v, [0.2, 0.8], method="median_unbiased")
np.quantile(v, [0.2, 0.8], method="normal_unbiased")
np.quantile(v, [0.2, 0.8], method="interpolated_inverted_cdf")
np.quantile(x, [0.1, 0.9], axis=0, keepdims=True)
np.quantile(i, 0.25)
np.quantile(n, 0.5, axis=0)
np.quantile(x, 1.5)
np.quantile(f, 0.3)
np.quantile(c, 0.3)
np.percentile(x, 30)
np.percentile(x, [10, 50, 90])
np.percentile(v, 25, axis=0)
np.percentile(v, 101)
np.percentile(t, [25, 75], axis=(0, 1))
np.cov(x)
np.cov(m)
np.cov(x, rowvar=False)
np.cov(v, v[::-1])
np.cov(m, bias=True)
np.cov(m, ddof=0)
np.cov(m, fweights=[1, 2, 1, 1])
np.cov(m, aweights=[0.5, 2, 1, 1])
np.cov(v)
np.cov(c)
np.cov(m, fweights=[1, 2])
np.cov(t)
np.corrcoef(m)
np.corrcoef(v, v[::-1] ** 2)
np.corrcoef(x, rowvar=False)
np.corrcoef(v)
np.bincount(k)
np.bincount([0, 5], minlength=9)
np.bincount(k, weights=v)
np.bincount([])
np.bincount([-1])
np.bincount(v)
np.bincount(x)
np.digitize(v, [0, 1, 2])
np.digitize(v, [0, 1, 2], right=True)
np.digitize(v, [2, 1, 0])
np.digitize(v, [2, 1, 0], right=True)
np.digitize(x, [0.0, 2.0])
np.digitize(v, [0, 2, 1])
np.histogram(v)
np.histogram(v, bins=3)
np.histogram(v, bins=[0, 1, 2, 3])
np.histogram(v, bins=3, range=(0, 4))
np.histogram(v, bins=3, density=True)
np.histogram(v, bins=[0.0, 1, 2, 3], weights=[1.0, 2, 3, 4])
np.histogram(v, bins="auto")
np.histogram(v, bins=3, weights=[1, 2, 3, 4], density=True)
np.histogram(v, bins=[3, 1])
np.histogram_bin_edges(v, 4)
np.histogram2d(v, v[::-1], bins=2)
np.histogram2d(v, v, bins=[2, 3], range=[[0, 3], [0, 3]])
np.histogram2d(v, v, bins=[0.0, 1.0, 3.0])
np.histogramdd(m, bins=2)
np.histogramdd((v, v), bins=(2, 2))
np.median(s)
np.quantile(o, 0.5)
np.percentile(s, 50)
np.histogram(e)
np.cov(o)
np.average(t, axis=(0,2))
np.average(t, axis=(0,2), weights=t[:,0,:]**2)
np.average(t, axis=-1, weights=[1,2,3,4])
np.digitize(i, [0, 3])
np.bincount(u)
np.bincount(k.astype(np.uint8))
np.bincount(b.ravel())
np.histogram(b)
np.histogram(i, bins=3)
np.histogram(f, bins=3)
np.histogram(u, bins=4)
np.median(b)
np.median(c)
np.average(f, axis=0)
np.average(b)
np.percentile(f, 50)
np.quantile(u, 0.3)
np.cov(f)
np.corrcoef(i)
np.ptp(u)
np.histogram(v, bins=0)
np.digitize(v, 3)
np.bincount(c)
np.quantile(v, 2)
np.median(v, axis=1)
np.average(v, weights=[1])
np.average(x, axis=0, weights=[1, 2], returned=True, keepdims=True)
np.bincount([0, 1, 1], weights=[1j, 2, 3])
np.bincount([], weights=[])
np.histogram(v, range=(v.min(), v.max()))
np.histogram(v, bins=[v.min(), 0, v.max()])
np.histogram(v, bins=np.linspace(v.min(), v.max(), 4))
np.histogram(v, bins=k.max())
np.histogram(v, bins=3, range=[v.min(), v.max()], weights=v)
np.histogram_bin_edges(v, weights=v)
np.histogram_bin_edges(v, k.max(), (v.min(), v.max()), v)
np.histogram_bin_edges(v, "auto", (v.min(), v.max()))
np.histogram2d(v, v, bins=(2,2), range=[[v.min(), v.max()],[0, v.max()]])
np.histogram2d(v, v, bins=k.max())
np.histogramdd(t[0], bins=2, range=[(t.min(), t.max())]*4)
np.histogramdd((v, v), bins=[2, 3], weights=v)
np.histogramdd((v, v), bins=k.max())
np.histogramdd((v, v), bins=np.array([2, 3]))
np.histogramdd((v, v), bins=k[:2] + 1)
np.histogramdd((v, v), bins=(k.max(), [0.0, 1.0, 2.0]), weights=[1, 2, 3, v.max()])
np.histogram(v, bins=[0, v.max()], weights=[1, 2, 3, v.max()])
np.histogram2d(v, v, bins=np.linspace(0, v.max(), 3))
np.histogram2d(v, v, bins=[np.linspace(0, v.max(), 3), k.max()], density=True)
np.histogram2d(v, v, weights=v, range=np.array([[0.0, 1.0], [0.0, 2.0]]))
np.histogram(v, range=np.array([0.0, 2.0]))
np.histogram(x, 3, range=(0, x.max()), density=True)
np.median(x, axis=1, out=np.zeros(2, int))
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("special", [False, True])
def test_quantiles_of_many_elements(dtype: str, axis: int | None, special: bool) -> None:
    a = (np.random.default_rng(0).standard_normal((301, 400)) * 50).astype(dtype)
    if special and a.dtype.kind in "fc":
        a[3, 5], a[7, 9], a[8] = np.nan, np.inf, -np.inf
    x = xp.asarray(a)
    with np.errstate(invalid="ignore"), xp.errstate(invalid="ignore"):
        np.testing.assert_array_equal(xp.median(x, axis), np.median(a, axis), strict=True)
        np.testing.assert_array_equal(
            xp.median(x.copy(), axis, keepdims=True), np.median(a, axis, keepdims=True)
        )
        if a.dtype.kind == "c":
            return
        for q in (0.3, [0, 1], [0.1, 0.5, 0.9], np.linspace(0, 1, 31)):
            for method in ("linear", "lower", "hazen"):
                wanted = np.quantile(a, q, axis, method=method)
                np.testing.assert_allclose(xp.quantile(x, q, axis, method=method), wanted, rtol=1e-6, atol=0)


def test_derivatives_of_quantiles_choose_elements_as_sorting_does() -> None:
    a = np.random.default_rng(0).integers(0, 9, 70_000).astype(float)  # many are equal
    x = xp.asarray(a)
    for f in (xp.median, lambda x: xp.quantile(x, 0.3)):
        plain, compiled = transforms.grad(f)(x), transforms.grad(transforms.compile(f))(x)
        np.testing.assert_array_equal(np.asarray(plain), np.asarray(compiled))
        assert float(xp.sum(plain)) == 1


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(
    "edges",
    [[0, 3, 3, 7], [7, 7, 3, 0], [2.5], [], [4, 4], [0.5, np.inf, np.nan], [np.nan, 3, 1], [5, np.nan, 1]],
    ids=str,
)
@pytest.mark.parametrize("n", [3, 1000, 600_000])
def test_numbers_of_bins(n: int, edges: list[float], right: bool) -> None:
    x = np.random.default_rng(0).uniform(-1, 9, n).round(1)
    for values in (x, x.astype(int)):
        wanted = np.digitize(values, edges, right)
        got = np.asarray(xp.digitize(xp.asarray(values), xp.asarray(edges), right))
        assert np.array_equal(got, wanted)
        assert got.dtype == wanted.dtype


@pytest.mark.parametrize("edges", [[0, 2, 1], [2, 2, 0, 1], [np.nan, 1, 3], [1, 3, np.nan, 4, 2]], ids=str)
@pytest.mark.parametrize("n", [3, 600_000])
def test_bins_out_of_order(n: int, edges: list[float]) -> None:
    x = np.ones(n)
    for digitize, given in ((np.digitize, x), (xp.digitize, xp.asarray(x))):
        with pytest.raises(ValueError, match="bins must be monotonically increasing or decreasing"):
            digitize(given, np.array(edges))
