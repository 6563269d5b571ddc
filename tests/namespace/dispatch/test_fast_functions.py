"""The compiled short way of functions and methods gives what the Python behind it gives."""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._namespace.dispatch import eager, fastpath

from .drawing import FINITE, NUMBERS, SPECIAL, needs_compiled, outcome, outcomes, part, read, words

USUAL = [0.0, 1.0, -1.0, 2.5, -7.0, 100.0]
UNARY = words("sqrt exp sin log square floor isnan ceil sign")
SUMS = words("sum mean std var dot trace interp median average cross einsum norm inner sinc")
# Of what is equal (0.0 and -0.0), the ways may choose another one.
SUMS += words("nanmax nanmin unique union1d setdiff1d intersect1d sort clip")
SUMS += FINITE
SHORT = words("prod max min any all argmax argmin cumsum diff concat stack hstack vstack where roll")
SHORT += words("repeat triu tril outer round searchsorted count_nonzero tile array diag bincount")
SHORT += words("append insert dstack isin ptp digitize histogram pad fftshift ifftshift argsort")
SHORT += words("delete kron lexsort isclose allclose nan_to_num nanargmax nanargmin column_stack")
SHORT += words("zeros_like ones_like empty_like full_like partition argpartition choose piecewise extract")
SHORT += words("nonzero flip diagonal real imag select ravel_multi_index")
SHORT += words("compress flatnonzero ix_ packbits unpackbits array_equal array_equiv")
# NumPy's answers for arrays of these that are too large for what is compiled, too.
LARGE = words(
    "compress extract packbits unpackbits array_equal array_equiv nansum nanprod nanmax nanmin nanargmax"
)
LARGE += words("nanargmin nanmean nanvar nanstd bincount norm")
MADE = words("zeros ones full arange asarray array")
METHODS = words("astype clip flatten argsort repeat")


@needs_compiled
@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=30)
@given(st.data())
def test_functions_with_out_and_where_give_what_is_behind_them(name: str, data: st.DataObject) -> None:
    value = part(data.draw)
    function = getattr(xp, name)
    assert outcome(function, read(value)) == outcome(function.__wrapped__, read(value))
    mask = np.resize(np.array(data.draw(st.lists(st.booleans(), min_size=6, max_size=6))), value.shape)
    seen = []
    for call in (function, function.__wrapped__):
        whole = xp.asarray(np.stack([value, value]))
        result = outcome(lambda call=call, whole=whole: call(read(value), out=whole[1], where=read(mask)))
        seen.append((result, outcome(lambda whole=whole: whole)))
    assert seen[0] == seen[1]


