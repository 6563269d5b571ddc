"""Reductions of rows for MAX: what our kernels for them can take together, and what they compute again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..graph.primitive import Primitive
from .canonical import CanonicalEqn, CanonicalProgram, Size

# Operations that are done again for a reduction: of more, their result is better kept.
_MOST = 8


class Rows:
    """The equations of a program, with the reductions of rows that are not lowered by themselves."""

    def __init__(self, program: CanonicalProgram, primitives: dict[str, Primitive]) -> None:
        self.base = len(program.inputs)
        self.eqns = program.eqns
        self.shapes = program.shapes()
        self.fused = {name for name, p in primitives.items() if p.kind in ("elementwise", "broadcast")}
        self.reducible = {name for name, p in primitives.items() if p.row_kernel}
        self.users = program.users()
        # Sums of squares about the means of rows, as variances have them, each with the value whose rows they
        # are of. As operations they are two sums, the second over all rows after the first.
        self.spreads: dict[int, int] = {}
        # Other reductions, each with the operations before it, in order, where somebody else needs these too.
        # What is made of several arrays MAX then stores, and reads; to compute it again is faster.
        self.again: dict[int, list[int]] = {}
        if program.target:  # our kernels are for CPUs
            return
        for v, eqn in enumerate(program.eqns, self.base):
            if self._is_of_rows(eqn):
                x = self._spread_out(eqn)
                chain = self._chain(v, eqn.ins[0])
                if x is not None:
                    self.spreads[v] = x
                elif chain:
                    self.again[v] = chain

    def lower(self, v: int, b: Any, env: Sequence[Any] | Mapping[int, Any]) -> Any:
        """Return the tensor of a value; `env` holds those of the values before."""
        eqn = self.eqns[v - self.base]
        if v in self.spreads:
            x = self.spreads[v]
            return b.ops.reshape(b.rows("spread", b.whole(env[x], self.shapes[x])), b.shape(eqn.shape))
        if v in self.again:
            env = self._again(v, b, env)
        return b.lower(eqn, [b.whole(env[i], self.shapes[i], eqn) for i in eqn.ins])

    def _again(self, end: int, b: Any, env: Sequence[Any] | Mapping[int, Any]) -> dict[int, Any]:
        """Return the operand of a reduction, computed for it alone, and what that is made of."""
        chain = self.again[end]
        leaves = {i for v in chain for i in self.eqns[v - self.base].ins} - {*chain}
        # MAX joins what it finds twice, but not where our kernel has taken the operands through its hands.
        here = {i: b.custom("nabla.again", env[i]) if env[i].rank else env[i] for i in sorted(leaves)}
        for v in chain:
            here[v] = self.lower(v, b, here)
        return here

    def _is_of_rows(self, eqn: CanonicalEqn) -> bool:
        """Say whether an equation reduces the last axis alone, which is long."""
        if eqn.prim not in self.reducible:
            return False
        shape = self.shapes[eqn.ins[0]]
        return eqn.params["axes"] == (len(shape) - 1,) and isinstance(shape[-1], str)

    def _chain(self, end: int, x: int) -> list[int]:
        """Return what is fused with the reduction `end` of `x`, if it is to be computed again."""
        chain: set[int] = set()
        leaves: set[int] = set()
        todo = [x]
        while todo:
            v = todo.pop()
            eqn = self._made_by(v, *self.fused)
            if eqn is None:
                leaves.add(v)
            elif v not in chain:
                chain.add(v)
                todo += eqn.ins
        is_shared = any(self.users[v] - chain - {end} for v in chain)
        arrays = sum(self.shapes[v] != () for v in leaves)
        return sorted(chain) if is_shared and arrays > 1 and len(chain) <= _MOST else []

    def _spread_out(self, eqn: CanonicalEqn) -> int | None:
        """Return the `x` of a reduction that is sum((x - mean(x))^2)."""
        square = self._made_by(eqn.ins[0], "square", "mul")
        if eqn.prim != "reduce_sum" or eqn.dtype.kind != "f" or square is None or len({*square.ins}) > 1:
            return None
        difference = self._made_by(square.ins[0], "sub")
        if difference is None:
            return None
        x, mean = difference.ins
        return x if self._is_mean(mean, x) else None

    def _is_mean(self, v: int, x: int) -> bool:
        """Say whether a value is the mean of each row of `x`, repeated along these."""
        *lead, n = self.shapes[x]
        repeated = self._made_by(v, "broadcast")
        if repeated is None:
            return False
        (mean,) = repeated.ins
        places = zip(repeated.params["axes"], self.shapes[mean], strict=True)
        if [at for at in places if at[1] != 1] != [at for at in enumerate(lead) if at[1] != 1]:
            return False
        quotient = self._made_by(self._reshaped(mean), "div")
        if quotient is None:
            return False
        total, count = [self._reshaped(i) for i in quotient.ins]
        sums, size = self._made_by(total, "reduce_sum"), self._made_by(count, "fill")
        if sums is None or size is None or sums.ins != (x,) or not self._is_of_rows(sums):
            return False
        value = size.params["value"]
        return isinstance(value, Size) and (value.name, value.less) == (n, 0)

    def _made_by(self, v: int, *prims: str) -> CanonicalEqn | None:
        """Return the equation of a value, if it is of one of these primitives."""
        eqn = self.eqns[v - self.base] if v >= self.base else None
        return eqn if eqn is not None and eqn.prim in prims else None

    def _reshaped(self, v: int) -> int:
        """Return the value that this one is but for axes of size 1."""
        eqn = self._made_by(v, "reshape")
        if eqn is None:
            return v
        before, after = ([n for n in shape if n != 1] for shape in (self.shapes[eqn.ins[0]], eqn.shape))
        return self._reshaped(eqn.ins[0]) if before == after else v
