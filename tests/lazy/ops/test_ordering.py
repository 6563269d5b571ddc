"""Sorting: equal elements, nan, descending orders, and tangents that move with their elements."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nabla_array._lazy.config import config
from nabla_array._lazy.cpu import calls, sharing
from nabla_array._lazy.cpu.calls import whole
from nabla_array._lazy.graph.node import leaf
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops import ordering
from nabla_array._lazy.ops.ordering import (
    argsort,
    distinct,
    isin,
    partition,
    search,
    searchsorted,
    sort,
    stable_argsort,
)
from nabla_array._lazy.rules.levels import bind
from nabla_array._lazy.run.evaluator import value_of

from ..execution import assert_same
from ..registry import avals, random, values
from ..rules.test_autodiff import pulled, tangent_of


@pytest.mark.parametrize("char", "bBlLfdD")
def test_nan_is_last_both_ways_and_equal_elements_stay_in_order(char: str) -> None:
    x = np.resize(values(char), 60)
    for descending in (False, True):
        params = {"axis": 0, "descending": descending, "stable": True}
        order = argsort.host(x, **params)
        got = sort.host(x, **params)
        assert_same(np.sort(order), np.arange(60))
        if char != "D":  # of complex numbers with nan in one part, NumPy's order is its own
            np.testing.assert_array_equal(x[order], got)
            known = got[~np.isnan(got)]
            assert not np.isnan(got[: len(known)]).any()
            steps = (known[1:] <= known[:-1]) if descending else (known[1:] >= known[:-1])
            assert steps.all()
            equal = (got[1:] == got[:-1]) | (np.isnan(got[1:]) & np.isnan(got[:-1]))
            assert (order[1:] > order[:-1])[equal].all()


@pytest.mark.parametrize("char", "fdilIL")
@pytest.mark.parametrize("n", [63, 64, 65, 200, 1000])
@pytest.mark.parametrize("distinct", [1, 2, 40, 5000])
def test_equal_elements_stay_in_order_in_rows_of_any_length(char: str, n: int, distinct: int) -> None:
    """Runs of equal numbers that are short and long, of zeros of both signs, and of nan."""
    chance = np.random.default_rng(n)
    x = chance.integers(0, distinct, (5, n)).astype(char)
    if char in "fd":
        x[1, chance.random(n) < 0.5] = np.nan
        x[2] = np.where(chance.random(n) < 0.5, 0.0, -0.0)
        x[3, ::7] = -np.inf
    for y, axis in ((x, 1), (x[1], None), (x.T, 0), (x[:, ::-1], 1), (x[:, 0], 0)):
        assert_same(stable_argsort(y, axis), np.argsort(y, axis, "stable"))


@pytest.mark.parametrize("char", "ehifdlLF?")
@pytest.mark.parametrize("distinct", [3, 50, 60_000])
@pytest.mark.parametrize("odd", [False, True])
def test_a_stable_order_found_by_vectors_is_numpys(char: str, distinct: int, odd: bool) -> None:
    """Rows that are long and short, with many equal elements and few, in any layout, with a nan."""
    x = (np.random.default_rng(0).integers(0, distinct, (12, 1500)) - distinct // 2).astype(char)
    if char in "fd":
        x[0, ::9] = -0.0
        if odd:
            x[3, 700] = np.nan
    for y, axis in ((x, 1), (x, -1), (x.T, 0), (x[:, ::3], 1), (x, 0), (x, None), (x[:, :0], 1)):
        assert_same(stable_argsort(y, axis), np.argsort(y, axis, "stable"))
    for many in (1, 2, 7, 100):  # runs that are sorted already
        y = np.concatenate([np.sort(part, 1) for part in np.array_split(x, many, 1)], 1)
        assert_same(stable_argsort(y), np.argsort(y, -1, "stable"))
    assert_same(stable_argsort(x[0, 0]), np.array([0]))


def sorted_line(char: str, n: int, distinct: int, seed: int) -> np.ndarray:
    """Return numbers in order, with equal ones, zeros of both signs, infinities and nan."""
    chance = np.random.default_rng(seed)
    x = (chance.integers(0, distinct, n) - distinct // 2).astype(char)
    if char in "fd" and n:
        x[chance.random(n) < 0.1] = np.nan
        x[chance.random(n) < 0.1] = -0.0
        x[chance.random(n) < 0.1] = np.inf
    return np.sort(x, kind="stable")


@pytest.mark.skipif(compiled is None, reason="merging lines is compiled code's; without it one thread sorts")
@pytest.mark.parametrize("char", "fdilIL")
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (100, 101), (1000, 7)])
@pytest.mark.parametrize("distinct", [1, 3, 100_000])
def test_merged_lines_are_a_stable_sort_of_both(char: str, sizes: tuple[int, int], distinct: int) -> None:
    a, b = (sorted_line(char, n, distinct, seed) for seed, n in enumerate(sizes))
    both, numbers = np.concatenate([a, b]), np.arange(sum(sizes))
    order = np.argsort(both, kind="stable")
    out, places = np.empty_like(both), np.empty_like(numbers)
    compiled.merge(a, b, out)
    assert_same(out, both[order])
    compiled.merge(a, b, out, numbers[: len(a)], numbers[len(a) :], places)
    assert_same(out, both[order])
    assert_same(places, order)


@pytest.mark.skipif(compiled is None, reason="merging lines is compiled code's; without it one thread sorts")
def test_lines_that_do_not_fit_are_refused() -> None:
    x, out, frozen = np.arange(3.0), np.zeros(6), np.zeros(6)
    frozen.flags.writeable = False
    n, places = np.arange(3), np.arange(6)
    wrong: list[tuple[Any, ...]] = [
        *[(x, x), (x, x, out, n), (x, x, out[:5]), (x, x.astype("f"), out), (x, [1.0], out), (None, x, out)],
        *[(x, x, frozen), (x, x, np.empty((6, 1))), (x[::2], x[:1], out[:3]), (x, x, out, n, n, n)],
        *[(x.astype("e"), x.astype("e"), out.astype("e")), (x, x, out, n, n.astype("i"), places)],
        *[(x.astype(">f8"), x.astype(">f8"), out.astype(">f8")), (x + 0j, x + 0j, out + 0j)],
    ]
    for args in wrong:
        with pytest.raises(TypeError, match="merge: needs three lines of numbers of one dtype"):
            compiled.merge(*args)


@pytest.mark.parametrize("char", "fdilILehFD?")
@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("descending", [False, True])
def test_threads_sort_a_line_as_one_does(char: str, threads: int, descending: bool) -> None:
    chance = np.random.default_rng(threads)
    lines = [np.resize(values(char), 5000), chance.integers(0, 100, 4001).astype(char)]
    lines += [np.arange(3000).astype(char), np.zeros(2000, char), np.sort(lines[1])[::-1], lines[1][::3]]
    with (
        patch.object(calls, "SHARED", 0),
        patch.object(ordering, "_SHARED", 0),
        patch.object(ordering, "_ORDERED", 0),
        config(threads=threads),
    ):
        for x in lines:
            chance.shuffle(x)
            for y, axis in ((x, 0), (x[:, None], 0), (x[None], 1)):
                params = {"axis": axis, "descending": descending, "stable": True}
                for prim in (sort, argsort):
                    assert_same(whole(prim, [y])(y, **params), prim.host(y, **params))
                order = whole(argsort, [y])(y, **params | {"stable": False})
                np.testing.assert_array_equal(np.take_along_axis(y, order, axis), sort.host(y, **params))


def test_threads_share_lines_and_rows_that_are_asked_for_alone() -> None:
    """A call that is evaluated by itself, without a plan, is shared as one of a plan is."""
    shared: list[str] = []

    def run(prim: Any, least: int, *operands: np.ndarray, **params: Any) -> Any:
        shared.append(prim.name)
        return behind(prim, least, *operands, **params)

    behind = sharing._rows_on_threads
    x = random("d", 1 << 20)
    with patch.object(sharing, "_rows_on_threads", run), config(threads=2):
        for y in (x, x.reshape(1 << 10, -1)):
            node = sort(leaf(y), axis=y.ndim - 1, descending=False, stable=False)
            assert_same(value_of(node), np.sort(y))
    assert shared == ["sort"] * 2


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_tangents_move_with_their_elements(axis: int) -> None:
    """Of equal elements, in the order in which they stand."""
    x = np.round(random("d", 3, 4, 5))
    t = random("d", 3, 4, 5, seed=1)
    for descending in (False, True):
        params = {"axis": axis, "descending": descending, "stable": True}
        (got,) = tangent_of(lambda xs, p=params: [sort(*xs, **p)], [leaf(x)], [leaf(t)])
        order = argsort.host(x, **params)
        assert_same(value_of(got), np.take_along_axis(t, order, axis))
        (back,) = pulled(lambda xs, p=params: [sort(*xs, **p)], [leaf(x)], [leaf(t)])
        wanted = np.empty_like(t)
        np.put_along_axis(wanted, order, t, axis)
        assert_same(value_of(back), wanted)


@pytest.mark.parametrize("char", "fdebBil")
@given(data=st.data(), distinct=st.integers(1, 300), odd=st.booleans(), lines=st.integers(1, 2))
def test_several_ranks_are_put_in_place_one_by_one(
    char: str, data: st.DataObject, distinct: int, odd: bool, lines: int
) -> None:
    n = ordering.RANKED + distinct
    x = np.random.default_rng(distinct).integers(0, min(distinct, 127), (lines, n)).astype(char)
    if odd and x.dtype.kind == "f":
        x[:, ::97], x[:, 1::89], x[:, 2::83] = np.nan, -np.inf, np.inf
    ranks = data.draw(st.lists(st.integers(-n, n - 1), min_size=2, max_size=24))
    ranks += data.draw(st.sampled_from([[], [n - 1], [n - 2, n - 1], [0, 1]]))
    given = x.copy()
    for axis, operand in ((1, x), (0, np.ascontiguousarray(x.T))):
        found = np.moveaxis(ordering.partition.host(operand, tuple(ranks), axis), axis, 1)
        ordered = np.sort(x, axis=1)
        np.testing.assert_array_equal(np.sort(found, axis=1), ordered)
        for rank in ranks:
            np.testing.assert_array_equal(found[:, rank], ordered[:, rank])
            for line, value in zip(found, ordered[:, rank], strict=True):
                before, after = line[: rank % n], line[rank % n + 1 :]
                assert np.isnan(value) or not ((before > value) | np.isnan(before)).any()
                assert not (after < value).any() if value == value else np.isnan(after).all()
    np.testing.assert_array_equal(x, given)


@pytest.mark.parametrize("axis", [0, 1])
def test_tangents_of_a_partition_stay_with_their_elements(axis: int) -> None:
    x, t = random("d", 7, 6), random("d", 7, 6, seed=1)
    params = {"kth": (2, 4), "axis": axis}
    (got,) = tangent_of(lambda xs: [partition(*xs, **params)], [leaf(x)], [leaf(t)])
    of = dict(zip(x.ravel(), t.ravel(), strict=True))
    assert_same(value_of(got), np.vectorize(of.get)(partition.host(x, **params)))


def test_vectors_are_searched_each_for_its_own() -> None:
    vectors = np.sort(random("d", 2, 3, 6))
    x = random("d", 2, 3, 4, 5, seed=1)
    for side in ("left", "right"):
        out = searchsorted.host(vectors, x, side=side)
        for i in np.ndindex(2, 3):
            assert_same(out[i], np.searchsorted(vectors[i], x[i], side=side))  # type: ignore[call-overload]
    among = np.round(vectors)
    out = isin.host(np.round(x), among)
    for i in np.ndindex(2, 3):
        assert_same(out[i], np.isin(np.round(x[i]), among[i]))


def test_one_vector_serves_all_examples() -> None:
    vector, x = np.sort(random("d", 6)), random("d", 3, 4, seed=1)
    found, _ = bind(searchsorted, [(leaf(vector), ()), (leaf(x), (1,))], {"side": "left"})
    assert [n.aval.shape for n in found.inputs] == [(6,), (3, 4)]
    among, _ = bind(isin, [(leaf(x), (1,)), (leaf(vector), ())])
    assert [n.aval.shape for n in among.inputs] == [(3, 4), (6,)]


@pytest.mark.parametrize("texts", [("d3", "f2"), ("d2,3", "d4")])
def test_vectors_that_do_not_fit_are_told(texts: tuple[str, ...]) -> None:
    vectors, x = avals(*texts)
    with pytest.raises(ValueError, match=r"^searchsorted: dtypes or batch axes differ: float64\["):
        searchsorted.aval(vectors, x, side="left")
    with pytest.raises(ValueError, match=r"^isin: dtypes or batch axes differ: float64\["):
        isin.aval(x, vectors)


@pytest.mark.parametrize("dtype", ["?", "b", "h", "i", "L", "e", "f", "d", "F"])
@pytest.mark.parametrize("shape", [(20_000,), (30, 700), (700, 30)], ids=str)
def test_a_stable_sort_has_the_bits_of_numpys(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    plain = (rng.standard_normal(shape) * 100).astype(dtype)
    cases = [plain, np.abs(plain), np.sort(plain, axis=-1), np.zeros(shape, dtype)]
    if dtype in "efdF":
        zeros = plain.copy()
        zeros[rng.uniform(size=shape) < 0.1] = 0.0
        zeros[rng.uniform(size=shape) < 0.1] = -0.0
        cases += [zeros, np.where(rng.uniform(size=shape) < 0.01, np.nan, zeros).astype(dtype)]
    for x in cases:
        for axis in range(x.ndim):
            for threads in (1, 2):
                with config(threads=threads):
                    found = whole(sort, [x])(x, axis=axis, descending=False, stable=True)
                assert_same(found, np.sort(x, axis=axis, kind="stable"))
                last = whole(sort, [x])(x, axis=axis, descending=True, stable=True)
                keys = np.negative(x) if dtype in "efdF" else np.invert(x)
                keys.sort(axis=axis, kind="stable")
                assert_same(last, np.negative(keys) if dtype in "efdF" else np.invert(keys))


@pytest.mark.parametrize("dtype", ["?", "b", "B", "h", "H", "i", "I", "l", "L"])
@pytest.mark.parametrize(
    "wanted", [(False,) * 3, (True,) * 3, (False, True, False), (False, False, True)], ids=str
)
def test_counting_finds_the_distinct_integers_that_numpy_finds(dtype: str, wanted: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype) if dtype != "?" else None
    for low, high in ((0, 2), (0, 100), (-128, 128), (-(2**63), -(2**63) + 9), (2**64 - 9, 2**64)):
        if limits is None and (low, high) != (0, 2):
            continue
        if limits is not None and (low < limits.min or high - 1 > limits.max):
            continue
        whole = np.uint64 if high > 2**63 else np.int64
        x = rng.integers(low, high, (100, 60), whole).astype(dtype)
        for y in (x, x[:, ::-3], x[:10, :10]):
            found, expected = distinct(y, *map(bool, wanted)), np.unique(y, *map(bool, wanted))
            for a, b in zip(*[v if type(v) is tuple else (v,) for v in (found, expected)], strict=True):
                assert_same(a, b)


@pytest.mark.parametrize("dtype", ["h", "H", "i", "L"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [2, 300, 5000])
def test_the_order_of_a_permutation_is_its_inverse(dtype: str, descending: bool, size: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.permutation(size).astype(dtype) + np.dtype(dtype).type(7)
    twice = x.copy()
    twice[:2] = twice[-2:]
    for y in (x, twice, x[::-1]):
        order = argsort.host(y, axis=0, descending=descending, stable=True)
        keys = np.invert(y) if descending else y
        assert_same(order, np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("descending", [False, True])
def test_threads_do_not_share_a_permutation(descending: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **params: Any) -> Any:
        raise AssertionError("its parts are no permutations")

    monkeypatch.setattr(argsort, "joined", refuse)
    x = np.random.default_rng(0).permutation(100_000)
    with config(threads=2):
        order = whole(argsort, [x])(x, axis=0, descending=descending, stable=True)
    assert_same(order, np.argsort(np.invert(x) if descending else x, kind="stable"))


@given(
    st.sampled_from("dflLiIhB"),
    st.sampled_from("dfl"),
    st.integers(0, 70),
    st.integers(0, 300),
    st.booleans(),
    st.sampled_from(["keys", "both", "neither"]),
    st.integers(0, 99),
)
def test_many_numbers_are_sought_in_step(
    key: str, char: str, n: int, many: int, is_right: bool, are_sorted: str, seed: int
) -> None:
    """As NumPy seeks them one by one: among equal keys, nan, infinities, and keys that are not sorted."""
    rng = np.random.default_rng(seed)

    def drawn(char: str, n: int) -> np.ndarray:
        x = rng.integers(0, 40, n).astype(char)
        if char in "df":
            x[rng.random(n) < 0.2] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.5])
        return x

    keys, x = drawn(key, n), drawn(char, many)
    keys = keys if are_sorted == "neither" else np.sort(keys)
    x = np.sort(x) if are_sorted == "both" else x
    side: Any = "right" if is_right else "left"
    for sought in (x, x[::-1], x[: many // 6 * 6].reshape(2, -1, 3)):
        assert_same(search(keys, sought, side), np.searchsorted(keys, sought, side))


def test_few_numbers_among_many_keys_are_not_looked_at_twice() -> None:
    keys = np.arange(1e6)
    x = random("d", 100) * 1e6
    assert_same(search(keys, x), np.searchsorted(keys, x))
    if compiled is not None:
        assert compiled.search(keys, x, False) is None


@pytest.mark.skipif(compiled is None, reason="compiled code checks what it is given")
def test_compiled_code_leaves_to_numpy_what_it_does_not_know() -> None:
    assert compiled is not None
    x = np.arange(100.0)
    for keys in (x.reshape(10, 10), x[::2], x.astype(np.float32), x.astype(">f8"), x[::-1].copy()):
        assert compiled.search(keys, x, False) is None
    for keys in (x.reshape(10, 10), x.astype(complex), x[::-1].copy(), x[:1], np.append(x[:-1], np.nan)):
        assert compiled.interpolate(x, keys, x, None, None) is None
    for end in ("1", 10**400, 1j, np.float64(1)):
        assert compiled.interpolate(x, x, x, None, end) is None  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="search: needs sorted keys"):
        compiled.search([1.0], x, False)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="interpolate: needs places"):
        compiled.interpolate([1.0], x, x, None, None)  # type: ignore[arg-type]
