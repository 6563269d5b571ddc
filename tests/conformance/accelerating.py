"""A pytest plugin: new arrays are put on the first accelerator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nabla_array._namespace.core.array import default_device

DEVICE = "gpu:0"


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    with default_device(DEVICE, lambda x: x.to_device(DEVICE)):
        return (yield)
