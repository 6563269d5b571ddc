"""Fusion groups that compiled code runs as tables: rows reduced, repeated and joined, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as na
from nabla_array._lazy.cpu import blocks, kernels
from nabla_array._lazy.native import compiled
from nabla_array._namespace.dispatch import eager

pytestmark = pytest.mark.skipif(compiled is None, reason="what is tested here was not compiled")

Function = Callable[[Any, Any], Any]

# Each on the rows of a table: what has NumPy's bits.
EXACT: dict[str, Function] = {
    "softmax": lambda np, x: (
        np.exp(x - np.max(x, axis=-1, keepdims=True))
        / np.sum(np.exp(x - np.max(x, axis=-1, keepdims=True)), axis=-1, keepdims=True)
    ),
    "variance": lambda np, x: np.mean((x - np.mean(x, axis=-1, keepdims=True)) ** 2, axis=-1),
    "share of rows": lambda np, x: (x * x) / (np.sum(x * x, axis=-1)[..., None] + 1),
    "ties": lambda np, x: np.sum(np.astype(x == np.max(x + 0, axis=-1, keepdims=True), x.dtype) * 2, axis=-1),
    "product": lambda np, x: np.prod(x / 4, axis=-1) - np.min(x / 4, axis=-1),
    "row by element": lambda np, x: x - x[..., :1] * np.sum(x * 2, axis=-1, keepdims=True),
    "tanh": lambda np, x: (np.tanh(x + 1) - 1) * np.expm1(x),
}
# Rows joined to one: the order of summation is the blocks'.
JOINED: dict[str, Function] = {
    "columns": lambda np, x: np.sum(x * 2 - 1, axis=0),
    "all": lambda np, x: np.sum((x - 1) * (x - 1)),
    "extremes of columns": lambda np, x: np.max(x * 2 - 1, axis=0) - np.min(x * 2 - 1, axis=0),
    "of rows, then all": lambda np, x: np.sum(np.log(np.sum(np.exp(x), axis=-1))),
}
SHAPES = [(70_000, 10), (1300, 1000), (60_001, 17), (300_000, 3), (300, 200, 17), (40_000, 1, 16)]


@pytest.fixture(autouse=True)
def _on_the_host() -> Iterator[None]:
    with na.config(mode="host"):
        yield


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the length of rows of each job that compiled code runs."""
    lengths: list[int] = []
    run = kernels.Job.run

    def noted(self: kernels.Job, *args: Any) -> Any:
        done = run(self, *args)
        if done is not None:
            lengths.append(self.length)
        return done

    monkeypatch.setattr(kernels.Job, "run", noted)
    return lengths


def _table(shape: tuple[int, ...], dtype: str, special: bool) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape).astype(dtype)
    if special:
        x[0] = -0.0
        x[1, ..., 0] = np.nan
        x[2, ..., 1] = np.inf
        x[3, ..., :2] = [np.inf, -np.inf]
    return x


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_rows_have_numpys_bits(name: str, shape: tuple[int, ...], dtype: str, ran: list[int]) -> None:
    x = _table(shape, dtype, special=True)
    with np.errstate(all="ignore"), na.errstate(all="ignore"):
        ours, numpys = np.asarray(EXACT[name](na, na.asarray(x))), EXACT[name](np, x)
    assert ours.dtype == numpys.dtype
    np.testing.assert_array_equal(ours, numpys)
    assert ran or x.nbytes < eager.PART  # smaller ones are recorded by other code


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", JOINED)
def test_rows_are_joined(name: str, shape: tuple[int, ...], threads: int, ran: list[int]) -> None:
    x = _table(shape, "float64", special=False)
    with na.config(threads=threads):
        ours = np.asarray(JOINED[name](na, na.asarray(x)))
    np.testing.assert_allclose(ours, JOINED[name](np, x), rtol=1e-9, atol=1e-7)
    assert ours.shape == JOINED[name](np, x).shape


def test_what_is_joined_does_not_depend_on_threads() -> None:
    x = na.asarray(_table((70_000, 10), "float64", special=False))
    found = []
    for threads in (1, 2, 5):
        with na.config(threads=threads):
            found.append(np.asarray(na.sum(x * 2 - 1, axis=0)).tobytes())
    assert len(set(found)) == 1


