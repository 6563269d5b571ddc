"""Creation functions against NumPy."""

from __future__ import annotations

import array as buffers
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp

DTYPES = [np.bool, np.int8, np.uint64, np.float32, np.float64, np.complex64]


def same(ours: Any, theirs: Any) -> None:
    assert type(ours) is xp.Array
    np.testing.assert_array_equal(np.asarray(ours), theirs, strict=True)


ARANGES: list[tuple[Any, ...]] = [
    (5,),
    (2, 7),
    (7, 2),
    (7, 2, -2),
    (0, 1, 0.1),
    (1.0,),
    (0.5, -3, -0.7),
    (-3, 3, 2),
    (True,),
    (0,),
]


@pytest.mark.parametrize("args", ARANGES)
@pytest.mark.parametrize("dtype", [None, np.int8, np.uint16, np.float32, np.complex128])
def test_arange(args: tuple[Any, ...], dtype: Any) -> None:
    try:
        wanted = np.arange(*args, dtype=dtype)
    except OverflowError:
        with pytest.raises(OverflowError, match="out of bounds for uint16"):
            xp.arange(*args, dtype=dtype)
    else:
        same(xp.arange(*args, dtype=dtype), wanted)


finite = st.floats(-1e300, 1e300) | st.integers(-1000, 1000)


@given(finite, finite, st.integers(0, 20), st.booleans(), st.sampled_from([None, np.float32, np.complex64]))
def test_linspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        wanted = np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    same(xp.linspace(start, stop, num, endpoint=endpoint, dtype=dtype), wanted)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 5])
@pytest.mark.parametrize(
    "stop", [7, 3.5, np.float32(2.3), np.asarray([4.1, -0.3, 2.0]), np.asarray([5], np.int8)]
)
@pytest.mark.parametrize(
    "start", [np.asarray(0.1), np.asarray([[1.5], [2]], np.float32), np.asarray([2, 0, 7])]
)
def test_linspace_of_arrays(start: Any, stop: Any, num: int, endpoint: bool) -> None:
    given = [xp.asarray(x) if isinstance(x, np.ndarray) else x for x in (start, stop)]
    for dtype in (None, np.float32, np.int64):
        for axis in (0, -1):
            more: Any = {"dtype": dtype, "axis": axis, "retstep": True}
            (ours, step), (wanted, theirs) = [
                f(*ends, num, endpoint, **more)
                for f, ends in ((xp.linspace, given), (np.linspace, (start, stop)))
            ]
            same(ours, wanted)
            np.testing.assert_array_equal(np.asarray(step), theirs)
    smallest = np.asarray(5e-324)  # of which no part is a number
    same(xp.linspace(0, xp.asarray(smallest), 4), np.linspace(0, smallest, 4))


def test_linspace_complex() -> None:
    same(xp.linspace(1, 1 + 2j, 5), np.linspace(1, 1 + 2j, 5))


@pytest.mark.parametrize("shape", [(), 3, (0,), (2, 3), [2, 0, 1]])
@pytest.mark.parametrize("dtype", [None, *DTYPES])
def test_filled(shape: Any, dtype: Any) -> None:
    for name in ("zeros", "ones"):
        same(getattr(xp, name)(shape, dtype=dtype), getattr(np, name)(shape, dtype=dtype))
    same(xp.full(shape, 1, dtype=dtype), np.full(shape, 1, dtype=dtype))
    empty = xp.empty(shape, dtype)
    assert (empty.shape, empty.dtype) == (np.empty(shape).shape, np.dtype(dtype or float))
    like = np.empty(shape, dtype)
    for name in ("zeros_like", "ones_like"):
        same(getattr(xp, name)(xp.asarray(like)), getattr(np, name)(like))
        same(getattr(xp, name)(like, dtype=np.int16), getattr(np, name)(like, dtype=np.int16))
    same(xp.full_like(xp.asarray(like), True), np.full_like(like, True))
    assert xp.empty_like(like).dtype == like.dtype


@pytest.mark.parametrize("value", [True, 3, -2.5, 1 - 2j, np.float32(2), np.int8(-1), float("nan")])
def test_full_takes_the_dtype_of_its_value(value: Any) -> None:
    same(xp.full((2, 2), value), np.full((2, 2), value))


@pytest.mark.usefixtures("recorded")
def test_full_of_an_array_is_lazy_and_a_copy() -> None:
    x = xp.asarray([1.0, 2.0])
    y = xp.full((2, 2), x + 1)
    assert y._node.value is None
    same(y, np.full((2, 2), [2.0, 3.0]))
    z = xp.full(2, x)
    z[0] = 9
    same(x, np.asarray([1.0, 2.0]))


def test_a_full_array_takes_no_memory_until_written() -> None:
    x = xp.zeros((1 << 20, 1 << 20))  # 8 TiB
    assert x[5, 5] == 0
    y = xp.zeros(4)
    y[1:3] = 1
    same(y, np.asarray([0.0, 1, 1, 0]))


