"""Random programs on MAX and on the host: `python -m benchmarks fuzz-tiers --programs N --seed S`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table

from nabla_array._lazy.graph.program import Program
from nabla_array._lazy.max import backend
from nabla_array._lazy.max.canonical import Canonical, canonicalize, parse
from nabla_array._lazy.schedule.parts import parts

from .fuzz_judge import Disagreement, judge
from .fuzz_programs import (
    SIBLINGS,
    Case,
    host_values,
    lowered,
    random_case,
    redrawn,
    resized,
    together,
)

# Seconds that one compilation may take, and one graph more.
_FIXED, _EACH = 1200, 60
# How often a graph is run with other values, and with other sizes too: that costs next to nothing.
_REDRAWN, _RESIZED = 1, 2
# How findings of what MAX does not compile are called.
_REFUSED = "compile"
# Disagreements of one kind that are shown.
_SHOWN = 2

Shapes = tuple[tuple[int, ...], ...]
# What runs arrays, given the shapes that it takes them in and those that results have.
Model = Callable[[Shapes, Shapes], Callable[..., list[np.ndarray]]]
# Gives the models of canonical programs, and why others do not compile.
Compile = Callable[[Sequence[str]], tuple[dict[str, Model], dict[str, str]]]


class Piece(NamedTuple):
    """What would be one kernel of a random program."""

    number: int
    case: Case


class Group:
    """Pieces beside each other in one graph: compiling that costs hardly more than one of them alone."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = tuple(pieces)
        (self.program, self.inputs), self.owners = together([p.case for p in pieces])
        self.canonical: Canonical = canonicalize(self.program)

    def halves(self) -> list[Group]:
        """Return two groups, or none of a single piece."""
        n = len(self.pieces) // 2
        return [Group(self.pieces[:n]), Group(self.pieces[n:])] if n else []


class Finding(NamedTuple):
    """Something wrong: of a kind (a primitive and dtypes, or "compile"), in a program, with some inputs."""

    kind: str
    numbers: tuple[int, ...]
    case: Case
    text: str
    value: int = -1


class Tally:
    """What was run, and what was found."""

    def __init__(self) -> None:
        self.programs = self.graphs = self.runs = self.sizes = self.compared = self.undecided = 0
        self.primitives: Counter[str] = Counter()
        self.findings: list[Finding] = []


def pieces_of(number: int, case: Case) -> list[Piece]:
    """Cut a program into what MAX runs of it in the mode "max"."""
    values = host_values(*case)
    return [
        Piece(number, Case(part.program, tuple(values[i] for i in part.inputs)))
        for part in parts(case.program, True)
        if part.fusible
    ]


def _compile_here(folder: Path) -> None:
    """Compile the keys in a folder, and write down which cannot be built (in a process of its own)."""
    from max.graph import Module

    keys = json.loads((folder / "keys.json").read_text())
    refused = {}
    kernels = backend.build_kernels(folder)
    for key in keys:
        try:
            backend._build(parse(key), "g", Module(), kernels)
        except Exception as error:  # whatever MAX raises is what is looked for
            refused[key] = f"{type(error).__name__}: {error}"
    good = [key for key in keys if key not in refused]
    (folder / "refused.json").write_text(json.dumps(refused))
    if good:
        backend.compile_programs(good, folder / "models.mef")


