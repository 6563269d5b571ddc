"""Sorting along an axis that is cut, without bringing it together: the order is NumPy's stable one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, shard, simulate
from nabla_array.distributed.rules import sorting
from nabla_array.transforms import grad

from .clusters import threads
from .meshes import MESHES, moved, on_mesh, parted, random_layout, recorded

DTYPES = ("f8", "f4", "i8", "i1", "u2", "?", "c16")


@pytest.fixture(autouse=True, scope="module")
def small_ones_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_LARGE", 0)
        yield


def some(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return values of which many are equal, the least and the largest ones among them."""
    x = rng.integers(0, 2 if dtype == "?" else 9, shape).astype(dtype)
    if x.dtype.kind in "fc":
        x[x == 0], x[x == 1], x[x == 2], x[x == 3] = np.nan, -np.inf, np.inf, -0.0
    elif x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        x[x == 0], x[x == 1] = info.min, info.max
    return x


@settings(max_examples=150)
@given(st.data())
def test_the_same_as_numpy(data: st.DataObject) -> None:
    mesh = data.draw(st.sampled_from(MESHES))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 16)))
    shape = (*data.draw(st.lists(st.integers(0, 2), max_size=2)), data.draw(st.integers(0, 40)))
    axis = data.draw(st.integers(-1, len(shape) - 1))
    x = np.moveaxis(some(data.draw(st.sampled_from(DTYPES)), shape, rng), -1, axis).copy()
    options = {"axis": axis, "descending": data.draw(st.booleans())}
    program, values = recorded(lambda x: (xp.sort(x, **options), xp.argsort(x, **options)), [x])
    layouts = [random_layout(mesh, x.shape, rng, sums=True), *[None] * (len(values) - 1)]
    found, order = on_mesh(program, mesh, values, layouts)
    wanted = np.argsort((-x if x.dtype.kind in "fc" else ~x) if options["descending"] else x, axis, "stable")
    np.testing.assert_array_equal(order, wanted)
    np.testing.assert_array_equal(found, np.take_along_axis(x, wanted, axis))


@settings(max_examples=150)
@given(st.data())
def test_searching_where_it_is_cut(data: st.DataObject) -> None:
    mesh = data.draw(st.sampled_from(MESHES))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 16)))
    dtype, side = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(["left", "right"]))
    x = np.sort(some(dtype, (data.draw(st.integers(0, 40)),), rng))
    wanted = some(dtype, tuple(data.draw(st.lists(st.integers(0, 9), max_size=2))), rng)
    program, values = recorded(lambda x, y: (xp.searchsorted(x, y, side=side), xp.isin(y, x)), [x, wanted])
    layouts = [*[random_layout(mesh, v.shape, rng, sums=True) for v in values[:2]], *[None] * len(values[2:])]
    places, among = on_mesh(program, mesh, values, layouts)
    np.testing.assert_array_equal(places, np.searchsorted(x, wanted, side=side))
    np.testing.assert_array_equal(among, np.isin(wanted, x))


def test_what_moves_to_search() -> None:
    mesh, many, few = DeviceMesh(4, "i"), np.arange(4096.0), np.arange(64.0)
    search = xp.searchsorted
    # Few values are looked for in each part, and the places added; few parts go to many values.
    assert moved(parted(search, mesh, (many, P("i")), (few, P()))) == [("all_reduce", 64 * 8 * 2 * 3 / 4)]
    assert moved(parted(search, mesh, (many, P()), (few, P("i")))) == []
    assert moved(parted(search, mesh, (few, P("i")), (many, P("i")))) == [("all_gather", 64 * 8 * 3 / 4)]
    assert moved(parted(lambda x, y: xp.isin(y, x), mesh, (many, P("i")), (few, P()))) == [
        ("all_reduce", 64 * 2 * 3 / 4)
    ]


@pytest.mark.parametrize("many", [2, 3, 4, 8])
def test_a_device_receives_no_more_than_all_of_the_others(many: int) -> None:
    x = np.arange(96.0)
    steps = moved(parted(xp.sort, DeviceMesh(many, "i"), (x, P("i"))))
    assert [kind for kind, _ in steps] == ["ppermute"] * (many if many > 2 else 1)
    assert sum(nbytes for _, nbytes in steps) == pytest.approx(x.nbytes * (many - 1) / many)


def test_memory_is_that_of_a_few_parts() -> None:
    x = shard(xp.zeros(1 << 20), DeviceMesh(2, "i"), P("i"))
    assert simulate(xp.sort, 32, x).memory < x.nbytes / 4


def test_another_axis_is_cut_instead_where_there_is_one() -> None:
    x = np.ones((8, 8))
    assert [kind for kind, _ in moved(parted(xp.sort, DeviceMesh(4, "i"), (x, P(None, "i"))))] == [
        "all_to_all"
    ]


def test_what_sorting_is_used_for() -> None:
    x = np.random.default_rng(0).normal(size=50)
    y = shard(x, DeviceMesh(4, "i"), P("i"))
    assert xp.sort(y).sharding.partition_spec == P("i")
    np.testing.assert_array_equal(np.asarray(xp.sort(y)[::-1][:3]), np.sort(x)[::-1][:3])
    np.testing.assert_array_equal(np.asarray(y[xp.argsort(y)]), np.sort(x))
    np.testing.assert_array_equal(np.asarray(xp.unique_values(y)), np.unique(x))
    weights = np.arange(50.0)
    slope = grad(lambda y: xp.sum(xp.sort(y) * weights))(y)
    np.testing.assert_array_equal(np.asarray(slope), weights[np.argsort(np.argsort(x))])


def test_on_workers() -> None:
    x = some("f8", (41,), np.random.default_rng(1))
    with threads(2) as client:
        y = shard(x, DeviceMesh(3, "i", engine="dask", client=client), P("i"))
        np.testing.assert_array_equal(np.asarray(xp.argsort(y)), np.argsort(x, kind="stable"))
        np.testing.assert_array_equal(np.asarray(xp.sort(y)), np.sort(x))
