"""Ufuncs are NumPy's: attributes, methods, keywords, and exceptions."""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.native import compiled
from nabla_array._namespace.dispatch import eager

from ..numpy.comparing import compare, data, ours, outcome, same

UFUNCS = {f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}
PLAIN = sorted(name for name, f in UFUNCS.items() if f.signature is None and name != "isnat")
MANY = [name for name in PLAIN if UFUNCS[name].nin == 2 and UFUNCS[name].nout == 1]
ATTRIBUTES = ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature", "__name__")

UNARY = """
{f}(x)
{f}(f)
{f}(i)
{f}(u)
{f}(b)
{f}(c)
{f}(n)
{f}(s)
{f}(e)
{f}([1, 2])
{f}(2)
{f}(True)
{f}(x, foo=1)
{f}(x, out=3)
{f}(x, out=np.zeros(5))
{f}(x, x, x, x)
{f}(x, casting="no")
{f}(i, dtype=np.float32)
{f}(x, dtype=int)
{f}.reduce(x)
{f}.accumulate(x)
{f}.outer(x, x)
{f}.reduceat(x, [0])
{f}.at(v, [0, 1]); v
{f}.at(v, [0, 1], 2)
"""
ONE_RESULT = """
o = np.zeros((2, 3)); ({f}(i, out=o), o)
o = np.zeros((2, 3)); ({f}(i, o), o)
o = np.zeros((2, 3), np.int8); ({f}(i, out=(o,)), o)
o = np.ones((2, 3)); {f}(x, out=o, where=b)
{f}(x, dtype=int, casting="unsafe")
"""
TWO_RESULTS = """
o = np.zeros((2, 3)); ({f}(i, out=(o, None)), o)
{f}(x, out=np.zeros((2, 3)))
"""
BINARY = """
{f}(x, x)
{f}(i, i)
{f}(x, i)
{f}(u, u)
{f}(b, b)
{f}(c, c)
{f}(f, x)
{f}(n, n)
{f}(s, s)
{f}(e, e)
{f}(v, k)
{f}(x, 2)
{f}(2, i)
{f}(u, 300)
{f}(2, 3)
{f}([1, 2], [3, 4])
{f}(x, v)
{f}(x)
{f}.outer(v, k)
{f}.outer(i, 2)
{f}.outer(k, k, dtype=float)
o = np.zeros((2, 3)); ({f}(i, i, out=o), o)
o = np.ones((2, 3)); {f}(x, i, out=o, where=b)
o = np.ones((2, 3), int); {f}(x, i, out=o)
{f}(i, i, dtype=np.float32)
{f}(x, x, dtype=int)
"""
METHODS = """
{f}.reduce({a})
{f}.reduce({a}, axis=None)
{f}.reduce({a}, axis=1)
{f}.reduce({a}, axis=-1, keepdims=True)
{f}.reduce({a}, axis=(0, 1))
{f}.reduce({a}, axis=())
{f}.reduce({a}, initial=2)
{f}.reduce({a}, initial=None)
{f}.reduce({a}, where=b)
{f}.reduce({a}, where=b, initial=1)
{f}.reduce({a}, dtype=float)
{f}.reduce({a}, dtype=int)
{f}.reduce({a}, axis=5)
{f}.reduce({a}, axis=(0, 0))
{f}.reduce({a}, axis="a")
{f}.reduce({a}, foo=1)
{f}.reduce({a}, 0, None, None, True)
o = np.zeros(3); ({f}.reduce({a}, out=(o,)), o)
o = np.zeros(3); ({f}.reduce({a}, 0, None, o), o)
{f}.reduce({a}, out=np.zeros(7))
{f}.accumulate({a})
{f}.accumulate({a}, axis=-1)
{f}.accumulate({a}, axis=3)
{f}.accumulate({a}, axis=None)
{f}.accumulate({a}, dtype=float)
{f}.reduceat({a}, [0, 1])
{f}.reduceat({a}, [1, 0])
{f}.reduceat({a}, [0, 2, 1], axis=-1)
{f}.reduceat({a}, [0, 9])
{f}.reduceat({a}, [0], dtype=float)
{f}.at({a}, [0, 0], 2); {a}
{f}.at({a}, 0, {a}[0]); {a}
{f}.at({a}, [9], 2)
{f}.at({a}, [0])
{f}.at({a}, (0, 0), 1.5); {a}
{f}.at({a}, {a} > 1, 1); {a}
"""
# The standard's results for infinities differ from NumPy's; and where a mask is false nobody should look.
DIFFERENT = (
    *(f"np.floor_divide.{m}" for m in ("reduce(i, dtype=float", "accumulate(i, dtype=float")),
    "np.power.reduce(i, where=b",
    # NumPy 2.4 passes over numbers of contiguous rows, and compiled code asks it.
    *(f"np.{name}.reduce({a}, axis={k}" for name in ("power", "arctan2") for a in "xif" for k in (1, -1)),
)


