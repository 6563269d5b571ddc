"""The rules of machine code against the host's functions, on the rows of `registry.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nabla_array._lazy.cpu.kernels import Unfit
from nabla_array._lazy.cpu.machine import Machine
from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops import elementwise, indexing, linalg, reduction
from nabla_array._lazy.ops.contraction import matmul

from ..cpu.test_loops import of_eqns, of_row
from ..cpu.test_machine import check, scanned
from ..registry import ROWS, Row, each

pytestmark = pytest.mark.skipif(compiled is None, reason="machine code calls the compiled module")

# What is NumPy's for some plain dtypes, or where there is no loop.
LEFT = ("cast", "cholesky", "floor_divide", "inv", "matmul", "round", "solve")


@each(ROWS)
def test_every_primitive(row: Row) -> None:
    program = of_row(row)
    try:
        check(program, row.inputs)
    except Unfit:
        # Where the record has a rule, that of another dtype, or of params that machine code is not for.
        avals = [*program.inputs, *[a for e in program.eqns for a in np.atleast_1d(np.array(e.aval, object))]]
        is_plain = all(a.dtype.kind in "biu" or a.dtype.char in "fd" for a in avals)
        assert row.prim.llvm is None or not is_plain or row.prim.name in LEFT


def in_a_loop(prim: Any, inputs: list[np.ndarray], **params: Any) -> np.ndarray | None:
    """Do an operation in a loop of one step, where results may differ in their last digits."""
    avals = [aval_of_value(x) for x in inputs]
    body = of_eqns(inputs, (prim, tuple(range(len(inputs))), params))
    machine = Machine(scanned(body, avals, 0, (), (0,), 1, False))
    found = machine.run(inputs)
    return None if found is None else found[0][0][0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "lead"),
    [(1, (3,)), (2, (3,)), (2, (0,)), (3, (2,)), (5, ()), (5, (0,)), (5, (2, 3)), (6, ()), (8, (20,))],
)
def test_matrices(n: int, lead: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(n)
    a, b = (rng.standard_normal((*lead, n, m)).astype(dtype) for m in (n, 3))
    definite = a @ np.swapaxes(a, -1, -2) + np.eye(n, dtype=dtype)
    tolerance: Any = {"rtol": 0, "atol": 1e-4 if dtype is np.float32 else 1e-11}
    np.testing.assert_allclose(in_a_loop(matmul, [a, b]), a @ b, **tolerance)
    np.testing.assert_allclose(
        in_a_loop(linalg.solve, [definite, b]), np.linalg.solve(definite, b), **tolerance
    )
    np.testing.assert_allclose(in_a_loop(linalg.inv, [definite]), np.linalg.inv(definite), **tolerance)
    for upper in (False, True):
        found = in_a_loop(linalg.cholesky, [definite], upper=upper)
        np.testing.assert_allclose(found, np.linalg.cholesky(definite, upper=upper), **tolerance)


def test_code_of_larger_matrices_stays_short() -> None:
    for lead in ((), (7,), (3, 50)):
        a = np.broadcast_to(np.eye(8), (*lead, 8, 8))
        body = of_eqns([a], (linalg.inv, (0,), {}))
        text = Machine(scanned(body, [aval_of_value(a)], 0, (), (0,), 1, False)).text
        assert text.count("\n") < 2000


def test_pivots() -> None:
    a = np.array([[0.0, 1e-20, 1.0], [1e-20, 1.0, 1.0], [5.0, 0.0, 1e20]])
    np.testing.assert_allclose(in_a_loop(linalg.inv, [a]), np.linalg.inv(a), rtol=1e-12)


def test_what_numpy_refuses_is_left_to_it() -> None:
    x = np.ones((2, 2))
    assert in_a_loop(linalg.inv, [x]) is None
    assert in_a_loop(linalg.solve, [x, x]) is None
    assert in_a_loop(linalg.cholesky, [-x], upper=False) is None
    assert in_a_loop(indexing.gather, [x, np.array(2)], axes=(0,), batch=0) is None
    assert in_a_loop(indexing.gather, [x, np.array(-2)], axes=(0,), batch=0) is not None


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_sums_are_numpys_to_the_bit(data: st.DataObject) -> None:
    most = data.draw(st.sampled_from([3, 9, 40]))
    shape = data.draw(st.lists(st.integers(1, most), min_size=1, max_size=3 if most == 40 else 4))
    axes = tuple(sorted(data.draw(st.sets(st.sampled_from(range(len(shape))), min_size=1))))
    x = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal(shape) * 1e3
    x = x.astype(data.draw(st.sampled_from([np.float32, np.float64])))
    for prim in (reduction.reduce_sum, reduction.reduce_prod):
        with np.errstate(all="ignore"):
            check(of_eqns([x], (elementwise.neg, (0,), {}), (prim, (1,), {"axes": axes})), [x])
            check(of_eqns([x], (prim, (0,), {"axes": axes})), [x])
