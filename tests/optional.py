"""A pytest plugin: what needs a library that is not installed is skipped, and says so.

In a full installation nothing is: what is there is imported, and its errors are errors.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from importlib.util import find_spec

import pytest

from nabla_array._lazy.native import compiled

# What a test may need beside NumPy, and beside what runs tests.
LIBRARIES = (
    "PIL array_api_strict dask distributed h5py hatchling IPython llvmlite matplotlib max mypy ndindex "
    "pandas psutil pytest_jsonreport scipy setuptools sklearn sympy zarr"
)
# Python's own classes can offer memory to C code since 3.12.
HAS_BUFFERS = compiled is not None or sys.version_info >= (3, 12)
NO_BUFFERS = "before Python 3.12, only compiled code can offer buffers"
MISSING = {name for name in LIBRARIES.split() if find_spec(name) is None}


def missing_of(error: BaseException | None) -> str | None:
    """Return the library for want of which an error was raised, directly or in a process that a test ran."""
    while error is not None:
        if isinstance(error, BaseExceptionGroup):  # Hypothesis's, of several examples
            names = [missing_of(e) for e in error.exceptions]
            return names[0] if all(names) else None
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in MISSING:
            return (error.name or "").partition(".")[0]
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Make a skip of an error that is a missing library's."""
    report = yield
    name = missing_of(call.excinfo.value) if call.excinfo is not None else None
    if report.failed and name is not None:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.reportinfo()[1] or 0, f"Skipped: {name} is not installed")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Leave out a file that imports a missing library."""
    report = yield
    if report.failed and MISSING:
        text = str(report.longrepr)
        name = next((m for m in sorted(MISSING) if f"No module named '{m}" in text), None)
        if name is not None:
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: {name} is not installed")
    return report


def pytest_report_header() -> list[str]:
    """Say what is left out."""
    said = [f"tests of {', '.join(sorted(MISSING))} are left out: not installed"] if MISSING else []
    return said if compiled is not None else [*said, "tests of compiled code are left out: it is not there"]
