"""Masked arrays, matrices, pandas' series and sparse matrices beside our arrays: as beside NumPy's."""

from __future__ import annotations

import array
import copy
import numbers
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

pytestmark = [
    pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning"),
    pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning"),
    # NumPy's median says that of masked arrays.
    pytest.mark.filterwarnings("ignore:Warning. 'partition' will ignore the 'mask':UserWarning"),
]

VALUES = np.arange(4.0) + 1
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.lt,
    operator.eq,
    operator.matmul,
]
UFUNCS = ["sin", "sqrt", "exp", "negative", "isnan", "abs"]
REDUCTIONS = ["sum", "mean", "max", "min", "std", "var", "any", "all", "argmax", "prod", "median", "ptp"]
FUNCTIONS = [*REDUCTIONS, "cumsum", "round", "ravel", "sort", "asarray", "array"]


def _pandas() -> Any:
    return pytest.importorskip("pandas")


OTHERS: dict[str, Callable[[], Any]] = {
    "masked": lambda: np.ma.masked_greater(VALUES, 2),
    "matrix": lambda: np.asmatrix(np.eye(4)),
    "series": lambda: _pandas().Series(VALUES, index=[3, 1, 2, 0]),
    "series with nan": lambda: _pandas().Series([1.0, np.nan, 2.0, 3.0]),
    "table": lambda: _pandas().DataFrame({"a": VALUES, "b": VALUES * 2}).T,
    "index": lambda: _pandas().Index(VALUES),
    "sparse": lambda: pytest.importorskip("scipy.sparse").csr_matrix(np.eye(4)),
}
DENSE = [name for name in OTHERS if name != "sparse"]


def outcome(function: Callable[[Any, Any], Any], x: Any, module: Any) -> Any:
    try:
        found = function(x, module)
    except (TypeError, ValueError) as error:
        return type(error)
    if isinstance(found, xp.Array):
        return np.asarray(found) if found.shape else found.item()
    return found.item() if isinstance(found, np.generic) else found


def same(function: Callable[[Any, Any], Any]) -> None:
    """Assert that a function of our array and module gives what it gives with NumPy's."""
    with np.errstate(all="ignore"):
        ours, theirs = outcome(function, xp.asarray(VALUES), xp), outcome(function, VALUES, np)
    assert type(ours) is type(theirs)
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("operation", OPERATORS)
def test_operators(name: str, operation: Callable[[Any, Any], Any]) -> None:
    if (name, operation) == ("index", operator.matmul):
        pytest.skip("an index is no operand of ours in products of matrices, which pandas does not offer")
    other = OTHERS[name]()
    if (name, operation) != ("matrix", operator.mul):  # errors of different types
        same(lambda x, _: operation(other, x))
    if (name, operation) != ("sparse", operator.truediv):
        same(lambda x, _: operation(x, other))


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("function", [*UFUNCS, *FUNCTIONS])
def test_functions(name: str, function: str) -> None:
    other = OTHERS[name]()
    same(lambda _, module: getattr(module, function)(other))


@pytest.mark.parametrize("name", ["masked", "series", "index"])
def test_functions_of_both(name: str) -> None:
    other = OTHERS[name]()
    same(lambda x, module: module.add(x, other))
    same(lambda x, module: module.maximum(other, x))
    same(lambda x, module: module.where(other > 2, other, x))
    same(lambda x, module: module.concatenate([other, x]))
    same(lambda x, module: module.asarray(other)[x > 2])


def test_series_index_arrays_and_arrays_series() -> None:
    series, table = OTHERS["series"](), OTHERS["table"]().T
    same(lambda x, _: x[series > 2])
    same(lambda x, _: x[series.astype(int) - 1])
    same(lambda x, _: series[x > 2])
    same(lambda x, _: table[x > 2])
    same(lambda x, _: table.loc[x > 2, "a"])
    same(lambda x, _: table.iloc[x.astype(int) - 1])


def test_written_into_tables() -> None:
    def write(x: Any, module: Any) -> Any:
        table = OTHERS["table"]().T
        table.loc[x > 2, "a"] = x[x > 2] * 10
        table["c"] = x
        table.iloc[:2, 0] = x[:2]
        table[["d", "e"]] = module.outer(x, x)[:, :2]
        return table

    same(write)
    same(lambda x, _: _pandas().DataFrame({"a": x, "b": x.sum(), "c": x[0]}))
    same(lambda x, _: _pandas().Series(x, index=x.astype(int)))


def test_what_a_mask_hides_is_not_used() -> None:
    masked = OTHERS["masked"]()
    for function in (xp.sort, xp.unique, xp.average):
        assert str(function(masked)) == str(getattr(np, function.__name__)(masked))
    with pytest.raises(TypeError, match="no arrays of MaskedArray; asarray makes one of ours"):
        xp.linalg.matrix_norm(masked)


