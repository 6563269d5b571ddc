"""Whole calls on threads, against NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from nabla_array._lazy.config import config
from nabla_array._lazy.cpu import calls, sharing
from nabla_array._lazy.cpu.calls import whole
from nabla_array._lazy.graph.primitive import Primitive, as_value
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import fourier, linalg, ordering, reduction
from nabla_array._lazy.ops.contraction import matmul
from nabla_array._lazy.ops.indexing import gather
from nabla_array._lazy.ops.reduction import reduce_max, reduce_prod, reduce_sum
from nabla_array._lazy.ops.structure import concat, reshape

from ..execution import assert_same
from ..registry import ROWS, Row, each


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
                        patch.object(sharing, "_REDUCED", 0),
                        patch.object(calls, "SHARED", 0),
                        config(threads=threads),
                    ):
                        got = as_value(whole(prim, [y])(y, axes=own))
                    width = math.prod(x.shape[n:])  # rows of more than half of what is wide stay as they are
                    is_exact = axes != tuple(range(n)) or n == x.ndim or 2 * width > sharing._WIDE
                    assert_same(got, as_value(prim.host(y, axes=own)), is_exact)


def test_what_is_small_or_strided_or_would_be_rounded_otherwise_is_one_call() -> None:
    x = np.ones((100, 100))
    assert whole(reduce_sum, [x]) is reduce_sum.host
    with patch.object(calls, "SHARED", 0):
        assert whole(reduce_sum, [x]) is not reduce_sum.host
        assert whole(reduce_sum, [x.T]) is not reduce_sum.host
        assert whole(reduce_sum, [x[:, ::2]]) is reduce_sum.host
        assert whole(reduce_sum, [x.astype(np.float16)]) is reduce_sum.host
        assert whole(reduce_prod, [x]) is reduce_prod.host
        assert whole(e.exp, [x]) is e.exp.host


@pytest.mark.parametrize("char", "fdilB")
@pytest.mark.parametrize("shape", [(40_000, 20), (700_003, 1), (90, 50, 211), (3, 400_000)])
def test_first_axes_are_reduced_on_threads(char: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = (100 * rng.standard_normal(shape)).astype(char)
    for prim in (reduction.reduce_sum, reduction.reduce_max):
        for axes in {(0,), tuple(range(len(shape) - 1))}:
            found = whole(prim, [x])(x, axes=axes)
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
                found = whole(prim, [many])(many, **params)
                np.testing.assert_array_equal(found, prim.host(many, **params))
        params = {"n": shape[axis] - 1, "axis": axis, "norm": "ortho"}
        clean = np.nan_to_num(many)
        found = whole(fourier.rfft, [clean])(clean, **params)
        np.testing.assert_allclose(found, fourier.rfft.host(clean, **params), atol=1e-9)
        found = whole(reduction.cumsum, [clean])(clean, axis=axis)
        np.testing.assert_array_equal(found, reduction.cumsum.host(clean, axis=axis))


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Have three threads share the smallest calls, and note in how many parts each is cut."""
    noted: list[int] = []
    behind = sharing.spread

    def spread(work: Any, blocks: list[Any], **options: Any) -> Any:
        noted.append(len(blocks))
        return behind(work, blocks, **options)

    monkeypatch.setattr(calls, "SHARED", 0)
    monkeypatch.setattr(calls, "MOVED", 0)
    monkeypatch.setattr(sharing, "spread", spread)
    with config(threads=3):
        yield noted


def check(prim: Primitive, *operands: np.ndarray, **params: Any) -> None:
    least = None if prim.by_matrices is None else 0
    with patch.object(prim, "by_matrices", least), np.errstate(all="ignore"):
        found = as_value(whole(prim, operands)(*operands, **params))
        wanted = as_value(prim.host(*operands, **params))
    pairs = zip(found, wanted, strict=True) if type(wanted) is tuple else [(found, wanted)]
    for one, other in pairs:
        assert_same(one, other)
        assert one.strides == other.strides or 1 in one.shape or not one.size


@each([r for r in ROWS if r.prim.by_rows or r.prim.by_matrices is not None or r.prim.places is not None])
def test_every_primitive_that_threads_share(row: Row, cut: list[int]) -> None:
    check(row.prim, *row.inputs, **row.params)
    check(row.prim, *[np.array(x, order="F") for x in row.inputs], **row.params)


RNG = np.random.default_rng(3)


@pytest.mark.parametrize("shape", [(40,), (5, 8), (1, 30), (3, 4, 5), (0, 3), ()])
@pytest.mark.parametrize(("x", "axes"), [((9,), (0,)), ((9, 7), (0,)), ((7, 9), (1,)), ((9, 2, 9), (0, 2))])
def test_rows_that_are_looked_up(
    x: tuple[int, ...], axes: tuple[int, ...], shape: Any, cut: list[int]
) -> None:
    indices = [RNG.integers(-9, 9, shape) for _ in axes]
    for values in (RNG.normal(size=x), RNG.normal(size=x[::-1]).T):
        check(gather, values, *indices, axes=axes, batch=0)
    assert cut or shape in ((0, 3), ()) or x != (9,)


