"""A NumPy replacement: the Python Array API standard over lazy arrays.

``import nabla_array as xp`` gives every name of the standard (2025.12), the `linalg` and `fft`
extensions, and NumPy's names for them. What NumPy has and we lack runs through NumPy on the host and is
counted; `report()` says so.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ._lazy.config import config as config
from ._lazy.forks import late as _late
from ._namespace.chapters.elementwise import *  # noqa: F403
from ._namespace.core import array as _array
from ._namespace.core.array import Array as Array
from ._namespace.core.evaluation import *  # noqa: F403
from ._namespace.dispatch import fastpath as _fastpath
from ._namespace.interop import functions as _interop
from ._namespace.interop import imports as _imports
from ._namespace.interop import policies as _policies  # noqa: F401
from ._namespace.numpy import methods as _methods  # noqa: F401
from ._namespace.numpy import modules as _numpy_modules
from ._namespace.numpy import operators as _operators  # noqa: F401
from ._namespace.numpy import scalars as _scalars  # noqa: F401

if TYPE_CHECKING:
    from . import fft as fft
    from . import lib as lib
    from . import linalg as linalg
    from . import random as random
    from . import special as special
    from . import typing as typing
    from ._names import *  # noqa: F403
    from ._namespace.chapters.constants import *  # noqa: F403
    from ._namespace.chapters.info import *  # noqa: F403
    from ._namespace.numpy.ndarray import *  # noqa: F403
    from .inspect import explain as explain
    from .inspect import report as report
    from .runner.ipython import load_ipython_extension as load_ipython_extension
    from .runner.ipython import unload_ipython_extension as unload_ipython_extension
    from .version import __version__ as __version__

__array_api_version__ = "2025.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def _this(api_version: str | None) -> ModuleType:
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(f"__array_namespace__: no version {api_version!r}; there are {', '.join(_VERSIONS)}")
    return sys.modules[__name__]


def _html(x: Array) -> str | None:
    shown: str | None = _late(".runner.notebook", __name__).html(x)
    return shown


_array.namespace_hook.append(_this)
_array.html_hook.append(_html)
Array.__array_namespace__ = _fastpath.wrap(  # type: ignore[method-assign]
    "namespace", Array.__array_namespace__, "__array_namespace__", host=_this(None)
)
for _name in _interop.TAKE_ANY_DTYPE & globals().keys():
    globals()[_name] = _interop.or_host(globals()[_name], _name)
# What this module itself needs is no name of the namespace.
_TOOLS = {"Any", "ModuleType", "TYPE_CHECKING", "annotations", "sys"}
_interop.namespace_names.update(
    {k: v for k, v in globals().items() if not k.startswith("_") and k not in _TOOLS}
)


sys.meta_path.append(_numpy_modules.Finder())
for _name in _imports.KNOWN:
    _imports.before_import(_name, lambda: _late("._namespace.interop.libraries", __name__))
_imports.for_extensions(lambda module: _late("._namespace.interop.extensions", __name__).open_doors(module))

# Imported when they are first named: most programs never do.
_LATE_MODULES = ("fft", "lib", "linalg", "random", "special", "typing")
_LATE = {
    **dict.fromkeys(("e", "inf", "nan", "newaxis", "pi"), "._namespace.chapters.constants"),
    "__array_namespace_info__": "._namespace.chapters.info",
    "__version__": ".version",
    "ndarray": "._namespace.numpy.ndarray",
    "explain": ".inspect",
    "report": ".inspect",
    "load_ipython_extension": ".runner.ipython",
    "unload_ipython_extension": ".runner.ipython",
}


def _find(name: str) -> Any:
    if name in _LATE:
        found = getattr(_late(_LATE[name], __name__), name)
    elif name in _LATE_MODULES:
        return _late(f".{name}", __name__)
    elif name == "__all__":  # what a star imports: NumPy's names, and ours
        found = sorted(_interop.star_names())
    else:
        found = _interop.numpy_name(name)
    globals()[name] = found
    return found


if not TYPE_CHECKING:  # who checks types knows these names from the stub
    __getattr__ = _find


def __dir__() -> list[str]:
    names = {*globals(), *_LATE, *_LATE_MODULES, *_interop.star_names()} - _TOOLS
    return sorted(n for n in names if n[0] != "_" or n[:2] == "__")
