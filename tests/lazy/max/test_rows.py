"""Reductions of rows and columns by our kernels for MAX: what they take together, and the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.program import linearize, pending_order
from nabla_array._lazy.max.backend import load, primitives, runner
from nabla_array._lazy.max.canonical import Canonical, canonicalize, for_target, parse
from nabla_array._lazy.max.rows import Rows

from ..ops.test_lowerings import compile_keys
from .test_canonical import canonical

Function = Callable[..., Any]


def _arrays(n: int, dtype: str = "f4", rows: int = 6) -> list[np.ndarray]:
    x, y = np.random.default_rng(n).uniform(-3, 3, (2, rows, n)) * (1 if dtype[0] == "f" else 20)
    return [x.astype(dtype), y.astype(dtype), x[0].astype(dtype)]


def _canonical(f: Function, arrays: list[np.ndarray]) -> Canonical:
    return canonical(f(xp, *map(xp.asarray, arrays)))


def _rows(f: Function, dtype: str = "f4", target: str = "") -> Rows:
    key = _canonical(f, _arrays(50, dtype, rows=50)).key  # square: its axes are told apart by their place
    return Rows(parse(for_target(key, target) if target else key), primitives())


def _by_hand(ns: Any, x: Any, y: Any, row: Any) -> Any:
    d = x - ns.mean(x, axis=1)[:, None]
    return ns.sum(d * d, axis=1)


def _standardized(ns: Any, x: Any, y: Any, row: Any) -> Any:
    return (x - ns.mean(x, axis=1, keepdims=True)) / ns.std(x, axis=1, keepdims=True)


def _stacked(ns: Any, x: Any, y: Any, row: Any) -> Any:
    return ns.var(ns.stack([x, y])[:, 1:] * 2, axis=-1)


def _hundredfold(ns: Any, x: Any, y: Any, row: Any) -> Any:
    return ns.mean(ns.square(x - y), axis=1) + ns.var(x * y - row, axis=1)


VARIANCES: dict[str, Function] = {
    "var": lambda ns, x, y, row: ns.var(x, axis=1),
    "std": lambda ns, x, y, row: ns.std(x * y, axis=1, keepdims=True),
    "of everything": lambda ns, x, y, row: ns.var(x),
    "of a row": lambda ns, x, y, row: ns.var(row) * row,
    "by hand": _by_hand,
    "standardized": _standardized,
    "stacked": _stacked,
    "beside another sum": _hundredfold,
}


@pytest.mark.parametrize("name", VARIANCES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_one_kernel_takes_a_variance(name: str, dtype: str) -> None:
    assert len(_rows(VARIANCES[name], dtype).spreads) == 1
    assert not _rows(VARIANCES[name], dtype, "0 cuda sm_90a").spreads  # our kernels are for CPUs


@pytest.mark.parametrize(
    "f",
    [
        lambda ns, x, y, row: ns.sum(ns.square(x - ns.mean(y, axis=1, keepdims=True)), axis=1),
        lambda ns, x, y, row: ns.sum(ns.square(x - ns.mean(x, axis=0)), axis=1),
        lambda ns, x, y, row: ns.sum(ns.square(x - ns.mean(x, axis=1)), axis=1),
        lambda ns, x, y, row: ns.sum(ns.square(x - ns.mean(x)), axis=1),
        lambda ns, x, y, row: ns.sum(ns.square(x - ns.sum(x, axis=1)[:, None] * 0.02), axis=1),
        lambda ns, x, y, row: ns.sum(ns.square(x - ns.sum(x, axis=1)[:, None] / 49.0), axis=1),
        lambda ns, x, y, row: ns.sum(ns.square(x + ns.mean(x, axis=1)[:, None]), axis=1),
        lambda ns, x, y, row: ns.sum((x - ns.mean(x, axis=1)[:, None]) * x, axis=1),
        lambda ns, x, y, row: ns.max(ns.square(x - ns.mean(x, axis=1)[:, None]), axis=1),
        lambda ns, x, y, row: ns.var(x, axis=0),
        lambda ns, x, y, row: ns.var(x[:, :5], axis=1),  # written out
    ],
)
def test_what_is_no_variance_of_rows(f: Function) -> None:
    assert not _rows(f).spreads


def _softmax(ns: Any, x: Any, y: Any, row: Any) -> Any:
    e = ns.exp(x - ns.max(x, axis=1, keepdims=True))
    return e / ns.sum(e, axis=1, keepdims=True)


def _weighted(ns: Any, x: Any, y: Any, row: Any) -> Any:
    z = ns.where(x > 0.5, x * y, 2.0 - row)
    return z - ns.min(z, axis=1, keepdims=True)


SHARED: dict[str, Function] = {
    "softmax": _softmax,
    "weighted": _weighted,
    "against a row": lambda ns, x, y, row: (x * row) * ns.max(x * row, axis=1, keepdims=True),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_others_need_too_is_computed_again(name: str) -> None:
    assert len(_rows(SHARED[name]).again) == 1
    assert not _rows(SHARED[name], target="0 cuda sm_90a").again


def _long(ns: Any, x: Any, y: Any, row: Any) -> Any:
    for _ in range(5):
        x = x * y + row
    return x / ns.sum(x, axis=1, keepdims=True)


@pytest.mark.parametrize(
    "f",
    [
        lambda ns, x, y, row: ns.sum(x * y, axis=1),  # nobody else needs it
        lambda ns, x, y, row: ns.exp(x) / ns.sum(ns.exp(x), axis=1, keepdims=True),  # MAX does so itself
        _long,
    ],
)
def test_what_is_not_computed_again(f: Function) -> None:
    assert not _rows(f).again


REDUCTIONS: dict[str, Function] = {
    "sum": lambda ns, x, y, row: ns.sum(x + y, axis=1, dtype=x.dtype),
    "max": lambda ns, x, y, row: ns.max(x + y, axis=1),
    "min": lambda ns, x, y, row: ns.min(x + y, axis=1),
    "of everything": lambda ns, x, y, row: ns.sum(x + y, dtype=x.dtype),
    "of a stack": lambda ns, x, y, row: ns.sum(ns.stack([x, y])[:, 1:] + row, axis=2, dtype=x.dtype),
    "any": lambda ns, x, y, row: ns.any(x - row > y, axis=1),
    "all": lambda ns, x, y, row: ns.all(abs(x) >= ns.minimum(x, y), axis=1),
    "count": lambda ns, x, y, row: ns.count_nonzero(x > y, axis=1),
}
COLUMNS: dict[str, Function] = {
    "sum": lambda ns, x, y, row: ns.sum(x + y, axis=0, dtype=x.dtype),
    "max": lambda ns, x, y, row: ns.max(x + y, axis=0),
    "min": lambda ns, x, y, row: ns.min(x + y, axis=0),
    "of a stack": lambda ns, x, y, row: ns.sum(ns.stack([x, y])[:, 1:] + row, axis=1, dtype=x.dtype),
    "any": lambda ns, x, y, row: ns.any(x - row > y, axis=0),
    "mean": lambda ns, x, y, row: x - ns.mean(x * y, axis=0),
    "var": lambda ns, x, y, row: ns.var(x * row, axis=0),
}
CASES = [
    *[(f, dtype) for f in (*VARIANCES.values(), *SHARED.values()) for dtype in ("f4", "f8")],
    *[(f, dtype) for f in REDUCTIONS.values() for dtype in ("f4", "f8", "i1", "i4", "u8")],
]
COLUMN_CASES = [
    *[(f, dtype) for f in COLUMNS.values() for dtype in ("f4", "f8")],
    *[(COLUMNS[name], dtype) for name in ("sum", "max", "min", "any") for dtype in ("i2", "i8", "u1")],
]
# Around the vectors of the kernel, and around the parts of which it makes long rows.
SIZES = [17, 31, 32, 33, 37, 100, 16384, 16385, 70001]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The compiled programs, by their keys."""
    cases = [*[(case, 6) for case in CASES], *[(case, 40) for case in COLUMN_CASES]]
    keys = list(dict.fromkeys(_canonical(f, _arrays(50, dtype, rows)).key for (f, dtype), rows in cases))
    folder = tmp_path_factory.mktemp("rows")
    compile_keys(keys, folder)
    found = load("test_rows", (folder / "mef").read_bytes())
    return {key: found[f"g{i}"] for i, key in enumerate(keys)}


