"""Every transform inside every other one on sharded arrays, against the same on arrays that are not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph import program as programs_of
from nabla_array._namespace.core.array import current
from nabla_array.distributed import DeviceMesh, P, pmap, shard
from nabla_array.distributed.held import partition
from nabla_array.distributed.spmd import Devices, schedule
from nabla_array.transforms import (
    checkpoint,
    compile,
    cond,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    map,
    scan,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)

MESH = DeviceMesh((2, 2), ("dp", "tp"))
X = np.linspace(-1, 1, 6)
W = np.cos(np.arange(6.0))

Function = Callable[[Any], Any]


def base(w: Any) -> Function:
    """Return a function of an array with one axis that gives another one, and looks at its neighbours."""

    def f(x: Any) -> Any:
        return xp.tanh(x * w + 0.5 * xp.flip(x)) + x[1:].sum() * w

    return f


def _total(f: Function) -> Function:
    return lambda x: xp.sum(f(x) * xp.cos(x))


def _of_batch(run: Callable[[Function], Function]) -> Callable[[Function], Function]:
    return lambda f: lambda x: run(f)(xp.stack([x, -x, 2 * x])).sum(axis=0)


def _split(f: Function) -> Function:
    def one(x: Any) -> Any:
        return f(x) if x.sum() > 0 else -f(2 * x)

    return lambda x: vmap(one)(xp.stack([x, x + 1, -x - 1])).sum(axis=0)


# What makes of a function one of the same kind.
TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "grad": lambda f: grad(_total(f)),
    "value_and_grad": lambda f: lambda x: value_and_grad(_total(f))(x)[1] * 2,
    "vjp": lambda f: lambda x: vjp(f, x)[1](xp.sin(x))[0],
    "jvp": lambda f: lambda x: jvp(f, (x,), (xp.cos(x),))[1],
    "linearize": lambda f: lambda x: linearize(f, x)[1](xp.cos(x)),
    "jacrev": lambda f: lambda x: jacrev(f)(x) @ x,
    "jacfwd": lambda f: lambda x: jacfwd(f)(x).T @ x,
    "hessian": lambda f: lambda x: hessian(_total(f))(x).sum(axis=1),
    "hvp": lambda f: lambda x: hvp(_total(f), (x,), (xp.ones_like(x),)),
    "vmap": _of_batch(vmap),
    "vmap over the mesh": _of_batch(lambda f: vmap(f, spmd_axis_name="tp")),
    "map": _of_batch(lambda f: lambda xs: map(f, xs)),
    "split": _split,
    "compile": compile,
    "checkpoint": checkpoint,
    "scan": lambda f: lambda x: scan(lambda c, _: (0.1 * f(c), c.sum()), x, None, length=2)[0],
    "while": lambda f: (
        lambda x: while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, 0.1 * f(s[1])), (0, x))[1]
    ),
    "cond": lambda f: lambda x: cond(x[0] > 0, f, lambda v: f(-v), x),
    "shard": lambda f: lambda x: shard(f(shard(x, MESH, P("tp"))), MESH, P(("tp", "dp"))),
}
# No derivative in reverse goes through these, as in JAX.
_ONLY_FORWARD = {"while"}
_REVERSE = {"grad", "value_and_grad", "vjp", "jacrev", "hessian", "hvp"}
PAIRS = [
    (outer, inner)
    for outer, inner in product(TRANSFORMS, TRANSFORMS)
    if not (outer in _REVERSE and inner in _ONLY_FORWARD)
]


def assert_same(transform: Callable[[Function], Function]) -> None:
    with MESH:
        wanted = np.asarray(transform(base(xp.asarray(W)))(xp.asarray(X)))
    for x, w in ((P("dp"), P("dp")), (P("dp"), P("tp")), (P(("dp", "tp")), P())):
        found = transform(base(shard(W, MESH, w)))(shard(X, MESH, x))
        assert found.device == MESH
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=lambda name: name)
def test_two(outer: str, inner: str) -> None:
    assert_same(lambda f: TRANSFORMS[outer](TRANSFORMS[inner](f)))


THREE = [
    ("compile", "grad", "vmap over the mesh"),
    ("vmap over the mesh", "compile", "grad"),
    ("vmap over the mesh", "grad", "scan"),
    ("grad", "scan", "vmap over the mesh"),
    ("jvp", "vmap over the mesh", "grad"),
    ("scan", "vmap over the mesh", "split"),
    ("grad", "split", "compile"),
]


@pytest.mark.parametrize("names", THREE, ids=" of ".join)
def test_three(names: tuple[str, ...]) -> None:
    def transform(f: Function) -> Function:
        for name in reversed(names):
            f = TRANSFORMS[name](f)
        return f

    assert_same(transform)


# -- gradients lie as their parameters do ------------------------------------------------------------------

SPECS = (P("dp"), P(None, "tp"), P("dp", "tp"), P(("dp", "tp")), P(None, ("tp", "dp")), P())


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("computed", [False, True], ids=["pending", "computed"])
def test_gradients_are_cut_as_their_parameters(spec: P, computed: bool) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(8, 6)), rng.normal(size=(6, 5))
    there = {"w": shard(w, MESH, spec), "b": shard(w[0], MESH)}
    if computed:
        xp.eval(there)

    def loss(params: Any, x: Any) -> Any:
        return xp.sum(xp.tanh(x @ params["w"] + params["b"]) ** 2)

    wanted = grad(loss)({"w": xp.asarray(w), "b": xp.asarray(w[0])}, x)
    for run in (
        grad(loss),
        compile(grad(loss)),
        lambda params, x: value_and_grad(loss)(params, x)[1],
        lambda params, x: vjp(lambda p: loss(p, x), params)[1](1.0)[0],
    ):
        found = run(there, shard(x, MESH, P("dp")))
        for name in there:
            np.testing.assert_allclose(np.asarray(found[name]), np.asarray(wanted[name]))
            assert found[name].sharding == there[name].sharding


def test_gradients_of_each_example_too() -> None:
    x = shard(np.arange(8.0).reshape(4, 2), MESH, P("dp"))
    w = shard(np.ones((2, 6)), MESH, P(None, "tp"))
    each = vmap(grad(lambda w, x: xp.sum((x @ w) ** 2)), in_axes=(None, 0), spmd_axis_name="dp")(w, x)
    assert each.sharding.partition_spec == P("dp", None, "tp")


# -- values that are looked at -----------------------------------------------------------------------------


def test_values() -> None:
    x = shard(np.arange(6.0), MESH, P("dp"))
    assert bool(xp.all(x >= 0))
    assert not bool(xp.any(x > 5))
    assert float(xp.sum(x)) == 15
    assert int(xp.argmax(x)) == 5
    assert [float(v) for v in x] == [*range(6)]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    while xp.sum(x) > 1:
        x = x / 2
    assert x.device == MESH
    np.testing.assert_allclose(np.asarray(x), np.arange(6.0) / 16)


def test_splits_by_several_values() -> None:
    x = np.random.default_rng(0).normal(size=(9, 4))

    def one(v: Any) -> Any:
        n = 0
        while v.sum() ** 2 > 0.1:
            v = v / 2
            n += 1
        return v, n

    for run in (vmap(one), vmap(one, spmd_axis_name="dp"), pmap(one, mesh=MESH)):
        there = shard(x, MESH, P("dp"))
        v, n = run(there)
        wanted = vmap(one)(xp.asarray(x))
        np.testing.assert_allclose(np.asarray(v), np.asarray(wanted[0]))
        np.testing.assert_array_equal(np.asarray(n), np.asarray(wanted[1]))


def test_bodies_that_devices_run_name_no_mesh() -> None:
    """Their engine may be another process's."""

    def step(c: Any, r: Any) -> Any:
        return xp.cumulative_sum(shard(c, MESH, P("tp"))) + r, xp.sum(c)

    last, _ = scan(step, xp.zeros(6), shard(np.ones((4, 6)), MESH, P("dp")))
    order = programs_of.pending_order([current(last)])
    program = programs_of.linearize(order, [current(last)]).program
    assert "reshard" in str(program)
    steps = schedule(partition(MESH, program, [None] * len(program.inputs))).steps
    programs = [p for s in steps if isinstance(s, Devices) for p in s.segment.programs.values()]
    assert programs
    assert not any(word in str(p) for p in programs for word in ("reshard", "transfer"))
    x = np.zeros(6)
    for _ in range(4):
        x = np.cumsum(x) + 1
    np.testing.assert_allclose(np.asarray(last), x)
