"""The layers of the package: who may import whom, and what importing the package costs."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nabla_array
from nabla_array._namespace.numpy.homes import STANDARD

ROOT = Path(nabla_array.__file__).parent
# What builds the package is no part of it.
MODULES = sorted(p for p in ROOT.rglob("*.py") if p.name != "build.py")

# Lowest first; a folder imports itself and those before it. The rest of the package comes last.
LAYERS = ("_lazy", "_namespace", "transforms", "inspect", "distributed")
# The same within the two lowest layers. The modules beside the folders, and native code, come before all.
FOLDERS = {
    "_lazy": ("graph", "ops", "rules", "schedule", "cpu", "max", "run"),
    "_namespace": ("core", "dispatch", "chapters", "interop", "numpy"),
}
# What is imported inside functions, where it is used: it is slow to import, or optional.
LATE = {
    *("PIL", "bisect", "concurrent", "dask", "distributed", "h5py", "importlib", "jax", "matplotlib"),
    *("llvmlite", "max", "mojo", "mpmath", "numba", "pyarrow", "rich", "scipy", "sklearn", "sympy"),
}
# And what of ours only serves MAX, with the processes and files that it needs, or large arrays alone.
LATE_OWN = {
    f"nabla_array._lazy.{name}"
    for name in (
        "run.accelerator",
        "max.artifacts",
        "max.compiler",
        "max.backend",
        "cpu.pool",
        "cpu.sharing",
        "run.early",
        "run.planning",
        "run.settling",
        "schedule.plan_cache",
        "run.tiers",
    )
}
# What most programs do without.
LATE_OWN |= {
    "nabla_array.distributed.dask_engine",
    "nabla_array._lazy.rules.autodiff",
    "nabla_array._namespace.numpy.flat",
    "nabla_array._namespace.chapters.special",
}

# What `import nabla_array` must not bring in.
HEAVY = {"dask", "distributed", "matplotlib", "max", "pandas", "rich", "scipy", "sklearn", "sympy", "torch"}

modules = pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(p) for p in MODULES}


def layer(module: str) -> int:
    parts = module.split(".")
    if module == "nabla_array.version":  # a number, which imports nothing
        return -1
    return LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else len(LAYERS)


def height(module: str) -> tuple[int, int]:
    """Return the layer of a module, and the place of its folder within that."""
    _, *parts = module.split(".")
    if not parts or parts[0] not in FOLDERS:
        return layer(module), 0
    folders = FOLDERS[parts[0]]
    if len(parts) == 1:  # the package of the layer: it may import all of it
        return layer(module), len(folders)
    return layer(module), folders.index(parts[1]) if parts[1] in folders else -1


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def imports(path: Path) -> list[tuple[str, int, bool, bool]]:
    """Return (module, line, inside a function?, for types only?) for each import of a file."""
    package = name_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]

    def walk(node: ast.AST, inside: bool, types: bool) -> Iterator[tuple[str, int, bool, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield alias.name, child.lineno, inside, types
            elif isinstance(child, ast.ImportFrom):
                above = package[: len(package) - child.level + 1] if child.level else []
                source = ".".join([*above, *([child.module] if child.module else [])])
                for alias in child.names:
                    whole = f"{source}.{alias.name}"
                    yield (whole if whole in NAMES else source), child.lineno, inside, types
            else:
                deeper = inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, deeper, types or _is_type_checking(child))

    return [*walk(parsed(path), False, False)]


def late_imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file calls `import_module` for.

    An f-string names those that it fits and whose last name the file has as a string.
    """
    package = name_of(path) if path.name == "__init__.py" else name_of(path).rpartition(".")[0]
    nodes = [*ast.walk(parsed(path))]
    words = {n.value for n in nodes if isinstance(n, ast.Constant)}
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            given = node.args[0]
            pieces = given.values if isinstance(given, ast.JoinedStr) else [given]
            texts = [p.value if isinstance(p, ast.Constant) else None for p in pieces]
            if not isinstance(texts[0], str):
                continue  # a variable's, or one of any package
            name = texts[0].lstrip(".")
            level = len(texts[0]) - len(name)
            above = package.split(".")[: package.count(".") + 2 - level] if level else []
            texts[0] = ".".join([*above, name])
            pattern = "".join(r"\w+" if t is None else re.escape(str(t)) for t in texts)
            found = {n for n in NAMES if re.fullmatch(pattern, n)}
            yield from found if len(texts) == 1 else (n for n in found if n.rpartition(".")[2] in words)


