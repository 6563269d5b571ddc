"""Arrays that are drawn, and how calls with them end."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._namespace.dispatch import fastpath
from nabla_array._namespace.interop.functions import HostFallbackWarning

needs_compiled = pytest.mark.skipif(fastpath.compiled is None, reason="nothing is compiled: no compiler")

DTYPES = list("?bhilBHILfdFD")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 127.0, 255.0, 1e30, np.inf, -np.inf, np.nan]
NUMBERS = [
    True,
    False,
    0,
    1,
    -1,
    3,
    40,
    200,
    -129,
    2**40,
    0.0,
    -0.0,
    0.5,
    -2.0,
    np.inf,
    np.nan,
    np.float64(1.5),
]
SHAPES = [(), (3,), (1,), (2, 3), (3, 1), (0,)]


def words(text: str) -> list[str]:
    return text.split()


# These are given finite elements: the ways meet inf and nan in another order.
FINITE = words("gradient unwrap i0 nansum nanprod nanmean nanstd nanvar cov corrcoef polyfit")
FINITE += words("polyadd polysub tensordot vander fft ifft rfft irfft fft2 cumprod")
FINITE += words("solve inv det slogdet pinv matrix_rank eig eigvals eigvalsh lstsq matrix_power cond roots")
FINITE += words("multi_dot nancumsum nancumprod")


def part(draw: Any, values: list[float] = SPECIAL) -> np.ndarray:
    """Draw elements of any dtype, special ones among them."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.sampled_from(SHAPES))
    elements = np.array(draw(st.lists(st.sampled_from(values), min_size=6, max_size=6)))
    with np.errstate(all="ignore"):
        return np.resize(elements.astype(dtype), shape)


def read(value: np.ndarray) -> Any:
    """Return an array that is a part of another."""
    return xp.asarray(np.stack([value, value]))[1]


def outcome(function: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """Return what a call gives, or the class of what it raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = function(*args)
            value = np.asarray(result)
        except Exception as error:  # compared by its class
            return type(error), []
        if result is NotImplemented:
            return result, []
    found = (type(result), value.dtype, value.shape, value.tobytes())
    # A way out to NumPy is told of once.
    return found, sorted({str(w.message) for w in told if w.category is not HostFallbackWarning})


def outcomes(function: Callable[..., Any], *args: Any) -> list[Any]:
    """Return the outcome for each array that a call gives, and where it gives several, what they lie in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*args)
        except Exception:  # compared by `outcome`
            result = None
    if not isinstance(result, tuple | list):
        return [outcome(function, *args)]
    return [type(result), *(outcome(lambda i=i: function(*args)[i]) for i in range(len(result)))]
