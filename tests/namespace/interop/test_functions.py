"""Operators and functions of these arrays beside NumPy's own arrays, its scalars and Python's numbers."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled

DTYPES = [np.bool, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64, np.complex128]
OPERATORS = [
    *(
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.floordiv,
        operator.mod,
        operator.pow,
    ),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.and_, operator.or_, operator.xor),
]
UFUNCS = [
    *("sqrt", "exp", "sin", "abs", "negative", "floor", "isnan", "sign", "square", "logical_not", "add"),
    *("subtract", "arctan2", "hypot", "maximum", "true_divide", "power", "less", "logical_and", "fmod"),
    *("copysign", "heaviside", "logaddexp"),
]


def norm(ns: Any, x: Any, y: Any) -> Any:
    return ns.linalg.norm(x)


FUNCTIONS: list[Callable[[Any, Any, Any], Any]] = [
    lambda ns, x, y: ns.sum(x),
    lambda ns, x, y: ns.mean(x),
    lambda ns, x, y: ns.max(x, axis=-1),
    lambda ns, x, y: ns.argmax(x),
    lambda ns, x, y: ns.where(x != 0, x, y),
    lambda ns, x, y: ns.dot(x, y),
    lambda ns, x, y: ns.concatenate((x, y)),
    lambda ns, x, y: ns.stack([x, y]),
    lambda ns, x, y: ns.sort(x),
    lambda ns, x, y: ns.unique(x),
    lambda ns, x, y: ns.outer(x, y),
    lambda ns, x, y: ns.clip(x, 1, 2),
    lambda ns, x, y: ns.cumsum(x),
    lambda ns, x, y: ns.std(x),
    lambda ns, x, y: ns.any(x),
    lambda ns, x, y: ns.round(x, 1),
    norm,
    lambda ns, x, y: ns.array_equal(x, y),
    lambda ns, x, y: ns.allclose(x, y),
]
VALUES = st.sampled_from([0, 1, 2, 3, 100, -1, -3])
SHAPES = st.sampled_from([(), (1,), (3,), (2, 3), (2, 1)])


@st.composite
def operands(draw: st.DrawFn) -> tuple[Any, str]:
    """A NumPy array, scalar or Python number, and what our side is given of it."""
    kind = draw(st.sampled_from(["ours", "numpy's", "part", "scalar", "number"]))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = () if kind in ("scalar", "number") else draw(SHAPES)
    flat = [draw(VALUES) for _ in range(int(np.prod(shape)))]
    values = np.array(flat).reshape(shape)
    x = (np.abs(values) if dtype.kind in "bu" else values).astype(dtype)
    if dtype.kind in "fc" and draw(st.booleans()):
        x = x * dtype.type(0.3)
    return (x[()] if kind == "scalar" else x.item() if kind == "number" else np.asarray(x)), kind


def _given(x: Any, kind: str) -> Any:
    if kind == "ours":
        return xp.asarray(x)
    return xp.asarray(np.stack([x, x]))[1] if kind == "part" else x


def _outcome(function: Callable[[], Any]) -> Any:
    """Return the values, or the error's class, and the classes of the warnings."""
    with xp.config(float_warnings=True), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            y = function()
            out: Any = np.asarray(y)
        except Exception as error:
            return type(error)
    return out, {w.category for w in told}


def _compare(ours: Callable[[], Any], numpys: Callable[[], Any], last_digit: bool = False) -> None:
    got, wanted = _outcome(ours), _outcome(numpys)
    if isinstance(wanted, type) or isinstance(got, type):
        assert isinstance(got, type), (got, wanted)
        assert isinstance(wanted, type), (got, wanted)
        assert issubclass(wanted, got) or issubclass(got, wanted), (got, wanted)
        return
    assert got[0].dtype == wanted[0].dtype
    if last_digit and np.isfinite(wanted[0]).all() and wanted[0].dtype.kind == "f":
        np.testing.assert_array_max_ulp(got[0], wanted[0], 1)
    else:
        np.testing.assert_array_equal(got[0], wanted[0])
    if wanted[0].dtype.kind not in "iu":  # of integers that overflow NumPy tells where they are its scalars
        assert got[1] == wanted[1]


