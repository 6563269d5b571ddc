"""A pytest plugin: record everything, and say at the end how many parts of programs MAX has run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nabla_array._lazy.stats import stats

from ..recorded import everything_recorded


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    with everything_recorded():
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"MAX ran {stats.compiled} parts of programs")
