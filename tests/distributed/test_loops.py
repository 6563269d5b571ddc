"""Loops and branches whose bodies need what other devices have: steps of the mesh, not gathered operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, driving, shard, simulate
from nabla_array.distributed.engines import Local
from nabla_array.distributed.layouts import replicated
from nabla_array.distributed.partition import Nested
from nabla_array.distributed.rules import table
from nabla_array.transforms import cond, fori_loop, grad, jvp, scan, switch, vmap, while_loop

from ..lazy.cpu.test_loops import reference
from .meshes import MESHES, moved, on_mesh, parted, recorded, run
from .test_registry import assert_close

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(11, 6))
SQUARE = RNG.uniform(0.1, 1, size=(7, 7))
VECTOR = RNG.uniform(0.1, 1, size=7)
STACK = RNG.normal(size=(9, 5, 4))


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bodies of small operands be steps of the mesh, and loops have several checkpoints."""
    monkeypatch.setattr(Local, "meets_from", 0)
    monkeypatch.setattr(driving, "EVERY", 3)
    monkeypatch.setattr(driving, "_MANY", 4)


def _settled(x: Any) -> Any:
    """Take the mean of the columns away until they are small."""
    return while_loop(lambda x: xp.max(xp.abs(x)) > 0.3, lambda x: 0.7 * (x - xp.mean(x, axis=0)), x)


def _counted(x: Any, most: int = 5) -> Any:
    def step(state: Any) -> Any:
        k, x = state
        return k + 1, x * 0.5 + xp.sum(x, axis=0) * 0.1

    return while_loop(lambda state: (state[0] < most) & (xp.sum(state[1] ** 2) > 1e-3), step, (0, x))


def _power(a: Any, v: Any) -> Any:
    def step(state: Any) -> Any:
        _, v = state
        w = a @ v
        return v, w / xp.sqrt(xp.sum(w * w))

    return while_loop(lambda s: xp.sum((s[0] - s[1]) ** 2) > 1e-12, step, (v, xp.roll(v, 1)))[1]


def _heat(u: Any) -> Any:
    inner = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return xp.concat([u[:1], inner, u[-1:]])