def test_integers_and_truth_values(ran: list[int]) -> None:
    x = np.random.default_rng(0).integers(-100, 100, (80_000, 9))
    y = na.asarray(x)
    functions: list[Function] = [
        lambda np, x: x * 2 - np.max(x * 3, axis=1, keepdims=True),
        lambda np, x: np.any((x > 5) & (x < 9), axis=1) & ~np.all(x > -90, axis=1),
        lambda np, x: np.sum(x * x, axis=1) % 7,
        lambda np, x: np.sum(x * x - 1, axis=0),
    ]
    for f in functions:
        np.testing.assert_array_equal(np.asarray(f(na, y)), f(np, x))
    assert 9 in ran


def test_rows_seen_through_broadcasting_and_slicing(ran: list[int]) -> None:
    x = _table((2000, 300), "float64", special=False)
    row, column = np.linspace(0, 1, 300), np.linspace(1, 2, 2000)[:, None]

    def f(np: Any, t: Any) -> Any:
        mixed = t[0] * t[1] + t[2]
        return mixed / np.sum(mixed, axis=1, keepdims=True)

    for whole in (x, np.repeat(x, 2, axis=1)[:, ::2]):
        ours = f(na, [na.asarray(v) for v in (whole, row, column)])
        np.testing.assert_array_equal(np.asarray(ours), f(np, (np.ascontiguousarray(whole), row, column)))
    assert 300 in ran


