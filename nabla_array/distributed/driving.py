"""What runs loops and branches whose bodies have collectives: this process says which body is next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

from .._lazy.cpu.calls import StepFailed
from .._lazy.graph.aval import aval_of
from .._lazy.graph.program import Program
from .._lazy.ops.control import scan, switch, while_
from .._lazy.ops.structure import concat
from .._lazy.run.executors import EXECUTORS, execute
from .._lazy.schedule.steps import Schedule
from .engines import Engine
from .layouts import Layout, uncut
from .partition import Partition
from .spmd import Driven, schedule

# The shards of a value, one for each device.
Shards = list[Any]

# Steps of a loop after which an engine may forget how the carry was made.
EVERY = 64
# Values that are put side by side in one step.
_MANY = 64


def _once(body: Schedule, state: list[Shards], fixed: Sequence[Shards] = ()) -> list[Shards]:
    """Run a body; the references of what changes from step to step are taken over."""
    whole: Any = body.program
    env = [*state, *fixed, *[None] * (len(whole.values) - len(state) - len(fixed))]
    state.clear()
    execute(body, env)
    return [env[i] for i in whole.outputs]


def _rooted(engine: Engine, body: Schedule, state: list[Shards]) -> list[Shards]:
    """Let an engine forget how the carry was made; of parts that are alike it takes one."""
    whole: Any = body.program
    distinct = []
    for shards, i in zip(state, whole.outputs, strict=False):
        layout: Layout = whole.values[i].layout
        first: dict[Any, Any] = {}
        terms = layout.mesh.indices(tuple([a for a, _ in layout.partial])).tolist()
        alike = zip(layout.boxes, terms, shards, strict=True)
        distinct.append([first.setdefault((box, term), shard) for box, term, shard in alike])
    return engine.rooted(distinct)


def _run_while(step: Driven, values: list[Shards]) -> list[Shards]:
    (cond, body), n = step.schedules, len(step.outputs)
    state, fixed = values[:n], values[n:]
    values.clear()
    for k in count(1):
        (flag,) = _once(cond, [*state], fixed)
        if not step.engine.fetch(flag[:1], "the condition of a loop")[0]:
            break
        state = _once(body, state, fixed)
        if k % EVERY == 0:
            state = _rooted(step.engine, body, state)
    return state


def _run_scan(step: Driven, values: list[Shards]) -> list[Shards]:
    (body,), params, mesh = step.schedules, step.nested.params, step.nested.bodies[0].mesh
    n, length, engine = params["carry"], params["length"], step.engine
    state, fixed = values[:n], values[n:]
    values.clear()
    rows: list[list[Shards]] = [[] for _ in params["y_axes"]]
    order = reversed(range(length)) if params["reverse"] else range(length)
    for k, t in enumerate(order, 1):
        at = engine.place([np.asarray(t, np.intp)] * mesh.size)
        state = _once(body, state, [*fixed, at])
        for some, y in zip(rows, state[n:], strict=True):
            some.append(engine.alone(y))
        del state[n:]
        if k % EVERY == 0:
            state = _rooted(engine, body, state)
    whole: Any = body.program
    found = [whole.values[i] for i in whole.outputs[n:]]
    for some, value, axis in zip(rows, found, params["y_axes"], strict=True):
        in_order = some[::-1] if params["reverse"] else some
        state.append(_joined(in_order, value.layout, value.aval.dtype, axis))
    return state


def _joined(rows: list[Shards], layout: Layout, dtype: np.dtype, axis: int) -> Shards:
    """Put values that lie alike side by side, along an axis that is whole."""
    sizes = [1] * len(rows)
    while len(rows) > 1:
        spans = [slice(i, i + _MANY) for i in range(0, len(rows), _MANY)]
        rows = [_once(_joining(layout, dtype, axis, tuple(sizes[s])), rows[s])[0] for s in spans]
        sizes = [sum(sizes[s]) for s in spans]
    return rows[0]


@lru_cache(1 << 8)
def _joining(layout: Layout, dtype: np.dtype, axis: int, sizes: Sequence[int]) -> Schedule:
    """Return the step that puts values of some sizes side by side."""
    *layouts, found = [layout.with_cut(axis, uncut(n)) for n in (*sizes, sum(sizes))]
    avals = tuple([aval_of(lay.shape, dtype) for lay in layouts])
    p = Partition(layout.mesh, Program(avals, (), ()), layouts, (), {})
    p.outputs = (p.local(concat, range(len(sizes)), {"axis": axis}, aval_of(found.shape, dtype), found),)
    return schedule(p)


def _run_switch(step: Driven, values: list[Shards]) -> list[Shards]:
    branch = int(step.engine.fetch(values.pop(0)[:1], "the number of a branch")[0])
    return _once(step.schedules[branch], values)


_DRIVERS = {while_: _run_while, scan: _run_scan, switch: _run_switch}


def _run(program: Any, step: Driven, drop: Any, env: list[Any], owned: set[int]) -> None:
    values = [env[i] for i in step.inputs]
    for i in drop:
        env[i] = None
    try:
        found = _DRIVERS[step.nested.prim](step, values)
    except StepFailed as failure:
        raise StepFailed(failure.error, step.nested.cause) from failure.error
    for i, shards in zip(step.outputs, found, strict=True):
        env[i] = shards


EXECUTORS[Driven] = _run
