"""A pytest plugin: record everything, and gather what MAX could run of what a session evaluates, on the host.

`NABLA_ARRAY_GATHER` names the file that the programs are written to, one a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nabla_array._lazy.run import tiers

from ..recorded import everything_recorded


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    with everything_recorded(), tiers.gather() as keys:
        result = yield
    Path(os.environ["NABLA_ARRAY_GATHER"]).write_text("\n".join(sorted(keys)), encoding="utf-8")
    return result
