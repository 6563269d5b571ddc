"""Avals: shapes and dtypes, kept one of a kind, and shapes that no array can have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph import aval as avals
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


def test_an_aval_that_is_held_stays_the_one_when_the_last_are_let_go_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where a finalizer asks for one in between, and has them let go of itself."""
    double, held = np.dtype(float), aval_of((5, 77), np.dtype(float))
    update, finalizers, asked = avals._table.update, [(6, 77)], []

    def interrupted(items: Any) -> None:
        update(items)
        if finalizers:
            asked.append(aval_of(finalizers.pop(), double))

    monkeypatch.setattr(avals, "_KEPT", 1)
    monkeypatch.setattr(avals._table, "update", interrupted)
    made = aval_of((7, 77), double)
    assert len(asked) == 1
    assert (5, 77) not in [shape for shape, _ in avals._recent]
    assert aval_of((5, 77), double) is held
    assert aval_of((6, 77), double) is asked[0]
    assert aval_of((7, 77), double) is made
