"""`python -m benchmarks borders`: what users of other libraries try first, with NumPy's arrays and with ours.

Each line runs in three processes: with NumPy, with `import nabla_array as np`, and with NumPy under
`python -m nabla_array run`. It is right where the results are the same, told where an error names the
conversion, and wrong else. Which lines: `border_lines.py`, `border_lines_more.py`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from .border_lines import INSTEAD, LIBRARIES

_ROOT = Path(__file__).resolve().parents[1]
_SCRIPT = Path(__file__).with_name("border_run.py")
_PAGE = _ROOT / "docs" / "howto" / "porting.md"
BEGIN, END = (
    "<!-- borders: written by python -m benchmarks borders --write -->\n",
    "<!-- end of borders -->\n",
)
# How the lines are run: the arguments of Python before the script's, and those after.
WAYS = {"numpy": ((), ()), "import": ((), ("nabla_array",)), "run": (("-m", "nabla_array", "run"), ())}
# What an error must say to name a conversion.
_CONVERSIONS = ("float(", "int(", "asarray", "__array__", ".item()", "tolist", "tobytes")
RIGHT, TOLD, RAISES, WRONG = "right", "told", "raises", "WRONG"
# What is imported is not always what is installed.
_PACKAGES = {
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "ot": "POT",
    "pywt": "PyWavelets",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tensorflow": "tensorflow-cpu",
}


class Line(NamedTuple):
    """What a line gave: by way, the outcome; what the error says, and what was warned of elsewhere."""

    code: str
    outcomes: dict[str, str]
    said: str
    warned: list[str]


def missing(name: str) -> list[str]:
    """Return which packages of a library's are not installed."""
    return [p for p in LIBRARIES[name].packages if importlib.util.find_spec(p) is None]


def results(name: str, way: str) -> list[dict[str, Any]]:
    """Run a library's lines in one way, in a process of its own."""
    before, after = WAYS[way]
    with TemporaryDirectory() as folder:
        out = Path(folder, "found.json")
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
        environment = {k: v for k, v in os.environ.items() if k != "SCIPY_ARRAY_API"}
        done = subprocess.run(
            [sys.executable, *before, str(_SCRIPT), name, str(out), *after],
            env={**environment, "PYTHONPATH": path, "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
            check=False,
        )
        if not out.exists():
            raise RuntimeError(f"{name}, {way}: {done.stderr}")
        found: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
        return found


def same(a: Any, b: Any) -> bool:
    """Say whether two results are equal, up to the last digits of numbers."""
    if isinstance(a, float) and isinstance(b, int | float) and not isinstance(b, bool):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or (a != a and b != b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def judge(ours: dict[str, Any], numpys: dict[str, Any]) -> str:
    """Return how good an outcome is beside NumPy's."""
    if "error" in numpys:
        return RIGHT if ours.get("error", "").split(":")[0] == numpys["error"].split(":")[0] else WRONG
    if "error" in ours:
        return TOLD if any(c in ours["error"] for c in _CONVERSIONS) else RAISES
    return RIGHT if same(ours["value"], numpys["value"]) else WRONG


def run(name: str) -> list[Line]:
    """Run a library's lines in all ways."""
    found = {way: results(name, way) for way in WAYS}
    lines = []
    for code, numpys, *ours in zip(LIBRARIES[name].lines, *found.values(), strict=True):
        outcomes = [judge(o, numpys) for o in ours]
        said = next((o["error"] for o in ours if "error" in o), "")
        if WRONG in outcomes:
            said = f"{ours[outcomes.index(WRONG)]}, not {numpys}"
        warned = [w for o in ours for w in o["warned"]]
        lines.append(Line(code, dict(zip([*WAYS][1:], outcomes, strict=True)), said, warned))
    return lines


def is_fair(line: Line) -> bool:
    """Say whether a line is right everywhere, or says what to write; for `INSTEAD`, the page does."""
    allowed = {RIGHT, TOLD, RAISES} if line.code in INSTEAD else {RIGHT, TOLD}
    return {*line.outcomes.values()} <= allowed


def _version(name: str) -> str:
    package = LIBRARIES[name].packages[0]
    try:
        return version(_PACKAGES.get(package, package))
    except PackageNotFoundError:
        return "{}.{}".format(*sys.version_info)


def table(found: dict[str, list[Line]]) -> str:
    """Return the tables: how many lines of each library are right, and the others."""
    out = ["| library | lines | right: `import nabla_array as np` | right: `run` |", "|---|---|---|---|"]
    for name, lines in found.items():
        right = [sum(line.outcomes[way] == RIGHT for line in lines) for way in ("import", "run")]
        out.append(f"| {name} {_version(name)} | {len(lines)} | {right[0]} | {right[1]} |")
    out += ["", "| line | import | run | what it says |", "|---|---|---|---|"]
    for lines in found.values():
        for line in lines:
            if {*line.outcomes.values()} != {RIGHT}:
                code, said = (t.replace("|", "\\|").replace("\n", " ") for t in (line.code, line.said))
                instead = f"; write `{INSTEAD[line.code]}`" if line.code in INSTEAD else ""
                outcomes = f"{line.outcomes['import']} | {line.outcomes['run']}"
                out.append(f"| `{code}` | {outcomes} | {said[:160]}{instead} |")
    return "\n".join(out) + "\n"


def write(text: str) -> None:
    """Put the tables into their page."""
    page = _PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    _PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main(argv: Iterable[str]) -> int:
    """Run the lines; returns 1 where one is wrong, or raises without a line to write in its place."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks borders", description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(LIBRARIES), metavar="LIBRARY", choices=[*LIBRARIES])
    parser.add_argument("--write", action="store_true", help=f"put the tables into {_PAGE.name}")
    args = parser.parse_args(list(argv))
    found = {}
    for name in args.only:
        absent = missing(name)
        if absent:
            print(f"{name}: not installed: {', '.join(absent)}")
            continue
        found[name] = run(name)
        for line in found[name]:
            if {*line.outcomes.values()} != {RIGHT} or line.warned:
                told = ", ".join(f"{way}: {o}" for way, o in line.outcomes.items())
                print(
                    f"{name}: {line.code}\n    {told} {line.said[:300]} {' '.join(line.warned)[:300]}",
                    flush=True,
                )
    print(table(found))
    if args.write:
        write(table(found))
    return int(not all(is_fair(line) for lines in found.values() for line in lines))
