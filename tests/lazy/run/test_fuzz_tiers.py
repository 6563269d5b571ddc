"""The fuzz of the two tiers: it covers what MAX runs, finds planted errors, and no others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks import fuzz_tiers
from benchmarks.fuzz_judge import judge
from benchmarks.fuzz_programs import (
    Case,
    covered,
    host_values,
    lowered,
    random_case,
    redrawn,
    resized,
    together,
)
from benchmarks.fuzz_tiers import Group, Model, Piece, Tally, before, fuzz, groups_of
from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.graph.node import leaf, record
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.max.canonical import canonicalize
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import reduction as r
from nabla_array._lazy.ops.creation import fill_node

from ..canonical_host import execute

SEEDS = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
X = np.array([0.5, -1.5, 0.0, -0.0, np.nan, np.inf, -np.inf, 3.0])


def with_numpy(keys: Sequence[str]) -> tuple[dict[str, Model], dict[str, str]]:
    """Stand in for MAX."""

    def model(key: str) -> Model:
        def loaded(inputs: fuzz_tiers.Shapes, outputs: fuzz_tiers.Shapes) -> Callable[..., list[np.ndarray]]:
            def run(*arrays: np.ndarray) -> list[np.ndarray]:
                shaped = [np.ascontiguousarray(a).reshape(s) for a, s in zip(arrays, inputs, strict=True)]
                with np.errstate(all="ignore"):
                    found = execute(key, *shaped)
                return [y.reshape(s) for y, s in zip(found, outputs, strict=True)]

            return run

        return loaded

    return {key: model(key) for key in keys}, {}


# The programs.
@given(SEEDS)
def test_a_number_is_a_program(seed: tuple[int, int]) -> None:
    case, again = random_case(*seed), random_case(*seed)
    assert case.program == again.program
    assert 1 <= sum(eqn.prim.name != "fill" for eqn in case.program.eqns) <= 30
    for x, y, aval in zip(case.inputs, again.inputs, case.program.inputs, strict=True):
        np.testing.assert_array_equal(x, y)
        assert aval_of_value(x) is aval


def test_programs_cover_what_max_runs() -> None:
    assert all(covered(p) for p in lowered())
    programs = [random_case(0, n).program for n in range(600)]
    met = {eqn.prim for p in programs for eqn in p.eqns}
    assert set(lowered()) <= met
    lengths = [len(p.eqns) for p in programs]
    assert min(lengths) == 1
    assert max(lengths) >= 30
    assert sum(n >= 10 for n in lengths) > 60


@settings(max_examples=30)
@given(SEEDS)
@example((0, 8))  # all values are outputs
@example((2004, 2004))  # repeats two neighbours of one element
@example((77, 1729))  # repeats to a size that a later concat tells
def test_numpy_in_maxs_place_disagrees_nowhere(seed: tuple[int, int]) -> None:
    tally = Tally()
    first, number = seed
    fuzz(groups_of(range(number, number + 3), first, 3), tally, first, with_numpy)
    assert tally.findings == []


@given(SEEDS)
def test_resized_programs_have_the_same_operations_and_other_sizes(seed: tuple[int, int]) -> None:
    program = random_case(*seed).program
    canonical = canonicalize(program)
    other = resized(canonical, np.random.default_rng(seed))
    if other is None:
        return
    assert [(q.prim, q.ins, q.aval.dtype) for q in other.eqns] == [
        (q.prim, q.ins, q.aval.dtype) for q in program.eqns
    ]
    for value, eqn in zip(
        host_values(*redrawn(other, np.random.default_rng(0)))[-len(other.eqns) :], other.eqns, strict=True
    ):
        assert value.shape == eqn.aval.shape


def test_almost_every_group_is_run_in_three_sizes() -> None:
    tally = Tally()
    fuzz(groups_of(range(60), 1, 6), tally, 1, with_numpy)
    assert tally.sizes >= 2.5 * tally.graphs


def test_programs_beside_each_other_share_inputs() -> None:
    y, z = X + 1, np.arange(8)
    cases = [
        program_of((e.exp,), (e.add, 1), inputs=[X, y]),
        program_of((e.neg,), inputs=[z]),
        program_of((e.sub, 1), (e.sub, 1), inputs=[y, X]),
    ]
    (program, inputs), owners = together(cases)
    assert len(inputs) == 3  # the third program has the inputs of the first, which were its own
    assert owners == [0, 0, 1, 2, 2]
    assert program.outputs == (3, 4, 5, 6, 7)
    with np.errstate(invalid="ignore"):
        wanted = [np.exp(X), np.exp(X) + y, -z, X - y, X - y - y]
    for value, expected in zip(host_values(program, inputs)[3:], wanted, strict=True):
        np.testing.assert_array_equal(value, expected)


def test_a_program_is_cut_down_to_what_comes_before_a_value() -> None:
    x = leaf(X)
    y = record(e.exp, [x], {})
    z = record(e.sin, [y], {})
    u = record(e.add, [z, x], {})
    line = linearize(pending_order([u]), [u])
    small, sources = before(line.program, 3, 2)
    assert [eqn.prim for eqn in small.eqns] == [e.sin, e.add]
    assert sources == [0, 1]
    assert small.outputs == (3,)


# The judge.
def verdict(case: Case, change: Callable[[list[np.ndarray]], None], seen: Sequence[int]) -> list[Primitive]:
    """Return the operations that are said to be wrong, where results were changed and some were seen."""
    values = host_values(*case)
    change(values)
    found = judge(*case, {k: values[k] for k in seen}).disagreements
    return [case.program.eqns[d.number - len(case.inputs)].prim for d in found]


def program_of(*steps: tuple[Any, ...], inputs: Sequence[np.ndarray] = (X,), **params: Any) -> Case:
    """Return a program of operations each on the result before it, or on inputs by number."""
    nodes = [leaf(x) for x in inputs]
    made = [nodes[0]]
    for prim, *others in steps:
        made.append(record(prim, [made[-1], *[nodes[i] for i in others]], params))
    line = linearize(pending_order(made[1:]), made[1:])
    return Case(line.program, tuple(inputs))


@dataclass(frozen=True)
class Planted:
    """An error: at an element of the last value, another result."""

    name: str
    steps: tuple[tuple[Any, ...], ...]
    at: int
    wrong: float

    def __str__(self) -> str:
        return self.name


def _off(x: float, ulps: int) -> float:
    return float(x + ulps * np.spacing(x))


PLANTED = [
    Planted("nan dropped by a maximum", ((e.maximum, 0),), 4, 0.0),
    Planted("nan dropped by exp", ((e.neg,), (e.exp,)), 4, np.inf),
    Planted("infinity that is the largest number", ((e.exp,),), 5, np.finfo(np.float64).max),
    Planted("an infinity of the other sign", ((e.neg,),), 5, np.inf),
    Planted("sign of zero lost by neg", ((e.neg,),), 2, 0.0),
    Planted("sign of zero lost by mul", ((e.mul, 0), (e.neg,)), 2, 0.0),
    Planted("sign of zero lost by sqrt", ((e.sqrt,),), 3, 0.0),
    Planted("8 ulp of exp", ((e.exp,),), 0, _off(np.exp(0.5), 8)),
    Planted("5 ulp of div", ((e.div, 0), (e.exp,)), 0, _off(np.e, 15)),
    Planted("1 ulp of abs", ((e.abs_,),), 1, _off(1.5, 1)),
    Planted("a normal number flushed", ((e.neg,), (e.exp,), (e.square,)), 0, 0.0),
]


@pytest.mark.parametrize("everything", [True, False])
@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_the_judge_finds(planted: Planted, everything: bool) -> None:
    case = program_of(*planted.steps)
    last = len(case.inputs) + len(case.program.eqns) - 1

    def change(values: list[np.ndarray]) -> None:
        values[last] = values[last].copy()
        values[last][planted.at] = planted.wrong

    seen = case.program.outputs if everything else [last]
    assert verdict(case, lambda values: None, seen) == []
    assert verdict(case, change, seen) == [planted.steps[-1][0]]


def test_the_judge_allows_what_rounding_does() -> None:
    x = np.random.default_rng(0).uniform(1, 3, 50)
    case = program_of((e.exp,), (e.log,), (e.exp,), inputs=[x])

    def change(values: list[np.ndarray]) -> None:
        values[1] = np.nextafter(values[1], 0)
        values[2] = np.nextafter(np.log(values[1]), 9)
        values[3] = np.nextafter(np.exp(values[2]), 0)

    assert verdict(case, change, [1, 2, 3]) == []
    assert verdict(case, change, [3]) == []  # more than 4 ulp off, but each operation is not


def test_the_judge_takes_what_was_seen_as_it_is() -> None:
    case = program_of((e.exp,), (e.floor,), (e.neg,))

    def change(values: list[np.ndarray]) -> None:
        values[1] = np.where(np.isfinite(values[1]), values[1] + 1, values[1])
        values[2] = np.floor(values[1])
        values[3] = -values[2]

    assert verdict(case, change, case.program.outputs) == [e.exp]


@pytest.mark.parametrize("everything", [True, False])
def test_the_judge_finds_a_product_that_is_contracted_with_a_sum(everything: bool) -> None:
    x, y = np.random.default_rng(0).uniform(1, 2, (2, 100))
    case = program_of((e.mul, 1), (e.sub, 2), inputs=[x, y, x * y])

    def change(values: list[np.ndarray]) -> None:
        exact = x.astype(np.longdouble) * y.astype(np.longdouble)
        values[4] = (exact - values[2]).astype(np.float64)

    assert verdict(case, change, [3, 4] if everything else [4]) == [e.sub]


def test_integers_and_bools_are_exact() -> None:
    numbers = np.arange(-4, 4)
    for prim in (e.square, e.sign):
        case = program_of((prim,), inputs=[numbers])
        for at in range(8):

            def change(values: list[np.ndarray], at: int = at) -> None:
                values[1] = values[1].copy()
                values[1][at] += 1

            assert verdict(case, change, [1]) == [prim]


def test_sums_may_be_added_in_any_order_but_not_be_wrong() -> None:
    x = np.random.default_rng(0).standard_normal(1000)
    case = program_of((r.reduce_sum,), inputs=[x], axes=(0,))

    def change(total: float) -> Callable[[list[np.ndarray]], None]:
        return lambda values: values.__setitem__(1, np.array(total))

    assert verdict(case, change(float(np.add.accumulate(x[::-1])[-1])), [1]) == []
    assert verdict(case, change(float(np.sum(x)) + 1e-8), [1]) == [r.reduce_sum]
    assert verdict(case, change(float(np.sum(x.astype(np.float32)))), [1]) == [r.reduce_sum]


def test_what_nobody_defines_may_be_anything() -> None:
    case = program_of((e.signbit,))

    def nan_of_the_other_sign(values: list[np.ndarray]) -> None:
        values[1] = values[1].copy()
        values[1][4] ^= True

    def one_of_the_other_sign(values: list[np.ndarray]) -> None:
        values[1] = values[1].copy()
        values[1][0] ^= True

    assert verdict(case, nan_of_the_other_sign, [1]) == []
    assert verdict(case, one_of_the_other_sign, [1]) == [e.signbit]


def test_the_signs_of_many_nans_may_all_be_other_ones() -> None:
    x = np.array([np.nan, *[-np.nan] * 40])
    most = record(r.reduce_max, [record(e.signbit, [leaf(x)])], {"axes": (0,)})
    case = Case(linearize(pending_order([most]), [most]).program, (x,))

    def all_of_the_other_sign(values: list[np.ndarray]) -> None:
        values[2] = ~values[2]

    assert verdict(case, all_of_the_other_sign, [2]) == []


def test_a_zero_that_was_open_stays_one_beside_what_was_rounded() -> None:
    x, nan = np.array([0.3, 0.7]), np.array([np.nan, -np.nan])
    half = fill_node(aval_of_value(x), 0.5)
    zero_or_one = record(e.add, [record(e.copysign, [half, leaf(nan)], {}), half], {})
    angle = record(e.asin, [record(e.mul, [zero_or_one, leaf(x)], {})], {})
    ratio = record(e.div, [angle, angle], {})
    line = linearize(pending_order([angle, ratio]), [angle, ratio])
    case = Case(line.program, tuple([n.value for n in line.inputs]))

    def other_signs(values: list[np.ndarray]) -> None:
        rounded, of = case.program.outputs
        values[rounded] = np.nextafter(values[rounded], 1)  # as it was seen, where it is stored
        values[of] = np.where(np.isnan(values[of]), 1.0, np.nan)  # and computed once more, where it is read

    assert verdict(case, other_signs, case.program.outputs) == []


# The command.
@pytest.mark.slow
def test_what_is_wrong_is_shown_in_small(capsys: pytest.CaptureFixture[str]) -> None:
    def lying(keys: Sequence[str]) -> tuple[dict[str, Model], dict[str, str]]:
        models, refused = with_numpy([k.replace("'tanh'", "'sin'") for k in keys])
        return {k: models[k.replace("'tanh'", "'sin'")] for k in keys}, refused

    assert fuzz_tiers.main(["--programs", "8", "--seed", "5"], lying) == 1
    told = capsys.readouterr().out
    assert "disagreements" in told
    assert "python -m benchmarks fuzz-tiers --seed 5 --first " in told
    assert "= tanh(" in told.split("fuzz-tiers --seed")[1]


def test_what_does_not_compile_is_told_and_the_rest_is_run() -> None:
    def refusing(keys: Sequence[str]) -> tuple[dict[str, Model], dict[str, str]]:
        refused = {k: "ValueError: no cumprod" for k in keys if "'cumprod'" in k}
        return with_numpy([k for k in keys if k not in refused])[0], refused

    tally = Tally()
    groups = groups_of(range(60), 5, 10)
    wanted = {
        p.number for g in groups for p in g.pieces if any(q.prim is r.cumprod for q in p.case.program.eqns)
    }
    fuzz(groups, tally, 5, refusing)
    assert wanted
    assert {f.numbers[0] for f in tally.findings} == wanted
    assert all(f.kind == "compile: ValueError: no cumprod" for f in tally.findings)
    assert sum(len(g.program.eqns) for g in groups) > tally.primitives.total() > 100
    assert not tally.primitives["cumprod"]


def test_agreement_is_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz_tiers.main(["--programs", "20", "--batch", "15"], with_numpy) == 0
    assert "disagreements" in capsys.readouterr().out


def _what_cancels(dtype: type) -> Case:
    """Return a program of which 0 is left, unless a product is contracted with a sum."""
    x, y = np.random.default_rng(0).standard_normal((2, 1000)).astype(dtype)
    case = program_of((e.mul, 1), (e.add, 2), inputs=[x, y, -(x * y)])
    return Case(Program(case.program.inputs, case.program.eqns, case.program.outputs[-1:]), case.inputs)


@pytest.mark.slow
@pytest.mark.xdist_group("max")
@pytest.mark.timeout(1500)
def test_max_agrees_with_the_host() -> None:
    pytest.importorskip("max.engine", reason="MAX is not installed")
    tally = Tally()
    by_hand = Group([Piece(10**6, _what_cancels(dtype)) for dtype in (np.float32, np.float64)])
    fuzz([*groups_of(range(8), 0, 4), by_hand], tally, 0)
    assert [f"{f.kind}\n{f.case.program}\n{f.text}" for f in tally.findings] == []
    assert tally.graphs == 3
    assert tally.compared > 1_000
