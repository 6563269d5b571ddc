"""Random stacks of transforms on random functions, against nested loops and differences in NumPy.

The reference never sees the library: derivatives are central differences in extended precision, vmap is a
loop. So it needs numbers of more than double precision (`numpy.longdouble` of x86).

With ``--leaving``, values leave the graph in random ways and come back, captured arrays are written to, and
arrays of NumPy's are mixed in (`fuzz_leaving`). There each case must be right, refused, or warned of.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

import nabla_array as xp
from nabla_array import transforms as t

from . import fuzz_leaving

Function = Callable[[Any], Any]
Shape = tuple[int, ...]

# Expressions: each maps an array to one of the same shape, for NumPy (np) and for us (xp) alike.
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda m, x: m.sin(x),
    "exp": lambda m, x: m.exp(x * 0.3),
    "tanh": lambda m, x: m.tanh(x),
    "square": lambda m, x: x * x,
    "ratio": lambda m, x: x / (1 + x * x),
    "shift": lambda m, x: x + 0.5,
    "less mean": lambda m, x: x - m.mean(x),
    "times sum": lambda m, x: x * m.sum(m.cos(x)),
    "reversed": lambda m, x: x * x[::-1],
    "running": lambda m, x: m.cumulative_sum(x, axis=0) if x.shape[0] else x,
    "rolled": lambda m, x: m.roll(x, 1, axis=0) + x,
    "branch": lambda m, x: x * 2 if m.sum(x) > 0.3 else m.sin(x),
    "loop": lambda m, x: _until_small(m, x),
    "where": lambda m, x: m.where(x > 0.1, x * x, x * 0.5),
    "written": lambda m, x: _written(x * 1),
    "outer": lambda m, x: m.sum(x[:, None] * x[None, :] * 0.5, axis=1),
    "sorted": lambda m, x: m.sort(x, axis=0) * 0.7,
    "norm": lambda m, x: x * m.sqrt(m.sum(x * x) + 1),
    "largest": lambda m, x: x + m.max(x),
    "product": lambda m, x: x + m.prod(x * 0.5),
}


def _until_small(m: Any, x: Any) -> Any:
    while m.sum(x * x) > 1.5:
        x = x * 0.6
    return x


def _written(x: Any) -> Any:
    x[0] = x[1] * 3
    tail = x[1:]
    tail *= x[0] * 0.2
    return x


@dataclass
class Case:
    """A function of one array, the transforms around it, and where it is called."""

    steps: list[str]
    stack: list[tuple[str, dict[str, Any]]]
    x: np.ndarray
    size: int
    vectors: list[np.ndarray] = field(default_factory=list)

    def __str__(self) -> str:
        around = " ".join(name for name, _ in reversed(self.stack))
        return f"{around} of [{', '.join(self.steps)}] at shape {self.x.shape}"


def random_case(seed: int, leaving: bool = False) -> Case:
    """Return the case of that number; `leaving`: with a step of those of `fuzz_leaving`."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    steps = [str(s) for s in rng.choice(list(STEPS), int(rng.integers(1, 4)))]
    if leaving:
        steps[int(rng.integers(len(steps)))] = str(rng.choice(list(fuzz_leaving.LEAVING)))
    inside: Shape = (size,)
    out: Shape = (size,)
    stack: list[tuple[str, dict[str, Any]]] = []
    differences = 0
    for _ in range(int(rng.integers(1, 5))):
        names = ["vmap", "compile", "checkpoint", "total", "linear"]
        if differences < 3:
            names += ["jvp", "jvp", "vjp"] + (["grad"] * 4 if out == () else [])
            small = int(np.prod(out)) * int(np.prod(inside)) <= 64
            names += ["jacfwd", "jacrev"] if small else []
        name = str(rng.choice(names))
        params: dict[str, Any] = {}
        if name == "vmap":
            n = int(rng.integers(1, 4))
            params = {
                "in_axes": int(rng.integers(len(inside) + 1)),
                "out_axes": int(rng.integers(len(out) + 1)),
            }
            inside = _inserted(inside, params["in_axes"], n)
            out = _inserted(out, params["out_axes"], n)
        elif name in ("jvp", "linear", "jacfwd", "jacrev", "vjp", "grad"):
            differences += 1
            if name in ("jvp", "linear"):
                params = {"v": rng.uniform(-1, 1, inside)}
            elif name == "vjp":
                params = {"v": rng.uniform(-1, 1, out)}
                out = inside
            else:
                out = (*out, *inside)
        elif name == "total":
            params = {"v": rng.uniform(-1, 1, out)}
            out = ()
        stack.append((name, params))
    return Case(steps, stack, rng.uniform(-1.2, 1.2, inside), size)


def _inserted(shape: Shape, axis: int, n: int) -> Shape:
    return (*shape[:axis], n, *shape[axis:])


# -- by the library ----------------------------------------------------------------------------------------


def ours(case: Case) -> Function:
    """Return the case's function as a user writes it."""
    made = _stepping(case, xp, np.float64)
    for name, params in case.stack:
        made = _transformed(name, made, params)
    return made


def _stepping(case: Case, m: Any, dtype: Any) -> Function:
    """Return the case's function without its transforms."""
    leaving = fuzz_leaving.LEAVING
    steps = [leaving[s](m, dtype) if s in leaving else partial(STEPS[s], m) for s in case.steps]
    return lambda x: reduce(lambda y, step: step(y), steps, x)


