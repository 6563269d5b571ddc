"""Memory that was given away: its array and its views see what others write to it, and nothing else does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.core.views import memory
from nabla_array.transforms import compile, fori_loop, grad, vmap

SIZES = [6, 5000, 600_000]
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": lambda x: x.copy(),
    "copy in Fortran's order": lambda x: x.copy("F"),
    "array": lambda x: xp.array(x),
    "numpy's copy": lambda x: xp.copy(x),
    "asarray": lambda x: xp.asarray(x, copy=True),
    "copy.copy": lambda x: copy.copy(x),
    "deepcopy": lambda x: copy.deepcopy(x),
    "astype": lambda x: x.astype(float),
    "positive": lambda x: +x,
    "flatten": lambda x: x.flatten(),
    "reshape": lambda x: xp.reshape(x, (-1, 1), copy=True),
    "of a view": lambda x: x[None].squeeze().copy(),
    "of a broadcast": lambda x: xp.broadcast_to(x, (2, *x.shape))[0].copy(),
    "written": lambda x: put(xp.zeros(x.shape), x),
    "full": lambda x: xp.full(x.shape, x),
    "pad": lambda x: xp.pad(x, 0),
    "concatenate": lambda x: xp.concatenate([x]),
    "product": lambda x: x * 2 / 2,
    "where": lambda x: xp.where(x >= 0, x, 0.0),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[1:],
    "step": lambda x: x[::2],
    "backwards": lambda x: x[::-1],
    "transpose": lambda x: x.reshape(-1, 2).T,
    "of a view": lambda x: x[1:][::2],
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "row": lambda x: x.reshape(2, -1)[1],
}


def put(target: Any, value: Any) -> Any:
    target[:] = value
    return target


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_has_memory_of_its_own(name: str, size: int) -> None:
    x = xp.asarray(np.arange(float(size)))
    outside = memory(x)
    made = COPIES[name](x)
    outside[:] = -1.0
    assert np.array_equal(np.asarray(made).ravel(), np.arange(size))
    made[...] = 7.0
    assert np.array_equal(x, np.full(size, -1.0))
    again = COPIES[name](x)
    theirs = memory(again)
    if theirs.flags.writeable:
        theirs[...] = 8.0
    assert np.array_equal(x, np.full(size, -1.0))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_sees_each_write(name: str, when: str, size: int) -> None:
    x, view = xp.asarray(np.arange(float(size))), VIEWS[name]
    early = view(x)
    outside = memory(x)
    seen = early if when == "before" else view(x)
    for factor in (2.0, 3.0):
        outside[:] = np.arange(size) * factor
        assert np.array_equal(seen, view(np.arange(size) * factor))
    kept = seen.copy()
    outside[:] = 0.0
    assert np.array_equal(kept, view(np.arange(size) * 3.0))


@pytest.mark.parametrize("size", SIZES)
def test_what_is_pending_takes_the_elements_of_its_time(size: int) -> None:
    numbers = np.arange(float(size))
    for function in (
        lambda x: x + x,
        lambda x: x[1:] * 2.0,
        lambda x: x.reshape(2, -1).T + 1.0,
        lambda x: x.sum(),
        lambda x: x[x > 1],
    ):
        x = xp.asarray(numbers.copy())
        outside = memory(x)
        y = function(x)
        outside[:] = -5.0
        np.testing.assert_allclose(np.asarray(y), function(numbers))


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "grad": grad(lambda x: xp.sum(xp.exp(x * 0.1) * x)),
    "vmap": vmap(lambda v: v * 2.0 + 1.0),
    "compile": compile(lambda x: x * 3.0 + 1.0),
    "compiled grad": compile(grad(lambda x: xp.sum(x**3))),
    "loop": lambda x: fori_loop(0, 3, lambda i, y: y * 2.0, x),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_transform_takes_the_elements_of_its_time(name: str, size: int) -> None:
    numbers = np.linspace(0.0, 1.0, size)
    wanted = np.asarray(TRANSFORMED[name](xp.asarray(numbers.copy())))
    x = xp.asarray(numbers.copy())
    outside = memory(x)
    found = TRANSFORMED[name](x)
    outside[:] = -3.0
    np.testing.assert_allclose(np.asarray(found), wanted)
    assert float(x[1]) == -3.0


@pytest.mark.parametrize("size", SIZES)
def test_what_a_compiled_function_captures_is_a_constant(size: int) -> None:
    x = xp.asarray(np.linspace(0.0, 1.0, size))
    outside = memory(x)
    function = compile(lambda y: y * x)
    for value in (0.0, -3.0):
        assert np.array_equal(function(xp.ones(size)), np.linspace(0.0, 1.0, size))
        outside[:] = value
