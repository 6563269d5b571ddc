"""SciPy's and scikit-learn's functions on arrays of each library: `python -m benchmarks libraries`."""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from .contestants import JAX, contestants
from .fresh import environment
from .measure import OURS, put, show_lines

if TYPE_CHECKING:
    from .libraries_cases import Case

_PAGE = Path(__file__).parent.parent / "docs" / "reference" / "benchmarks.md"
# How often NumPy's time ours must fit into it: in the geometric mean, and on each line.
_LEAST = {"small": (0.9, 0.7), "middle": (1.3, 0.9), "large": (2.0, 0.95)}
_CALLS = 10
# Later calls of ours in `auto` mode, when MAX has compiled what it can: of large arrays.
_COMPILED = "compiled"
_ROUNDS = {"large": 2, "middle": 2, "small": 3}
_MOMENTS = ("first", "later")
_CAPTION = "How many times as fast as NumPy: above 1 is faster."


def _cases() -> list[Case]:
    from .libraries_calls import all_cases  # SciPy and scikit-learn, which other suites do without

    return all_cases()


def _judged(size: str) -> tuple[str, ...]:
    """Return the calls that claims are about: of small arrays, a first call is all preparation."""
    return _MOMENTS if size == "large" else _MOMENTS[1:]


@dataclass
class Line:
    """What was measured of a case: each contestant's seconds of the first call, and of a later one."""

    case: Case
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def ratio(self, name: str, moment: str) -> float:
        """Return how many times as fast as NumPy's a contestant's call is."""
        return self.seconds["numpy"][moment] / self.seconds[name][moment]

    def missed(self, size: str) -> list[str]:
        """Return which calls are too slow; those that `jnp` does faster are named with it."""
        if self.case.apart:
            return []
        moments, least = _judged(size), _LEAST[size][1]
        ours = {m: self.ratio(OURS, m) for m in moments}
        if _COMPILED in self.seconds:
            ours[_COMPILED] = self.ratio(_COMPILED, "later")
        out = [m for m, ratio in ours.items() if ratio < least]
        if size == "large" and JAX in self.seconds:
            # What JAX runs later is compiled, too.
            ours["later"] = max(ours["later"], ours.get(_COMPILED, 0))
            out += [f"{m} {JAX}" for m in moments if self.ratio(JAX, m) > ours[m]]
        return out


