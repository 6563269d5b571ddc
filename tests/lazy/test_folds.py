"""Sums that are folded for MAX, and those that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.canonical import parse
from nabla_array._lazy.folds import Folds
from nabla_array._lazy.max_backend import load, primitives, runner

from .test_canonical import canonical
from .test_lowerings import compile_keys


def _squares(ns: Any, x: Any, y: Any, row: Any) -> Any:
    return ns.sum(ns.square(x - ns.sum(x, axis=1)[:, None] * 0.125), axis=1)


def _weighted(ns: Any, x: Any, y: Any, row: Any) -> Any:
    return ns.sum(ns.where(x > 0.5, x * y, 2.0 - row), axis=1)


def _joined(ns: Any, x: Any, y: Any, row: Any) -> Any:
    return ns.sum(x, axis=-1) + ns.sum(ns.astype(x > y, x.dtype), axis=-1)


def _of_another_sum(ns: Any, x: Any, y: Any, row: Any) -> Any:
    return ns.sum(ns.sum(x * x, axis=1)[:, None] * y, axis=1)


def _of_ones(ns: Any, x: Any, y: Any, row: Any) -> Any:
    return ns.sum(x * ns.broadcast_to(ns.ones(x.shape[1], dtype=x.dtype), x.shape), axis=1)


FOLDED = {_of_ones: 1, _squares: 2, _weighted: 1, _joined: 2, _of_another_sum: 2}
SIZES = [9, 10, 11, 12, 13, 50, 1000]


def _arrays(n: int, dtype: str = "f") -> list[np.ndarray]:
    x, y = np.random.default_rng(n).uniform(-1, 1, (2, 20, n)).astype(dtype)
    return [x, y, x[0] + y[1]]


def _folds(f: Callable[..., Any], dtype: str = "f") -> int:
    key = canonical(f(xp, *map(xp.asarray, _arrays(50, dtype)))).key
    return len(Folds(parse(key), primitives()).chains)


@pytest.mark.parametrize("f", FOLDED)
def test_what_is_folded(f: Callable[..., Any]) -> None:
    assert _folds(f) == FOLDED[f]
    assert _folds(f, "d") == 0  # not faster


@pytest.mark.parametrize(
    "f",
    [
        lambda ns, x, y, row: ns.sum(x * y, axis=0),  # columns go side by side
        lambda ns, x, y, row: ns.max(x * y, axis=1),
        lambda ns, x, y, row: ns.sum(x[:, 1:] * y[:, :-1], axis=1),  # slices of slices: not needed so far
        lambda ns, x, y, row: ns.exp(x) / ns.sum(ns.exp(x), axis=1, keepdims=True),  # done twice
        lambda ns, x, y, row: ns.sum(x[:, :5], axis=1),  # written out
    ],
)
def test_what_is_not_folded(f: Callable[..., Any]) -> None:
    assert _folds(f) == 0


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The compiled programs, by their keys."""
    keys = [canonical(f(xp, *map(xp.asarray, _arrays(50)))).key for f in FOLDED]
    folder = tmp_path_factory.mktemp("folds")
    compile_keys(keys, folder)
    found = load("test_folds", (folder / "mef").read_bytes())
    return {key: found[f"g{i}"] for i, key in enumerate(keys)}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("f", FOLDED)
def test_folded_sums_are_the_hosts(f: Callable[..., Any], n: int, models: dict[str, Any]) -> None:
    arrays = _arrays(n)
    made = canonical(f(xp, *map(xp.asarray, arrays)))
    used = arrays[: len(made.inputs)]  # each takes the first of them
    (got,) = runner(models[made.key], made.inputs, made.outputs)(*used)
    wanted = f(np, *arrays)
    exact = f(np, *[a.astype("d") for a in arrays])
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=2e-6 * float(np.abs(exact).max()))
