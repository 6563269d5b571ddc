"""Settings of the whole suite."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before anybody imports SciPy: its functions take our arrays

import doctest
import gc
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from _pytest.doctest import DoctestItem
from hypothesis import HealthCheck, settings

from nabla_array import config
from nabla_array._lazy.native import compiled

from . import optional
from .recorded import everything_recorded

# `deadline` off: the first example of a test may load what later ones find. No database: the tree stays
# clean, and a failing example is printed as code. In CI the examples are the same each time: what fails there
# is a regression, and everybody's own runs look for new ones.
settings.register_profile(
    "default",
    deadline=None,
    database=None,
    max_examples=100,
    print_blob=True,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("few", settings.get_profile("default"), max_examples=25)  # under the sanitizers
settings.load_profile("default")

if compiled is None:  # the header of the report says so, not each process that a test starts
    os.environ["NABLA_ARRAY_COMPILED"] = "0"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Programs that tests run in processes of their own: to import them is to run them.
collect_ignore_glob = ["namespace/programs/*", "runner/scripts/*"]


def pytest_configure(config: pytest.Config) -> None:
    """Skip examples of the package that want a missing library: this file's own hooks see tests alone."""
    config.pluginmanager.register(optional, "optional")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the examples in docstrings of NumPy's, which functions on the host keep, or the start of."""
    items[:] = [i for i in items if not (isinstance(i, DoctestItem) and _is_numpys(i.name, i.dtest))]


def pytest_collection_finish() -> None:
    """Keep the tests out of garbage collections, which would go through all of them each time."""
    gc.collect()
    gc.freeze()


def _is_numpys(name: str, test: doctest.DocTest | None) -> bool:
    theirs: Any = np
    for part in name.split(".")[1:]:
        theirs = getattr(theirs, part, None)
    text = getattr(theirs, "__doc__", None) or ""
    return test is not None and text.startswith(str(test.docstring))


@pytest.fixture
def recorded() -> Iterator[None]:
    """Record everything in a test, however small."""
    with everything_recorded():
        yield


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's cache out of the tests, and workers from starting where a test does not ask.

    MAX's own cache is one for all: each test with a cache folder of its own would compile from cold.
    """
    os.environ.setdefault("MODULAR_CACHE_DIR", str(tmp_path_factory.getbasetemp().parent / "max"))
    with config(cache_dir=str(tmp_path_factory.mktemp("cache")), compile_after=1e9):
        yield