class _Process:
    """A contestant's process, which forks for each case."""

    def __init__(self, name: str, size: str, calls: int) -> None:
        library, mode = (OURS, "auto") if name == _COMPILED else (name, "host")
        command = [sys.executable, "-m", "benchmarks.libraries_calls", library, size, str(calls)]
        env = environment(SCIPY_ARRAY_API="1", NABLA_ARRAY_MODE=mode, NABLA_ARRAY_COMPILE_AFTER="0")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )

    def ask(self, *words: object) -> dict[str, Any]:
        """Send the number of a case to call, or "compile" and several to compile; return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*words, file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate()


def _differ(ours: Any, numpys: Any) -> bool:
    """Say whether two samples of results are of other shapes, or of other values than rounding explains."""
    if [s for s, _ in ours] != [s for s, _ in numpys]:
        return True
    for (_, some), (_, others) in zip(ours, numpys, strict=True):
        for a, b in zip(some, others, strict=False):
            size = max([abs(v) for v in b if math.isfinite(v)], default=1.0)
            if not np.allclose(a, b, rtol=1e-6, atol=1e-8 * size, equal_nan=True):
                return True
    return False


def _measure(number: int, case: Case, processes: dict[str, _Process], rounds: int) -> Line:
    line = Line(case)
    order, shuffler = list(processes), random.Random(number)
    samples: dict[str, Any] = {}
    for _ in range(rounds):
        shuffler.shuffle(order)
        for name in order:
            if name in line.errors:
                continue
            answer = processes[name].ask(number)
            if "error" in answer:
                line.errors[name] = answer["error"]
                line.seconds.pop(name, None)
                continue
            samples[name] = answer["found"]
            seconds = answer["seconds"]
            first, later = seconds[0], min(seconds[min(_CALLS, len(seconds)) - 3 :])
            best = line.seconds.setdefault(name, {"first": first, "later": later})
            line.seconds[name] = {"first": min(best["first"], first), "later": min(best["later"], later)}
    for name in samples:
        if name in line.seconds and _differ(samples[name], samples["numpy"]):
            line.errors[name] = "another result than NumPy's\n"
            if name != OURS:
                del line.seconds[name]
    return line


def _mean(lines: Iterable[Line], name: str, moment: str) -> float:
    ratios = [line.ratio(name, moment) for line in lines if not line.case.apart and name in line.seconds]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def _held(size: str, lines: list[Line]) -> dict[str, bool]:
    """Say of each claim about a size whether it holds."""
    mean, least = _LEAST[size]
    each = f"no line below {least}" + (f", nor below {JAX}" if size == "large" else "")
    means = {f"mean of the {m} calls at least {mean}": _mean(lines, OURS, m) >= mean for m in _judged(size)}
    if any(_COMPILED in line.seconds for line in lines):
        means[f"mean of the {_COMPILED} calls at least {mean}"] = _mean(lines, _COMPILED, "later") >= mean
    return means | {each: not any(line.missed(size) for line in lines)}


def _table(size: str, lines: list[Line]) -> list[list[str]]:
    kinds = {m if name == OURS else f"{m} {name}": (name, m) for m in _MOMENTS for name in (OURS, JAX)}
    if any(_COMPILED in line.seconds for line in lines):
        kinds[_COMPILED] = (_COMPILED, "later")
    head = ["case", "elements", "numpy, ms", *kinds, "missed"]

    def ratio(line: Line, name: str, moment: str) -> str:
        return f"{line.ratio(name, moment):.2f}" if name in line.seconds else ""

    out = [head]
    for line in lines:
        ratios = [ratio(line, *kind) for kind in kinds.values()]
        time = f"{1e3 * line.seconds['numpy']['later']:.3g}"
        missed = "apart" if line.case.apart else ", ".join(line.missed(size))
        out.append([line.case.name, f"{line.case.size(size):,}", time, *ratios, missed])
    means = [f"{_mean(lines, *kind):.2f}" for kind in kinds.values()]
    return [*out, ["geometric mean", "", "", *means, ""]]


def _run(
    size: str, chosen: list[int], names: list[str], rounds: int, calls: int
) -> tuple[list[Line], list[str]]:
    cases = _cases()
    processes = {name: _Process(name, size, calls) for name in names}
    chosen = [number for number in chosen if cases[number].size(size) is not None]
    lines, notes = [], []
    try:
        if _COMPILED in processes:
            processes[_COMPILED].ask("compile", *chosen)
        for number in chosen:
            line = _measure(number, cases[number], processes, rounds)
            notes += [f"{line.case.name}, {name}: {text}" for name, text in line.errors.items()]
            if {OURS, "numpy"} <= {*line.seconds}:
                lines.append(line)
    finally:
        for process in processes.values():
            process.close()
    return lines, notes


def main(argv: list[str]) -> int:
    """Measure the sizes and functions named; returns 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks libraries", description=__doc__)
    parser.add_argument("cases", nargs="*", help="parts of names of functions; all without any")
    parser.add_argument("--size", choices=_LEAST, action="append", help="all without it")
    parser.add_argument("--rounds", type=int, help="processes a case and library; the best counts")
    parser.add_argument("--without-jax", action="store_true", help=f"leave out {JAX}")
    parser.add_argument("--without-max", action="store_true", help="leave out what MAX has compiled")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {_PAGE.name}")
    parser.add_argument("--errors", action="store_true", help="say why a library has no figure")
    parser.add_argument("--quick", action="store_true", help="one call, small: are results right")
    args = parser.parse_args(argv)
    every = [case.name for case in _cases()]
    chosen = [k for k, name in enumerate(every) if not args.cases or any(c in name for c in args.cases)]
    if not chosen:
        parser.error(f"no case has {' or '.join(args.cases)} in its name: {', '.join(every)}")
    names = [c.name for c in contestants(OURS, "numpy", *([] if args.without_jax else [JAX]))]
    console = Console()
    console.width = max(console.width, 124)
    right = True
    for size in ["small"] if args.quick else args.size or _LEAST:
        rounds = 1 if args.quick else args.rounds or _ROUNDS[size]
        tiers = [_COMPILED] if size == "large" and find_spec("max") and not args.without_max else []
        lines, notes = _run(size, chosen, names + tiers, rounds, 1 if args.quick else _CALLS)
        table, held = _table(size, lines), {} if args.quick else _held(size, lines)
        show_lines(f"libraries, {size}", _CAPTION, table, console)
        for note in notes:
            ours = f", {OURS}: " in note
            right &= not ours
            if ours or args.errors:
                console.print(note, markup=False, highlight=False)
        for claim, holds in held.items():
            console.print(f"{'yes' if holds else 'NO ':3} {size}: {claim}", highlight=False)
        right &= all(held.values())
        if args.write:
            put(_PAGE, f"libraries-{size}", table)
    return 0 if right else 1
