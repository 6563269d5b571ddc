"""The CPU in the place of accelerators: all but MAX's own part of them can be tested so."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nabla_array._lazy.max import backend
from nabla_array._lazy.ops.placement import in_use


@contextmanager
def accelerators(*names: str) -> Iterator[None]:
    """Let MAX find accelerators of these names."""
    found = {name: f"{i} cpu stand-in" for i, name in enumerate(names)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "accelerators", lambda: found)
        try:
            yield
        finally:
            in_use.clear()
