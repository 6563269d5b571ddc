"""Canonical programs: which programs have one text, and that the text says all that is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.program import linearize, pending_order
from nabla_array._lazy.max import trials
from nabla_array._lazy.max.canonical import Canonical, canonicalize, parse

from ..canonical_host import execute, numpy_as_max
from ..execution import assert_same
from ..run.test_random_graphs import _INSTRUCTION, build, leaves


def canonical(*arrays: Array) -> Canonical:
    nodes = [a._node for a in arrays]
    return canonicalize(linearize(pending_order(nodes), nodes).program)


def key(function: Callable[..., Array], *shapes: tuple[int, ...], dtype: Any = np.float64) -> str:
    return canonical(function(*[xp.asarray(np.ones(shape, dtype)) for shape in shapes])).key


def test_sizes_and_the_number_of_axes_do_not_count_where_all_is_pointwise() -> None:
    def chain(x: Array, y: Array) -> Array:
        return (x + y) * x - y

    flat = key(chain, (7,), (7,))
    assert (
        flat == key(chain, (100,), (100,)) == key(chain, (4, 5), (4, 5)) == key(chain, (2, 3, 4), (2, 3, 4))
    )
    assert flat != key(chain, (7,), (7,), dtype=np.float32)
    assert flat != key(chain, (), ())
    assert flat != key(chain, (1,), (1,))  # a size of 1 is known
    assert parse(flat).inputs[0][0] == ("d0",)


def test_axes_that_are_reduced_alike_are_one() -> None:
    def total(x: Array) -> Array:
        return xp.sum(x * x)

    assert key(total, (100,)) == key(total, (10, 20)) == key(total, (9, 10, 11))

    def rows(x: Array) -> Array:
        return xp.sum(x * x, axis=-1)

    assert key(rows, (20, 10)) == key(rows, (9, 10, 11)) != key(total, (20, 10))


def test_means_and_variances_of_every_size_are_one_program() -> None:
    def standardized(x: Array) -> Array:
        return (x - xp.mean(x, axis=1, keepdims=True)) / xp.std(x, axis=1, keepdims=True, correction=1)

    assert key(standardized, (20, 100)) == key(standardized, (30, 70))
    x = np.random.default_rng(0).standard_normal((20, 100))
    with numpy_as_max(), xp.config(mode="max"):
        got = np.asarray(standardized(xp.asarray(x)))
    wanted = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True, ddof=1)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_small_axes_that_are_reduced_are_written_out() -> None:
    def points(x: Array) -> Array:
        return xp.sum(x * x, axis=-1)

    assert key(points, (100, 3)) == key(points, (50, 3)) != key(points, (100, 2))
    assert key(points, (100, 9)) == key(points, (100, 90))


@pytest.mark.parametrize("shape", [(7, 17), (17, 7), (2, 3), (2, 30, 3)])
def test_short_axes_merge_with_others_that_are_reduced(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    total = canonical(xp.sum(xp.asarray(x) * 2.0))
    (got,) = execute(total.key, x.reshape(total.inputs[0]))
    np.testing.assert_allclose(got, np.sum(x * 2.0), rtol=1e-13)


def test_broadcasting_keeps_what_differs_apart() -> None:
    def outer(x: Array, y: Array) -> Array:
        return x[:, None] * y + 1

    wanted = key(outer, (10,), (20,))
    assert wanted == key(outer, (30,), (30,))  # that sizes are equal by chance says nothing
    assert parse(wanted).inputs == ((("d0",), np.float64), (("d1",), np.float64))


def test_what_inputs_do_not_tell_is_part_of_the_text() -> None:
    def spread(n: int) -> Callable[[Array], Array]:
        return lambda x: xp.broadcast_to(x, (n, x.shape[0])) * 2.0

    assert key(spread(5), (10,)) == key(spread(5), (30,)) != key(spread(6), (10,))


def test_a_slice_tells_what_it_leaves_out() -> None:
    def inner(x: Array) -> Array:
        return x[1:-1] * 2 + x[2:]

    assert key(inner, (10,)) == key(inner, (300,))

    def first(x: Array) -> Array:
        return x[:10] * 2 + 1

    assert key(first, (100,)) == key(first, (300,)) != key(first, (20,))


@pytest.mark.parametrize("value", [1, 0.0, -0.0, True, float("nan"), 2.5])
def test_literals_come_back_bit_for_bit(value: Any) -> None:
    x = xp.ones(5, dtype=np.asarray(value).dtype)
    program = parse(canonical(xp.where(xp.astype(x, np.bool), x, xp.asarray(value, dtype=x.dtype))).key)
    fills = [e.params["value"].value for e in program.eqns if e.prim == "fill"]
    assert all(type(f) is x.dtype.type for f in fills)


@given(leaves(), st.lists(_INSTRUCTION, min_size=1, max_size=12))
def test_random_programs_do_the_same_in_canonical_form(
    inputs: list[np.ndarray], instructions: list[Any]
) -> None:
    with numpy_as_max(), xp.config(mode="max"):
        mine, theirs = build(inputs, instructions)
        xp.eval(mine)
        assert [k.message for k in trials.kernels() if k.message] == []
    for got, wanted in zip(mine, theirs, strict=True):
        assert_same(np.asarray(got), wanted)


@given(st.lists(st.integers(2, 6), min_size=1, max_size=3), st.data())
def test_one_text_serves_every_size(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    other = [n + 20 for n in shape]

    def function(ns: Any, x: Any) -> Any:
        y = ns.flip(x, axis=axis)[..., 1:] if axis == 0 else x[..., 1:] * 2.0
        z = ns.concat([y, y + 1.0], axis=axis)
        return ns.sum(z, axis=axis, keepdims=True) - z

    texts = []
    for size in (tuple(n + 9 for n in shape), tuple(other)):
        x = np.arange(np.prod(size), dtype=np.float64).reshape(size)
        made = canonical(function(xp, xp.asarray(x)))
        (got,) = execute(made.key, x.reshape(made.inputs[0]))
        assert_same(got.reshape(made.outputs[0]), function(np, x))
        texts.append(made.key)
    assert texts[0] == texts[1] or axis == 0  # a reversed slice tells its size


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (
            xp.broadcast_to(xp.exp(x[:, :1, :1]), (6, 2, 3)) * 2
        ),  # two axes of size 1 are repeated as one
        lambda x: (
            xp.concat([x, x], axis=1) + xp.broadcast_to(xp.exp(x[:, :1]), (6, 10, 5))
        ),  # a size made later
    ],
)
def test_repeated_axes(f: Callable[[Array], Array]) -> None:
    x = np.random.default_rng(0).standard_normal((6, 5, 5))
    wanted = np.asarray(f(xp.asarray(x)))
    found = canonical(f(xp.asarray(x)))
    (got,) = execute(found.key, *[x.reshape(shape) for shape in found.inputs])
    np.testing.assert_allclose(got.reshape(found.outputs[0]), wanted)