def hooked(path: Path) -> Iterator[str]:
    """Yield the modules into whose hooks a file puts functions: when they run, they call this file's."""
    tree = parsed(path)
    package = name_of(path).split(".")[: None if path.name == "__init__.py" else -1]
    source: dict[str, str] = {}  # what a name of the file's is, or is of
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{module}.{alias.name}"
                source[alias.asname or alias.name] = whole if whole in NAMES else module
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = [node.func.value] if node.func.attr in ("append", "extend", "insert") else []
        elif isinstance(node, ast.Assign):
            changed = [t.value for t in node.targets if isinstance(t, ast.Subscript)]
        else:
            changed = [node.target] if isinstance(node, ast.AugAssign) else []
        for target in map(ast.unparse, changed):
            if target.endswith("_hook") and (module := source.get(target.split(".")[0], "")) in NAMES:
                yield module


@functools.cache
def uses() -> dict[str, set[str]]:
    """Return the modules of ours that each module imports, at once or late, other than for types."""
    found = {}
    for path in MODULES:
        at_once = {m for m, _, _, types in imports(path) if m in NAMES and not types}
        found[name_of(path)] = (at_once | {*late_imports(path)}) - {name_of(path)}
    return found


@modules
def test_lower_layers_do_not_import_higher_ones(path: Path) -> None:
    mine = layer(name_of(path))
    wrong = [
        f"line {line}: {module}"
        for module, line, _, _ in imports(path)
        if module.split(".")[0] == "nabla_array" and layer(module) > mine
    ]
    assert not wrong


def upwards() -> set[tuple[str, str]]:
    """Return the modules that use one of a higher folder, each with that."""
    return {(name, m) for name, used in uses().items() for m in used if height(m) > height(name)}


def test_folders_do_not_import_higher_ones() -> None:
    assert not upwards()


def circles() -> list[list[str]]:
    """Return the largest sets of modules that all lead to each other, by imports and hooks.

    A hook of a lower folder is how that calls a higher one: it leads nowhere.
    """
    graph = {name: {*used} for name, used in uses().items()}
    for path in MODULES:
        for lower in hooked(path):
            if height(lower) >= height(name_of(path)):
                graph[lower].add(name_of(path))
    reached: dict[str, set[str]] = {}
    for start in graph:
        found, waiting = set[str](), [start]
        while waiting:
            new = graph[waiting.pop()] - found
            found |= new
            waiting += new
        reached[start] = found
    sets = {frozenset(m for m in reached[name] if name in reached[m]) for name in graph}
    return sorted(sorted(s) for s in sets if s)


def test_no_circular_imports() -> None:
    assert not circles()


@modules
def test_imports_inside_functions_are_late_for_a_reason(path: Path) -> None:
    wrong = [
        f"line {line}: {module}"
        for module, line, inside, _ in imports(path)
        if inside and module.split(".")[0] not in LATE and module not in LATE_OWN
    ]
    assert not wrong


def test_modules_of_the_two_lowest_layers_have_tests_of_their_names() -> None:
    missing = []
    for part in ("_lazy", "_namespace"):
        for path in (ROOT / part).rglob("*.py"):
            place = path.relative_to(ROOT / part)
            test = Path(__file__).parent / part[1:] / place.with_name(f"test_{path.name}")
            if path.name != "__init__.py" and not test.exists():
                missing.append((str(place.parent).lstrip("."), path.stem))
    assert not missing


def test_the_graph_imports_numpy_only() -> None:
    # LLVM for loops, rich for the line that says what MAX compiles, SciPy for its special functions.
    allowed = {
        "nabla_array",
        "numpy",
        "llvmlite",
        "max",
        "mojo",
        "rich",
        "scipy",
        *sys.stdlib_module_names,
    }
    for path in MODULES:
        if layer(name_of(path)) == 0:
            assert {m.split(".")[0] for m, *_ in imports(path)} <= allowed, path


def test_one_module_touches_max() -> None:
    touching = [name_of(p) for p in MODULES if any(m.split(".")[0] == "max" for m, *_ in imports(p))]
    assert len(touching) <= 1
    assert all(layer(name) == 0 for name in touching)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, nabla_array; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = set(run.stdout.split())
    assert not HEAVY & {m.split(".")[0] for m in found}
    assert not LATE_OWN & found
    assert not {f"nabla_array._namespace{chapter}" for chapter in (*STANDARD, ".numpy.ufunc_methods")} & found


def test_importing_the_package_after_numpy_imports_no_more_of_the_standard_library() -> None:
    code = "import sys, numpy; before = {*sys.modules}; import nabla_array; print(*{*sys.modules} - before)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {m for m in run.stdout.split() if m.split(".")[0] in sys.stdlib_module_names} <= {
        "__future__",
        "gc",
    }
