"""Collectives between the examples of a batch, with and without a mesh, against NumPy along that axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import (
    DeviceMesh,
    P,
    all_gather,
    all_reduce,
    all_to_all,
    axis_index,
    axis_size,
    pmap,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
    reduce_scatter,
    shard,
)
from nabla_array.transforms import compile, grad, jvp, scan, vmap

from .clusters import threads

N = 6
X = np.random.default_rng(0).normal(size=(N, 6, 4))
AROUND = [(k, (k + 1) % N) for k in range(N)]
BACK = [(k, N - 1 - k) for k in range(0, N, 2)]


def _repeated(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, (N, *x.shape))


def _sent(pairs: list[tuple[int, int]]) -> Callable[[np.ndarray], np.ndarray]:
    def sent(x: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x)
        for source, target in pairs:
            out[target] = x[source]
        return out

    return sent


# What an example does, and what that is of the whole batch.
CASES: dict[str, tuple[Callable[..., Any], Callable[[np.ndarray], np.ndarray]]] = {
    "psum": (lambda v: psum(v, "i"), lambda x: _repeated(x.sum(0))),
    "pmean": (lambda v: pmean(v, "i"), lambda x: _repeated(x.mean(0))),
    "pmax": (lambda v: pmax(v, "i"), lambda x: _repeated(x.max(0))),
    "pmin": (lambda v: pmin(v, "i"), lambda x: _repeated(x.min(0))),
    "prod": (lambda v: all_reduce(v, "i", op="prod"), lambda x: _repeated(x.prod(0))),
    "any": (lambda v: all_reduce(v > 1, "i", op="any"), lambda x: _repeated((x > 1).any(0))),
    "all": (lambda v: all_reduce(v > -1, "i", op="all"), lambda x: _repeated((x > -1).all(0))),
    "of a constant": (lambda v: v * psum(1, "i"), lambda x: x * N),
    "all_gather": (lambda v: all_gather(v, "i"), lambda x: _repeated(x)),
    "all_gather last": (
        lambda v: all_gather(v, "i", axis=-1),
        lambda x: _repeated(np.moveaxis(x, 0, -1)),
    ),
    "all_gather tiled": (
        lambda v: all_gather(v, "i", axis=1, tiled=True),
        lambda x: _repeated(np.concatenate([*x], axis=1)),
    ),
    "psum_scatter": (lambda v: psum_scatter(v, "i"), lambda x: x.sum(0)),
    "psum_scatter tiled": (
        lambda v: psum_scatter(v.T, "i", scatter_dimension=1, tiled=True),
        lambda x: x.sum(0)[:, :, None],
    ),
    "reduce_scatter max": (lambda v: reduce_scatter(v, "i", op="max"), lambda x: x.max(0)),
    "all_to_all": (
        lambda v: all_to_all(v, "i", 0, 1),
        lambda x: np.stack([x[:, k].T for k in range(N)]),
    ),
    "all_to_all tiled": (
        lambda v: all_to_all(v, "i", 0, 1, tiled=True),
        lambda x: np.stack([np.concatenate([*x[:, k : k + 1]], axis=1) for k in range(N)]),
    ),
    "around": (lambda v: ppermute(v, "i", AROUND), _sent(AROUND)),
    "to some": (lambda v: ppermute(v, "i", BACK), _sent(BACK)),
    "axis_index": (lambda v: v * axis_index("i"), lambda x: x * np.arange(N)[:, None, None]),
    "axis_size": (lambda v: v * axis_size("i"), lambda x: x * N),
}
cases = pytest.mark.parametrize(("one", "whole"), CASES.values(), ids=CASES)
MESHES = {"no mesh": None, **{str(n): DeviceMesh(n, ("i",)) for n in (1, 2, 4, 8)}}


def mapped(one: Callable[..., Any], mesh: DeviceMesh | None, **more: Any) -> Callable[..., Any]:
    if mesh is None:
        return vmap(one, axis_name="i", **more)
    return pmap(one, axis_name="i", mesh=mesh, **more)


@cases
@pytest.mark.parametrize("mesh", MESHES.values(), ids=MESHES)
def test_against_the_whole_batch(one, whole, mesh) -> None:  # type: ignore[no-untyped-def]
    found = mapped(one, mesh)(X)
    np.testing.assert_allclose(np.asarray(found), whole(X))
    if mesh is not None:
        assert found.device == mesh


def test_on_workers() -> None:
    with threads(3) as client:
        mesh = DeviceMesh(3, "i", engine="dask", client=client)
        for one, whole in CASES.values():
            np.testing.assert_allclose(np.asarray(pmap(one, "i", mesh=mesh)(X)), whole(X))
        x = shard(X, mesh, P("i"))
        found = grad(lambda x: xp.sum(vmap(lambda v: v * psum(v, "i"), spmd_axis_name="i")(x)))(x)
        np.testing.assert_allclose(np.asarray(found), _repeated(2 * X.sum(0)))
        assert found.sharding == x.sharding


@cases
@pytest.mark.parametrize("mesh", [None, DeviceMesh(2, "i")], ids=["no mesh", "2"])
def test_compiled_scanned_and_batched_further(one, whole, mesh) -> None:  # type: ignore[no-untyped-def]
    wanted = whole(X)
    run = mapped(one, mesh)
    inside, outside = mapped(compile(one), mesh), compile(run)
    for _ in range(2):
        np.testing.assert_allclose(np.asarray(inside(X)), wanted)
        np.testing.assert_allclose(np.asarray(outside(X)), wanted)
    both = np.stack([X, 2 * X])
    found = vmap(run)(both)
    np.testing.assert_allclose(np.asarray(found), np.stack([whole(X), whole(2 * X)]))
    found = mapped(vmap(one), mesh, in_axes=1, out_axes=1)(both)
    np.testing.assert_allclose(np.asarray(found), np.stack([whole(X), whole(2 * X)]))
    _, steps = scan(lambda c, x: (c, run(x)), xp.zeros(()), xp.asarray(both))
    np.testing.assert_allclose(np.asarray(steps), np.stack([whole(X), whole(2 * X)]))


@cases
@pytest.mark.parametrize("mesh", [None, DeviceMesh(2, "i")], ids=["no mesh", "2"])
def test_derivatives(one, whole, mesh) -> None:  # type: ignore[no-untyped-def]
    run = mapped(one, mesh)
    if np.asarray(whole(X)).dtype == bool:
        return
    direction = np.cos(X)
    weight = np.sin(np.arange(whole(X).size)).reshape(whole(X).shape)
    tangent = jvp(run, (X,), (direction,))[1]
    step = 1e-6
    wanted = (whole(X + step * direction) - whole(X - step * direction)) / (2 * step)
    np.testing.assert_allclose(np.asarray(tangent), wanted, rtol=1e-6, atol=1e-7)
    pulled = grad(lambda x: xp.sum(run(x) * weight))(xp.asarray(X))
    np.testing.assert_allclose(np.sum(np.asarray(pulled) * direction), np.sum(weight * wanted), rtol=1e-6)
    inside = mapped(lambda v, w: grad(lambda v: xp.sum(one(v) * w))(v), mesh)(X, weight)
    assert inside.shape == X.shape


def test_a_loss_that_all_share_counts_once() -> None:
    found = vmap(grad(lambda v: psum(v**2, "i")), axis_name="i")(xp.asarray([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(np.asarray(found), [2, 4, 6])


def test_in_the_body_of_a_loop() -> None:
    def one(v: Any) -> Any:
        return scan(lambda c, _: (c + psum(v * c, "i"), ppermute(c, "i", AROUND)), v, None, length=3)

    last, seen = vmap(one, axis_name="i")(X[:, 0, 0])
    c = x = X[:, 0, 0]
    for k in range(3):
        np.testing.assert_allclose(np.asarray(seen)[:, k], np.roll(c, 1))
        c = c + (x * c).sum()
    np.testing.assert_allclose(np.asarray(last), c)


def test_several_axes() -> None:
    x = np.random.default_rng(1).normal(size=(3, 4, 5))

    def both(f: Callable[..., Any]) -> np.ndarray:
        return np.asarray(vmap(vmap(f, axis_name="j"), axis_name="i")(x))

    np.testing.assert_allclose(both(lambda v: psum(v, ("i", "j")))[0, 0], x.sum((0, 1)))
    np.testing.assert_allclose(both(lambda v: psum(v, "i"))[1], x.sum(0))
    np.testing.assert_allclose(both(lambda v: psum(v, "j"))[:, 1], x.sum(1))
    np.testing.assert_allclose(
        both(lambda v: all_gather(v, ("j", "i")))[0, 0], x.swapaxes(0, 1).reshape(12, 5)
    )
    np.testing.assert_array_equal(both(lambda v: axis_index(("i", "j"))), np.arange(12).reshape(3, 4))
    rolled = both(lambda v: ppermute(v, ("i", "j"), [(k, (k + 1) % 12) for k in range(12)]))
    np.testing.assert_allclose(rolled, np.roll(x.reshape(12, 5), 1, axis=0).reshape(x.shape))


def test_pytrees() -> None:
    found = vmap(lambda v: psum({"a": v, "b": (v * 2, 1)}, "i"), axis_name="i", out_axes=None)(X[:, 0, 0])
    np.testing.assert_allclose(float(found["a"]), X[:, 0, 0].sum())
    assert int(found["b"][1]) == N


def test_collectives_of_a_mesh_are_steps() -> None:
    mesh = DeviceMesh(3, "i")
    x = shard(X, mesh, P("i"))
    xp.eval(x)
    run = {name: str(xp.explain(pmap(one, "i")(x))) for name, (one, _) in CASES.items()}
    assert "all_reduce" in run["psum"]
    assert "reduce_scatter" in run["psum_scatter"]
    assert "all_to_all" in run["all_to_all"]
    assert "ppermute" in run["around"]
    assert "nothing moves" in run["axis_size"]


# -- where examples part -------------------------------------------------------------------------------


@pytest.mark.parametrize("mesh", [None, DeviceMesh(2, "i")], ids=["no mesh", "2"])
def test_examples_may_part_after_a_collective(mesh) -> None:  # type: ignore[no-untyped-def]
    x = np.array([1.0, -2.0, 3.0, -4.0, 0.5])

    def one(v: Any) -> Any:
        mean = pmean(v, "i")
        if v > mean:
            return v * 10 if v > 2 else v - mean
        return -mean

    wanted = [(v * 10 if v > 2 else v - x.mean()) if v > x.mean() else -x.mean() for v in x]
    np.testing.assert_allclose(np.asarray(mapped(one, mesh)(x)), wanted)
    both = np.stack([x, -x])
    found = np.asarray(vmap(mapped(one, mesh))(both))
    np.testing.assert_allclose(found[0], wanted)
    # A batch within: its examples part along the outer axis too.
    inner = np.asarray(mapped(lambda v, w: vmap(lambda a, b: one(a) * b)(v, w), mesh)(both.T, both.T))
    np.testing.assert_allclose(inner.T[0], np.asarray(wanted) * x)


@pytest.mark.parametrize("transform", [lambda f: f, compile])
def test_a_collective_needs_all_examples(transform) -> None:  # type: ignore[no-untyped-def]
    inner = transform(lambda v: psum(v, "i"))

    def one(v: Any) -> Any:
        return inner(v) if v > 0 else v

    np.testing.assert_allclose(np.asarray(vmap(one, axis_name="i")(np.ones(3))), 3)
    for x in ([1.0, -2.0], [1.0, 2.0, -3.0], [1.0, -2.0]):
        with pytest.raises(
            ValueError, match=r"psum: the examples of 'i' have parted \(.*\), but a collective"
        ):
            vmap(one, axis_name="i")(xp.asarray(x))


def test_errors() -> None:
    with pytest.raises(NameError, match="psum: no axis is named 'i' here; inside of vmap"):
        psum(xp.ones(3), "i")
    with DeviceMesh(2, "i"), pytest.raises(NameError, match=r"arrays on a mesh are whole, so that xp\.sum"):
        psum(xp.ones(3), "i")
    with pytest.raises(NameError, match="all_gather: no axis is named 'j' here, only 'i'"):
        vmap(lambda v: all_gather(v, "j"), axis_name="i")(X)
    with pytest.raises(
        ValueError, match="all_reduce: no op 'mean'; sum, prod, max, min, any, all would work"
    ):
        vmap(lambda v: all_reduce(v, "i", op="mean"), axis_name="i")(X)
    with pytest.raises(ValueError, match=r"ppermute: the pair \(0, 2\) does not go with 6 examples"):
        vmap(lambda v: ppermute(v, "i", [(0, 1), (0, 2)]), axis_name="i")(X)
    with pytest.raises(ValueError, match="all_to_all: axis 1 of length 4 has no part for each of 6 examples"):
        vmap(lambda v: all_to_all(v, "i", 1, 0), axis_name="i")(X)
    with pytest.raises(ValueError, match="psum_scatter: axis 1 of length 4 does not part into 6"):
        vmap(lambda v: psum_scatter(v, "i", scatter_dimension=1, tiled=True), axis_name="i")(X)
    with pytest.raises(ValueError, match="all_gather: axis 3 is out of bounds for 3 axes"):
        vmap(lambda v: all_gather(v, "i", axis=3), axis_name="i")(X)
