"""The pass that cuts programs into parts that MAX can fuse and parts that stay on the host."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from ..graph.aval import Aval
from ..graph.program import Eqn, Program, is_literal
from ..ops.structure import reshape
from .steps import Part

_FLOATS = (np.float32, np.float64)


def runs_on_max(aval: Aval, kinds: str) -> bool:
    """Say whether MAX has values of this dtype, if it is of these kinds, and of this size."""
    dtype = aval.dtype
    return dtype.kind in kinds and (dtype.kind != "f" or dtype.type in _FLOATS) and aval.size > 0


def _is_lowered(eqn: Eqn, program: Program) -> bool:
    """Say whether MAX has the operation for these dtypes; a fill belongs to whoever uses it."""
    prim = eqn.prim
    if prim.max is None or prim.dims is None or not isinstance(eqn.aval, Aval):
        return False
    return runs_on_max(eqn.aval, "fiub") and all(
        runs_on_max(program.aval(i), prim.max_kinds) for i in eqn.ins
    )


def _is_view(eqn: Eqn) -> bool:
    return eqn.prim.kind in ("view", "broadcast")


def _pays(eqns: list[Eqn]) -> bool:
    """Say whether fusing could be faster than the host's own calls; of single ones, serial ones could."""
    work = [e for e in eqns if not _is_view(e) and not is_literal(e)]
    return len(work) > 1 or any(e.prim.serial for e in work)


def users_of(program: Program) -> dict[int, list[int]]:
    """Return the equations that read each value."""
    users: dict[int, list[int]] = {}
    for k, eqn in enumerate(program.eqns, len(program.inputs)):
        for i in eqn.ins:
            users.setdefault(i, []).append(k)
    return users


def connected(program: Program, group: list[int]) -> list[list[int]]:
    """Split some equations into those that have nothing to do with each other."""
    part: dict[int, list[int]] = {}
    for k in group:
        mine: list[int] = []
        for i in program.eqns[k - len(program.inputs)].ins:
            other = part.get(i, mine)
            if other is not mine:
                other += mine
                part.update(dict.fromkeys(mine, other))
                mine = other
        mine.append(k)
        part[k] = mine
    return [sorted(p) for p in {id(p): p for p in part.values()}.values()]


