"""Functions of other libraries that are handed NumPy's arrays for ours."""

from __future__ import annotations

import importlib
import pickle
import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.interop.doors import (
    DOORS,
    Door,
    _open,
    copy,
    door,
    is_compiled,
    lent,
    number,
    put_in,
    same,
    shared,
)
from nabla_array.distributed import DeviceMesh, P, shard
from nabla_array.transforms import grad


def given(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def test_arrays_are_found_in_lists_tuples_and_dicts() -> None:
    x, s = xp.asarray([1.0, 2.0]), xp.asarray(3.0)
    (a, b, c), named = door(given, copy)(x, [s, (x, "t")], 1, d={"e": s})
    assert type(a) is np.ndarray
    assert a.tolist() == [1.0, 2.0]
    assert type(b[0]) is np.float64
    assert type(b[1][0]) is np.ndarray
    assert (b[1][1], c, named) == ("t", 1, {"d": {"e": 3.0}})


def test_lists_of_our_numbers_become_arrays_where_a_row_says_so() -> None:
    x = xp.asarray([1.0, 2.0])
    f = door(given, same, lists=True)
    (a, b, c, d, e), named = f(list(x), [x[0], 3], [x[0], "t"], [1.0, x[0]], x, f=list(x))
    assert type(a) is type(b) is np.ndarray
    assert (a.tolist(), b.tolist(), c, d) == ([1.0, 2.0], [1.0, 3.0], [1.0, "t"], [1.0, 1.0])
    assert type(c) is type(d) is list
    assert e is x
    assert type(named["f"]) is list  # a colour, perhaps, which is asked for again


def test_an_array_that_is_given_twice_stays_one() -> None:
    x, y = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 2.0])
    (a, (b, c)), named = door(given, copy)(x, [x, y], d=x)
    assert a is b is named["d"]
    assert a is not c


def test_what_holds_no_array_of_ours_is_handed_on_itself() -> None:
    things = ([1, [2]], (3, "four"), np.ones(2), "text")
    assert all(a is b for a, b in zip(door(given, copy)(*things)[0], things, strict=True))


def test_what_is_given() -> None:
    x = xp.asarray([1.0, 2.0])
    assert number(x) is x
    assert type(number(x[0])) is np.float64
    copy(x)[0] = 5
    assert x.tolist() == [1.0, 2.0]
    assert lent(x).tolist() == [1.0, 2.0]
    assert not lent(x).flags.writeable
    shared(x)[0] = 5
    assert x.tolist() == [5.0, 2.0]
    assert type(shared(x[0])) is np.float64


def test_a_value_that_is_differentiated_does_not_leave() -> None:
    with pytest.raises(TypeError, match="stop_gradient"):
        grad(lambda x: xp.sum(door(lambda a: xp.asarray(a), copy)(x)))(xp.asarray([1.0]))


def test_names_that_a_package_has_already_imported_are_replaced() -> None:
    home, user, other = (
        ModuleType("doors_package.home"),
        ModuleType("doors_package.user"),
        ModuleType("doors"),
    )
    home.function = user.alias = other.function = given  # type: ignore[attr-defined]
    sys.modules.update({m.__name__: m for m in (home, user, other)})
    try:
        put_in(home, {"function": door(given, copy)})
    finally:
        for m in (home, user, other):
            del sys.modules[m.__name__]
    assert home.function is user.alias is not given  # type: ignore[attr-defined]
    assert other.function is given  # type: ignore[attr-defined]


def test_names_that_another_release_does_not_have_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kind:
        def there(self, x: Any) -> Any:
            return x

    module = ModuleType("release")
    module.function, module.Kind = given, Kind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "release", module)
    row = Door("release", "function Kind.there Kind.gone gone Gone.method", copy, "is tried")
    with pytest.warns(RuntimeWarning, match=r"release does not know .*has no Kind.gone, gone, Gone.method;"):
        _open(row, module)
    x = xp.asarray([1.0, 2.0])
    assert type(module.function(x)[0][0]) is type(Kind().there(x)) is np.ndarray


# Modules of other releases than those that the tests are run with.
OTHER_RELEASES = {"_pytest.python_api"}


@pytest.mark.parametrize(
    "row", [d for d in DOORS if d.module not in OTHER_RELEASES], ids=lambda row: f"{row.module}: {row.names}"
)
def test_a_door_stands_where_the_row_says(row: Any) -> None:
    package = row.module.partition(".")[0]
    pytest.importorskip(package, reason=f"{package} is optional")
    module = importlib.import_module(row.module)
    if row.names == "*":
        assert any(hasattr(f, "__wrapped__") for f in vars(module).values())
        assert not any(map(is_compiled, vars(module).values()))
        return
    for name in row.names.split():
        owner, _, last = name.rpartition(".")
        home = getattr(module, owner) if owner else module
        stands = home if isinstance(home, FunctionType) else getattr(home, last)
        assert hasattr(stands, "__wrapped__"), name


