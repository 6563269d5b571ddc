"""How programs are pickled: records by where they are found, avals and programs by what they say.

Dask pickles what it sends, in its own channel. Importing this module tells pickle how.
"""

from __future__ import annotations

import copyreg
import sys
from functools import lru_cache
from importlib import import_module
from typing import Any

from .._lazy import ops
from .._lazy.graph.aval import Aval, aval_of
from .._lazy.graph.primitive import Primitive
from .._lazy.graph.program import Program
from .._lazy.ops.special import special


@lru_cache(None)
def _place(prim: Primitive) -> tuple[str, str] | None:
    """Return the module that holds a record, one of the records' own first, and its name there."""
    package = __name__.partition(".")[0]
    loaded = [name for name in tuple(sys.modules) if name.startswith(f"{package}.")]
    for name in sorted(loaded, key=lambda name: not name.startswith(ops.__name__)):
        for attribute, value in tuple(vars(sys.modules[name]).items()):
            if value is prim:
                return name, attribute
    return None


def _record(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _special(name: str) -> Any:
    return special(name)


def _reduce_primitive(prim: Primitive) -> Any:
    place = _place(prim)
    if place is not None:
        return _record, place
    name = prim.name.removeprefix("special.")
    if special(name) is prim:
        return _special, (name,)
    raise TypeError(f"{prim.name}: an operation that only this process knows cannot be sent to another one")


copyreg.pickle(Primitive, _reduce_primitive)
copyreg.pickle(Aval, lambda aval: (aval_of, (aval.shape, aval.dtype)))
copyreg.pickle(Program, lambda program: (Program, (program.inputs, program.eqns, program.outputs)))
