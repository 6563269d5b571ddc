"""`numpy/ufuncs.py`, call by call, against NumPy."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.native import compiled

from .comparing import compare

CALLS = """
np.degrees(v)
np.radians(v)
np.gcd.reduce([12, 18, 24])
np.lcm.reduce([4, 6, 10])
np.fmax.reduce(n, axis=1)
np.fmax(n, x)
np.fmax(i, 2)
np.fmin(n, 0.0)
np.fmin(c, 1)
np.fmod(x, 2)
np.fmod(i, 3)
np.fmod(x, 0)
np.divmod(x, 2)
np.divmod(i, 3)
np.divmod(x, i)
np.modf(x)
np.modf([1.5, np.inf, -np.inf, np.nan, -0.0])
np.modf(i)
np.frexp(x)
np.frexp(f)
np.frexp([0.0, np.inf])
np.ldexp(x, 3)
np.ldexp(x, i)
np.ldexp(f, [1, 2, 3])
np.ldexp(x, x)
np.gcd(i, 6)
np.gcd(12, 20)
np.gcd(x, 2)
np.lcm(i, 6)
np.lcm([4, 6], [6, 10])
np.heaviside(x, 0.5)
np.heaviside([0.0, -1.0, 1.0], 0.5)
np.heaviside(f, 1)
np.deg2rad(x)
np.radians(f)
np.degrees(x)
np.rad2deg(i)
np.float_power(i, 2)
np.float_power(f, 0.5)
np.float_power(c, 2)
np.spacing(x)
np.spacing(f)
np.logaddexp2(x, 1.0)
np.logaddexp2(f, f)
np.rint(x)
np.rint(i)
np.rint(c)
np.fabs(x)
np.fabs(i)
np.fabs(c)
np.bitwise_count(i)
np.bitwise_count(u)
np.bitwise_count(x)
np.float_power(b, 2)
np.deg2rad(u)
np.modf(u)
np.frexp(u)
np.ldexp(u, 1)
np.divmod(u, 2)
np.fmod(u, 2)
np.gcd(u, 6)
np.heaviside(u, 1)
np.spacing(u)
np.logaddexp2(u, 1)
np.rint(u)
np.rint(b)
np.fabs(u)
np.fmax(b, True)
np.fmin(u, 3)
np.fmax.reduce(v)
np.modf(x, np.zeros((2,3)))
np.frexp(x, np.zeros((2,3)))
np.divmod(i, 2, np.zeros((2,3), int))
np.radians(u)
np.degrees(u)
np.deg2rad(f)
np.rad2deg(v)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_division_of_integers_warns_at_once(name: str) -> None:
    ones, with_zero = xp.ones(10_003, dtype=xp.int64), xp.ones(10_003, dtype=xp.int64)
    with_zero[7] = 0
    for _ in range(2):
        with xp.config(float_warnings=True), pytest.warns(RuntimeWarning, match="divide by zero"):
            getattr(xp, name)(ones, with_zero)


def test_what_a_ufunc_tells_of_itself() -> None:
    if compiled is not None:  # Python's own functions have no such attribute
        assert xp.add.__signature__ == inspect.signature(xp.add)
    for name in ("frexp", "divmod", "matvec"):  # of those made of other functions, what NumPy 2.4 tells
        theirs = getattr(getattr(np, name), "__signature__", None)
        assert theirs is None or inspect.signature(getattr(xp, name)) == theirs
    assert xp.ufunc.reduce is np.ufunc.reduce
    assert xp.add(1, 2, sig="dd->d").dtype == xp.add(1, 2, signature="dd->d").dtype == xp.float64