def _are_numbers(left: tuple[Any, str], right: tuple[Any, str]) -> bool:
    """Say whether ours stand for NumPy's scalars, whose powers are C's, not those of NumPy's loops."""
    return not np.ndim(left[0]) and not np.ndim(right[0])


@settings(max_examples=2000)
@given(operands(), operands(), st.sampled_from(OPERATORS))
def test_operators(left: tuple[Any, str], right: tuple[Any, str], op: Callable[[Any, Any], Any]) -> None:
    if not {left[1], right[1]} & {"ours", "part"}:
        left = (np.asarray(left[0]), "ours")
    is_number = op is operator.pow and _are_numbers(left, right)
    _compare(lambda: op(_given(*left), _given(*right)), lambda: op(left[0], right[0]), last_digit=is_number)


@settings(max_examples=2000)
@given(operands(), operands(), st.sampled_from(UFUNCS))
def test_ufuncs(left: tuple[Any, str], right: tuple[Any, str], name: str) -> None:
    n = getattr(np, name).nin
    ours, numpys = [_given(*left), _given(*right)][:n], [left[0], right[0]][:n]
    is_number = name == "power" and _are_numbers(left, right)
    _compare(lambda: getattr(xp, name)(*ours), lambda: getattr(np, name)(*numpys), last_digit=is_number)


@settings(max_examples=1500)
@given(operands(), operands(), st.sampled_from(FUNCTIONS))
def test_functions(
    left: tuple[Any, str], right: tuple[Any, str], function: Callable[[Any, Any, Any], Any]
) -> None:
    # Python's numbers have no dtype yet: which one they get is another question.
    (x, x_kind), (y, y_kind) = ((np.asarray(v), k) if k == "number" else (v, k) for v, k in (left, right))
    # Where no compiled code asks NumPy's norm at once, its BLAS may add products that ours rounds before.
    last_digit = function is norm and compiled is None
    _compare(
        lambda: function(xp, _given(x, x_kind), _given(y, y_kind)), lambda: function(np, x, y), last_digit
    )


