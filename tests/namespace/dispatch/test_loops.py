"""Elementwise operations that compiled code records and runs together, against NumPy's one by one."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import tracemalloc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import nabla_array as xp
from benchmarks import fuzz_numpy
from nabla_array._lazy.cpu import blocks
from nabla_array._lazy.graph.node import LIMIT, Node, Part, leaf, record
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops.reduction import reduce_max
from nabla_array._namespace.dispatch import eager, fastpath

# Rows of all lengths: joined to one, several at a time, whole ones, pieces of long ones.
SHAPES = [
    (70,),
    (5000,),
    (40_000,),
    (40, 38),
    (12, 3, 40),
    (9, 200),
    (3, 9000),
    (5, 4, 3, 2),
    (90, 2),
    (2, 300, 7),
]
DTYPES = "dfDFlibB?"


@contextmanager
def recorded_from(least: int) -> Iterator[None]:
    """Record operations on arrays of so many bytes, if something is compiled."""
    if compiled is not None:
        compiled.limit(eager.PART, eager.LARGE, 1, least, LIMIT)
    try:
        yield
    finally:
        fastpath.limit()


def operands(shape: tuple[int, ...], dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an array with a margin of two around, and one that is written to later."""
    rng = np.random.default_rng(seed)
    wide = tuple([n + 4 for n in shape])
    some = [rng.integers(-9 if np.dtype(dtype).kind not in "uB?" else 0, 9, wide).astype(dtype) for _ in "ab"]
    if np.dtype(dtype).kind in "fc":
        some[0] += rng.random(wide).astype(dtype)
        some[0][(0,) * len(shape)] = np.nan
        some[1].flat[::7] = -0.0
    return some[0], some[1]


def at(x: xp.Array | np.ndarray, *starts: int) -> xp.Array | np.ndarray:
    """Return a part of the shape without margin that begins there along each axis, the last ones first."""
    starts = (0,) * (x.ndim - len(starts)) + starts
    return x[tuple([slice(s, n - 4 + s) for s, n in zip(starts, x.shape, strict=True)])]