class _Grouping:
    """Puts each equation on a level; those of one level that are connected and on MAX are a group.

    A value goes up a level where it passes between MAX and the host, so groups never wait for each
    other in a circle.
    """

    def __init__(self, program: Program, everything: bool, accelerator: bool) -> None:
        self.program = program
        self.base = len(program.inputs)
        self.users = users_of(program)
        self.fused = [False] * self.base
        for eqn in program.eqns:
            # On the host a reshape of what is there already costs nothing, and no size is part of the key.
            outside = eqn.prim is reshape and not self.fused[eqn.ins[0]]
            # Our kernels of scans go from element to element.
            here = accelerator and eqn.prim.kind == "scan"
            self.fused.append(not is_literal(eqn) and not (outside or here) and _is_lowered(eqn, program))
        while True:
            groups = self._groups()
            lost = []
            for _, group in groups:
                eqns = self._eqns(group)
                if not (_pays(eqns) or (everything and not all(map(_is_view, eqns)))):
                    lost += group
            if not lost:
                break
            for k in lost:
                self.fused[k] = False
        self.groups = groups

    def _eqns(self, group: list[int]) -> list[Eqn]:
        return [self.program.eqns[k - self.base] for k in group]

    def _groups(self) -> list[tuple[int, list[int]]]:
        """Return (level, equations) of the groups on MAX."""
        self.level = [0] * (self.base + len(self.program.eqns))
        for k, eqn in enumerate(self.program.eqns, self.base):
            if is_literal(eqn):
                continue
            ins = [i for i in eqn.ins if i >= self.base and self._made(i)]
            self.level[k] = max((self.level[i] + (self.fused[i] != self.fused[k]) for i in ins), default=0)
        self._raise_views()
        levels: dict[int, list[int]] = {}
        for k, fused in enumerate(self.fused):
            if fused:
                levels.setdefault(self.level[k], []).append(k)
        groups = [(level, group) for level, some in levels.items() for group in connected(self.program, some)]
        trimmed = [(level, self._without_last_views(group)) for level, group in groups]
        return [(level, kept) for level, kept in trimmed if kept]

    def _raise_views(self) -> None:
        """Put views for MAX beside their first user: left behind, they would be elements in memory."""
        for k, eqn in reversed([*enumerate(self.program.eqns, self.base)]):
            users = self.users.get(k)
            if self.fused[k] and _is_view(eqn) and users:
                self.level[k] = min(self.level[u] - (self.fused[u] != self.fused[k]) for u in users)

    def _made(self, i: int) -> bool:
        return not is_literal(self.program.eqns[i - self.base])

    def _without_last_views(self, group: list[int]) -> list[int]:
        """Leave out views that only others look at: outside they cost nothing."""
        inside = set(group)
        for k in reversed(group):
            if _is_view(self.program.eqns[k - self.base]) and not inside.intersection(self.users.get(k, ())):
                inside.discard(k)
        return [k for k in group if k in inside]

    def parts(self) -> list[Part]:
        """Return the parts in an order in which they can run."""
        inside = {k for _, group in self.groups for k in group}
        host: dict[tuple[int, int], list[int]] = {}
        for k, eqn in enumerate(self.program.eqns, self.base):
            if k not in inside and not is_literal(eqn):
                # A view left out of a group comes after it, on the same level.
                host.setdefault((self.level[k], 2 if self.fused[k] else 0), []).append(k)
        steps = [((level, 1), group, True) for level, group in self.groups]
        steps += [(place, some, False) for place, some in host.items()]
        steps.sort(key=lambda step: step[0])
        return [part_of(self.program, eqns, fusible, self.users) for _, eqns, fusible in steps]


def part_of(
    program: Program,
    eqns: list[int],
    fusible: bool,
    users: dict[int, list[int]],
    again: Container[int] = (),
) -> Part:
    """Return some equations as a part, with the literals that they read.

    `users` are those of each value; those in `again` are views that are looked at once more elsewhere, so
    that none of them is an output, and what they look at is.
    """
    base = len(program.inputs)
    inside = set(eqns)
    read = dict.fromkeys(i for k in eqns for i in program.eqns[k - base].ins if i not in inside)
    fills = [i for i in read if i >= base and is_literal(program.eqns[i - base])]
    inputs = tuple(i for i in read if i not in fills)
    needed = [
        k
        for k in eqns
        if k not in again
        and (k in program.outputs or any(u not in inside or u in again for u in users.get(k, ())))
    ]
    order = (*fills, *eqns)
    number = {v: n for n, v in enumerate((*inputs, *order))}
    body = [program.eqns[k - base] for k in order]
    return Part(
        Program(
            tuple(program.aval(i) for i in inputs),
            tuple(e._replace(ins=tuple(number[i] for i in e.ins)) for e in body),
            tuple(number[k] for k in needed),
        ),
        inputs,
        tuple(needed),
        order,
        fusible,
    )


def merge(program: Program, some: list[Part]) -> Part:
    """Return parts that follow each other as one, which is not for MAX; one alone as it is."""
    if len(some) == 1:
        return some[0]
    eqns = {k for part in some for k in part.eqns if not is_literal(program.eqns[k - len(program.inputs)])}
    return part_of(program, sorted(eqns), False, users_of(program))


def parts(program: Program, everything: bool = False, accelerator: bool = False) -> tuple[Part, ...]:
    """Return the parts of a program in order.

    `everything`: also what MAX can do, but not faster; `accelerator`: what it can do there.
    """
    return tuple(_Grouping(program, everything, accelerator).parts())
