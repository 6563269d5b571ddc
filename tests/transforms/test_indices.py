"""An array without axes as an index: an int, with views, where it is known; else a part of the program."""

from __future__ import annotations

import numpy as np

import nabla_array as xp
from nabla_array.transforms import compile, grad, vmap


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
