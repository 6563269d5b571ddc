"""Creation functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array import Array, check_device, from_value
from .promotion import astype, checked

__all__ = ["asarray"]


def _has_array(obj: Any) -> bool:
    return isinstance(obj, list | tuple) and any(type(i) is Array or _has_array(i) for i in obj)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Array:
    """Return `obj` as an array.

    Parameters
    ----------
    obj : Array, NumPy array, scalar, (nested) sequence, or object with DLPack or the buffer protocol
    dtype : dtype, optional
        Data type of the result; NumPy's choice where it is None.
    device : str, optional
        ``"cpu"`` or None.
    copy : bool, optional
        True always copies; None copies what is not an `Array` already (a NumPy array may change
        later, a pending computation must not see that); False shares the memory, which must not be
        written to from then on.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If `copy` is False and a copy is needed, or the device is unknown.
    TypeError
        If the elements are not numbers or booleans.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.asarray.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.asarray([[1, 2], [3, 4]], dtype=xp.float32)
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    check_device("asarray", device)
    wanted = None if dtype is None else np.dtype(dtype)
    if type(obj) is Array:
        if wanted is not None and wanted != obj.dtype:
            if copy is False:
                raise ValueError(f"asarray: {obj.dtype} as {wanted} needs a copy, and copy is False")
            return astype(obj, wanted)
        return obj.copy() if copy else obj
    if copy is False:
        value = np.asarray(obj, dtype=wanted, copy=False)
        return from_value(checked("asarray", value))
    return from_value(checked("asarray", np.array(obj, dtype=wanted)))
