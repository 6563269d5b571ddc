"""What the namespace says of itself."""

import numpy as np
import pytest

import nabla_array as xp

from ..strategies import ALL, FLOATS, INTEGERS

INFO = xp.__array_namespace_info__()


def test_devices():
    assert INFO.default_device() in INFO.devices()
    assert xp.asarray(1).device in INFO.devices()


def test_capabilities():
    wanted = {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert INFO.capabilities() == wanted


def test_default_dtypes_are_what_functions_give():
    found = INFO.default_dtypes(device="cpu")
    assert found["integral"] == xp.asarray(1).dtype
    assert found["real floating"] == xp.asarray(1.0).dtype
    assert found["complex floating"] == xp.asarray(1j).dtype
    assert found["indexing"] == xp.argmax(xp.asarray([1])).dtype


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (None, ALL),
        ("integral", INTEGERS),
        ("numeric", (*INTEGERS, *FLOATS)),
        (("bool", "complex floating"), ("bool", "complex64", "complex128")),
    ],
)
def test_dtypes(kind, names):
    assert INFO.dtypes(kind=kind) == {name: np.dtype(name) for name in names}


def test_unknown_device():
    with pytest.raises(ValueError, match=r"^dtypes: no device 'gpu'; 'cpu' would work"):
        INFO.dtypes(device="gpu")


def test_constants():
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (np.e, np.pi, np.inf, None)
    assert xp.nan != xp.nan