def arguments(name: str, draw: Any) -> tuple[Any, ...]:
    """Draw what a function is called with: a part first, for most of them."""
    values = USUAL if name in FINITE else SPECIAL
    value = part(draw, values)
    x, other = read(value), read(part(draw, values))
    small = read(np.array([1, 0, 4]))  # as many counts as the largest number
    # LAPACK may never end where nan or infinity is.
    numbers = st.lists(st.sampled_from(USUAL), min_size=9, max_size=9)
    matrix = read(np.array(draw(numbers)).reshape(3, 3))
    row, steps = read(np.array([1.0, 2.5, -7.0])), read(np.array([0.0, 0.5, 2.0]))
    mask, chosen = read(value != 0), read(np.array([True, False, True]))
    z = read(value + 1j)
    byte = read(np.array([[1, 255, 3]], np.uint8))
    more: dict[str, list[tuple[Any, ...]]] = {
        "clip": [(x, -1, 2.5), (x, None, x), (x, 0, 300)],
        "round": [(x,), (x, 2), (x, -1)],
        "searchsorted": [(x, 1.0), (x, x, "right")],
        "tile": [(x, 2), (x, (2, 1))],
        "array": [(x,), ([x, x],), ([x, 1.5],), ([x, [x]],)],
        "diag": [(x,), (x, 1)],
        "diagonal": [(x,), (x, -1), (x, 0, 1, 0)],
        "flip": [(x,), (x, 0), (x, -1), (x, (0,))],
        "real": [(x,), (z,)],
        "imag": [(x,), (z,)],
        "lstsq": [(matrix, row), (matrix, matrix, 1e-3)],
        "bincount": [(small,), (small, None, 5)],
        "append": [(x, 1.5), (x, x, 0)],
        "insert": [(x, 1, 5), (x, 0, x, 0)],
        "delete": [(x, 1), (x, 0, 0)],
        "trace": [(x,), (x, 1)],
        "interp": [(x, [0.0, 2.0, 4.0], [1.0, 5.0, 2.0])],
        "average": [(x,), (x, 0, x)],
        "einsum": [("...->", x), ("...,...->...", x, x)],
        "norm": [(x,), (x, 1), (x, None, 0)],
        "where": [(read(value != 0), x, y) for y in (x, 0, 1.5, -1, 300, 2**70)] + [(x,)],
        "roll": [(x, 2)],
        "choose": [(small % 2, [row, steps]), (small % 2, [row, 2]), (chosen, [x, other])],
        "piecewise": [(x, [mask], [1, 2]), (x, [mask, mask], [3, 4]), (row, [chosen], [0, 2.5])],
        "select": [([mask], [x], 0), ([mask, mask], [x, 2.5]), ([chosen], [row], 1), ([chosen], [3], 7)],
        "ravel_multi_index": [
            ((1, 2), (3, 4)),
            ([small, small], (5, 5)),
            ((small, 1), (5, 2), "wrap"),
            ((9, 0), (3, 4)),
        ],
        "multi_dot": [([matrix, matrix, row],), ([row, matrix, matrix, row],), ([matrix, row, row],)],
        "nancumprod": [(x,), (x, -1), (x, None, np.float32)],
        "extract": [(mask, x), (chosen, row), ([1, 0, 1], row), (x, row)],
        "compress": [(chosen, row), (chosen, x, 0), ([1, 0, 1], x, -1), (x, x)],
        "ix_": [(small,), (small, chosen), (x, row), (chosen, [0, 2])],
        "unpackbits": [(x,), (byte,), (byte, 1), (byte, 0, 5), (byte, None, -3, "little")],
        "partition": [(x, 0), (row, 1), (x, 1, None), (x, [0, 1], 0)],
        "argpartition": [(x, 0), (row, 1), (x, 1, None), (x, [0, 1], 0)],
        "array_equal": [(x, other), (x, x), (x, x, True), (x, other, True)],
        "array_equiv": [(x, other), (row, read(np.stack([value, value])))],
        "repeat": [(x, 2)],
        "lexsort": [((x, x),), ((x, x[::-1]),)] if value.ndim else [((x,),)],
        "isclose": [(x, other), (x, 1.0), (x, other, 0.1, 0.5, True)],
        "nan_to_num": [(x,), (x, True, 1.0, 2.0, -3.0), (x, False)],
        "gradient": [(x,), (x, 2.0), (row, steps)],
        "unique": [(x,), (x, True), (x, False, True, True)],
        "isin": [(x, other), (x, [1, 2.5]), (x, other, False, True)],
        "digitize": [(x, steps), (x, steps, True)],
        "histogram": [(x,), (x, 3), (x, steps)],
        "pad": [(x, 1), (x, (1, 2), "edge"), (x, 1, "reflect"), (x, 1, "mean")],
        "full_like": [(x, 3), (x, 2.5), (x, 300), (x, 1, np.float32)],
        "polyfit": [(steps, row, 1), (steps, row, 2)],
        "tensordot": [(matrix, row, 0), (matrix, matrix, 1), (matrix, matrix)],
        "vander": [(x,), (x, 2)],
        "inner": [(row, steps), (matrix, row)],
        "solve": [(matrix, row), (matrix, other)],
        "matrix_power": [(matrix, 2), (matrix, -1), (x, 3)],
        "roots": [(row,), (matrix,)],
        "cond": [(matrix,), (matrix, 1)],
        "fft": [(x,), (x, 4), (x, None, 0, "ortho")],
        "astype": [(x, t) for t in (float, np.float32, np.dtype(np.int8), bool, "complex64", ">f8", "S2")],
        "flatten": [(x,), (x, "F")],
    }
    more["allclose"] = more["isclose"]
    pairs = words("dot outer cross kron union1d setdiff1d intersect1d")
    if name in {"concat", "stack", "hstack", "vstack", "column_stack", "dstack"}:
        return ([x, other],)
    if name in pairs + words("polyadd polysub"):
        return (x, other)
    if name in more:
        return draw(st.sampled_from(more[name]))  # type: ignore[no-any-return]
    if name in {"inv", "det", "slogdet", "pinv", "matrix_rank", "eigvalsh", "eig", "eigvals"}:
        return (matrix,)
    plain = words("triu tril diff nansum cov corrcoef sinc unwrap i0 roots zeros_like ones_like empty_like")
    if name not in plain and value.ndim and draw(st.booleans()):
        return (x, -1)
    return (x,)


