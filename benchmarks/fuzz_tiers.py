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

from nabla_array._lazy import max_backend
from nabla_array._lazy.canonical import Canonical, canonicalize
from nabla_array._lazy.fusion import parts
from nabla_array._lazy.program import Program

from .fuzz_judge import Verdict, judge
from .fuzz_programs import Case, covered, host_values, lowered, random_case, redraw

# Seconds that one compilation may take, and one program more.
_FIXED, _EACH = 300, 10
# Sets of values that each program is run with: they cost next to nothing, compiling does.
_DRAWS = 4
# Disagreements of one kind that are shown.
_SHOWN = 2


class Piece(NamedTuple):
    """What MAX runs of a random program, in one kernel."""

    origin: str
    case: Case
    canonical: Canonical


class Finding(NamedTuple):
    """Something wrong: with a piece, of a kind (a primitive and dtypes, or "compile")."""

    kind: str
    piece: Piece
    text: str
    number: int = -1


class Tally:
    """What was run, and what was found."""

    def __init__(self) -> None:
        self.programs = 0
        self.pieces = 0
        self.primitives: Counter[str] = Counter()
        self.compared = 0
        self.unstable = 0
        self.findings: list[Finding] = []

    def add(self, piece: Piece, verdict: Verdict) -> None:
        """Count a run."""
        self.compared += verdict.compared
        self.unstable += verdict.unstable
        # What follows a wrong value may be wrong because of it, where it is not the value that was seen.
        for d in verdict.disagreements[:1]:
            eqn = piece.case.program.eqns[d.number - len(piece.case.inputs)]
            dtypes = ", ".join(x.dtype.name for x in d.operands)
            at = tuple(int(i[0]) for i in np.nonzero(d.where))
            lines = [f"{np.count_nonzero(d.where)} of {d.where.size} elements, the first at {at}:"]
            lines.append(f"MAX {d.got[at]!r}, host {d.wanted[at]!r}")
            lines += [f"operand {o[at]!r}" for o in d.operands if o.shape == d.got.shape]
            lines += [f"operand {o!r}" for o in d.operands if o.shape != d.got.shape and o.size <= 64]
            text = "\n".join(lines)
            self.findings.append(Finding(f"{eqn.prim.name}({dtypes})", piece, text, d.number))


def pieces_of(origin: str, case: Case, everything: bool) -> list[Piece]:
    """Cut a program as `auto` would; `everything`: each value of it is an output."""
    program = case.program
    values = host_values(*case)
    out = []
    for part in parts(program, True):
        if part.fusible:
            arguments = tuple(values[i] for i in part.inputs)
            out.append(Piece(origin, Case(part.program, arguments), canonicalize(part.program)))
    return out


def _compile_here(folder: Path) -> None:
    """Compile the keys that lie in a folder, and write down which cannot be built (in a process of its own)."""
    from max.graph import Module

    keys = json.loads((folder / "keys.json").read_text())
    refused = {}
    kernels = max_backend.build_kernels(folder)
    for key in keys:
        try:
            max_backend._build(max_backend.parse(key), "g", Module(), kernels)
        except Exception as error:  # whatever MAX raises is what is looked for
            refused[key] = f"{type(error).__name__}: {error}"
    good = [key for key in keys if key not in refused]
    (folder / "refused.json").write_text(json.dumps(refused))
    if good:
        max_backend.compile_programs(good, folder / "models.mef")


