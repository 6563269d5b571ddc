"""Results written where the caller wants them: ``out=``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from .array import Array, write
from .indexing import fitted
from .promotion import astype, broadcasts, check_override

F = TypeVar("F", bound=Callable[..., Any])


def deliver(function: str, out: Any, result: Any, casting: Any = "same_kind", exact: bool = False) -> Any:
    """Write results to the arrays given as `out`, ours or NumPy's, or a tuple of these; returns them.

    They are broadcast, unless `exact`. Where `out` is None, the results themselves come back.

    Raises TypeError where a result's dtype does not fit, ValueError where its shape does not.
    """
    if out is None:
        return result
    results = result if isinstance(result, tuple) else (result,)
    targets = out if isinstance(out, tuple) else (out,)
    if len(targets) != len(results):
        raise ValueError(f"{function}: {len(targets)} arrays in out for {len(results)} results")
    for target, value in zip(targets, results, strict=True):
        check_override(function, target)
        shape = getattr(target, "shape", value.shape)
        if value.shape != shape and (exact or not broadcasts(value.shape, shape)):
            raise ValueError(
                f"{function}: a result of shape {value.shape} does not fit into out, which has wrong shape "
                f"{shape} (non-broadcastable)"
            )
        if type(target) is Array:
            if value.dtype != target.dtype and not np.can_cast(value.dtype, target.dtype, casting):
                raise TypeError(
                    f"{function}: a result of {value.dtype} does not fit into out, {target.dtype}"
                )
            new = astype(value, target.dtype) if type(value) is Array else value  # complex to real, too
            write(target, fitted(function, new, target.dtype, target.shape))
        elif isinstance(target, np.ndarray):
            np.copyto(target, np.asarray(value), casting=casting)
        elif target is not None:
            raise TypeError(f"{function}: return arrays must be of ArrayType, not {type(target).__name__}")
    written = tuple([v if t is None else t for t, v in zip(targets, results, strict=True)])
    return written if isinstance(result, tuple) else written[0]


def takes_out(function: F) -> F:
    """Let a function take ``out=``, too, after its other parameters."""
    place = function.__code__.co_argcount

    @wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None and len(args) == place + 1:
            *args, out = args  # type: ignore[assignment]
        return deliver(function.__name__, out, function(*args, **kwargs))

    return call  # type: ignore[return-value]