def _scanned(c: Any, x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        c = 0.5 * c - xp.mean(c, axis=0) + row[:, None]
        return c, (xp.sum(c), c[:2], c)

    c, ys = scan(step, c, x, reverse=True)
    return c, *ys


def _branched(x: Any) -> Any:
    return cond(
        xp.max(x) > 0.5, lambda x: x - xp.mean(x, axis=0), lambda x: xp.cumulative_sum(x, axis=0) * x, x
    )


def _switched(x: Any, i: Any) -> Any:
    branches = lambda x: x - xp.sum(x), lambda x: xp.flip(x, axis=0), lambda x: x * 2
    return switch(i[0], branches, x)


def _nested(x: Any) -> Any:
    """Scan in a loop until it has settled, with a branch in each step."""

    def step(state: Any) -> Any:
        k, x = state
        return k + 1, scan(lambda c, _: (0.5 * _branched(c), xp.sum(c)), x, None, length=3)[0]

    return while_loop(lambda state: (state[0] < 4) & (xp.max(xp.abs(state[1])) > 0.01), step, (0, x))


def _loss(w: Any, xs: Any) -> Any:
    w, losses = scan(lambda w, x: (w - 0.1 * x.T @ xp.tanh(x @ w), xp.mean(xp.tanh(x @ w) ** 2)), w, xs)
    return xp.sum(losses) + xp.sum(w**2)


def _accumulated(x: Any, w: Any) -> Any:
    """Sum gradients over batches."""
    loss = lambda w, x: xp.mean(xp.tanh(x @ w) ** 2)  # noqa: E731
    return scan(lambda total, x: (total + grad(loss)(w, x), loss(w, x)), xp.zeros_like(w), x)


def _recurrent(w: Any, x: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = xp.tanh(x @ w + h)
        return h, xp.sum(h**2)

    return xp.sum(scan(step, x[0, :, :2], x)[1])


def _pushed(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: tuple(jvp(f, (x,), (xp.cos(x),)))


# Functions of arrays that are cut somehow.
CASES: dict[str, tuple[Callable[..., Any], Sequence[np.ndarray]]] = {
    "while": (_settled, [TABLE]),
    "while with a count": (_counted, [TABLE]),
    "while that does nothing": (lambda x: _counted(x, 0), [TABLE]),
    "power iteration": (_power, [SQUARE, VECTOR]),
    "stencil": (lambda u: fori_loop(0, 7, lambda i, u: _heat(u), u), [TABLE]),
    "an unknown number of times": (
        lambda u, n: fori_loop(0, n[0], lambda i, u: _heat(u) + i, u),
        [TABLE, np.array([5])],
    ),
    "scan": (_scanned, [TABLE, RNG.normal(size=(19, 11))]),
    "scan of one step": (_scanned, [TABLE, RNG.normal(size=(1, 11))]),
    "scan of nothing": (_scanned, [TABLE, RNG.normal(size=(0, 11))]),
    "scan along another axis": (
        lambda x: vmap(lambda x: scan(lambda c, r: (c + xp.sum(r) * r, c), xp.zeros(4), x))(x)[1],
        [STACK],
    ),
    "branch": (_branched, [TABLE]),
    "the other branch": (_branched, [TABLE - 5]),
    "the third branch": (_switched, [TABLE, np.array([2])]),
    "the second branch": (_switched, [TABLE, np.array([1])]),
    "nested": (_nested, [TABLE]),
    "a loop in a scan": (lambda x: scan(lambda c, x: (_settled(c + x), xp.max(c)), x[0], x), [STACK]),
    "gradient of a scan": (lambda w, xs: grad(_loss)(w, xs), [RNG.normal(size=(4, 3)), STACK]),
    "sums over batches": (_accumulated, [STACK, RNG.normal(size=(4, 3))]),
    "gradient of a recurrence": (grad(_recurrent), [RNG.normal(size=(4, 2)), STACK]),
    "gradient of a branch": (grad(lambda x: xp.sum(_branched(x) ** 2)), [TABLE]),
    "gradient of a nested scan": (
        grad(lambda x: xp.sum(scan(lambda c, _: (0.5 * _branched(c), None), x, None, length=4)[0] ** 2)),
        [TABLE],
    ),
    "tangents of a loop": (_pushed(_settled), [TABLE]),
    "tangents of a scan": (_pushed(lambda x: _scanned(x, xp.ones((5, 11)))[0]), [TABLE]),
    "tangents of a branch": (_pushed(_branched), [TABLE]),
    "loops in a batch": (vmap(_settled), [STACK]),
    "loops in a batch of batches": (vmap(vmap(_settled)), [RNG.normal(size=(3, 2, 7, 3))]),
    "loops in loops in a batch": (
        vmap(lambda x: while_loop(lambda x: xp.max(xp.abs(x)) > 0.2, lambda x: 0.5 * _settled(2 * x), x)),
        [STACK],
    ),
    "loops with counts in a batch": (
        vmap(lambda x, n: fori_loop(0, n, lambda i, x: x - xp.mean(x, axis=0) + i, x)),
        [STACK, np.arange(9) % 4],
    ),
    "scans in a batch": (vmap(lambda x: scan(lambda c, r: (c + xp.sum(r) * r, c), x[0], x)), [STACK]),
    "branches in a batch": (vmap(_branched), [STACK]),
    "a branch for the batch": (lambda x, i: vmap(lambda x: _switched(x, i))(x), [STACK, np.array([0])]),
}


def _flat(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        found, leaves = [function(*args)], []
        while found:
            x = found.pop(0)
            if isinstance(x, tuple):
                found = [*x, *found]
            else:
                leaves.append(x)
        return tuple(leaves)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_on_all_meshes(name: str) -> None:
    function, values = CASES[name]
    program, values = recorded(_flat(function), values)
    wanted = reference(program, values)
    for seed, mesh in enumerate(MESHES * 3):
        for got, want in zip(run(program, mesh, values, seed, sums=seed % 2 == 0), wanted, strict=True):
            assert_close(np.asarray(got), want, 256)


ROWS = RNG.normal(size=(64, 8))


def share(many: int, nbytes: float) -> float:
    """What an `all_reduce` brings to a device."""
    return 2 * nbytes * (many - 1) / many


@pytest.mark.parametrize("many", [2, 3, 4])
def test_a_loop_moves_sums_alone(many: int) -> None:
    p = parted(_counted, DeviceMesh(many, "x"), (ROWS, P("x")))
    assert not p.unruled
    assert moved(p) == [("all_reduce", pytest.approx(share(many, n))) for n in (8, 8 * 8)]


def test_loops_of_a_batch_move_sums_alone() -> None:
    x = RNG.normal(size=(5, 64, 8))
    p = parted(vmap(_settled), DeviceMesh(4, "x"), (x, P(None, "x")))
    assert not p.unruled
    assert {kind for kind, _ in moved(p)} == {"all_reduce"}
    extremes, means = share(4, 5 * 8), share(4, 5 * 8 * 8)
    assert sorted(nbytes for _, nbytes in moved(p)) == [extremes, extremes, means]


def test_sums_over_the_steps_are_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = RNG.normal(size=(7, 16, 8)), RNG.normal(size=(8, 3))
    monkeypatch.undo()  # each device scans by itself, however small it is
    p = parted(_accumulated, DeviceMesh(4, "x"), (x, P(None, "x")), (w, P()))
    assert sorted(moved(p)) == [("all_reduce", share(4, 7 * 8)), ("all_reduce", share(4, w.nbytes))]
    monkeypatch.setattr(Local, "meets_from", 0)
    p = parted(lambda w, x: grad(_recurrent)(w, x), DeviceMesh(4, "x"), (w[:, :2], P()), (x, P(None, "x")))
    assert sum(nbytes for _, nbytes in moved(p)) == share(4, 8 * 2 * 8)


def test_a_product_in_a_loop_moves_the_vector() -> None:
    a, v = RNG.normal(size=(64, 64)), RNG.normal(size=64)
    mesh = DeviceMesh(4, "x")
    for spec in (P("x"), P(None, "x")):
        p = parted(_power, mesh, (a, spec), (v, P()))
        assert not p.unruled
        assert sum(nbytes for _, nbytes in moved(p)) < 2.5 * v.nbytes
    p = parted(_power, DeviceMesh((2, 2), ("x", "y")), (a, P("x", "y")), (v, P("y")))
    assert not p.unruled
    assert sum(nbytes for _, nbytes in moved(p)) < 2.5 * v.nbytes


def test_a_stencil_in_a_loop_moves_the_rows_at_the_borders() -> None:
    p = parted(lambda u: fori_loop(0, 100, lambda i, u: _heat(u), u), DeviceMesh(4, "x"), (ROWS, P("x")))
    assert {kind for kind, _ in moved(p)} == {"ppermute"}
    assert sum(nbytes for _, nbytes in moved(p)) == 2 * 3 / 4 * 8 * 8


def test_all_branches_give_results_that_lie_alike() -> None:
    p = parted(lambda x: _switched(x, xp.asarray([0])), DeviceMesh(4, "x"), (ROWS, P("x")))
    (nested,) = [m for m in p.made if isinstance(m, Nested)]
    assert "all_gather" not in {kind for kind, _ in moved(p)}
    assert {body.values[body.outputs[0]].layout for body in nested.bodies} == {p.values[p.outputs[0]].layout}


def test_what_needs_no_other_device_runs_there() -> None:
    p = parted(lambda x: fori_loop(0, 9, lambda i, x: xp.tanh(x) + i, x), DeviceMesh(4, "x"), (ROWS, P("x")))
    assert not moved(p)
    assert not any(isinstance(m, Nested) for m in p.made)


def test_what_is_small_is_brought_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    p = parted(_counted, DeviceMesh(4, "x"), (ROWS, P("x")))
    assert [kind for kind, _ in moved(p)] == ["all_gather"]


def _on_four(function: Callable[..., Any]) -> Any:
    return function(xp.eval(shard(ROWS, DeviceMesh(4, "x"), P("x")) + 0))


def test_explain_tells_steps_of_steps() -> None:
    step, sums = xp.explain(*_on_four(lambda x: scan(_mean_step, x, None, length=100))).steps
    assert (step.kind, step.where, step.reads) == ("scan", "scan, 100 steps", 100 * share(4, 8 * 8))
    assert step.moved == (
        "step 1. 4 devices; 4 operations",
        "step 2. all_reduce for %7 broadcast, [-] add over x to [-]; 96 B",
        "step 3. 4 devices; 3 operations",
    )
    assert (sums.kind, sums.reads) == ("all_reduce", share(4, 8 * 100))
    (step,) = xp.explain(_on_four(_settled)).steps
    assert (step.kind, step.where, step.reads) == ("while", "while, for each step", share(4, 8 * 9))
    assert [row.split(";")[0][:21] for row in step.moved if "all_reduce" in row] == [
        "condition 2. all_redu",
        "step 2. all_reduce fo",
    ]
    step = xp.explain(_on_four(_branched)).steps[-1]
    assert (step.kind, step.where) == ("switch", "switch, one of 2")
    assert {row[: len("branch 0")] for row in step.moved} == {
        "branch 0",
        "branch 1",
    }


def _mean_step(c: Any, _: Any) -> Any:
    return c * 0.5 - xp.mean(c, axis=0), xp.sum(c)


def test_simulate_counts_all_steps() -> None:
    x = xp.eval(shard(ROWS, DeviceMesh(4, "x"), P("x")) + 0)
    one, many = (simulate(lambda x, n=n: scan(_mean_step, x, None, length=n), 8, x) for n in (1, 100))
    for a, b in zip(one.steps[:3], many.steps[:3], strict=True):
        assert b[2:] == pytest.approx([100 * x for x in a[2:]])
    assert many.nbytes == pytest.approx(100 * share(8, 8 * 9))
    assert [step.kind for step in many.collectives] == ["all_reduce"] * 2
    assert many.collectives[0].title.startswith("in scan, 100 times: all_reduce for %")
    assert many.memory < 3 * ROWS.nbytes / 8 + 2 * 100 * 8 + 3 * 64 + 2 * 8
    (step,) = [s for s in simulate(_settled, 8, x).collectives if s.nbytes > share(8, 8)]
    assert step.title.startswith("in while, for each step: all_reduce for")
    (step,) = simulate(_branched, 8, x).collectives[-1:]
    assert step.title.startswith("in switch: ")


def test_results_that_are_in_use_elsewhere_are_joined() -> None:
    x = shard(np.ones((7, 16, 8)), DeviceMesh(4, "x"), P(None, "x"))
    w = np.ones((8, 3))
    total, losses = _accumulated(x, xp.asarray(w))
    wanted = _accumulated(xp.ones((7, 16, 8)), xp.asarray(w))
    np.testing.assert_allclose(np.asarray(losses), np.asarray(wanted[1]))
    np.testing.assert_allclose(np.asarray(total), np.asarray(wanted[0]))


def test_errors_name_the_loop() -> None:
    def step(x: Any) -> Any:
        return xp.linalg.inv(x - xp.sum(x, axis=0))

    x = shard(np.zeros((4, 4)), DeviceMesh(2, "x"), P("x"))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        xp.eval(while_loop(lambda x: xp.max(x) < 1, step, x))


def test_results_that_are_views_keep_no_more_than_themselves() -> None:
    def step(c: Any, _: Any) -> Any:
        c = c - xp.mean(c, axis=0)
        return c, c[0]

    program, values = recorded(lambda x: scan(step, x, None, length=5)[1], [ROWS])
    mesh = DeviceMesh(1, "x")
    (got,) = on_mesh(program, mesh, values, [None])
    (want,) = reference(program, values)
    assert_close(np.asarray(got), want)


def test_bodies_that_rules_ask_for_again_are_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[int, tuple[Any, ...]]] = []
    theirs = table.wishes_of

    def wishes_of(mesh: DeviceMesh, program: Any, layouts: Any, *specs: Any) -> Any:
        begun.append((id(program), tuple(layouts)))
        return theirs(mesh, program, layouts, *specs)

    def steps(x: Any) -> Any:
        def inner(c: Any, row: Any) -> Any:
            return c + xp.sum(row * c), c * 2

        return scan(lambda c, _: (scan(inner, c, x)[0], c), xp.ones(8), xp.arange(3.0))[0]

    monkeypatch.setattr(table, "wishes_of", wishes_of)
    found = parted(steps, DeviceMesh(4, "d"), (np.ones((6, 8)), P(None, "d")))
    assert len(begun) == len({*begun}) > 2
    assert not found.bodies  # kept only as long as rules ask


def test_what_is_added_to_a_copy_is_not_in_the_partition() -> None:
    mesh = DeviceMesh(4, "d")
    found = parted(lambda x: x * 2, mesh, (np.ones(8), P("d")))
    before = len(found.made), len(found.values)
    copied = found.copy()
    number = copied.operand(found.program.outputs[0], replicated(mesh, (8,)))
    assert (len(copied.made), number) == (before[0] + 1, before[1])
    assert (len(found.made), len(found.values)) == before
