"""What other libraries ask first (`asarray`, `astype`) is answered in compiled code as in Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.dispatch import fastpath

NUMBERS = [
    0,
    -1,
    2**40,
    2**63,
    True,
    1.5,
    float("nan"),
    1j,
    np.float32(0.1),
    np.int8(3),
    np.bool(True),
    None,
    "a",
]
DTYPES = [
    None,
    float,
    int,
    bool,
    complex,
    np.float32,
    np.dtype("int8"),
    np.dtype(">f8"),
    np.float16,
    "float64",
    object,
]


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        found = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    a = np.asarray(found)
    return type(found), a.dtype, a.shape, repr(a.tolist())


@pytest.mark.filterwarnings("ignore")
def test_numbers_and_numpys_arrays() -> None:
    given: list[Any] = [
        *NUMBERS,
        *[np.array([n, n]) for n in NUMBERS if n is not None],
        np.ones((2, 3)).T,
        np.ones(9000),
    ]
    for x, dtype, options in itertools.product(
        given, DTYPES, ({}, {"copy": None}, {"device": "cpu"}, {"copy": True})
    ):
        found = outcome(xp.asarray, x, dtype=dtype, **options)
        assert found == outcome(fastpath.behind(xp.asarray), x, dtype=dtype, **options)


def test_numpys_arrays_are_copied() -> None:
    a = np.arange(3.0)
    x = xp.asarray(a)
    a[0] = 7.0
    assert x.tolist() == [0.0, 1.0, 2.0]
    b = np.asarray(x)
    b[0] = 9.0
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert np.array(x).flags.owndata


@pytest.mark.parametrize("kind", ["known", "pending", "part", "stale"])
def test_arrays_stay_or_are_copied(kind: str) -> None:
    base = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    x = {"known": base, "pending": base * 2.0, "part": base[0], "stale": base[1]}[kind]
    if kind == "stale":
        base[:] = 5.0
    for options in (
        {},
        {"copy": None},
        {"copy": False},
        {"device": "cpu"},
        {"dtype": float},
        {"dtype": x.dtype},
    ):
        assert xp.asarray(x, **options) is x
    assert xp.astype(x, xp.float64, copy=False) is x
    wanted = x.tolist()
    for y in (
        xp.asarray(x, copy=True),
        xp.asarray(x, dtype=float, copy=True, device="cpu"),
        xp.astype(x, float),
    ):
        assert y.tolist() == wanted
        y += 1.0
        assert x.tolist() == wanted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", list("?bhilBHILfdFD"))
def test_casts(dtype: str) -> None:
    a = np.array([[0, 1, 2], [3, 100, 7]]).astype(dtype)
    for other, copy in itertools.product(
        [*"?bhilBHILefdFD", float, np.float32, ">f8", "U3", object], (True, False)
    ):
        for x in (xp.asarray(a), xp.asarray(a).T, xp.asarray(a)[0]):
            found = outcome(xp.astype, x, other if type(other) is type else np.dtype(other), copy=copy)
            slow = fastpath.behind(xp.astype)
            assert found == outcome(slow, x, other if type(other) is type else np.dtype(other), copy=copy)


def test_lengths_and_axes_are_numpys_integers_too() -> None:
    x = xp.asarray(np.arange(6.0).reshape(2, 3))
    assert xp.broadcast_to(x, (np.int64(4), np.intp(2), 3)).shape == (4, 2, 3)
    assert xp.broadcast_to(x[0], (np.int64(1), 3)).tolist() == [[0.0, 1.0, 2.0]]
    assert xp.moveaxis(x, (0,), (-1,)).tolist() == x.T.tolist()
    with pytest.raises(ValueError, match="broadcast"):
        xp.broadcast_to(x, (np.int64(3), 3))
    with pytest.raises((ValueError, IndexError), match="axis"):
        xp.moveaxis(x, (2,), (0,))


def test_transforms_of_sizes_along_axes() -> None:
    a = np.random.default_rng(0).standard_normal((5, 6))
    for s, axes in (((4, 7), (0, 1)), ((8,), (0,)), ((-1, 3), (-2, -1)), ((4, 4), (1, 0))):
        np.testing.assert_allclose(
            np.asarray(xp.fft.rfftn(xp.asarray(a), s, axes)), np.fft.rfftn(a, s, axes), atol=1e-12
        )
    with pytest.raises(ValueError, match=r"data points \(0\)"):
        xp.fft.fftn(xp.asarray(a), (0, 3), (0, 1))
