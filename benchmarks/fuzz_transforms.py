"""Random stacks of transforms on random functions, against nested loops and differences in NumPy.

The reference never sees the library: derivatives are central differences in extended precision, vmap is a
loop. So it needs numbers of more than double precision (`numpy.longdouble` of x86).

With ``--leaving``, values leave the graph in random ways and come back, captured arrays are written to, and
arrays of NumPy's are mixed in (`fuzz_leaving`). There each case must be right, refused, or warned of.

With ``--control``, each function has branches and loops of the library's in it, inside each other
(`fuzz_control`). There each case must be right, or refused in a way that the documentation tells.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

import nabla_array as xp
from nabla_array import transforms as t
from nabla_array.distributed import DeviceMesh, P, shard_map

from . import fuzz_control, fuzz_leaving
from .differences import Function, difference, each, jacobian

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

    steps: list[str | fuzz_control.Drawn]
    stack: list[tuple[str, dict[str, Any]]]
    x: np.ndarray

    def __str__(self) -> str:
        around = " ".join(name for name, _ in reversed(self.stack))
        return f"{around} of [{', '.join(map(str, self.steps))}] at shape {self.x.shape}"

    def control(self) -> list[str]:
        """Return the names of the steps of `fuzz_control`."""
        return [n for s in self.steps if isinstance(s, fuzz_control.Drawn) for n in s.names()]


def random_case(seed: int, leaving: bool = False, control: bool = False) -> Case:
    """Return the case of that number; with a step of those of `fuzz_leaving`, or `fuzz_control`."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    steps: list[Any] = [str(s) for s in rng.choice(list(STEPS), int(rng.integers(1, 4)))]
    if leaving:
        steps[int(rng.integers(len(steps)))] = str(rng.choice(list(fuzz_leaving.LEAVING)))
    if control:
        steps[int(rng.integers(len(steps)))] = fuzz_control.drawn(rng, list(STEPS))
    inside: Shape = (size,)
    out: Shape = (size,)
    stack: list[tuple[str, dict[str, Any]]] = []
    differences = times = 0
    for step in steps:
        if isinstance(step, fuzz_control.Drawn):
            differences += any(n in fuzz_control.TAKING for n in step.names())
            times += step.cost()
        else:
            times += 1
    for _ in range(int(rng.integers(1, 5))):
        names = _possible(inside, out, differences, times, control)
        name = str(rng.choice(names))
        params: dict[str, Any] = {}
        if name in ("vmap", "shared"):
            n = int(rng.integers(1, 4))
            axes = [int(rng.integers(-len(shape) - 1, len(shape) + 1)) for shape in (inside, out)]
            params = dict(zip(("in_axes", "out_axes"), axes, strict=True))
            inside, out = _inserted(inside, axes[0], n), _inserted(out, axes[1], n)
            times *= n
        elif name in DIFFERENCES:
            differences += DIFFERENCES[name]
            times *= _evaluations(name, inside)
            if name in ("jvp", "linear"):
                params = {"v": rng.uniform(-1, 1, inside)}
            elif name == "vjp":
                params = {"v": rng.uniform(-1, 1, out)}
                out = inside
            else:
                out = (*out, *inside * DIFFERENCES[name])
        elif name == "total":
            params = {"v": rng.uniform(-1, 1, out)}
            out = ()
        stack.append((name, params))
    return Case(steps, stack, rng.uniform(-1.2, 1.2, inside))


# How many differences the reference takes for them.
DIFFERENCES = {"jvp": 1, "linear": 1, "vjp": 1, "grad": 1, "jacfwd": 1, "jacrev": 1, "hessian": 2}
MOST_EVALUATIONS = 100_000  # of one step by the reference, which take a second or so


def _evaluations(name: str, inside: Shape) -> int:
    return 6 if name in ("jvp", "linear") else (6 * int(np.prod(inside))) ** DIFFERENCES[name]


def _possible(inside: Shape, out: Shape, differences: int, times: int, control: bool) -> list[str]:
    """Return the transforms that may come next, some of them several times."""
    names = ["vmap", "shared", "compile", "checkpoint", "total", "linear"]
    names += ["sharded"] if control and inside else []
    names += ["jvp", "jvp", "vjp"] + (["grad"] * 4 + ["hessian"] * 4 if out == () else [])
    small = int(np.prod(out)) * int(np.prod(inside)) <= 64
    names += ["jacfwd", "jacrev"] if small else []

    def is_feasible(name: str) -> bool:
        if name not in DIFFERENCES:
            return True
        return differences + DIFFERENCES[name] <= 3 and times * _evaluations(name, inside) <= MOST_EVALUATIONS

    return [n for n in names if is_feasible(n)]


