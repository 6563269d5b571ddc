"""An array without axes as an index: an int, with views, where it is known; else a part of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import compile, grad, jvp, vmap

# Of an array of shape (4, 3, 3), with an index between 0 and 2.
PARTS = """
x[k]
x[:, k]
x[k, k]
x[1:, k]
x[..., k]
x[k, :, 1]
x[k][k]
x[k, ::-1].T
x.reshape(12, 3)[k]
x[:, None, k]
x[k].reshape(9)
x[k].ravel()[::2]
"""


def change(part: str, x: Any, k: Any) -> list[Any]:
    """Write to a part by its name and read the whole, and the other way round."""
    y = eval(part, {"x": x, "k": k})
    y += 1
    y[0] = -5
    z = eval(part, {"x": x, "k": k})
    x *= 2
    return [x, y + 0, z + 0]


@pytest.mark.parametrize("part", PARTS.split("\n")[1:-1])
def test_a_part_is_a_view(part: str) -> None:
    def ours(k: Any) -> list[Any]:
        return change(part, xp.arange(36.0).reshape(4, 3, 3) + 0 * k, k)

    compiled = compile(ours)
    mapped = vmap(ours)(xp.asarray([2, 0, 1, 1]))
    for at, k in enumerate([2, 0, 1, 1]):
        wanted = change(part, np.arange(36.0).reshape(4, 3, 3), k)
        for found in (ours(xp.asarray(k)), compiled(xp.asarray(k)), [m[at] for m in mapped]):
            for mine, theirs in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(np.asarray(mine), theirs)
    assert compiled.cache_info()[:3] == (3, 1, 0)


def test_views_by_indices_that_are_computed() -> None:
    results = []
    for np_ in (np, xp):
        x = np_.arange(12.0).reshape(4, 3)
        best = np_.argmax(np_.asarray([0, 3, 1]))
        row = x[best]
        row += 1
        x[:, best][1:] = 5
        x[best, best] *= 2
        for k in np_.nonzero(x[:, 2])[0]:
            part = x[k, :2]
            part[0] = -1
        results.append(x.tolist())
    assert results[0] == results[1]


def test_within_transforms() -> None:
    x = xp.arange(5.0)
    assert vmap(lambda k: x[k])(xp.asarray([3, 1])).tolist() == [3, 1]
    picked = compile(lambda x, k: x[k] * 2)
    assert [picked(x, xp.asarray(k)).tolist() for k in range(3)] == [0, 2, 4]
    assert picked.cache_info()[:3] == (2, 1, 0)
    assert grad(lambda x: x[xp.argmax(x)] ** 2)(x).tolist() == [0, 0, 0, 0, 8]


def test_derivatives_follow_what_is_written_to_a_part() -> None:
    def f(x: Any, k: Any) -> Any:
        y = x * 1
        row = y[k]
        row *= 3
        return xp.sum(y**2)

    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    for g in (grad(f), compile(grad(f))):
        assert g(x, xp.asarray(1)).tolist() == [[2, 4], [54, 72]]
    assert vmap(grad(f), in_axes=(None, 0))(x, xp.asarray([0, 1]))[1].tolist() == [[2, 4], [54, 72]]
    assert jvp(lambda x: f(x, xp.asarray(0)), (x,), (x,))[1].tolist() == 140.0
