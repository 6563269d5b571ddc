"""Run the array API tests that the installed SciPy or scikit-learn brings, on our arrays.

    python -m tests.upstream scipy|sklearn [PYTEST ARGUMENT ...]

Both libraries choose the namespaces from a list of their own, where ours takes the place of all others
before tests are collected. Arguments go to pytest: `-n 2`, `-k NAME`, `--parallel-threads=2` (of
pytest-run-parallel).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

import pytest

OURS = "nabla_array"


def _scipy() -> None:
    """Make ours the only parameter of the fixture `xp`, and one that marks of tests are about."""
    conftest: Any = importlib.import_module("scipy.conftest")
    conftest.xp_known_backends.add(OURS)
    ours = pytest.param(importlib.import_module(OURS), id=OURS, marks=pytest.mark.array_api_backends)
    object.__setattr__(conftest.xp._fixture_function_marker, "params", (ours,))


def _sklearn() -> None:
    """Make ours the only name of a namespace that test files import a generator of."""
    namespaces: Any = importlib.import_module("sklearn.utils._array_api")

    def names(include_numpy_namespaces: bool = True) -> Iterator[str]:
        yield OURS

    namespaces.yield_namespaces = names


# SciPy skips it for each library it knows whose values can be read, as ours can.
_FOR_LAZY = "::TestContainsNaN::test_array_api_lazy["
# It asks what a context variable says, which is set in the main thread, but not in those it starts.
_FOR_ONE_THREAD = "::TestArrayAPI::test_strict_checks["
# How our namespace is put in, and which tests take one.
PROJECTS = {
    "scipy": (_scipy, ("-m", "array_api_backends")),
    "sklearn": (_sklearn, ("-k", f"{OURS} or array_api")),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that `main` says a project by, in this process and in those of pytest-xdist."""
    parser.addoption("--dispatched", choices=PROJECTS)


def pytest_configure(config: pytest.Config) -> None:
    """Put our namespace in before tests are collected."""
    PROJECTS[config.getoption("--dispatched")][0]()


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Tell pytest-run-parallel of a test that is for one thread."""
    if _FOR_ONE_THREAD in item.nodeid:
        item.add_marker(pytest.mark.thread_unsafe(reason="asks a context variable of the main thread"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for lazy libraries, by a part of its name: the rest depends on what is collected."""
    for_lazy = [item for item in items if _FOR_LAZY in item.nodeid]
    items[:] = [item for item in items if item not in for_lazy]
    config.hook.pytest_deselected(items=for_lazy)


def main(project: str, *arguments: str) -> int:
    """Run the tests, and return pytest's exit status."""
    os.environ["SCIPY_ARRAY_API"] = "1"
    named = [a for a in arguments if a.split(".")[0] == project]  # modules, in the place of all
    others = [a for a in arguments if a not in named]
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "-p", __name__, "--dispatched", project]
    return int(pytest.main([*options, *PROJECTS[project][1], *others, "--pyargs", *(named or [project])]))