def _transformed(name: str, f: Function, params: dict[str, Any]) -> Function:
    v = params.get("v")
    if name == "vmap":
        return t.vmap(f, **params)
    if name == "jvp":
        return lambda x: t.jvp(f, (x,), (xp.asarray(v),))[1]
    if name == "linear":
        return lambda x: t.linearize(f, x)[1](xp.asarray(v))
    if name == "vjp":
        return lambda x: t.vjp(f, x)[1](xp.asarray(v))[0]
    if name == "total":
        return lambda x: xp.sum(f(x) * xp.asarray(v))
    return getattr(t, name)(f)


# -- by loops and differences ------------------------------------------------------------------------------


class _NumPy:
    """NumPy with the standard's names."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def reference(case: Case, step: float) -> Function:
    """Return the case's function made of NumPy, loops and differences of that step."""
    made = _stepping(case, _NumPy(), np.longdouble)
    for name, params in case.stack:
        made = _reference(name, made, params, step)
    return made


def _reference(name: str, f: Function, params: dict[str, Any], step: float) -> Function:
    v = params.get("v")
    if name == "vmap":
        return lambda x: np.stack(
            [f(row.copy()) for row in np.moveaxis(x, params["in_axes"], 0)], axis=params["out_axes"]
        )
    if name in ("jvp", "linear"):
        return lambda x: _difference(f, x, v, step)
    if name in ("grad", "jacfwd", "jacrev"):
        return lambda x: _jacobian(f, x, step)
    if name == "vjp":
        return lambda x: np.tensordot(v, _jacobian(f, x, step), axes=np.ndim(v))
    if name == "total":
        return lambda x: np.sum(f(x) * v)
    return f


def _difference(f: Function, x: np.ndarray, v: Any, h: float) -> Any:
    """The derivative along v, by central differences of sixth order."""
    a, b, c = ((f(x + k * h * v) - f(x - k * h * v)) / (2 * k * h) for k in (1, 2, 3))
    return (15 * a - 6 * b + c) / 10


def _jacobian(f: Function, x: np.ndarray, step: float) -> np.ndarray:
    columns = []
    for i in range(x.size):
        unit = np.zeros(x.size, x.dtype)
        unit[i] = 1
        columns.append(_difference(f, x, unit.reshape(x.shape), step))
    return np.stack(columns, axis=-1).reshape(*np.shape(columns[0]), *x.shape)


# -- the comparison ----------------------------------------------------------------------------------------


STEP = 2.0**-8
TOLERANCE = 1e-6


def wanted(case: Case) -> np.ndarray | None:
    """Return what the reference gives, or None where differences cannot tell: at a kink, or beyond 1e6."""
    x = case.x.astype(np.longdouble)
    with np.errstate(all="ignore"):
        coarse, fine = (np.asarray(reference(case, h)(x.copy())) for h in (STEP, STEP / 2))
    size = float(np.abs(fine).max(initial=0))
    trusted = np.isfinite(fine).all() and size < 1e6 and _error(coarse, fine) < TOLERANCE / 2
    return fine if trusted else None


def _error(found: np.ndarray, right: np.ndarray) -> float:
    size = max(1.0, float(np.abs(right).max(initial=0)))
    return float(np.abs(found - right).max(initial=0)) / size


def check(case: Case, right: np.ndarray) -> tuple[str, str | None]:
    """Compare what the library gives with what is right; returns the outcome, and what is wrong or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(ours(case)(xp.asarray(case.x)))
    if found.shape != right.shape:
        return "wrong", f"shape {found.shape}, not {right.shape}"
    error = _error(found, right)
    return ("right", None) if error < TOLERANCE else ("wrong", f"differs by {error:.2g} of the largest value")


def check_leaving(case: Case, right: np.ndarray) -> tuple[str, str | None]:
    """Do what `check` does for a case that may be refused or warned of; returns how it came out, too."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = np.asarray(ours(case)(xp.asarray(case.x)))
        except fuzz_leaving.REFUSALS as error:
            return type(error).__name__, None
    is_right = found.shape == right.shape and _error(found, right) < TOLERANCE
    if any(w.category is t.ValueLeftWarning for w in told):
        return "right, and warned of" if is_right else "warned of", None
    return ("right", None) if is_right else ("wrong", f"gives {found.tolist()}, not {right.tolist()}")


def main(argv: list[str] | None = None) -> int:
    """Run the fuzz; returns 1 where any case is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz-transforms", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many that can be compared (1000)")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case (0)")
    parser.add_argument(
        "--leaving", action="store_true", help="values leave, and captured arrays are written"
    )
    args = parser.parse_args(argv)
    console = Console()
    done = skipped = 0
    counts: Counter[str] = Counter()
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("cases", total=args.cases)
        while done < args.cases:
            seed = args.seed + done + skipped
            if args.leaving and seed % 4 == 0:
                told, (outcome, problem) = "", fuzz_leaving.check_counting(seed, t.vmap, xp)
            else:
                case = random_case(seed, args.leaving)
                right = wanted(case)
                if right is None:
                    skipped += 1
                    continue
                told, (outcome, problem) = (
                    f"{case}: ",
                    (check_leaving if args.leaving else check)(case, right),
                )
                counts.update(name for name, _ in case.stack)
                counts[f"{len(case.stack)} deep"] += 1
            if problem:
                console.print(f"case {seed}: {told}{problem}", markup=False)
            counts[outcome] += 1
            done += 1
            progress.update(bar, completed=done)
    console.print(f"{done} cases, {counts['wrong']} wrong; {skipped} near kinks, not comparable")
    console.print(", ".join(f"{k} {n}" for k, n in sorted(counts.items())))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
