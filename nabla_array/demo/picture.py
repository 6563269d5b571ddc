"""The picture of the demo's results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .compare import Outcome


def draw(results: dict[str, np.ndarray], outcomes: list[Outcome], path: Path) -> None:
    """Draw the results, and the time of each step against NumPy's, into a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 8.2), layout="constrained")
    figure.suptitle("SciPy and scikit-learn, unchanged, on nabla_array", fontsize=15, fontweight="bold")
    axes = figure.subplot_mosaic(
        [["plane", "t", "times"], ["photo", "sharp", "centroids"]], height_ratios=[1.3, 1]
    )
    _plane(axes["plane"], results)
    _centroids(axes["centroids"], results["centroids"])
    _tests(figure, axes["t"], results["t"])
    for name, title in (("photo", "The photograph"), ("sharp", "Sharpened and toned")):
        axes[name].imshow(results[name], cmap="gray", vmin=0, vmax=1)
        axes[name].set_title(title)
        axes[name].set_axis_off()
    _times(axes["times"], outcomes)
    figure.savefig(path, dpi=80)


def _plane(ax: Any, results: dict[str, np.ndarray]) -> None:
    x, y = results["plane"][:, 0], results["plane"][:, 1]
    labels = results["labels"]
    ax.scatter(x, y, c=labels, cmap="tab10", s=7, alpha=0.65, linewidths=0)
    for digit in range(10):
        mine = labels == digit
        style = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": "0.6", "alpha": 0.85}
        centre = x[mine].mean(), y[mine].mean()
        ax.text(*centre, str(digit), ha="center", va="center", fontweight="bold", bbox=style)
    ax.set_title(f"Digits by PCA and discriminants: {results['accuracy'] * 100:.1f}% right")
    ax.set_xticks([])
    ax.set_yticks([])


def _centroids(ax: Any, centroids: np.ndarray) -> None:
    tiles = np.full((19, 46), np.nan)
    for k, centroid in enumerate(centroids):
        row, column = divmod(k, 5)
        tiles[9 * row + 1 : 9 * row + 9, 9 * column + 1 : 9 * column + 9] = centroid.reshape(8, 8)
    ax.imshow(tiles, cmap="magma")
    ax.set_title("Ten clusters of digits (k-means)")
    ax.set_axis_off()


def _tests(figure: Any, ax: Any, t: np.ndarray) -> None:
    from matplotlib import colormaps

    limit = np.nanmax(np.abs(t))
    colours = colormaps["RdBu_r"].with_extremes(bad="0.9")  # pixels without any variance have no t
    image = ax.imshow(t.reshape(8, 8), cmap=colours, vmin=-limit, vmax=limit)
    ax.set_title("More ink in 3 (red) or in 8 (blue): Welch's t")
    ax.set_axis_off()
    figure.colorbar(image, ax=ax, shrink=0.85)


def _times(ax: Any, outcomes: list[Outcome]) -> None:
    ratios = [o.ratio for o in outcomes]
    ax.barh(range(len(ratios)), ratios, color=["#8fd3ac" if r <= 1 else "#f0d58c" for r in ratios])
    for row, o in enumerate(outcomes):
        ax.text(0.03, row, o.step.title, va="center", fontsize=8.5)
    ax.axvline(1, color="0.3", linewidth=1, linestyle="--")
    ax.invert_yaxis()
    ax.set_yticks([])
    ax.set_title("Time of each step (NumPy = 1)")
