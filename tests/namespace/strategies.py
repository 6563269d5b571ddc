"""Arrays for property tests (every dtype, 0-d, empty and size 1, special values), and how to compare them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL_FLOATS = ("float32", "float64")
FLOATS = (*REAL_FLOATS, "complex64", "complex128")
REAL = (*INTEGERS, *REAL_FLOATS)
NUMERIC = (*INTEGERS, *FLOATS)
ALL = ("bool", *NUMERIC)

_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.1, 1e30, 5e-45)


def _elements(dtype: np.dtype, nan: bool) -> st.SearchStrategy[Any]:
    if dtype.kind == "f":
        special = st.sampled_from([v for v in _SPECIAL if nan or v == v])
        return (special | st.floats(-100, 100, width=32)).map(dtype.type)
    if dtype.kind == "c":
        part = _elements(np.dtype(np.float32), nan)
        return st.tuples(part, part).map(lambda p: dtype.type(complex(*p)))
    if dtype.kind == "b":
        return st.booleans()
    info = np.iinfo(dtype)
    return st.integers(max(info.min, -3), 5) | st.integers(int(info.min), int(info.max))


@st.composite
def arrays(
    draw: st.DrawFn, dtypes: tuple[str, ...] = ALL, min_dims: int = 0, min_side: int = 0, nan: bool = True
) -> np.ndarray:
    """Draw a NumPy array."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=3, min_side=min_side, max_side=4))
    return draw(hnp.arrays(dtype, shape, elements=_elements(dtype, nan)))


@st.composite
def axes(draw: st.DrawFn, ndim: int) -> Any:
    """Draw what `axis` takes: None, an int, or a tuple of them, which may be empty or unsorted."""
    if not ndim:
        return draw(st.sampled_from([None, ()]))
    one = st.integers(-ndim, ndim - 1)
    many = st.lists(one, max_size=ndim, unique_by=lambda a: a % ndim).map(tuple)
    return draw(st.none() | one | many)


def same(ours: Any, wanted: Any) -> None:
    """Assert equal shape, dtype and elements, with the signs of zeros; nan equals nan."""
    wanted = np.asarray(wanted)
    assert (ours.shape, ours.dtype) == (wanted.shape, wanted.dtype)
    value = np.asarray(ours)
    np.testing.assert_array_equal(value, wanted)
    if wanted.dtype.kind == "f":
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(value)[known], np.signbit(wanted)[known])


def quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a NumPy function without its floating-point warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*args, **kwargs)