@pytest.mark.parametrize("shape", [(), (3,), (40_000,)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_exp_tells_of_overflow(shape: tuple[int, ...], dtype: str) -> None:
    x = np.full(shape, 1000, dtype)
    _compare(lambda: xp.exp(xp.asarray(x)), lambda: np.exp(x))
    _compare(lambda: xp.exp(xp.asarray(x) * 0.5) + 1, lambda: np.exp(x * 0.5) + 1)


@pytest.mark.parametrize("key", [np.int8(1), np.uint64(1), np.int64(-1), np.int64(7), np.bool(True)])
def test_numpys_scalars_are_keys(key: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    _compare(lambda: xp.asarray(x)[key], lambda: x[key])
    _compare(lambda: xp.asarray(x)[0, key], lambda: x[0, key])


@pytest.mark.parametrize("dtype", [np.bool, np.int8, np.float64])
@pytest.mark.parametrize("value", [0, 1, 2, -1, True, 2.5, np.True_, np.int64(3), np.float32(0.5)])
def test_numbers_are_written_as_numpy_writes_them(dtype: Any, value: Any) -> None:
    def written(ns: Any) -> Any:
        x = ns.zeros((2, 3), dtype=dtype)
        x[0, 1] = value
        x[1] = value
        return x

    _compare(lambda: written(xp), lambda: written(np))


@pytest.mark.parametrize(
    "function",
    [
        lambda ns, x: ns.median(x, overwrite_input=True),
        lambda ns, x: ns.percentile(x, 50, overwrite_input=True),
        lambda ns, x: ns.quantile(x, 0.5, None, None, True),
        lambda ns, x: ns.nanmedian(x, overwrite_input=True),
        lambda ns, x: ns.nan_to_num(x, copy=False),
        lambda ns, x: ns.nan_to_num(x, False),
        lambda ns, x: ns.cumsum(x, out=x),
        lambda ns, x: ns.clip(x, 1, 2, x),
    ],
)
def test_what_may_be_written_to_is_nobody_elses(function: Callable[[Any, Any], Any]) -> None:
    x = xp.asarray([3.0, 1.0, np.nan, 9.0])
    copies = [x.copy(), xp.array(x), xp.concatenate([x, x])]
    function(xp, x)
    for copy in copies:
        np.testing.assert_array_equal(np.asarray(copy)[:4], [3.0, 1.0, np.nan, 9.0])


@pytest.mark.parametrize(
    "name", ["logical_not", "logical_and", "negative", "add", "isnan", "floor_divide", "sqrt"]
)
def test_a_result_is_put_into_a_positional_out(name: str) -> None:
    ufunc = getattr(np, name)
    x = np.arange(1, 4) > 2 if name.startswith("logical") else np.arange(1.0, 4.0)
    for n in (1, 2):
        results = []
        for ns in (xp, np):
            out = ns.asarray(x.copy()) if name != "isnan" else ns.zeros(3, dtype=bool)
            copy, operand = out.copy(), ns.asarray(x)
            given = out if n == 2 and name != "isnan" else operand  # in place, or not
            got = getattr(ns, name)(*[given] * ufunc.nin, out)
            results.append([np.asarray(v).tolist() for v in (got, out, copy, operand)] + [got is out])
        assert results[0] == results[1]


def test_pytests_approx_takes_arrays_without_axes() -> None:
    x = xp.asarray([1.0, 2.0])
    assert x.sum() == pytest.approx(x.sum())
    assert pytest.approx(x.sum()) == 3.0
    assert x.sum() != pytest.approx(x.max())
    assert x == pytest.approx(x)
    assert np.isscalar(x.sum())


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32])
@pytest.mark.parametrize("q", [0, 1.0, [0, 1], [0.5], np.float32(0.5), np.array(1)], ids=repr)
@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile"])
def test_quantiles_have_numpys_dtype_whatever_their_size(name: str, q: Any, dtype: Any) -> None:
    for n in (5, 5000):
        x = np.arange(n).astype(dtype)
        _compare(lambda x=x: getattr(xp, name)(xp.asarray(x), q), lambda x=x: getattr(np, name)(x, q))


_PARTS = "real imag tril triu unstack matrix_transpose unique_values unique_counts unique_all unique_inverse"


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
@pytest.mark.parametrize(
    "call",
    [
        *[f"np.{name}(x)" for name in _PARTS.split()],
        "np.tensordot(x, x)",
        "np.tensordot(x, x, 1)",
        "np.vecdot(x, x)",
        "np.permute_dims(x, (1, 0))",
        "np.broadcast_arrays(x, x[0])",
        "np.array([[1, 2], [3, 4]], dtype=object, ndmax=1)",
        "np.array([[1, 2]], ndmax=2)",
    ],
)
def test_objects_are_numpys_to_compute_with(call: str) -> None:
    if "ndmax" in call and np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("NumPy has ndmax from 2.4 on")
    rows = [[Fraction(1, 2), Fraction(3)], [Fraction(3), Fraction(2, 7)]]
    ours, theirs = (eval(call, {"np": ns, "x": ns.array(rows, dtype=object)}) for ns in (xp, np))
    assert repr(ours).replace("nabla_array.", "numpy.") == repr(theirs)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="NumPy has same_value from 2.4 on")
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
@pytest.mark.parametrize("n", [3, 100_000])
def test_casts_that_keep_values(n: int) -> None:
    x = xp.arange(n, dtype=xp.float64)
    assert x.astype(xp.int32, casting="same_value").dtype == np.int32
    with pytest.raises(ValueError, match="same_value"):
        (x / 2).astype(xp.int32, casting="same_value")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sum(x),
        lambda x: np.std(x, axis=0, ddof=1),
        lambda x: np.clip(x, 1.0, 2.0),
        lambda x: np.moveaxis(x, 0, 1),
        lambda x: np.concatenate((x, x), axis=1),
        lambda x: np.pad(x, [(1, 0), (0, 2)], mode="constant", constant_values=(3.0, 4.0)),
        lambda x: np.pad(x, 1, "reflect", reflect_type="odd"),
        lambda x: np.linalg.norm(x, axis=1),
        lambda x: np.zeros_like(x, dtype=np.int8),
    ],
)
def test_calls_of_numpys_functions_are_calls_of_ours(call: Callable[[Any], Any]) -> None:
    x = np.arange(6.0).reshape(2, 3)
    before = dict(xp.report().fallbacks)
    for _ in range(2):  # how arguments are taken is kept
        found = call(xp.asarray(x))
        assert type(found) is xp.Array
        np.testing.assert_array_equal(np.asarray(found), call(x), strict=True)
    assert dict(xp.report().fallbacks) == before