def function_of(name: str) -> Any:
    """Return a function of that name, or a method."""
    found = [getattr(m, name) for m in (xp, xp.linalg, xp.fft) if hasattr(m, name)]
    return next(f for f in found if isinstance(f, fastpath.compiled.Fast))


def assert_alike(short: Any, long: Any, is_exact: bool) -> None:
    if is_exact or short == long or not isinstance(short[0], tuple) or not isinstance(long[0], tuple):
        assert short == long
        return
    # Both are right: the ways differ in the order of sums.
    *alike, dtype, shape, bits = short[0]
    *alike2, dtype2, shape2, bits2 = long[0]
    assert (alike, dtype, shape) == (alike2, dtype2, shape2)
    x, y = np.frombuffer(bits, dtype), np.frombuffer(bits2, dtype)
    if dtype.kind == "c":
        x, y = x.view(x.real.dtype), y.view(y.real.dtype)
    size = np.abs(y[np.isfinite(y)]).max(initial=0)
    np.testing.assert_allclose(x, y, 1e-6, 1e-6 * size if dtype.kind in "fc" else 0)


@pytest.mark.slow
@needs_compiled
@pytest.mark.parametrize("name", SHORT + SUMS)
@settings(max_examples=30)
@given(st.data())
def test_functions_of_parts_give_what_the_python_behind_them_gives(name: str, data: st.DataObject) -> None:
    function = function_of(name)
    args = arguments(name, data.draw)
    short, long = outcomes(function, *args), outcomes(function.__wrapped__, *args)
    assert len(short) == len(long)
    for x, y in zip(short, long, strict=True):
        if name.startswith("nan") and isinstance(x, tuple):  # only NumPy says that nothing was left
            x, y = (x[0], []), (y[0], [])
        assert_alike(x, y, name not in SUMS)


@needs_compiled
@pytest.mark.parametrize("name", LARGE)
@settings(max_examples=30)
@given(st.data())
def test_functions_of_large_arrays_give_what_the_python_behind_them_gives(
    name: str, data: st.DataObject
) -> None:
    function = function_of(name).__wrapped__
    args = arguments(name, data.draw)
    with patch.object(eager, "PART", 1):
        short = outcomes(function, *args)
    for x, y in zip(short, outcomes(inspect.unwrap(function), *args), strict=True):
        assert_alike(x, y, name not in SUMS)


@needs_compiled
@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=30)
@given(st.data())
def test_methods_give_what_the_python_behind_them_gives(name: str, data: st.DataObject) -> None:
    method = getattr(xp.Array, name)
    args = arguments(name, data.draw)
    # NumPy has two ways to clip, which differ in the sign of zero.
    assert_alike(outcome(method, *args), outcome(method.__wrapped__, *args), name != "clip")


@needs_compiled
@pytest.mark.parametrize("name", MADE)
@given(st.data())
def test_arrays_are_made_as_the_python_behind_makes_them(name: str, data: st.DataObject) -> None:
    number = st.sampled_from([0, 1, 3, -1, 40, 2**70, 2.5, True, None])
    first: Any = number if name == "arange" else st.one_of(number, st.lists(number, max_size=3).map(tuple))
    if name in {"zeros", "ones", "full"}:
        first = st.one_of(first, st.sampled_from([2000, (3, 700), [70, 30]]))  # too large for NumPy
    if name in {"array", "asarray"}:
        first = st.one_of(st.lists(number, max_size=3), st.lists(st.lists(number, max_size=2), max_size=3))
    args = [data.draw(first)]
    if name in {"full", "arange"} and data.draw(st.booleans() if name == "arange" else st.just(True)):
        # Of nothing, NumPy makes an array of None.
        args.append(data.draw(number.filter(lambda n: n is not None or name != "full")))
        if name == "full" and data.draw(st.booleans()):
            args[1] = read(np.array(data.draw(st.sampled_from([2.5, 3, True]))))
    dtypes = [
        None,
        int,
        float,
        bool,
        np.bool,
        np.int32,
        np.float32,
        np.uint8,
        np.dtype(">f8"),
        "complex64",
        "S3",
    ]
    options = {"dtype": data.draw(st.sampled_from(dtypes))} if data.draw(st.booleans()) else {}
    function = getattr(xp, name)
    call, behind = (lambda *a, f=f: f(*a, **options) for f in (function, function.__wrapped__))
    assert outcome(call, *args) == outcome(behind, *args)


