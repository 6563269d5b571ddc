"""Calls written as text, run with NumPy and with us: the same values, dtypes, shapes and exceptions."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.stats import stats

# What NumPy 2.5 has dropped; ours stay as they were, for the scripts that use them.
DROPPED = ("np.row_stack((v, v))", "np.cross(x, [1, 2])")


def data() -> dict[str, Any]:
    """Return the arrays that calls may name; fresh ones, since some are written to."""
    rng = np.random.default_rng(0)
    x = np.array([[1.5, -2.0, 0.25], [4.0, 3.5, -1.0]])
    n = x.copy()
    n[0, 1] = n[1, 2] = np.nan
    return {
        "x": x,  # floats, 2 x 3
        "v": np.array([3.0, -1.0, 2.0, 0.5]),
        "f": x.astype(np.float32),
        "i": np.array([[5, -3, 2], [0, 7, 2]]),
        "u": np.array([3, 0, 255, 7], np.uint8),
        "b": np.array([[True, False, True], [False, False, True]]),
        "c": np.array([[1 + 2j, -0.5j, 3], [0, 2 - 1j, 1j]]),
        "n": n,  # with nan
        "t": rng.standard_normal((2, 3, 4)),
        "m": rng.standard_normal((4, 4)),
        "s": np.array(2.5),  # 0-d
        "e": np.zeros((0, 3)),  # empty
        "o": np.array([[7.0]]),  # one element
        "k": np.array([2, 0, 1, 1]),  # indices
    }


def ours(value: Any) -> Any:
    return xp.array(value) if isinstance(value, np.ndarray) else value


def run(call: str, namespace: Any, names: dict[str, Any]) -> Any:
    """Evaluate a call; several statements end in one that is the result."""
    *before, last = [part.strip() for part in call.split(";")]
    scope = {"np": namespace, **names}
    # In a function: of names elsewhere Python 3.14 counts a reference more, so that NumPy refuses to resize.
    lines = [f"def call({', '.join(names)}):", *before, f"return ({last})"]
    exec("\n    ".join(lines), scope)
    return scope["call"](**names)


def outcome(call: str, namespace: Any, names: dict[str, Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = run(call, namespace, names)
            known(result)
            return result
        except Exception as error:
            return error


def known(result: Any) -> None:
    """Evaluate what is pending: an error may wait there."""
    for x in result if isinstance(result, tuple | list) else [result]:
        if isinstance(x, xp.Array):
            np.asarray(x)


def kind(error: Exception) -> type:
    """Return what a program would catch: the first class of an error that is not NumPy's own, or ours."""
    return next(c for c in type(error).__mro__ if c.__module__ == "builtins" or c is np.linalg.LinAlgError)


def same(mine: Any, theirs: Any, call: str) -> None:
    """Assert that two results are alike, whatever they are."""
    if isinstance(theirs, Exception):
        assert isinstance(mine, Exception), f"{call}: NumPy raises {theirs!r}, we give {mine!r}"
        assert isinstance(mine, kind(theirs)), (call, mine, theirs)
        return
    if isinstance(mine, Exception):
        raise AssertionError(f"{call}: NumPy gives {theirs!r}") from mine
    if isinstance(theirs, tuple | list):
        assert isinstance(mine, tuple | list), (call, mine, theirs)
        assert len(mine) == len(theirs), (call, mine, theirs)
        for a, b in zip(mine, theirs, strict=True):
            same(a, b, call)
        return
    if not isinstance(theirs, np.ndarray | np.generic):
        assert type(mine) is type(theirs) or isinstance(mine, xp.Array), (call, mine, theirs)
        np.testing.assert_equal(np.asarray(mine)[()] if isinstance(mine, xp.Array) else mine, theirs)
        return
    if isinstance(mine, bool | int | float):
        mine = SimpleNamespace(shape=(), dtype=theirs.dtype, value=np.asarray(mine))
    assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), (call, mine, theirs)
    value = np.asarray(getattr(mine, "value", mine))
    if theirs.dtype.kind not in "biufc":
        np.testing.assert_array_equal(value, theirs, err_msg=call)
        return
    rtol = {"e": 2e-3, "f": 2e-6, "F": 2e-6}.get(theirs.dtype.char, 1e-12)
    np.testing.assert_allclose(value, theirs, rtol, rtol, err_msg=call)


def compare(call: str, host: bool = False) -> None:
    """Compare one call; unless `host`, it must not leave for NumPy."""
    if call in DROPPED and np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        pytest.skip("NumPy has dropped this in 2.5, so there is nothing to compare with")
    theirs = outcome(call, np, data())
    before = stats.fallbacks.total()
    mine = outcome(call, xp, {k: ours(v) for k, v in data().items()})
    left = stats.fallbacks.total() - before
    same(mine, theirs, call)
    if not host and not isinstance(theirs, Exception):
        assert not left, f"{call} ran through NumPy on the host"