def test_batches_that_are_looked_up(cut: list[int]) -> None:
    x, i = RNG.normal(size=(6, 9, 4)), RNG.integers(0, 9, (6, 11))
    check(gather, x, i, axes=(1,), batch=1)
    check(ordering.searchsorted, np.sort(x, axis=None), x, side="left")
    check(ordering.searchsorted, np.sort(x[..., 0]), x[..., 1].copy(), side="right")
    assert len(cut) == 3


@pytest.mark.parametrize("shape", [(40,), (6, 7), (2, 3, 4), (5, 0)])
def test_arrays_that_are_joined(shape: tuple[int, ...], cut: list[int]) -> None:
    for axis in range(len(shape)):
        xs = [RNG.normal(size=(*shape[:axis], n, *shape[axis + 1 :])) for n in (3, 0, 40)]
        check(concat, *xs, axis=axis)
        check(concat, xs[2], np.asfortranarray(xs[0]), axis=axis)
    assert cut


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "turned": lambda x: x.T,
    "moved": lambda x: np.moveaxis(x, 0, -1),
    "moved back": lambda x: np.moveaxis(x, -1, 0),
    "swapped": lambda x: x.swapaxes(0, -1),
    "reversed": lambda x: x[::-1, ..., ::-1].T,
    "every second": lambda x: x[..., ::2],
    "repeated": lambda x: np.broadcast_to(x[..., None], (*x.shape, 2)),
    "often repeated": lambda x: np.broadcast_to(x[..., None], (*x.shape, 40)),
    "repeated before": lambda x: np.broadcast_to(x[:, None], (len(x), 3, *x.shape[1:])),
    "one element": lambda x: np.broadcast_to(x[:1, :1, :1], x.shape),
    "as it is": lambda x: x,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tile", [4, 64, 1 << 14])
@pytest.mark.parametrize("most", [0, 1 << 14])
def test_copies_to_another_shape(
    layout: str, tile: int, most: int, cut: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "_TILE", tile)
    monkeypatch.setattr(sharing, "_MOST", most)
    for shape in ((6, 7, 8), (2, 50, 3), (31, 2, 5), (1, 9, 1), (17, 1, 18), (3, 0, 4)):
        x = LAYOUTS[layout](RNG.normal(size=shape).astype("f4"))
        for new in ((-1,), (x.shape[0], -1), (*x.shape, 1)) if x.size else ((0, 5),):
            new = np.empty(x.shape, bool).reshape(new).shape
            found, wanted = whole(reshape, [x])(x, shape=new), x.reshape(new)
            assert_same(found, wanted)
            assert np.shares_memory(found, x) == np.shares_memory(wanted, x)
    assert cut or layout in ("as it is", "one element")


def test_what_goes_by_elements() -> None:
    x = RNG.normal(size=(300, 7))
    with config(threads=3):
        assert_same(sharing.by_elements(np.sin, x, float), np.sin(x))
        assert_same(sharing.by_elements(np.sin, x[:0], float), x[:0])
        assert_same(sharing.by_elements(np.sin, np.asarray(0.5), float), np.asarray(np.sin(0.5)))


@pytest.mark.parametrize("lead", [(), (50,), (1, 50), (5, 6), (0,)])
def test_many_matrices(lead: tuple[int, ...], cut: list[int]) -> None:
    x, y = RNG.normal(size=(*lead, 4, 3)), RNG.normal(size=(*lead, 3, 5))
    check(matmul, x, y)
    check(matmul, x, y[..., :1])
    check(matmul, x[..., :1, :], y[..., :1])
    check(matmul, x[..., :1], y[..., :1, :])
    check(linalg.svd, x, full=False)
    check(linalg.qr, x, mode="reduced")
    square = x[..., :3, :]
    check(linalg.eigh, square, uplo="L")
    check(linalg.eigvals, square)
    check(linalg.eig, square)
    assert bool(cut) == (math.prod(lead) > 1)


def test_few_elements_of_a_large_array_are_one_call() -> None:
    x, few = np.arange(900_000.0), np.arange(30)
    with patch.object(sharing, "spread") as spread, config(threads=3):
        assert_same(whole(gather, [x, few])(x, few, axes=(0,), batch=0), x[:30])
    assert not spread.called


def test_large_matrices_are_left_to_blas() -> None:
    x = np.ones((4, 100, 100))
    with patch.object(sharing, "spread") as spread, config(threads=3):
        assert_same(whole(matmul, [x, x])(x, x), x @ x)
    assert not spread.called


def test_errors_in_a_thread_are_those_of_one_call(cut: list[int]) -> None:
    x = np.full((50, 3, 3), np.nan)
    with patch.object(linalg.eigvals, "by_matrices", 0), pytest.raises(np.linalg.LinAlgError):
        whole(linalg.eigvals, [x])(x)
