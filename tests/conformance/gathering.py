"""A pytest plugin: gather what MAX could run of everything that a session evaluates, on the host.

`NABLA_ARRAY_GATHER` names the file that the programs are written to, one a line.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nabla_array._lazy import tiers

_scope = tiers.gather()
_keys = _scope.__enter__()


def pytest_sessionfinish(session: pytest.Session) -> None:
    Path(os.environ["NABLA_ARRAY_GATHER"]).write_text("\n".join(sorted(_keys)), encoding="utf-8")
