"""Programs whose rows threads share, against NumPy, and against the same program run whole."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as na
from nabla_array._lazy.cpu import blas, row_tiling
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops.contraction import matmul
from nabla_array._lazy.run import tiers
from nabla_array._lazy.run.evaluator import evaluate
from nabla_array._lazy.run.executors import execute
from nabla_array._lazy.schedule.steps import Compiled, Schedule
from nabla_array.transforms import compile as compiled_function
from nabla_array.transforms import value_and_grad, vmap

from ..execution import assert_same, in_pieces

pytestmark = pytest.mark.skipif(compiled is None, reason="what is tested here was not compiled")

# Given a namespace, a table, and two matrices and a vector that fit it.
Function = Callable[[Any, Any, Any, Any, Any], Any]

FUNCTIONS: dict[str, Function] = {
    "a layer": lambda np, x, w, v, b: np.tanh(x @ w + b),
    "two layers": lambda np, x, w, v, b: np.tanh(x @ w + b) @ v,
    "a layer transposed": lambda np, x, w, v, b: np.abs(w.T @ x.T),
    "softmax of a layer": lambda np, x, w, v, b: (
        np.exp(x @ w - np.max(x @ w, axis=1, keepdims=True))
        / np.sum(np.exp(x @ w - np.max(x @ w, axis=1, keepdims=True)), axis=1, keepdims=True)
    ),
    "rows and columns summed": lambda np, x, w, v, b: [np.sum(x @ w + b, axis=k) for k in (0, 1, None)],
    "extremes of columns": lambda np, x, w, v, b: np.max(x @ w, axis=0) - np.min(x @ w + b, axis=0),
    "sums without anything else": lambda np, x, w, v, b: [np.sum(x @ w, axis=0), np.sum(x @ w, axis=1)],
    "products over the rows": lambda np, x, w, v, b: (x - 1).T @ np.tanh(x @ w),
    "with itself": lambda np, x, w, v, b: x.T @ (x * 2),
    "each row with each": lambda np, x, w, v, b: np.sum(np.abs(x @ x.T), axis=1),
    "standardized": lambda np, x, w, v, b: (
        (x @ w - np.mean(x @ w, axis=0)) / (np.mean(np.abs(x @ w), axis=0) + 1) @ v
    ),
    "a small part of it": lambda np, x, w, v, b: (np.tanh(x @ w) * 2)[1:] @ v,
    "its outputs looked at": lambda np, x, w, v, b: [(x @ w + b).T, np.reshape(x @ w, (-1,)), x @ w],
    "the nearest": lambda np, x, w, v, b: np.argmin(np.abs(x @ w - b), axis=1),
    "a bias that is a slice": lambda np, x, w, v, b: (x + v[:, 1:3].ravel()[:6]) @ w,
    "a slice of rows": lambda np, x, w, v, b: (x[2:] + x[:-2] * 2) @ w + (x @ w)[1:-1],
    "where": lambda np, x, w, v, b: np.where(x @ w > b, x @ w, 0) @ v,
    "sums of nothing": lambda np, x, w, v, b: (np.sum((x @ w)[:, :0], axis=1)[:, None] + x @ w) @ v,
    "inputs alone": lambda np, x, w, v, b: [np.sum(x * x, axis=1), x @ w],
}
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as usual": lambda x: x,
    "columns first": np.asfortranarray,
    "upside down": lambda x: x[::-1],
    "every second": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "one row": lambda x: np.broadcast_to(x[:1], x.shape),
}
DTYPES = ["float64", "float32", "complex128", "int64"]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of tiles of each step that is run so."""
    tiles: list[int] = []
    run = row_tiling._Ready.run

    def noted(self: Any, ins: Any) -> Any:
        tiles.append(self.tiles)
        return run(self, ins)

    monkeypatch.setattr(row_tiling._Ready, "run", noted)
    return tiles


def operands(rows: int, dtype: str = "float64") -> tuple[np.ndarray, ...]:
    """Return a table, matrices and a vector of small numbers."""
    rng = np.random.default_rng(rows)
    shapes = (rows, 6), (6, 5), (5, 4), (5,)
    if dtype == "int64":
        return tuple(rng.integers(-3, 4, s) for s in shapes)
    made = [rng.standard_normal(s) for s in shapes]
    if dtype[0] == "c":
        made = [
            x + 1j * y
            for x, y in zip(made, reversed([rng.standard_normal(s) for s in shapes[::-1]]), strict=True)
        ]
    return tuple(x.astype(dtype) for x in made)


