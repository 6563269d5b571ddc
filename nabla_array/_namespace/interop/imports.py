"""What is done before a program imports a module, and as soon as it has, or any extension module."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ExtensionFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

# The packages, and the other modules, that `libraries` knows.
KNOWN = (
    *("MDAnalysis", "PIL", "SimpleITK", "_pytest", "array_api_compat", "array_api_extra", "astropy"),
    *("autograd", "autoray", "casadi", "catboost", "cv2", "dask", "einops", "gymnasium", "h5py"),
    *("jax", "joblib", "json", "keras", "librosa", "lightgbm", "matplotlib", "mne", "msgpack_numpy"),
    *("networkx", "numba", "numpy.ctypeslib", "onnxruntime", "openpyxl", "ot", "pandas", "pint"),
    *("polars", "pyamg", "pyarrow", "pygame", "pytensor", "pywt", "qiskit", "qutip", "scipy", "simplejson"),
    *("skimage", "sklearn", "sparse", "statsmodels", "sympy", "tables", "tensorflow", "torch"),
    *("wave", "xarray", "xgboost"),
)
Then = Callable[[ModuleType], object]
# Packages whose extension modules are left as they are: some have rows for them, the others take no arrays.
LEFT = {*sys.stdlib_module_names, *("numpy", "nabla_array", "max", "modular", "mojo", "jaxlib", "ml_dtypes")}
LEFT |= {name.partition(".")[0] for name in KNOWN} - {"ot", "pyamg", "pywt"}
# What is called with each other extension module.
_of_extensions: list[Then] = []


class _Loader:
    """Loads a module as its own loader does, and calls what waits for it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for then in _waiting.pop(module.__spec__.name, ()):
            then(module)
        if _is_extension(module.__spec__):
            for then in _of_extensions:
                then(module)


class _Finder:
    """Finds nothing itself, but puts our loader before that of a module that something waits for."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in _coming:
            _coming.pop(name)()
        if name not in _waiting and name.partition(".")[0] in LEFT:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)  # as `import` does: old ones have none
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                if spec.loader is not None and (name in _waiting or _is_extension(spec)):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


def _is_extension(spec: ModuleSpec | None) -> bool:
    """Say whether a module is an extension module that no row knows."""
    loader = getattr(spec, "loader", None)
    return isinstance(loader, ExtensionFileLoader) and loader.name.partition(".")[0] not in LEFT


def for_extensions(then: Then) -> None:
    """Call `then` with each extension module, of a library that no row knows, that is there or comes."""
    _of_extensions.append(then)
    for module in list(sys.modules.values()):
        # Not by `getattr`: a module may import others for that.
        if _is_extension(getattr(module, "__dict__", {}).get("__spec__")):
            then(module)


_waiting: dict[str, list[Then]] = {}
_coming: dict[str, Callable[[], object]] = {}
sys.meta_path.insert(0, _Finder())


def after_import(name: str, then: Then) -> None:
    """Call `then` with the module of this name, once it is there; it is not imported for that."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        _waiting.setdefault(name, []).append(then)


def before_import(name: str, then: Callable[[], object]) -> None:
    """Call `then` before a module of this name is imported; at once, where it is there."""
    if name in sys.modules:
        then()
    else:
        _coming[name] = then


def unknown(module: ModuleType, reason: str) -> None:
    """Warn that a library does not know our arrays: one of another release than was tried."""
    message = f"{module.__name__} does not know arrays of nabla_array: {reason}; give it x.__array__()"
    warnings.warn(message, RuntimeWarning, stacklevel=2)
