"""What an installation asks for: on no system a package that has no wheels there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

requirements = pytest.importorskip("packaging.requirements", reason="packaging reads the markers")

LINUX = {"sys_platform": "linux", "platform_machine": "x86_64"}
MAC = {"sys_platform": "darwin", "platform_machine": "arm64"}
WINDOWS = {"sys_platform": "win32", "platform_machine": "AMD64"}


@pytest.mark.parametrize(
    ("system", "python", "optional"),
    [
        (LINUX, "3.11", {"llvmlite", "max"}),
        (LINUX | {"platform_machine": "aarch64"}, "3.14", {"llvmlite", "max"}),
        (MAC, "3.14", {"llvmlite", "max"}),
        (LINUX, "3.15", {"llvmlite"}),
        (WINDOWS, "3.14", {"llvmlite"}),
        (MAC | {"platform_machine": "x86_64"}, "3.14", set()),
        (LINUX | {"platform_machine": "ppc64le"}, "3.14", set()),
        (LINUX | {"implementation_name": "pypy"}, "3.11", set()),
    ],
)
def test_where_there_are_no_wheels_a_package_is_not_required(
    system: dict[str, str], python: str, optional: set[str]
) -> None:
    told = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))
    wanted = [requirements.Requirement(line) for line in told["project"]["dependencies"]]
    here = {"implementation_name": "cpython", "python_version": python} | system
    found = {r.name for r in wanted if r.marker is None or r.marker.evaluate(here)}
    assert found == {"numpy", "rich"} | optional
