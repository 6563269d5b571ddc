"""The pass that leaves out of a program what need not be done again each time that it runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..graph.aval import LARGE, Aval
from ..graph.program import Eqn, Program, is_literal


def folded(program: Program, constants: Mapping[int, np.ndarray]) -> tuple[Program, list[np.ndarray]]:
    """Compute what depends on nothing but constants, and leave out what changes nothing or nobody needs.

    Parameters
    ----------
    constants
        The values of some inputs, by their numbers.

    Returns
    -------
    program, values
        A program whose inputs are the others, then those with these values.
    """
    return _Folder(program, constants).folded()


class _Folder:
    """Folds one program.

    Attributes
    ----------
    known
        The values that are known now.
    same
        Values that another one equals, by its number.
    """

    def __init__(self, program: Program, constants: Mapping[int, np.ndarray]) -> None:
        self.program = program
        self.base = len(program.inputs)
        self.given = [i for i in range(self.base) if i not in constants]
        self.known: dict[int, np.ndarray] = dict(constants)
        self.same: dict[int, int] = {}
        self.eqns: dict[int, Eqn] = {}
        for k, eqn in enumerate(program.eqns, self.base):
            eqn = eqn._replace(ins=tuple([self.same.get(i, i) for i in eqn.ins]))
            found = self._equal(eqn)
            if found is not None:
                self.same[k] = found
            elif is_literal(eqn) or not self._fold(k, eqn):
                self.eqns[k] = eqn

    def _value(self, i: int) -> np.ndarray | None:
        """Return a value that is known, also that of a literal."""
        eqn = self.eqns.get(i)
        if eqn is not None and is_literal(eqn):
            return np.asarray(eqn.prim.host(**dict(eqn.params)))
        return self.known.get(i)

    def _fold(self, k: int, eqn: Eqn) -> bool:
        if not isinstance(eqn.aval, Aval) or eqn.aval.nbytes >= LARGE:
            return False
        ins = [self._value(i) for i in eqn.ins]
        if any([x is None for x in ins]):
            return False
        try:
            with np.errstate(all="raise"):
                self.known[k] = np.asarray(eqn.prim.host(*ins, **dict(eqn.params)))
        except (ArithmeticError, IndexError, ValueError):  # to be raised, or told of, whenever it runs
            return False
        return True

    def _equal(self, eqn: Eqn) -> int | None:
        """Return the number of the operand that the result equals, where it does."""
        if eqn.prim.keeps_order and self.program.aval(eqn.ins[0]) is eqn.aval:
            return eqn.ins[0]
        for i, unit, other in zip(eqn.ins, eqn.prim.units, eqn.ins[::-1], strict=False):
            value = self._value(i) if unit is not None and eqn.aval.dtype.kind in "fiu" else None
            if value is not None and value.size and _is_all(value, eqn.aval.dtype.type(unit)):
                return other
        return None

    def folded(self) -> tuple[Program, list[np.ndarray]]:
        outputs = [self.same.get(k, k) for k in self.program.outputs]
        used = {*outputs}
        for k in reversed(self.eqns):
            if k in used:
                used.update(self.eqns[k].ins)
        values = {i: x for i, x in self.known.items() if i in used}
        eqns = {k: eqn for k, eqn in self.eqns.items() if k in used}
        number = {i: n for n, i in enumerate([*self.given, *values, *eqns])}
        inputs = tuple([self.program.aval(i) for i in (*self.given, *values)])
        made = [e._replace(ins=tuple([number[i] for i in e.ins])) for e in eqns.values()]
        return Program(inputs, tuple(made), tuple([number[k] for k in outputs])), list(values.values())


def _is_all(value: np.ndarray, element: np.generic) -> bool:
    if value.dtype != element.dtype or value.flat[0] != element:
        return False
    return not any(value.strides) or bool((value == element).all())
