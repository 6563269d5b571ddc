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
_FOR_LAZY = "_lib/tests/test__util.py::TestContainsNaN::test_array_api_lazy"
# How our namespace is put in, and which tests take one.
PROJECTS = {
    "scipy": (_scipy, ("-m", "array_api_backends", "--deselect", _FOR_LAZY)),
    "sklearn": (_sklearn, ("-k", f"{OURS} or array_api")),
}


class _Namespaces:
    def __init__(self, project: str) -> None:
        self._project = project

    def pytest_configure(self) -> None:
        PROJECTS[self._project][0]()


def main(project: str, *arguments: str) -> int:
    """Run the tests, and return pytest's exit status."""
    os.environ["SCIPY_ARRAY_API"] = "1"
    named = [a for a in arguments if a.split(".")[0] == project]  # modules, in the place of all
    others = [a for a in arguments if a not in named]
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, *PROJECTS[project][1]]
    return int(
        pytest.main([*options, *others, "--pyargs", *(named or [project])], plugins=[_Namespaces(project)])
    )
