"""What recording costs: import, small expressions, long chains."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .contestants import JAX, Contestant, contestants
from .fresh import environment
from .measure import OURS, Claim, Row, race

_IMPORT = "from time import perf_counter as t; s = t(); import {}; print(t() - s)"
_STEPS = """
from time import perf_counter
import nabla_array as xp
from benchmarks.memory import peak
x = xp.zeros(3000)  # what is done with fewer is done at once
for count in {counts}:
    start = perf_counter()
    for _ in range(count):
        x = x + 1
    xp.eval(x)
    print(perf_counter() - start, peak())
"""


def _fresh(code: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    return done.stdout


def imports(processes: int) -> Row:
    """Time `import` in fresh processes, in turn; the figure is the median."""
    seconds: dict[str, list[float]] = {OURS: [], "numpy": []}
    for _ in range(1 + processes):  # the first may have to compile
        for module, some in seconds.items():
            some.append(float(_fresh(_IMPORT.format(module))))
    return Row("import", {m: median(s[1:]) for m, s in seconds.items()}, (Claim("numpy", 1.3),))


def polynomial(xp: Any, x: Any, y: Any) -> Any:
    """Six operations, the cheap ones."""
    return ((x + y) * x - y) * (x - y) + y


def waves(xp: Any, x: Any, y: Any) -> Any:
    """Six operations, some of them transcendental."""
    return xp.exp(-x) * xp.sin(x * y) + y


def small(name: str, function: Callable[..., Any], rounds: int, number: int) -> Row:
    """Time a small expression, recorded and evaluated anew each time."""
    x, y = np.linspace(0.1, 1.0, 10), np.linspace(1.0, 2.0, 10)

    def call(c: Contestant) -> Callable[[], object]:
        ours, theirs = c.asarray(x), c.asarray(y)
        return lambda: c.evaluate(function(c.xp, ours, theirs))

    figures = race({c.name: call(c) for c in contestants(OURS, "numpy", JAX)}, rounds, number)
    claims = (Claim("numpy", 4.0), Claim(JAX, 1 / 3))
    return Row(name, figures, claims)


def steps(counts: tuple[int, ...]) -> list[Row]:
    """Time and weigh chains of dependent steps, of growing length in one fresh process."""
    lines = _fresh(_STEPS.format(counts=counts)).splitlines()
    found = [tuple(map(float, line.split())) for line in lines]
    rows = []
    for count, (seconds, _) in zip(counts, found, strict=True):
        theirs = race({"numpy": partial(_numpy_steps, count)}, rounds=2)["numpy"]
        rows.append(Row(f"x = x + 1, {count:,} times", {OURS: seconds, "numpy": theirs}))
    each = [seconds / count for count, (seconds, _) in zip(counts, found, strict=True)]
    memory = [megabytes for _, megabytes in found]
    short, long = f"at {counts[0]:,}", f"{counts[-1]:,}"
    return [
        *rows,
        Row(f"one of {long} steps", {OURS: each[-1], short: each[0]}, (Claim(short, 1.25),)),
        Row(
            f"peak memory of {long} steps", {OURS: memory[-1], short: memory[0]}, (Claim(short, 1.05),), "MB"
        ),
    ]


def _numpy_steps(count: int) -> None:
    x = np.zeros(3000)
    for _ in range(count):
        x = x + 1


def run(quick: bool) -> list[Row]:
    """Measure everything here; `quick` only tries whether it works."""
    rounds, number = (1, 3) if quick else (60, 500)
    counts = (20, 40, 80) if quick else (25_000, 50_000, 100_000)
    return [
        imports(1 if quick else 10),
        small("((x+y)*x-y)*(x-y)+y", polynomial, rounds, number),
        small("exp(-x)*sin(x*y)+y", waves, rounds, number),
        *steps(counts),
    ]
