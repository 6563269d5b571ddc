"""Sums, means and extremes against NumPy, bit for bit."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nabla_array as xp

from ..strategies import ALL, FLOATS, REAL_FLOATS, arrays, axes, quietly, same

REDUCTIONS = ("sum", "prod", "max", "min", "mean", "var", "std")


@pytest.mark.parametrize("name", REDUCTIONS)
@given(x=arrays(ALL, min_side=1), data=st.data())
def test_reductions_give_numpys_bits(name, x, data):
    axis = data.draw(axes(x.ndim))
    keepdims = data.draw(st.booleans())
    wanted = quietly(getattr(np, name), x, axis=axis, keepdims=keepdims)
    same(getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keepdims), wanted)


@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), ()])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_reductions_of_nothing(name, axis, shape):
    x = np.ones(shape, np.float32)
    same(getattr(xp, name)(xp.asarray(x), axis=axis), quietly(getattr(np, name), x, axis=axis))


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_nothing(name):
    x = xp.asarray(np.ones((0, 3)))
    assert getattr(xp, name)(x, axis=1).shape == (0,)
    with pytest.raises(ValueError, match=rf"^{name}: no value for an empty axis: shape \(0, 3\) over"):
        getattr(xp, name)(x, axis=0)


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", ALL)
def test_dtype_of_totals(name, dtype):
    x = np.ones(3, dtype)
    for wanted in (None, "complex128") if x.dtype.kind == "c" else (None, "float32", "int64", "complex128"):
        same(getattr(xp, name)(xp.asarray(x), dtype=wanted), getattr(np, name)(x, dtype=wanted))


@given(x=arrays(FLOATS, min_side=1), correction=st.sampled_from([0, 1, 0.5, 2]), data=st.data())
def test_correction(x, correction, data):
    axis = data.draw(axes(x.ndim))
    count = x.size // np.any(x, axis=axis).size
    assume(count > correction)
    for name in ("var", "std"):
        wanted = quietly(getattr(np, name), x, axis=axis, correction=correction)
        same(getattr(xp, name)(xp.asarray(x), axis=axis, correction=correction), wanted)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("correction", [2, 3, 2.5])
def test_too_much_correction_is_nan(name, correction):
    """As the standard has it; NumPy divides by 0."""
    assert np.isnan(getattr(xp, name)(xp.asarray([1.0, 2.0]), correction=correction))


def test_half_precision_mean_sums_in_single():
    x = np.full(5000, 60.0, np.float16)
    same(xp.mean(xp.asarray(x)), np.mean(x))


def test_mean_over_more_elements_than_the_dtype_counts():
    x = np.ones((1 << 24) + 1, np.float32)
    same(xp.mean(xp.asarray(x)), np.mean(x))


@given(x=arrays(REAL_FLOATS, min_dims=1), include=st.booleans(), data=st.data())
def test_cumulative(x, include, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    for name in ("cumulative_sum", "cumulative_prod"):
        wanted = quietly(getattr(np, name), x, axis=axis, include_initial=include)
        same(getattr(xp, name)(xp.asarray(x), axis=axis, include_initial=include), wanted)


def test_cumulative_without_axis():
    same(xp.cumulative_sum(xp.asarray(3)), [3])
    with pytest.raises(ValueError, match=r"^cumulative_prod: axis must be given for shape \(2, 2\)"):
        xp.cumulative_prod(xp.asarray([[1, 2], [3, 4]]))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_that_are_not_there(name):
    x = xp.asarray([[1.0, 2.0]])
    with pytest.raises(np.exceptions.AxisError, match=rf"^{name}: axis 2 is out of bounds"):
        getattr(xp, name)(x, axis=2)
    with pytest.raises(ValueError, match=rf"^{name}: an axis stands twice in \(0, -2\)"):
        getattr(xp, name)(x, axis=(0, -2))


def test_large_arrays_agree_to_rounding():
    """Here fusion groups are run in blocks, which sums in another order."""
    x = np.random.default_rng(0).standard_normal((300, 1000))
    for name in REDUCTIONS:
        for axis in (None, 0, 1):
            ours = getattr(xp, name)(xp.asarray(x) * 1.0, axis=axis)
            np.testing.assert_allclose(
                np.asarray(ours), getattr(np, name)(x, axis=axis), rtol=1e-12, atol=1e-9
            )


def test_lists_and_numpy_arrays():
    same(xp.sum([1, 2, 3]), np.int64(6))
    same(xp.max(np.asarray([1.0, 2.0])), np.float64(2))


def test_a_sum_of_nothing_is_what_it_begins_with() -> None:
    for initial in (-0.0, np.float32(-0.0), 2.5):
        found, wanted = (m.sum(m.zeros((0, 2), dtype=m.float32), axis=0, initial=initial) for m in (xp, np))
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(np.signbit(np.asarray(found)), np.signbit(wanted))
        np.testing.assert_array_equal(found, wanted)
