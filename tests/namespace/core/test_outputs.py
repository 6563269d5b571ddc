"""``out=``: what is written, in which dtype, and what is refused, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import nabla_array as xp

from ..numpy.comparing import compare

CALLS = """
z = np.zeros((2, 3)); np.add(x, 1, out=z) is z
z = np.zeros((2, 3)); np.add(x, 1, z); z
z = np.zeros((2, 3), np.float32); np.multiply(x, x, out=z); z
z = np.zeros((2, 3), int); np.add(x, 1, out=z)
z = np.zeros((2, 3), int); np.add(x, 1, out=z, casting="unsafe"); z
z = np.zeros((3, 3)); np.add(x, 1, out=z)
z = np.zeros((2, 2, 3)); np.add(x, 1, out=z); z
z = np.zeros((4, 3)); np.add(x, 1, out=z[1:3]); z
z = np.zeros((2, 3)); np.add(x, z, out=z); z
z = np.zeros(3); np.sum(x, axis=0, out=z); z
z = np.zeros(2); np.sum(x, axis=0, out=z)
z = np.zeros(3); np.cumsum(x, axis=1, out=x); x
z = np.zeros((2, 3)); np.add(x, 1, out=(z,)); z
np.add(x, 1, out=3)
np.add(x, x, out=x.T)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)


def test_views_of_what_is_written_see_it() -> None:
    z = xp.zeros((2, 3))
    row = z[1]
    xp.add(xp.ones((2, 3)), 1, out=z)
    np.testing.assert_array_equal(np.asarray(row), [2.0, 2.0, 2.0])
