"""Run other people's scripts, unchanged, on our arrays and on NumPy's, and compare what they do.

    python -m tests.upstream scripts --source FOLDER [--keep FOLDER] [--seconds N] [--times N] [SCRIPT ...]

FOLDER/programs.txt names the scripts, one a line, as FIELD/PROJECT/.../script.py; modules may lie beside a
script or at the root of its project. Each runs in two processes of its own. Right is a script that prints the
same, but for rounding, leaves the same numbers in its global names, and draws the same. One that does not do
so twice under NumPy itself is not counted, nor one that fails there. With `--times`, a right script is run
that often each way, in turns, and the least times count.
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from nabla_array.runner import figures, texts

PATIENCE = 4  # how many times the seconds that a script may take with NumPy it may take with us
RIGHT, DIFFERS, OURS, BOTH, UNSTABLE, SILENT = (
    "right",
    "differs",
    "fails only with us",
    "fails with NumPy, too",
    "differs from itself under NumPy",
    "no numbers, no figures",
)
KINDS = (RIGHT, DIFFERS, OURS, BOTH, UNSTABLE, SILENT)
RELATIVE, ABSOLUTE = 1e-6, 1e-9
_MISSING = object()


class Run(NamedTuple):
    """What a script did in a process of its own."""

    status: int | None
    printed: str
    error: str
    seconds: float
    left: dict[str, Any]


class Verdict(NamedTuple):
    """What came out for a script: one of `KINDS`, why, and NumPy's time and ours."""

    script: str
    kind: str
    why: str = ""
    theirs: float = 0.0
    ours: float = 0.0