def calls_of(name: str) -> list[str]:
    ufunc = UFUNCS[name]
    table = BINARY if ufunc.nin == 2 else UNARY + (ONE_RESULT if ufunc.nout == 1 else TWO_RESULTS)
    calls = table.format(f=f"np.{name}").split("\n")
    if name in MANY:
        calls += [c for a in "xibf" for c in METHODS.format(f=f"np.{name}", a=a).split("\n")]
    return [c for c in calls if c and not c.startswith(DIFFERENT)]


@pytest.mark.parametrize("name", sorted({n for n, f in vars(np).items() if isinstance(f, np.ufunc)}))
def test_a_ufunc_has_the_attributes_of_numpys(name: str) -> None:
    mine, theirs = getattr(xp, name), getattr(np, name)
    assert isinstance(mine, xp.ufunc)
    assert {k: getattr(mine, k) for k in ATTRIBUTES} == {k: getattr(theirs, k) for k in ATTRIBUTES}
    for method in ("reduce", "accumulate", "reduceat", "outer", "at", "resolve_dtypes"):
        assert callable(getattr(mine, method))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_a_ufunc_does_what_numpys_does(name: str) -> None:
    for call in calls_of(name):
        compare(call, host=True)


@pytest.mark.parametrize("name", MANY)
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_methods_that_do_not_ask_numpys_do_what_those_do(name: str) -> None:
    with patch.object(eager, "numpys", return_value=None):
        for call in calls_of(name):
            compare(call, host=True)


MATRICES = """
np.matmul(t, t, axes=[(0, 1), (1, 0), (0, 1)])
np.matmul(t, t, axes=[(0, 1), (1, 0)])
np.matmul(x, x.T, axes=[(0, 1), (0, 1), (1, 0)])
np.matmul(x, x.T, out=np.zeros((2, 2)))
np.matmul(x, x.T, dtype=np.float32)
np.matmul(x, x.T, axis=0)
np.matmul(x, x.T, axes=3)
np.matmul(x, x.T, foo=3)
np.vecdot(x, x, axis=0)
np.vecdot(x, x, keepdims=True)
np.vecdot(x, x, axes=[0, 0])
np.vecdot(c, c, axis=0, keepdims=True)
np.matvec(x, x[0])
np.matvec(x, x[:, 0], axes=[(1, 0), 0, 0])
np.vecmat(x[:, 0], x)
np.vecmat(x[:, 0], x, out=np.zeros(3))
np.matmul.reduce(x)
np.matmul.accumulate(x)
np.matmul.outer(x, x)
np.matmul.at(x, 0, 1)
np.matmul.reduceat(x, [0])
"""


@pytest.mark.parametrize("call", MATRICES.strip().splitlines())
def test_a_ufunc_of_matrices_does_what_numpys_does(call: str) -> None:
    compare(call)


@pytest.mark.parametrize("n", [1001, 1500])
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_long_chains(n: int) -> None:
    x = np.linspace(1, 2, n)
    for method, ufunc in itertools.product(("reduce", "accumulate"), (np.divide, np.arctan2, np.hypot)):
        mine = getattr(getattr(xp, ufunc.__name__), method)(xp.asarray(x))
        np.testing.assert_allclose(np.asarray(mine), getattr(ufunc, method)(x), rtol=1e-12)