def _inserted(shape: Shape, axis: int, n: int) -> Shape:
    axis %= len(shape) + 1
    return (*shape[:axis], n, *shape[axis:])


# -- by the library ----------------------------------------------------------------------------------------


MESH = DeviceMesh(2, "d")


def ours(case: Case) -> Function:
    """Return the case's function as a user writes it."""
    made = _stepping(case, xp, np.float64, t)
    for name, params in case.stack:
        made = _transformed(name, made, params)
    return made


def _stepping(case: Case, m: Any, dtype: Any, c: Any) -> Function:
    """Return the case's function without its transforms; `c` are those for `fuzz_control`."""

    def one(step: str | fuzz_control.Drawn) -> Function:
        if isinstance(step, fuzz_control.Drawn):
            return step.made(m, c, STEPS)
        leaving = fuzz_leaving.LEAVING.get(step)
        return partial(STEPS[step], m) if leaving is None else leaving(m, dtype)

    steps = [one(s) for s in case.steps]
    return lambda x: reduce(lambda y, step: step(y), steps, x)


def _transformed(name: str, f: Function, params: dict[str, Any]) -> Function:
    v = params.get("v")
    if name == "vmap":
        return t.vmap(f, **params)
    if name == "shared":
        axis = params["in_axes"]
        mapped = t.vmap(lambda x, y: f(x + y), (axis, None), params["out_axes"])
        return lambda x: mapped(x, xp.mean(x, axis=axis))
    if name == "sharded":
        return shard_map(f, MESH, in_specs=P("d"), out_specs=P())
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


def reference(case: Case, step: float, dtype: Any) -> Function:
    """Return the case's function made of NumPy, loops and differences of that step."""
    made = _stepping(case, _NumPy(), dtype, fuzz_control.Plain(step))
    for name, params in case.stack:
        made = _reference(name, made, params, step)
    return made


def _reference(name: str, f: Function, params: dict[str, Any], step: float) -> Function:
    v = params.get("v")
    if name in ("vmap", "shared"):
        axes = params["in_axes"], params["out_axes"]
        if name == "vmap":
            return lambda x: each(f, x, *axes)
        return lambda x: each(lambda row: f(row + np.mean(x, axis=axes[0])), x, *axes)
    if name in ("jvp", "linear"):
        return lambda x: difference(f, x, v, step)
    if name in ("grad", "jacfwd", "jacrev"):
        return lambda x: jacobian(f, x, step)
    if name == "hessian":
        return lambda x: jacobian(lambda y: jacobian(f, y, step), x, step)
    if name == "vjp":
        return lambda x: np.tensordot(v, jacobian(f, x, step), axes=np.ndim(v))
    if name == "total":
        return lambda x: np.sum(f(x) * v)
    return f


# -- the comparison ----------------------------------------------------------------------------------------


STEP = 2.0**-8
TOLERANCE = 1e-6


def wanted(case: Case) -> np.ndarray | None:
    """Return what the reference gives, or None where differences cannot tell: at a kink, or beyond 1e6.

    The coarse ones are of double precision, so that what is beyond its range on the way is seen.
    """
    try:
        with np.errstate(all="ignore", over="raise"):
            coarse = np.asarray(reference(case, STEP, np.float64)(case.x.copy()))
    except FloatingPointError:
        return None
    with np.errstate(all="ignore"):
        fine = np.asarray(reference(case, STEP / 2, np.longdouble)(case.x.astype(np.longdouble)))
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


def check_control(case: Case, right: np.ndarray) -> tuple[str, str | None]:
    """Do what `check` does for a case that may be refused as `fuzz_control.REFUSED` says."""
    try:
        return check(case, right)
    except Exception as error:
        steps, around = {*case.control()}, {name for name, _ in case.stack}
        for refused in fuzz_control.REFUSED:
            if refused.is_right(error, steps, around | steps):
                return f"refused: {refused.told}", None
        return "wrong", f"{type(error).__name__}: {error}"


def main(argv: list[str] | None = None) -> int:
    """Run the fuzz; returns 1 where any case is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz-transforms", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many that can be compared (1000)")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case (0)")
    parser.add_argument(
        "--leaving", action="store_true", help="values leave, and captured arrays are written"
    )
    parser.add_argument(
        "--control", action="store_true", help="branches and loops of the library's, inside each other"
    )
    args = parser.parse_args(argv)
    checked = check_control if args.control else check_leaving if args.leaving else check
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
                case = random_case(seed, args.leaving, args.control)
                right = wanted(case)
                if right is None:
                    skipped += 1
                    continue
                told, (outcome, problem) = f"{case}: ", checked(case, right)
                counts.update(name for name, _ in case.stack)
                counts.update(case.control())
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