def run(source: Path, script: str, folder: Path, seconds: int, *numpy: str) -> Run:
    """Run a script in a process of its own."""
    folder.mkdir()
    root = source / Path(*Path(script).parts[:2])
    path = os.pathsep.join([str(Path.cwd()), str(root), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "tests.upstream.script", str(folder), str(source / script), *numpy]
    limit = seconds if numpy else seconds * PATIENCE
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Run(None, "", f"more than {limit} seconds", math.inf, {})
    told, left = folder / "seconds", folder / "left"
    return Run(
        done.returncode,
        done.stdout.decode(errors="replace"),
        (done.stderr.decode(errors="replace").strip().splitlines() or [""])[-1],
        float(told.read_text()) if told.exists() else math.inf,
        pickle.loads(left.read_bytes()) if left.exists() else {},
    )


def judge(source: Path, script: str, seconds: int = 30, times: int = 1) -> Verdict:
    """Run a script both ways, and compare; a right one as often as is said."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        theirs = run(source, script, folder / "numpy", seconds, "--numpy")
        if theirs.status != 0:
            return Verdict(script, BOTH, theirs.error)
        drawn = figures.first_difference(folder / "numpy", folder / "numpy")[0]
        if not (drawn or numbers(theirs.left) or any(c.isdigit() for c in theirs.printed)):
            return Verdict(script, SILENT)
        ours = run(source, script, folder / "ours", seconds)
        if ours.status != 0:
            return Verdict(script, OURS, ours.error, theirs.seconds, ours.seconds)
        why = _difference(ours, theirs, folder / "ours", folder / "numpy")
        if not why:
            runs = [(theirs.seconds, ours.seconds)]
            for i in range(1, times):
                more = run(source, script, folder / f"numpy {i}", seconds, "--numpy")
                runs.append((more.seconds, run(source, script, folder / f"ours {i}", seconds).seconds))
            return Verdict(script, RIGHT, "", *map(min, zip(*runs, strict=True)))
        again = run(source, script, folder / "again", seconds, "--numpy")
        if _difference(again, theirs, folder / "again", folder / "numpy"):
            return Verdict(script, UNSTABLE, why)
        return Verdict(script, DIFFERS, why, theirs.seconds, ours.seconds)


def _difference(ours: Run, theirs: Run, mine: Path, wanted: Path) -> str:
    return (
        texts.first_difference(ours.printed, theirs.printed)
        or difference(ours.left, theirs.left)
        or figures.first_difference(mine, wanted)[1]
    )


def numbers(left: Any) -> int:
    """Return how many numbers there are in what a script left."""
    if isinstance(left, dict):
        return sum(map(numbers, left.values()))
    return int(np.asarray(left).size) if np.asarray(left).dtype.kind in "iufc" else 0


def difference(ours: Any, theirs: Any, name: str = "") -> str:
    """Return where what is left differs first, and how, or an empty string."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {**theirs, **ours}:
            said = difference(ours.get(key, _MISSING), theirs.get(key, _MISSING), f"{name}.{key}".lstrip("."))
            if said:
                return said
        return ""
    if ours is _MISSING or theirs is _MISSING or isinstance(ours, dict) or isinstance(theirs, dict):
        return f"{name}: {_kind(ours)} instead of {_kind(theirs)}"
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{name}: {a.dtype} {a.shape} instead of {b.dtype} {b.shape}"
    if a.dtype.kind not in "fc":
        return "" if np.array_equal(a, b) else f"{name}: other {a.dtype}"
    rounding = 1e-3 if b.dtype.itemsize == 4 or b.dtype == np.complex64 else RELATIVE
    finite = b[np.isfinite(b)]
    tiny = ABSOLUTE * max(1.0, float(np.abs(finite).max(initial=0.0)))
    if np.allclose(a, b, rtol=rounding, atol=tiny, equal_nan=True):
        return ""
    with np.errstate(all="ignore"):
        worst = np.nanmax(np.abs(a - b))
    return f"{name}: {worst:.3g} away, of {np.abs(finite).max(initial=0.0):.3g}"


def _kind(value: Any) -> str:
    return "nothing" if value is _MISSING else type(value).__name__


def table(verdicts: list[Verdict]) -> str:
    """Return how many scripts of each field came out how."""
    fields: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        fields.setdefault(verdict.script.partition("/")[0], Counter())[verdict.kind] += 1
    fields["all"] = Counter(verdict.kind for verdict in verdicts)
    rows = [f"| {field} | {' | '.join(str(n[kind]) for kind in KINDS)} |" for field, n in fields.items()]
    return "\n".join([f"| field | {' | '.join(KINDS)} |", "|---" * (len(KINDS) + 1) + "|", *rows])


def ratio(verdicts: list[Verdict]) -> float:
    """Return the geometric mean of our times over NumPy's, of the scripts that ran."""
    logs = [
        math.log(v.ours / v.theirs) for v in verdicts if 0 < v.theirs < math.inf and 0 < v.ours < math.inf
    ]
    return math.exp(sum(logs) / max(len(logs), 1))


def main(argv: list[str]) -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream scripts")
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help="a part of a script's path")
    parser.add_argument("--source", type=Path, required=True, help="the folder of programs.txt")
    parser.add_argument("--keep", type=Path, help="a folder for results: what is there is not run again")
    parser.add_argument("--seconds", type=int, default=30, help="that a script may take with NumPy")
    parser.add_argument("--times", type=int, default=1, help="how often a right script is run each way")
    args = parser.parse_args(argv)
    source = args.source.resolve()
    listed = (source / "programs.txt").read_text(encoding="utf-8").split("\n")
    verdicts = []
    for script in filter(None, listed):
        if not args.scripts or any(part in script for part in args.scripts):
            verdicts.append(_kept(source, script, args.keep, args.seconds, args.times))
            v = verdicts[-1]
            print(f"{script}: {v.kind} {v.why} [{v.theirs:.3g} s, {v.ours:.3g} s]", flush=True)
    print(table(verdicts))
    print(f"our time, NumPy's being 1: {ratio(verdicts):.3f} (geometric mean)")


def _kept(source: Path, script: str, keep: Path | None, seconds: int, times: int) -> Verdict:
    if keep is None:
        return judge(source, script, seconds, times)
    file = keep / f"{script.replace('/', '_')}.pickle"
    if not file.exists():
        keep.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(tuple(judge(source, script, seconds, times))))
    return Verdict(*pickle.loads(file.read_bytes()))
