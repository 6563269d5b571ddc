"""See a loop speed up when MAX takes over: a million pendulums that swing with friction.

python examples/tiers.py                    # from an empty cache, as on a new machine
python examples/tiers.py --plot tiers.png   # draws it too
python examples/tiers.py --cached           # finds what an earlier run has compiled
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from rich.console import Console

import nabla_array as xp

MAX = "MAX"


class Iteration(NamedTuple):
    """When an iteration began, how long it took, and where it ran, in the words of `xp.report`."""

    start: float
    seconds: float
    where: str


def step(angle: xp.Array, speed: xp.Array) -> tuple[xp.Array, xp.Array]:
    """Return the pendulums a moment later."""
    speed = speed - 0.001 * (xp.sin(angle) + 0.1 * speed)
    return angle + 0.001 * speed, speed


def swing(angle: xp.Array, speed: xp.Array, limit: float, after: float) -> Iterator[Iteration]:
    """Iterate for `limit` seconds, or until MAX has done it for `after` seconds."""
    begin, end = perf_counter(), limit
    while (start := perf_counter() - begin) < end:
        angle, speed = xp.eval(*step(angle, speed))
        seconds = perf_counter() - begin - start
        kernels = xp.report().kernels
        where = re.sub(r", \S+ s so far", "", kernels[0].where) if kernels else "host"
        if where == MAX:
            end = min(end, start + after)
            after = limit
        yield Iteration(start, seconds, where)


def line(phase: list[Iteration]) -> str:
    """Return a line on iterations in a row that ran in the same place."""
    took = 1000 * median(i.seconds for i in phase)
    return f"from {phase[0].start:5.1f} s: {len(phase):5} iterations of {took:6.1f} ms, {phase[-1].where}"


def show(iterations: Iterator[Iteration], console: Console) -> list[Iteration]:
    """Print a line for each place that iterations ran in; in a terminal, the last line is alive."""
    done: list[Iteration] = []
    phase: list[Iteration] = []
    with console.status("") as status:
        for i in iterations:
            if phase and phase[0].where != i.where:
                console.print(line(phase), highlight=False)
                phase = []
            phase.append(i)
            done.append(i)
            status.update(line(phase))
    console.print(line(phase), highlight=False)
    return done


def draw(done: list[Iteration], path: Path) -> None:
    """Draw the time of each iteration, and when MAX took over."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for name, color in (("host", "tab:blue"), (MAX, "tab:orange")):
        some = [i for i in done if (i.where == MAX) == (name == MAX)]
        axes.plot([i.start for i in some], [1000 * i.seconds for i in some], ".", color=color, label=name)
    compiled = [i.start for i in done if i.where.endswith("being compiled")]
    on_max = [i.start for i in done if i.where == MAX]
    for starts, text in ((compiled, "compilation begins"), (on_max, "MAX takes over")):
        if starts:
            axes.axvline(starts[0], color="gray", linewidth=1)
            place = {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "center", "ha": "right"}
            axes.annotate(text, (starts[0], 0.32), **place)
    # The few iterations that met something else on the machine would make the rest small.
    usual = median(1000 * i.seconds for i in done if i.where != MAX)
    axes.set(xlabel="seconds since the start", ylabel="milliseconds an iteration", ylim=(0, 1.5 * usual))
    axes.legend(loc="lower left")
    figure.savefig(path, dpi=100)


def main() -> None:
    """Run the loop, and say what happened."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    spare = max(1, (os.cpu_count() or 1) - 1)
    parser.add_argument("--seconds", type=float, default=300.0, help="stop after so long (%(default)g)")
    parser.add_argument(
        "--after", type=float, default=10.0, help="or so long after MAX took over (%(default)g)"
    )
    parser.add_argument("--elements", type=int, default=1_000_000, help="pendulums (%(default)s)")
    parser.add_argument(
        "--threads", type=int, default=spare, help="of the host (%(default)s: a core is left to the compiler)"
    )
    parser.add_argument("--cached", action="store_true", help="use the cache of compiled programs")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw it (takes Matplotlib)")
    args = parser.parse_args()
    console = Console()
    xp.config.threads = args.threads
    with TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        if not args.cached:
            xp.config.cache_dir = empty
        angle = xp.linspace(-3.0, 3.0, args.elements)
        speed = angle * 0
        xp.eval(angle, speed)
        done = show(swing(angle, speed, args.seconds, args.after), console)
        console.print("", "The next one, by xp.explain:", xp.explain(*step(angle, speed)), sep="\n")
        console.print("", "All of them, by xp.report:", xp.report(), sep="\n")
    if args.plot:
        draw(done, args.plot)


if __name__ == "__main__":
    main()
