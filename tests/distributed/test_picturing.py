"""Pictures of how arrays are cut."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, ShardingError, ShardingSpec, shard, visualize_sharding
from nabla_array.distributed.layouts import Layout, uncut
from nabla_array.distributed.picturing import ShardingPicture

MESH = DeviceMesh((2, 2), ("dp", "tp"))


def picture(shape: tuple[int, ...], spec: Any, mesh: DeviceMesh = MESH) -> ShardingPicture:
    return visualize_sharding(shard(np.ones(shape), mesh, spec))


def cells(picture: ShardingPicture) -> list[list[str]]:
    """Return the cells of a printed picture, row by row."""
    lines = [re.split("[│┃]", line)[1:-1] for line in str(picture).splitlines() if line[0] in "│┃"]
    return [[cell.strip() for cell in line] for line in lines]


def test_rows_and_columns() -> None:
    found = picture((6, 5), P("dp", "tp"))
    assert str(found).startswith("float64[6, 5], P('dp', 'tp') on DeviceMesh((2, 2), ('dp', 'tp'))\n")
    assert repr(found) == str(found)
    assert cells(found) == [
        ["axis 0", "axis 1: 0:3", "axis 1: 3:5"],
        ["0:3", "device 0", "device 1"],
        ["3:6", "device 2", "device 3"],
    ]


@pytest.mark.parametrize(
    ("shape", "spec", "wanted"),
    [
        ((), P(), [["", ""], ["", "devices 0-3"]]),
        ((5,), P("tp"), [["", "axis 0: 0:3", "axis 0: 3:5"], ["", "devices 0, 2", "devices 1, 3"]]),
        ((4, 3), P(), [["axis 0", "axis 1: 0:3"], ["0:4", "devices 0-3"]]),
        (
            (2, 7, 4),
            P(None, "tp"),
            [["axis 0", "axis 1: 0:4", "axis 1: 4:7"], ["0:2", "devices 0, 2", "devices 1, 3"]],
        ),
        (
            (8, 6, 4),
            P("dp", None, "tp"),
            [
                ["axis 0", "axis 2: 0:2", "axis 2: 2:4"],
                ["0:4", "device 0", "device 1"],
                ["4:8", "device 2", "device 3"],
            ],
        ),
    ],
)
def test_any_number_of_axes(shape: tuple[int, ...], spec: Any, wanted: list[list[str]]) -> None:
    assert cells(picture(shape, spec)) == wanted


def test_three_axes_that_are_cut() -> None:
    found = picture((8, 6, 4), P("a", "b", "c"), DeviceMesh((2, 2, 2), ("a", "b", "c")))
    assert [grid.where for grid in found.grids] == ["axis 2: 0:2", "axis 2: 2:4"]
    assert "device 5" in str(found)


def test_devices_that_have_nothing() -> None:
    assert str(picture((3,), P(("dp", "tp")))).endswith("nothing: device 3")
    assert "nothing: devices 0-3" in str(picture((0, 3), P("dp")))


def test_sums_that_are_not_taken() -> None:
    layout = Layout(MESH, [uncut(4)], [("tp", np.add)])
    assert "parts along 'tp' are still to be joined by add" in str(ShardingPicture("", layout))


def test_many_devices_are_left_out() -> None:
    found = cells(picture((80, 4), P("x"), DeviceMesh(40)))
    assert len(found) == 1 + 8 + 1 + 2
    assert found[-3:] == [["…", "…"], ["76:78", "device 38"], ["78:80", "device 39"]]


def test_colours_in_a_terminal() -> None:
    console = Console(file=(out := io.StringIO()), force_terminal=True, color_system="standard", width=80)
    console.print(picture((6, 5), P("dp", "tp")))
    assert len({*re.findall(r"\x1b\[1;(\d\d)m", out.getvalue())}) == 4


@pytest.mark.parametrize("spec", [P("dp", "tp"), P(None, "dp", "tp"), P()])
def test_a_drawing_in_a_notebook(spec: Any) -> None:
    found = picture((30, 40, 4), spec)
    drawn = ElementTree.fromstring(found._repr_svg_())
    space = "{http://www.w3.org/2000/svg}"
    parts = drawn.findall(f"{space}rect")
    assert len(parts) == len({r.get("fill") for r in parts}) == sum([len(g.devices) for g in found.grids])
    area = sum([float(r.get("width", 0)) * float(r.get("height", 0)) for r in parts])
    assert area == pytest.approx(480 * (float(drawn.get("height", 0)) - 36), rel=0.01)
    assert (drawn.findall(f"{space}text")[0].text or "").startswith("float64[30, 40, 4], P(")


def test_what_is_computed_first() -> None:
    x = shard(np.ones((4, 6)), MESH, P("dp"))
    assert "P('dp', None)" in str(visualize_sharding(xp.exp(x) + 1))
    assert isinstance(x.sharding, ShardingSpec)


def test_arrays_on_no_mesh() -> None:
    with pytest.raises(ShardingError, match=r"visualize_sharding: float64\[3\] is on 'cpu', on no mesh"):
        visualize_sharding(xp.ones(3))
    with pytest.raises(ShardingError, match="visualize_sharding: int is on no mesh"):
        visualize_sharding(3)
