"""Masks as keys, and products of vectors, that compiled code answers: NumPy's elements, bits and errors."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as na

SHAPES = [(1,), (7,), (8,), (33,), (100, 3), (16384,), (16385,), (260, 256), (70_000,)]


def _outcome(x: Any, mask: Any, new: Any) -> tuple[bytes, type | None]:
    try:
        x[mask] = new
    except (IndexError, OverflowError, TypeError, ValueError) as error:
        return np.asarray(x).tobytes(), type(error)
    return np.asarray(x).tobytes(), None


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(SHAPES),
    st.sampled_from("?bhilBfdFD"),
    st.sampled_from([0.0, 0.001, 0.4, 0.97, 1.0]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_chosen_elements_are_numpys(
    shape: tuple[int, ...], letter: str, share: float, in_runs: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.random(shape) * 100).astype(letter)
    mask = rng.random(shape) < share
    if in_runs:
        mask = np.repeat(mask.ravel()[: -(-mask.size // 50)], 50)[: mask.size].reshape(shape)
    for whole in (x, x[..., 1:], x.T):  # some whose elements do not lie side by side
        chosen = mask if whole.shape == shape else rng.random(whole.shape) < share
        ours, key = na.asarray(whole.copy()), na.asarray(chosen)
        np.testing.assert_array_equal(np.asarray(ours[key]), whole[chosen])
        kept = whole[chosen]
        for new in (kept[::-1], kept[:1].sum(), 3, 2.5, -1, True, kept[:-2], kept + 0.5):
            given_ours = na.asarray(new.copy()) if isinstance(new, np.ndarray) else new
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = _outcome(na.asarray(whole.copy()), key, given_ours)
                wanted = _outcome(np.array(whole, order="C"), chosen, new)
            assert found == wanted, (whole.shape, new)


def test_any_byte_but_zero_is_true() -> None:
    x = np.arange(100.0)
    mask = np.arange(100, dtype=np.uint8).view(bool)
    assert list(np.asarray(na.asarray(x)[na.asarray(mask)])) == list(range(1, 100))


def test_a_mask_over_its_own_array() -> None:
    mask = na.asarray(np.arange(100) % 3 == 0)
    mask[mask] = False
    assert not na.any(mask)
    x = na.arange(100.0)
    x[x > 50] = x[x < 49]
    wanted = np.arange(100.0)
    wanted[wanted > 50] = wanted[wanted < 49]
    np.testing.assert_array_equal(np.asarray(x), wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("step", [1, 3, -1])
@pytest.mark.parametrize("n", [1, 5, 64, 1000, 20_000])
def test_products_of_vectors_have_numpys_bits(n: int, step: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    table = rng.standard_normal((n * abs(step), 2)).astype(dtype)
    ours = na.asarray(table)
    for at in (0, 1):
        a, b = table[::step, 0], table[::step, at]
        x, y = ours[::step, 0], ours[::step, at]
        assert np.asarray(x @ y).tobytes() == np.asarray(a @ b).tobytes()
        assert np.asarray(na.dot(x, y)).tobytes() == np.asarray(np.dot(a, b)).tobytes()


def test_a_product_that_overflows_is_told_of_as_numpys() -> None:
    big = np.full(40, 1e200)
    table = na.asarray(np.stack([big, big], axis=1))
    with na.errstate(all="raise"), np.errstate(all="raise"):
        for xs in (table, np.asarray(table)):
            with pytest.raises(FloatingPointError):
                float(xs[:, 0] @ xs[:, 1])


def test_objects_that_are_kept_for_the_next_begin_anew() -> None:
    for _ in range(3):
        made = [na.asarray(np.arange(20.0))[k:] for k in range(19)]
        seen = [weakref.ref(x) for x in made]
        assert [float(x[0]) for x in made] == list(range(19))
        del made
        assert not any(r() for r in seen)
    x = na.zeros(4)
    view = x[1:]
    view += 1.0
    assert list(x) == [0, 1, 1, 1]
    assert view.base is not None


def test_a_subclass_lets_go_of_all_it_holds() -> None:
    class Noted(na.Array):
        __slots__ = ("note",)

    class Mark:
        pass

    mark = Mark()
    gone = weakref.ref(mark)
    x = object.__new__(Noted)
    x.note = mark
    del mark
    assert gone() is not None
    del x
    assert gone() is None
