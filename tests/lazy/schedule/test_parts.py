"""The parts for MAX: each operation is in one of them, and they can run in order."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.schedule import parts as pass_for_max
from nabla_array._lazy.schedule.parts import merge, parts
from nabla_array._lazy.schedule.steps import Part

from ..canonical_host import may_be_lowered
from ..run.test_random_graphs import _INSTRUCTION, build, leaves


def program_of(*arrays: Array) -> Program:
    nodes = [a._node for a in arrays if a._node.value is None]
    return linearize(pending_order(nodes), nodes).program


def own(program: Program, part: Part) -> list[int]:
    """The equations of a part, without literals."""
    base = len(program.inputs)
    return [k for k in part.eqns if program.eqns[k - base].prim.name != "fill"]


def check(program: Program, found: tuple[Part, ...]) -> None:
    base = len(program.inputs)
    literals = {k for k, e in enumerate(program.eqns, base) if e.prim.name == "fill"}
    there = {*range(base), *literals}
    for part in found:
        assert there.issuperset(part.inputs)
        assert not literals.intersection(part.inputs)
        there.update(part.outputs)
        for k, eqn in zip(part.eqns, part.program.eqns, strict=True):
            whole = program.eqns[k - base]
            assert (eqn.prim, eqn.params, eqn.aval) == (whole.prim, whole.params, whole.aval)
            number = (*part.inputs, *part.eqns)
            assert tuple(number[i] for i in eqn.ins) == whole.ins
    every = [k for part in found for k in own(program, part)]
    assert sorted(every) == sorted({*range(base, base + len(program.eqns))} - literals)
    assert there.issuperset({*program.outputs} - literals)


@settings(max_examples=300)
@given(leaves(), st.lists(_INSTRUCTION, min_size=1, max_size=20), st.booleans(), st.booleans())
def test_random_programs(
    inputs: list[np.ndarray], instructions: list[Any], everything: bool, accelerator: bool
) -> None:
    program = program_of(*build(inputs, instructions)[0])
    with patch.object(pass_for_max, "_is_lowered", may_be_lowered):
        found = parts(program, everything, accelerator)
    check(program, found)
    for part in found:
        assert not part.fusible or all(may_be_lowered(e, part.program) for e in part.program.eqns)
    for n in range(len(found)):  # any run of them, as one
        merged = merge(program, [*found[n:]])
        check(program, (*found[:n], merged))


X = np.linspace(0.1, 2.0, 60).reshape(12, 5)
Cut = list[tuple[bool, str]]
CUTS: dict[str, tuple[Callable[[Array], Array], Cut, Cut]] = {
    "a single operation": (lambda x: xp.exp(x), [(False, "exp")], [(True, "exp")]),
    "a chain": (lambda x: xp.exp(x) * x, [(True, "exp mul")], [(True, "exp mul")]),
    "a scan": (lambda x: xp.cumulative_sum(x, axis=0), [(True, "cumsum")], [(True, "cumsum")]),
    "a view": (lambda x: x[1:], [(False, "slice")], [(False, "slice")]),
    "around a sort": (
        lambda x: xp.sort(xp.exp(x) * x, axis=0) * 2.0 + 1.0,
        [(True, "exp mul"), (False, "sort"), (True, "mul add")],
        [(True, "exp mul"), (False, "sort"), (True, "mul add")],
    ),
    "a single one before a sort": (
        lambda x: xp.sort(xp.exp(x), axis=0) * 2.0 + 1.0,
        [(False, "exp sort"), (True, "mul add")],
        [(True, "exp"), (False, "sort"), (True, "mul add")],
    ),
    "a view at the end": (
        lambda x: (xp.exp(x) * x)[1:],
        [(True, "exp mul"), (False, "slice")],
        [(True, "exp mul"), (False, "slice")],
    ),
    "a view in between": (
        lambda x: xp.exp(x)[1:] * 2.0,
        [(True, "exp slice mul")],
        [(True, "exp slice mul")],
    ),
}
if find_spec("scipy"):
    CUTS["a special function"] = (
        lambda x: xp.special.erf(x),
        [(True, "special.erf")],
        [(True, "special.erf")],
    )
    CUTS["one that MAX lacks"] = (
        lambda x: xp.exp(xp.special.ndtri(x)) + 1.0,
        [(False, "special.ndtri"), (True, "exp add")],
        [(False, "special.ndtri"), (True, "exp add")],
    )


@pytest.mark.parametrize("name", CUTS)
def test_how_programs_are_cut(name: str) -> None:
    function, usually, everything = CUTS[name]
    program = program_of(function(xp.asarray(X)))
    base = len(program.inputs)
    for every, wanted in ((False, usually), (True, everything)):
        told = [
            (p.fusible, " ".join(program.eqns[k - base].prim.name for k in own(program, p)))
            for p in parts(program, every)
        ]
        assert told == wanted
