"""Tapes: which nodes belong to one, by whom they are recorded, and what is hidden or forgotten."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from nabla_array._lazy.graph.node import Node, leaf
from nabla_array._lazy.graph.program import program_of
from nabla_array._lazy.graph.tape import (
    Tape,
    derivatives,
    forgotten,
    hidden,
    is_taping,
    marking,
    tapes,
    taping,
)
from nabla_array._lazy.ops.elementwise import cast, cos, floor, mul, sin
from nabla_array._lazy.ops.structure import alias, barrier, stop_gradient


def source(*shape: int) -> Node:
    return leaf(np.ones(shape))


def nodes(tape: Tape) -> list[Node]:
    return [entry.node for entry in tape.entries]


def test_a_tape_holds_what_is_computed_from_its_sources_in_order() -> None:
    x, other = source(2), source(2)
    before = sin(x)
    with taping([x]) as tape:
        y = sin(x)
        sin(other)
        mul(before, other)
        z = mul(y, other)
    cos(z)
    assert nodes(tape) == [y, z]
    assert [entry.inputs for entry in tape.entries] == [(x,), (y, other)]
    assert [n in tape for n in (x, y, z, other, before)] == [True] * 3 + [False] * 2
    assert not tapes


def test_nodes_belong_by_what_they_are_computed_from_whichever_thread_records() -> None:
    x, free = source(2), source(2)
    found: list[Node] = []
    with taping([x]) as tape, taping([], everything=True) as whole:
        thread = threading.Thread(target=lambda: found.extend([sin(x), sin(free)]))
        thread.start()
        thread.join()
        mine = cos(free)
    assert nodes(tape) == found[:1]
    assert nodes(whole) == [mine]  # everything, but its own thread's alone


def test_tapes_nest() -> None:
    x = source(2)
    with taping([x]) as outer:
        y = sin(x)
        with taping([y]) as inner:
            z = cos(y)
        sin(z)
    assert nodes(inner) == [z]
    assert nodes(outer)[:2] == [y, z]
    assert len(outer.entries) == 3


def test_only_tapes_for_derivatives_leave_constants_out() -> None:
    x = source(2)
    with (
        taping([x]) as slopes,
        taping([x], derivative=False) as whole,
        taping([x], linear="replayed") as linear,
    ):
        y = stop_gradient(x)
        z = floor(x)
    assert nodes(slopes) == []
    assert nodes(whole) == nodes(linear) == [y, z]


def test_below_is_what_outputs_need() -> None:
    x = source(2)
    with taping([x]) as tape:
        y, unused = sin(x), cos(x)
        z = mul(y, y)
    assert [e.node for e in tape.below([z])] == [y, z]
    assert [e.node for e in tape.below([unused, y])] == [y, unused]
    assert tape.below([source(2)]) == []


def test_moves_needs_a_member_with_tangents() -> None:
    x = source(2)
    with taping([x]) as tape:
        whole = cast(x, dtype=np.dtype(int))
        assert tape.moves([x, sin(x), whole, source(2)]) == (True, True, False, False)


def test_hidden_tapes_see_nothing_and_others_do() -> None:
    x = source(2)
    with taping([x]) as one, taping([x]) as other:
        assert derivatives() == [one, other]
        with hidden([one]):
            assert derivatives() == [other]
            y = sin(x)
        assert derivatives() == [one, other]
        z = cos(y)
    assert nodes(one) == []
    assert nodes(other) == [y, z]


def test_derivatives_are_this_threads_and_neither_linear_nor_for_programs() -> None:
    found: list[object] = []
    with taping([]) as mine, taping([], derivative=False), taping([], linear="transposed"):
        assert derivatives() == [mine]
        thread = threading.Thread(target=lambda: found.extend([derivatives(), is_taping()]))
        thread.start()
        thread.join()
        assert is_taping()
    assert found == [[], False]
    assert not is_taping()


def test_what_is_forgotten_is_known_until_then() -> None:
    x = source(2)
    with taping([x]) as slopes, taping([x], derivative=False) as whole:
        y = sin(x)
        with forgotten():
            z = cos(y)
            assert z in slopes
        assert z not in slopes
    assert nodes(slopes) == [y]
    assert nodes(whole) == [y, z]


def test_a_tape_can_run_again() -> None:
    x = source(2)
    tape = Tape([x])
    for _ in range(2):
        with tape:
            sin(x)
    with pytest.raises(ZeroDivisionError), tape:
        raise ZeroDivisionError
    assert len(tape.entries) == 2
    assert not tapes


def test_the_innermost_mark_gets_every_node_of_its_thread() -> None:
    x = source(2)
    outer: list[Node] = []
    inner: list[Node] = []
    with marking(outer.append):
        y = sin(x)
        with marking(inner.append):
            z = cos(x)
            thread = threading.Thread(target=lambda: sin(x))
            thread.start()
            thread.join()
        w = mul(y, z)
    sin(x)
    assert (outer, inner) == ([y, w], [z])
    assert not tapes


def test_a_tapes_program_leaves_aliases_out_and_says_what_it_captured() -> None:
    x, more = source(2), source(2)
    with taping([x], derivative=False) as tape:
        y = mul(alias(x), more)
        kept = barrier(stop_gradient(y))
        same = alias(kept)
    program, captured, number = program_of(tape, [same, y])
    assert captured == [more]
    assert [e.prim for e in program.eqns] == [mul, stop_gradient, barrier]
    assert number[id(same)] == number[id(kept)] == program.outputs[0]
    assert program.outputs == (4, 2)
