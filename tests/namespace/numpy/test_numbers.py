"""`numpy/numbers.py`, call by call, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled

from .comparing import compare

CALLS = """
np.angle(c)
np.angle(c, deg=True)
np.angle(x)
np.angle(f)
np.fix(x)
np.fix([2.7, -2.7])
np.fix(i)
np.sinc(x)
np.sinc([0, 1, 2])
np.sinc(f)
np.i0(x)
np.i0([0.0, 5.0, 8.0, 30.0])
np.i0(c)
np.nan_to_num(n)
np.nan_to_num(np.array([np.inf, -np.inf, np.nan]))
np.nan_to_num(n, nan=7)
np.nan_to_num([np.inf, -np.inf], posinf=1, neginf=-1)
np.nan_to_num(i)
np.nan_to_num(np.array([complex(np.nan, np.inf)]))
np.nan_to_num(n, copy=False); n
np.real_if_close(c)
np.real_if_close([1 + 1e-15j])
np.real_if_close(x)
np.isposinf(np.array([np.inf, -np.inf, 1.0]))
np.isneginf([np.inf, -np.inf, 1.0])
np.isposinf(i)
np.isposinf(c)
np.iscomplex(c)
np.iscomplex(x)
np.isreal(c)
np.isreal([1, 2])
np.isclose(x, x + 1e-9)
np.isclose([1e10, 1e-7], [1.00001e10, 1e-8])
np.isclose(n, n)
np.isclose(n, n, equal_nan=True)
np.isclose([np.inf, 1], [np.inf, np.inf])
np.isclose(i, 2)
np.isclose(1, 1 + 1e-10)
np.isclose(x, v)
np.isclose(b, True)
np.allclose(x, x)
np.allclose(x, x + 1, atol=2)
np.allclose(n, n)
np.array_equal(x, x)
np.array_equal(x, v)
np.array_equal(n, n, equal_nan=True)
np.array_equal(i, [[5, -3, 2], [0, 7, 2]])
np.array_equiv([1, 2], [[1, 2], [1, 2]])
np.array_equiv(x, v)
np.ediff1d(x)
np.ediff1d(v, to_begin=0, to_end=[9, 8])
np.ediff1d([1, 2, 4], to_begin=0.5)
np.ediff1d(u)
np.gradient(v)
np.gradient(v, 2.0)
np.gradient(v, [0.0, 1.0, 3.0, 7.0])
np.gradient(v, [0.0, 1.0, 3.0, 7.0], edge_order=2)
np.gradient(v, edge_order=2)
np.gradient(v.astype(np.float32), [0.0, 1.0, 3.0, 7.0])
np.gradient(x, axis=1)
np.gradient(m)
np.gradient(m, 1.0, 2.0)
np.gradient(m, np.arange(4) ** 2, 1.0)
np.gradient(f, axis=1)
np.gradient(i, axis=1)
np.gradient(np.array([1.0]))
np.gradient(m, 1, 2, 3)
np.trapezoid(v)
np.trapezoid(v, dx=0.5)
np.trapezoid(v, x=[0, 1, 3, 4])
np.trapezoid(x, axis=0)
np.trapezoid(x, [0, 2, 3])
np.trapezoid(i)
np.unwrap(np.array([0.0, 3.0, 7.0, 1.0]))
np.unwrap([0, 4, 8, 2], period=6)
np.unwrap(np.array([[0.0, 5.0], [1.0, 9.0]]), axis=0)
np.unwrap(np.array([0.0, 3.0, 7.0]), discont=5)
np.interp(2.5, [1, 2, 3], [3, 2, 0])
np.interp([0, 1.5, 9], [1, 2, 3], [3, 2, 0])
np.interp(v, [0, 1, 2], [5, 6, 9], left=-1, right=99)
np.interp([-180, 190, 350], [190, -190, 350, -350], [5, 10, 3, 4], period=360)
np.interp(v, [1], [5])
np.interp(v, [1, 2], [1 + 2j, 3])
np.interp(n, [0, 1], [1, 2])
np.interp(v, [1, 2], [1])
np.interp(v, [], [])
np.convolve([1, 2, 3], [0, 1, 0.5])
np.convolve(v, [1, 1], "same")
np.convolve(v, [1, 2, 3], "valid")
np.convolve([1, 2], v, "same")
np.convolve(i[0], i[1])
np.convolve(np.arange(100.0), np.arange(40.0))
np.convolve([], [1])
np.convolve(v, v, "no")
np.convolve(x, x)
np.correlate([1, 2, 3], [0, 1, 0.5])
np.correlate(v, [1, 2], "same")
np.correlate(v, [1, 2], "full")
np.correlate([1, 2], v, "full")
np.correlate([1, 2], v, "same")
np.correlate(c[0], c[1], "full")
np.convolve(s, v)
np.interp(s, [1,2,3],[4,5,6])
np.gradient(u.astype(float))
np.trapezoid(t, axis=1)
np.trapezoid(x, x=x, axis=1)
np.isclose(f, f)
np.isclose(c, c)
np.allclose(i, i)
np.array_equal(b, b)
np.interp(f, f[0], f[0])
np.convolve(f[0], f[1])
np.convolve(b[0], b[1])
np.correlate(u, u)
np.nan_to_num(f)
np.sinc(i)
np.angle(i)
np.unwrap(f)
np.unwrap(i)
np.i0(f)
np.fix(f)
np.interp()
np.trapezoid(x, v)
np.angle(u)
np.angle(b)
np.angle(i)
np.angle(-f)
np.i0(n)
np.convolve(2, u)
np.convolve(u, 300)
np.correlate(s, v)
np.correlate(u, 2)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)


SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0]


@given(
    st.integers(0, 20), st.integers(0, 200), st.integers(0, 199), st.sampled_from(["any", "sorted", "dense"])
)
def test_interp_at_many_places(n: int, many: int, seed: int, kind: str) -> None:
    """NumPy's bits: at samples, between equal places, beside infinite ones, and where none are sorted."""
    rng = np.random.default_rng(seed)
    at = rng.integers(0, 9, n + 1) / 2.0
    if seed % 5 or compiled is None:  # else the order of the search decides
        at = np.sort(at)
    values = rng.standard_normal(n + 1)
    x = rng.integers(-2, 20, many) / 4.0 if kind == "any" else np.sort(rng.uniform(-1, 5, many))
    if kind != "dense":
        for z in (values, x):
            z[rng.random(z.size) < 0.2] = rng.choice(SPECIAL)
    with np.errstate(all="ignore"):
        for ends in ({}, {"left": -1, "right": 7.5}):
            got = np.asarray(xp.interp(xp.asarray(x), at, xp.asarray(values), **ends))
            assert got.tobytes() == np.interp(x, at, values, **ends).tobytes()


def test_interp_of_large_arrays() -> None:
    rng = np.random.default_rng(0)
    at, values, x = np.sort(rng.random(300)), rng.standard_normal(300), rng.uniform(-0.1, 1.1, 600_000)
    for places in (x, np.sort(x), x.reshape(-1, 3), x.astype(np.float32), (x * 9).astype(int)):
        got = np.asarray(xp.interp(xp.asarray(places), at, values))
        assert got.tobytes() == np.interp(places, at, values).tobytes()
