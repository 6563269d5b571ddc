"""What the tests of `compile` share: functions that count their runs, and comparisons bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nabla_array as xp

rng = np.random.default_rng(0)


def arr(*shape: int, dtype: Any = np.float64) -> xp.Array:
    return xp.asarray(rng.normal(size=shape).astype(dtype))


class Counted:
    """A function that counts how often it is run."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.runs = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.fun(*args, **kwargs)


def same(got: Any, wanted: Any) -> None:
    """Assert equality bit for bit, of arrays in whatever containers."""
    assert type(got) is type(wanted)
    if isinstance(wanted, tuple | list):
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            same(g, w)
    elif isinstance(wanted, dict):
        assert got.keys() == wanted.keys()
        for k in wanted:
            same(got[k], wanted[k])
    elif isinstance(wanted, xp.Array):
        g, w = np.asarray(got), np.asarray(wanted)
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        assert g.tobytes() == w.tobytes()
    else:
        assert got == wanted


def close(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-12, atol=1e-14)