def chain(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Return the results of some expressions, of which others are made."""
    number = True if x.dtype == bool else 2
    first = at(x) + at(x, 1) if x.dtype != bool else at(x) ^ at(x, 1)
    second = (first * at(y, 2) | at(x, 3)) if x.dtype.kind in "iub" else first * at(y, 2) - at(x, 3)
    third = (second == first) | (at(x) != number)
    return [
        first,
        second,
        third,
        second * number,
        at(y)[..., ::-1] * first,
        abs(at(x)) if x.dtype.kind != "b" else first,
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    x, y = operands(shape, dtype, 3)
    for threads in (1, 3):
        with xp.config(threads=threads), recorded_from(1):
            assert (at(xp.asarray(x)) == at(xp.asarray(y)))._node.value is None or compiled is None
            found = chain(xp.asarray(x), xp.asarray(y))
            for mine, wanted in zip(found, chain(x, y), strict=True):
                mine = np.asarray(mine)
                assert mine.dtype == wanted.dtype
                assert mine.tobytes() == np.ascontiguousarray(wanted).tobytes()


def choices(lib: Any, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Return what `where` makes of arrays that are known or pending, of rows and columns, and of numbers."""
    mask, number = at(x) != at(y), True if x.dtype == bool else 3
    first = lib.where(mask, at(x), at(y, 1))
    return [
        first,
        lib.where(mask & (at(x, 1) != first), first, at(x, 2) | at(y) if x.dtype.kind in "iub" else at(y)),
        lib.where(mask, number, at(y)),
        lib.where(mask, at(x), number),
        lib.where(mask[..., :1], at(x), at(y, 1)),
        lib.where(mask, at(x)[..., :1], at(y)[..., -1:]),
        lib.where(mask, at(x), lib.astype(at(y), np.dtype("D"))),
        lib.where(mask, at(x), at(y)[(0,) * x.ndim]),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_choices_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    x, y = operands(shape, dtype, 9)
    for threads in (1, 3):
        with xp.config(threads=threads), recorded_from(1):
            found = choices(xp, xp.asarray(x), xp.asarray(y))  # type: ignore[arg-type]
            assert compiled is None or found[1]._node.prim is e.select
            for mine, wanted in zip(found, choices(np, x, y), strict=True):
                assert np.asarray(mine).dtype == wanted.dtype
                assert np.asarray(mine).tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_choices_that_are_not_recorded_are_numpys() -> None:
    x = np.linspace(-1, 1, 90)
    mine = xp.asarray(x)
    with recorded_from(1):
        for condition in (x, x > 0, [True] * 90, True):
            given = xp.asarray(condition) if isinstance(condition, np.ndarray) else condition
            np.testing.assert_array_equal(xp.where(given, mine, 2.0), np.where(condition, x, 2.0))
        with pytest.raises(ValueError, match=r"where: .*\(90,\).*\(7,\)"):
            xp.where(mine > 0, mine, mine[:7])
        integers = xp.asarray(np.arange(90))
        assert xp.where(mine > 0, integers, 2.5).dtype == np.float64
        np.testing.assert_array_equal(xp.where(mine > 0, integers, 2.5), np.where(x > 0, np.arange(90), 2.5))


def test_what_is_held_is_read_as_it_lies() -> None:
    x = np.random.default_rng(4).random((44, 42))
    mine = xp.asarray(x)
    with recorded_from(1):
        kept = at(mine) + at(mine, 1)
        end = kept * at(mine, 2) - at(mine, 3)
        assert np.array_equal(end, (at(x) + at(x, 1)) * at(x, 2) - at(x, 3))
        assert np.array_equal(kept, at(x) + at(x, 1))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_writes_are_numpys(shape: tuple[int, ...]) -> None:
    arrays = operands(shape, "d", 5)
    mine = [xp.asarray(a.copy()) for a in arrays]
    with recorded_from(1):
        for x, y in (arrays, mine):
            at(x, 1)[...] = at(y) * 2 + at(y, 2)  # nothing of its own
            at(x, 1)[...] = at(x, 2) - at(x) * 0.5  # what lies beside it
            at(x, 2)[...] = at(x, 2) * at(x, 2)  # itself
            part = at(x, 3)
            part += at(y) / 3
            part -= part[..., ::-1]
            x *= y
            x[..., 0] = x[..., 1] * 2 - x[..., 2]
            x[..., 0] -= x[..., 1]
    for found, wanted in zip(mine, arrays, strict=True):
        assert np.asarray(found).tobytes() == wanted.tobytes()


def test_what_is_pending_has_the_elements_of_before_a_write() -> None:
    x = xp.asarray(np.arange(100.0))
    y = x[1:] + x[:-1]
    z = y * 2
    del y
    x[:] = 0
    x[3] = 7
    assert float(z[2]) == 2 * (2 + 3)
    a = xp.asarray(np.arange(100.0))
    b = a + 1
    a += b
    assert float(b[5]) == 6
    assert float(a[5]) == 11


def _steps(x: np.ndarray, row: np.ndarray, rounds: int) -> Iterator[np.ndarray]:
    """Write to an array, and to views of it, while operations that read it are not looked at."""
    for i in range(rounds):
        whole, part, one = x * 0.5, x[1:, 2:] - x[:-1, :-2], row + 1
        x[0] = float(i)
        yield whole
        row[1:3] = i + 0.5
        x[2, 3] = -1.0
        yield part
        both = part * row[2:]
        x[1:] += 1
        yield both
        del part, whole
        x *= 0.75
        row -= x[0]
        yield one + row


def test_what_is_written_to_in_a_loop_is_read_as_it_was() -> None:
    x = np.random.default_rng(2).random((30, 20))
    mine = xp.asarray(x.copy())
    pairs = zip(_steps(mine, mine[4], 40), _steps(x, x[4], 40), strict=True)  # type: ignore[arg-type]
    late: list[tuple[np.ndarray, np.ndarray]] = []
    for k, (found, wanted) in enumerate(pairs):
        late.append((found, wanted.copy()))
        if k % 3 == 0:  # others are looked at much later
            assert np.asarray(found).tobytes() == wanted.tobytes()
    for found, wanted in late:
        assert np.asarray(found).tobytes() == wanted.tobytes()
    assert np.asarray(mine).tobytes() == x.tobytes()


@pytest.mark.skipif(compiled is None, reason="Python copies what pending operations read")
def test_a_loop_that_writes_to_what_is_read_copies_it_once() -> None:
    x = xp.asarray(np.random.default_rng(3).random((60, 50)))
    row, memory = x[3], []
    for _ in range(20):
        held = x * 0.5
        row[0] = 1.0
        memory.append(id(x._node.value))
        assert float(held[0, 0]) == float(x[0, 0]) * 0.5
    assert len(set(memory[2:])) == 1


def test_what_is_held_becomes_a_part_and_the_rest_is_let_go() -> None:
    x = xp.asarray(np.arange(1000.0))[:]
    kept = x + 1
    inside = weakref.ref((middle := kept * 2)._node)
    end = middle - 3
    del middle
    np.asarray(end)
    assert type(kept._node) is type(end._node) is Part
    assert inside() is None
    np.testing.assert_array_equal(kept, np.arange(1000.0) + 1)


def test_what_nobody_looks_at_is_let_go() -> None:
    x = xp.asarray(np.arange(1000.0))
    for _ in range(300):
        y = (x * 2 + 1) * x
    alive = weakref.ref(y._node)
    del y, x
    gc.collect()
    assert alive() is None


def test_long_and_wide_expressions() -> None:
    x = np.linspace(0, 1, 500)
    mine, wanted = xp.asarray(x), x
    for _ in range(500):
        mine, wanted = mine * 0.5 + 1, wanted * 0.5 + 1
    assert np.asarray(mine).tobytes() == wanted.tobytes()
    several = [xp.asarray(x) * k for k in range(200)]
    assert np.asarray(sum(several)).tobytes() == sum([x * k for k in range(200)]).tobytes()  # type: ignore[union-attr]
    for k, one in enumerate(several):
        assert np.asarray(one).tobytes() == (x * k).tobytes()


def test_arrays_of_one_row_or_column_are_repeated() -> None:
    rows, columns = np.arange(30.0)[:, None], np.arange(40.0)
    x = np.ones((30, 40))
    mine = [xp.asarray(a) for a in (rows, columns, x)]

    def expression(rows: np.ndarray, columns: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (rows - columns) * x + columns * (x - rows[3])

    with recorded_from(1):
        found = expression(*mine)  # type: ignore[arg-type]
        np.testing.assert_array_equal(found, expression(rows, columns, x))


def test_parts_of_one_array_are_written_with_what_others_make() -> None:
    rng = np.random.default_rng(6)
    for _ in range(400):
        shape = tuple(rng.integers(1, 13, size=rng.integers(1, 4)))
        x = rng.standard_normal(shape)
        keys: list[list[slice]] = [[], []]
        for n in shape:
            step = int(rng.choice([-3, -2, -1, 1, 1, 2, 3]))
            many = int(rng.integers(1, (n - 1) // abs(step) + 2))
            for key in keys:
                first = int(rng.integers(0, n - (many - 1) * abs(step)))
                last = first + (many - 1) * abs(step)
                key.append(
                    slice(first, last + 1, step)
                    if step > 0
                    else slice(last, first - 1 if first else None, step)
                )
        into, of = (tuple(key) for key in keys)
        mine = xp.asarray(x)
        with recorded_from(1):
            mine[into] = mine[of] * 0.5 + mine[of]
            mine[into] += mine[of]
        x[into] = x[of] * 0.5 + x[of]
        x[into] += x[of]
        assert np.asarray(mine).tobytes() == x.tobytes(), (shape, into, of)


def test_columns_beside_those_that_are_read_are_written_in_place() -> None:
    mine = xp.asarray(np.random.default_rng(7).random((2000, 12)))
    mine[:, 8:12] = mine[:, 0:4] * 2.0  # it has memory of its own now
    tracemalloc.start()
    try:
        mine[:, 4:8] = mine[:, 0:4] * 2.0
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2000 * 4 * 8 or compiled is None


def test_what_lies_in_another_order_is_as_numpys() -> None:
    x = np.random.default_rng(2).random((40, 50))
    mine = xp.asarray(x)[:]
    assert np.array_equal(mine.T * mine.T - mine[3, :40], x.T * x.T - x[3, :40])


def test_squares_are_numpys() -> None:
    x = np.concatenate([np.random.default_rng(0).normal(size=300), [1e200, 1e-200, np.nan, -np.inf]])
    with np.errstate(all="ignore"):
        for dtype in "fd":
            mine = xp.asarray(x.astype(dtype))
            for found, wanted in ((mine**2, x.astype(dtype) ** 2), (mine**2.0, x.astype(dtype) ** 2.0)):
                assert np.asarray(found).tobytes() == wanted.tobytes()
    with pytest.raises(ValueError, match="negative"):
        np.asarray(xp.asarray(np.arange(1, 200)) ** xp.asarray(np.full(199, -1)))


def test_floating_point_faults_are_told() -> None:
    x = xp.asarray(np.linspace(-1, 1, 201))
    with xp.config(float_warnings=True):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
            np.asarray(xp.sqrt(x) + 1)
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
            np.asarray(2 * (1 / (x * 0)))
        np.asarray((x == np.nan) | (x > 1))  # a comparison is no fault
    assert bool(xp.isnan((xp.sqrt(x) + 1)[0]))  # nor is anybody told without
    with xp.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="sqrt"):
        np.asarray(xp.sqrt(x) + 1)


def test_regions_are_told_of() -> None:
    x = xp.asarray(np.linspace(-1, 1, 600_001))
    with (
        xp.config(float_warnings=True, mode="host"),
        pytest.warns(RuntimeWarning, match="encountered in log") as seen,
    ):
        np.asarray(xp.log(x) * 2 + xp.where(x > 0, x, -x))
    assert {str(w.message) for w in seen} == {
        "divide by zero encountered in log",
        "invalid value encountered in log",
    }


@pytest.mark.parametrize("dtype", ["f", "d", "D", "i", "h", "b"])
def test_regions_are_what_python_gives(dtype: str) -> None:
    x, y = [np.nan_to_num(a).astype(dtype) for a in operands((700, 900), "d", 8)]
    n = np.arange(904.0).astype(dtype)

    def expression(x: np.ndarray, y: np.ndarray, n: np.ndarray) -> np.ndarray:
        inside = (x[1:-1, 1:-1] + x[1:-1, :-2]) * y[1:-1, 2:] - n[1:-1]
        lib = xp if isinstance(x, xp.Array) else np
        return lib.where(inside != y[1:-1, 1:-1], inside, n[1:-1] + inside)

    with xp.config(mode="host"), np.errstate(all="ignore"):
        found = np.asarray(expression(*[xp.asarray(a) for a in (x, y, n)]))  # type: ignore[arg-type]
        with patch.object(blocks, "compiled", None):
            blocks._kernel.cache_clear()
            wanted = np.asarray(expression(*[xp.asarray(a) for a in (x, y, n)]))  # type: ignore[arg-type]
        blocks._kernel.cache_clear()
        assert found.tobytes() == wanted.tobytes()
        assert found.tobytes() == expression(x, y, n).tobytes()


def test_several_threads_of_python_at_once() -> None:
    x = np.random.default_rng(1).random((300, 300))
    wanted = (x * 2 + 1) * x - x
    right: list[bool] = []

    def compute() -> None:
        mine = xp.asarray(x)[:]
        for _ in range(100):
            right.append(np.array_equal(np.asarray((mine * 2 + 1) * mine - mine), wanted))

    with xp.config(threads=3):
        threads = [threading.Thread(target=compute) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert right == [True] * 400


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_has_threads_of_its_own() -> None:
    x = xp.asarray(np.ones((500, 500)))[:]
    with xp.config(threads=2):
        np.asarray(x * 2 + x)
        child = os.fork()
        if child == 0:
            os._exit(0 if np.asarray(x * 2 + x).sum() == 3 * 500 * 500 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_random_programs_of_what_is_recorded() -> None:
    with recorded_from(1):
        assert fuzz_numpy.main(["--programs", "300", "--seed", "77"]) == 0


def test_max_mode_sees_all() -> None:
    with xp.config(mode="max"):
        node = (xp.asarray(np.ones(1000)) * 2)._node
        assert node.value is None
        assert compiled is None or not compiled.run(node, True)


def test_sums_of_products_are_numpys() -> None:
    rng = np.random.default_rng(6)
    x, w = rng.random((3, 9, 8, 4)), rng.random((5, 3, 4, 6))
    mine, weights = xp.asarray(x), xp.asarray(w)
    for dtype in "fd":
        a, b = x.astype(dtype), w.astype(dtype)
        p, q = xp.astype(mine, a.dtype), xp.astype(weights, b.dtype)
        for i in range(3):
            wanted = np.sum(a[:, i : i + 5, 2:5, :, None] * b[None], axis=(1, 2, 3))
            found = xp.sum(p[:, i : i + 5, 2:5, :, None] * q[None], axis=(1, 2, 3))
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == "f" else 1e-13)
    for lib, a, b in ((np, x[0, 0], x[1, 1]), (xp, mine[0, 0], mine[1, 1])):
        products = [a[:, :, None] * b.T[None], a.T[:, :, None] * a[None]]
        sums = [lib.sum(product, axis=1) for product in products]
        if lib is np:
            wanted = sums
    for found, right in zip(sums, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-13)
    # Those that are no matrix products, or are asked for otherwise.
    for axis in ((0,), (3,), (-1, 0), 1, None):
        np.testing.assert_allclose(xp.sum(mine * mine, axis=axis), np.sum(x * x, axis=axis), rtol=1e-13)
    np.testing.assert_allclose(
        xp.sum(mine * mine[:1], axis=(1, 2), keepdims=True), np.sum(x * x[:1], axis=(1, 2), keepdims=True)
    )
    with pytest.raises(ValueError, match="axis"):
        xp.sum(mine * mine, axis=(0, 7))


def test_numbers_of_two_dtypes_meet() -> None:
    x = np.linspace(-3, 3, 600).reshape(20, 30)
    for a in "fdilbD":
        for b in "fdilH":
            left, right = x.astype(a), np.arange(30).astype(b)
            for f in (np.add, np.multiply, np.less, np.maximum):
                found = f(xp.asarray(left)[:], xp.asarray(right)[:])
                wanted = f(left, right)
                assert found.dtype == wanted.dtype
                assert np.asarray(found).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", "fdliBF")
def test_numbers_meet_arrays_as_numpys(dtype: str) -> None:
    x = np.arange(300).astype(dtype)
    mine = xp.asarray(x)
    numbers = [0.5, np.float64(0.5), np.float32(0.5), 3, np.int64(3), True, 0.5j, -0.0, 2.0, np.uint8(2)]
    for number in [*numbers, *reversed(numbers)]:
        for found, wanted in ((mine * number, x * number), (number - mine, number - x)):
            assert found.dtype == wanted.dtype
            assert np.asarray(found).tobytes() == wanted.tobytes()


def test_masks_and_places_are_keys() -> None:
    x = np.arange(2000.0).reshape(40, 50)
    mine = xp.asarray(x.copy())
    rows, columns = np.array([3, 7, -1]), np.array([1, 1, 4])
    for a, r, c in ((x, rows, columns), (mine, xp.asarray(rows), xp.asarray(columns))):
        a[a > 1500] = -1
        a[r, c] = 7.5
        a[r] += 1
        a[a < 0] *= 2
        a[5, c] = a[6, c] - a[c, 5]
        a[..., c] = a[:, r]
    assert np.array_equal(mine, x)
    assert np.array_equal(mine[xp.asarray(rows), 2:5], x[rows, 2:5])
    with pytest.raises(IndexError, match="out of bounds"):
        mine[xp.asarray(rows) + 100]
    with pytest.raises(IndexError):
        mine[xp.asarray(rows) + 100] = 1


def test_parts_of_large_arrays_are_views() -> None:
    x = np.random.default_rng(9).random((900, 900))
    mine, vector = xp.asarray(x.copy()), np.random.default_rng(1).random(900)
    part = mine[:, 5:]
    assert np.array_equal(xp.asarray(vector)[:] @ part, vector @ x[:, 5:])
    assert np.array_equal(part[::3, :-1], x[::3, 5:-1])
    mine[2] = 0
    x[2] = 0
    assert np.array_equal(part, x[:, 5:])
    part[:, 0] = 3
    x[:, 5] = 3
    assert np.array_equal(mine, x)
    np.testing.assert_allclose(mine[3:, :] @ xp.asarray(vector)[:], x[3:] @ vector)


def test_max_is_shown_the_slices_of_large_arrays() -> None:
    x = np.random.default_rng(9).random((900, 900))
    mine = xp.asarray(x.copy())
    with xp.config(mode="max"):
        parts = [mine[1:-1, 1:], mine[:, ::-1], mine[2:][:, :-2]]
    assert [p._node.value for p in parts] == [None] * 3
    mine[2] = x[2] = 0
    parts[0][:] += 1
    x[1:-1, 1:] += 1
    for part, wanted in zip(parts, (x[1:-1, 1:], x[:, ::-1], x[2:, :-2]), strict=True):
        assert np.array_equal(part, wanted)


def test_a_view_of_what_is_read_only_is_not_written_over_itself() -> None:
    for lib in (np, xp):
        diagonal = lib.diagonal(lib.asarray(np.ones((4, 4))))
        part = diagonal[...]
        with pytest.raises(ValueError, match="read-only"):
            diagonal[...] = part


def test_histograms_of_many_elements() -> None:
    x = np.random.default_rng(3).normal(size=(700, 900))
    for weights in (None, np.abs(x), np.ones(x.shape, int)):
        counts, edges = np.histogram(x, 50, weights=weights)
        mine = xp.histogram(xp.asarray(x), 50, weights=None if weights is None else xp.asarray(weights))
        assert mine[0].dtype == counts.dtype
        np.testing.assert_allclose(mine[0], counts, rtol=1e-12)
        assert np.array_equal(mine[1], edges)
    x[3, 4] = np.nan
    with pytest.raises(ValueError, match="finite"):
        xp.histogram(xp.asarray(x), 50)


@pytest.mark.skipif(compiled is None, reason="Python's way records operations on memory that was given away")
@pytest.mark.parametrize("n", [100, 1000, 5000, 100_000])
def test_nothing_is_pending_on_memory_that_somebody_else_writes_to(n: int) -> None:
    x = xp.ones(n)
    pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    y, z = x + 1, x[1:] * 2
    pointer[0] = pointer[1] = 7
    assert (float(x[0]), float(y[0]), float(z[0])) == (7, 2, 2)
    x += 1
    assert float(x[1]) == 8


def _recorded_by_python(prim: Primitive, *values: np.ndarray) -> Node:
    return record(prim, tuple([leaf(v) for v in values]))


@pytest.mark.skipif(compiled is None, reason="nothing is compiled")
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_python_recorded_runs_in_loops_too(dtype: str) -> None:
    x, y = operands((40, 30), dtype, 11)
    for prim, function in ((e.add, np.add), (e.eq, np.equal), (e.mul, np.multiply), (e.maximum, np.maximum)):
        node = _recorded_by_python(prim, x, y)
        again = record(e.eq, (node, leaf(function(x, y))))
        assert compiled.run(again, True)
        assert type(again) is Part
        assert node.value.tobytes() == function(x, y).tobytes()
        assert again.value.tobytes() == np.equal(function(x, y), function(x, y)).tobytes()


@pytest.mark.skipif(compiled is None, reason="nothing is compiled")
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64"])
def test_what_is_too_quick_for_max_runs_in_loops(dtype: str) -> None:
    x, y = operands((300, 400), dtype, 5)
    node = _recorded_by_python(e.add, x, y)
    assert compiled.run(node, True)
    assert node.value.tobytes() == np.add(x, y).tobytes()


@pytest.mark.skipif(compiled is None, reason="nothing is compiled")
def test_what_is_not_for_loops_stays_for_the_evaluator() -> None:
    x = np.arange(1.0, 1000)
    n = np.arange(1, 1000)
    table = np.ones((2500, 1000), np.float32)
    nodes = {
        "an integer power": _recorded_by_python(e.pow_, n, n),
        "no elements": _recorded_by_python(e.add, x[:0], x[:0]),
        "large, and of no part": _recorded_by_python(e.add, table, table),
        "an error state": e.add(leaf(x), leaf(x)),
        "known": leaf(x),
    }
    most = record(reduce_max, (leaf(x[None]),), {"axes": (0,)})
    nodes["a reduction below"] = record(e.add, (most, most))
    for name, node in nodes.items():
        assert not compiled.run(node, True), name
    wanted = {"a reduction below": x * 2, "large, and of no part": table * 2, "an error state": x * 2}
    for name, value in wanted.items():
        assert np.array_equal(np.asarray(xp.Array(nodes[name])), value), name


def test_sums_of_large_arrays_that_stay_are_recorded_in_no_time() -> None:
    """Whether much memory waits is asked of each node once, though the ways to it double with each step."""
    x, z = xp.ones(40_000), xp.asarray(np.full(40_000, 3.0))
    xp.eval(x, z)
    y = x * 1.0
    for _ in range(45):
        y = y + y
    np.testing.assert_array_equal(y + z, np.full(40_000, 2.0**45 + 3))


def test_a_sum_of_many_products_is_numpys_and_holds_few() -> None:
    rows = np.random.default_rng(0).standard_normal((40, 150))
    total, wanted = xp.zeros((150, 150)), np.zeros((150, 150))
    held = []
    for row in rows:
        column = xp.asarray(row.reshape(-1, 1))
        product = column @ column.T
        held.append(weakref.ref(product._node))
        total += product
        wanted += np.outer(row, row)
        del product
        assert sum(r() is not None for r in held) <= 8
    np.testing.assert_allclose(total, wanted, rtol=1e-13)
