"""The layers of the package: who may import whom, and what importing the package costs."""

from __future__ import annotations

import ast
import graphlib
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
LAYERS = ("_lazy", "_namespace", "transforms", "distributed")

# What is imported inside functions, where it is used: it is slow to import, or optional.
LATE = {
    *("concurrent", "dask", "distributed", "importlib", "matplotlib"),
    *("max", "mojo", "mpmath", "rich", "scipy", "sklearn", "sympy", "threadpoolctl"),
}
# And what of ours only serves MAX, with the processes and files that it needs, or large arrays alone.
LATE_OWN = {
    f"nabla_array._lazy.{name}"
    for name in ("run.accelerator", "max.artifacts", "max.compiler", "max.backend", "cpu.pool", "run.tiers")
}
# What most programs do without.
LATE_OWN |= {
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
    return LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else len(LAYERS)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(path: Path) -> Iterator[tuple[str, int, bool, bool]]:
    """Yield (module, line, inside a function?, for types only?) for each import of a file."""
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

    yield from walk(ast.parse(path.read_text()), False, False)


@modules
def test_lower_layers_do_not_import_higher_ones(path: Path) -> None:
    mine = layer(name_of(path))
    wrong = [
        f"line {line}: {module}"
        for module, line, _, _ in imports(path)
        if module.split(".")[0] == "nabla_array" and layer(module) > mine
    ]
    assert not wrong


@modules
def test_imports_inside_functions_are_late_for_a_reason(path: Path) -> None:
    wrong = [
        f"line {line}: {module}"
        for module, line, inside, _ in imports(path)
        if inside and module.split(".")[0] not in LATE and module not in LATE_OWN
    ]
    assert not wrong


def test_no_circular_imports() -> None:
    graph = {name_of(p): {m for m, _, _, types in imports(p) if m in NAMES and not types} for p in MODULES}
    for name, used in graph.items():
        used.discard(name)
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_the_graph_imports_numpy_only() -> None:
    # rich for the line that says what MAX compiles, SciPy for its special functions, threadpoolctl for BLAS.
    allowed = {
        "nabla_array",
        "numpy",
        "max",
        "mojo",
        "rich",
        "scipy",
        "threadpoolctl",
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
    assert not {f"nabla_array._namespace{chapter}" for chapter in (*STANDARD, ".ufunc_methods")} & found
