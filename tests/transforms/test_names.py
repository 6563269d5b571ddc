"""The names that JAX's users look for: on the page about them, and here."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import pytest

import nabla_array.distributed
from nabla_array import transforms
from nabla_array.transforms import tree

PAGE = (Path(__file__).parents[2] / "docs" / "start" / "coming-from-jax.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Names")[2].partition("\n## ")[0]
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.startswith("| `")]
NAMES = sorted({n for _, ours in ROWS for n in re.findall(r"`([\w.]+)`", ours)})
# Parameters, and what has a table of its own.
OPTIONS = {
    n
    for n in NAMES
    if re.fullmatch(r"(static|donate|nondiff)_arg\w+|axis_\w+|\w+_axis_name|argnums|symbolic_\w+", n)
}


@pytest.mark.parametrize("name", sorted({*NAMES} - OPTIONS))
def test_names_of_the_page_are_there(name: str) -> None:
    path = name.split(".")
    home = nabla_array if path[0] == "nabla_array" else transforms
    reduce(getattr, path[1:] if home is nabla_array else path, home)


def test_what_is_like_jaxs_is_on_the_page() -> None:
    shown = {n.rpartition(".")[2] for n in NAMES}
    missing = [p for p in transforms._JAXS.split() if p.rpartition(".")[2] not in shown]
    assert set(missing) <= {f"tree_util.tree_{n}" for n in tree.__all__}
