"""Cut a program into host calls and regions that run in cache-sized blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..graph.aval import Aval
from ..graph.program import Eqn, Program
from ..ops.structure import reshape
from .axes import axes_of


class Call(NamedTuple):
    """One equation, run whole."""

    eqn: int
    drop: tuple[int, ...] = ()


class Region(NamedTuple):
    """Equations that treat the leading axes alike, so that they can run block by block.

    Attributes
    ----------
    eqns
        Their numbers, inputs before users.
    lead
        Shape of the leading axes that every value of the region shares and blocks are cut from.
    inputs, outputs
        Numbers of the values read from outside and of those needed outside.
    joined
        Numbers of the outputs that reduce over the leading axes: their blocks are joined at the end.
    drop
        Values that nothing needs after this step.
    """

    eqns: tuple[int, ...]
    lead: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    joined: frozenset[int]
    drop: tuple[int, ...] = ()


class Plan(NamedTuple):
    """The steps that run a program on the host, in order."""

    program: Program
    steps: tuple[Call | Region, ...]


def _common(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


def _leading_axes(k: int, eqn: Eqn, program: Program) -> int:
    """Return how many leading axes an equation treats pointwise, 0 where it does not fit into a region.

    A reduction over the first axes counts those: it fits as the last operation of a region.
    """
    prim, aval = eqn.prim, eqn.aval
    if not eqn.ins or not isinstance(aval, Aval) or not aval.size:
        return 0
    if prim.kind not in ("elementwise", "reduce", "broadcast") and prim is not reshape:
        return 0
    if prim.kind == "reduce":
        axes = dict(eqn.params)["axes"]
        # Partial sums of float16 would overflow, or lose digits, where NumPy's wider ones do not.
        if not axes or not program.aval(eqn.ins[0]).size or (axes[0] == 0 and aval.dtype == np.float16):
            return 0
    return axes_of(program).leading(k)


# Results of calls that one region may wait for: all of them are in memory when it runs.
_CALLS = 4


class _Cutter:
    """Assigns every equation a level; a region is the connected equations of one level and one first axis.

    Edges between different regions go up a level, so regions never wait for each other in a circle.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.base = len(program.inputs)
        self.level = [0] * (self.base + len(program.eqns))
        self.rows = [-1] * len(self.level)  # length of the first axis where a value is in a region
        self.axes = [0] * len(self.level)
        self.ends = [False] * len(self.level)  # reduces over the first axis
        self.root = list(range(len(self.level)))  # what a view outside of regions looks at
        self.waits: dict[tuple[int, int], set[int]] = {}  # the results of calls that a region reads
        for k, eqn in enumerate(program.eqns, self.base):
            self._place(k, eqn)

    def _place(self, k: int, eqn: Eqn) -> None:
        axes = _leading_axes(k, eqn, self.program)
        # Views of what is not in a region cost nothing outside of it.
        if axes and eqn.prim.kind in ("view", "broadcast") and not self._open(eqn.ins[0]):
            axes = 0
        if axes:
            self.axes[k] = axes
            self.rows[k] = self.program.aval(eqn.ins[0]).shape[0]
            self.ends[k] = eqn.prim.kind == "reduce" and 0 in dict(eqn.params)["axes"]
        elif eqn.ins and eqn.prim.kind in ("view", "broadcast"):
            self.root[k] = self.root[eqn.ins[0]]
        self.level[k] = max((self._above(i, k) for i in eqn.ins), default=0)
        calls = {self.root[i] for i in eqn.ins if self._is_call(self.root[i])} if axes else set()
        if calls:
            while True:
                waits = self.waits.setdefault((self.level[k], self.rows[k]), set())
                if not waits or len(waits | calls) <= _CALLS:
                    break
                self.level[k] += 1
            waits |= calls

    def _is_call(self, i: int) -> bool:
        return i >= self.base and self.rows[i] < 0 and self.program.eqns[i - self.base].prim.kind != "view"

    def _open(self, i: int) -> bool:
        return self.rows[i] >= 0 and not self.ends[i]

    def _above(self, i: int, k: int) -> int:
        if self.rows[i] < 0:
            return self.level[i]
        joins = self.rows[i] == self.rows[k] and not self.ends[i]
        return self.level[i] + (not joins)

    def steps(self) -> list[Call | Region]:
        """Return the steps, each as late as something needs it, so that few results wait in memory."""
        units, maker = self._units()
        out: list[Call | Region] = []
        done: set[int] = set()
        stack = [(maker[i], False) for i in reversed(self.program.outputs)]
        while stack:
            u, ready = stack.pop()
            if ready:
                out += units[u]
            elif u not in done:
                done.add(u)
                stack.append((u, True))
                first = units[u][0]
                ins = (
                    first.inputs
                    if isinstance(first, Region)
                    else self.program.eqns[first.eqn - self.base].ins
                )
                stack.extend((maker[i], False) for i in reversed(ins) if i >= self.base)
        return out

    def _units(self) -> tuple[list[list[Call | Region]], dict[int, int]]:
        """Return calls, and regions with the views of them, and which of these makes each value."""
        units: list[list[Call | Region]] = []
        maker: dict[int, int] = {}
        groups: dict[tuple[int, int], list[int]] = {}
        for k in range(self.base, len(self.level)):
            groups.setdefault((self.level[k], self.rows[k]), []).append(k)
        parts = [(rows, part) for (_, rows), group in groups.items() for part in self._connected(group)]
        for rows, members in parts:
            eqns = [self.program.eqns[k - self.base] for k in members]
            if rows <= 0 or not any(e.prim.kind == "elementwise" for e in eqns):
                maker.update(zip(members, itertools.count(len(units)), strict=False))
                units += [[Call(k)] for k in members]
            else:
                region, views = self._region(members, eqns)
                maker.update(dict.fromkeys(members, len(units)))
                units.append([region, *map(Call, views)])
        return units, maker

    def _connected(self, group: list[int]) -> list[list[int]]:
        """Split equations into those that have nothing to do with each other."""
        part: dict[int, list[int]] = {}
        for k in group:
            mine: list[int] = []
            for i in self.program.eqns[k - self.base].ins:
                other = part.get(i, mine)
                if other is not mine:
                    other += mine
                    part.update(dict.fromkeys(mine, other))
                    mine = other
            mine.append(k)
            part[k] = mine
        return [sorted(p) for p in {id(p): p for p in part.values()}.values()]

    def _region(self, members: list[int], eqns: list[Eqn]) -> tuple[Region, list[int]]:
        """Return the region of some equations, and which of them are views that are needed outside.

        Those are looked at after the region, when they cost nothing, so it stores what they look at.
        """
        aval = self.program.aval
        inside = set(members)
        shape = aval(members[0] if not self.ends[members[0]] else eqns[0].ins[0]).shape
        n = len(shape)
        for k, eqn in zip(members, eqns, strict=True):
            own = aval(eqn.ins[0]).shape if self.ends[k] else aval(k).shape
            n = min(n, self.axes[k], _common(shape, own))
        outside = {
            i for k, eqn in enumerate(self.program.eqns, self.base) if k not in inside for i in eqn.ins
        }
        outside.update(self.program.outputs)
        views: list[int] = []
        kept: list[int] = []
        used: set[int] = set()
        for k, eqn in zip(reversed(members), reversed(eqns), strict=True):
            if k in outside and eqn.prim.kind in ("view", "broadcast"):
                views.append(k)
                outside.add(eqn.ins[0])
                if k not in used:
                    continue
            kept.append(k)
            used.update(eqn.ins)
        kept.reverse()
        stored = outside.difference(views)
        region = Region(
            tuple(kept),
            shape[:n],
            tuple(sorted(used - inside)),
            tuple(k for k in kept if k in stored),
            frozenset(k for k in kept if self.ends[k]),
        )
        return region, views[::-1]


def _with_drops(program: Program, steps: list[Call | Region]) -> Iterator[Call | Region]:
    """Say after each step which values are dead."""
    last: dict[int, int] = {}
    for s, step in enumerate(steps):
        base = len(program.inputs)
        if isinstance(step, Region):
            touched = [*step.inputs, *step.outputs]
        else:
            touched = [*program.eqns[step.eqn - base].ins, step.eqn]
        last.update(dict.fromkeys(touched, s))
    keep = set(program.outputs)
    drops: list[list[int]] = [[] for _ in steps]
    for value, s in last.items():
        if value not in keep:
            drops[s].append(value)
    for step, drop in zip(steps, drops, strict=True):
        yield step._replace(drop=tuple(drop))


@lru_cache(512)
def plan(program: Program) -> Plan:
    """Return the plan of a program, kept for the next time that an equal one comes."""
    return Plan(program, tuple(_with_drops(program, _Cutter(program).steps())))
