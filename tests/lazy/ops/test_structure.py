"""Operations that move elements: slices that merge, axes that stay, and what is the same but for a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import aval_of
from nabla_array._lazy.graph.node import leaf
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.ops.structure import (
    alias,
    are_parts,
    barrier,
    concat,
    diagonal,
    flipped,
    reinterpret,
    reshape,
    slice_,
    slices,
    span,
    stop_gradient,
    update_slice,
)
from nabla_array._lazy.run.evaluator import value_of

from ..execution import assert_same
from ..registry import random
from ..rules.test_autodiff import pulled, tangent_of

D = np.dtype(float)


def test_two_views_merge_into_one() -> None:
    x = random("d", 7, 9)
    for prim, first, second in (
        (reshape, {"shape": (9, 7)}, {"shape": (3, 21)}),
        (
            slice_,
            {"start": (6, 0), "size": (6, 4), "step": (-1, 2)},
            {"start": (1, 3), "size": (2, 3), "step": (2, -1)},
        ),
    ):
        assert prim.merge is not None
        wanted = prim.host(prim.host(x, **first), **second)
        assert_same(prim.host(x, **prim.merge(first, second)), wanted)


@pytest.mark.parametrize(
    ("before", "after", "axes"),
    [
        ((2, 3), (2, 3), {0: 0, 1: 1}),
        ((2, 3), (6,), {}),
        ((6,), (2, 3), {}),
        ((4, 1, 6), (4, 6), {0: 0, 2: 1}),
        ((4, 6), (1, 4, 1, 6), {0: 1, 1: 3}),
        ((2, 3, 5), (6, 5), {2: 1}),
        ((5, 2, 3), (5, 3, 2), {0: 0}),
        ((4, 6, 7), (2, 2, 6, 7), {1: 2, 2: 3}),
        ((0, 3), (3, 0), {}),
    ],
)
def test_a_reshape_keeps_the_axes_between_equal_products(before: Any, after: Any, axes: Any) -> None:
    assert reshape.dims is not None
    own, new = reshape.dims(aval_of(before, D), shape=after)
    assert {i: new.index(label) for i, label in enumerate(own) if label >= 0} == axes
    assert {label for label in new if label >= 0} == {own[i] for i in axes}
    assert len({*own, *new}) == len(before) + len(after) - len(axes)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_slices_are_pythons(n: int) -> None:
    x = np.arange(n)
    bounds = [None, *range(-n - 2, n + 3)]
    for first in bounds:
        for stop in bounds:
            for step in (-3, -1, 1, 2):
                there = range(n)[first:stop:step]
                (key,) = slices((there.start,), (len(there),), (step,))
                assert_same(x[key], x[first:stop:step])


def test_parts_of_an_axis() -> None:
    x = leaf(random("i", 2, 6))
    assert_same(value_of(span(x, 1, 1, 3, 2)), value_of(x)[:, 1:6:2])
    assert_same(value_of(flipped(x, 1)), value_of(x)[:, ::-1])
    assert_same(value_of(flipped(leaf(np.ones((2, 0))), 1)), np.ones((2, 0)))


def test_writing_to_all_of_an_array_needs_none_of_it() -> None:
    def apply(prim: Primitive, *operands: Any, **params: Any) -> Any:
        return prim

    old, new = np.zeros((2, 3)), np.ones((2, 3))
    assert slice_.put is not None
    assert slice_.put(apply, old, new, start=(0, 0), size=(2, 3), step=(1, 1)) is new
    for start, size, step in (((1, 2), (2, 3), (-1, -1)), ((0, 0), (2, 2), (1, 1))):
        assert slice_.put(apply, old, new, start=start, size=size, step=step) is update_slice


def test_identities_differ_by_their_derivatives() -> None:
    x = leaf(random("d", 3))
    for prim, slope in ((alias, 1.0), (barrier, 1.0), (stop_gradient, 0.0)):
        assert prim.host(value_of(x)) is value_of(x)
        (t,) = tangent_of(lambda xs, p=prim: [p(*xs)], [x], [leaf(np.ones(3))])
        np.testing.assert_array_equal(value_of(t), slope)
        np.testing.assert_array_equal(value_of(*pulled(lambda xs, p=prim: [p(*xs)], [x])), slope)
    # What is computed again must not become one with what was computed.
    assert [p.role for p in (alias, barrier, stop_gradient)] == ["alias", "ordinary", "ordinary"]


def test_complex_numbers_are_pairs_of_their_parts() -> None:
    assert are_parts(np.dtype("D"), D)
    assert are_parts(np.dtype("f"), np.dtype("F"))
    assert not are_parts(np.dtype("f"), np.dtype("D"))
    assert not are_parts(np.dtype("l"), D)
    z = random("D", 3, 2)
    for x in (z, z[:, ::2], z.T):
        copied = np.ascontiguousarray(x)
        assert_same(reinterpret.host(x, dtype=D), copied.view(float))
    with pytest.raises(ValueError, match=r"^reinterpret: the last axis of float64\[3\] does not divide"):
        reinterpret.aval(aval_of((3,), D), dtype=np.dtype("D"))


def test_bits_read_as_others_have_no_derivative() -> None:
    x = leaf(random("d", 3))
    bits = [reinterpret(x, dtype=np.dtype(c)) for c in "lf"]
    for node in bits:
        back = lambda xs, n=node: [reinterpret(*xs, dtype=n.aval.dtype)]  # noqa: E731
        np.testing.assert_array_equal(value_of(*pulled(back, [x])), 0)


@pytest.mark.parametrize("offset", range(-4, 6))
def test_a_diagonal_is_numpys_and_its_transpose_puts_it_there(offset: int) -> None:
    x = random("d", 2, 3, 4)
    out = diagonal.host(x, offset=offset)
    assert_same(out, x.diagonal(offset, 1, 2))
    assert diagonal.aval(aval_of(x.shape, D), offset=offset).shape == out.shape
    ct = random("d", *out.shape, seed=1)
    (back,) = pulled(lambda xs: [diagonal(*xs, offset=offset)], [leaf(x)], [leaf(ct)])
    wanted = np.zeros_like(x)
    for i, j in np.argwhere(np.eye(3, 4, offset)):
        wanted[:, i, j] = ct[:, min(i, j)]
    assert_same(value_of(back), wanted)


def test_joined_arrays_get_their_parts_back() -> None:
    xs = [leaf(random("d", 2, n, seed=n)) for n in (1, 0, 3)]
    ct = random("d", 2, 4)
    parts = pulled(lambda ys: [concat(*ys, axis=1)], xs, [leaf(ct)])
    for part, wanted in zip(parts, np.split(ct, [1, 1], axis=1), strict=True):
        assert_same(value_of(part), wanted)
    with pytest.raises(ValueError, match=r"^concat: float64\[2\] and int64\[2\] differ beyond axis 0$"):
        concat.aval(aval_of((2,), D), aval_of((2,), np.dtype(int)), axis=0)