def test_scalars_are_numbers_for_isinstance() -> None:
    whole, real = xp.asarray(3)[()], xp.asarray(0.5)[()]
    assert isinstance(whole, numbers.Integral)
    assert isinstance(real, numbers.Real)
    assert not isinstance(real, numbers.Integral)
    assert isinstance(xp.asarray(1j)[()], numbers.Complex)
    assert not isinstance(xp.asarray(1j)[()], numbers.Real)
    for other in (xp.asarray(True)[()], xp.asarray(3), xp.asarray([1.0]), xp.ones((1, 1))):
        assert not isinstance(other, numbers.Number)
    assert type(real) is type(copy.deepcopy(real)) is type(pickle.loads(pickle.dumps(real))) is xp.Array
    assert isinstance(real, xp.Array)
    assert isinstance(real, float)
    assert isinstance(real, np.float64)
    assert isinstance(whole, np.int64)
    assert not isinstance(whole, int)
    assert isinstance(xp.asarray([True])[0], np.bool_)
    assert np.isscalar(real)
    for other in (xp.asarray(0.5), xp.asarray([0.5]), xp.ones((1, 1))):
        assert not isinstance(other, float | np.generic)


def test_scipy_writes_into_arrays() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    x = xp.asarray(np.outer(VALUES, VALUES))
    out = xp.zeros((4, 4))
    before = out + 1
    ndimage.uniform_filter(x, 3, output=out)
    assert np.array_equal(np.asarray(out), ndimage.uniform_filter(np.asarray(x), 3))
    assert np.array_equal(np.asarray(before), np.ones((4, 4)))


def test_pandas_groups_by_arrays() -> None:
    table = OTHERS["table"]().T
    same(lambda x, _: table.groupby(x > 2).sum())
    same(lambda x, _: table["a"].groupby(x.astype(int)).mean())
    same(lambda x, _: table.set_index(x))
    same(lambda x, _: list(map(list, _pandas().factorize(x[::-1]))))
    same(lambda x, _: _pandas().Categorical(x.astype(int)))


def test_searches_over_parameters_in_arrays() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    found = list(selection.ParameterGrid({"alpha": xp.asarray([0.5, 2.0]), "fit": [True]}))
    assert [float(p["alpha"]) for p in found] == [0.5, 2.0]


@pytest.mark.parametrize(
    "call", ["binary_erosion(x > 4, output=out)", "binary_hit_or_miss(x > 4, output=out)"]
)
def test_scipy_writes_into_masks(call: str) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    plain, wanted = np.outer(VALUES, VALUES), np.zeros((4, 4), bool)
    eval(f"ndimage.{call}", {"ndimage": ndimage, "x": plain, "out": wanted})
    x, out = xp.asarray(plain), xp.zeros((4, 4), dtype=bool)
    eval(f"ndimage.{call}", {"ndimage": ndimage, "x": x, "out": out})
    assert np.array_equal(np.asarray(out), wanted)


def test_scipy_writes_labels_and_distances() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    x, labels = xp.asarray(np.outer(VALUES, VALUES) > 4), xp.zeros((4, 4), dtype=xp.int32)
    assert ndimage.label(x, output=labels) == ndimage.label(np.asarray(x))[1]
    assert np.array_equal(np.asarray(labels), ndimage.label(np.asarray(x))[0])
    distances = xp.zeros((4, 4))
    ndimage.distance_transform_edt(x, distances=distances)
    assert np.array_equal(np.asarray(distances), ndimage.distance_transform_edt(np.asarray(x)))


def test_numpys_arrays_are_written_with_our_values() -> None:
    plain = np.zeros(4)
    np.place(plain, xp.asarray(VALUES > 2), xp.asarray([7.0, 8.0]))
    assert plain.tolist() == [0.0, 0.0, 7.0, 8.0]


@pytest.mark.parametrize("memory", [bytearray(16), array.array("d", [0.0, 0.0])])
def test_what_is_written_to_a_buffer_is_there(memory: Any) -> None:
    x = xp.frombuffer(memory)
    x[1] = xp.asarray(2.5)
    assert np.frombuffer(memory).tolist() == [0.0, 2.5]
    assert (x + xp.ones(2)).tolist() == [1.0, 3.5]
    assert type(xp.frombuffer(bytes(memory))) is xp.Array


