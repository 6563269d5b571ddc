"""Arrays that come from files and data sets part by part, and go back."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
import pytest
from distributed import Client

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, ShardingError, load, save, shard
from nabla_array.distributed import dask_engine as engines

from .clusters import mesh_of, processes, tasks_of, threads, until

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(37, 6))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with threads(2) as client:
        yield client


@pytest.fixture(params=["local", "dask"])
def mesh(request: pytest.FixtureRequest, client: Client) -> DeviceMesh:
    return DeviceMesh((4,), ("x",)) if request.param == "local" else mesh_of(client, 4)


class DataSet:
    """What data sets have in common; it notes what is read and written."""

    def __init__(self, data: np.ndarray) -> None:
        self.data, self.shape, self.dtype = data, data.shape, data.dtype
        self.seen: list[tuple[int, ...]] = []

    def __getitem__(self, key: Any) -> np.ndarray:
        self.seen.append(self.data[key].shape)
        return self.data[key].copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        self.seen.append(np.shape(value))
        self.data[key] = value

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("nobody may have all of it")

    def __reduce__(self) -> Any:  # workers in this process share it
        return _set, (id(self),)


_SETS: dict[int, DataSet] = {}


def _set(number: int) -> DataSet:
    return _SETS[number]


def data_set(data: np.ndarray) -> DataSet:
    found = DataSet(data)
    _SETS[id(found)] = found
    return found


@pytest.mark.parametrize("spec", [P("x"), P(None, "x"), P(), None])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["<f8", ">f4", "?", "<i2", "<c16"])
def test_files(mesh: DeviceMesh, tmp_path: Path, spec: Any, order: Any, dtype: str) -> None:
    wanted = np.asarray(DATA.astype(dtype), order=order)
    np.save(tmp_path / "x.npy", wanted)
    x = load(tmp_path / "x.npy", mesh, spec)
    assert (x.shape, x.dtype, x.device) == (wanted.shape, wanted.dtype.newbyteorder("="), mesh)
    assert x.sharding == shard(wanted.astype(x.dtype), mesh, spec).sharding
    np.testing.assert_array_equal(x, wanted)
    np.testing.assert_array_equal(x + x, wanted + wanted)
    np.testing.assert_array_equal(xp.flip(x, axis=0), wanted[::-1])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 3, 5)])
def test_shapes_there_and_back(mesh: DeviceMesh, tmp_path: Path, shape: tuple[int, ...]) -> None:
    wanted = RNG.normal(size=shape)
    np.save(tmp_path / "x.npy", wanted)
    x = load(str(tmp_path / "x.npy"), mesh, P("x") if shape else None)
    np.testing.assert_array_equal(x, wanted)
    save(tmp_path / "y.npy", x)
    found = np.load(tmp_path / "y.npy")
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(found, wanted)


def test_archives(mesh: DeviceMesh, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=DATA, labels=np.arange(37))
    found = load(tmp_path / "x.npz", mesh, P("x"))
    assert [*found] == ["a", "labels"]
    np.testing.assert_array_equal(found["a"], DATA)
    np.testing.assert_array_equal(found["labels"] + 1, np.arange(37) + 1)
    np.savez_compressed(tmp_path / "y.npz", a=DATA)
    with pytest.raises(ValueError, match=r"load: 'a' of .* is compressed.*numpy.savez wrote"):
        load(tmp_path / "y.npz", mesh)


def test_data_sets_are_read_part_by_part(mesh: DeviceMesh) -> None:
    source = data_set(DATA)
    x = load(source, mesh, P("x"))
    np.testing.assert_array_equal(x * 2, DATA * 2)
    assert sorted(source.seen) == [(7, 6), (10, 6), (10, 6), (10, 6)]
    target = data_set(np.zeros_like(DATA))
    save(target, x * 2)
    np.testing.assert_array_equal(target.data, DATA * 2)
    assert sorted(target.seen) == [(7, 6), (10, 6), (10, 6), (10, 6)]


COMPUTED: list[tuple[int, int]] = []


def _block(block_id: Any = None) -> np.ndarray:
    COMPUTED.append(block_id)
    rows, columns = (slice(n * i, n * (i + 1)) for n, i in zip((10, 3), block_id, strict=True))
    return DATA[rows, columns]


def test_dask_arrays(mesh: DeviceMesh) -> None:
    del COMPUTED[:]
    source = dask.array.map_blocks(_block, chunks=((10, 10, 10, 7), (3, 3)), meta=DATA[:0])
    x = load(source, mesh, P(None, "x"))
    np.testing.assert_array_equal(x, DATA)
    assert sorted(COMPUTED) == [(i, j) for i in range(4) for j in range(2)]  # each chunk once
    unknown = source[source[:, 0] > 0]
    with pytest.raises(
        ShardingError, match=r"load: the shape \(nan, 6\) is not known; .*compute_chunk_sizes"
    ):
        load(unknown, mesh, P("x"))


def test_chunks_go_from_worker_to_worker(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    source = dask.array.from_array(DATA, chunks=5) * 2
    with monkeypatch.context() as patch:
        patch.setattr(client, "gather", None)
        x = xp.eval(load(source, mesh_of(client, 4), P("x")) + 1)
    np.testing.assert_array_equal(x, DATA * 2 + 1)


def test_workers_read_and_write_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DATA)
    with processes(2) as client:
        mesh = mesh_of(client, 4)
        x = load(tmp_path / "x.npy", mesh, P("x"))
        # A part is what is in the file, for as long as nobody computes with it.
        assert until(lambda: len(tasks_of(client)) == 4)
        assert until(lambda: sum([w.nbytes for w in client.cluster.scheduler.workers.values()]) < 4 * 1000)
        opened = []
        file = np.lib.format.open_memmap

        def noted(*args: Any, **kwargs: Any) -> Any:
            opened.append(args)
            return file(*args, **kwargs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np.lib.format, "open_memmap", noted)
            save(tmp_path / "y.npy", x + 1)
    assert not opened
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), DATA + 1)
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy"]


def test_workers_that_do_not_share_files(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = shard(DATA, mesh_of(client, 4), P("x"))
    run = engines.tasks.call
    fetched = []

    def elsewhere(function: Any, arguments: Any, places: Any, results: Any) -> Any:
        return (False,) if function.__name__ == "write" else run(function, arguments, places, results)

    def one_by_one(self: Any, shards: Any, what: Any = "") -> Any:
        found = fetch(self, shards, what)
        fetched.append(sum([np.size(f) for f in found]))
        return found

    fetch = engines.Dask.fetch
    monkeypatch.setattr(engines.tasks, "call", elsewhere)
    monkeypatch.setattr(engines.Dask, "fetch", one_by_one)
    save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), DATA)
    assert max(fetched) == 60


def test_a_file_that_changes(mesh: DeviceMesh, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DATA)
    x = load(tmp_path / "x.npy", mesh, P("x"))
    save(tmp_path / "x.npy", x + 1)
    os.utime(tmp_path / "x.npy", ns=(1, 1))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), DATA + 1)
    if mesh.engine.name == "local":  # which has the old file still
        np.testing.assert_array_equal(x, DATA)
    else:
        with pytest.raises(ValueError, match=r"x\.npy has changed since it was loaded; loading it again"):
            np.asarray(x)


def test_what_is_no_source(mesh: DeviceMesh, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"load: list is no source; a file's name, or something with shape"):
        load([1.0], mesh)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npy", mesh)
    (tmp_path / "text.npy").write_text("1 2 3")
    with pytest.raises(
        ValueError, match=r"load: .*text.npy is no file of numpy.save .*; .npy or .npz would work"
    ):
        load(tmp_path / "text.npy", mesh)
    np.save(tmp_path / "objects.npy", np.asarray([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"load: .* has Python objects, which are never read from files"):
        load(tmp_path / "objects.npy", mesh)
    np.save(tmp_path / "x.npy", DATA)
    with pytest.raises(ShardingError, match=r"load: P.* has 3 entries for an array of shape"):
        load(tmp_path / "x.npy", mesh, P(None, None, "x"))
    with pytest.raises(ShardingError, match=r"load: no mesh was given; load\(x, mesh, spec\) would work"):
        load(tmp_path / "x.npy")
    with mesh:
        assert load(tmp_path / "x.npy", spec=P("x")).sharding.mesh == mesh


def test_a_data_set_that_gives_something_else(mesh: DeviceMesh) -> None:
    source = data_set(DATA)
    source.shape = (40, 6)
    with pytest.raises(
        ValueError, match=r"load: DataSet gives \(7, 6\) for .* of \(40, 6\); .* gives \(10, 6\)"
    ):
        np.asarray(load(source, mesh, P("x")))


def test_what_is_no_target(mesh: DeviceMesh, tmp_path: Path) -> None:
    x = shard(DATA, mesh, P("x"))
    with pytest.raises(ValueError, match=r"save: ndarray of shape \(2,\) takes no array of shape \(37, 6\)"):
        save(np.zeros(2), x)
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "none" / "x.npy", x)


def test_arrays_of_the_host(tmp_path: Path) -> None:
    save(tmp_path / "x", xp.asarray(DATA) * 2)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), DATA * 2)


@pytest.fixture(scope="module")
def workers() -> Iterator[Client]:
    with processes(2) as client:
        yield client


@pytest.fixture(params=["local", "dask"])
def far(request: pytest.FixtureRequest, workers: Client) -> DeviceMesh:
    """Return a mesh whose devices are in other processes, or threads."""
    return DeviceMesh((4,), ("x",)) if request.param == "local" else mesh_of(workers, 4, timeout=60)


SPECS = [P("x"), P(None, "x"), P(), None]
HELD = ["f8", ">f4", "f2", "?", "<i2", "u8", "c16"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype", HELD)
def test_hdf5(far: DeviceMesh, tmp_path: Path, spec: Any, dtype: str) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is optional")
    wanted = (DATA * 9).astype(dtype)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("group/x", data=wanted, chunks=(5, 4), compression="gzip", shuffle=True)
        y = file.create_dataset("y", DATA.shape, dtype, chunks=(7, 5), compression="gzip", maxshape=(None, 6))
        save(y, shard(wanted.astype(y.dtype.newbyteorder("=")), far, spec))
        np.testing.assert_array_equal(y[...], wanted)
    with h5py.File(tmp_path / "x.h5") as file:
        for name in ("group/x", "y"):
            x = load(file[name], far, spec)
            assert (x.shape, x.dtype) == (wanted.shape, wanted.dtype.newbyteorder("="))
            assert x.sharding == shard(DATA, far, spec).sharding
            np.testing.assert_array_equal(x, wanted)
            np.testing.assert_array_equal(xp.flip(x, axis=0), wanted[::-1])


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2, 3, 5)])
def test_shapes_of_data_sets(far: DeviceMesh, tmp_path: Path, shape: tuple[int, ...]) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is optional")
    zarr = pytest.importorskip("zarr", reason="Zarr is optional")
    wanted, spec = RNG.normal(size=shape), P("x") if shape else None
    with h5py.File(tmp_path / "x.h5", "w") as file:
        save(file.create_dataset("x", shape, "f8"), shard(wanted, far, spec))
    stored = zarr.create_array(tmp_path / "x.zarr", shape=shape, dtype="f8")
    save(stored, shard(wanted, far, spec))
    with h5py.File(tmp_path / "x.h5") as file:
        for source in (file["x"], stored):
            np.testing.assert_array_equal(load(source, far, spec), wanted)


def test_hdf5_files_that_workers_cannot_open(far: DeviceMesh, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is optional")
    with h5py.File(tmp_path / "x.h5", "w") as file, h5py.File("x", "w", "core", backing_store=False) as mine:
        file["x"] = mine["x"] = DATA
        for source, says in (
            (file["x"], r"x\.h5 is open for writing in this process, .*; a data set of h5py\.File"),
            (mine["x"], r"is in this process's memory, so that no worker can read it; shard\(x\[\.\.\.\]"),
        ):
            if far.engine.name == "local":
                np.testing.assert_array_equal(load(source, far, P("x")), DATA)
            else:
                with pytest.raises(ValueError, match=f"load: .*{says}"):
                    load(source, far, P("x"))
        closed = file["x"]
    with pytest.raises(ValueError, match=r"load: the data set's file is closed; one that is open would work"):
        load(closed, far, P("x"))
    with pytest.raises(ValueError, match=r"x\.h5 is no file of numpy\.save .* h5py\.File\(path\)\[name\]"):
        load(tmp_path / "x.h5", far, P("x"))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype", ["f8", ">f4", "?"])
@pytest.mark.parametrize("kind", [{"zarr_format": 2}, {"zarr_format": 3}, {"shards": (10, 4)}])
def test_zarr(far: DeviceMesh, tmp_path: Path, spec: Any, dtype: str, kind: dict[str, Any]) -> None:
    zarr = pytest.importorskip("zarr", reason="Zarr is optional")
    wanted = (DATA * 9).astype(dtype)
    stored = zarr.create_array(tmp_path / "x.zarr", shape=DATA.shape, chunks=(5, 4), dtype=dtype, **kind)
    save(stored, shard(wanted.astype(wanted.dtype.newbyteorder("=")), far, spec))
    np.testing.assert_array_equal(stored[...], wanted)
    x = load(zarr.open_array(tmp_path / "x.zarr", mode="r"), far, spec)
    assert (x.shape, x.dtype) == (wanted.shape, wanted.dtype.newbyteorder("="))
    assert x.sharding == shard(DATA, far, spec).sharding
    np.testing.assert_array_equal(x, wanted)
    np.testing.assert_array_equal(xp.flip(x, axis=0), wanted[::-1])


def test_members_of_groups_are_sources(far: DeviceMesh, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", reason="Zarr is optional")
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    group.create_array("x", data=DATA)
    np.testing.assert_array_equal(load(group["x"], far, P("x")), DATA)
    with pytest.raises(
        TypeError, match=r"load: Group is no source; .*, as the members of a group, would work"
    ):
        load(group, far, P("x"))
    with pytest.raises(ValueError, match=r"x\.zarr is a directory; .*zarr\.open_array\(path\)"):
        load(tmp_path / "x.zarr", far, P("x"))
    group.create_array("names", shape=(3,), dtype=str)
    with pytest.raises(TypeError, match=r"load: no arrays of dtype StringDType\(\); numbers and booleans"):
        load(group["names"], far, P("x"))


@pytest.mark.slow
def test_this_process_holds_no_part_of_large_data(tmp_path: Path) -> None:
    """What it holds is the same for 2 MB and for 32 MB: files are read, computed with, and written there."""
    peaks = []
    with processes(2) as client:
        mesh = mesh_of(client, 2, timeout=60)
        for rows in (
            1000,
            1000,
            16_000,
        ):  # the first one, with what is imported and planned, counts for nothing
            path = tmp_path / f"{rows}.npy"
            np.save(path, np.ones((rows, 250)))
            tracemalloc.start()
            x = load(path, mesh, P("x"))
            total = float(xp.sum(xp.exp(x - x.mean(axis=0))))
            save(tmp_path / "out.npy", xp.sqrt(x) + xp.sum(x, axis=0))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert total == rows * 250
    assert peaks[2] < peaks[1] + (1 << 20)
