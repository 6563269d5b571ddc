"""Pictures of how arrays are cut: a table in a terminal, a drawing in a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from .._lazy.run.evaluator import evaluate
from .._namespace.core.array import Array, current
from .arrays import on_no_mesh
from .errors import ShardingError
from .layouts import Layout, volume
from .mesh import DeviceMesh
from .specs import spec_of

if TYPE_CHECKING:
    from rich.console import Group

# Where a piece of an axis begins and ends.
Span = tuple[int, int]

# Rows and columns of a table, at the most: the first ones, and the last.
_HEAD, _TAIL = 8, 2
# Colours of rich's that can be told apart, on a dark and on a light ground.
_COLOURS = ("blue", "magenta", "green", "red", "cyan", "yellow", "bright_blue", "bright_magenta")
# The size of a drawing, and of its letters.
_WIDTH, _HEIGHT, _LETTER = 480.0, 240.0, 12


class Grid(NamedTuple):
    """Which devices have which part, along two axes of an array.

    Attributes
    ----------
    where
        Of an array with more axes that are cut, which part of those this is.
    devices
        By rows and columns the devices that have that part.
    """

    where: str
    devices: dict[tuple[Span, Span], tuple[int, ...]]

    @property
    def rows(self) -> list[Span]:
        """Where the rows begin and end."""
        return sorted({r for r, _ in self.devices})

    @property
    def columns(self) -> list[Span]:
        """Where the columns begin and end."""
        return sorted({c for _, c in self.devices})


class ShardingPicture:
    """A picture of how an array is cut: text when it is printed, colours with rich, a drawing in a notebook.

    Attributes
    ----------
    title
        What it is of.
    grids
        The parts, a grid for each part of the axes that are neither rows nor columns.
    axes
        Which axes of the array are the rows and the columns; None where it has no such axis.
    """

    def __init__(self, title: str, layout: Layout) -> None:
        self.title = title
        self.axes = _axes(layout)
        self.grids = tuple(_grids(layout, *self.axes))
        empty = tuple([d for d, box in enumerate(layout.boxes) if volume(box) == 0])
        self.notes = [f"nothing: {_named(empty)}"] if empty else []
        self.notes += [f"parts along {a!r} are still to be joined by {f.__name__}" for a, f in layout.partial]
        colours: dict[tuple[int, ...], int] = {}
        for grid in self.grids:
            for devices in grid.devices.values():
                colours.setdefault(devices, len(colours))
        self._colours = colours

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=200, color_system=None).print(self.__rich__())
        return "\n".join([line.rstrip() for line in text.getvalue().splitlines()])

    __repr__ = __str__

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        tables = [self._table(grid) for grid in self.grids]
        return Group(Text(self.title, style="bold"), *tables, *map(Text, self.notes))

    def _table(self, grid: Grid) -> Any:
        from rich.table import Table
        from rich.text import Text

        row, column = self.axes
        axis = "" if row is None else f"axis {row}"
        table = Table(axis, title=grid.where or None, title_justify="left", show_lines=True)
        columns = _shown(grid.columns)
        for span in columns:
            table.add_column("" if column is None else _told(span, f"axis {column}: "), justify="center")
        for r in _shown(grid.rows):
            cells = []
            for c in columns:
                devices = None if r is None or c is None else grid.devices.get((r, c), ())
                colour = _COLOURS[self._colours.get(devices or (), 0) % len(_COLOURS)]
                cells.append(Text("…") if devices is None else Text(_named(devices), style=f"bold {colour}"))
            table.add_row("" if row is None else _told(r), *cells)
        return table

    def _repr_svg_(self) -> str:
        lines, top = [f'<text x="4" y="16" font-weight="bold">{escape(self.title)}</text>'], 28.0
        for grid in self.grids:
            if grid.where:
                lines.append(f'<text x="4" y="{top + 12:g}">{escape(grid.where)}</text>')
                top += 20
            lines += self._drawn(grid, top)
            top += _height(grid) + 8
        for note in self.notes:
            lines.append(f'<text x="4" y="{top + 12:g}">{escape(note)}</text>')
            top += 20
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 8:g}" height="{top:g}"'
        return "\n".join([f'{head} font-family="sans-serif" font-size="{_LETTER}">', *lines, "</svg>"])

    def _drawn(self, grid: Grid, top: float) -> Iterator[str]:
        """Yield the parts as rectangles, as large as they are, with a name where there is room for one."""
        down, across = grid.rows[-1][1] - grid.rows[0][0], grid.columns[-1][1] - grid.columns[0][0]
        y_of, x_of = _height(grid) / max(down, 1), _WIDTH / max(across, 1)
        for ((r, r_end), (c, c_end)), devices in grid.devices.items():
            x, width = 4 + (c - grid.columns[0][0]) * x_of, (c_end - c) * x_of
            y, height = top + (r - grid.rows[0][0]) * y_of, (r_end - r) * y_of
            hue = self._colours[devices] * 137 % 360  # neighbours get colours that are far from each other
            name = _named(devices)
            yield (
                f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
                f'fill="hsl({hue}, 60%, 82%)" stroke="#444"><title>{escape(name)}: '
                f"{r}:{r_end}, {c}:{c_end}</title></rect>"
            )
            if width > len(name) * _LETTER * 0.55 and height > _LETTER:
                middle = f'x="{x + width / 2:g}" y="{y + height / 2 + 4:g}" text-anchor="middle"'
                yield f"<text {middle}>{name}</text>"


def visualize_sharding(x: Array) -> ShardingPicture:
    """Return a picture of which devices of its mesh have which part of an array.

    Parameters
    ----------
    x : Array
        An array on a mesh. Its value is computed for that.

    Returns
    -------
    ShardingPicture
        It prints as a table, with rich in colours, and is a drawing in a notebook.

    Raises
    ------
    ShardingError
        If the array is on no mesh.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh, P, shard, visualize_sharding
    >>> x = shard(xp.ones((6, 4)), DeviceMesh((2, 2), ("dp", "tp")), P("dp"))
    >>> print(visualize_sharding(x))
    float64[6, 4], P('dp', None) on DeviceMesh((2, 2), ('dp', 'tp'))
    ┏━━━━━━━━┳━━━━━━━━━━━━━┓
    ┃ axis 0 ┃ axis 1: 0:4 ┃
    ┡━━━━━━━━╇━━━━━━━━━━━━━┩
    │ 0:3    │ devices 0-1 │
    ├────────┼─────────────┤
    │ 3:6    │ devices 2-3 │
    └────────┴─────────────┘
    """
    if not isinstance(x, Array) or not isinstance(x.device, DeviceMesh):
        raise ShardingError(f"visualize_sharding: {on_no_mesh(x)}")
    node = current(x)
    evaluate((node,))
    layout: Layout = node.params["value"].layout
    spec = spec_of(layout)
    return ShardingPicture(f"{node.aval}, {spec.partition_spec} on {layout.mesh}", layout)


def _axes(layout: Layout) -> tuple[int | None, int | None]:
    """Return which axes are rows and columns: those that are cut first."""
    cut = [k for k, c in enumerate(layout.cuts) if c.axes]
    chosen = sorted([*cut, *[k for k in range(len(layout.cuts)) if k not in cut]][:2])
    return (chosen[0] if len(chosen) > 1 else None), (chosen[-1] if chosen else None)


def _grids(layout: Layout, row: int | None, column: int | None) -> Iterator[Grid]:
    others = [k for k, c in enumerate(layout.cuts) if c.axes and k not in (row, column)]
    found: dict[str, dict[tuple[Span, Span], list[int]]] = {}
    for d, box in enumerate(layout.boxes):
        if volume(box) == 0:
            continue
        where = ", ".join([f"axis {k}: {box[k][0]}:{box[k][1]}" for k in others])
        key = (0, 1) if row is None else box[row], (0, 1) if column is None else box[column]
        found.setdefault(where, {}).setdefault(key, []).append(d)
    for where, devices in found.items():
        yield Grid(where, {key: tuple(some) for key, some in devices.items()})


def _named(devices: Sequence[int]) -> str:
    """Return the names of devices, neighbours as a range."""
    if not devices:
        return "-"
    runs: list[list[int]] = []
    for d in devices:
        if runs and runs[-1][1] == d - 1:
            runs[-1][1] = d
        else:
            runs.append([d, d])
    return f"device{'s' * (len(devices) > 1)} " + ", ".join(
        [f"{a}-{b}" if b > a else f"{a}" for a, b in runs]
    )


def _told(span: Span | None, before: str = "") -> str:
    return "…" if span is None else f"{before}{span[0]}:{span[1]}"


def _shown(spans: list[Span]) -> list[Span | None]:
    """Return those that a table shows; None stands for the ones in between."""
    if len(spans) <= _HEAD + _TAIL:
        return [*spans]
    return [*spans[:_HEAD], None, *spans[-_TAIL:]]


def _height(grid: Grid) -> float:
    """Return how high a grid is drawn: like the array, but neither too flat nor too high for its names."""
    down, across = grid.rows[-1][1] - grid.rows[0][0], grid.columns[-1][1] - grid.columns[0][0]
    return float(min(max(_WIDTH * down / max(across, 1), 20.0 * len(grid.rows), 30.0), 2 * _HEIGHT))