def test_sparse_factors_solve_with_our_arrays() -> None:
    pytest.importorskip("scipy", reason="SciPy is optional")
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import SuperLU, factorized, spilu, splu

    a, b = csc_array([[4.0, 1, 0], [1, 4, 1], [0, 1, 4]]), np.asarray([1.0, 2.0, 3.0])
    for make in (splu, spilu):
        factors = make(a)
        assert isinstance(factors, SuperLU)
        assert factors.shape == (3, 3)
        assert np.array_equal(factors.solve(xp.asarray(b), trans="T"), factors.solve(b, trans="T"))
    assert np.array_equal(factorized(a)(xp.asarray(b)), factorized(a)(b))


def test_a_class_with_a_door_pickles() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is optional")
    one = pd.Timedelta(xp.asarray([2])[0], unit="h")
    assert pickle.loads(pickle.dumps(one)) == one == pd.Timedelta(2, unit="h")


def test_seeds_may_be_ours_for_everybody() -> None:
    for seed in (np.asarray(7), np.asarray([3, 1, 4])):
        wanted = np.random.default_rng(seed if seed.shape else int(seed)).random(2)
        assert np.array_equal(np.random.default_rng(xp.asarray(seed)).random(2), wanted)


def test_fused_functions_of_cython_take_our_arrays() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is optional")
    from sklearn.linear_model import lars_path
    from sklearn.utils.arrayfuncs import min_pos

    assert min_pos(xp.asarray([0.0, -1.0, 2.0, 3.0])) == 2.0
    x, y = np.array([[1.0, 2.3], [2.0, 5.4], [3.1, 4.3]]), np.array([1.0, 2.0, 3.1])
    found, wanted = lars_path(xp.asarray(x), xp.asarray(y), method="lasso"), lars_path(x, y, method="lasso")
    for ours, numpys in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(ours), numpys, atol=1e-12)


def test_pandas_knows_numbers_of_ours_that_are_none() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is optional")
    nan, one = xp.asarray([np.nan, 1.0])
    assert pd.isna(nan) is True
    assert pd.notna(one) is True
    assert pd.Series([1.0, np.nan]).isin([nan]).tolist() == [False, True]
    assert pd.arrays.SparseArray([np.nan, 1.0], fill_value=nan).sp_values.tolist() == [1.0]


def test_pandas_takes_a_table_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is optional")
    x = xp.asarray(np.arange(12.0).reshape(6, 2))
    monkeypatch.setattr(xp.Array, "__iter__", lambda self: pytest.fail("row by row"))
    for options in ({}, {"dtype": "float32"}, {"columns": ["a", "b"], "copy": False}):
        assert pd.DataFrame(x, **options).equals(pd.DataFrame(np.arange(12.0).reshape(6, 2), **options))


def test_blas_changes_our_vectors_in_place() -> None:
    blas = pytest.importorskip("scipy.linalg.blas", reason="SciPy is optional")
    x, y = xp.asarray([1.0, 2.0]), xp.asarray([10.0, 20.0])
    before = y + 0
    blas.daxpy(x, y, a=3.0)
    assert y.tolist() == [13.0, 26.0]
    assert before.tolist() == [10.0, 20.0]
    blas.dscal(2.0, y)
    blas.dswap(x, y)
    assert (x.tolist(), y.tolist()) == ([26.0, 52.0], [1.0, 2.0])
    assert blas.get_blas_funcs("axpy", (np.ones(2),))(x, y).tolist() == y.tolist() == [27.0, 54.0]


def test_solvers_take_the_sparsity_of_jacobians() -> None:
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is optional")
    found, wanted = [
        optimize.least_squares(lambda p: p**2 - 1, [2.0, 3.0], jac_sparsity=make(np.eye(2))).x
        for make in (xp.asarray, np.asarray)
    ]
    assert np.array_equal(found, wanted)