_CHARS = ["b", "h", "f", "d", "D", "g"]


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([1, 2, 3, 7, 8, 9]), min_size=1, max_size=3),
    st.sampled_from([1, 2, 5, 47, 48, 49, 191, 192, 193]),
    st.lists(st.integers(0, 15), min_size=1, max_size=4),
    st.sampled_from(_CHARS),
    st.integers(0, 3),
    st.booleans(),
)
def test_what_repeats_along_short_rows(
    lead: list[int], inner: int, repeats: list[int], char: str, layout: int, reduces: bool
) -> None:
    """Each operand is whole or has, by the bits of a number, axes along which it is one element."""
    lead[0] *= max(1, 40_000 // (math.prod(lead) * inner))
    shape = (*lead, inner)
    rng = np.random.default_rng(inner)
    operands = []
    for bits in repeats:
        own = [1 if bits >> axis & 1 else n for axis, n in enumerate(shape)]
        x = rng.integers(-5, 6, own).astype(char)
        # Elements may lie apart, and rows backwards.
        wide = np.repeat(x, 2, axis=-1)[..., ::2] if layout == 1 else x
        operands.append(wide[::-1] if layout == 2 else np.asfortranarray(wide) if layout == 3 else wide)
    whole = rng.integers(-5, 6, shape).astype(char)

    def f(np: Any, whole: Any, operands: list[Any]) -> Any:
        out = whole + whole
        for x in operands:
            out = (out - x) * x + whole
        if reduces and char in "dh":
            out = out * np.max(out, axis=-1, keepdims=True) + np.min(out, axis=-1, keepdims=True)
        return out

    with np.errstate(all="ignore"), na.errstate(all="ignore"):
        expected = f(np, whole, operands)
        ours = f(na, na.asarray(whole), [na.asarray(x) for x in operands])
    np.testing.assert_array_equal(np.asarray(ours), expected, strict=True)


def test_square_tables_are_not_turned() -> None:
    x = _table((900, 900), "float64", special=False)
    y = na.asarray(x)
    found = (y * 2).T - na.sum(y * 2, axis=1)
    np.testing.assert_array_equal(np.asarray(found), (x * 2).T - np.sum(x * 2, axis=1))
    found = (y * 2) - na.sum(y * 2, axis=1)[None, :]
    np.testing.assert_array_equal(np.asarray(found), (x * 2) - np.sum(x * 2, axis=1)[None, :])


# All elements reduced to one: NumPy's bits.
FOLDED: dict[str, Function] = {
    "product": lambda np, x: np.sum(x[0] * x[1]),
    "distance": lambda np, x: np.mean((x[0] - x[1]) ** 2),
    "turned": lambda np, x: np.sum(x[0].T * x[1].T),
    "extremes": lambda np, x: np.max(x[0] - x[1]) - np.min(np.abs(x[0]) + 1),
    "sum and largest": lambda np, x: (lambda d: np.sum(d * d) / np.max(d))(x[0] - x[1]),
    "kept": lambda np, x: (lambda d: d / np.sum(d))(np.exp(x[0])),
    "count": lambda np, x: np.sum(x[0] > x[1]),
    "any": lambda np, x: np.any(x[0] > x[1] + 100),
    "all": lambda np, x: np.all(np.isfinite(x[0] + x[1])),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize(
    "shape", [(513, 1025), (131_073,), (262_144,), (7, 1, 150, 501), (1_000_003,)], ids=str
)
@pytest.mark.parametrize("name", sorted(FOLDED))
def test_what_is_reduced_to_one_has_numpys_bits(
    name: str, shape: tuple[int, ...], dtype: str, threads: int, ran: list[int]
) -> None:
    f = FOLDED[name]
    rng = np.random.default_rng(0)
    x = [(rng.standard_normal(shape) * 9).astype(dtype) for _ in range(2)]
    with na.config(threads=threads):
        found = np.asarray(f(na, [na.asarray(y) for y in x]))
    np.testing.assert_array_equal(found, np.asarray(f(np, x)), strict=True)
    assert ran or dtype == "int32"  # whose powers can raise


def test_faults_of_what_is_reduced_to_one_are_told() -> None:
    x = np.full((300, 300), 1e308)
    for code in (lambda np, x: np.sum(x * 1.0), lambda np, x: np.max(x * 10.0)):
        told = []
        for space, operand in ((np, x), (na, na.asarray(x))):
            with pytest.warns(RuntimeWarning) as seen, na.errstate(all="warn"):
                np.asarray(code(space, operand))
            told.append({str(w.message) for w in seen})
        assert told[0] == told[1]


LAID_OUT: dict[str, Function] = {
    "one": lambda np, x: np.sin(x[0]),
    "constants": lambda np, x: np.minimum(np.maximum(x[0], -1), 1),
    "choice": lambda np, x: np.where(x[0] > x[1], x[0] * 2, 0),
    "truth": lambda np, x: np.isnan(x[0] / x[1]),
    "a row": lambda np, x: x[0] * x[1][:1] + 1,
    "a column": lambda np, x: (x[0] - 1) * x[1][..., :1],
    "a repeated row": lambda np, x: np.abs(np.broadcast_to(x[1][:1], x[0].shape)) * x[0],
    "columns": lambda np, x: np.max(x[0] * 2 - 1, axis=0),
    "turned": lambda np, x: (x[0] * 2 + x[1]).reshape(-1)[:-1] + 1,
    "twice": lambda np, x: np.stack([x[0] + x[1], (x[0] + x[1]) * 2]),
}


def _laid_out(draw: st.DrawFn, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """Return an array whose axes lie in memory in some order, cut out or reversed perhaps."""
    back = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    step = draw(st.sampled_from([1, 1, 2, -1]))
    rows = [shape[a] * abs(step) if i == 0 else shape[a] for i, a in enumerate(axes)]
    x: np.ndarray = np.random.default_rng(0).standard_normal(rows)[::step].transpose(back)
    assert x.shape == shape
    return x


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_results_lie_in_memory_as_the_operands(data: st.DataObject) -> None:
    shape = data.draw(
        st.sampled_from([(300, 300), (257, 1, 301), (50, 41, 43), (90_000,), (70_000, 1), (3, 30_000)])
    )
    orders = st.permutations(range(len(shape))).map(tuple)
    first = data.draw(orders)
    second = data.draw(st.sampled_from([first]) | orders)
    operands = [data.draw(st.composite(_laid_out)(shape, axes)) for axes in (first, second)]
    f = LAID_OUT[data.draw(st.sampled_from(sorted(LAID_OUT)))]
    with np.errstate(all="ignore"), na.errstate(all="ignore"):
        expected = f(np, operands)
        ours = f(na, [na.asarray(x) for x in operands])
        found = np.asarray(ours)
    np.testing.assert_array_equal(found, expected, strict=True)
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS"):  # what is told of memory is true of what NumPy is given
        assert ours.flags[flag] == found.flags[flag]


@pytest.mark.parametrize("function", [np.sin, np.isnan])
def test_a_turned_operand_gives_a_turned_result(function: Any) -> None:
    x = np.random.default_rng(0).standard_normal((600, 500))
    y = na.asarray(x).T
    z = function(y)
    assert z._value().flags.f_contiguous
    np.testing.assert_array_equal(np.asarray(z), function(x.T))
    z += z  # in its own memory
    np.testing.assert_array_equal(np.asarray(z), function(x.T) + function(x.T))
    assert z._value().flags.f_contiguous


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_of_complex_numbers_are_views(dtype: str, ran: list[int]) -> None:
    x = np.random.default_rng(0).standard_normal((300, 2000)).astype(dtype) * (1 + 2j)
    y = na.asarray(x)
    found = np.asarray(y.real + y.imag * 2)
    np.testing.assert_array_equal(found, x.real + x.imag * 2, strict=True)
    found = np.asarray(na.max(y.real * 2, axis=1) - na.max(y.T.imag * 2, axis=0))
    np.testing.assert_array_equal(found, np.max(x.real * 2, axis=1) - np.max(x.imag * 2, axis=1), strict=True)
    assert len(ran) >= 2


def test_faults_of_rows_are_told_by_numpys_names() -> None:
    x = np.full((70_000, 10), 1e308)
    codes: list[Function] = [
        lambda np, x: np.sum(x * 1.0, axis=1) + 0.0,
        lambda np, x: np.exp(x * 1e-300) - np.max(x, axis=1, keepdims=True),
    ]
    for code in codes:
        told = []
        for space, operand in ((np, x), (na, na.asarray(x))):
            with pytest.warns(RuntimeWarning) as seen, na.errstate(all="warn"):
                np.asarray(code(space, operand))
            told.append({str(w.message) for w in seen})
        assert told[0] == told[1]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128", "bool"])
@pytest.mark.parametrize("lead", [(7,), (300,), (2, 3), (1,), (0,)], ids=str)
def test_products_of_columns_and_rows(lead: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((*lead, 9, 1)) * 3).astype(dtype)
    y = (rng.standard_normal((*lead, 1, 16)) * 3).astype(dtype)
    turned = np.ascontiguousarray(np.swapaxes(x, -1, -2))
    for ours in (na.asarray(x) @ na.asarray(y), na.asarray(turned).mT @ na.asarray(y)):
        np.testing.assert_array_equal(np.asarray(ours), x @ y, strict=True)


def test_products_of_stacks_of_nothing() -> None:
    for x, y in [((1, 0, 1), (1, 1, 5)), ((0, 2, 1), (0, 1, 5)), ((2, 0, 3), (3, 4)), ((0, 2, 3), (3, 4))]:
        ours = na.asarray(np.ones(x)) @ na.asarray(np.ones(y))
        np.testing.assert_array_equal(np.asarray(ours), np.ones(x) @ np.ones(y), strict=True)


def test_a_product_of_columns_and_rows_that_overflows_is_told_of() -> None:
    x, y = na.asarray(np.full((500, 9, 1), 1e200)), na.asarray(np.full((500, 1, 16), 1e200))
    with pytest.warns(RuntimeWarning, match="overflow encountered in matmul"), na.errstate(all="warn"):
        np.asarray(x @ y)


def test_other_regions_stay_with_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _table((70_000, 10), "float64", special=False)
    expected = np.asarray(EXACT["softmax"](na, na.asarray(x)))
    monkeypatch.setattr(blocks, "job_of", lambda program, group: None)
    blocks._kernel.cache_clear()
    np.testing.assert_array_equal(np.asarray(EXACT["softmax"](na, na.asarray(x))), expected)
    blocks._kernel.cache_clear()


def test_an_operation_of_four_operands() -> None:
    a = np.random.default_rng(0).random(200_000)
    x = na.asarray(a)
    special = pytest.importorskip("scipy.special")
    got = na.special.hyp2f1(x, x, x + 1, x / 2) * 2 + 1
    np.testing.assert_array_equal(np.asarray(got), special.hyp2f1(a, a, a + 1, a / 2) * 2 + 1)
    rows = na.reshape(x, (2000, 100))
    got = na.sum(na.special.hyp2f1(rows, rows, rows + 1, rows / 2), axis=1)
    wanted = np.sum(special.hyp2f1(a, a, a + 1, a / 2).reshape(2000, 100), axis=1)
    np.testing.assert_array_equal(np.asarray(got), wanted)
