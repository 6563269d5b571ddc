"""The folder of compiled programs as tests fill it."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nabla_array._lazy.max.artifacts import Store


def put(store: Store, *keys: str, mef: bytes = b"native code") -> Path:
    """Add a module, and return its file."""
    path = store.temporary()
    path.write_bytes(mef)
    store.add(keys, path)
    return store.folder / f"{hashlib.sha256(mef).hexdigest()}.mef"


def entry_of(store: Store, key: str) -> Path:
    return store._path(key)


def reopened(store: Store) -> Store:
    """Return what another process would see."""
    return Store(store.folder, store.megabytes)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(folder)]
    mounted = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no right to mount a small disk to fill: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
