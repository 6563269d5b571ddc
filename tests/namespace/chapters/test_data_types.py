"""Functions about dtypes, and what they refuse."""

import itertools

import numpy as np
import pytest

import nabla_array as xp

from ..strategies import ALL, FLOATS, INTEGERS, same


@pytest.mark.parametrize("name", ALL)
def test_dtypes_are_numpys(name):
    assert getattr(xp, name) is getattr(np, name)


@pytest.mark.parametrize(("old", "new"), list(itertools.product(ALL, ALL)))
def test_astype(old, new):
    x = np.array([0, 1, 3]).astype(old)
    if x.dtype.kind == "c" and np.dtype(new).kind in "iuf":
        with pytest.raises(TypeError, match=rf"^astype: {old} does not fit into {new}; real\(x\)"):
            xp.astype(xp.asarray(x), new)
    else:
        same(xp.astype(xp.asarray(x), getattr(xp, new)), x.astype(new))


def test_astype_copies_unless_told():
    x = xp.asarray([1.0])
    assert xp.astype(x, xp.float64, copy=False) is x
    y = xp.astype(x, xp.float64)
    y += 1
    same(x, [1.0])


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_astype_refuses():
    with pytest.raises(ValueError, match=r"^astype: no device 'gpu'"):
        xp.astype(xp.asarray(1), xp.int8, device="gpu")
    with pytest.raises(TypeError, match=r"^astype: no arrays of dtype"):
        xp.astype(xp.asarray(1), "U3", device="cpu")
    with pytest.raises(ValueError, match="invalid literal for int"):
        xp.astype(np.asarray(["one"]), xp.int64)


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_astype_of_text_is_numpys():
    text = np.asarray(["1", "-22"])
    numbers = xp.astype(text, xp.int16)
    assert isinstance(numbers, xp.Array)
    same(numbers, text.astype(np.int16))
    np.testing.assert_array_equal(xp.astype(numbers, "U3"), text)
    np.testing.assert_array_equal(xp.astype(text, "U8"), text.astype("U8"), strict=True)


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_text_has_no_device():
    assert isinstance(xp.asarray(["a"]), np.ndarray)
    with pytest.raises(TypeError, match="asarray: no arrays of dtype <U1"):
        xp.asarray(["a"], device="cpu")


@pytest.mark.parametrize(("a", "b"), list(itertools.product(ALL, ALL)))
def test_promotion(a, b):
    assert xp.result_type(getattr(xp, a), xp.asarray(1, dtype=b)) == np.result_type(a, b)
    assert xp.can_cast(a, b) == xp.can_cast(xp.asarray(1, dtype=a), b) == np.can_cast(a, b)


def test_python_scalars_are_weak():
    x = xp.asarray([1], dtype=xp.float32)
    assert xp.result_type(x, 2.0) == xp.result_type(1, x) == xp.float32
    assert xp.result_type(x, 1j) == xp.complex64
    with pytest.raises(ValueError, match=r"^result_type: at least one"):
        xp.result_type()


@pytest.mark.parametrize("name", FLOATS)
def test_finfo(name):
    wanted = np.finfo(name)
    for given in (name, getattr(xp, name), np.dtype(name), xp.asarray(1, dtype=name)):
        info = xp.finfo(given)
        assert info.dtype == wanted.dtype
        assert info.bits == wanted.bits
        for field in ("eps", "max", "min", "smallest_normal", "tiny", "resolution", "smallest_subnormal"):
            assert type(getattr(info, field)) is float
            assert getattr(info, field) == float(getattr(wanted, field))
        assert (info.precision, info.nmant) == (wanted.precision, wanted.nmant)
        assert (str(info), repr(info)) == (str(wanted), repr(wanted))


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(name):
    wanted = np.iinfo(name)
    for given in (name, getattr(xp, name), np.dtype(name), xp.asarray(1, dtype=name)):
        info = xp.iinfo(given)
        assert (info.bits, info.max, info.min, info.dtype) == (
            wanted.bits,
            wanted.max,
            wanted.min,
            wanted.dtype,
        )
        assert type(info.max) is type(info.min) is int


def test_limits_of_numbers():
    assert xp.finfo(1.0).dtype == xp.finfo(1j).dtype == xp.float64
    assert xp.iinfo(5).max == np.iinfo(5).max


def test_limits_of_the_other_kind():
    with pytest.raises(ValueError, match=r"^finfo: int64 is no floating-point dtype"):
        xp.finfo(xp.int64)
    with pytest.raises(ValueError, match=r"^iinfo: float32 is no integer dtype"):
        xp.iinfo(xp.float32)


KINDS = (
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
)


@pytest.mark.parametrize("name", ALL)
def test_isdtype(name):
    dtype = getattr(xp, name)
    for kind in (*KINDS, *itertools.combinations(KINDS, 2), xp.float32, (xp.int8, "bool")):
        assert xp.isdtype(dtype, kind) is np.isdtype(np.dtype(name), kind)


def test_isdtype_refuses():
    with pytest.raises(ValueError, match=r"^isdtype: no kind 'real'; 'bool', "):
        xp.isdtype(xp.int8, "real")
