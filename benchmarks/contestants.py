"""The libraries that are compared, each as its own users would call it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

import nabla_array

from .measure import OURS

JAX = "jnp"
JIT = "jax.jit"


@dataclass(frozen=True)
class Contestant:
    """A namespace, how arrays get into it, and how a result is made to exist."""

    name: str
    xp: Any
    asarray: Callable[[np.ndarray], Any]
    evaluate: Callable[[Any], object]
    prepare: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda f: f


def _shared(a: np.ndarray) -> Any:
    """Return our array on NumPy's memory: whose copy is in the cache must not decide."""
    return nabla_array.asarray(a, copy=False)


@lru_cache(1)
def _jax() -> Any:
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    return jax


def import_late() -> None:
    """Import the modules of ours that first uses import, where imports are no part of what is measured.

    Those that talk to MAX stay out.
    """
    for name in ("nabla_array._lazy", "nabla_array._namespace"):
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            if not module.name.startswith(("nabla_array._lazy.max", "nabla_array._lazy.native")):
                importlib.import_module(module.name)
    for name in ("fft", "lib.stride_tricks", "linalg", "random"):  # which come with NumPy itself
        importlib.import_module(f"nabla_array.{name}")


def contestants(*names: str) -> list[Contestant]:
    """Return nabla_array, NumPy and, where it is installed, JAX: eager and compiled; only `names`, if any."""
    out = [
        Contestant(OURS, nabla_array, _shared, nabla_array.eval),
        Contestant("numpy", np, np.asarray, lambda x: x),
    ]
    jax = _jax() if not names or {JAX, JIT} & {*names} else None
    if jax is not None:
        ready = jax.block_until_ready
        out.append(Contestant(JAX, jax.numpy, jax.numpy.asarray, ready))
        out.append(Contestant(JIT, jax.numpy, jax.numpy.asarray, ready, jax.jit))
    return [c for c in out if not names or c.name in names]


def libraries() -> dict[str, Contestant]:
    """Return nabla_array and, where it is installed, JAX, by name."""
    return {c.name: c for c in contestants(OURS, JIT)}


def jax_of(contestant: Contestant) -> ModuleType:
    """Return the `jax` module of a contestant whose namespace is `jax.numpy`."""
    jax: ModuleType = __import__(contestant.xp.__name__.partition(".")[0])
    return jax
