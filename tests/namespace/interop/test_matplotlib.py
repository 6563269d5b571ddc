"""Matplotlib draws the same of an array as of NumPy's: every artist has the same data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import collections, patches, pyplot  # noqa: E402

RNG = np.random.default_rng(0)
T = RNG.standard_normal((20, 3))  # columns are datasets
P = np.abs(T)
V, S = T[:, 0], np.sort(T[:, 1])
C = RNG.uniform(size=(20, 4))
Z = RNG.uniform(size=(6, 7))
RGB = RNG.uniform(size=(5, 6, 3))
L = RNG.uniform(size=(4, 5, 2))
N = np.arange(20.0)

Of = Callable[[Any], Any]
CALLS: dict[str, Callable[[Any, Of], Any]] = {
    "plot with a marker of vertices": lambda ax, f: ax.plot(f(N), f(V), marker=f(T[:3, :2])),
    "hist of columns": lambda ax, f: ax.hist(f(T)),
    "hist": lambda ax, f: ax.hist(f(V)),
    "hist of a list": lambda ax, f: ax.hist([f(V), f(S)]),
    "hist with weights": lambda ax, f: ax.hist(f(T), weights=f(P), bins=f(np.linspace(-3, 3, 7))),
    "hist, stacked": lambda ax, f: ax.hist(f(T), stacked=True, density=True),
    "hist, transposed": lambda ax, f: ax.hist(f(T).T[:2]),
    "hist of nothing": lambda ax, f: ax.hist(f(T[:0])),
    "boxplot of columns": lambda ax, f: ax.boxplot(f(T)),
    "boxplot": lambda ax, f: ax.boxplot(f(V)),
    "boxplot at places": lambda ax, f: ax.boxplot(f(T), positions=f(N[:3]), widths=f(P[0])),
    "boxplot with medians": lambda ax, f: ax.boxplot(f(T), notch=True, usermedians=f(P[0])),
    "violinplot of columns": lambda ax, f: ax.violinplot(f(T)),
    "violinplot": lambda ax, f: ax.violinplot(f(V)),
    "plot of columns": lambda ax, f: ax.plot(f(T)),
    "plot": lambda ax, f: ax.plot(f(V), f(T), color=f(C[0])),
    "plot of lists": lambda ax, f: ax.plot(list(f(V)), [*f(S), 1.0, 2][:20], "r-"),
    "plot of a list": lambda ax, f: ax.plot([f(V)[0], 1.0, 2]),
    "scatter of lists": lambda ax, f: ax.scatter(list(f(V)), list(f(S)), c=list(f(P[:, 0]))),
    "stackplot of rows": lambda ax, f: ax.stackplot(f(N), f(P.T)),
    "stackplot": lambda ax, f: ax.stackplot(f(N), *[f(p) for p in P.T]),
    "eventplot of rows": lambda ax, f: ax.eventplot(f(T.T), lineoffsets=f(N[:3])),
    "eventplot": lambda ax, f: ax.eventplot(f(V)),
    "hist2d": lambda ax, f: ax.hist2d(f(V), f(S), bins=f(np.linspace(-3, 3, 7))),
    "hexbin": lambda ax, f: ax.hexbin(f(V), f(S), gridsize=5, C=f(P[:, 0])),
    "errorbar": lambda ax, f: ax.errorbar(f(S), f(V), yerr=f(P.T[:2]), xerr=f(P[:, 0])),
    "errorbar, one number": lambda ax, f: ax.errorbar(f(S), f(V), yerr=f(np.array(0.5))),
    "bar": lambda ax, f: ax.bar(f(N), f(P[:, 0]), width=f(P[:, 1]), bottom=f(P[:, 2]), yerr=f(P[:, 1])),
    "barh": lambda ax, f: ax.barh(f(N), f(P[:, 0]), color=f(C)),
    "pie": lambda ax, f: ax.pie(f(P[:5, 0]), explode=f(P[:5, 1]), colors=f(C[:5])),
    "imshow": lambda ax, f: ax.imshow(f(Z), alpha=f(Z), extent=f(N[1:5])),
    "imshow of colors": lambda ax, f: ax.imshow(f(RGB)),
    "matshow": lambda ax, f: ax.matshow(f(Z)),
    "pcolormesh": lambda ax, f: ax.pcolormesh(f(N[:8]), f(N[:7]), f(Z)),
    "pcolormesh of colors": lambda ax, f: ax.pcolormesh(f(RGB)),
    "contour": lambda ax, f: ax.contour(f(Z), levels=f(np.array([0.2, 0.5]))),
    "contourf": lambda ax, f: ax.contourf(f(N[:7]), f(N[:6]), f(Z)),
    "tripcolor": lambda ax, f: ax.tripcolor(f(V), f(S), f(P[:, 0])),
    "scatter": lambda ax, f: ax.scatter(f(V), f(S), c=f(P[:, 0]), s=f(P[:, 1] * 50)),
    "scatter of colors": lambda ax, f: ax.scatter(f(V), f(S), c=f(C), linewidths=f(P[:, 0])),
    "scatter of tables": lambda ax, f: ax.scatter(f(T), f(P)),
    "quiver": lambda ax, f: ax.quiver(f(V), f(S), f(P[:, 0]), f(P[:, 1]), f(P[:, 2])),
    "streamplot": lambda ax, f: ax.streamplot(f(N[:7]), f(N[:6]), f(Z), f(Z), color=f(Z), linewidth=f(Z)),
    "fill_between": lambda ax, f: ax.fill_between(f(N), f(V), f(S), where=f(V < S)),
    "fill": lambda ax, f: ax.fill(f(T), f(P)),
    "step": lambda ax, f: ax.step(f(S), f(T)),
    "stem": lambda ax, f: ax.stem(f(S), f(V)),
    "stairs": lambda ax, f: ax.stairs(f(V), f(np.arange(21.0))),
    "vlines": lambda ax, f: ax.vlines(f(V), f(S), f(P[:, 0]), colors=f(C)),
    "ecdf": lambda ax, f: ax.ecdf(f(V)),
    "polygon": lambda ax, f: ax.add_patch(patches.Polygon(f(T[:, :2]))),
    "lines": lambda ax, f: ax.add_collection(collections.LineCollection(f(L), array=f(P[:4, 0]))),
    "polygons": lambda ax, f: ax.add_collection(collections.PolyCollection(f(L), facecolors=f(C[:4]))),
}
# Of every artist: what says where it is and how it looks.
ASKED = [
    "get_xydata",
    "get_array",
    "get_offsets",
    "get_facecolor",
    "get_edgecolor",
    "get_linewidth",
    "get_sizes",
    "get_extent",
    "get_path",
]


def facts(ax: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is drawn in axes: names and arrays."""
    for artist in ax.get_children():
        kind = type(artist).__name__
        yield kind, np.empty(0)
        paths = getattr(artist, "get_paths", list)()
        for name in ASKED:
            found = getattr(artist, name, lambda: None)() if kind not in ("XAxis", "YAxis", "Text") else None
            if name == "get_path" and found is not None:
                paths = [found]
            elif found is not None:
                yield f"{kind}.{name}", np.ma.filled(np.ma.asarray(found))
        for path in paths if kind != "Spine" else ():
            yield f"{kind}.path", path.vertices
    yield "limits", np.asarray([*ax.get_xlim(), *ax.get_ylim()])


def drawn(call: Callable[[Any, Of], Any], of: Of) -> list[tuple[str, Any]]:
    figure, ax = pyplot.subplots()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(ax, of)
        return list(facts(ax))
    finally:
        pyplot.close(figure)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_drawn(name: str) -> None:
    wanted, found = (drawn(CALLS[name], of) for of in (lambda a: a, xp.asarray))
    assert [n for n, _ in found] == [n for n, _ in wanted]
    for (_, a), (what, b) in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=what)


def test_a_histogram_of_a_table_has_its_columns() -> None:
    figure, ax = pyplot.subplots()
    counts, _, _ = ax.hist(xp.asarray(T))
    pyplot.close(figure)
    assert np.shape(counts) == (3, 10)


def test_to_numpy_gives_a_copy() -> None:
    x = xp.arange(3.0)
    a = x.to_numpy()
    a[0] = 5
    assert type(a) is np.ndarray
    assert x.tolist() == [0, 1, 2]
