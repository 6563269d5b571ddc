"""Constants are NumPy's."""

import numpy as np
import pytest

import nabla_array as xp


@pytest.mark.parametrize("name", ["e", "inf", "nan", "newaxis", "pi"])
def test_constants_are_numpys(name: str) -> None:
    np.testing.assert_equal(getattr(xp, name), getattr(np, name))
    assert type(getattr(xp, name)) is type(getattr(np, name))
