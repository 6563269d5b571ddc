"""Products, diagonals and norms, against NumPy; and the checks that all of `linalg` makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import LinAlgError

import nabla_array as xp
from nabla_array._namespace.chapters.linalg_basics import floats, lapack, matrices

DTYPES = ["int8", "uint8", "int64", "float32", "float64", "complex64", "complex128"]


def values(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    x = rng.integers(0, 5, shape)
    return (x + 1j * rng.integers(0, 5, shape)).astype(dtype) if dtype[0] == "c" else x.astype(dtype)


def same(got: xp.Array, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    found = np.asarray(got)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    eps = np.finfo(found.dtype).eps if found.dtype.kind in "fc" else 0
    np.testing.assert_allclose(found, wanted, rtol=20 * eps, atol=20 * eps)


@pytest.mark.parametrize("dtype", ["bool", *DTYPES])
def test_what_linalg_computes_with(dtype: str) -> None:
    x = xp.asarray(np.ones((2, 2), dtype))
    wanted = np.dtype(dtype) if dtype[0] in "fc" else np.dtype("f8")
    assert floats("f", x).dtype == wanted
    assert lapack("f", x).dtype == wanted


def test_half_precision_is_not_lapacks() -> None:
    x = xp.ones((2, 2), dtype="float16")
    assert floats("f", x).dtype == np.float16
    with pytest.raises(TypeError, match="f: needs float32, float64, complex64 or complex128, not float16"):
        lapack("f", x)


def test_matrices_have_two_axes() -> None:
    with pytest.raises(LinAlgError, match=r"f: needs matrices \(two axes or more\), not shape \(3,\)"):
        matrices("f", xp.ones(3))
    with pytest.raises(LinAlgError, match=r"f: needs square matrices, not shape \(2, 3\)"):
        matrices("f", xp.ones((2, 3)), square=True)
    assert matrices("f", xp.ones((4, 2, 3))).shape == (4, 2, 3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [-4, -1, 0, 2, 9])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 0, 3)])
def test_diagonals_and_traces(shape: tuple[int, ...], offset: int, dtype: str) -> None:
    x = values(shape, dtype)
    same(xp.linalg.diagonal(xp.asarray(x), offset=offset), np.linalg.diagonal(x, offset=offset))
    same(xp.linalg.trace(xp.asarray(x), offset=offset), np.linalg.trace(x, offset=offset))


def test_a_trace_is_summed_in_a_dtype() -> None:
    x = values((3, 3), "int8")
    same(xp.linalg.trace(xp.asarray(x), dtype=np.float32), np.linalg.trace(x, dtype=np.float32))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("a", "b", "axis"), [((3,), (3,), -1), ((4, 3), (3,), -1), ((3, 4), (3, 4), 0), ((2, 3, 1), (3, 5), -2)]
)
def test_cross(a: tuple[int, ...], b: tuple[int, ...], axis: int, dtype: str) -> None:
    x, y = values(a, dtype), values(b, dtype)[::-1]
    got = xp.linalg.cross(xp.asarray(x), xp.asarray(y), axis=axis)
    same(got, np.linalg.cross(*np.broadcast_arrays(x, y), axis=axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_outer(dtype: str) -> None:
    x, y = values((4,), dtype), values((0,), dtype)
    same(xp.linalg.outer(xp.asarray(x), xp.asarray(x)), np.linalg.outer(x, x))
    same(xp.linalg.outer(xp.asarray(x), xp.asarray(y)), np.linalg.outer(x, y))


@given(st.integers(-3, 12), st.sampled_from(["int64", "float64", "complex128"]))
def test_matrix_power(n: int, dtype: str) -> None:
    x = values((2, 3, 3), dtype) + 9 * np.eye(3, dtype=dtype)
    got = np.asarray(xp.linalg.matrix_power(xp.asarray(x), n))
    wanted = np.linalg.matrix_power(x, n)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())


def test_matrix_power_is_no_view() -> None:
    x = xp.eye(2)
    y = xp.linalg.matrix_power(x, 1)
    y[0, 0] = 5
    assert x[0, 0] == 1


def test_a_singular_matrix_has_no_negative_power() -> None:
    with pytest.raises(LinAlgError, match="matrix_power"):
        xp.linalg.matrix_power(xp.ones((2, 2)), -1)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("keepdims", [False, True])
def test_matrix_norms(ord: Any, keepdims: bool, dtype: str) -> None:
    x = values((2, 4, 3), dtype)
    got = xp.linalg.matrix_norm(xp.asarray(x), ord=ord, keepdims=keepdims)
    wanted = np.linalg.matrix_norm(x, ord=ord, keepdims=keepdims)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("ord", [0, 1, 2, 3, -1, 0.5, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_vector_norms(ord: float, axis: Any, keepdims: bool, dtype: str) -> None:
    x = values((2, 4, 3), dtype) + 1
    got = xp.linalg.vector_norm(xp.asarray(x), ord=ord, axis=axis, keepdims=keepdims)
    wanted = np.linalg.vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)
    assert got.shape == wanted.shape
    assert got.dtype == (np.float32 if dtype == "float32" else np.float64)
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_the_largest_of_nothing_is_0() -> None:
    assert xp.linalg.vector_norm(xp.zeros((0,)), ord=np.inf) == 0
    assert xp.linalg.matrix_norm(xp.zeros((0, 3)), ord=1) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: xp.linalg.cross(xp.ones((2, 2)), xp.ones((2, 2))),
            "cross: input arrays must be \\(arrays of\\) 3-dimensional vectors",
        ),
        (lambda: xp.linalg.outer(xp.ones((2, 2)), xp.ones(2)), "outer: Input arrays must be one-dimensional"),
        (lambda: xp.linalg.matrix_norm(xp.ones((2, 2)), ord=3), "matrix_norm: no norm of order 3; 'fro'"),
        (lambda: xp.linalg.matrix_norm(xp.ones((0, 2)), ord=-2), "matrix_norm: no smallest element"),
        (lambda: xp.linalg.vector_norm(xp.ones(2), ord="fro"), "vector_norm: no norm of order 'fro' for vec"),
        (lambda: xp.linalg.vector_norm(xp.ones(0), ord=-np.inf), "vector_norm: no smallest element along an"),
    ],
)
def test_errors_name_the_function(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