def _run(f: Function, arrays: list[np.ndarray], models: dict[str, Any]) -> np.ndarray:
    nodes = [f(xp, *map(xp.asarray, arrays))._node]
    line = linearize(pending_order(nodes), nodes)
    made = canonicalize(line.program)
    (got,) = runner(models[made.key], made.inputs, made.outputs)(*[i.value for i in line.inputs])
    result: np.ndarray = got
    return result


def _check(f: Function, arrays: list[np.ndarray], models: dict[str, Any]) -> None:
    got, wanted = _run(f, arrays, models), f(np, *arrays)
    assert got.dtype == wanted.dtype
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(got, wanted)
        return
    exact = f(np, *[a.astype("f8") for a in arrays])
    rtol = 2e-6 if wanted.dtype == "f4" else 1e-13
    np.testing.assert_allclose(got, exact, rtol=rtol, atol=rtol * max(1.0, float(np.abs(exact).max())))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("f", "dtype"), CASES)
def test_results_are_the_hosts(f: Function, dtype: str, n: int, models: dict[str, Any]) -> None:
    _check(f, _arrays(n, dtype), models)


# Around the vectors, the blocks of columns, and the parts of rows.
SHAPES = [(18, 17), (64, 17), (66, 36), (67, 513), (1030, 100), (20_003, 21), (20, 70_001)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("f", "dtype"), COLUMN_CASES)
def test_columns_are_the_hosts(
    f: Function, dtype: str, shape: tuple[int, int], models: dict[str, Any]
) -> None:
    _check(f, _arrays(shape[1], dtype, rows=shape[0]), models)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n", [17, 33, 16390])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize(
    "f",
    [some[name] for some in (REDUCTIONS, COLUMNS) for name in ("sum", "max", "min")] + [VARIANCES["var"]],
)
def test_special_values_are_the_hosts(f: Function, value: float, n: int, models: dict[str, Any]) -> None:
    """One is in each row at another place, and the last row and column have no other."""
    x, y, row = _arrays(n, rows=20)
    x[range(len(x)), np.linspace(0, n - 1, len(x)).astype(int)] = value
    x[-1], y[-1] = value, -0.0
    x[:, -1], y[:, -1] = value, -0.0
    got = _run(f, [x, y, row], models)
    with np.errstate(invalid="ignore"):
        wanted = f(np, x, y, row)
    np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=1e-4)
    if (
        f in (REDUCTIONS["sum"], COLUMNS["sum"]) and value == 0
    ):  # which zero an extreme is depends on the order, NumPy's too
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_threads_do_not_change_sums(models: dict[str, Any]) -> None:
    """Few rows are shared by their parts, many as they are: each sum is the same."""
    arrays = _arrays(70001, rows=40)
    together = _run(REDUCTIONS["sum"], arrays, models)
    x, y, row = arrays
    alone = [_run(REDUCTIONS["sum"], [x[i : i + 2], y[i : i + 2], row], models) for i in range(0, 40, 2)]
    np.testing.assert_array_equal(together, np.concatenate(alone))