def both(f: Function, given: tuple[np.ndarray, ...]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return what nabla_array and NumPy give."""
    with np.errstate(all="ignore"):
        wanted = f(np, *given)
    got = f(na, *[na.asarray(x) for x in given])
    many = isinstance(wanted, list)
    na.eval(got)
    return [np.asarray(x) for x in (got if many else [got])], wanted if many else [wanted]


@pytest.mark.parametrize("rows", [8, 9, 41])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_numpys(name: str, rows: int) -> None:
    for dtype in DTYPES:
        if dtype[0] == "c" and name in ("softmax of a layer", "extremes of columns", "where", "the nearest"):
            continue
        with in_pieces():
            for got, wanted in zip(*both(FUNCTIONS[name], operands(rows, dtype)), strict=True):
                assert_same(got, np.asarray(wanted), exact=dtype == "int64" and got.dtype.kind in "ib")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["two layers", "products over the rows", "standardized"])
def test_inputs_may_lie_in_any_way(name: str, layout: str) -> None:
    x, *rest = operands(24)
    with in_pieces():
        for first in (x, LAYOUTS[layout](x), x):  # made ready for one way, and then for another
            for got, wanted in zip(*both(FUNCTIONS[name], (first, *rest)), strict=True):
                assert_same(got, np.asarray(wanted), exact=False)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a layer", 1),
        ("two layers", 1),
        ("a layer transposed", 1),
        ("softmax of a layer", 1),
        ("products over the rows", 1),
        ("rows and columns summed", 1),
        ("with itself", 1),
        ("sums without anything else", 1),
        ("its outputs looked at", 1),
        ("standardized", 2),
    ],
)
def test_they_are_run_in_pieces(name: str, parts: int, ran: list[int]) -> None:
    with in_pieces(8):
        both(FUNCTIONS[name], operands(64))
    assert ran == [8] * parts


def test_small_programs_and_single_threads_are_left_alone(ran: list[int]) -> None:
    with na.config(mode="host"):
        both(FUNCTIONS["two layers"], operands(5000))
        assert not ran
    with in_pieces(threads=1):
        both(FUNCTIONS["two layers"], operands(50))
    assert not ran


def test_large_matrices_are_left_to_blas(ran: list[int]) -> None:
    rng = np.random.default_rng(0)
    x, w = (na.asarray(rng.standard_normal(s)) for s in ((2000, 700), (700, 700)))
    with na.config(mode="host", threads=2):
        na.eval(na.tanh(x @ w) @ w.T)
        assert not ran
        na.eval(na.tanh(x[:, :64] @ w[:64, :64]) @ na.tanh(x[:, :64] @ w[:64, :64]).T)  # 2000 to 2000
    assert not ran


def _as_pieces(f: Function, given: tuple[np.ndarray, ...], threads: int) -> list[np.ndarray]:
    with in_pieces(8, threads):
        return both(f, given)[0]


@pytest.mark.parametrize("name", ["two layers", "products over the rows", "rows and columns summed"])
def test_results_do_not_depend_on_the_number_of_threads(name: str) -> None:
    given = operands(1000)
    first = _as_pieces(FUNCTIONS[name], given, 2)
    for threads in (2, 3, 7):
        for x, y in zip(_as_pieces(FUNCTIONS[name], given, threads), first, strict=True):
            assert_same(x, y)


def _network(np: Any, w: Any, v: Any, x: Any, y: Any) -> Any:
    z = np.tanh(x @ w) @ v
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean(np.sum(y * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))), axis=1))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_of_a_network(dtype: str, ran: list[int]) -> None:
    """At a size at which pieces are worthwhile, compiled and not."""
    rng = np.random.default_rng(0)
    x, w, v = (rng.standard_normal(s).astype(dtype) / 8 for s in ((6000, 48), (48, 64), (64, 10)))
    y = np.eye(10, dtype=dtype)[rng.integers(0, 10, 6000)]
    given = [na.asarray(a) for a in (w, v, x, y)]

    def loss(w: Any, v: Any, x: Any, y: Any) -> Any:
        return _network(na, w, v, x, y)

    f = value_and_grad(loss, argnums=(0, 1))
    with na.config(mode="host", threads=2):
        results = []
        for g in (f, compiled_function(f)):
            value, grads = g(*given)
            na.eval(value, grads)
            results.append([np.asarray(r) for r in (value, *grads)])
        assert ran
        ran.clear()
        with patch.object(blas, "is_controlled", lambda: False):
            value, grads = f(*given)
            na.eval(value, grads)
            results.append([np.asarray(r) for r in (value, *grads)])
        assert not ran
    for got in results[:2]:
        for r, wanted in zip(got, results[2], strict=True):
            np.testing.assert_allclose(r, wanted, rtol=1e-4 if dtype == "float32" else 1e-11, atol=1e-8)


def test_stacks_of_matrices(ran: list[int]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 3, 4)), rng.standard_normal((40, 4, 2))
    a, b = na.asarray(x), na.asarray(y)
    with in_pieces():
        got = na.tanh(a @ b) + 1
        assert_same(np.asarray(got), np.tanh(x @ y) + 1, exact=False)
        assert ran == [4]
        each = vmap(lambda m, n: na.sum(na.tanh(m @ n), axis=0))(a, b)
        assert_same(np.asarray(each), np.sum(np.tanh(x @ y), axis=1), exact=False)


def test_stacks_that_meet_one_matrix_are_rows(ran: list[int]) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((40, 2, 3, 4)), rng.standard_normal((4, 2))
    with in_pieces():
        got = na.tanh(na.asarray(x) @ na.asarray(w)) + 1
        assert_same(np.asarray(got), np.tanh(x @ w) + 1, exact=False)
    assert ran == [4]


def test_unit_matrices_are_left_to_the_host(ran: list[int]) -> None:
    """It moves what they are multiplied by."""
    x = np.random.default_rng(0).standard_normal((100, 5000))
    a, unit = na.asarray(x), na.asarray(np.eye(100))
    with in_pieces():
        assert_same(np.asarray(na.tanh(unit @ a) + 1), np.tanh(x) + 1)
        assert not ran


class TestFaults:
    """Floating-point errors are told of as those of the operation."""

    @pytest.mark.parametrize(
        ("function", "name", "message"),
        [
            (lambda np, x, w: np.exp(x @ w), "exp", "overflow"),
            (lambda np, x, w: np.log(x @ w * 0) + x @ w, "log", "divide by zero"),
            (lambda np, x, w: (x * 1e300) @ (w * 1e5) + 1, "matmul", "overflow"),
        ],
    )
    def test_they_warn(self, function: Any, name: str, message: str, ran: list[int]) -> None:
        rng = np.random.default_rng(0)
        x, w = rng.uniform(1, 2, (40, 6)) * 100, rng.uniform(1, 2, (6, 5)) * 100
        with (
            in_pieces(),
            na.config(float_warnings=True),
            pytest.warns(RuntimeWarning, match=f"{message}.*{name}"),
        ):
            na.eval(function(na, na.asarray(x), na.asarray(w)))
        assert ran

    def test_they_raise(self) -> None:
        x = na.asarray(np.full((40, 6), 1e3))
        with in_pieces(), na.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
            na.eval(na.exp(x @ x[:6].T) + 1)


def test_an_error_in_a_part_that_is_whole_names_the_operation() -> None:
    x, w, *_ = (na.asarray(a) for a in operands(40))
    with in_pieces(), pytest.raises(np.linalg.LinAlgError, match=r"inv .*: Singular matrix"):
        na.linalg.inv((x @ w).T @ (x @ w) * 0)


def test_operations_with_several_results_are_whole(ran: list[int]) -> None:
    given = operands(40)
    x, w, v, b = (na.asarray(a) for a in given)
    with in_pieces():
        y = na.tanh(x @ w + b)
        u, s, _ = na.linalg.svd(y @ v, full_matrices=False)
        got = np.asarray(na.abs(u * s) @ na.ones((4, 2)))
    u, s, _ = np.linalg.svd(np.tanh(given[0] @ given[1] + given[3]) @ given[2], full_matrices=False)
    assert_same(got, np.abs(u * s) @ np.ones((4, 2)), exact=False)
    assert ran


def test_arrays_that_are_written_to_later_keep_their_results() -> None:
    x, w, _, b = operands(40)
    a = na.asarray(x.copy())
    with in_pieces():
        y = na.tanh(a @ na.asarray(w) + na.asarray(b))
        na.eval(y)
        a[:] = 0
        z = na.tanh(a @ na.asarray(w) + na.asarray(b))
        na.eval(z)
    assert_same(np.asarray(y), np.tanh(x @ w + b), exact=False)
    assert_same(np.asarray(z), np.tanh(x * 0 @ w + b), exact=False)


def test_several_threads_of_pythons_may_evaluate() -> None:
    given = operands(500)
    wanted = np.tanh(given[0] @ given[1] + given[3]) @ given[2]
    wrong: list[object] = []

    def work() -> None:
        for _ in range(30):
            got, _ = both(FUNCTIONS["two layers"], given)
            if not np.allclose(got[0], wanted):
                wrong.append(got)

    with in_pieces(8):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_shares_rows_too() -> None:
    given = operands(500)
    with in_pieces(8):
        wanted = both(FUNCTIONS["two layers"], given)[0][0]
        child = os.fork()
        if not child:
            got = both(FUNCTIONS["two layers"], given)[0][0]
            os._exit(0 if np.array_equal(got, wanted) else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_what_cannot_be_controlled_is_not_shared(ran: list[int]) -> None:
    with patch.object(blas, "threads_of_blas", lambda: None), in_pieces():
        both(FUNCTIONS["two layers"], operands(40))
    assert not ran


def test_explain_says_it() -> None:
    x, w, v, b = (na.asarray(a) for a in operands(40))
    with in_pieces():
        said = na.explain(na.sum(na.tanh(x @ w + b) @ v, axis=0) / 40)
    assert [s.kind for s in said.steps] == ["tiled", "fused"]
    assert said.steps[0].title() == "row tiling of 6 operations: host, 4 tiles on 2 threads"
    assert "1 row tiling, 1 fusion group; reads" in str(said)


def test_max_takes_parts_only_where_the_whole_is_faster_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial is between all of a program on the host, and MAX's parts between the host's."""
    x, w, v, b = operands(40)
    ran: list[str] = []
    cost = {"host": 0.0, "mixed": 0.0}
    clock = [0.0]

    def run(schedule: Schedule, *rest: Any) -> None:
        ran.append("mixed" if any(isinstance(s, Compiled) for s in schedule.steps) else "host")
        clock[0] += cost[ran[-1]]
        execute(schedule, *rest)

    monkeypatch.setattr(tiers, "execute", run)
    monkeypatch.setattr(tiers, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(tiers.Runner, "is_on_max", lambda self: self.kernel is not None)
    monkeypatch.setattr(tiers.Runner, "is_faster", property(lambda self: self.kernel is not None))
    monkeypatch.setattr(tiers.Runner, "run", lambda self, ins: self.on_host(ins))
    for better in ("host", "mixed"):
        cost.update({"host": 2.0, "mixed": 2.0, better: 1.0})
        ran.clear()
        with in_pieces(), na.config(mode="auto"):
            for _ in range(10):
                got = FUNCTIONS["two layers"](na, *[na.asarray(a) for a in (x, w, v, b)])
                assert_same(np.asarray(got), np.tanh(x @ w + b) @ v, exact=False)
        assert ran[:6] == ["host", "mixed"] * 3
        assert set(ran[6:]) == {better}


# -- random programs -------------------------------------------------------------------------------------

_UNARY = ("tanh", "abs", "negative", "square", "sin")
Instruction = tuple[int, int, int]


def _apply(np: Any, values: list[Any], weights: list[Any], kind: int, a: int, b: int) -> Any:
    """Return what an instruction makes of earlier values, which all have the same rows."""
    x, y = values[a % len(values)], values[b % len(values)]
    w = weights[b % len(weights)]
    if kind == 0:
        return x @ (w[: x.shape[1]] if x.shape[1] <= w.shape[0] else w)
    if kind == 1:
        return getattr(np, _UNARY[b % len(_UNARY)])(x)
    if kind == 2:
        return x + w[0, : x.shape[1]]
    if kind == 3:
        return x * y if x.shape == y.shape else x - np.mean(y, axis=1, keepdims=True)
    if kind == 4:
        return x - np.max(x, axis=1, keepdims=True)
    if kind == 5:
        return x - np.sum(x, axis=0) / 50
    if kind == 6:
        return x @ (y.T @ x) / 100 if a % 2 else x @ (x.T @ x) / 100
    return np.where(x > 0, x, x * 0.5)


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12),
    st.lists(st.integers(0, 12), max_size=3),
    st.integers(4, 50),
    st.sampled_from(sorted(LAYOUTS)),
    st.sampled_from(["float64", "float32"]),
    st.integers(2, 8),
)
def test_random_programs(
    instructions: list[Instruction], kept: list[int], rows: int, layout: str, dtype: str, most: int
) -> None:
    rng = np.random.default_rng(rows)
    x = LAYOUTS[layout]((rng.standard_normal((rows, 6)) / 4).astype(dtype))
    weights = [(rng.standard_normal(s) / 4).astype(dtype) for s in ((6, 6), (6, 3), (7, 7))]
    theirs: list[Any] = [x]
    mine: list[Any] = [na.asarray(x)]
    own = [na.asarray(w) for w in weights]
    for kind, a, b in instructions:
        try:
            wanted = _apply(np, theirs, weights, kind, a, b)
        except ValueError:  # shapes that do not fit
            continue
        mine.append(_apply(na, mine, own, kind, a, b))
        theirs.append(wanted)
    sums = [na.sum(mine[-1], axis=0), mine[-1].T @ mine[0]]
    wanted = [np.sum(theirs[-1], axis=0), theirs[-1].T @ x]
    alive = [k for k in kept if k < len(mine)]
    results, expected = sums + [mine[k] for k in alive], wanted + [theirs[k] for k in alive]
    del mine
    with in_pieces(most):
        na.eval(results)
        for got, right in zip(results, expected, strict=True):
            tolerance = 1e-9 if dtype == "float64" else 3e-3
            np.testing.assert_allclose(
                np.asarray(got), right, tolerance, tolerance * max(1, np.abs(right).max())
            )


