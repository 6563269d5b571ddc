"""What a notebook shows of an array."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib import import_module
from typing import Any

from .._namespace.core.array import Array
from ..inspect import explain
from ..inspect.text import bytes_text

# With more operations than this, a picture would be too large to be read.
_DRAWN = 200
# JupyterLab shows what is preformatted in the font of the text around it, where columns do not line up.
_FONT = "font-family: var(--jp-code-font-family, monospace)"


def html(x: Array) -> str | None:
    """Return the elements of an array, what it is, and pictures of how it was computed and how it is cut.

    None for what is shown as text alone: a number, and an array within `vmap`.
    """
    if x._levels or not x.ndim:
        return None
    plan = explain(x)  # before it is computed
    parts = [f'<pre style="{_FONT}">{escape(repr(x))}</pre>', f"<small>{escape(_told(x))}</small>"]
    if 0 < plan.operations() <= _DRAWN:
        parts.append(
            f"<details><summary>{escape(plan.header()[-1])}</summary>{_image(plan, 'graph')}</details>"
        )
    if x.sharding is not None:
        shards = import_module("..distributed", __package__).visualize_sharding(x)
        parts.append(f"<div>{_image(shards, shards.title)}</div>")
    return f"<div>{''.join(parts)}</div>"


def _told(x: Array) -> str:
    shape = " x ".join(map(str, x.shape)) if x.ndim > 1 else f"{x.shape[0]} elements"
    return f"{shape}, {x.dtype}, {bytes_text(x.nbytes)}, {x.device}"


def _image(picture: Any, alt: str) -> str:
    """Return a picture that keeps its styles from those of the page."""
    data = b64encode(picture._repr_svg_().encode()).decode()
    return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}">'
