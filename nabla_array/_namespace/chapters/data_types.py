"""Data types, which are NumPy's, and functions about them."""

from __future__ import annotations

import builtins
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import (
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

from ..core.array import Array, check_device, placed
from ..core.promotion import SCALARS, UnheldDtypeError, as_array, result_dtype
from ..core.promotion import astype as cast
from ..core.views import in_turn
from ..dispatch import fastpath
from ..dispatch.docstrings import specify

if TYPE_CHECKING:
    from ..core._methods import Device
    from ..core.types import ArrayLike, DType, DTypeLike

__all__ = [
    "astype",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

# NumPy's letters for the standard's kinds.
KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


@fastpath.whole(None, "astype")
def astype(
    x: ArrayLike, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: Device | None = None
) -> Array:
    """Return an array with another dtype.

    Parameters
    ----------
    x : Array
    dtype : dtype
    copy : bool, optional
        If False, `x` itself comes back where it has the dtype already.
    device : str, optional
        Where the result is to be, ``"cpu"`` or ``"gpu:0"``, ...; where `x` is, by default.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        If `x` is complex and the dtype is real: take `real(x)` or `imag(x)` first.

    >>> xp.astype(xp.asarray([1.5, 2.5]), xp.int64)
    array([1, 2])
    """
    check_device("astype", device)
    a, wanted = placed(as_array("astype", x), device), np.dtype(dtype)
    if wanted.kind not in "biufc":
        raise UnheldDtypeError(f"astype: no arrays of dtype {wanted}; numbers and booleans would work")
    if a.dtype.kind == "c" and wanted.kind in "iuf":
        raise TypeError(f"astype: {a.dtype} does not fit into {wanted}; real(x) or imag(x) would")
    if a.dtype == wanted:
        return a.copy("K") if copy else a
    return in_turn(a, lambda y: cast(y, wanted))


def _dtype(x: Any) -> np.dtype:
    """Return the dtype of an array or NumPy scalar, or the one that `x` names."""
    return x.dtype if isinstance(x, Array | np.ndarray | np.generic) else np.dtype(x)


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> builtins.bool:
    """Say whether one dtype can be cast to another by the rules of promotion.

    Parameters
    ----------
    from_ : dtype or Array
    to : dtype
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}, optional
        NumPy's kinds of casts; "safe" is what promotion does.

    Returns
    -------
    bool

    >>> xp.can_cast(xp.float32, xp.float64), xp.can_cast(xp.float64, xp.float32)
    (True, False)
    """
    held = isinstance(from_, Array | np.ndarray | np.generic)
    return np.can_cast(from_.dtype if held else from_, to, casting)


class FloatInfo:
    """NumPy's limits of a floating-point dtype; those that the standard wants as Python floats are such."""

    bits: int
    dtype: DType
    eps: float
    max: float
    min: float
    smallest_normal: float
    resolution: float
    tiny: float

    def __init__(self, info: Any) -> None:
        self._info = info

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"finfo has no attribute {name!r}")
        value = getattr(self._info, name)
        value = float(value) if isinstance(value, np.floating) else value
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return repr(self._info)

    def __str__(self) -> str:
        return str(self._info)


def _limited(type: Any) -> np.dtype:
    """Return the dtype whose limits are asked for: that of an array, a number, or one by its name."""
    if builtins.type(type) in SCALARS:
        return np.dtype(builtins.type(type))
    return _dtype(type)


@lru_cache(None)
def _info_of(dtype: np.dtype) -> FloatInfo:
    return FloatInfo(np.finfo(dtype))


def finfo(dtype: DTypeLike) -> FloatInfo:
    """Return the limits of a floating-point dtype.

    Parameters
    ----------
    dtype : dtype, Array or number
        Of a complex dtype, the limits are those of its parts.

    Returns
    -------
    object
        With ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` and ``dtype``, and what else NumPy's
        `finfo` has. All are Python numbers.

    Raises
    ------
    ValueError
        If the dtype is no floating-point one.

    >>> xp.finfo(xp.float32).eps
    1.1920928955078125e-07
    """
    limited = _limited(dtype)
    if limited.kind not in "fc":
        raise ValueError(f"finfo: {limited} is no floating-point dtype; float32 or float64 would work")
    return _info_of(limited)


def iinfo(int_type: Any) -> np.iinfo:
    """Return the limits of an integer dtype.

    Parameters
    ----------
    int_type : dtype, Array or int

    Returns
    -------
    numpy.iinfo
        With ``bits``, ``max``, ``min`` and ``dtype``.

    Raises
    ------
    ValueError
        If the dtype is no integer one.

    >>> xp.iinfo(xp.int8).max
    127
    """
    dtype = _limited(int_type)
    if dtype.kind not in "iu":
        raise ValueError(f"iinfo: {dtype} is no integer dtype; int32 or int64 would work")
    return np.iinfo(dtype)


def isdtype(dtype: DTypeLike, kind: Any) -> builtins.bool:
    """Say whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
    kind : dtype or str, or a tuple of them
        ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``,
        ``"complex floating"`` or ``"numeric"``.

    Returns
    -------
    bool
        Whether the dtype is that one, or of (one of) the kinds.

    Raises
    ------
    ValueError
        If there is no such kind.

    >>> xp.isdtype(xp.float32, ("integral", "real floating"))
    True
    """
    return _is_of(np.dtype(dtype), kind)


@lru_cache(1000)
def _is_of(dtype: np.dtype, kind: Any) -> builtins.bool:
    return builtins.any(
        dtype.kind in letters(i) if isinstance(i, str) else dtype == np.dtype(i)
        for i in (kind if isinstance(kind, tuple) else (kind,))
    )


def letters(kind: str) -> str:
    """Return NumPy's letters for a kind of the standard; raises ValueError where there is none."""
    if kind not in KINDS:
        raise ValueError(f"isdtype: no kind {kind!r}; {', '.join(map(repr, KINDS))} would work")
    return KINDS[kind]


@fastpath.whole(np.result_type, "result_type")
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """Return the dtype that arrays, scalars and dtypes are promoted to.

    Parameters
    ----------
    *arrays_and_dtypes : Array, dtype or scalar
        A Python scalar is weak: it takes the dtype of the others where its kind allows.

    Returns
    -------
    dtype

    Raises
    ------
    ValueError
        If nothing is given.

    >>> xp.result_type(xp.asarray([1], dtype=xp.int8), xp.uint8, 3)
    dtype('int16')
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: at least one array or dtype is needed")
    return result_dtype(*arrays_and_dtypes)


specify(globals())
