"""`run --mesh`: the large arrays of a script cut over devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..distributed import DeviceMesh
from ..distributed.defaults import sharding_new_arrays

# Bytes from which an array is cut. A smaller one takes less time than to ask the devices.
LEAST = 1 << 16


@contextmanager
def mesh(size: int, engine: str) -> Iterator[None]:
    """Cut the new arrays of this thread along their longest axis, if they are large."""
    devices = DeviceMesh((size,), ("x",), engine=engine)
    try:
        with sharding_new_arrays(devices, least=LEAST):
            yield
    finally:
        devices.close()
