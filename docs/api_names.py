"""The public names of the package, by module and chapter: what the API reference has a page for each of."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array._namespace.numpy import homes

STANDARD = "nabla_array._namespace.chapters."

# Chapters of `nabla_array`: their titles, and the modules that hold their names (the standard's, NumPy's).
CHAPTERS = {
    "Arrays and evaluation": ("", ""),
    "Creating arrays": ("creation filling", "constructing grids"),
    "Shapes, joining and splitting": ("joining manipulation", "joining padding"),
    "Elementwise functions": ("elementwise", "ufuncs bits"),
    "Sums, statistics and histograms": ("moments scans statistical", "statistics without_nan"),
    "Sorting, searching and sets": ("searching sets sorting", "ordering uniques"),
    "Indexing and choosing": ("indexing_functions", "choosing"),
    "Products": ("linear_algebra", "products"),
    "Numerical functions": ("", "numbers"),
    "Polynomials": ("", "polynomials"),
    "Questions about arrays": ("utility", "predicates"),
    "Functions of functions": ("", "calling"),
    "Data types and constants": ("constants data_types info", ""),
    "Settings, text, files and dates": ("", "errors"),
    "NumPy's modules": ("", ""),
}
_FIRST, _TYPES, _LAST, _MODULES = (
    "Arrays and evaluation",
    "Data types and constants",
    "Settings, text, files and dates",
    "NumPy's modules",
)
# What stands in no chapter's module.
_EXTRA = {
    **dict.fromkeys(("Array", "config", "eval", "explain", "ndarray", "report", "ufunc"), _FIRST),
    **dict.fromkeys(("load_ipython_extension", "unload_ipython_extension"), _FIRST),
    **dict.fromkeys(("__array_namespace_info__", "__array_api_version__", "__version__", "test"), _LAST),
    **dict.fromkeys(
        ("asmatrix", "bmat", "fromfile", "fromiter", "fromregex", "fromstring"), "Creating arrays"
    ),
    **dict.fromkeys(("recarray", "matrix", "memmap", "record", "flatiter"), _FIRST),
    **dict.fromkeys(("ndindex", "frompyfunc", "nested_iters"), "Functions of functions"),
    **dict.fromkeys(("euler_gamma", "little_endian", "True_", "False_", "newaxis"), _TYPES),
    **dict.fromkeys(("common_type", "issubdtype", "mintypecode", "min_scalar_type", "promote_types"), _TYPES),
    **dict.fromkeys(("typename", "ScalarType", "sctypeDict", "typecodes"), _TYPES),
    "poly1d": "Polynomials",
    "busdaycalendar": _LAST,
}
# Modules beside `nabla_array`; a module without `__all__` has the public names that are made in it.
MODULES = {
    "linalg": "Linear algebra",
    "fft": "Fourier transforms",
    "random": "Random numbers",
    "special": "Special functions",
    "lib.stride_tricks": "Windows and strides",
    "transforms": "Transforms",
    "transforms.tree": "Pytrees",
    "transforms.debug": "Printing and callbacks",
    "transforms.checkpoint_policies": "Checkpoint policies",
    "distributed": "Meshes and sharded arrays",
}


def module(part: str) -> ModuleType:
    """Return a public module of the package, by its name without that of the package."""
    return importlib.import_module(f"nabla_array.{part}" if part else "nabla_array")


def _chapters() -> dict[str, str]:
    found = {}
    for title, (standard, numpys) in CHAPTERS.items():
        for name in standard.split():
            found.update(dict.fromkeys(importlib.import_module(STANDARD + name).__all__, title))
        for name in numpys.split():
            found.update(dict.fromkeys(homes.CHAPTERS[name].split(), title))
    return found | _EXTRA


def chapter(name: str, chapters: dict[str, str]) -> str:
    """Return the chapter of a name of `nabla_array`."""
    value = getattr(xp, name)
    if name in chapters:
        return chapters[name]
    if type(value).__name__ == "NumpyModule" or inspect.ismodule(value):
        return _MODULES
    for other, title in chapters.items():  # another name of the same function
        if getattr(xp, other) is value and not isinstance(value, type):
            return title
    if isinstance(getattr(np, name, None), np.ufunc) and name != "isnat":
        return "Elementwise functions"
    return _TYPES if isinstance(value, type) else _LAST


def _made_here(path: ModuleType, value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").startswith(path.__name__) and not inspect.ismodule(
        value
    )


@cache
def names(part: str) -> list[str]:
    """Return the public names of a module of the package, sorted."""
    path = module(part)
    if part == "special":
        from scipy import special

        return sorted(n for n in dir(special) if not n.startswith("_") and hasattr(path, n))
    if part == "":
        own = {"__array_api_version__", "__array_namespace_info__", "__version__", "explain", "report"}
        own |= {"load_ipython_extension", "unload_ipython_extension"}
        modules = {m.partition(".")[0] for m in MODULES}
        return sorted({*np.__all__, *xp.__all__, *own} & {*_visible(path), *own} - modules)
    listed = getattr(path, "__all__", None)
    if listed is None:
        listed = [n for n in dir(path) if not n.startswith("_") and _made_here(path, getattr(path, n))]
    return sorted(listed)


def _visible(path: ModuleType) -> Iterator[str]:
    """Give the names of a namespace that are its own or NumPy's, and not of an import for annotations."""
    foreign = ("typing", "types", "importlib", "__future__", "_frozen_importlib")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(path):
            value = getattr(path, name)
            home = getattr(value, "__module__", None) or type(value).__module__
            if home not in foreign and name not in ("ModuleType", "TYPE_CHECKING"):
                yield name


def contents(part: str) -> dict[str, list[str]]:
    """Return the names of a module by chapter; a module without chapters has one without a title."""
    if part:
        return {"": names(part)}
    chapters = _chapters()
    found: dict[str, list[str]] = {title: [] for title in CHAPTERS}
    for name in names(""):
        found[chapter(name, chapters)].append(name)
    return found


def page(part: str, name: str) -> str:
    """Return the name of the page of a name; classes are told apart from functions spelt alike."""
    if part == "special":  # SciPy's functions: all on one page
        return "nabla_array.special"
    path = f"{module(part).__name__}.{name}"
    twins = [n for n in names(part) if n != name and n.lower() == name.lower()]
    return f"{path}-class" if twins and isinstance(getattr(module(part), name), type) else path


def everything() -> list[tuple[str, str]]:
    """Return all public names, as (module, name)."""
    return [(part, name) for part in ("", *MODULES) for name in names(part)]
