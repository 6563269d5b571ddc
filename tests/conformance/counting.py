"""A pytest plugin: say at the end how many parts of programs MAX has run."""

from __future__ import annotations

import pytest

from nabla_array._lazy.stats import stats


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"MAX ran {stats.compiled} parts of programs")
