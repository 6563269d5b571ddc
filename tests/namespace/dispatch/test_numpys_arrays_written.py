"""NumPy's arrays are written into ours as NumPy writes them, at once and without holding on to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp

KEYS: list[Any] = [
    0,
    slice(None),
    slice(1, 3),
    (slice(None), 1),
    (1, 2),
    ...,
    np.array([0, 2]),
    np.arange(12).reshape(3, 4) > 4,
]
SHAPES: list[tuple[int, ...]] = [(), (1,), (4,), (3,), (2, 4), (3, 4), (7,), (5,)]


def outcome(x: Any, key: Any, value: Any) -> Any:
    try:
        x[key] = value
    except (TypeError, ValueError, IndexError):
        return "refused"
    return np.asarray(x).tobytes()


@given(
    st.sampled_from(KEYS),
    st.sampled_from(SHAPES),
    st.sampled_from("?bhilBHILfdFDe"),
    st.sampled_from("?bildfD"),
    st.booleans(),
)
def test_what_is_written_is_what_numpy_writes(
    key: Any, shape: tuple[int, ...], dtype: str, own: str, is_view: bool
) -> None:
    value = np.arange(1, 1 + int(np.prod(shape)) * 2).astype(dtype)[::2].reshape(shape)
    table = np.arange(24).astype(own).reshape(6, 4)
    x = xp.asarray(table)
    mine, theirs = (x[::2], table[::2]) if is_view else (x[:3].copy(), table[:3])
    if np.dtype(dtype).kind == "c" and np.dtype(own).kind != "c":
        return  # NumPy drops the imaginary part with a warning
    if isinstance(key, tuple) and key == (1, 2) and shape:
        return  # what one element takes of arrays differs in NumPy from dtype to dtype
    assert outcome(mine, key, value) == outcome(theirs, key, value)
    if is_view:
        assert np.array_equal(x, table)


def test_a_later_change_is_not_seen() -> None:
    value, x = np.ones(3), xp.zeros(5)
    x[1:4] = value
    value[:] = 7
    assert x.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_memory_that_is_shared_may_overlap() -> None:
    value = np.arange(6.0)
    x = xp.asarray(value, copy=False)
    x[1:] = value[:-1]
    assert x.tolist() == [0.0, 0.0, 1.0, 2.0, 3.0, 4.0]


def test_frozen_arrays_refuse() -> None:
    x = xp.zeros(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[:2] = np.ones(2)
