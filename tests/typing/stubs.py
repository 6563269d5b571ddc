"""Writes the stubs of what is found by name when it is asked for: `python -m tests.typing.stubs`.

Type checkers and editors do not run `__getattr__`. The stubs say which module each such name comes from; what
it takes and gives is written there, at the function. What NumPy or SciPy compute for us has their parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array._namespace.dispatch.fastpath import FUNCTIONS
from nabla_array._namespace.dispatch.ufuncs import ALIASES
from nabla_array._namespace.numpy import homes, methods

ROOT = Path(xp.__file__).parent
HEAD = '"""Written by `python -m tests.typing.stubs`."""\n\n'

# What NumPy computes, or reads from files or iterators, and is an array of ours then.
HOSTS = (
    *("busday_count", "fromfile", "fromiter", "fromregex", "fromstring", "genfromtxt"),
    *("is_busday", "isnat", "loadtxt"),
)
# What NumPy writes about arrays of ours.
TEXTS = ("array2string", "array_repr", "array_str")
# What not every platform has, but NumPy's stubs on all.
PLATFORMS = {"complex256", "float128"}
# Modules for NumPy alone, and what `nabla_array/__init__.py` imports for type checkers itself.
ELSEWHERE = {"__version__", "core", "f2py", *xp._LATE, *xp._LATE_MODULES}
# Functions of `random` that draw one whole number; samples of several numbers; and what draws no number.
INTEGERS = {
    *("binomial", "geometric", "hypergeometric", "integers", "logseries", "negative_binomial", "poisson"),
    *("randint", "random_integers", "tomaxint", "zipf"),
}
VECTORS = {"dirichlet", "multinomial", "multivariate_hypergeometric", "multivariate_normal"}
OTHERS = {
    "bytes": "builtins.bytes",
    "choice": "Any",
    "get_state": "Any",
    "permutation": "Array",
    "permuted": "Array",
    "seed": "None",
    "set_state": "None",
    "shuffle": "None",
    "spawn": "list[Generator]",
}


def chapters() -> dict[str, str]:
    """Return the module, from the package on, of each name of the standard and of NumPy's that is ours."""
    found = {}
    for path in sorted((ROOT / "_namespace" / "chapters").glob("*.py")):
        module = import_module(f"nabla_array._namespace.chapters.{path.stem}")
        if path.stem not in ("fft", "linalg", "linalg_basics"):
            found.update(dict.fromkeys(getattr(module, "__all__", ()), f"_namespace.chapters.{path.stem}"))
    for module_name, names in homes.CHAPTERS.items():
        found.update(dict.fromkeys(names.split(), f"_namespace.numpy.{module_name}"))
    return found


def imported(module: str, name: str) -> str:
    return f"from {module} import {name} as {name}"


