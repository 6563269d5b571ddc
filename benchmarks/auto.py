"""A program's first minute, from an empty cache: `auto`, which compiles meanwhile, against `host`."""

from __future__ import annotations

import argparse
import json
from itertools import accumulate
from time import perf_counter
from typing import Any

import nabla_array
from nabla_array._lazy.max import trials

from .fresh import child, empty_cache
from .fused import Case, cases, mixed_cases
from .measure import OURS, Claim, Row

_HOST = "host"
# Seconds of calls; running totals are compared once they are larger than noise.
SECONDS, _FROM = 60.0, 3.0
# Letters that leave room for the figures beside them.
_WIDTH = 60


def _everything(quick: bool) -> list[Case]:
    both = [case for dtype in ("float64", "float32") for case in cases(quick, dtype)]
    return [*both, *mixed_cases(quick)]


def _loop(rounds: int, seconds: float, quick: bool) -> dict[str, Any]:
    """Call all cases in turn, so many rounds or for so long; returns seconds a round, and what moved when."""
    every = [(f, [nabla_array.asarray(a, copy=False) for a in args]) for _, f, args in _everything(quick)]
    found: list[float] = []
    moved: dict[str, float] = {}
    while len(found) < rounds or sum(found) < seconds:
        start = perf_counter()
        for function, args in every:
            nabla_array.eval(function(nabla_array, *args))
        found.append(perf_counter() - start)
        for k in trials.kernels():
            if any(k.faster.values()):
                moved.setdefault(k.key, sum(found))
    for k in trials.kernels():
        if k.pending is not None:  # so that nobody still compiles beside whom we measure next
            k.pending.wait()
    return {"rounds": found, "regions": [(k.title(), k.status(), moved.get(k.key)) for k in trials.kernels()]}


def run(quick: bool, seconds: float = SECONDS) -> list[Row]:
    """Measure everything here; `quick` only tries whether it works."""
    options = ["--quick"] if quick else []

    def loop(mode: str, *length: object) -> dict[str, Any]:
        with empty_cache() as cache:
            return child("benchmarks.auto", *length, *options, cache=cache, mode=mode)

    # The host's run before says how much work a minute is; that after it takes out what drifts.
    before = loop("host", "--seconds", 0.1 if quick else seconds)["rounds"]
    ours = loop("auto", "--rounds", len(before))
    after = loop("host", "--rounds", len(before))["rounds"]
    host = [(a + b) / 2 for a, b in zip(before, after, strict=True)]
    totals = list(zip(accumulate(ours["rounds"]), accumulate(host), strict=True))
    later = [t for t in totals if t[1] >= _FROM] or totals
    worst = max(later, key=lambda t: t[0] / t[1])
    claim = (Claim(_HOST, 1.05),)
    rows = [
        Row(f"{len(totals)} rounds over all cases", dict(zip((OURS, _HOST), totals[-1], strict=True)), claim),
        Row("worst moment: totals until then", dict(zip((OURS, _HOST), worst, strict=True)), claim),
        Row("last round", {OURS: ours["rounds"][-1], _HOST: host[-1]}),
    ]
    for title, where, moved in sorted(ours["regions"], key=lambda region: region[2] or seconds):
        rows.append(Row(f"{title}: {where}"[:_WIDTH], {} if moved is None else {OURS: moved}))
    return rows


def main() -> None:
    """Run the loop in the mode of the environment."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.0, help="rounds for so long, at least")
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    args = parser.parse_args()
    print(json.dumps(_loop(args.rounds, args.seconds, args.quick)))


if __name__ == "__main__":
    main()
