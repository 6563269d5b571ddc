"""Peak memory of large expressions, each in a fresh process."""

from __future__ import annotations

import importlib
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from .elementwise import chain, choice
from .measure import OURS, Claim, Row

_CASES = {"chain": chain, "where": choice}


def peak() -> float:
    """Return this process's peak resident memory in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # `ru_maxrss` begins with the peak of the process that started this one
        line = next(s for s in status.read_text().split("\n") if s.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _evaluated(xp: Any, case: str, size: int) -> Any:
    """Run a case on arrays that the library makes itself, here and nowhere else held."""
    x = xp.arange(size, dtype=xp.float32)
    y = xp.arange(size, 0, -1, dtype=xp.float32)
    z = _CASES[case](xp, x, y)
    del x, y
    if xp.__name__ == OURS:
        xp.eval(z)
    return z


def _in_fresh_process(module: str, case: str, size: int) -> float:
    command = [sys.executable, "-m", "benchmarks.memory", module, case, str(size)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run(quick: bool) -> list[Row]:
    """Measure everything here; `quick` only tries whether it works."""
    size = 10_000 if quick else 100_000_000
    expressions = {"chain": ("((x+y)*x-y)*(x-y)+x*y", 0.6), "where": ("where(x>y, x*y, x-y)", 1.0)}
    return [
        Row(
            text,
            {module: _in_fresh_process(module, case, size) for module in (OURS, "numpy")},
            (Claim("numpy", at_most),),
            unit="MB",
        )
        for case, (text, at_most) in expressions.items()
    ]


if __name__ == "__main__":
    module, case, size = sys.argv[1:]
    z = _evaluated(importlib.import_module(module), case, int(size))
    print(peak())
