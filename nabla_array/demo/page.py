"""The page of the demo: one HTML file with all its pictures, which needs no network."""

from __future__ import annotations

import inspect
import io
import platform
from base64 import b64encode
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .._lazy.config import threads
from ..version import __version__
from . import star, steps
from .compare import CAPTION, HEAD, Outcome, mean

# The script of the first part; it is run, never imported.
SCRIPT = Path(__file__).with_name("develop.py")

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto;
       padding: 0 1rem; color: #1f2933; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #cbd2d9; }
pre { background: #f5f7fa; padding: .8rem; overflow-x: auto; font-size: 13px; line-height: 1.4; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .2rem .6rem; text-align: right; }
td:first-child, th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left; }
td.bar { width: 30%; text-align: left; } td.bar div { background: #8fd3ac; height: .9rem; }
td.bar div.slower { background: #f0d58c; } tr.part td { font-weight: bold; padding-top: .8rem; }
td.NO { color: #c22; font-weight: bold; } figure { display: inline-block; margin: 0 .6rem 0 0; width: 48%; }
figure img { width: 100%; }
figcaption { font-size: 14px; color: #52606d; } svg { max-width: 100%; height: auto; }
"""
# What the page says of each part.
_SCRIPT = "Left the script on NumPy, right the same file by <code>python -m nabla_array run</code>."
_LIBRARIES = "Pixels in four groups by their colours; patches by their first three principal components."
_BRANCHES = """<code>vmap</code> takes this function of one time to all times; those that take the same
branch go on together."""
_GRADIENT = """How the misfit of the guess changes with each number of the orbit, through the branches and
the loop."""
_GRAPH = """What <code>scipy.stats.zscore(patches, axis=1)</code> has recorded before anything runs. A tinted
group is one pass over memory; what lies between its operations is never stored."""
_TIERS = "What this process evaluated, and which parts MAX could take over from the host, and why."


def _part(title: str, text: str, body: str) -> str:
    return f"<h2>{title}</h2><p>{text}</p>{body}"


def _source(function: Callable[..., Any]) -> str:
    return f"<pre>{escape(inspect.getsource(function).rstrip())}</pre>"


def _image(picture: Any, caption: str) -> str:
    """Return an array of bytes, or of values to be coloured, as a figure."""
    from matplotlib import colormaps
    from PIL import Image

    values = np.asarray(picture)
    if values.dtype != np.uint8:
        low, high = np.percentile(values, (1, 99))
        level = np.clip((values - low) / max(high - low, 1e-300), 0, 1)
        values = colormaps["viridis"](level, bytes=True) if level.ndim == 2 else (255 * level).astype("uint8")
    kept = io.BytesIO()
    Image.fromarray(values[..., :3]).save(kept, "JPEG", quality=85)
    return _figure("jpeg", kept.getvalue(), caption)


def _figure(kind: str, data: bytes, caption: str, style: str = "") -> str:
    source = f"data:image/{kind};base64,{b64encode(data).decode()}"
    told = escape(caption)
    return f'<figure{style}><img src="{source}" alt="{told}"><figcaption>{told}</figcaption></figure>'


def _curve(times: np.ndarray, seen: np.ndarray, guess: Any) -> str:
    """Draw what the telescope saw, and what the guess would have looked like."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(times, seen, ".", color="#9aa5b1", markersize=1, label="seen")
    axes.plot(times, np.asarray(guess), color="#d97c41", linewidth=1, label="the guess")
    axes.set(xlabel="days", ylabel="m/s", xlim=(0, 350))
    axes.legend(loc="upper right")
    kept = io.BytesIO()
    figure.savefig(kept, format="png", dpi=90)
    caption = "How fast the star comes nearer: what a telescope saw, and the guess"
    return _figure("png", kept.getvalue(), caption, ' style="width:100%"')


def _table(outcomes: list[Outcome]) -> str:
    rows = ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in (*HEAD, "")) + "</tr>"]
    for k, o in enumerate(outcomes):
        if k == 0 or outcomes[k - 1].part != o.part:
            rows.append(f'<tr class="part"><td colspan="6">{escape(o.part)}</td></tr>')
        cells = [f'<td class="{cell.split(",")[0]}">{escape(cell)}</td>' for cell in o.cells()]
        bar = (
            f'<div class="{"slower" if o.ratio > 1 else ""}" style="width:{min(o.ratio, 2) * 50:.1f}%"></div>'
        )
        rows.append(f'<tr>{"".join(cells)}<td class="bar">{bar}</td></tr>')
    rows.append(f'<tr class="part"><td colspan="4">geometric mean</td><td>{mean(outcomes):.2f}x</td></tr>')
    return f"<table>{''.join(rows)}</table><p>{escape(CAPTION)} Bars: half the width is NumPy's time.</p>"


def _gradients(differences: Any, gradient: Any) -> str:
    names = ("period", "eccentricity", "speed", "begin")
    rows = [
        f"<tr><td>{name}</td><td>{a:.6g}</td><td>{b:.6g}</td></tr>"
        for name, a, b in zip(names, np.asarray(differences), np.asarray(gradient), strict=True)
    ]
    head = "<tr><th></th><th>finite differences</th><th>gradient</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _groups(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    side = 427 if len(theirs["pixels"]) == 427 * 640 else 42
    groups = np.asarray(ours["groups"]).reshape(side, -1)
    first = np.asarray(ours["components"])[:, :3]
    patches = first.reshape(side - 7, -1, 3).repeat(2, axis=1)
    return _image(groups.astype(float), "Four groups of pixels") + _image(
        patches, "Three components, as colours"
    )


def write(
    path: Path, outcomes: list[Outcome], theirs: dict[str, Any], ours: dict[str, Any], shown: dict[str, Any]
) -> Path:
    """Write the page; returns its path."""
    from PIL import Image

    photographs = "".join(
        _image(np.asarray(Image.open(path.parent / f"developed-by-{name}.jpg")), f"By {name}")
        for name in ("numpy", "nabla_array")
    )
    script = f"<pre>{escape(SCRIPT.read_text(encoding='utf-8').rstrip())}</pre>"
    moves = escape("\n".join(shown["moves"]))
    machine = f"{platform.machine()}, {threads()} threads, NumPy {np.__version__}, nabla_array {__version__}"
    groups = _groups(theirs, ours) + _source(steps.components)
    star_seen = _source(star.velocity) + _curve(*shown["curve"])
    slopes = _source(star.gradient) + _gradients(*[found for (found,) in shown["gradients"]])
    devices = f"Rows of {shown['whole']:,} bytes, cut over two threads. Their covariance moves only this:"
    parts = [
        f"<h1>nabla_array beside NumPy</h1><p>{escape(machine)}</p>{_table(outcomes)}",
        _part("A NumPy script, unchanged", _SCRIPT, photographs + script),
        _part("SciPy, scikit-learn, unchanged", _LIBRARIES, groups),
        _part("A function with branches", _BRANCHES, star_seen),
        _part("Its gradient", _GRADIENT, slopes),
        _part("Two devices", devices, f"<pre>{moves}</pre>{shown['cut']._repr_svg_()}"),
        _part("The graph", _GRAPH, shown["graph"]._repr_svg_()),
        _part("Tiers", _TIERS, shown["report"]._repr_html_()),
    ]
    path.write_text(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>nabla_array beside NumPy</title>'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n",
        encoding="utf-8",
    )
    return path
