"""Numbers and operations as people read them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from .._lazy.graph.aval import Aval
from .._lazy.graph.program import Eqn, Program, params_told


def nbytes(aval: Any) -> int:
    """Return the bytes of a value, or of the several that one operation gives."""
    return aval.nbytes if isinstance(aval, Aval) else sum(a.nbytes for a in aval)


def bytes_text(n: int) -> str:
    """Return a number of bytes in decimal units, in three digits."""
    size, unit = float(n), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 999.5 or unit == "TB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"


def count_text(n: int, noun: str) -> str:
    """Return `n` things."""
    return f"{n} {noun}" + ("" if n == 1 else "s")


def call_text(eqn: Eqn, names: Sequence[str]) -> str:
    """Return an operation as a call on inputs of these names."""
    given = ", ".join([*names, *params_told(eqn.params)])
    return f"{eqn.prim.name}({given})"


def sources(program: Program, number: int, shown: Container[int]) -> list[int]:
    """Return what an operation reads; in place of a value that is not `shown`, what that comes from."""
    base = len(program.inputs)
    out: list[int] = []
    for i in program.eqns[number - base].ins:
        out += [i] if i < base or i in shown else sources(program, i, shown)
    return out
