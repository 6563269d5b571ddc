"""The pass that cuts programs into library calls and fusion groups, which run in cache-sized blocks."""

from __future__ import annotations

import itertools

import numpy as np

from ..graph.aval import Aval
from ..graph.program import Eqn, Program
from ..ops.structure import reshape
from .axes import axes_of
from .parts import connected, users_of
from .steps import Call, Fused


def _common(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


def _leading_axes(k: int, eqn: Eqn, program: Program) -> int:
    """Return how many leading axes an equation treats pointwise, 0 where it does not fit into a group.

    A reduction over the first axes counts those: it fits as the last operation of a group.
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


# Results of calls that one group may wait for: all of them are in memory when it runs.
_CALLS = 4


class _Cutter:
    """Assigns every equation a level; a group is the connected equations of one level and one first axis.

    Edges between different groups go up a level, so groups never wait for each other in a circle.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.base = len(program.inputs)
        self.users, self.outputs = users_of(program), {*program.outputs}
        self.level = [0] * (self.base + len(program.eqns))
        self.rows = [-1] * len(self.level)  # length of the first axis where a value is in a group
        self.axes = [0] * len(self.level)
        self.ends = [False] * len(self.level)  # reduces over the first axis
        self.root = list(range(len(self.level)))  # what a view outside of groups looks at
        self.waits: dict[tuple[int, int], set[int]] = {}  # the results of calls that a group reads
        for k, eqn in enumerate(program.eqns, self.base):
            self._place(k, eqn)

    def _place(self, k: int, eqn: Eqn) -> None:
        axes = _leading_axes(k, eqn, self.program)
        # Views of what is not in a group cost nothing outside of it.
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

    def steps(self) -> list[Call | Fused]:
        """Return the steps, each as late as something needs it, so that few results wait in memory."""
        units, maker = self._units()
        out: list[Call | Fused] = []
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
                stack.extend((maker[i], False) for i in reversed(first.inputs) if i >= self.base)
        return out

    def _units(self) -> tuple[list[list[Call | Fused]], dict[int, int]]:
        """Return calls, and fusion groups with the views of them, and which of these makes each value."""
        units: list[list[Call | Fused]] = []
        maker: dict[int, int] = {}
        found: dict[tuple[int, int], list[int]] = {}
        for k in range(self.base, len(self.level)):
            found.setdefault((self.level[k], self.rows[k]), []).append(k)
        parts = [(rows, p) for (_, rows), group in found.items() for p in connected(self.program, group)]
        for rows, members in parts:
            eqns = [self.program.eqns[k - self.base] for k in members]
            if rows <= 0 or not any(e.prim.kind == "elementwise" for e in eqns):
                maker.update(zip(members, itertools.count(len(units)), strict=False))
                units += [[self._call(k)] for k in members]
            else:
                group, views = self._fused(members, eqns)
                maker.update(dict.fromkeys(members, len(units)))
                units.append([group, *map(self._call, views)])
        return units, maker

    def _call(self, k: int) -> Call:
        return Call(k, self.program.eqns[k - self.base].ins)

    def _fused(self, members: list[int], eqns: list[Eqn]) -> tuple[Fused, list[int]]:
        """Return the fusion group of some equations, and which of them are views that are needed outside.

        Those are looked at after the group, when they cost nothing, so it stores what they look at.
        """
        aval = self.program.aval
        inside = set(members)
        shape = aval(members[0] if not self.ends[members[0]] else eqns[0].ins[0]).shape
        n = len(shape)
        for k, eqn in zip(members, eqns, strict=True):
            own = aval(eqn.ins[0]).shape if self.ends[k] else aval(k).shape
            n = min(n, self.axes[k], _common(shape, own))
        outside = {k for k in members if k in self.outputs or not inside.issuperset(self.users.get(k, ()))}
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
        fused = Fused(
            tuple(kept),
            shape[:n],
            tuple(sorted(used - inside)),
            tuple(k for k in kept if k in stored),
            frozenset(k for k in kept if self.ends[k]),
        )
        return fused, views[::-1]


def fusion_groups(program: Program) -> list[Call | Fused]:
    """Return the steps that run a program on the host, in an order in which they can run."""
    return _Cutter(program).steps()