@pytest.mark.parametrize(
    "call",
    [
        "zeros(n)",
        "ones((n, 2))",
        "full((2, n), x)",
        "empty((n, 0)).shape",
        "zeros((n, n), dtype=np.int8)",
        "eye(n)",
        "eye(n, n + 1, k=n - 3)",
        "arange(n)",
        "arange(x, y)",
        "arange(x, y, 0.25)",
        "arange(n, dtype=np.float32)",
        "arange(f, 3)",
        "arange(s, 3)",
        "linspace(x, y)",
        "linspace(x, n, n)",
        "linspace(0, y, num=n, endpoint=False)",
        "linspace(f, y, 5)",
        "linspace(x, y, 3, dtype=np.float32)",
        "linspace(0.5, 2, 4, dtype=int)",
        "linspace(x, x, 3)",
        "linspace(3, 1, 0)",
    ],
)
def test_scalars_say_what_is_made(call: str) -> None:
    found = []
    for m in (xp, np):
        numbers = {"n": m.asarray([4])[0], "x": m.asarray([0.5])[0], "y": m.asarray([2.0])[0]}
        narrow = {"f": m.asarray([1.5], dtype=m.float32)[0], "s": m.asarray([1], dtype=m.int16)[0]}
        found.append(eval(f"m.{call}", {"m": m, "np": np, **numbers, **narrow}))
    assert type(found[0]) in (xp.Array, tuple)
    np.testing.assert_array_equal(np.asarray(found[0]), np.asarray(found[1]), strict=True)


@pytest.mark.parametrize("number", [0.3, 3, -2, 1e300, float("nan")])
@pytest.mark.parametrize(
    "call", ["clip(a, 0, 1)", "clip(a, 0.0, 1.0)", "round(a, 1)", "round(a)", "tile(a, 3)", "repeat(a, 2)"]
)
def test_numbers_of_pythons_are_taken_as_numpy_takes_them(call: str, number: Any) -> None:
    found, wanted = [eval(f"m.{call}", {"m": m, "a": number}) for m in (xp, np)]
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(np.asarray(found), wanted)
    assert isinstance(wanted, np.ndarray) != xp.isscalar(found)


@pytest.mark.parametrize("args", [(3,), (2, 4), (4, 2), (0,), (3, 0)])
@pytest.mark.parametrize("k", [-5, -1, 0, 2])
def test_eye(args: tuple[int, ...], k: int) -> None:
    for dtype in (None, np.int8, np.complex64):
        same(xp.eye(*args, k=k, dtype=dtype), np.eye(*args, k=k, dtype=dtype or float))


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (0, 2), (2, 3, 4), (1, 1)])
@pytest.mark.parametrize("k", [-4, -1, 0, 1, 3])
def test_triangles(shape: tuple[int, ...], k: int) -> None:
    for dtype in DTYPES:
        x = (np.arange(np.prod(shape)) % 5 + 1).astype(dtype).reshape(shape)
        same(xp.tril(xp.asarray(x), k=k), np.tril(x, k))
        same(xp.triu(xp.asarray(x), k=k), np.triu(x, k))
    x = np.full(shape, np.nan)
    same(xp.tril(xp.asarray(x), k=k), np.tril(x, k))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("sizes", [(), (3,), (2, 3), (2, 0), (2, 3, 4)])
def test_meshgrid(indexing: Any, sparse: bool, sizes: tuple[int, ...]) -> None:
    xs = [np.arange(n, dtype=np.float32) for n in sizes]
    ours = xp.meshgrid(*map(xp.asarray, xs), indexing=indexing, sparse=sparse)
    theirs = np.meshgrid(*xs, indexing=indexing, sparse=sparse)
    assert type(ours) is tuple
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        same(a, b)


@pytest.mark.parametrize(
    "obj",
    [True, 3, 2.5, [], [1, 2.5], [[True], [False]], (1, (2)), [[]], np.float32(3), [np.int8(1), 2]],
)
@pytest.mark.parametrize("dtype", [None, np.float64, np.complex64])
def test_asarray(obj: Any, dtype: Any) -> None:
    same(xp.asarray(obj, dtype=dtype), np.asarray(obj, dtype=dtype))


def test_asarray_of_buffers() -> None:
    for obj in (bytearray(b"abc"), memoryview(np.arange(6).reshape(2, 3)), buffers.array("d", [1, 2])):
        same(xp.asarray(obj), np.asarray(obj))
    same(xp.asarray(np.arange(3, dtype=">i4")), np.arange(3, dtype=np.int32))


@pytest.mark.usefixtures("recorded")
def test_asarray_stacks_arrays_lazily() -> None:
    x = xp.asarray([1, 2], dtype=xp.int8) + 1
    y = xp.asarray([x, [3, 4], np.asarray([5.5, 6], np.float32)])
    assert y._node.value is None
    assert x._node.value is None
    same(y, np.asarray([np.int8([2, 3]), [3, 4], np.float32([5.5, 6])]))
    nested = xp.asarray([[x[0], 1], (2, x[1])], dtype=xp.float32)
    same(nested, np.asarray([[2, 1], [2, 3]], np.float32))
    same(xp.asarray([xp.asarray(1 << 62), 0.5], dtype=xp.int64), np.asarray([1 << 62, 0]))
    with pytest.raises(ValueError, match=r"asarray: a sequence of shapes \(2,\) and \(\) makes no array"):
        xp.asarray([x, 1])


