"""Functions of elements made functions of arrays, and iterators over elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..._lazy.graph.node import tapes
from ..._lazy.rules.levels import frames
from ..chapters.joining import stack
from ..chapters.manipulation import broadcast_to, reshape
from ..core.array import Array, from_value, write
from ..core.promotion import UnheldDtypeError, as_array, broadcast_shapes
from ..core.views import Flags, layout
from ..dispatch.docstrings import NUMPYS, refer
from ..interop.functions import from_host, to_host


class vectorize(np.vectorize):
    """Make a function of elements one of arrays, which calls it for each element, as NumPy's does.

    With a signature such as ``"(n),(n)->()"`` the function takes and gives arrays. `nabla_array.vmap` does
    the same at once for all elements. Under a transform the function gets arrays, which are recorded.

    >>> xp.vectorize(lambda a, b: a if a > b else b)([1, 5], 3)
    array([3, 5])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function for each element of the broadcast arguments."""
        if not callable(self.pyfunc):  # used as a decorator with arguments
            return super().__call__(*args, **kwargs)
        if tapes or frames():
            return self._recorded(args, kwargs)
        call = super().__call__
        if self.signature is not None:
            function = _of_arrays(self.pyfunc)
            call = np.vectorize(function, self.otypes, None, self.excluded, signature=self.signature)
        given = [x if i in self.excluded else to_host("vectorize", x) for i, x in enumerate(args)]
        named = {k: x if k in self.excluded else to_host("vectorize", x) for k, x in kwargs.items()}
        return from_host(call(*given, **named))

    def _recorded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do the same with arrays of one element each, of which a transform sees what becomes."""
        given = dict(enumerate(args)) | kwargs
        names = [k for k in given if k not in self.excluded]
        arrays = [as_array("vectorize", given[k]) for k in names]
        cores = [0] * len(arrays)
        if self.signature is not None:
            cores = [_core(t) for t in self.signature.split("->")[0].split("),")]
        loops = [x.shape[: x.ndim - c] for x, c in zip(arrays, cores, strict=True)]
        loop = broadcast_shapes("vectorize", *loops)
        ready = [broadcast_to(x, loop + x.shape[x.ndim - c :]) for x, c in zip(arrays, cores, strict=True)]
        results = []
        for i in np.ndindex(loop):
            given.update(zip(names, [x[i] for x in ready], strict=True))
            ours = [given[k] for k in range(len(args))]
            results.append(self.pyfunc(*ours, **{k: given[k] for k in kwargs}))
        if not results:
            if self.otypes is None:
                raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
            empty = tuple(from_value(np.empty(loop, t)) for t in self.otypes)
            return empty if len(empty) > 1 else empty[0]
        if not isinstance(results[0], tuple):
            return self._joined(results, loop, 0)
        return tuple(self._joined(parts, loop, k) for k, parts in enumerate(zip(*results, strict=True)))

    def _joined(self, parts: Sequence[Any], loop: tuple[int, ...], k: int) -> Any:
        """Return the results of that number, one of each call, as an array."""
        dtype = np.dtype(self.otypes[k]) if self.otypes else None
        if isinstance(parts[0], str | bytes) or (dtype is not None and dtype.kind not in "biufc"):
            return np.array(parts, dtype).reshape(loop)  # what we cannot hold stays NumPy's
        # NumPy's dtype is that of the first result.
        dtype = as_array("vectorize", parts[0]).dtype if dtype is None else dtype
        many = stack([as_array("vectorize", p, dtype) for p in parts])
        return reshape(many, loop + many.shape[1:])


def _of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of our arrays take and give NumPy's."""

    def ours(x: Any) -> Any:
        return from_value(np.array(x)) if type(x) is np.ndarray else x

    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*map(ours, args), **{k: ours(x) for k, x in kwargs.items()})
        return to_host("vectorize", result)

    return call


def _core(term: str) -> int:
    """Return how many axes a term of a signature, such as ``"(m,n"``, names."""
    return len([name for name in term.strip().strip("()").split(",") if name.strip()])


class ndenumerate:
    """Iterate over pairs of an index and the element there.

    >>> [(i, float(x)) for i, x in xp.ndenumerate([5.0, 6.0])]
    [((0,), 5.0), ((1,), 6.0)]
    """

    def __init__(self, arr: Any) -> None:
        try:
            self._x: Array | np.ndarray = as_array("ndenumerate", arr)
        except UnheldDtypeError:
            self._x = np.asarray(arr)
        self._indices = np.ndindex(self._x.shape)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        return self

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        i = next(self._indices)
        return i, self._x[i]


class nditer:
    """Iterate over arrays as NumPy does, over copies on the host; what is written comes back at the end.

    >>> x = xp.zeros(2)
    >>> with xp.nditer(x, op_flags=["readwrite"]) as it:
    ...     for element in it:
    ...         element[...] = 5
    >>> x
    array([5., 5.])
    """

    def __init__(self, op: Any, *args: Any, **kwargs: Any) -> None:
        single = not isinstance(op, list | tuple)
        many = [op] if single else list(op)
        copies = [_as_in_memory(x) if type(x) is Array else x for x in many]
        self._copied = [(x, c, c.copy()) for x, c in zip(many, copies, strict=True) if type(x) is Array]
        self._it = np.nditer(copies[0] if single else copies, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._it, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._it, name, value)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._it)
        except StopIteration:
            self._write_back()
            raise

    def iternext(self) -> bool:
        """Go on; False at the end."""
        more = bool(self._it.iternext())
        if not more:
            self._write_back()
        return more

    def __len__(self) -> int:
        return len(self._it)

    def __getitem__(self, key: Any) -> Any:
        return self._it[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._it[key] = value

    def __enter__(self) -> nditer:
        self._it.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self.close()

    def close(self) -> None:
        """Write what was buffered."""
        self._it.close()
        self._write_back()

    def _write_back(self) -> None:
        for x, copy, before in self._copied:
            if copy.tobytes() != before.tobytes():
                np.copyto(before, copy)
                write(x, from_value(np.array(copy, order="C")))


def _as_in_memory(x: Array) -> np.ndarray:
    """Return a copy that lies in memory as NumPy's would, which is the order to go through it."""
    copy = None
    if x._view is not None and not x._levels:
        owner = x._view.base
        copy = layout(x, np.empty(owner.size, owner.dtype))
    if copy is None or not copy.flags.writeable:
        copy = np.array(x, order="C")
    else:
        copy[...] = x._value()
    copy.flags.writeable = Flags(x).writeable
    return copy


def broadcast(*args: Any) -> np.broadcast:
    """Return NumPy's object that tells how arrays broadcast.

    >>> xp.broadcast(xp.zeros((2, 1)), xp.zeros(3)).shape
    (2, 3)
    """
    return np.broadcast(*[np.array(x) if type(x) is Array else x for x in args])


for _it in (vectorize, ndenumerate, nditer, broadcast):
    refer(_it, f"{NUMPYS}numpy.{_it.__name__}.html")
