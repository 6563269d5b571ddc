"""`explain` as a picture: SVG drawn here, or text for Graphviz."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from .layout import Edge, Layout, Point, layered, longest_paths
from .text import bytes_text, nbytes, sources

if TYPE_CHECKING:
    from .explanation import Explanation, Step

# With more operations than this, every step is one box.
_DETAIL = 100
# Characters of a box's line; the rest is in its tooltip.
_LABEL = 44
_CHAR, _LINE, _PAD, _TITLE = 7.5, 16.0, 10.0, 42.0
_GAP_X, _GAP_Y, _MARGIN = 20.0, 26.0, 20.0

_STYLE = """
text { font: 12px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2933; }
text.head { font-weight: bold; }
text.more { fill: #52606d; }
rect.input { fill: #e3eefa; stroke: #5b8fc9; }
rect.fused { fill: #fdf4dd; stroke: #d9a441; }
rect.tiled { fill: #fce8dd; stroke: #d97c41; }
rect.compiled { fill: #e3f5ec; stroke: #2f8f6b; }
rect.small { fill: #f1f3f5; stroke: #9aa5b1; }
rect.eqn { fill: #ffffff; stroke: #9aa5b1; }
rect.call { fill: #f2e9fb; stroke: #9367c4; }
rect.view { fill: #ffffff; stroke: #9aa5b1; stroke-dasharray: 4 3; }
rect.result { stroke: #23803b; stroke-width: 2.5px; }
rect.ground { stroke: none; }
path { fill: none; stroke: #7b8794; stroke-width: 1.2px; }
path.arrow { marker-end: url(#arrow); }
"""


class _Box(NamedTuple):
    """A box with lines of text; `full` is what its tooltip says."""

    lines: list[str]
    style: str
    full: str = ""

    def size(self) -> Point:
        return max(map(len, self.lines)) * _CHAR + 2 * _PAD, len(self.lines) * _LINE + _PAD

    def draw(self, x: float, y: float) -> list[str]:
        width, height = self.size()
        title = f"<title>{_escape(self.full)}</title>" if self.full else ""
        lines = [
            _text(x, y + _LINE * (k + 1), line, "more" if k else "", "middle")
            for k, line in enumerate(self.lines)
        ]
        return [f"<g>{title}{_rect(x - width / 2, y, width, height, self.style)}{''.join(lines)}</g>"]


class _Frame(NamedTuple):
    """A step laid out: a frame with a title around its boxes.

    `inner` has the places where lines come in first, then the boxes, then those where lines go out;
    `enters` and `leaves` are these places, from the middle of the frame, for every value.
    """

    title: list[str]
    style: str
    boxes: list[_Box]
    inner: Layout
    edges: list[Edge]
    enters: dict[int, float]
    leaves: dict[int, float]

    def size(self) -> Point:
        wide = max(self.inner.width, max(map(len, self.title)) * _CHAR)
        return wide + 2 * _PAD, self.inner.height + _TITLE + _PAD

    def draw(self, x: float, y: float) -> list[str]:
        width, height = self.size()
        left, top = x - self.inner.width / 2, y + _TITLE
        first, last = len(self.enters), len(self.enters) + len(self.boxes)
        out = [_rect(x - width / 2, y, width, height, self.style)]
        for edge, route in zip(self.edges, self.inner.routes, strict=True):
            points = [(left + a, top + b) for a, b in route]
            if edge.source < first:
                points.insert(0, (points[0][0], y))
            if edge.target >= last:
                points.append((points[-1][0], y + height))
            out.append(_path(points, arrow=edge.target < last))
        for k, line in enumerate(self.title):  # on a ground of its own, as lines may pass here
            ground = x - width / 2 + _PAD / 2, y + _LINE * k + 2, len(line) * _CHAR + _PAD
            out.append(_rect(*ground, _LINE + 2, f"{self.style} ground"))
            out.append(_text(x - width / 2 + _PAD, y + _LINE * (k + 1), line, "more" if k else "head"))
        for box, a, b in zip(self.boxes, self.inner.x[first:], self.inner.y[first:], strict=False):
            out += box.draw(left + a, top + b)
        return out


def _escape(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _text(x: float, y: float, line: str, style: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{style}">{_escape(line)}</text>'


def _rect(x: float, y: float, width: float, height: float, style: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} rx="5" class="{style}"/>'


def _path(points: Sequence[Point], *, arrow: bool) -> str:
    """Draw a line down through points, curved where it goes sideways."""
    d = "M{:.1f} {:.1f}".format(*points[0])
    for (a, b), (x, y) in pairwise(points):
        middle = (b + y) / 2
        bend = "L" if abs(a - x) < 0.5 else f"C{a:.1f} {middle:.1f} {x:.1f} {middle:.1f} "
        d += f" {bend}{x:.1f} {y:.1f}"
    style = ' class="arrow"' if arrow else ""
    return f'<path d="{d}"{style}/>'


def _shorten(line: str) -> str:
    return line if len(line) <= _LABEL else line[: _LABEL - 3] + "..."


def _eqn_box(explanation: Explanation, number: int, style: str, *more: str) -> _Box:
    formula, aval = explanation.formula(number), explanation.eqn(number).aval
    if any(number == n for _, n in explanation.results):
        style += " result"
    return _Box([_shorten(formula), _shorten(f"%{number}: {aval}"), *more], style, formula)


def _step_box(explanation: Explanation, step: Step, detail: bool) -> _Box | _Frame:
    if step.kind in ("call", "view"):
        more = [line for line in (step.title(), step.traffic()) if line]
        return _eqn_box(explanation, step.eqns[0], step.kind, *more)
    title = [step.title(), step.traffic()]
    return _frame(explanation, step, title) if detail and step.eqns else _Box(title, step.kind)


def _frame(explanation: Explanation, step: Step, title: list[str]) -> _Frame:
    boxes = [_eqn_box(explanation, k, "eqn") for k in step.eqns]
    used = {i for s in explanation.steps if s is not step for i in s.inputs}
    passed_on = [k for k in step.outputs if k in used]
    item = {k: i for i, k in enumerate([*step.inputs, *step.eqns])}
    last = len(item)
    shown = {k for s in explanation.steps for k in s.eqns}
    read = {k: sources(explanation.program, k, shown) for k in step.eqns}
    edges = list(dict.fromkeys(Edge(item[i], item[k]) for k, ins in read.items() for i in ins if i in item))
    layers = longest_paths([0] * len(step.inputs) + [1] * len(boxes), edges)
    edges += [Edge(item[k], last + n) for n, k in enumerate(passed_on)]
    layers += [max(layers) + 1] * len(passed_on)
    point = (0.0, 0.0)
    sizes = [*[point] * len(step.inputs), *[box.size() for box in boxes], *[point] * len(passed_on)]
    inner = layered(sizes, layers, edges, _GAP_X, _GAP_Y)
    middle = inner.width / 2
    enters = {k: inner.x[i] - middle for i, k in enumerate(step.inputs)}
    leaves = {k: inner.x[last + n] - middle for n, k in enumerate(passed_on)}
    return _Frame(title, step.kind, boxes, inner, edges, enters, leaves)


def _outer_edges(explanation: Explanation, items: Sequence[_Box | _Frame]) -> list[Edge]:
    """Return the lines between inputs (the first items) and steps."""
    first = len(explanation.program.inputs)
    maker = {i: i for i in range(first)}
    edges = []
    for n, (step, item) in enumerate(zip(explanation.steps, items[first:], strict=True), first):
        maker.update(dict.fromkeys(step.eqns, n))
        if n > first and not (step.eqns and explanation.steps[n - first - 1].eqns):
            edges.append(Edge(n - 1, n))  # what moves between devices has no operations
        for k, value in enumerate(step.inputs, 1):
            source = items[maker[value]]
            leaves = source.leaves[value] if isinstance(source, _Frame) else 0.0
            share = k / (len(step.inputs) + 1) - 0.5
            enters = item.enters[value] if isinstance(item, _Frame) else share * item.size()[0]
            edges.append(Edge(maker[value], n, leaves, enters))
    return edges


def to_svg(explanation: Explanation) -> str:
    """Draw an explanation: inputs at the top, a tinted frame a step, results with a green border."""
    detail = explanation.operations() <= _DETAIL
    items: list[_Box | _Frame] = [
        _Box([f"%{i}", f"{a}, {bytes_text(nbytes(a))}"], "input")
        for i, a in enumerate(explanation.program.inputs)
    ]
    items += [_step_box(explanation, step, detail) for step in explanation.steps]
    edges = _outer_edges(explanation, items)
    layers = longest_paths([0] * len(items), edges)
    for i in range(len(explanation.program.inputs)):  # an input stands above its first user
        layers[i] = min([layers[e.target] for e in edges if e.source == i], default=1) - 1
    layout = layered([item.size() for item in items], layers, edges, 1.5 * _GAP_X, 1.5 * _GAP_Y)
    header = explanation.header()
    top = _MARGIN + len(header) * _LINE + _GAP_Y
    out = [_text(_MARGIN, _MARGIN + _LINE * (k + 0.5), line, "") for k, line in enumerate(header)]
    for edge, route in zip(edges, layout.routes, strict=True):
        points = [(_MARGIN + x, top + y) for x, y in route]
        out.append(_path(points, arrow=isinstance(items[edge.target], _Box)))
    for item, x, y in zip(items, layout.x, layout.y, strict=True):
        out += item.draw(_MARGIN + x, top + y)
    width = 2 * _MARGIN + max(layout.width, max(map(len, header)) * _CHAR)
    return _page(width, top + layout.height + _MARGIN, out)


def _page(width: float, height: float, parts: Iterable[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    arrow = (
        '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><polygon points="0,0 8,4 0,8" fill="#7b8794"/></marker>'
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{_STYLE}</style>\n<defs>{arrow}</defs>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def _quoted(*lines: str) -> str:
    return '"' + "\\n".join(x.replace("\\", "\\\\").replace('"', '\\"') for x in lines) + '"'


def to_dot(explanation: Explanation) -> str:
    """Write an explanation in the language of Graphviz, a cluster a step of several operations."""
    out = ["digraph {", '  node [shape=box, fontname="monospace"]']
    for i, a in enumerate(explanation.program.inputs):
        label = _quoted(f"%{i}", f"{a}, {bytes_text(nbytes(a))}")
        out.append(f"  v{i} [label={label}, style=rounded]")
    results = {n for _, n in explanation.results}
    for s, step in enumerate(explanation.steps):
        framed = bool(step.eqns) and step.kind not in ("call", "view")
        if framed:
            out += [f"  subgraph cluster_{s} {{", f"    label={_quoted(step.title(), step.traffic())}"]
        for k in step.eqns:
            more = () if framed else (step.title(), step.traffic())
            label = _quoted(_shorten(explanation.formula(k)), f"%{k}: {explanation.eqn(k).aval}", *more)
            out.append(f"    v{k} [label={label}{', penwidth=2' if k in results else ''}]")
        if framed:
            out.append("  }")
        if not step.eqns:  # it moves values between devices
            out.append(f"  s{s} [label={_quoted(step.title(), step.traffic())}]")
    first = len(explanation.program.inputs)
    shown = {k for s in explanation.steps for k in s.eqns}
    for k in sorted(shown):
        out += [f"  v{i} -> v{k}" for i in sources(explanation.program, k, shown) if i < first or i in shown]
    for s, (step, after) in enumerate(pairwise(explanation.steps)):
        if not (step.eqns and after.eqns):
            ends = (
                f"v{step.eqns[-1]}" if step.eqns else f"s{s}",
                f"v{after.eqns[0]}" if after.eqns else f"s{s + 1}",
            )
            out.append(f"  {ends[0]} -> {ends[1]}")
    return "\n".join([*out, "}", ""])
