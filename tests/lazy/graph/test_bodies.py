"""Programs within programs: written down, given other inputs, and one more axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.graph.bodies import (
    Body,
    Looked,
    batched,
    hole_for,
    holes,
    is_writing,
    moving_outputs,
    placed,
    writing,
    written,
)
from nabla_array._lazy.graph.node import Node
from nabla_array._lazy.run.evaluator import value_of
from nabla_array._namespace.core.array import current

from ..cpu.test_loops import INSTRUCTIONS, NUMBERS, chosen, program_of, reference
from ..execution import assert_same
from ..run.test_random_graphs import leaves

FLOAT = aval_of_value(np.ones(3))


@settings(max_examples=150)
@given(leaves(), INSTRUCTIONS, NUMBERS, st.integers(0, 3))
def test_batched(inputs: list[np.ndarray], instructions: list[Any], kept: set[int], size: int) -> None:
    program = chosen(program_of(inputs, instructions), kept)
    rows = [[np.roll(x, t) for x in inputs] for t in range(size)]
    stacked = [
        np.stack([row[i] for row in rows]) if size else np.empty((0, *x.shape), x.dtype)
        for i, x in enumerate(inputs)
    ]
    wanted = [reference(program, row) for row in rows]
    found = reference(batched(program, size), stacked)
    for k, x in zip(program.outputs, found, strict=True):
        assert x.shape == (size, *program.aval(k).shape)
        assert x.dtype == program.aval(k).dtype
    for t, outs in enumerate(wanted):
        for x, y in zip(found, outs, strict=True):
            assert_same(np.asarray(x[t]), y)


@settings(max_examples=100)
@given(leaves(), INSTRUCTIONS, NUMBERS, st.randoms(use_true_random=False))
def test_placed(inputs: list[np.ndarray], instructions: list[Any], kept: set[int], random: Any) -> None:
    program = chosen(program_of(inputs, instructions), kept)
    where = list(range(len(inputs) + 2))
    random.shuffle(where)
    values: list[Any] = [np.zeros(7)] * len(where)
    for x, i in zip(inputs, where, strict=False):
        values[i] = x
    other = placed(program, [aval_of_value(x) for x in values], where[: len(inputs)])
    for x, y in zip(reference(other, values), reference(program, inputs), strict=True):
        assert_same(x, y)


def test_written_has_exactly_these_outputs() -> None:
    """Also what is no part of the body, what is given twice, and the inputs themselves."""
    known = current(xp.asarray([1.0, 2.0, 3.0]))
    sources = holes([FLOAT, FLOAT])
    made: list[Node] = []

    def make() -> list[Node]:
        made.append(current(Array(sources[1]) * 2 + Array(known)))
        return [made[0], sources[0], known, made[0]]

    program, more = written(sources, make)
    assert len(program.outputs) == 4
    assert [value_of(n).tolist() for n in more] == [[1.0, 2.0, 3.0]]
    x, y = np.arange(3.0), np.ones(3)
    found = reference(program, [x, y, value_of(known)])
    for got, wanted in zip(found, [y * 2 + [1, 2, 3], x, [1, 2, 3], y * 2 + [1, 2, 3]], strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert moving_outputs(program, (False, True, False)) == (True, False, False, True)


def test_holes_have_no_value() -> None:
    body = Body("scan")
    with pytest.raises(Looked, match="scan: the body looks at a value"):
        value_of(hole_for(FLOAT, body))
    assert body.looked
    body.open = False
    with pytest.raises(RuntimeError, match="scan: an array of the body is used outside of it"):
        value_of(hole_for(FLOAT, body))


def test_writing_ends_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), writing(), writing():
        1 // (not is_writing())
    assert not is_writing()
