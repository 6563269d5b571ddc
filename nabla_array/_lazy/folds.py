"""Sums of long rows of floats in 32 bits, folded for MAX.

Its loop adds one vector of doubles at a time to the one before, and waits for each addition. So the row is
folded: what its quarters hold is added first, elementwise. A slice of what MAX computes would be computed
twice and stored, so the operations before the sum are each done for every quarter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .canonical import CanonicalEqn, CanonicalProgram
from .primitive import Primitive

FOLDS = 4
# Operations before a sum that are written once for each quarter, and for what these leave over.
_MOST = 8


class Folds:
    """The sums of a program that are folded, and the values that end in these alone."""

    def __init__(self, program: CanonicalProgram, primitives: dict[str, Primitive]) -> None:
        self.program = program
        self.base = len(program.inputs)
        self.shapes = [shape for shape, _ in program.inputs] + [e.shape for e in program.eqns]
        self.pointwise = {name for name, p in primitives.items() if p.kind == "elementwise"}
        self.users: dict[int, list[int]] = {}
        for v, eqn in enumerate(program.eqns, self.base):
            for i in eqn.ins:
                self.users.setdefault(i, []).append(v)
        # Of each sum, what is computed for its quarters, in order.
        self.chains: dict[int, list[int]] = {}
        for v, eqn in enumerate(program.eqns, self.base):
            if not program.target and self._is_long_sum(eqn):
                chain = self._chain(v, eqn.ins[0])
                if chain is not None:
                    self.chains[v] = chain

    def _is_long_sum(self, eqn: CanonicalEqn) -> bool:
        if eqn.prim != "reduce_sum" or eqn.dtype != np.float32:
            return False
        shape = self.shapes[eqn.ins[0]]
        return eqn.params["axes"] == (len(shape) - 1,) and isinstance(shape[-1], str)

    def _chain(self, end: int, x: int) -> list[int] | None:
        """Return what is computed before the sum `end` of `x`; None if more than that needs it."""
        chain: set[int] = set()
        todo = [x]
        while todo:
            v = todo.pop()
            if v in chain or self._is_leaf(v):
                continue
            eqn = self.program.eqns[v - self.base]
            if eqn.prim not in self.pointwise and eqn.prim != "broadcast":
                return None
            chain.add(v)
            if not self._repeats(eqn):
                todo.extend(eqn.ins)
        alone = all({*self.users[v]} <= {*chain, end} and v not in self.program.outputs for v in chain)
        return sorted(chain) if alone and len(chain) <= _MOST else None

    def _is_leaf(self, v: int) -> bool:
        return v < self.base or self.program.eqns[v - self.base].prim == "fill"

    def _repeats(self, eqn: CanonicalEqn) -> bool:
        """Say whether an equation repeats its operand along the last axis."""
        if eqn.prim != "broadcast":
            return False
        last, axes = len(eqn.shape) - 1, eqn.params["axes"]
        return last not in axes or self.shapes[eqn.ins[0]][-1] != eqn.shape[-1]

    def lower(self, v: int, b: Any, env: list[Any]) -> Any:
        """Return the tensor of a sum; `env` holds those of the values before."""
        eqn = self.program.eqns[v - self.base]
        n = b.dim(self.shapes[eqn.ins[0]][-1])
        part = n // FOLDS
        parts = [self._quarter(v, b, env, i * part, (i + 1) * part) for i in range(FOLDS)]
        while len(parts) > 1:
            parts = [b.custom("nabla.add", x, y) for x, y in zip(parts[::2], parts[1::2], strict=True)]
        sums = [b.ops.sum(x, axis=-1) for x in (*parts, self._quarter(v, b, env, FOLDS * part, n))]
        return b.ops.reshape(b.cast(b.custom("nabla.add", *sums), eqn.dtype), b.shape(eqn.shape))

    def _quarter(self, end: int, b: Any, env: list[Any], start: Any, stop: Any) -> Any:
        """Return what is summed of the columns `start` to `stop`, in 64 bits."""
        cut: dict[int, Any] = {}

        def columns(i: int) -> Any:
            if i not in cut:
                cut[i] = env[i] if env[i].rank == 0 else b.columns(env[i], start, stop)
            return cut[i]

        for v in self.chains[end]:
            eqn = self.program.eqns[v - self.base]
            if self._repeats(eqn):
                xs = [b.whole(env[i], self.shapes[i]) for i in eqn.ins]
            else:
                xs = [b.whole(columns(i), (*self.shapes[i][:-1], stop - start), eqn) for i in eqn.ins]
            cut[v] = b.lower(eqn._replace(shape=(*eqn.shape[:-1], stop - start)), xs)
        return b.cast(columns(self.program.eqns[end - self.base].ins[0]), np.float64)
