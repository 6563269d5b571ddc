"""A folder of compiled programs, and compilers that fill it by a fake backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .compiling import BACKEND, ROOT, SOON

if TYPE_CHECKING:  # the tests are collected where these cannot be imported, too
    from nabla_array._lazy.max.artifacts import Store
    from nabla_array._lazy.max.compiler import Compiler


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file where the fake backend notes its batches."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "batches"))
    return tmp_path / "batches"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    from nabla_array._lazy.max.artifacts import Store

    return Store(tmp_path / "cache")


@pytest.fixture
def make(store: Store) -> Iterator[Callable[..., Compiler]]:
    """Return what makes compilers, which are closed at the end."""
    from nabla_array._lazy.max.compiler import Compiler

    made: list[Compiler] = []

    def new(backend: str = BACKEND, idle: float = 60.0, where: Store = store) -> Compiler:
        made.append(Compiler(where, backend, settle=0.05, idle=idle))
        made[-1]._starves = True  # as other tests run beside this one
        return made[-1]

    yield new
    # What a test leaves running ends here.
    for each in made:
        thread = each._thread
        each.close()
        if thread is not None:
            thread.join(SOON)
            assert not thread.is_alive()


@pytest.fixture
def compiler(make: Callable[..., Compiler], log: Path) -> Compiler:
    return make()
