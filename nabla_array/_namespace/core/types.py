"""The types that type checkers and editors see in the namespace; nothing here does anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar, TypeVarTuple, overload

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import DTypeLike as DTypeLike

from .array import Array

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

DType: TypeAlias = np.dtype[Any]  # which one, is known when the program runs
# Where a result goes: NumPy takes a tuple of one array, too.
Out: TypeAlias = Array | tuple[Array] | None
Axis: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | None
Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
Order: TypeAlias = Literal["K", "A", "C", "F"] | None
Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]


class Ufunc(Protocol):
    """What the functions have that are ufuncs in NumPy."""

    __name__: str

    @property
    def nin(self) -> int: ...
    @property
    def nout(self) -> int: ...
    @property
    def nargs(self) -> int: ...
    @property
    def ntypes(self) -> int: ...
    @property
    def types(self) -> list[str]: ...
    @property
    def identity(self) -> object: ...
    @property
    def signature(self) -> str | None: ...


class Unary(Ufunc, Protocol):
    """A function of each element of an array."""

    def __call__(
        self,
        x: ArrayLike,
        /,
        out: Out = None,
        *,
        where: ArrayLike = True,
        casting: Casting = "same_kind",
        order: Order = "K",
        dtype: DTypeLike | None = None,
        subok: bool = True,
        signature: object = None,
        sig: object = None,
    ) -> Array: ...

    def at(self, a: Array, indices: Any, /) -> None: ...


class Binary(Ufunc, Protocol):
    """A function of each pair of elements of two arrays."""

    def __call__(
        self,
        x1: ArrayLike,
        x2: ArrayLike,
        /,
        out: Out = None,
        *,
        where: ArrayLike = True,
        casting: Casting = "same_kind",
        order: Order = "K",
        dtype: DTypeLike | None = None,
        subok: bool = True,
        signature: object = None,
        sig: object = None,
    ) -> Array: ...

    def reduce(
        self,
        array: ArrayLike,
        /,
        axis: Axis = 0,
        dtype: DTypeLike | None = None,
        out: Out = None,
        keepdims: bool = False,
        initial: Any = None,
        where: ArrayLike = True,
    ) -> Array: ...

    def accumulate(
        self, array: ArrayLike, /, axis: int = 0, dtype: DTypeLike | None = None, out: Out = None
    ) -> Array: ...

    def reduceat(
        self,
        array: ArrayLike,
        /,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: Out = None,
    ) -> Array: ...

    def outer(self, A: ArrayLike, B: ArrayLike, /, **options: Any) -> Array: ...

    def at(self, a: Array, indices: Any, b: ArrayLike, /) -> None: ...


class UnaryToTwo(Ufunc, Protocol):
    """A function of each element with two results."""

    def __call__(self, x: ArrayLike, /, *out: Array | None, **options: Any) -> tuple[Array, Array]: ...


class BinaryToTwo(Ufunc, Protocol):
    """A function of each pair of elements with two results."""

    def __call__(
        self, x1: ArrayLike, x2: ArrayLike, /, *out: Array | None, **options: Any
    ) -> tuple[Array, Array]: ...


class MakesUfunc(Protocol):
    """A decorator that makes a ufunc of a function of its operands alone."""

    @overload
    def __call__(self, plain: Callable[[Any], Array], /) -> Unary: ...
    @overload
    def __call__(self, plain: Callable[[Any, Any], Array], /) -> Binary: ...
    @overload
    def __call__(self, plain: Callable[[Any], tuple[Array, Array]], /) -> UnaryToTwo: ...
    @overload
    def __call__(self, plain: Callable[[Any, Any], tuple[Array, Array]], /) -> BinaryToTwo: ...