def parameters(function: Callable[..., Any], **kinds: str) -> str:
    """Return the parameters of a function as a stub has them, each of a kind or of any."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # NumPy does not tell
        return "*args: Any, **kwargs: Any"
    texts = [
        p.replace(
            annotation=inspect._empty if p.name == "self" else kinds.get(p.name, "Any"),
            default=p.default if p.default is p.empty or p.default is None else ...,
        )
        for p in signature.parameters.values()
    ]
    made = str(inspect.Signature(texts)).removeprefix("(").removesuffix(")")
    return made.replace("'", "").replace("Ellipsis", "...")


def names() -> Iterator[str]:
    """Yield the lines for the namespace itself."""
    where = chapters()
    ours = {*where, *(name for name, own in ALIASES.items() if own in where)}
    theirs = {*np.__all__, *PLATFORMS} - ours - ELSEWHERE - {*HOSTS, *TEXTS}
    yield from ["from typing import Any", "", imported("._namespace.core.array", "Array")]
    yield from sorted(imported(f".{where[name]}", name) for name in where)
    yield from (imported("numpy", name) for name in sorted(theirs))
    yield ""
    yield from (f"{alias} = {ALIASES[alias]}" for alias in sorted(ours - {*where}))
    yield ""
    yield from (f"def {name}({parameters(getattr(np, name))}) -> Array: ..." for name in HOSTS)
    yield from (f"def {name}({parameters(getattr(np, name))}) -> str: ..." for name in TEXTS)


def part(name: str, home: dict[str, str], chapter: str) -> Iterator[str]:
    """Yield the lines for `linalg` or `fft`."""
    standard = import_module(f"nabla_array._namespace.chapters.{chapter}").__all__
    lines = [imported(f"._namespace.chapters.{chapter}", n) for n in standard]
    lines += [imported(f"._namespace.numpy.{m}", n) for m, ns in home.items() for n in ns.split()]
    yield from sorted(lines)
    yield ""
    yield "__all__ = ["
    yield from (f'    "{n}",' for n in sorted(getattr(xp, name).__all__))
    yield "]"


def draws(kind: type, base: type) -> Iterator[str]:
    """Yield the lines for a class whose methods draw random numbers."""
    yield f"class {kind.__name__}(numpy.random.{kind.__name__}):"
    for name, method in sorted(vars(base).items()):
        if name.startswith("_") or not callable(method):
            continue
        if name in OTHERS or name in VECTORS:
            result = OTHERS.get(name, "Array")
            yield f"    def {name}({parameters(method)}) -> {result}: ..."
            continue
        if name in ("rand", "randn"):  # sizes alone
            yield "    @overload"
            yield f"    def {name}(self) -> float: ..."
            yield "    @overload"
            yield f"    def {name}(self, *sizes: int) -> Array: ..."
            continue
        numbers = {p: "float" for p in inspect.signature(method).parameters}
        arrays = dict.fromkeys(numbers, "ArrayLike") | {"high": "ArrayLike | None"}
        options = {"dtype": "DTypeLike", "endpoint": "bool", "method": "str"}
        scalars = numbers | options | {"size": "None", "out": "None", "high": "float | None"}
        many = arrays | options | {"size": "Size", "out": "Array | None"}
        one = "int" if name in INTEGERS else "float"
        yield "    @overload"
        yield f"    def {name}({parameters(method, **scalars)}) -> {one}: ..."
        yield "    @overload"
        yield f"    def {name}({parameters(method, **many)}) -> Array: ..."


def random() -> Iterator[str]:
    """Yield the lines for `random`."""
    from numpy import random as theirs

    taken = [n for n in theirs.__all__ if getattr(xp.random, n) is getattr(theirs, n)]
    yield '# mypy: disable-error-code="override"'  # NumPy's methods give arrays of its own
    yield from ["import builtins", "from collections.abc import Sequence"]
    yield from ["from typing import Any, TypeAlias, overload", ""]
    yield from ["import numpy", "from numpy.typing import ArrayLike, DTypeLike"]
    yield from (imported("numpy.random", name) for name in sorted(taken))
    yield from ["", "from ._namespace.core.array import Array", ""]
    yield from ["Size: TypeAlias = int | Sequence[int] | None", ""]
    yield from draws(xp.random.Generator, theirs.Generator)
    yield ""
    yield from draws(xp.random.RandomState, theirs.RandomState)
    yield from ["", "def default_rng(seed: Any = None) -> Generator: ...", "", "_state: RandomState"]
    for name in sorted({*theirs.__all__} - {*taken, "Generator", "RandomState", "default_rng"}):
        yield f"{name} = _state.{'random_sample' if name in ('ranf', 'sample') else name}"
    yield ""
    yield f"__all__ = {sorted(theirs.__all__)!r}"


def special() -> Iterator[str]:
    """Yield the lines for `special`, the names of which SciPy has."""
    from scipy import special as theirs

    yield from ["from typing import Any", "", "from numpy.typing import ArrayLike"]
    yield from ["", "from ._namespace.core.array import Array", ""]
    for name in sorted({*theirs.__all__}):
        found = getattr(xp.special, name, None)
        if found is None:
            continue
        ufunc = getattr(theirs, name)
        if isinstance(ufunc, np.ufunc):
            told = ", ".join(f"x{i}: ArrayLike" for i in range(1, ufunc.nin + 1)) + ", /"
            result = "Array" if ufunc.nout == 1 else f"tuple[{', '.join(['Array'] * ufunc.nout)}]"
        else:
            told, result = parameters(found), "Array"
        yield f"def {name}({told}) -> {result}: ..."


def _home_of(name: str, method: Any) -> tuple[str, str] | None:
    """Return the module and the name of the function that a method is."""
    if type(method) is methods._Late:
        where = chapters()[method._name]
        return where, method._name
    for module in ("core.views", "chapters.manipulation", "numpy.methods"):
        for own, function in vars(import_module(f"nabla_array._namespace.{module}")).items():
            if isinstance(function, FUNCTIONS) and inspect.unwrap(method) is inspect.unwrap(function):
                return f"_namespace.{module}", own
    return None


def array_methods() -> Iterator[str]:
    """Yield the lines for the methods that `Array` gets from functions."""
    lines, modules = [], set()
    for name, method in sorted(methods._METHODS.items()):
        home = None if name.startswith("__") else _home_of(name, method)
        if home is not None:
            folder, _, module = home[0].removeprefix("_namespace.").rpartition(".")
            modules.add(f"from {'.' if folder == 'core' else f'..{folder}'} import {module}")
            lines.append(f"    {name} = {module}.{home[1]}")
    yield from ["from typing import TypeAlias", *sorted(modules)]
    yield "from ._operators import Operators"
    yield "from ...distributed.mesh import DeviceMesh"
    yield from ["from ...distributed.specs import ShardingSpec", ""]
    yield from ["Device: TypeAlias = str | DeviceMesh", "Sharding: TypeAlias = ShardingSpec"]
    yield from ["", "class Methods(Operators):", *lines]


# The stubs by their paths in the package.
STUBS: dict[str, Callable[[], Iterator[str]]] = {
    "_names.pyi": names,
    "_namespace/core/_methods.pyi": array_methods,
    "fft.pyi": lambda: part("fft", homes.FFT, "fft"),
    "linalg.pyi": lambda: part("linalg", homes.LINALG, "linalg"),
    "random.pyi": random,
    "special.pyi": special,
}


def text(path: str) -> str:
    return HEAD + "\n".join(STUBS[path]()) + "\n"


if __name__ == "__main__":
    for path in STUBS:
        (ROOT / path).write_text(text(path))