def test_what_we_cannot_hold_is_numpys_again_and_again() -> None:
    words = np.array(["a", "b"])
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.take(words, xp.asarray([1, 0]))
        assert np.asarray(found).tolist() == ["b", "a"]


UFUNCS = sorted(n for n in dir(np) if isinstance(getattr(np, n), np.ufunc) and n != "isnat")  # of dates


@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufunc_of_a_series_gives_what_numpys_does(name: str) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    theirs, ours = getattr(np, name), getattr(xp, name)
    compared = 0
    for values in ([0.25, 0.5, 1.0], [1, 2, 3]):
        s = pandas.Series(values, index=list("abc"), name="s")
        for others in ([s], [np.array(values)], [xp.asarray(values)], [2])[: 1 if theirs.nin == 1 else 4]:
            operands = [s, *others][: theirs.nin]
            with np.errstate(all="ignore"):
                try:
                    expected = theirs(*[np.asarray(x) if type(x) is xp.Array else x for x in operands])
                except (TypeError, ValueError, IndexError):
                    continue
                found = ours(*operands)
            for x, y in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, expected)], strict=True):
                assert isinstance(x, pandas.Series) == isinstance(y, pandas.Series)
                np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
            compared += 1
    assert compared or name in ("matvec", "vecmat")


CALLED_TWICE: dict[str, Callable[[Any], Any]] = {
    "one argument": lambda x: np.sum(x),
    "a keyword": lambda x: np.sum(x, axis=0),
    "keywords": lambda x: np.mean(x, keepdims=True, axis=1),
    "keywords in another order": lambda x: np.mean(x, axis=1, keepdims=True),
    "two arrays": lambda x: np.dot(x, x),
    "a list": lambda x: np.concatenate([x, x], axis=1),
    "out": lambda x: np.sum(x, axis=0, out=np.zeros(3)),
    "of a part": lambda x: np.linalg.inv(x),
    "wrong": lambda x: np.dot(x, x[:2]),
    "a wrong keyword": lambda x: np.sum(x, nothing=1),
    "objects": lambda x: np.concatenate([x, np.array([[None, "a", 2]])]),
    "through NumPy": lambda x: np.apply_over_axes(np.sum, x, 0),
}


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
@pytest.mark.parametrize("name", CALLED_TWICE)
def test_numpys_function_is_answered_alike_each_time(name: str) -> None:
    """The first call looks for our function; native code then calls that at once."""

    def answer(x: Any) -> Any:
        try:
            y = CALLED_TWICE[name](x)
        except (TypeError, ValueError, np.linalg.LinAlgError) as error:
            return type(error)
        return y.dtype, np.asarray(y).tolist()

    x = np.arange(9.0).reshape(3, 3) + 5 * np.eye(3)
    assert [answer(xp.asarray(x)) for _ in range(3)] == [answer(x)] * 3
