"""Operators on few elements run NumPy's loops without NumPy's calls; they give what those give."""

from __future__ import annotations

import itertools
import operator
from inspect import signature
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.chapters import elementwise

TABLE = (np.arange(24) % 5).reshape(4, 6)
KEYS: list[Any] = [
    (0,),
    (0, slice(None, None, -1)),
    (slice(None), 1),
    (slice(1, 3), slice(2)),
    (slice(0),),
    (0, 0),
]


def assert_alike(mine: Any, wanted: Any) -> None:
    assert (mine.dtype, mine.shape) == (wanted.dtype, wanted.shape)
    assert np.asarray(mine).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", list("?bhilBHILfdFD"))
@pytest.mark.parametrize("key", KEYS)
@np.errstate(all="ignore")
def test_they_are_numpys_however_they_lie(dtype: str, key: Any) -> None:
    table = TABLE.astype(dtype)
    ours = xp.asarray(table)
    a, x, one, mine = table[key], ours[key], table[1, 2], ours[1, 2]
    for f in (operator.mul, operator.truediv, operator.lt, operator.ne):
        for b, y in ((a, x), (one, mine), (2, 2)):
            assert_alike(f(x, y), f(a, b))
            assert_alike(f(y, x), f(b, a))
        assert_alike(f(x.T, x.T), f(a.T, a.T))
    assert_alike(xp.abs(x), np.abs(a))
    assert_alike(xp.sin(x.T), np.sin(a.T))


REALS = [0.0, -0.0, 0.3, -2.5, 800.0, np.inf, -np.inf, np.nan]
GRIDS = {dtype: np.array(REALS, dtype) for dtype in "efd"}
GRIDS |= {dtype: np.empty((8, 8), dtype) for dtype in "FD"}
# Functions that are not NumPy's where numbers are infinite.
ODD = [("floor_divide", c) for c in "efd"] + [(name, c) for name in ("tanh", "expm1") for c in GRIDS]
for grid in (GRIDS["F"], GRIDS["D"]):
    grid.real, grid.imag = np.meshgrid(REALS, REALS)


@pytest.mark.parametrize(("name", "dtype"), ODD)
@np.errstate(all="ignore")
def test_few_special_values_give_what_each_gives_alone(name: str, dtype: str) -> None:
    function, grid = getattr(xp, name), GRIDS[dtype].reshape(-1)
    others = [(y,) for y in grid] if name == "floor_divide" else [()]
    for i, other in itertools.product(range(grid.size - 2), others):
        few = grid[i : i + 3]
        got = np.asarray(function(*map(xp.asarray, (few, *other))))
        wanted = [np.asarray(function(*map(xp.asarray, (x, *other)))) for x in few]
        np.testing.assert_allclose(got, np.asarray(wanted), rtol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", GRIDS)
@pytest.mark.parametrize("name", elementwise.__all__)
@np.errstate(all="ignore")
def test_one_special_value_gives_what_it_gives_among_many(name: str, dtype: str) -> None:
    function, grid = getattr(xp, name), GRIDS[dtype].reshape(-1)
    given = [
        p
        for p in signature(function).parameters.values()
        if p.default is p.empty and p.kind < p.VAR_POSITIONAL
    ]
    operands = (grid, grid[::-1].copy())[: len(given)]
    try:
        many = np.asarray(function(*map(xp.asarray, operands)))
    except TypeError:
        with pytest.raises(TypeError):
            function(*(xp.asarray(x[0]) for x in operands))
        return
    for _ in range(2):  # natively from the second call on
        ones = [function(*map(xp.asarray, xs)) for xs in zip(*operands, strict=True)]
        got = np.asarray([np.asarray(one) for one in ones])
        assert got.dtype == many.dtype
        np.testing.assert_allclose(got, many, rtol=16 * np.finfo(dtype).eps)


def test_they_tell_of_faults() -> None:
    xp.seterr(divide="raise")
    try:
        with pytest.raises(FloatingPointError, match="divide by zero"):
            bool((1.0 / xp.asarray([1.0, 0.0]))[0])
    finally:
        xp.seterr(divide="warn")


@pytest.mark.parametrize("dtype", list("bhil"))
def test_the_least_integer_divided_by_minus_one_overflows(dtype: str) -> None:
    x = xp.full(3, np.iinfo(dtype).min, dtype=dtype)
    y = xp.full(3, -1, dtype=dtype)
    with xp.config(float_warnings=True):
        for _ in range(2):
            for a, b in ((x, y), (x, y[0]), (x[0], y), (x[0], y[0])):
                with pytest.warns(RuntimeWarning, match="overflow"):
                    found = np.asarray(a // b)
                assert (found == np.iinfo(dtype).min).all()


def test_iterations_end_as_numpys() -> None:
    for x in (xp.asarray([1.0, 2.0]), xp.ones((2, 3)), xp.ones(0)):
        assert len(list(x)) == x.shape[0]
        with pytest.raises(IndexError, match=rf"^getitem: index {x.shape[0]} is out of bounds for axis 0"):
            x[x.shape[0]]
        with pytest.raises(IndexError, match=r"^getitem: index -9 is out of bounds for axis 0"):
            x[-9]


def test_few_elements_of_a_large_array_are_taken_at_once() -> None:
    n = 1_000_000
    theirs = np.arange(n)
    x = xp.asarray(theirs)
    for places in (np.arange(0, n, 70_001), np.array([[0, -1], [5, n - 1]]), np.array([], dtype=int)):
        for key in (places, xp.asarray(places)):
            taken = x[key]
            assert xp.explain(taken).operations() == 0
            assert_alike(taken, theirs[places])
            x[key] -= x[key] // 7
            theirs[places] -= theirs[places] // 7
    assert xp.explain(x[np.arange(n)]).operations() > 0
    with pytest.raises(IndexError, match="out of bounds"):
        x[np.array([n])] + 1
    assert np.array_equal(x, theirs)
