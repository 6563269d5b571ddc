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


def put(target: Any, value: Any, key: Any = ...) -> Any:
    target[key] = value
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


WRITES: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: put(x, 9.0, 0),
    "slice": lambda x: put(x, 9.0, slice(0, 3)),
    "all": lambda x: put(x, 9.0),
    "overlap": lambda x: put(x, x[:-1], slice(1, None)),
    "step": lambda x: put(x, x[::-1], slice(None)),
    "mask": lambda x: put(x, 0.0, x > 1),
    "indices": lambda x: put(x, -5.0, [0, 2]),
    "operator": lambda x: x.__iadd__(1),
    "operator on itself": lambda x: x.__iadd__(x[::-1]),
    "product": lambda x: x.__imul__(xp.full(x.shape, 3.0)),
    "pending": lambda x: put(x, xp.exp(x * 1e-6) + x),
    "out": lambda x: xp.exp(x * 1e-6, out=x),
    "out, where": lambda x: xp.multiply(x, 2.0, out=x, where=x > 1),
    "cumsum": lambda x: xp.cumsum(x, out=x),
    "fill": lambda x: x.fill(3),
    "sort": lambda x: (put(x, 1e9, 0), x.sort()),
    "in a view": lambda x: put(x[1:], 77.0, 0),
    "view": lambda x: x[1:].__iadd__(5),
    "item of a view": lambda x: x[1:].__setitem__(0, x[1:][0] + 1),
    "augmented": lambda x: augmented(x),
    "transposed": lambda x: put(x.reshape(2, -1).T, 4.0, 0),
    "ufunc.at": lambda x: xp.add.at(x, [0, 0], 1.0),
    "copyto": lambda x: xp.copyto(x, 8.0),
    "put": lambda x: xp.put(x, [0], 5.0),
    "twice": lambda x: (put(x, 5.0, 0), x.__iadd__(2)),
    "shuffle": lambda x: xp.random.default_rng(0).shuffle(x),
}


def augmented(x: Any) -> None:
    x[1:3] *= 4.0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("has_view", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_whoever_has_the_memory_sees_each_write(name: str, has_view: bool, size: int) -> None:
    numbers = np.arange(float(size))
    x, wanted = xp.asarray(numbers.copy()), xp.asarray(numbers.copy())
    outside = memory(x)
    view = x[1:] if has_view else None
    WRITES[name](x)
    WRITES[name](wanted)
    assert np.array_equal(outside, np.asarray(wanted))
    assert np.array_equal(x, outside)
    assert view is None or np.array_equal(view, outside[1:])
    outside[1] = 123.0
    assert float(x[1]) == 123.0
    assert view is None or float(view[0]) == 123.0


def test_a_view_that_a_transform_records_sees_writes_to_exported_memory() -> None:
    x = xp.asarray(np.arange(6.0))
    outside = memory(x)

    def function(i: Any) -> Any:
        view = x[i:]
        x[5] = 7.0
        return view[-1]

    found = [function(i) for i in (xp.asarray(1), xp.asarray(2))]
    assert list(map(float, found)) == [7.0, 7.0]
    assert outside[5] == 7.0


def test_exported_memory_that_is_read_only_is_not_written_to() -> None:
    x = xp.broadcast_to(xp.asarray(np.arange(3.0)), (2, 3))
    outside = memory(x)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0
    assert np.array_equal(outside, np.broadcast_to(np.arange(3.0), (2, 3)))


def test_an_error_leaves_exported_memory_as_it_was() -> None:
    x = xp.asarray(np.arange(3.0))
    outside = memory(x)
    with pytest.raises(ValueError, match="does not fit"):
        x[:] = xp.ones(2)
    with pytest.raises(IndexError):
        x[3] = 1.0
    assert outside.tolist() == [0.0, 1.0, 2.0]


def test_a_write_that_is_differentiated_stays_in_the_graph() -> None:
    def function(y: Any) -> Any:
        x = xp.zeros(3)
        memory(x)
        x[1] = y
        x *= 2.0
        return xp.sum(x * x)

    assert float(grad(function)(3.0)) == 24.0
    assert vmap(function)(xp.asarray([1.0, 3.0])).tolist() == [4.0, 36.0]
