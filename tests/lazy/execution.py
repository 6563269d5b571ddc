"""Ways to evaluate the same graph, and what it means that results are the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from nabla_array._lazy.config import config
from nabla_array._lazy.cpu import blocks, spreading
from nabla_array._lazy.run import evaluator
from nabla_array._lazy.schedule import tiling
from nabla_array._lazy.schedule.plan_cache import plans


@contextmanager
def in_blocks(elements: int = 4, threads: int = 1) -> Iterator[None]:
    """Evaluate everything, however small, by plans whose blocks have about `elements` elements."""
    with (
        patch.object(evaluator, "LARGE", 0),
        patch.dict(plans, clear=True),  # which were made with another
        patch.object(evaluator, "MEDIUM_WEIGHT", 0),
        patch.object(blocks, "BLOCK", elements),
        patch.object(spreading, "PARALLEL", 1),
        patch.object(blocks, "compiled", None),  # which has blocks of its own: test_loops.py
        config(threads=threads),
    ):
        blocks._kernel.cache_clear()  # a kernel remembers the size of its blocks
        try:
            yield
        finally:
            blocks._kernel.cache_clear()


@contextmanager
def in_jobs() -> Iterator[None]:
    """Evaluate everything, however small, by plans that compiled code runs where it can."""
    with (
        patch.object(evaluator, "LARGE", 0),
        patch.dict(plans, clear=True),  # which were made with another
        patch.object(evaluator, "MEDIUM_WEIGHT", 0),
        config(mode="host"),
    ):
        yield


@contextmanager
def in_pieces(most: int = 4, threads: int = 2) -> Iterator[None]:
    """Evaluate every program with a product, however small, in so many pieces at most where it can be cut."""
    with (
        patch.object(evaluator, "LARGE", 0),
        patch.dict(plans, clear=True),  # which were made with another
        patch.object(evaluator, "MEDIUM_WEIGHT", 0),
        patch.object(tiling, "_WORK", 1),
        patch.object(tiling._Cut, "_tiles", lambda self: min(most, 1 << self.size.bit_length() >> 1)),
        patch.object(tiling, "_PARTIAL", 1e9),
        config(threads=threads, mode="host"),
    ):
        yield


@contextmanager
def over_dead_values() -> Iterator[None]:
    """Evaluate everything one by one, however small in the memory of values that nobody needs."""
    with (
        patch.object(evaluator, "LARGE", 1 << 60),
        patch.dict(plans, clear=True),  # which were made with another
        patch.object(evaluator, "MEDIUM", 0),
        patch.object(evaluator, "MEDIUM_WEIGHT", 0),
    ):
        yield


def _bits(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        x = np.stack([x.real, x.imag], axis=-1)
    if x.dtype.kind != "f":
        return x
    # Which nan comes out depends on the instructions that NumPy picks; everything else may not.
    return np.where(np.isnan(x), np.nan, x).view(f"u{x.itemsize}")


def assert_same(got: np.ndarray, wanted: np.ndarray, exact: bool = True) -> None:
    """Assert equal shapes, dtypes and bits; with `exact=False` equal values but for rounding."""
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if exact or got.dtype.kind not in "fc":
        np.testing.assert_array_equal(_bits(got), _bits(wanted))
    else:
        eps = np.finfo(got.dtype).eps
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1)
        np.testing.assert_allclose(got, wanted, rtol=32 * eps, atol=32 * eps * scale)
