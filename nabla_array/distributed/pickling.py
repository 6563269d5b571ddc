"""How programs are pickled: records by where they are found, avals and programs by what they say.

Dask pickles what it sends, in its own channel. Importing this module tells pickle how.
"""

from __future__ import annotations

import copyreg
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from .._lazy import ops
from .._lazy.graph.aval import Aval, aval_of
from .._lazy.graph.primitive import Primitive
from .._lazy.graph.program import Program
from .._lazy.ops.special import special


@lru_cache(1)
def _places() -> dict[int, tuple[str, str]]:
    """Return by id the module and the name of each record that a module holds."""
    found: dict[int, tuple[str, str]] = {}
    for info in iter_modules(ops.__path__):
        module = import_module(f"{ops.__name__}.{info.name}")
        for name, value in vars(module).items():
            if isinstance(value, Primitive):
                found.setdefault(id(value), (module.__name__, name))
    return found


def _record(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _special(name: str) -> Any:
    return special(name)


def _reduce_primitive(prim: Primitive) -> Any:
    if id(prim) in _places():
        return _record, _places()[id(prim)]
    name = prim.name.removeprefix("special.")
    if special(name) is prim:
        return _special, (name,)
    raise TypeError(f"{prim.name}: an operation that only this process knows cannot be sent to another one")


copyreg.pickle(Primitive, _reduce_primitive)
copyreg.pickle(Aval, lambda aval: (aval_of, (aval.shape, aval.dtype)))
copyreg.pickle(Program, lambda program: (Program, (program.inputs, program.eqns, program.outputs)))