def test_what_a_mask_leaves_out_has_no_derivative() -> None:
    from nabla_array.transforms import grad

    def inverse(x: xp.Array) -> xp.Array:
        return xp.sum(xp.divide(1.0, x, out=xp.zeros(3), where=x != 0))

    np.testing.assert_array_equal(np.asarray(grad(inverse)(xp.asarray([0.0, 1.0, 2.0]))), [0.0, -1.0, -0.25])


def test_a_ufunc_of_ours_among_numpys_arrays() -> None:
    names = data()
    mine = outcome("np.add.reduce(x, axis=1)", xp, names)
    same(mine, np.add.reduce(names["x"], axis=1), "add.reduce")
    assert isinstance(ours(names["x"]), xp.Array)


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_a_ufunc_from_a_python_function() -> None:
    add = xp.frompyfunc(lambda a, b: a + b, 2, 1)
    assert isinstance(add, xp.ufunc)
    assert np.asarray(add(xp.asarray([1, 2]), 3)).tolist() == [4, 5]
    assert xp.vectorize(lambda a: a + 1)(xp.asarray([1, 2])).tolist() == [2, 3]


def test_a_ufunc_can_be_pickled() -> None:
    for name in UFUNCS:
        mine = getattr(xp, name)
        assert pickle.loads(pickle.dumps(mine)) is mine


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_objects_go_to_numpys() -> None:
    big = np.array([1, 2**70], dtype=object)
    assert xp.add.reduce(big) == 2**70 + 1
    assert xp.logical_not(big).tolist() == [False, False]
    assert xp.add(big, big, out=np.zeros(2, object)).tolist() == [2, 2**71]
    assert xp.linspace(Fraction(0), Fraction(1), 3).tolist() == [0, Fraction(1, 2), 1]


@pytest.mark.parametrize("call", ["np.sin(x{})", "np.add(x, 1{})", "np.modf(x{})[1]", "np.divmod(i, 2{})[0]"])
def test_an_ellipsis_for_out_asks_for_an_array(call: str) -> None:
    # NumPy before 2.3 does not know it: what it gives without is the same for arrays.
    names = {k: ours(v) for k, v in data().items()}
    expected = outcome(call.format(""), np, data())
    same(outcome(call.format(", out=..."), xp, names), expected, call)


@pytest.mark.skipif(compiled is None, reason="functions of Python's are methods as attributes of classes")
def test_ufuncs_and_what_makes_arrays_are_no_methods() -> None:
    class Layer:
        activation = xp.tanh
        join = xp.add
        make = xp.array
        empty = xp.zeros
        total = xp.sum  # a method, as NumPy's

    layer = Layer()
    assert np.array_equal(layer.activation(layer.make([0.0, 1.0])), np.tanh([0.0, 1.0]))
    assert np.array_equal(layer.join(layer.empty(2), 1), [1, 1])
    assert layer.total.__self__ is layer
    assert pickle.loads(pickle.dumps(layer.activation)) is xp.tanh


def test_dtypes_are_given_by_their_classes_too() -> None:
    for m in (np, xp):
        assert m.add(m.arange(3), 1, dtype=np.dtypes.Float32DType).dtype == np.float32
    out = xp.zeros(3)
    np.subtract(xp.arange(3.0), 1, out=out, casting="unsafe", dtype=np.dtypes.Float64DType)
    assert out.tolist() == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize("dtype", ["V3", "S3", "M8[s]", [("a", float)], []])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "trace"])
def test_what_no_number_has_as_its_dtype_is_refused_at_the_call(
    name: str, dtype: object, recorded: None
) -> None:
    with pytest.raises(TypeError):
        getattr(xp, name)(xp.ones((2, 2)) * 2, dtype=dtype)


def test_outer_and_round_refuse_at_the_call(recorded: None) -> None:
    deep = xp.ones((1,) * 33)
    with pytest.raises(ValueError, match="64 are the most"):
        np.add.outer(deep, deep)
    with pytest.raises(OverflowError, match="decimals"):
        xp.round(xp.ones(3), 2**40)