@needs_compiled
@pytest.mark.parametrize("name", [*UNARY, *words("add arctan2 maximum less hypot equal")])
@given(st.data())
def test_functions_of_numbers_give_what_the_python_behind_them_gives(name: str, data: st.DataObject) -> None:
    function = getattr(xp, name)
    number = st.floats() | st.sampled_from(NUMBERS)
    args = [data.draw(number) for _ in range(1 if name in UNARY else 2)]
    assert outcome(function, *args) == outcome(function.__wrapped__, *args)


@needs_compiled
def test_an_out_argument_is_written_to_once() -> None:
    x = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    row = x[1]
    assert xp.cumsum(row, 0, None, row) is row
    np.testing.assert_array_equal(np.asarray(x), [[1, 2, 3], [4, 9, 15]])
    assert xp.sum(x[:2], axis=0, out=row) is row
    np.testing.assert_array_equal(np.asarray(x), [[1, 2, 3], [5, 11, 18]])


def _found(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, ...]:
    """Return the dtype and the elements of a result, or that there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = np.asarray(function(*args, **options))
        except (TypeError, ValueError, OverflowError):
            return ("refused",)
    return y.dtype, y.shape, repr(y.tolist())


def test_lists_of_numbers_and_arrays_are_arrays() -> None:
    x = np.arange(6.0).reshape(2, 3)
    mine = xp.asarray(x)
    for theirs, ours in (
        ([1, 2.5, -3], [1, 2.5, -3]),
        ((True, False), (True, False)),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ([r.sum() for r in x], [r.sum() for r in mine]),
        ([np.float32(2), 1.5], [xp.float32(2), 1.5]),
        ([*x], [*mine]),
        ((x[0], [7, 8, 9]), (mine[0], [7, 8, 9])),
        ([x[0, 0], 2, x], [mine[0, 0], 2, mine]),  # no array
        ([], []),
        (["a", "b"], ["a", "b"]),
    ):
        for name in ("sum", "mean", "max", "std", "argmin", "cumsum", "prod", "any", "ptp", "median", "sqrt"):
            for options in ({}, {"axis": 0}, {"axis": 5}, {"dtype": np.float32}):
                wanted = _found(getattr(np, name), theirs, **options)
                assert _found(getattr(xp, name), ours, **options) == wanted, (name, theirs, options)
        for way in (operator.add, operator.sub, operator.pow, operator.gt):
            assert _found(way, mine[0], ours) == _found(way, x[0], theirs)
            assert _found(way, ours, mine[0]) == _found(way, theirs, x[0])


COMPLEX = (0.2 + 0.3j, -1j, complex(-0.0, 2.0), complex("nan+1j"), complex("inf"))


@needs_compiled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", words("exp abs sqrt sin conj log isnan square reciprocal sign"))
def test_functions_of_pythons_complex_numbers_are_numpys(name: str) -> None:
    for number in COMPLEX:
        found, wanted = getattr(xp, name)(number), getattr(np, name)(number)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(found), wanted)


@needs_compiled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", words("add multiply power divide equal"))
@pytest.mark.parametrize("other", [2, -2.5, 1j, True])
def test_functions_of_a_complex_number_and_another_are_numpys(name: str, other: complex) -> None:
    for pair in ((0.2 + 0.3j, other), (other, 0.2 + 0.3j)):
        found, wanted = getattr(xp, name)(*pair), getattr(np, name)(*pair)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(found), wanted)


def test_functions_of_pythons_numbers_are_numpys() -> None:
    numbers = [0, 1, -3, 7, 2**40, 2**62, 0.0, -0.0, 1.5, float("inf"), float("nan"), True]
    names = "add arctan2 bitwise_and copysign divide float_power gcd hypot left_shift less logical_or maximum"
    for name in (*names.split(), "minimum", "mod", "multiply", "power", "subtract"):
        for x in numbers:
            for y in numbers:
                assert _found(getattr(xp, name), x, y) == _found(getattr(np, name), x, y), (name, x, y)
    for name in (
        "abs",
        "negative",
        "sign",
        "sqrt",
        "radians",
        "deg2rad",
        "degrees",
        "square",
        "invert",
        "exp2",
    ):
        for x in numbers:
            assert _found(getattr(xp, name), x) == _found(getattr(np, name), x), (name, x)
    for name in ("sum", "mean", "max", "round", "cumsum", "any", "ravel", "std", "argmax"):
        for x in numbers:
            assert _found(getattr(xp, name), x) == _found(getattr(np, name), x), (name, x)
    assert _found(xp.clip, 2.5, 0, 1) == _found(np.clip, 2.5, 0, 1)


def _kinds(ns: Any) -> dict[str, Any]:
    """Return arrays that lie in memory in all ways."""
    x = ns.reshape(ns.arange(12.0), (3, 4))
    made = {
        "rows": x,
        "columns": x.T,
        "part": x[:, 1:3],
        "row": x[1],
        "backwards": x[0, ::-1],
        "element": x[1, 2],
    }
    made |= {"no axes": ns.asarray(2.5), "integers": ns.arange(4), "truths": x[0] > 1, "complex": x[0] * 1j}
    return made | {
        "single": ns.asarray([1, 2], dtype=ns.float32),
        "none": ns.zeros((0, 2)),
        "big": ns.zeros(70_000),
    }


# As libraries ask for what an array mostly is already.
ASKED = [
    *(
        "np.asarray(x, dtype=float)",
        "np.asarray(x, float)",
        "np.asarray(x, dtype='float64')",
        "np.array(x, dtype=int)",
    ),
    *(
        "np.asarray(x, dtype=complex)",
        "np.asarray(x, dtype=bool)",
        "np.asarray(x, dtype='f4')",
        "np.array(x, 'd')",
    ),
    *(
        "np.array(x, dtype=float, ndmin=1)",
        "np.array(x, ndmin=2)",
        "np.array(x, ndmin=0)",
        "np.array(x, ndmin=-3)",
    ),
    *(
        "np.asarray(x, order='C')",
        "np.asarray(x, order='F')",
        "np.asarray(x, order='K')",
        "np.array(x, order='C')",
    ),
    *(
        "np.array(x, order='F', copy=None)",
        "np.array(x, order='C', copy=None, dtype=float)",
        "np.array(x, order='A')",
    ),
    *("np.ascontiguousarray(x)", "np.ascontiguousarray(x, dtype=float)", "np.ascontiguousarray(x, 'f8')"),
    *(
        "np.asfortranarray(x, dtype=float)",
        "np.asfortranarray(x, complex)",
        "np.ascontiguousarray(x, dtype=None)",
    ),
    *(
        "x.astype(float)",
        "x.astype(np.float64, copy=False)",
        "x.astype('float64')",
        "x.astype(int)",
        "x.astype(bool)",
    ),
    *("x.astype(complex)", "x.astype(float, order='F')", "x.astype(float, casting='safe')", "x.astype('q')"),
    *(
        "np.asarray(x, order='X')",
        "np.asarray(x, dtype='nothing')",
        "np.array(x, ndmin='a')",
        "x.astype('nothing')",
    ),
]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("call", ASKED)
@pytest.mark.parametrize("kind", _kinds(np))
def test_an_array_that_is_as_wanted_is_numpys(call: str, kind: str) -> None:
    """In dtype, elements and order in memory; and it shares its elements where NumPy's does."""

    def answer(ns: Any) -> Any:
        x = _kinds(ns)[kind]
        try:
            y = eval(call, {"np": ns, "x": x})
        except (TypeError, ValueError) as error:
            return type(error)
        found = [y.dtype, y.shape, y.flags.c_contiguous, y.flags.f_contiguous, np.array(y).tolist()]
        if isinstance(y, np.generic) or y.dtype != x.dtype or not y.size or isinstance(x, np.generic):
            return found
        y[...] = 7
        return [*found, np.array(x).tolist()]

    assert answer(xp) == answer(np)
