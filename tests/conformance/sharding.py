"""A pytest plugin: new arrays are cut over a mesh of three devices, along their first axis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nabla_array.distributed import DeviceMesh
from nabla_array.distributed.defaults import sharding_new_arrays


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    with sharding_new_arrays(DeviceMesh(3), axis=0):
        return (yield)
