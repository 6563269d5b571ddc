"""What is not copied from read-only memory is read-only, whatever it came through and whoever writes."""

from __future__ import annotations

import mmap
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nabla_array as xp


def locked(shape: Any = 4) -> np.ndarray:
    a = np.arange(float(np.prod(shape))).reshape(shape)
    a.flags.writeable = False
    return a


class OnlyDlpack:
    """An array of another library's."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = value

    def __dlpack__(self, **options: Any) -> Any:
        return self.value.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.value.__dlpack_device__()


class OnlyArray:
    """One that gives its memory when asked."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return locked()


def _mapped(folder: Path) -> np.ndarray:
    np.save(folder / "a.npy", np.arange(4.0))
    return np.load(folder / "a.npy", mmap_mode="r")


def _mmap(folder: Path) -> np.ndarray:
    (folder / "raw").write_bytes(np.arange(4.0).tobytes())
    with open(folder / "raw", "rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


SOURCES: dict[str, Callable[[Path], Any]] = {
    "asarray": lambda folder: xp.asarray(locked(), copy=False),
    "asarray with a dtype": lambda folder: xp.asarray(locked(), dtype=float, copy=False),
    "array": lambda folder: xp.array(locked(), copy=False),
    "array with ndmin": lambda folder: xp.array(locked(), copy=False, ndmin=2)[0],
    "asanyarray": lambda folder: xp.asanyarray(locked(), copy=False),
    "device": lambda folder: xp.asarray(locked(), copy=False, device="cpu"),
    "large": lambda folder: xp.asarray(np.broadcast_to(locked(), (60_000, 4)), copy=False),
    "part": lambda folder: xp.asarray(locked(8)[::2], copy=False),
    "broadcast": lambda folder: xp.asarray(np.broadcast_to(1.0, 4), copy=False),
    "bytes": lambda folder: xp.frombuffer(np.arange(4.0).tobytes()),
    "memoryview": lambda folder: xp.asarray(memoryview(np.arange(4.0).tobytes()).cast("d"), copy=False),
    "__array__": lambda folder: xp.asarray(OnlyArray(), copy=False),
    "mapped file": lambda folder: xp.asarray(_mapped(folder), copy=False),
    "mmap": lambda folder: xp.asarray(_mmap(folder), copy=False),
    "from_dlpack": lambda folder: xp.from_dlpack(locked()),
    "from_dlpack without a copy": lambda folder: xp.from_dlpack(locked(), copy=False),
    "DLPack in asarray": lambda folder: xp.asarray(OnlyDlpack(locked()), copy=False),
    "from_dlpack of ours": lambda folder: xp.from_dlpack(xp.asarray(locked(), copy=False)),
    "asarray again": lambda folder: xp.asarray(xp.asarray(locked(), copy=False)),
    "asarray again, in order": lambda folder: xp.asarray(xp.asarray(locked(), copy=False), order="C"),
    "slice": lambda folder: xp.asarray(locked(9), copy=False)[1:8:2],
    "row": lambda folder: xp.asarray(locked((3, 4)), copy=False)[1],
    "column": lambda folder: xp.asarray(locked((4, 3)), copy=False)[:, 1],
    "reshape": lambda folder: xp.asarray(locked(), copy=False).reshape(2, 2).ravel(),
    "transpose": lambda folder: xp.asarray(locked((4, 2)), copy=False).T[0],
    "broadcast_to": lambda folder: xp.broadcast_to(xp.asarray(locked(), copy=False), (2, 4))[0],
    "view": lambda folder: xp.asarray(locked(), copy=False).view(xp.int64).view(xp.float64),
    "real": lambda folder: _real(),
    "squeeze": lambda folder: xp.squeeze(xp.asarray(locked((1, 4)), copy=False)),
    "element of an iteration": lambda folder: next(iter(xp.asarray(locked((2, 4)), copy=False))),
    "diagonal": lambda folder: xp.diagonal(xp.asarray(locked((4, 4)), copy=False)),
}


def _real() -> Any:
    a = locked().astype(complex)
    a.flags.writeable = False
    return xp.asarray(a, copy=False).real


WRITES: dict[str, Callable[[Any], Any]] = {
    "element": lambda x: operator.setitem(x, (..., 0), 5),
    "slice": lambda x: operator.setitem(x, slice(None), 5),
    "mask": lambda x: operator.setitem(x, x > 1, 5),
    "places": lambda x: operator.setitem(x, (..., [0, 1]), 5),
    "array": lambda x: operator.setitem(x, ..., xp.zeros(x.shape)),
    "pending": lambda x: operator.setitem(x, ..., xp.sin(xp.ones(x.shape)) + 1),
    "+=": lambda x: operator.iadd(x, 1),
    "*= an array": lambda x: operator.imul(x, xp.ones(x.shape)),
    "out": lambda x: xp.add(x, 1, out=x),
    "out of a reduction": lambda x: xp.cumsum(x, axis=-1, out=x),
    "NumPy's out": lambda x: np.multiply(x, 2, out=x),
    "fill": lambda x: x.fill(1),
    "sort": lambda x: x.sort(),
    "partition": lambda x: x.partition(1),
    "put": lambda x: x.put([0], 5),
    "flat": lambda x: operator.setitem(x.flat, 0, 5),
    "flat, whole": lambda x: setattr(x, "flat", 5),
    "byteswap": lambda x: x.byteswap(inplace=True),
    "setfield": lambda x: x.setfield(1, xp.float64),
    "real": lambda x: setattr(x, "real", 5),
    "copyto": lambda x: xp.copyto(x, 5),
    "NumPy's copyto": lambda x: np.copyto(x, 5),
    "place": lambda x: xp.place(x, x > 1, [5]),
    "putmask": lambda x: xp.putmask(x, x > 1, 5),
    "at": lambda x: xp.add.at(x, (..., [0]), 5),
    "put_along_axis": lambda x: xp.put_along_axis(x, xp.zeros(x.shape, dtype=int), 5, -1),
    "shuffle": lambda x: xp.random.default_rng(0).shuffle(x),
    "writeable": lambda x: setattr(x.flags, "writeable", True),
    "setflags": lambda x: x.setflags(write=True),
    "memoryview": lambda x: operator.setitem(x.data.cast("B").cast("d"), 0, 5.0),
}


@pytest.mark.parametrize("source", SOURCES)
def test_what_comes_of_read_only_memory_is_read_only(source: str, tmp_path: Path) -> None:
    x = SOURCES[source](tmp_path)
    before = x.tolist()
    assert not x.flags.writeable
    for write in ("element", "slice", "+=", "out", "sort", "writeable"):
        with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
            WRITES[write](x)
    assert x.tolist() == before
    copy = x.copy()
    copy[..., 0] = 7  # a copy is one's own
    assert x.tolist() == before
    assert (x + 1).flags.writeable


@pytest.mark.parametrize("shape", [(4,), (70_000,), (300, 300)])
@pytest.mark.parametrize("write", WRITES)
def test_no_way_to_write_gets_through(write: str, shape: Any) -> None:
    a = locked(shape)
    before = a.copy()
    for x in (xp.asarray(a, copy=False), xp.asarray(a, copy=False)[..., ::1]):
        with pytest.raises((ValueError, TypeError), match=r"read-only|WRITEABLE"):
            WRITES[write](x)
        np.testing.assert_array_equal(x, before, strict=True)
    np.testing.assert_array_equal(a, before)


def test_what_is_copied_or_writable_is_not() -> None:
    a = np.arange(4.0)
    for x in (
        xp.asarray(locked()),
        xp.array(locked()),
        xp.asarray(locked(), copy=True),
        xp.asarray(a, copy=False),
        xp.from_dlpack(locked(), copy=True),
        xp.from_dlpack(xp.asarray(locked(), copy=False), copy=True),
        xp.asarray(locked().tolist()),
        xp.asarray(locked().astype(">f8"), copy=None),
    ):
        assert x.flags.writeable
        x[0] = 5
        x += 1
        assert x.tolist() == [6, 2, 3, 4]
    assert a.tolist() == [0, 1, 2, 3]


def test_flags_set_by_hand_can_be_set_back() -> None:
    x = xp.zeros(3)
    y = x[1:]
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    y[0] = 1  # a view from before, as in NumPy
    assert x.tolist() == [0, 1, 0]
    x.flags.writeable = True
    x[0] = 1
    assert x.tolist() == [1, 1, 0]


def test_a_read_only_array_locks_no_other() -> None:
    x, y = xp.asarray(locked(), copy=False), xp.zeros(4)
    y[1] = 1
    y += 1
    z = y[1:]
    z[0] = 9
    assert y.tolist() == [1, 9, 1, 1]
    del x
    assert y.flags.writeable
