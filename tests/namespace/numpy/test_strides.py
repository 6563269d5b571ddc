"""`as_strided` on views: from their first element, by strides of the memory that they are views of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp

VIEWS = ["x", "x[1:, ::2]", "x.T", "x[::-1, 1]", "x[2]", "x[:, 1:3].T", "x.reshape(2, 12)[:, 3:]"]


def windows(x: Any, module: Any) -> Any:
    shape = (*x.shape[:-1], x.shape[-1] - 1, 2)
    return module.lib.stride_tricks.as_strided(x, shape, (*x.strides, x.strides[-1]))


@pytest.mark.parametrize("of", VIEWS)
@pytest.mark.parametrize("module", [xp, np], ids=["ours", "numpy's"])
def test_windows_of_views(of: str, module: Any) -> None:
    plain = np.arange(24.0).reshape(4, 6)
    wanted = windows(eval(of, {"x": plain}), np)
    x = xp.asarray(plain) + 0
    found = windows(eval(of, {"x": x}), module)
    assert np.array_equal(np.asarray(found), wanted)
    # Where it is NumPy's function, the array stays what it is for what comes after.
    y = eval(of, {"x": x}) * 2
    x += 1
    assert np.array_equal(np.asarray(y), eval(of, {"x": plain}) * 2)
    assert np.array_equal(np.asarray(x), plain + 1)


@pytest.mark.parametrize("module", [xp, np], ids=["ours", "numpy's"])
def test_lengths_below_zero_are_refused(module: Any) -> None:
    with pytest.raises(ValueError, match=r"below 0|negative dimensions"):
        module.lib.stride_tricks.as_strided(module.arange(4), (-1,), (8,))
