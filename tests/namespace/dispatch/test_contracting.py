"""Sums of products as matrix products, against NumPy's sums of the products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled
from nabla_array._namespace.dispatch.contracting import _layout, sum_of_product

from ...recorded import everything_recorded

pytestmark = pytest.mark.skipif(
    compiled is None, reason="without the compiled module, small products are not pending"
)


def product(a: np.ndarray, b: np.ndarray) -> xp.Array:
    """Return a pending product."""
    return xp.asarray(a) * xp.asarray(b)


def random(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


# The shapes of two factors, and what is summed over.
PRODUCTS = {
    "a product of matrices": ((20, 30, 1), (1, 30, 40), 1),
    "turned round": ((1, 30, 40), (20, 30, 1), 1),
    "two axes summed": ((9, 5, 8, 1), (1, 5, 8, 12), (1, 2)),
    "rows last": ((7, 1, 11), (7, 13, 1), 0),
    "axes in another order": ((1, 10, 6, 1, 9), (8, 10, 1, 5, 1), 1),
    "counted from the end": ((20, 30, 1), (1, 30, 40), -2),
    "a single row": ((1, 30, 1), (1, 30, 40), 1),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_matrix_products_are_those_sums(name: str, dtype: str) -> None:
    first, second, axis = PRODUCTS[name]
    a, b = random(*first, dtype=dtype), random(*second, dtype=dtype)
    found = sum_of_product(product(a, b), axis)
    assert found is not None
    wanted = np.sum(a * b, axis=axis)
    got = np.asarray(found)
    assert (got.dtype, got.shape, got.flags.c_contiguous) == (wanted.dtype, wanted.shape, True)
    exact = np.sum(a.astype(np.longdouble) * b, axis=axis)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, exact, rtol=0, atol=30 * eps * np.abs(exact).max())


@pytest.mark.parametrize(
    ("a", "b", "axis"),
    [
        (random(20, 30), random(20, 30), 0),
        (random(20, 30), random(20, 30), 1),
        (random(20, 1, 30), random(1, 30, 30), 2),
        (random(5, 6), random(5, 6), 0),
        (random(20, 30, 1).astype("c16"), random(1, 30, 40).astype("c16"), 1),
        (np.ones((20, 30, 1), int), np.ones((1, 30, 40), int), 1),
        (random(600, 1), random(600, 1), 0),
        (random(20, 30, 1), random(1, 30, 40), 0),
        (random(20, 30, 1), random(1, 30, 40), (1, 1)),
        (random(20, 30, 1), random(1, 30, 40), 3),
        (random(20, 30, 1), random(1, 30, 40), None),
    ],
    ids=[
        *("both have both", "the last axis", "the last axis of three", "few elements", "complex numbers"),
        *("integers", "nothing to multiply", "an axis of one factor", "an axis twice", "no such axis"),
        "all axes",
    ],
)
def test_other_sums_are_left_to_sum(a: np.ndarray, b: np.ndarray, axis: Any) -> None:
    assert sum_of_product(product(a, b), axis) is None


@pytest.mark.parametrize(
    "options",
    [{"dtype": float}, {"out": xp.zeros((20, 40))}, {"keepdims": True}, {"initial": 1}, {"where": [True]}],
)
def test_sums_with_options_are_left_to_sum(options: dict[str, Any]) -> None:
    assert sum_of_product(product(random(20, 30, 1), random(1, 30, 40)), 1, **options) is None


def test_pending_factors_are_not_computed_for_it() -> None:
    with everything_recorded():
        pending = xp.exp(xp.asarray(random(200, 300, 1)))
        both = pending * xp.asarray(random(1, 300, 4))
    assert sum_of_product(both, 1) is None
    assert pending._node.value is None


@given(st.data())
def test_layouts_describe_the_sum(data: st.DataObject) -> None:
    """What a layout says, done by NumPy with integers, is the sum of the products, exactly."""
    ndim = data.draw(st.integers(2, 4))
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=ndim, max_size=ndim)))
    repeats = data.draw(st.lists(st.sampled_from(["a", "b", ""]), min_size=ndim, max_size=ndim))
    axis = tuple(data.draw(st.lists(st.integers(-ndim, ndim - 1), min_size=1, max_size=2)))
    rng = np.random.default_rng(0)
    a, b = [
        np.broadcast_to(
            rng.integers(-9, 9, [1 if here == name else n for n, here in zip(shape, repeats, strict=True)]),
            shape,
        )
        for name in "ab"
    ]
    layout = _layout(shape, a.strides, b.strides, axis)
    if layout is None:
        return
    key, axes, other_key, other_axes, inner, kept, order = layout
    left = a[key].transpose(axes).reshape(-1, inner)
    right = b[other_key].transpose(other_axes).reshape(inner, -1)
    found = (left @ right).reshape(kept)
    np.testing.assert_array_equal(
        found if order is None else found.transpose(order), np.sum(a * b, axis=axis)
    )


def test_sum_takes_the_short_way() -> None:
    image, kernel = random(1, 40, 40), random(12, 40, 1)
    got = xp.sum(xp.asarray(image) * xp.asarray(kernel), axis=1)
    np.testing.assert_allclose(np.asarray(got), np.sum(image * kernel, axis=1), rtol=1e-12, atol=1e-12)
