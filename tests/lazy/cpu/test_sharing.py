"""Whole calls on threads, against NumPy."""

from __future__ import annotations

import itertools
import math
from unittest.mock import patch

import numpy as np
import pytest

from nabla_array._lazy.config import config
from nabla_array._lazy.cpu import calls, sharing
from nabla_array._lazy.cpu.calls import whole
from nabla_array._lazy.graph.primitive import Primitive, as_value
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import fourier, ordering, reduction
from nabla_array._lazy.ops.reduction import reduce_max, reduce_prod, reduce_sum

from ..execution import assert_same


def test_what_numpy_gives_are_arrays_or_tuples_of_them() -> None:
    x = np.ones(3)
    assert as_value(x) is x
    one = as_value(np.float32(2.5))
    assert type(one) is np.ndarray
    assert (one.shape, one.dtype, one[()]) == ((), np.float32, 2.5)
    pair = as_value((x, np.int8(3)))
    assert pair[0] is x
    assert [type(y) for y in pair] == [np.ndarray] * 2


REDUCED = [
    (reduce_sum, "float64"),
    (reduce_sum, "float32"),
    (reduce_sum, "int64"),
    (reduce_max, "float32"),
    (reduce_prod, "uint8"),
    (reduce_sum, "complex128"),
]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("prim", "dtype"), REDUCED, ids=str)
def test_reductions_on_threads_have_the_bits_of_one_call(prim: Primitive, dtype: str, threads: int) -> None:
    rng = np.random.default_rng(threads)
    for shape in ((30_001,), (1, 9_999), (100, 301), (40, 17, 30), (3, 10_000), (2, 3, 4_000), (70_000, 1)):
        x = (rng.standard_normal(shape) * 100).astype(dtype)
        if dtype[0] == "f":
            x.flat[7] = -0.0
        for n in range(x.ndim + 1):
            for axes in itertools.combinations(range(x.ndim), n):
                for order in itertools.permutations(range(x.ndim)):
                    y, own = x.transpose(order), tuple([order.index(a) for a in axes])
                    with (
                        patch.object(sharing, "_SHARED", 0),
                        patch.object(calls, "_SHARED", 0),
                        config(threads=threads),
                    ):
                        got = as_value(whole(prim, y)(y, axes=own))
                    width = math.prod(x.shape[n:])  # rows of more than half of what is wide stay as they are
                    is_exact = axes != tuple(range(n)) or n == x.ndim or 2 * width > sharing._WIDE
                    assert_same(got, as_value(prim.host(y, axes=own)), is_exact)


def test_what_is_small_or_strided_or_would_be_rounded_otherwise_is_one_call() -> None:
    x = np.ones((100, 100))
    assert whole(reduce_sum, x) is reduce_sum.host
    with patch.object(calls, "_SHARED", 0):
        assert whole(reduce_sum, x) is not reduce_sum.host
        assert whole(reduce_sum, x.T) is not reduce_sum.host
        assert whole(reduce_sum, x[:, ::2]) is reduce_sum.host
        assert whole(reduce_sum, x.astype(np.float16)) is reduce_sum.host
        assert whole(reduce_prod, x) is reduce_prod.host
        assert whole(e.exp, x) is e.exp.host


@pytest.mark.parametrize("char", "fdilB")
@pytest.mark.parametrize("shape", [(40_000, 20), (700_003, 1), (90, 50, 211), (3, 400_000)])
def test_first_axes_are_reduced_on_threads(char: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = (100 * rng.standard_normal(shape)).astype(char)
    for prim in (reduction.reduce_sum, reduction.reduce_max):
        for axes in {(0,), tuple(range(len(shape) - 1))}:
            found = whole(prim, x)(x, axes=axes)
            expected = prim.host(x, axes)
            assert found.dtype == expected.dtype
            if prim is reduction.reduce_sum and char in "fd":
                exact = x.astype(np.longdouble).sum(axes)
                assert np.abs(found - exact).max() <= max(np.abs(expected - exact).max(), 1e-9)
            else:
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(300_000,), (7, 40_000), (40_000, 7), (3, 500, 200)])
def test_calls_by_rows_give_on_threads_what_they_give_whole(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    many = rng.integers(-1000, 1000, shape).astype(float)
    many.reshape(-1)[::1001] = np.nan
    for axis in range(len(shape)):
        for descending in (False, True):
            for prim in (ordering.sort, ordering.argsort):
                params = {"axis": axis, "descending": descending, "stable": True}
                found = whole(prim, many)(many, **params)
                np.testing.assert_array_equal(found, prim.host(many, **params))
        params = {"n": shape[axis] - 1, "axis": axis, "norm": "ortho"}
        clean = np.nan_to_num(many)
        found = whole(fourier.rfft, clean)(clean, **params)
        np.testing.assert_allclose(found, fourier.rfft.host(clean, **params), atol=1e-9)
        found = whole(reduction.cumsum, clean)(clean, axis=axis)
        np.testing.assert_array_equal(found, reduction.cumsum.host(clean, axis=axis))
