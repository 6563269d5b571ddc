"""Where arrays are read from part by part, and written to: files of NumPy's, and whatever can be indexed.

Sources and targets are data, which can be sent to where they are read and written.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .layouts import Box, indices

# What a name may be of; other formats have libraries of their own.
_FILES = ".npy or .npz would work, or a data set: zarr.open_array(path), h5py.File(path)[name]"


class MappedPart(NamedTuple):
    """A part of an array in a file, which is read when it is computed with.

    Attributes
    ----------
    offset
        Where in the file the array begins.
    order
        "C" or "F": which axis is the fastest.
    stamp
        When the file was changed last.
    box
        The part, along each axis.
    """

    path: str
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    order: str
    stamp: int
    box: Box

    def opened(self) -> np.ndarray:
        """Return its elements, which lie in the file."""
        if os.stat(self.path).st_mtime_ns != self.stamp:
            raise ValueError(
                f"load: {self.path} has changed since it was loaded; loading it again would work"
            )
        if not all(self.shape):
            return np.empty([b - a for a, b in self.box], native(self.dtype))
        order: Any = self.order
        mapped = np.memmap(self.path, self.dtype, "r", self.offset, self.shape, order)
        part = np.asarray(mapped)[indices(self.box)]
        return part.astype(native(self.dtype), copy=False)


class Repeated(NamedTuple):
    """A part that has some elements again and again, such as one of what NumPy has broadcast."""

    part: np.ndarray
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of those elements."""
        return self.part.nbytes

    def opened(self) -> np.ndarray:
        """Return its elements, as a view."""
        return np.broadcast_to(self.part, self.shape)


def once(part: Any) -> Any:
    """Return a part with elements that it repeats only once, as it is to be sent."""
    if not isinstance(part, np.ndarray) or 0 not in part.strides:
        return part
    return Repeated(part[tuple([slice(0, 1) if s == 0 else slice(None) for s in part.strides])], part.shape)


def native(dtype: np.dtype) -> np.dtype:
    """Return the dtype in this machine's order of bytes."""
    return dtype.newbyteorder("=")


def opened(part: Any) -> Any:
    """Return the elements of a part that may be in a file, or repeat."""
    return part.opened() if isinstance(part, (MappedPart, Repeated)) else part


class Stored(NamedTuple):
    """An array of a `.npy` or `.npz` file."""

    path: str
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    order: str
    stamp: int

    def part(self, box: Box) -> MappedPart:
        """Return a part of it."""
        return MappedPart(*self, box)


class Indexed(NamedTuple):
    """Whatever has a shape and a dtype, and gives parts when it is indexed, such as Zarr's data sets."""

    data: Any
    dtype: np.dtype
    shape: tuple[int, ...]

    def part(self, box: Box) -> np.ndarray:
        """Read a part of it."""
        part = np.asarray(self.data[indices(box)], native(self.dtype))
        wanted = tuple([b - a for a, b in box])
        if part.shape != wanted:
            raise ValueError(
                f"load: {type(self.data).__name__} gives {part.shape} for {box} of {self.shape}; "
                f"a data set that gives {wanted}, as NumPy's arrays do, would work"
            )
        return part


class InHdf5(NamedTuple):
    """A data set in an HDF5 file, which is opened where it is read: h5py's objects cannot be sent."""

    path: str
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]

    def part(self, box: Box) -> np.ndarray:
        """Read a part of it."""
        import h5py

        with h5py.File(self.path, "r") as file:
            return Indexed(file[self.name], self.dtype, self.shape).part(box)


def in_hdf5(data: Any) -> InHdf5:
    """Return a data set of h5py's as what others can open, too."""
    file, path = data.file, os.path.abspath(data.file.filename)
    if file.driver == "core":
        raise ValueError(
            f"load: {file.filename} is in this process's memory, so that no worker can read it; "
            "shard(x[...], mesh, spec), or a file on disk, would work"
        )
    if file.mode != "r":
        raise ValueError(
            f"load: {path} is open for writing in this process, so that no worker can read it; a data set of "
            'h5py.File(path, "r") would work'
        )
    return InHdf5(path, data.name, data.dtype, tuple(data.shape))


def stored(path: str) -> dict[str, Stored] | Stored:
    """Return what a file has: one array, or those of an archive by name."""
    if os.path.isdir(path):
        raise ValueError(f"load: {path} is a directory; {_FILES}")
    if zipfile.is_zipfile(path):
        return _archive(path)
    with open(path, "rb") as file:
        return Stored(path, *_header(file, path))


def _archive(path: str) -> dict[str, Stored]:
    found = {}
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if info.compress_type != zipfile.ZIP_STORED:
                raise ValueError(
                    f"load: {name!r} of {path} is compressed, so that no part can be read alone; "
                    "an archive that numpy.savez wrote, not savez_compressed, would work"
                )
            # What the archive says of where a member begins leaves out how long its own header is.
            file.seek(info.header_offset + 26)
            file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
            found[name] = Stored(path, *_header(file, path))
    return found


def _header(file: Any, path: str) -> tuple[int, np.dtype, tuple[int, ...], str, int]:
    """Return where the elements begin, what they are, and when the file was changed last."""
    try:
        version = np.lib.format.read_magic(file)
    except ValueError as error:
        raise ValueError(f"load: {path} is no file of numpy.save ({error}); {_FILES}") from None
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise ValueError(
            f"load: {path} has Python objects, which are never read from files; numbers would work"
        )
    return file.tell(), dtype, shape, "F" if fortran else "C", os.fstat(file.fileno()).st_mtime_ns


class NewFile(NamedTuple):
    """A `.npy` file that exists, and whose elements are written part by part."""

    path: str

    def write(self, part: Any, box: Box) -> bool:
        """Write a part; says whether the file is there."""
        if not os.path.exists(self.path):
            return False
        if part.size:
            mapped = np.lib.format.open_memmap(self.path, "r+")
            mapped[indices(box)] = part
            mapped.flush()
        return True


def created(path: str, shape: Sequence[int], dtype: np.dtype) -> NewFile:
    """Make a file for an array of a shape and a dtype."""
    with open(path, "wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + dtype.itemsize * int(np.prod(shape, dtype=np.int64)))
    return NewFile(path)
