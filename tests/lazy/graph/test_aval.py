"""Avals: shapes and dtypes, kept one of a kind, and shapes that no array can have."""

from __future__ import annotations

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import MOST_AXES, TooBigError, aval_of, check_size


@pytest.mark.parametrize("shape", [(), (3,), (0, 4), (2, 3, 4), (1,) * MOST_AXES])
@pytest.mark.parametrize("char", "?bBhHiIlLefdFD")
def test_an_aval_has_numpys_size(shape: tuple[int, ...], char: str) -> None:
    x = np.zeros(shape, char)
    aval = aval_of(shape, x.dtype)
    assert (aval.shape, aval.dtype, aval.nbytes) == (x.shape, x.dtype, x.nbytes)
    assert aval is aval_of(x.shape, np.dtype(char))


def test_avals_differ_by_shape_and_by_dtype() -> None:
    every = [aval_of(s, np.dtype(c)) for s in ((), (1,), (1, 1), (0,)) for c in "?bdF"]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("shape", [(2**31, 2**31, 2), (2**62, 2)])
def test_a_shape_that_is_too_big_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(TooBigError):
        check_size(shape, 8)
    with pytest.raises(ValueError, match=r"array is too big|Maximum allowed"):
        np.zeros(shape)