def test_asarray_copies_and_shares() -> None:
    a = np.arange(4.0)
    copied, shared = xp.asarray(a), xp.asarray(a, copy=False)
    a[0] = 9
    same(copied, np.arange(4.0))
    assert np.shares_memory(shared._node.value, a)
    x = xp.asarray([1.0, 2.0])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    y = xp.asarray(x, copy=True)
    y[0] = 5
    shared[0] = 7  # goes to memory of our own
    same(x, np.asarray([1.0, 2.0]))
    assert a[0] == 9
    for obj, dtype in (([1, 2], None), (3.0, None), (a, np.float32), (x, np.float32)):
        with pytest.raises(ValueError, match=r"asarray: .*needs a copy, and copy is False"):
            xp.asarray(obj, dtype=dtype, copy=False)


class OnlyDlpack:
    """What an array of a library that knows nothing of NumPy looks like."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = value

    def __dlpack__(self, **options: Any) -> Any:
        return self.value.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.value.__dlpack_device__()


def test_from_dlpack() -> None:
    a = np.arange(6.0).reshape(2, 3).T
    a.flags.writeable = False
    for source in (a, OnlyDlpack(a), xp.asarray(a)):
        for options in ({}, {"device": "cpu"}, {"copy": None}, {"copy": False}, {"copy": True}):
            same(xp.from_dlpack(source, **options), a)
    b = np.arange(3)
    assert np.shares_memory(xp.from_dlpack(b)._node.value, b)
    assert np.shares_memory(xp.from_dlpack(b, copy=False)._node.value, b)
    assert not np.shares_memory(xp.from_dlpack(b, copy=True)._node.value, b)
    x = xp.from_dlpack(b)
    x[0] = 100
    assert b[0] == 0
    y = xp.asarray([1, 2])
    z = xp.from_dlpack(y)
    z[0] = 5
    same(y, np.asarray([1, 2]))
    same(xp.asarray(OnlyDlpack(b)), b)


def test_what_we_cannot_hold_stays_numpys() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said once a process
        for made in (xp.asarray("a"), xp.array([None]), xp.zeros(3, dtype=object)):
            assert type(made) is np.ndarray


ERRORS = [
    (lambda: xp.asarray(1 << 64), OverflowError, "asarray: a Python integer is out of bounds"),
    (lambda: xp.asarray([300], dtype=np.uint8), OverflowError, "asarray: Python integer 300 out of bounds"),
    (lambda: xp.asarray([[1], [1, 2]]), ValueError, "inhomogeneous"),
    (lambda: xp.asarray(1, device="gpu"), ValueError, "asarray: no device 'gpu'; 'cpu' would work"),
    (lambda: xp.zeros(-1), ValueError, "zeros: negative dimensions are not allowed"),
    (lambda: xp.ones((2, 1.5)), TypeError, "float"),
    (lambda: xp.full(2, 300, dtype=np.uint8), OverflowError, "full: Python integer 300 out of bounds"),
    (lambda: xp.full(2, [1, 2, 3]), ValueError, "full: shapes"),
    (lambda: xp.full((), [1]), ValueError, "full: a value of shape"),
    (lambda: xp.full_like(xp.zeros(2, dtype=xp.int8), -129), OverflowError, "full_like: Python integer -129"),
    (lambda: xp.arange(0, 1, 0), ZeroDivisionError, "arange: no range from 0 to 1"),
    (lambda: xp.linspace(0, 1, -1), ValueError, "non-negative"),
    (lambda: xp.eye(-1), ValueError, "eye: negative dimensions"),
    (lambda: xp.tril(xp.ones(())), TypeError, "tril: needs an axis or more"),
    (lambda: xp.meshgrid(xp.ones(2), indexing="x"), ValueError, "meshgrid: indexing is 'x'"),
    (lambda: xp.from_dlpack(3), AttributeError, "from_dlpack: a int has no __dlpack__"),
    (lambda: xp.from_dlpack(np.ones(2), device="gpu"), ValueError, "from_dlpack: no device"),
    (lambda: xp.from_dlpack(np.asarray(["a"])), BufferError, "DLPack"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("make", [xp.array, xp.asarray])
def test_imaginary_parts_that_a_dtype_cannot_hold_are_told_of(make: Any) -> None:
    z = xp.asarray([1 + 2j, 3 - 1j])
    with pytest.warns(np.exceptions.ComplexWarning, match="imaginary") as told:
        assert make(z, dtype=xp.float64).tolist() == [1.0, 3.0]
    assert told[0].filename == __file__
    assert make(z, dtype=xp.bool).all()
