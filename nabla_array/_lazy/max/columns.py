"""Canonical programs with their shortest last axes taken apart, for MAX's loops.

These go along the last axis in vectors, which the coordinates of a point do not fill; so each coordinate
becomes an array of its own, as long as what is computed of them ends in reductions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..graph.primitive import Primitive
from .canonical import CanonicalEqn, CanonicalProgram

# Sizes of axes that are taken apart. Of more columns, there would be much to compile, and less to gain.
WIDTHS = (2, 3, 4)


def taken_apart(program: CanonicalProgram, primitives: dict[str, Primitive]) -> CanonicalProgram:
    """Return a program with the same results, which computes columns where that is faster."""
    return _Columns(program, primitives).program()


class _Columns:
    """Writes a program anew: `whole` and `parts` are where its values, and their columns, are now."""

    def __init__(self, program: CanonicalProgram, primitives: dict[str, Primitive]) -> None:
        self.old = program
        self.base = len(program.inputs)
        self.shapes = program.shapes()
        self.dtypes = [dtype for _, dtype in program.inputs] + [e.dtype for e in program.eqns]
        self.primitives = primitives
        # What joins two columns of a reduction.
        by_ufunc = {p.ufunc: name for name, p in primitives.items() if p.ufunc is not None}
        reductions = {name: p.reducer for name, p in primitives.items() if p.kind == "reduce"}
        self.joins = {name: by_ufunc[u] for name, u in reductions.items() if u in by_ufunc}
        self.eqns: list[CanonicalEqn] = []
        self.whole = {i: i for i in range(self.base)}
        self.parts: dict[int, list[int]] = {}

    def program(self) -> CanonicalProgram:
        split = self._split()
        for v, eqn in enumerate(self.old.eqns, self.base):
            if v in split:
                self.parts[v] = self._columns_of(eqn)
            elif self._is_reduction(eqn) and eqn.ins[0] in split:
                self._reduce(v, eqn)
            else:
                self.whole[v] = self._add(eqn._replace(ins=tuple(self._whole(i) for i in eqn.ins)))
        outputs = tuple(self._whole(i) for i in self.old.outputs)
        return self.old._replace(eqns=tuple(self.eqns), outputs=outputs)

    def _split(self) -> set[int]:
        """Return the values of which only columns are computed: others of them, and reductions, use them."""
        users = self.old.users()
        split: set[int] = set()
        for v, eqn in reversed([*enumerate(self.old.eqns, self.base)]):
            kind = self.primitives[eqn.prim].kind
            alike = kind == "broadcast" or (
                kind == "elementwise" and all(self.shapes[i] == eqn.shape for i in eqn.ins)
            )
            if (
                alike
                and len(eqn.shape) > 1
                and eqn.shape[-1] in WIDTHS
                and v in users
                and -1 not in users[v]
                and all(u in split or self._is_reduction(self.old.eqns[u - self.base]) for u in users[v])
            ):
                split.add(v)
        return split

    def _is_reduction(self, eqn: CanonicalEqn) -> bool:
        """Say whether columns can be reduced: each along other axes, or to each other."""
        if eqn.prim not in self.joins or eqn.dtype.kind == "b":
            return False
        last = len(self.shapes[eqn.ins[0]]) - 1
        return eqn.dtype == self.dtypes[eqn.ins[0]] and (
            last not in eqn.params["axes"] or eqn.params["axes"] == (last,)
        )

    def _columns_of(self, eqn: CanonicalEqn) -> list[int]:
        """Compute the columns of an equation's value."""
        n = eqn.shape[-1]
        assert isinstance(n, int)
        narrow = eqn._replace(shape=eqn.shape[:-1])
        if self.primitives[eqn.prim].kind != "broadcast":
            columns = zip(*[self._parts(i) for i in eqn.ins], strict=True)
            return [self._add(narrow._replace(ins=ins)) for ins in columns]
        (x,) = eqn.ins
        axes = eqn.params["axes"]
        if not axes or axes[-1] != len(eqn.shape) - 1:  # the last axis is a new one
            return [self._add(narrow._replace(ins=(self._whole(x),)))] * n
        narrow = narrow._replace(params={**eqn.params, "axes": axes[:-1]})
        columns_of_x = self._parts(x)
        if len(columns_of_x) == 1:
            return [self._add(narrow._replace(ins=(columns_of_x[0],)))] * n
        return [self._add(narrow._replace(ins=(i,))) for i in columns_of_x]

    def _reduce(self, v: int, eqn: CanonicalEqn) -> None:
        columns = self._parts(eqn.ins[0])
        if eqn.params["axes"] == (len(self.shapes[eqn.ins[0]]) - 1,):
            joined, *others = columns
            for i in others:
                joined = self._new(self.joins[eqn.prim], (joined, i), {}, v, eqn.shape)
            self.whole[v] = joined
        else:
            self.parts[v] = [self._add(eqn._replace(ins=(i,), shape=eqn.shape[:-1])) for i in columns]

    def _parts(self, v: int) -> list[int]:
        """Return the columns of a value, which are cut out of the whole where they are not there yet."""
        if v not in self.parts:
            *shape, n = self.shapes[v]
            assert isinstance(n, int)
            made = self.old.eqns[v - self.base] if v >= self.base else None
            if made is not None and self.primitives[made.prim].role == "literal":
                self.parts[v] = [self._add(made._replace(shape=tuple(shape)))] * n
            else:
                self.parts[v] = [self._column(v, shape, i, n) for i in range(n)]
        return self.parts[v]

    def _column(self, v: int, shape: list[str | int], i: int, n: int) -> int:
        x = self._whole(v)
        if n > 1:
            others = (0,) * len(shape)
            params = {"start": (*others, i), "size": (*others, n - 1 - i), "step": (1,) * (len(shape) + 1)}
            x = self._new("slice", (x,), params, v, (*shape, 1))
        return self._new("reshape", (x,), {"shape": None}, v, shape)

    def _whole(self, v: int) -> int:
        """Return where a value is, which is put together where only its columns are there."""
        if v not in self.whole:
            *shape, _ = self.shapes[v]
            columns = [self._new("reshape", (i,), {"shape": None}, v, (*shape, 1)) for i in self.parts[v]]
            self.whole[v] = self._new("concat", tuple(columns), {"axis": len(shape)}, v, self.shapes[v])
        return self.whole[v]

    def _new(
        self, prim: str, ins: tuple[int, ...], params: dict[str, Any], v: int, shape: Iterable[str | int]
    ) -> int:
        """Add an equation whose value has the dtype of the old value `v`."""
        return self._add(CanonicalEqn(prim, ins, params, tuple(shape), self.dtypes[v]))

    def _add(self, eqn: CanonicalEqn) -> int:
        self.eqns.append(eqn)
        return self.base + len(self.eqns) - 1
