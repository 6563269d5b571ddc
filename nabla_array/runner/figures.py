"""The figures that a program saves or shows with Matplotlib, as pixels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .._namespace.interop.imports import after_import

# More than that many are not kept: frames of an animation, say.
LIMIT = 100
# A pixel is another where a colour differs by more than this, of 255; so many pixels of a figure may be.
_LEVELS, _SHARE = 16, 0.001


class Recorder:
    """Keeps each figure that is saved or shown in a folder; Matplotlib is not imported for that."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def on(self) -> None:
        """Begin: when Matplotlib is imported, its saving and showing is watched."""
        after_import("matplotlib.backend_bases", self._found)

    def _found(self, module: ModuleType) -> None:
        self._watch(module.FigureCanvasBase, "print_figure", lambda canvas: canvas.figure)
        self._watch(module.FigureManagerBase, "show", lambda manager: manager.canvas.figure)

    def _watch(self, owner: type, method: str, figure_of: Callable[[Any], Any]) -> None:
        original = getattr(owner, method)

        def watched(self_: Any, *args: Any, **kwargs: Any) -> Any:
            self._record(figure_of(self_))
            return original(self_, *args, **kwargs)

        setattr(owner, method, watched)

    def _record(self, figure: Any) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        if self._count < LIMIT:
            before = figure.canvas
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
            np.save(self._folder / f"figure-{self._count:03d}.npy", np.asarray(canvas.buffer_rgba()))
            figure.set_canvas(before)
        self._count += 1


def first_difference(ours: Path, theirs: Path) -> tuple[int, str]:
    """Return how many figures the second folder has, and where the first one's differ, or an empty string."""
    mine, wanted = (sorted(folder.glob("figure-*.npy")) for folder in (ours, theirs))
    for n, (a, b) in enumerate(zip(mine, wanted, strict=False), 1):
        said = _difference(np.load(a), np.load(b))
        if said:
            return len(wanted), f"figure {n}: {said}"
    return len(wanted), "" if len(mine) == len(wanted) else f"{len(mine)} figures instead of {len(wanted)}"


def _difference(ours: np.ndarray, theirs: np.ndarray) -> str:
    if ours.shape != theirs.shape:
        return f"{ours.shape[:2]} pixels instead of {theirs.shape[:2]}"
    other = np.abs(ours.astype(np.int16) - theirs).max(axis=-1) > _LEVELS
    return "" if other.mean() <= _SHARE else f"{100 * other.mean():.3g}% of the pixels are others"