def compile_with_max(keys: Sequence[str]) -> tuple[dict[str, Model], dict[str, str]]:
    """Compile programs together, in a process of its own; returns the models, and why others have none."""
    if not keys:
        return {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "keys.json").write_text(json.dumps(keys))
        try:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.fuzz_tiers", name],
                capture_output=True,
                text=True,
                timeout=_FIXED + _EACH * len(keys),
                check=False,
            )
            said = f"exit {done.returncode}: {done.stderr[-2000:]}"
        except subprocess.TimeoutExpired as error:
            said = f"not done after {error.timeout:.0f} s"
        mef, refusals = folder / "models.mef", folder / "refused.json"
        refused = json.loads(refusals.read_text()) if refusals.exists() else {}
        good = [key for key in keys if key not in refused]
        if mef.exists():
            loaded = backend.load(name, mef.read_bytes())
            return {key: _model(loaded[f"g{i}"]) for i, key in enumerate(good)}, refused
    if len(good) <= 1:
        return {}, {**refused, **dict.fromkeys(good, said)}
    print(f"{len(good)} graphs do not compile together, now in halves: {said}", file=sys.stderr)
    halves = [compile_with_max(good[: len(good) // 2]), compile_with_max(good[len(good) // 2 :])]
    models = {key: model for found, _ in halves for key, model in found.items()}
    return models, {**refused, **halves[0][1], **halves[1][1]}


def _model(loaded: Any) -> Model:
    return lambda inputs, outputs: backend.runner(loaded, inputs, outputs)


def fuzz(groups: Iterable[Group], tally: Tally, seed: int, compiled: Compile = compile_with_max) -> None:
    """Compile groups, run each with some sets of values and sizes, and add to the tally."""
    todo = list(groups)
    models, refused = compiled(list(dict.fromkeys(g.canonical.key for g in todo)))
    smaller = []
    for group in todo:
        key = group.canonical.key
        message = refused.get(key)
        if message is None:
            try:
                _run(group, models[key], tally, seed)
                continue
            except Exception as error:  # whatever MAX raises is what is looked for
                message = f"{type(error).__name__}: {error}"
                print(f"a graph does not run, now in halves: {message}", file=sys.stderr)
        if len(group.pieces) > 1:
            smaller += group.halves()
        else:
            (piece,) = group.pieces
            kind = f"{_REFUSED if key in refused else 'run'}: {message.splitlines()[0][:80]}"
            tally.findings.append(Finding(kind, (piece.number,), piece.case, message))
    if smaller:
        fuzz(smaller, tally, seed, compiled)


def _run(group: Group, model: Model, tally: Tally, seed: int) -> None:
    rng = np.random.default_rng([seed, group.pieces[0].number])
    program, canonical = group.program, group.canonical
    run = model(canonical.inputs, canonical.outputs)
    cases = [Case(program, group.inputs), *[redrawn(program, rng) for _ in range(_REDRAWN)]]
    found: dict[int, Finding] = {}
    for case in cases:
        _note(judged(case, run, tally), case, group, found)
    others = [p for p in (resized(canonical, rng) for _ in range(_RESIZED)) if p is not None]
    for other in others:
        case = redrawn(other, rng)
        run = model(tuple(a.shape for a in other.inputs), tuple(other.aval(i).shape for i in other.outputs))
        _note(judged(case, run, tally), case, group, found)
    tally.graphs += 1
    tally.sizes += 1 + len(others)
    tally.primitives.update(e.prim.name for e in program.eqns)
    tally.findings += found.values()


def judged(case: Case, run: Callable[..., list[np.ndarray]], tally: Tally) -> list[Disagreement]:
    """Run a program, count that, and return what MAX made wrong."""
    got = run(*case.inputs)
    verdict = judge(*case, dict(zip(case.program.outputs, got, strict=True)))
    tally.runs += 1
    tally.compared += verdict.compared
    tally.undecided += verdict.unstable
    return verdict.disagreements


def _note(disagreements: Sequence[Disagreement], case: Case, group: Group, found: dict[int, Finding]) -> None:
    """Keep the first disagreement of each piece: what follows may be wrong because of it."""
    for d in disagreements:
        owner = group.owners[d.number - len(case.inputs)]
        if owner not in found:
            numbers = tuple(dict.fromkeys(p.number for p in group.pieces))
            found[owner] = _told(d, case, numbers)


def _told(d: Disagreement, case: Case, numbers: tuple[int, ...]) -> Finding:
    eqn = case.program.eqns[d.number - len(case.inputs)]
    dtypes = ", ".join(x.dtype.name for x in d.operands)
    at = tuple(map(int, np.argwhere(d.where)[0]))
    lines = [f"{np.count_nonzero(d.where)} of {d.where.size} elements, the first at {at}:"]
    lines.append(f"MAX {d.got[at]!r}, host {d.wanted[at]!r}")
    lines += [f"operand {o[at]!r}" for o in d.operands if o.shape == d.got.shape]
    lines += [f"operand {o!r}" for o in d.operands if o.shape != d.got.shape and o.size <= 64]
    return Finding(f"{eqn.prim.name}({dtypes})", numbers, case, "\n".join(lines), d.number)


def cut_down(finding: Finding) -> list[Case]:
    """Return smaller programs that may show the same: the last few operations before the bad value."""
    program, inputs = finding.case
    values = host_values(program, inputs)
    out: list[Case] = []
    for depth in (1, 2, 3, 4, 6, 30):
        small, sources = before(program, finding.value, depth)
        if all(small != other.program for other in out):
            out.append(Case(small, tuple(values[i] for i in sources)))
    return out


def before(program: Program, number: int, depth: int) -> tuple[Program, list[int]]:
    """Return the program of the operations up to so far before a value, and where its inputs come from."""
    base = len(program.inputs)
    wanted: dict[int, int] = {number: depth}
    for k in range(number, base - 1, -1):
        left = wanted.get(k, 0)
        if left:
            for i in program.eqns[k - base].ins:
                fill = i >= base and not program.eqns[i - base].ins
                wanted[i] = max(wanted.get(i, 0), left - 1, int(fill))
    inside = [k for k in sorted(wanted) if k >= base and wanted[k]]
    sources = [k for k in sorted(wanted) if k not in inside]
    names = {v: n for n, v in enumerate([*sources, *inside])}
    eqns = [program.eqns[k - base] for k in inside]
    return (
        Program(
            tuple(program.aval(i) for i in sources),
            tuple(e._replace(ins=tuple(names[i] for i in e.ins)) for e in eqns),
            (names[number],),
        ),
        sources,
    )


def shrink(findings: Sequence[Finding], compiled: Compile = compile_with_max) -> list[Finding]:
    """Return the findings as smaller programs show them, where these do."""
    candidates = [cut_down(f) for f in findings]
    models, _ = compiled(
        list(dict.fromkeys(canonicalize(c.program).key for some in candidates for c in some))
    )
    out = []
    for finding, some in zip(findings, candidates, strict=True):
        best = finding
        for case in some:
            canonical = canonicalize(case.program)
            model = models.get(canonical.key)
            if model is not None:
                seen = judged(case, model(canonical.inputs, canonical.outputs), Tally())
                if seen:
                    best = _told(seen[0], case, finding.numbers)
                    break
        out.append(best)
    return out


def sample(findings: Iterable[Finding], most: int = _SHOWN) -> list[Finding]:
    """Return the shortest few of each kind."""
    kinds: dict[str, list[Finding]] = {}
    for f in findings:
        kinds.setdefault(f.kind, []).append(f)
    by_size = [sorted(some, key=lambda f: len(f.case.program.eqns))[:most] for some in kinds.values()]
    return [f for some in by_size for f in some]


def show(tally: Tally, console: Console, seconds: float, seed: int, compiled: Compile) -> None:
    """Print the summary and the findings."""
    refused = [f for f in tally.findings if f.kind.startswith(_REFUSED)]
    table = Table("", "", title="fuzz-tiers: MAX against the host", show_header=False)
    for name, value in (
        ("programs", tally.programs),
        ("graphs compiled, their sizes, runs", f"{tally.graphs}, {tally.sizes}, {tally.runs}"),
        ("operations", sum(tally.primitives.values())),
        ("elements compared", tally.compared),
        ("of them left open by rounding", f"{tally.undecided / max(tally.compared, 1):.2%}"),
        ("primitives", f"{len(tally.primitives)} of {len({p.name for p in lowered()} | {'fill'})}"),
        ("not compiled by MAX", len(refused)),
        ("disagreements", len(tally.findings) - len(refused)),
        ("seconds", f"{seconds:.0f}"),
    ):
        table.add_row(name, str(value))
    console.print(table)
    counts = [f"{name} {n}" for name, n in sorted(tally.primitives.items())]
    columns = max(1, console.width // 22)
    grid = Table.grid(padding=(0, 2))
    for at in range(0, len(counts), columns):
        grid.add_row(*counts[at : at + columns])
    console.print(grid)
    never = [p.name for p in lowered() if not tally.primitives[p.name]]
    if never:
        console.print(f"not met: {', '.join(never)}")
    for kind, n in Counter(f.kind for f in tally.findings).most_common():
        console.print(f"  {n} x {escape(kind)}", style="red")
    wrong = sample(f for f in tally.findings if f.value >= 0)
    for f in shrink(wrong, compiled) + sample(f for f in tally.findings if f.value < 0):
        console.rule(escape(f.kind))
        first, n = min(f.numbers), max(f.numbers) - min(f.numbers) + 1
        console.print(
            f"python -m benchmarks fuzz-tiers --seed {seed} --first {first} --programs {n}", style="bold"
        )
        console.print(str(f.case.program), markup=False)
        for i, x in enumerate(f.case.inputs):
            if x.size <= 64:
                console.print(f"%{i} = {x!r}", markup=False)
        console.print(f.text, markup=False)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz-tiers", description=__doc__)
    parser.add_argument("--programs", type=int, default=100, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the random programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--batch", type=int, default=100, help="programs that are compiled together")
    parser.add_argument("--group", type=int, default=SIBLINGS, help="programs in one graph")
    parser.add_argument("--largest", type=int, default=30, help="operations of a program, at most")
    return parser.parse_args(argv)


def groups_of(numbers: Sequence[int], seed: int, size: int, largest: int = 30) -> list[Group]:
    """Return the random programs of these numbers, so many in a graph."""
    out = []
    for at in range(0, len(numbers), size):
        cases = [(n, random_case(seed, n, largest)) for n in numbers[at : at + size]]
        pieces = [p for n, case in cases for p in pieces_of(n, case)]
        if pieces:
            out.append(Group(pieces))
    return out


def main(argv: Sequence[str], compiled: Compile = compile_with_max) -> int:
    """Run random programs; returns 1 if MAX and the host disagree on one, or MAX does not compile one."""
    args = _arguments(argv)
    console = Console()
    tally = Tally()
    start = perf_counter()
    numbers = range(args.first, args.first + args.programs)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("programs", total=args.programs)
        for at in range(0, len(numbers), args.batch):
            batch = numbers[at : at + args.batch]
            seen = len(tally.findings)
            fuzz(groups_of(batch, args.seed, args.group, args.largest), tally, args.seed, compiled)
            tally.programs += len(batch)
            for kind, n in Counter(f.kind for f in tally.findings[seen:]).items():
                progress.console.print(f"  {n} x {escape(kind)}", style="red")
            progress.advance(task, len(batch))
    show(tally, console, perf_counter() - start, args.seed, compiled)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    _compile_here(Path(sys.argv[1]))
    sys.stdout.flush()
    # Without MAX's own exit, which can fail after it has compiled.
    os._exit(0)
