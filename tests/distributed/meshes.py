"""Meshes of any shape, values cut over them at random, and programs that run there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.graph.bodies import holes, written
from nabla_array._lazy.graph.program import Program
from nabla_array._lazy.run.evaluator import value_of
from nabla_array._namespace.core.array import Array, current
from nabla_array.distributed import DeviceMesh, P, ShardingSpec
from nabla_array.distributed.engines import Local
from nabla_array.distributed.held import OnMesh, Sharded
from nabla_array.distributed.layouts import Cut, Layout, even, meet, uncut
from nabla_array.distributed.partition import Moved, Nested, Partition
from nabla_array.distributed.rules import partition
from nabla_array.distributed.rules.local import fill_of
from nabla_array.distributed.spmd import spread

SHAPES = ((1,), (2,), (3,), (4,), (2, 2), (5,), (2, 3), (8,), (2, 2, 2))
MESHES = [DeviceMesh(shape, tuple("abc"[: len(shape)])) for shape in SHAPES]


def random_layout(
    mesh: DeviceMesh, shape: tuple[int, ...], rng: np.random.Generator, sums: bool = False
) -> Layout:
    """Return a layout that cuts a value somehow: anywhere, or with `sums` as terms."""
    axes: list[list[str]] = [[] for _ in shape]
    parts = [part for name in mesh.axis_names for part in _parts(mesh, name, rng)]
    for name in rng.permutation(parts):
        if shape and rng.integers(4):
            axes[rng.integers(len(shape))].append(str(name))
    cuts = []
    for own, n in zip(axes, shape, strict=True):
        cut = even(mesh, tuple(own), n) if own else uncut(n)
        if own and rng.integers(3) == 0:
            cut = Cut(cut.axes, (0, *sorted(rng.integers(0, n + 1, len(cut.bounds) - 2).tolist()), n))
        cuts.append(cut)
    left = [name for name in mesh.axis_names if not any(meet([name], own) for own in axes)]
    return Layout(mesh, cuts, [(a, np.add) for a in left if sums and rng.integers(3) == 0])


def _parts(mesh: DeviceMesh, name: str, rng: np.random.Generator) -> list[str]:
    """Return a mesh axis, or parts of it."""
    many = mesh.sizes[name]
    if many % 2 or many == 2 or rng.integers(3):
        return [name]
    return [f"{name}:(1)2", f"{name}:(2){many // 2}"]


def put(mesh: DeviceMesh, value: np.ndarray, layout: Layout | None) -> Sharded:
    """Return a value on a mesh; without a layout it is still in the host's memory."""
    held = OnMesh(mesh).place(value)
    if layout is None:
        return held
    parts = spread(Local(mesh.size), layout, value)
    terms = tuple([a for a, _ in layout.partial])
    for d in range(mesh.size):
        if mesh.index(d, terms):  # the first device has all of the sum
            parts[d] = np.full_like(parts[d], fill_of(value.dtype))
    return Sharded(mesh, held.aval, layout, mesh.engine.place(parts))


def run(
    program: Program, mesh: DeviceMesh, values: Sequence[Any], seed: int, sums: bool = False
) -> list[Any]:
    """Run a program on a mesh, its inputs cut at random; returns its outputs."""
    rng = np.random.default_rng(seed)
    layouts = [random_layout(mesh, x.shape, rng, sums) if rng.integers(6) else None for x in values]
    return on_mesh(program, mesh, values, layouts)


def on_mesh(
    program: Program, mesh: DeviceMesh, values: Sequence[Any], layouts: Sequence[Layout | None]
) -> list[Any]:
    """Run a program on a mesh, its inputs cut like that; returns its outputs."""
    env: list[Any] = [put(mesh, x, lay) for x, lay in zip(values, layouts, strict=True)]
    env += [None] * len(program.eqns)
    with np.errstate(all="ignore"):
        OnMesh(mesh).run(program, env)
    return [env[i].here() for i in program.outputs]


meshes = st.sampled_from(MESHES)


def recorded(function: Callable[..., Any], values: Sequence[np.ndarray]) -> tuple[Program, list[np.ndarray]]:
    """Return what a function of arrays records, and its inputs: the arrays, then constants."""
    sources = holes([aval_of_value(x) for x in values])
    program, captured = written(sources, lambda: _nodes(function(*map(Array, sources))))
    return program, [*values, *map(value_of, captured)]


def parted(function: Callable[..., Any], mesh: DeviceMesh, *operands: tuple[np.ndarray, P]) -> Partition:
    """Return what the devices of a mesh do for a function of arrays cut like that."""
    program, values = recorded(function, [x for x, _ in operands])
    layouts = [ShardingSpec(mesh, spec).layout(x.shape) for x, spec in operands]
    return partition(mesh, program, [*layouts, *[None] * (len(values) - len(layouts))])


def moved(p: Partition) -> list[tuple[str, float]]:
    """Return the name of each collective, of bodies too, and how many bytes a device receives."""
    found = []
    for m in p.made:
        if isinstance(m, Nested):
            found += [row for body in m.bodies for row in moved(body)]
        elif isinstance(m, Moved):
            found.append((m.move.kind, m.move.elements * p.values[m.value].aval.dtype.itemsize))
    return found


def _nodes(found: Any) -> list[Any]:
    return [current(xp.asarray(x)) for x in (found if isinstance(found, tuple) else (found,))]