class Wrapped:
    """An object of a program's own that can be made an array, ours in a program that imports us."""

    def __init__(self, namespace: Any) -> None:
        self.values = namespace.asarray([4.0, 1.0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values if dtype is None else self.values.astype(dtype)


WRAPPED = """
np.asarray(w)
np.asarray(w, dtype=int)
np.sqrt(w)
np.sum(w)
np.concatenate([w, w])
np.dot(w, w)
np.ones(2) + w
w - np.ones(2)
np.ones(2) == w
np.ones((2, 2)) @ w
"""


@pytest.mark.parametrize("call", WRAPPED.strip().splitlines())
def test_objects_that_can_be_made_arrays_of_ours_are_taken_for_these(call: str) -> None:
    mine, theirs = (eval(call, {"np": np_, "w": Wrapped(np_)}) for np_ in (xp, np))
    assert type(mine) is xp.Array
    assert str(mine) == str(theirs)


PANDAS = """
table.groupby("w")["p"].agg(np.mean)
table.groupby("w")["p"].apply(lambda g: np.sum(g))
table[["p", "q"]].apply(np.sum)
table[["p", "q"]].apply(lambda row: np.mean(row), axis=1)
table["p"].agg([np.sum, np.max])
table.pivot_table(index="w", values="p", aggfunc=np.sum)
"""


@pytest.mark.parametrize("call", PANDAS.strip().splitlines())
def test_pandas_finds_numbers_in_what_functions_give_it(call: str) -> None:
    table = _pandas().DataFrame({"p": [1.0, 2.0, 3.0], "q": [1, 2, 3], "w": list("uvu")})
    mine, theirs = (eval(call, {"np": np_, "table": table}) for np_ in (xp, np))
    assert str(mine) == str(theirs)
    assert str(getattr(mine, "dtypes", mine)) == str(getattr(theirs, "dtypes", theirs))


def test_scikit_learn_takes_ours_where_it_asks_for_numpys() -> None:
    weights = pytest.importorskip("sklearn.utils.class_weight").compute_class_weight
    ours = weights("balanced", classes=xp.asarray([0, 1]), y=xp.asarray([0, 0, 0, 1]))
    assert (
        np.asarray(ours).tolist()
        == weights("balanced", classes=np.arange(2), y=np.asarray([0, 0, 0, 1])).tolist()
    )


MASKED = """
m = np.ma.array(x); m[0] = 9
m = np.ma.array(x, mask=x > 2); m[0] = 9
m = np.ma.array(x); m[1] = np.ma.masked
m = np.ma.asarray(x); m.sort()
m = np.ma.array(x); m.fill(3)
m = np.ma.array(x.reshape(2, 2)); m.T[0] = 1
m = np.ma.masked_greater(x, 2); m[0] = 9
m = np.ma.masked_where(x > 2, x); m += x
m = x; m += np.ma.array([1.0, 2, 3, 4], mask=[0, 1, 0, 0])
m = x; m *= np.matrix([1.0, 2, 3, 4])
m = x.reshape(1, 4); m *= np.matrix([1.0, 2, 3, 4])
m = x; m[:] = np.ma.array([1.0, 2, 3, 4], mask=[0, 1, 0, 0])
m = x[0]; m += np.ma.array([1.0, 2], mask=[0, 1])
m = np.matrix(x); m[0, 0] = 9
m = np.asmatrix(np.eye(2)) * x.reshape(2, 2)
m = x.reshape(2, 2) * np.matrix([[1.0, 2], [3, 4]])
m = x ** np.matrix([1.0, 2, 3, 4])
"""


@pytest.mark.parametrize("program", MASKED.strip().splitlines())
def test_masked_arrays_and_matrices_are_written(program: str) -> None:
    results = []
    for np_ in (xp, np):
        names: dict[str, Any] = {"np": np_, "x": np_.asarray(VALUES)}
        try:
            exec(program, names)
        except ValueError as error:
            results.append(type(error))
        else:
            m = names["m"]
            kind = np.ndarray if type(m) is xp.Array else type(m)
            results.append((kind, repr(np.ma.asarray(m))))
    assert results[0] == results[1]


LINALG = """
cholesky(m.T @ m)
cond(m)
det(m)
eig(m)
eigh(m + m.T)
eigvals(m)
eigvalsh(m + m.T)
inv(m)
lstsq(m, b)
matrix_power(m, 2)
matrix_rank(m)
multi_dot([m, m])
norm(m)
pinv(m)
qr(m)
slogdet(m)
solve(m, b)
svd(m)
trace(m)
"""


@pytest.mark.parametrize("call", LINALG.strip().splitlines())
def test_linear_algebra_of_matrices_is_numpys(call: str) -> None:
    m = np.matrix([[1.0, 2.0], [3.0, 5.0]])
    names = {"m": m, "b": np.matrix([[1.0], [2.0]])}
    ours, theirs = (eval(f"linalg.{call}", {"linalg": np_.linalg, **names}) for np_ in (xp, np))
    for mine, wanted in zip(*[y if isinstance(y, tuple) else (y,) for y in (ours, theirs)], strict=True):
        assert isinstance(mine, np.matrix) == isinstance(wanted, np.matrix)
        np.testing.assert_allclose(np.asarray(mine), np.asarray(wanted), 1e-12)