def test_dims_of_products_name_the_axes_that_are_summed() -> None:
    x, y = na.asarray(np.ones((2, 3, 4))), na.asarray(np.ones((2, 4, 5)))
    assert matmul.dims is not None
    assert matmul.dims(x._node.aval, y._node.aval) == ((0, 1, 2), (0, 2, 3), (0, 1, 3))


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "signbit"])
def test_what_numpy_does_not_write_to_columns_is_not_cut_by_columns(name: str) -> None:
    # NumPy 2.4 and 2.5 leave out most elements of a strided result of these, from 16 on.
    x = np.arange(32.0).reshape(16, 2)
    wanted = getattr(np, name)(x @ np.eye(2))
    for _ in range(5):
        dirty = [np.full(wanted.nbytes, 255, np.uint8) for _ in range(100)]
        a = na.asarray(x)
        y = na.matmul(a, na.asarray(np.eye(2)))
        marks = getattr(na, name)(y)
        z = na.matmul(a, na.matrix_transpose(na.astype(na.isfinite(y), np.float64)))
        del dirty
        with in_pieces(2):
            evaluate([y._node, z._node, marks._node])
        np.testing.assert_array_equal(np.asarray(marks), wanted)


def test_one_element_of_a_result_is_written_where_others_repeat_it() -> None:
    # The last piece has one row of one column: a single element, as a number is.
    x = np.arange(5.0)[:, None]
    y = na.asarray(x) + 2
    z = na.maximum(y, y * 3) @ na.asarray([[1.0]])
    with in_pieces():
        evaluate([y._node, z._node])
    np.testing.assert_array_equal(np.asarray(y), x + 2)
    np.testing.assert_array_equal(np.asarray(z), (x + 2) * 3)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tangents_are_numpys_to_a_few_ulp_or_to_the_bit(layout: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 7)) * 10.0 ** rng.integers(-320, 4, (400, 7))
    x[::9] = rng.standard_normal(7)
    x[:4] = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -21.9]
    x = LAYOUTS[layout](x)
    wanted = np.tanh(x)
    for mode in ("auto", "host"):
        a = na.asarray(x)
        y = na.tanh(a)
        sums = na.matmul(na.isfinite(y) * 1.0, na.asarray(np.ones((7, 2)))) + a[:, :2]
        with in_pieces(), na.config(mode=mode), warnings.catch_warnings():
            warnings.simplefilter("error")
            evaluate([y._node, sums._node])
        got = np.asarray(y)
        assert_same(got[wanted == 0], wanted[wanted == 0])
        np.testing.assert_array_max_ulp(got, wanted, 4 if mode == "auto" else 0)
