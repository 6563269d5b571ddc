"""The types of what transforms take and give.

A transform hands arrays to the function where it is called with numbers. So the results for numbers are
arrays, and those for other pytrees have the pytree's type.
"""

from collections.abc import Callable
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    ParamSpec,
    TypeAlias,
    TypedDict,
    TypeVar,
    TypeVarTuple,
    overload,
)

import numpy as np

from .._namespace.core.array import Array
from .compile import CacheInfo, Lowered

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")
X = TypeVar("X")
Ts = TypeVarTuple("Ts")

# What is one array for a transform.
Leaf: TypeAlias = Array | np.ndarray | np.generic | complex


class Differentiation(TypedDict, total=False):
    """Options of transforms that differentiate."""

    holomorphic: bool
    allow_int: bool
    strict: bool


class Gradient(Generic[P]):
    """A function that gives the gradient by its first argument."""

    __name__: str

    @overload
    def __call__(self, x: Leaf, /, *args: P.args, **kwargs: P.kwargs) -> Array: ...
    @overload
    def __call__(self, x: T, /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class GradientAndMore(Generic[P, A]):
    """A function that gives the gradient by its first argument, and what the function gave besides."""

    __name__: str

    @overload
    def __call__(self, x: Leaf, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Array, A]: ...
    @overload
    def __call__(self, x: T, /, *args: P.args, **kwargs: P.kwargs) -> tuple[T, A]: ...


class ValueAndGradient(Generic[P, A]):
    """A function that gives the value, of type `A`, and the gradient by its first argument."""

    __name__: str

    @overload
    def __call__(self, x: Leaf, /, *args: P.args, **kwargs: P.kwargs) -> tuple[A, Array]: ...
    @overload
    def __call__(self, x: T, /, *args: P.args, **kwargs: P.kwargs) -> tuple[A, T]: ...


class Mapped(Generic[P, R_co]):
    """A function that takes and gives what another does."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __get__(self, instance: None, owner: type) -> Mapped[P, R_co]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[..., R_co]: ...


class _Programs:
    """What compiled functions have besides."""

    def cache_info(self) -> CacheInfo: ...
    def clear_cache(self) -> None: ...
    def lower(self, *args: Any, **kwargs: Any) -> Lowered: ...


class Compiled(_Programs, Mapped[P, R_co]):
    """A compiled function."""


class CompiledGradient(_Programs, Gradient[P]):
    """A compiled function that gives a gradient."""
