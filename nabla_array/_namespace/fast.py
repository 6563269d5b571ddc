"""The compiled short way of operators (`_fast.c`), where there is one: Python's is the meaning."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .._lazy import aval, faults
from .._lazy.node import NO_PARAMS, Node, Part, tapes
from .._lazy.primitive import Primitive
from . import direct
from .array import Array, View, frozen, write_hook

_Function = Callable[..., Any]

try:
    if os.environ.get("NABLA_ARRAY_COMPILED") == "0":
        raise ImportError("asked to do without")
    from . import _fast as compiled
except ImportError:  # there was no compiler when this was installed, say
    compiled = None  # type: ignore[assignment]


def _tell(prim: Primitive, nodes: tuple[Node, ...], result: aval.Aval) -> None:
    faults.tell([Node(prim, nodes, NO_PARAMS, result, 0)])


def _types(ufunc: np.ufunc) -> tuple[int, ...]:
    """Return the dtypes, by NumPy's number, of which a ufunc takes operands as they are."""
    loops = {t[0] for t in ufunc.types if t[: ufunc.nin] == t[0] * ufunc.nin}
    return tuple(np.dtype(t).num for t in loops & set("?bhilqBHILQfdFD"))


def wrap(way: str, slow: _Function, name: str, prim: Primitive | None = None, host: Any = None) -> _Function:
    """Return a function that answers simple calls in the place of `slow`, or `slow` where none is compiled.

    Parameters
    ----------
    way
        "binary", "reflected", "unary", "in_place", "getitem", "setitem" or "scalar".
    name
        The primitive's, or that of a class: what `scalar` makes.
    host
        NumPy's function in place of the primitive's.
    """
    if compiled is None:
        return slow
    if host is None and prim is not None and prim.host is prim.ufunc:
        host = prim.ufunc
    return compiled.wrap(way, slow, name, prim, host, _types(host) if host is not None else ())


def limit() -> None:
    """Let what is compiled record, or not, what `direct` does now."""
    if compiled is not None:
        compiled.limit(direct.PART, direct.LARGE)


if compiled is not None:
    compiled.setup(
        *(Array, Node, Part, View, aval.Aval, tapes, frozen, write_hook),
        *(aval._recent, aval.aval_of, vars(faults), faults.listener, _tell),
    )
    limit()
