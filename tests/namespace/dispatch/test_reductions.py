"""Compiled reductions of small arrays give NumPy's bits, and what the Python behind them gives."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.native import compiled
from nabla_array._namespace.dispatch import fastpath
from nabla_array.transforms import vmap

SHAPES = [(1,), (7,), (1000,), (3, 5), (50, 20), (1, 8), (9, 1), (4, 5, 6), (2, 1, 9)]
# Many rows of few elements, which are reduced column by column.
SHAPES += [(8, 2), (1030, 3), (60, 4), (520, 7), (30, 8), (20, 33), (5, 4, 3)]
DTYPES = "?bhilBHILfdFD"
NAMES = ["sum", "prod", "max", "min", "any", "all", "mean", "var", "std"]
SPECIAL = [[0.0, -0.0], [-0.0, -0.0], [1.0, np.inf], [np.inf, -np.inf], [np.nan, 1.0], [1e308, 1e308]]


def axes_of(shape: tuple[int, ...]) -> list[Any]:
    every = range(len(shape))
    some = [c for n in range(2, len(shape) + 1) for c in itertools.combinations(every, n)]
    return [None, *range(-len(shape), len(shape)), *some]


def same(found: Any, wanted: Any, bits: bool = True) -> None:
    a, b = np.asarray(found), np.asarray(wanted)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    if bits:
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a.real), np.signbit(b.real))
    else:
        np.testing.assert_allclose(a, b, rtol=1e-5 if a.dtype == np.float32 else 1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "dtype"), [(n, d) for n in NAMES for d in DTYPES if d not in "FD" or n not in ("max", "min")]
)
def test_bits(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        a: np.ndarray = rng.standard_normal(shape) * 3
        a = a > 0 if dtype == "?" else a.astype(dtype)
        for axis, keepdims in itertools.product(axes_of(shape), (False, True)):
            options = {"axis": axis, "keepdims": keepdims}
            found = getattr(xp, name)(xp.asarray(a), **options)
            exact = dtype not in "FD" or name not in ("var", "std")
            same(found, getattr(np, name)(a, **options), exact)
            same(fastpath.behind(getattr(xp, name))(xp.asarray(a), **options), found, bits=False)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [16_383, 16_384, 20_001, 65_536, 131_073])
def test_bits_of_what_threads_reduce(size: int, dtype: str) -> None:
    a: np.ndarray = np.random.default_rng(size).standard_normal(size) * 3
    a = a > 0 if dtype == "?" else a.astype(dtype)
    x, shape = xp.asarray(a), (size // 3, 3) if size % 3 == 0 else (size, 1)
    for threads, name in itertools.product((1, 3), NAMES):
        if dtype in "FD" and name in ("max", "min"):
            continue
        # Without compiled code, blocks are joined in another order.
        exact = compiled is not None and (dtype not in "FD" or name not in ("var", "std"))
        with xp.config(threads=threads):
            for options in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}):
                same(getattr(xp, name)(x, **options), getattr(np, name)(a, **options), exact)
                # ... of what is pending, which nobody else has, or somebody has
                same(getattr(xp, name)(x == x, **options), getattr(np, name)(a == a, **options), exact)
                if dtype == "?":
                    continue
                wanted = getattr(np, name)(a * a + a, **options)
                same(getattr(xp, name)(x * x + x, **options), wanted, exact)
                square = x * x
                same(getattr(xp, name)(square + x, **options), wanted, exact)
                same(square, a * a)
            same(getattr(xp, name)(xp.reshape(x, shape)), getattr(np, name)(a.reshape(shape)), exact)


def test_faults_of_what_threads_reduce_are_told_of() -> None:
    x = xp.asarray(np.full(50_000, 1e305))
    with xp.config(float_warnings=True, threads=3), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="overflow encountered in reduce"):
            float(xp.sum(x))
        with pytest.raises(RuntimeWarning, match="overflow encountered in multiply"):
            float(xp.max(x * x))
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
            float(xp.mean(x / (x - x)))
        assert xp.max(x) == xp.min(x * 1.0) == 1e305


def test_a_batch_is_reduced_example_by_example() -> None:
    a = np.random.default_rng(0).random((3, 20_000))
    found = vmap(lambda row: xp.sum(row * row))(xp.asarray(a))
    np.testing.assert_allclose(found, (a * a).sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize(
    "shape", [(2048,), (2049,), (5000,), (100_003,), (3, 5001), (5001, 3), (2, 2050, 4), (4, 3, 2049)]
)
def test_bits_of_more_deviations_than_are_made_at_once(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    a = (np.random.default_rng(0).standard_normal(shape) + 3).astype(dtype)
    turned = np.asfortranarray(a)
    for axis in axes_of(shape):
        wanted = getattr(np, name)(a, axis=axis, correction=1)
        same(getattr(xp, name)(xp.asarray(a), axis=axis, correction=1), wanted)
        found = getattr(xp, name)(xp.asarray(turned), axis=axis, correction=1)
        same(found, getattr(np, name)(turned, axis=axis, correction=1), bits=False)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("word", ["ddof", "correction"])
def test_corrections(name: str, word: str) -> None:
    a = np.random.default_rng(0).standard_normal((6, 5))
    for correction, axis in itertools.product((0, 1, 2.5), (None, 0, 1)):
        found = getattr(xp, name)(xp.asarray(a), axis=axis, **{word: correction})
        same(found, getattr(np, name)(a, axis=axis, ddof=correction))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert np.isnan(np.asarray(getattr(xp, name)(xp.asarray(a), axis=0, **{word: 6}))).all()
    with pytest.raises(ValueError, match="simultaneously"):
        getattr(xp, name)(xp.asarray(a), ddof=1, correction=1)


@pytest.mark.parametrize("values", SPECIAL)
@pytest.mark.parametrize("name", NAMES)
def test_faults_are_numpys(name: str, values: list[float]) -> None:
    with warnings.catch_warnings(record=True) as wanted:
        warnings.simplefilter("always")
        value = getattr(np, name)(np.asarray(values))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with xp.config(float_warnings=True):
            same(getattr(xp, name)(xp.asarray(values)), value)
    assert bool(heard) == bool(wanted)


def test_what_is_left_to_python() -> None:
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert xp.sum(x, axis=(1, 0)) == 10
    assert xp.sum(x.T, axis=0).tolist() == [3.0, 7.0]
    assert xp.sum(x, dtype=xp.float32).dtype == xp.float32
    assert xp.max(x, initial=9.0) == 9
    assert xp.sum(x, where=x > 1) == 9
    with pytest.raises((ValueError, IndexError), match="axis"):
        xp.sum(x, axis=2)
    with pytest.raises(ValueError, match="axis"):
        xp.mean(x, axis=(0, 0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("width", [2, 3, 7])
def test_short_rows_of_special_values(name: str, dtype: str, width: int) -> None:
    values = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e30], dtype)
    a = np.stack([x.ravel() for x in np.meshgrid(*[values] * min(width, 4))], axis=-1)
    a = np.ascontiguousarray(np.concatenate([a, np.repeat(a[:, :1], width - a.shape[1], axis=1)], axis=1))
    found, wanted = getattr(xp, name)(xp.asarray(a), axis=1), getattr(np, name)(a, axis=1)
    np.testing.assert_array_equal(found, wanted)
    if name not in ("max", "min"):  # of two zeros either is the larger one
        known = ~np.isnan(wanted) if wanted.dtype != bool else slice(0)
        np.testing.assert_array_equal(np.signbit(np.asarray(found))[known], np.signbit(wanted)[known])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
@pytest.mark.parametrize("width", [2, 3, 7, 8, 32, 33])
def test_short_rows_of_large_arrays(name: str, width: int) -> None:
    for dtype in "?hldfFD" if name not in ("max", "min") else "?hldf":
        a = (np.random.default_rng(width).standard_normal((9_000_000 // width // 8, width)) * 3).astype(dtype)
        found, wanted = getattr(xp, name)(xp.asarray(a), axis=1), getattr(np, name)(a, axis=1)
        same(found, wanted)


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("dtype", "FD")
@pytest.mark.parametrize("shape", [(20, 3), (9, 8), (10, 4), (4, 4, 4)])
def test_short_rows_of_complex_numbers_are_rounded_as_numpys(
    name: str, dtype: str, shape: tuple[int, ...]
) -> None:
    real, imag = np.random.default_rng(1).standard_normal((2, *shape))
    a = (real + 1j * imag).astype(dtype)
    for axis in axes_of(shape):
        same(getattr(xp, name)(xp.asarray(a), axis=axis), getattr(np, name)(a, axis=axis))


@pytest.mark.skipif(compiled is None, reason="compiled code checks what it is given")
def test_rows_that_compiled_code_leaves_or_refuses() -> None:
    assert compiled is not None
    table, out = np.ones((20, 3)), np.empty(20)
    assert compiled.reduce_rows(table, out, np.add)
    assert np.array_equal(out, np.full(20, 3.0))
    assert not compiled.reduce_rows(np.ones((20, 8)), out, np.add)  # NumPy adds eight at a time
    assert not compiled.reduce_rows(table * 1e308, out, np.add)  # NumPy warns of the overflow
    assert not compiled.reduce_rows(table, out, np.logical_or)  # which gives bools
    for given, to in (
        (table.T, out),
        (table[:, ::2], out),
        (table, out[:5]),
        (table, out.astype("f")),
        (out, out),
    ):
        with pytest.raises(TypeError, match="reduce_rows: needs a table in C order"):
            compiled.reduce_rows(given, to, np.add)