def test_pandas_finds_labels_that_are_ours() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is optional")
    one, half, yes = xp.asarray([1, 5])[0], xp.asarray([0.5, 2.5])[0], xp.asarray([True])[0]
    table = pd.DataFrame([[3.0, 4.0], [5.0, 6.0]], index=[1, 5], columns=[0.5, 2.5])
    assert table.loc[one, half] == table.at[one, half] == table[half][one] == 3.0
    assert one in table.index
    assert half in table.columns
    assert half not in table.index
    assert pd.Series([7, 8], index=[True, False])[yes] == 7
    pairs = pd.Series([1, 2], index=pd.MultiIndex.from_tuples([(1, 0.5), (5, 2.5)]))
    assert pairs.loc[one, half] == 1
    assert (one, half) in pairs.index
    assert pairs.loc[one].tolist() == [1]
    assert one in pd.CategoricalIndex([1, 5])
    assert pd.Index([1, 5]).delete(xp.asarray([0])).tolist() == [5]
    with pytest.raises(KeyError):
        table.loc[half]


def test_pandas_writes_numbers_that_are_ours() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is optional")
    half, x = xp.asarray([0.5])[0], xp.asarray([3.0, 1.0])
    table = pd.DataFrame({"a": [3.0, 1.0], "b": [0.0, 2.0]})
    assert pd.DataFrame({"a": x, "b": x.mean()}).dtypes.tolist() == ["float64", "float64"]
    assert table.clip(upper=half).equals(table.clip(upper=0.5))
    table[table > 1] = half
    assert table.to_dict("list") == {"a": [0.5, 1.0], "b": [0.0, 0.5]}
    assert pd.to_numeric(x, downcast="integer").dtype == "int8"
    assert pd.api.types.infer_dtype([xp.asarray([2])[0]]) == "integer"
    assert pd.io.json.ujson_dumps({"a": half}) == '{"a":0.5}'


def test_fused_functions_of_scikit_image_take_our_arrays() -> None:
    measure = pytest.importorskip("skimage.measure", reason="scikit-image is optional")
    from skimage.morphology import area_opening, max_tree

    x = np.arange(36, dtype=np.uint8).reshape(6, 6) % 7
    assert np.array_equal(area_opening(xp.asarray(x), 3), area_opening(x, 3))
    for ours, numpys in zip(max_tree(xp.asarray(x)), max_tree(x), strict=True):
        assert np.array_equal(ours, numpys)
    nu = measure.moments_normalized(measure.moments_central(x.astype(float)))
    assert np.array_equal(measure.moments_hu(xp.asarray(nu)), measure.moments_hu(nu), equal_nan=True)


def test_dask_is_written_to_at_scalars() -> None:
    da = pytest.importorskip("dask.array", reason="Dask is optional")
    x = da.from_array(np.zeros(4), chunks=2)
    x[xp.asarray([1, 2])[1]] = xp.asarray([0.5])[0]
    assert x.compute().tolist() == [0.0, 0.0, 0.5, 0.0]


def test_pillow_takes_lists_of_scalars() -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is optional")
    picture = pillow.new("L", (2, 2))
    picture.putdata(list(xp.asarray([1, 2, 3, 4])))
    assert np.asarray(picture).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_matrices_whose_elements_are_ours(layout: str) -> None:
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is optional")
    table = np.arange(36.0).reshape(6, 6) * (np.arange(36).reshape(6, 6) % 5 == 1)
    mine, theirs = (sparse.csr_array(table).asformat(layout) for _ in range(2))
    mine.data = xp.where(xp.asarray(mine.data) > 20.0, 0.0, xp.asarray(mine.data) * 2.0)
    theirs.data = np.where(theirs.data > 20.0, 0.0, theirs.data * 2.0)
    for kind in ("csr", "csc", "coo", "bsr"):
        assert np.array_equal(mine.asformat(kind).toarray(), theirs.toarray())
    assert np.array_equal(
        sparse.hstack([mine, mine.T]).toarray(), sparse.hstack([theirs, theirs.T]).toarray()
    )
    for name in ("eliminate_zeros", "sum_duplicates", "sort_indices"):
        if hasattr(mine, name):
            getattr(mine, name)()
            getattr(theirs, name)()
    assert mine.nnz == theirs.nnz
    assert np.array_equal((mine @ mine).toarray(), (theirs @ theirs).toarray())


def test_an_array_on_a_mesh_stays_there_and_is_written_to() -> None:
    mesh = DeviceMesh((2,), ("rows",))
    x, y = (shard(xp.arange(4.0), mesh, P("rows")) for _ in range(2))

    def scale(x: np.ndarray, by: np.ndarray) -> np.ndarray:
        x *= by
        return x

    assert door(scale, shared)(x, y).tolist() == [0.0, 1.0, 4.0, 9.0]
    assert (x.tolist(), y.tolist()) == ([0.0, 1.0, 4.0, 9.0], [0.0, 1.0, 2.0, 3.0])
    assert x.device == y.device == shard(xp.arange(4.0), mesh, P("rows")).device != xp.arange(4.0).device