def compile_all(keys: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Compile programs together; returns the models, and for those that do not compile why."""
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
            )
            said = f"exit {done.returncode}: {done.stderr[-2000:]}"
        except subprocess.TimeoutExpired as error:
            said = f"not done after {error.timeout:.0f} s"
        mef, refusals = folder / "models.mef", folder / "refused.json"
        refused = json.loads(refusals.read_text()) if refusals.exists() else {}
        good = [key for key in keys if key not in refused]
        if mef.exists():
            models = max_backend.load(name, mef.read_bytes())
            return {key: models[f"g{i}"] for i, key in enumerate(good)}, refused
    if len(good) <= 1:
        return {}, {**refused, **dict.fromkeys(good, said)}
    halves = [compile_all(good[: len(good) // 2]), compile_all(good[len(good) // 2 :])]
    models = {key: model for found, _ in halves for key, model in found.items()}
    return models, {**refused, **halves[0][1], **halves[1][1]}


def run(piece: Piece, model: Any) -> Verdict:
    """Run a piece on MAX, and judge it."""
    execute = max_backend.runner(model, piece.canonical.inputs, piece.canonical.outputs)
    got = execute(*piece.case.inputs)
    return judge(*piece.case, dict(zip(piece.case.program.outputs, got, strict=True)))


def fuzz(pieces: Iterable[Piece], tally: Tally, seed: int) -> None:
    """Compile pieces, run each with some sets of values, and add to the tally."""
    todo = list(pieces)
    models, refused = compile_all(list(dict.fromkeys(p.canonical.key for p in todo)))
    for n, piece in enumerate(todo):
        if piece.canonical.key in refused:
            message = refused[piece.canonical.key]
            tally.findings.append(Finding(f"compile: {message.splitlines()[0][:80]}", piece, message))
            continue
        rng = np.random.default_rng([seed, n])
        draws = [piece.case, *[redraw(piece.case, rng) for _ in range(_DRAWS - 1)]]
        for case in draws:
            if case is not None:
                drawn = piece._replace(case=case)
                tally.add(drawn, run(drawn, models[piece.canonical.key]))
        tally.pieces += 1
        tally.primitives.update(e.prim.name for e in piece.case.program.eqns)


def cut_down(finding: Finding) -> list[Piece]:
    """Return smaller programs that may show the same: the last few operations before the bad value."""
    program, inputs = finding.piece.case
    if finding.number < 0:
        return []
    values = host_values(program, inputs)
    out = []
    depths = dict.fromkeys([1, 2, 3, 4, 6, 30])
    for depth in depths:
        small, sources = _slice(program, finding.number, depth)
        case = Case(small, tuple(values[i] for i in sources))
        if all(case.program.eqns != other.case.program.eqns for other in out):
            out.append(Piece(f"{finding.piece.origin}, {depth} deep", case, canonicalize(small)))
    return out


def _slice(program: Program, number: int, depth: int) -> tuple[Program, list[int]]:
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


def shrink(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings as smaller programs show them, where these do."""
    candidates = [cut_down(f) for f in findings]
    models, _ = compile_all(list(dict.fromkeys(p.canonical.key for some in candidates for p in some)))
    out = []
    for finding, some in zip(findings, candidates, strict=True):
        best = finding
        for piece in some:
            model = models.get(piece.canonical.key)
            if model is not None:
                tally = Tally()
                tally.add(piece, run(piece, model))
                if tally.findings:
                    best = tally.findings[0]
                    break
        out.append(best)
    return out


def sample(findings: Iterable[Finding], most: int = _SHOWN) -> list[Finding]:
    """Return the shortest few of each kind."""
    kinds: dict[str, list[Finding]] = {}
    for f in findings:
        kinds.setdefault(f.kind, []).append(f)
    by_size = [sorted(some, key=lambda f: len(f.piece.case.program.eqns))[:most] for some in kinds.values()]
    return [f for some in by_size for f in some]


def show(tally: Tally, console: Console, seconds: float) -> None:
    """Print the summary and the findings."""
    missing = [p.name for p in lowered() if not covered(p)]
    never = [p.name for p in lowered() if covered(p) and not tally.primitives[p.name]]
    equations = sum(tally.primitives.values())
    share = tally.unstable / max(tally.compared, 1)
    console.print(
        f"{tally.programs} programs, {tally.pieces} compiled pieces, {equations} equations, "
        f"{tally.compared} elements compared ({share:.2%} of them undecidable), "
        f"{len(tally.findings)} disagreements, {seconds:.0f} s"
    )
    counts = ", ".join(f"{name} {n}" for name, n in sorted(tally.primitives.items()))
    console.print(f"{len(tally.primitives)} primitives: {counts}")
    if missing or never:
        console.print(f"lowered, but not generated: {', '.join(missing)}; not met: {', '.join(never)}")
    for kind, n in Counter(f.kind for f in tally.findings).most_common():
        console.print(f"  {n} x {escape(kind)}", style="red")
    for finding in shrink(sample([f for f in tally.findings if f.number >= 0])) + sample(
        f for f in tally.findings if f.number < 0
    ):
        console.rule(f"{escape(finding.kind)} (program {finding.piece.origin})")
        console.print(str(finding.piece.case.program), markup=False)
        for i, x in enumerate(finding.piece.case.inputs):
            if x.size <= 64:
                console.print(f"%{i} = {x!r}", markup=False)
        console.print(finding.text, markup=False)


def main(argv: Sequence[str]) -> int:
    """Run random programs; returns 1 if MAX and the host disagree on one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz-tiers", description=__doc__)
    parser.add_argument("--programs", type=int, default=100, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the random programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--batch", type=int, default=50, help="programs that are compiled together")
    parser.add_argument("--largest", type=int, default=30, help="operations of a program, at most")
    args = parser.parse_args(argv)
    console = Console()
    tally = Tally()
    start = perf_counter()
    numbers = range(args.first, args.first + args.programs)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("programs", total=args.programs)
        for at in range(0, len(numbers), args.batch):
            batch = numbers[at : at + args.batch]
            pieces = []
            for number in batch:
                case, everything = random_case(args.seed, number, args.largest)
                pieces += pieces_of(f"{number} of seed {args.seed}", case, everything)
            before = len(tally.findings)
            fuzz(pieces, tally, args.seed)
            tally.programs += len(batch)
            for kind, n in Counter(f.kind for f in tally.findings[before:]).items():
                progress.console.print(f"  {n} x {escape(kind)}", style="red")
            progress.advance(task, len(batch))
    show(tally, console, perf_counter() - start)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    _compile_here(Path(sys.argv[1]))
    sys.stdout.flush()
    # Without MAX's own exit, which can fail after it has compiled.
    os._exit(0)
