"""What a program can ask about this namespace."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..core.array import check_device
from .data_types import isdtype

__all__ = ["__array_namespace_info__"]

_NAMES = (
    "bool",
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)


class _Devices(tuple[str, ...]):
    """A tuple, as 2025.12 wants, to which one can add a list, as one could while it was a list."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return [*self, *other] if isinstance(other, list) else super().__add__(other)


class Info:
    """Answers about the namespace, its devices and its dtypes."""

    def capabilities(self) -> dict[str, Any]:
        """Return what is supported: boolean keys, shapes that depend on data, NumPy's 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Return the device that arrays are made on: ``"cpu"``."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """Return the devices that creation functions take: the CPU, and the accelerators that MAX finds."""
        from ..._lazy.run import accelerator

        return _Devices(("cpu", *accelerator.names()[0]))

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """Return the dtypes that creation functions choose, by kind."""
        check_device("default_dtypes", device)
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.intp),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """Return the standard's dtypes by name, all of them or those of a kind (see `isdtype`)."""
        check_device("dtypes", device)
        return dict(_dtypes(kind))


@lru_cache(100)
def _dtypes(kind: Any) -> dict[str, np.dtype]:
    every = {name: np.dtype(name) for name in _NAMES}
    return {name: d for name, d in every.items() if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> Info:
    """Return an object that answers questions about the namespace.

    Returns
    -------
    object
        With the methods ``capabilities()``, ``default_device()``, ``default_dtypes()``, ``devices()`` and
        ``dtypes()``.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/inspection.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.__array_namespace_info__().devices()
    ('cpu',)
    """
    return Info()
