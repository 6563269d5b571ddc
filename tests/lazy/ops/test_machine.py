"""The rules of machine code against the host's functions, on the rows of `registry.py`."""

from __future__ import annotations

import numpy as np
import pytest

from nabla_array._lazy.cpu.kernels import Unfit

from ..cpu.test_loops import of_row
from ..cpu.test_machine import check, sums
from ..registry import ROWS, Row

# What is NumPy's for some plain dtypes; and to the last digits.
LEFT = ("cast", "floor_divide", "matmul", "round", "switch")
ROUNDED = ("cholesky", "inv", "solve")


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_primitive(row: Row) -> None:
    program = of_row(row)
    try:
        check(program, row.inputs, not sums(program) and row.prim.name not in ROUNDED)
    except Unfit:
        # Where the record has a rule, that of another dtype, or of params that machine code is not for.
        avals = [*program.inputs, *[a for e in program.eqns for a in np.atleast_1d(np.array(e.aval, object))]]
        is_plain = all(a.dtype.kind in "biu" or a.dtype.char in "fd" for a in avals)
        assert row.prim.llvm is None or not is_plain or row.prim.name in LEFT
