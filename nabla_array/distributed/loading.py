"""Arrays that come from files and data sets straight into their parts, and go back the same way."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import numpy as np

from .._lazy.graph.aval import aval_of
from .._lazy.graph.node import Node
from .._lazy.ops.placement import resident
from .._lazy.run.evaluator import evaluate
from .._namespace.chapters.creation import asarray
from .._namespace.core.array import Array, check_device, current
from .._namespace.core.promotion import UnheldDtypeError
from .arrays import mesh_for, reshard, shard
from .errors import ShardingError
from .held import Sharded
from .layouts import indices
from .mesh import DeviceMesh
from .sources import Indexed, created, in_hdf5, native, stored
from .specs import as_spec


def load(source: Any, mesh: DeviceMesh | None = None, spec: Any = None) -> Any:
    """Return an array on a mesh whose devices read their own parts: nobody has all of it.

    Parameters
    ----------
    source : str, os.PathLike, or data set
        A ``.npy`` file or an uncompressed ``.npz`` archive, which are mapped into memory, with
        ``engine="dask"`` on the workers, and must stay as they are while the array lives; a Dask array; or
        anything with ``shape`` and ``dtype`` that gives parts when it is indexed with slices, such as a data
        set of Zarr's or h5py's.
    mesh : DeviceMesh, optional
        The mesh; without one, that of `spec`, or of the ``with mesh:`` block.
    spec : PartitionSpec, sequence of DimSpec, ShardingSpec, or str, optional
        How it is cut, as for `shard`; without one, every device has all of it.

    Returns
    -------
    Array or dict of Arrays
        The array; of an archive, each by its name.

    Raises
    ------
    ShardingError
        If the spec does not fit the array or the mesh, or there is no mesh.
    TypeError
        If the source is none of these, or has neither numbers nor booleans.
    ValueError
        If the file is of another format, compressed, or has Python objects; or if it is one of HDF5 that is
        closed, or open for writing where workers are to read it.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh, P, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(os.path.join(folder, "x.npy"), np.arange(12.0).reshape(6, 2))
    ...     x = load(os.path.join(folder, "x.npy"), DeviceMesh(3), P("x"))
    ...     print(x.sharding.partition_spec, xp.sum(x, axis=0))
    P('x', None) [30. 36.]
    """
    mesh = mesh_for("load", mesh, spec)
    check_device("load", mesh)
    if isinstance(source, str | os.PathLike):
        (read,) = mesh.engine.call(stored, {0: (os.path.abspath(source),)}, source).values()
        (found,) = mesh.engine.fetch([read], source)
        if isinstance(found, Mapping):
            return {name: _loaded(one, mesh, spec) for name, one in found.items()}
        return _loaded(found, mesh, spec)
    return _loaded(_source_of(source, mesh), mesh, spec)


def save(target: Any, x: Array) -> None:
    """Write an array part by part: nobody has all of it.

    Parameters
    ----------
    target : str, os.PathLike, or data set
        The name of a file; one without a suffix gets ``.npy``, as `numpy.save` does it. The file appears when
        all of it is written, with ``engine="dask"`` by the workers if they share this machine's files. Or
        anything with ``shape`` to whose parts one can assign, such as a data set of Zarr's or h5py's.
    x : Array
        An array, on a mesh or not.

    Raises
    ------
    ValueError
        If the data set has another shape.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh, save, shard
    >>> x = shard(xp.arange(6.0), DeviceMesh(2), "x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(os.path.join(folder, "x.npy"), x * 2)
    ...     np.load(os.path.join(folder, "x.npy"))
    array([ 0.,  2.,  4.,  6.,  8., 10.])
    """
    held = _held(x)
    if isinstance(target, str | os.PathLike):
        _save_file(os.path.abspath(target), held)
        return
    if not hasattr(target, "__setitem__") or tuple(getattr(target, "shape", ())) != held.aval.shape:
        raise ValueError(
            f"save: {type(target).__name__} of shape {getattr(target, 'shape', None)} takes no array of "
            f"shape {held.aval.shape}; a file's name, or a data set of that shape, would work"
        )
    for box, d in held.distinct.items():
        (part,) = held.device.engine.fetch([held.shards[d]], held)
        target[indices(box)] = part


def _held(x: Any) -> Sharded:
    """Return the value of an array, on a mesh of one device if it is on none."""
    x = asarray(x)
    if not isinstance(x.device, DeviceMesh):
        x = shard(x, DeviceMesh(1))
    if x.sharding.partial_axes:
        x = reshard(x, x.sharding.partition_spec)
    evaluate((current(x),))
    held: Sharded = current(x).params["value"]
    return held


def _save_file(path: str, held: Sharded) -> None:
    path += "" if os.path.splitext(path)[1] else ".npy"
    # A name that no other machine has: who finds it shares this machine's files.
    unfinished = f"{path}.{uuid4().hex}"
    engine = held.device.engine
    try:
        file = created(unfinished, held.aval.shape, held.aval.dtype)
        given = {d: (box,) for box, d in held.distinct.items()}
        wrote = engine.call(file.write, given, held, held.shards)
        for (d, (box,)), done in zip(given.items(), engine.fetch([*wrote.values()], held), strict=True):
            if not done:
                (part,) = engine.fetch([held.shards[d]], held)
                file.write(part, box)
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)


def _source_of(data: Any, mesh: DeviceMesh) -> Any:
    """Return a data set as something that can be sent to those who read it."""
    h5py = sys.modules.get("h5py")
    is_hdf5 = h5py is not None and isinstance(data, h5py.Dataset)
    if is_hdf5 and not data:
        raise ValueError("load: the data set's file is closed; one that is open would work")
    if not all([getattr(data, name, None) is not None for name in ("shape", "dtype", "__getitem__")]):
        raise TypeError(
            f"load: {type(data).__name__} is no source; a file's name, or something with shape, dtype and "
            "__getitem__, as the members of a group, would work"
        )
    shape, dtype = tuple(data.shape), np.dtype(data.dtype)
    if dtype.kind not in "biufc":
        raise UnheldDtypeError(f"load: no arrays of dtype {dtype}; numbers and booleans would work")
    if not all([isinstance(n, int | np.integer) for n in shape]):
        raise ShardingError(
            f"load: the shape {shape} is not known; one that is, as after compute_chunk_sizes(), would work"
        )
    if is_hdf5 and mesh.engine.name != "local":
        return in_hdf5(data)
    return Indexed(data, dtype, shape)


def _loaded(source: Any, mesh: DeviceMesh, spec: Any) -> Array:
    found = as_spec(mesh, spec, "load", source)
    if found.partial_axes:
        raise ShardingError(f"load: {found} wants terms of a sum; P(...), which cuts axes, would work")
    layout = found.layout(source.shape, "load")
    aval = aval_of(tuple(map(int, source.shape)), asarray(np.empty(0, native(source.dtype))).dtype)
    first = {box: d for d, box in reversed([*enumerate(layout.boxes)])}
    what = f"{aval} cut by {found}"
    if isinstance(source, Indexed) and hasattr(source.data, "__dask_graph__"):
        shards = mesh.engine.compute({d: source.data[indices(box)] for box, d in first.items()}, what)
    else:
        shards = mesh.engine.call(source.part, {d: (box,) for box, d in first.items()}, what)
    held = Sharded(mesh, aval, layout, [shards[first[box]] for box in layout.boxes], asked=found)
    return Array(Node(resident, (), {"value": held}, aval, 0), ())
