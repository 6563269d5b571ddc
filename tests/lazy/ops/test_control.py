"""Loops and branches: what has tangents, and derivatives against loops in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import aval_of
from nabla_array._lazy.graph.bodies import holes, written
from nabla_array._lazy.graph.node import Node, leaf
from nabla_array._lazy.ops import control
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops.control import ROW, SHARED, has_tangents, scan, switch, together, while_, with_axis
from nabla_array._lazy.rules.autodiff import results_of
from nabla_array._lazy.run import control as _run_control  # noqa: F401  gives the records their host functions
from nabla_array._lazy.run.evaluator import value_of

from ..registry import avals, body, random
from ..rules.test_autodiff import assert_near, differences, directions, pulled, tangent_of


def of(prim: Any, **params: Any) -> Any:
    return lambda xs: list(results_of(prim(*xs, **params)))


def test_tangents_that_come_later_are_handed_on_from_the_start() -> None:
    """Only the last of three carries has one at first; the first gets it in the third step."""
    step = body(lambda a, b, c, s: [b, e.sin(c), c * s, a * s], "d", "d", "d", "d")
    assert has_tangents(step, (False, False, True, False)) == (False, True, True, False)
    params: dict[str, Any] = {"program": step, "length": 4, "reverse": False}
    f = of(scan, **params, carry=3, x_axes=(0,), y_axes=(0,))
    x = [leaf(np.array(v)) for v in (0.3, 0.5, 0.7)] + [leaf(random("d", 4))]

    def by_last(xs: Sequence[Node]) -> list[Node]:
        return f([*x[:2], xs[0], x[3]])

    t = [leaf(np.array(1.0))]
    assert_near(tangent_of(by_last, [x[2]], t), differences(by_last, [x[2]], t))


def test_what_is_rounded_has_no_tangent() -> None:
    step = body(lambda x, y: [e.floor(x), x * y, e.gt(x, y)], "d", "d")
    assert has_tangents(step, (True, False)) == (False, True, False)
    assert has_tangents(step, (False, False)) == (False, False, False)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_cotangents_go_back_through_every_length(length: int, reverse: bool) -> None:
    """Those of the carry, of what is cut, and of what stays, which are summed."""
    step = body(lambda c, s, w: [e.sin(c) * w + s, c * s], "d2", "d2", "d2")
    f = of(scan, program=step, length=length, reverse=reverse, carry=1, x_axes=(1,), y_axes=(1,))
    c, s, w = (random("d", *shape, seed=k) for k, shape in enumerate([(2,), (2, length), (2,)]))
    operands = [leaf(c), leaf(s), leaf(w)]
    ct, cts = random("d", 2, seed=4), random("d", 2, length, seed=5)
    got = pulled(f, operands, [leaf(ct), leaf(cts)])
    carries, by_s, by_w, order = [c], np.zeros_like(s), np.zeros_like(w), range(length)
    steps = list(reversed(order)) if reverse else list(order)
    for k in steps:
        carries.append(np.sin(carries[-1]) * w + s[:, k])
    for k, before in zip(reversed(steps), reversed(carries[:-1]), strict=True):
        by_s[:, k] = ct + cts[:, k] * before
        by_w += ct * np.sin(before)
        ct = ct * np.cos(before) * w + cts[:, k] * s[:, k]
    assert_near(got, [ct, by_s, by_w], 1e-13)


def test_entries_of_a_while_loop_stop_each_at_its_time() -> None:
    """Their tangents too: x doubles until it is beyond its bound."""
    params = {
        "cond": body(lambda x, bound: [e.lt(x, bound)], "d3", "d3"),
        "body": body(lambda x, bound: [x + x * x], "d3", "d3"),
        "carry": 1,
        "rows": (True,),
    }
    x, bound = np.array([0.5, 2.0, 9.0]), np.array([2.5, 2.5, 2.5])
    f = of(while_, **params)
    steps, wanted, slope = [], x.copy(), np.ones(3)
    for k in range(3):
        steps.append(0)
        while wanted[k] < bound[k]:
            slope[k] *= 1 + 2 * wanted[k]
            wanted[k] += wanted[k] ** 2
            steps[k] += 1
    assert steps == [3, 1, 0]
    operands = [leaf(x), leaf(bound)]
    np.testing.assert_allclose(value_of(*f(operands)), wanted, rtol=1e-15)
    (t,) = tangent_of(lambda xs: f([xs[0], operands[1]]), operands[:1], [leaf(np.ones(3))])
    np.testing.assert_allclose(value_of(t), slope, rtol=1e-14)
    with pytest.raises(NotImplementedError, match=r"^while_loop: no reverse mode, .* forward mode \(jvp"):
        pulled(f, operands)


def test_each_entry_goes_its_way() -> None:
    """And gets the derivatives of the branch that it took."""
    branches = tuple(body(lambda x, y, f=f: [f(x) * y], "d4", "d4") for f in (e.sin, e.exp, e.neg))
    index = np.array([0, 2, 2, 1])
    params = {"branches": branches, "lead": 1, "sums": (False,)}
    x, y = random("d", 4), random("d", 4, seed=1)
    given = [leaf(index), leaf(x), leaf(y)]

    def f(xs: Sequence[Node]) -> list[Node]:
        return of(switch, **params, roles=(ROW, ROW))([given[0], *xs])  # type: ignore[no-any-return]

    functions = [np.sin, np.exp, np.negative]
    slopes = [np.cos, np.exp, lambda v: -np.ones_like(v)]
    wanted = np.array([functions[i](v) for i, v in zip(index, x, strict=True)])
    np.testing.assert_allclose(value_of(*f(given[1:])), wanted * y, rtol=1e-15)
    by_x, by_y = pulled(f, given[1:])
    slope = np.array([slopes[i](v) for i, v in zip(index, x, strict=True)])
    np.testing.assert_allclose(value_of(by_x), slope * y, rtol=1e-14)
    np.testing.assert_allclose(value_of(by_y), wanted, rtol=1e-14)
    assert_near(
        tangent_of(f, given[1:], directions(given[1:])), differences(f, given[1:], directions(given[1:]))
    )


def test_batches_lead_what_a_branch_has() -> None:
    one = body(lambda x: [e.sin(x)], "d3")
    params = {"branches": (one, one), "lead": 0, "roles": (SHARED,), "sums": (True,)}
    found = switch.batch(params, 5)
    assert (found["lead"], found["roles"], found["sums"]) == (1, (ROW,), (False,))
    assert [b.inputs for b in found["branches"]] == [avals("d5,3")] * 2
    again = switch.batch({**found, "roles": (SHARED,), "sums": (True,)}, 2)
    assert (again["lead"], again["roles"], again["sums"]) == (2, (SHARED,), (True,))
    alone = {"cond": body(lambda x: [e.lt(x, x)], "d"), "body": one, "carry": 1, "rows": (False, True)}
    assert while_.batch(alone, 4)["rows"] == (True, True)
    rows = {**alone, "cond": body(lambda x: [e.lt(x, x)], "d3")}
    assert while_.batch(rows, 4)["rows"] == (False, True)


def test_programs_that_capture_other_things_take_all_of_them() -> None:
    x, captured = holes(avals("d"))[0], [leaf(np.array(2.0)), leaf(np.array(3.0)), leaf(np.array(5.0))]
    made = [
        written([x], lambda: [x + captured[0]]),
        written([x], lambda: [x * captured[1] - captured[2]]),
    ]
    programs, more = together(made, 1)
    assert more == captured
    assert [len(p.inputs) for p in programs] == [4, 4]
    for program, wanted in zip(programs, (9.0, 16.0), strict=True):
        found = control._record(program, [leaf(np.array(7.0)), *more], {})
        assert [value_of(n) for n in found] == [wanted]


def test_stacked_results_have_their_axis() -> None:
    assert with_axis(aval_of((2, 3), np.dtype("f")), 1, 7) is aval_of((2, 7, 3), np.dtype("f"))
    step = body(lambda c, x: [c, x * c], "d", "d")
    out = scan.aval(
        *avals("d", "d5"), program=step, length=5, reverse=False, carry=1, x_axes=(0,), y_axes=(0,)
    )
    assert out == avals("d", "d5")
