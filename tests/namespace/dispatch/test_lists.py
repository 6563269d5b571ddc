"""Lists and tuples of numbers are the arrays that NumPy makes of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled

PYTHONS = (
    True,
    False,
    0,
    3,
    -2,
    2**62,
    2**63,
    2**70,
    1.5,
    -0.0,
    float("nan"),
    float("inf"),
    1e300,
    1j,
    2 - 3j,
)
NUMPYS = (
    *(np.float64(2.5), np.int64(7), np.bool_(True), np.complex128(1 + 2j)),
    np.float32(1.5),
    np.uint8(4),
)
DTYPES = (None, float, int, bool, complex, "f4", "i1", "c8", np.float64, np.int64, np.float32, "u8")
Made = Callable[[Any], Any]


def outcome(function: Made, module: Any) -> Any:
    """Return what a function gives with a namespace: its dtype and elements, or the class of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            value = np.asarray(function(module))
        except Exception as error:  # which one is what is compared
            return type(error).__name__
    return value.dtype, value.shape, repr(value.tolist())


def sequences(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return lists and tuples of items, of rows of one length, and of others."""
    rows = st.integers(0, 3).flatmap(lambda n: st.lists(st.lists(items, min_size=n, max_size=n), max_size=3))
    flat = st.lists(items, max_size=5)
    return st.one_of(
        flat, flat.map(tuple), rows, rows.map(lambda x: [tuple(r) for r in x]), st.lists(flat, max_size=3)
    )


@given(sequences(st.sampled_from(PYTHONS + NUMPYS)), st.sampled_from(DTYPES))
def test_arrays_of_lists(values: Any, dtype: Any) -> None:
    for name in ("array", "asarray"):
        wanted = outcome(lambda m: getattr(m, name)(values, dtype=dtype), np)  # noqa: B023
        if wanted[0] != np.dtype(object):  # which ours refuse
            assert outcome(lambda m: getattr(m, name)(values, dtype=dtype), xp) == wanted  # noqa: B023


@given(sequences(st.sampled_from(NUMPYS)))
def test_elements_of_ours_among_them(values: Any) -> None:
    def with_ours(item: Any) -> Any:
        return type(item)(map(with_ours, item)) if isinstance(item, list | tuple) else xp.asarray(item)

    assert outcome(lambda m: m.array(with_ours(values)), xp) == outcome(lambda m: m.array(values), np)


def in_some_order(m: Any, total: Any) -> Any:
    """Return a sum, whose terms are in NumPy's order only where compiled code asks NumPy for it."""
    return total if compiled is not None else m.round(total, 9)


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "std": lambda m, x, y: m.std(x),
    "median": lambda m, x, y: m.median(x),
    "interp": lambda m, x, y: m.interp(0.5, x, y),
    "interp at a list": lambda m, x, y: m.interp(y, x, y),
    "diff": lambda m, x, y: m.diff(x),
    "allclose": lambda m, x, y: m.allclose(x, y),
    "concatenate": lambda m, x, y: m.concatenate([x, y]),
    "column_stack": lambda m, x, y: m.column_stack([x, y]),
    "vstack": lambda m, x, y: m.vstack((x, y)),
    "histogram": lambda m, x, y: m.histogram(y, bins=x)[0],
    "digitize": lambda m, x, y: m.digitize(y, x),
    "percentile": lambda m, x, y: m.percentile(x, [25.0, 50.0]),
    "polyfit": lambda m, x, y: m.round(m.polyfit(x, y, 1), 9),
    "average": lambda m, x, y: m.average(x, weights=y),
    "einsum": lambda m, x, y: in_some_order(m, m.einsum("i,i", x, y)),
    "piecewise": lambda m, x, y: m.piecewise(m.asarray(x), [m.asarray(x) < 1], [2.0, 3.0]),
    "choose": lambda m, x, y: m.choose([0, 1], [5.0, 6.0]),
    "insert": lambda m, x, y: m.insert(x, 2, y),
    "pad": lambda m, x, y: m.pad(x, 1, constant_values=(1.0, 2.0)),
    "clip": lambda m, x, y: m.clip(x, 0.2, y),
    "unique": lambda m, x, y: m.unique(x + y),
    "hypot": lambda m, x, y: m.hypot(x, y),
    "histogram over a range": lambda m, x, y: m.histogram(x, 3, (0.0, 2.0))[0],
}


@pytest.mark.parametrize("n", [3, 64, 65, 200])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_long_lists(name: str, n: int) -> None:
    """Lists stay as they are, whatever a function does with them."""
    x, y = [0.01 * k for k in range(n)], [1.0 + k % 7 for k in range(n)]
    kept = [*x], [*y]
    wanted = outcome(lambda m: FUNCTIONS[name](m, x, y), np)
    assert outcome(lambda m: FUNCTIONS[name](m, x, y), xp) == wanted
    numbers = [xp.asarray(v) for v in x]
    assert outcome(lambda m: FUNCTIONS[name](m, x if m is np else numbers, y), xp) == wanted
    assert (x, y) == kept


KEYS = ("0", "1:3", "..., 0", "[0, 2]", "1, 2", ":, 1:3", "x[:, 0] > 1")
WRITTEN = (
    "[1, 2, 3, 4]",
    "(s, 1, 2.5, k)",
    "[1.5, -2.5, 3.0, -0.0]",
    "[[1, 2, 3, 4], [5, 6, 7, 8]]",
    "[x[2], x[0]]",
    "(x[1] + 1, x[0])",
    "[x[0], x[0], x[1]]",
    "[300, 2]",
    "[1j, 2]",
    "[True, k]",
    "[x[0, 1], x[1, 0], x[2, 0]]",
    "[x[0, 1], x[1, 0], x[2, 0], x[0, 0]]",
    "[-1, 2, 3, 4]",
    "[2**31, 2, 3, 4]",
    "[]",
    "[7]",
    "[[1], [2]]",
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "dtype", ["float64", "int64", "int8", "uint8", "int32", "float32", "complex128", "bool"]
)
@pytest.mark.parametrize("written", WRITTEN)
def test_lists_are_written_to_parts_as_numpy_writes_them(written: str, dtype: str) -> None:
    for key in KEYS:
        found = []
        for module in (xp, np):
            x = module.asarray(np.arange(12).reshape(3, 4).astype(dtype)).copy()
            names = {"x": x, "s": module.asarray([2.5])[0], "k": module.asarray([3])[0]}
            row = x[0]
            try:
                exec(f"x[{key}] = {written}", names)
            except (ValueError, OverflowError, TypeError) as error:
                found.append(type(error))  # NumPy may have written some by then
            else:
                found.append((np.asarray(row).tolist(), np.asarray(x).tolist()))
        np.testing.assert_equal(found[0], found[1], f"x[{key}] = {written}")
