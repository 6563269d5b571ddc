"""The Mandelbrot set: `vmap` of a plain Python loop that stops early.

    python examples/mandelbrot.py --plot mandelbrot.png

`steps` is written for one number, with `if` and `return` in a loop. Under `vmap` it runs once for all points
that go on; those that leave are put aside, and finished in a run of their own.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import nabla_array as xp
from nabla_array.transforms import vmap

LIMIT = 60


def steps(c: complex | xp.Array) -> int:
    """Count the steps of z -> z^2 + c until z is farther from 0 than 2."""
    z = c
    for n in range(LIMIT):
        if abs(z) > 2:
            return n
        z = z * z + c
    return LIMIT


def grid(width: int, height: int) -> np.ndarray:
    x = np.linspace(-2.2, 0.8, width)
    y = np.linspace(-1.2, 1.2, height)
    return x + 1j * y[:, np.newaxis]


def plot(counts: np.ndarray, path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(np.log1p(counts), extent=(-2.2, 0.8, -1.2, 1.2), cmap="cividis", interpolation="nearest")
    axes.set(title="Steps until z leaves", xlabel="real part of c", ylabel="imaginary part of c")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--height", type=int, default=240)
    parser.add_argument("--plot", metavar="FILE", help="draw it")
    options = parser.parse_args()

    points = grid(options.width, options.height)
    begin = time.perf_counter()
    counts = np.asarray(vmap(steps)(xp.asarray(points.ravel()))).reshape(points.shape)
    took = time.perf_counter() - begin

    some = points.ravel()[:: max(1, points.size // 1000)]
    begin = time.perf_counter()
    alone = [steps(complex(c)) for c in some]
    loop = (time.perf_counter() - begin) / len(some) * points.size
    same = alone == counts.ravel()[:: max(1, points.size // 1000)].tolist()
    sys.stdout.write(
        f"{points.size} points under vmap: {took:.2f} s; one by one as Python's own numbers: {loop:.2f} s\n"
        f"the same as alone, at {len(some)} points: {same}\n"
        f"{np.mean(counts == LIMIT):.1%} never left\n"
    )
    if options.plot:
        plot(counts, options.plot)


if __name__ == "__main__":
    main()
