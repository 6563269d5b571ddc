"""Calls of libraries in forked processes: `python -m benchmarks.libraries_calls CONTESTANT SIZE CALLS`.

A process imports everything, what first uses import included, calls nothing, and forks for each case that a
line of the input numbers: first calls meet a process that has computed nothing before. The environment is to
have ``SCIPY_ARRAY_API=1``. In `auto` mode a case is first called until a tier is chosen for all of it. The
word "compile" before numbers has MAX compile these cases together.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np
import sklearn

import nabla_array
from nabla_array._lazy.max import trials
from nabla_array._lazy.run import tiers

from .contestants import Contestant, contestants, import_late
from .libraries_cases import Case, scipy_cases
from .libraries_learn import learn_cases

# Seconds after which no further call is made, and for which short calls are repeated, since single ones vary.
_ENOUGH, _AT_LEAST = 1.5, 0.2
# States of programs for which no tier is chosen yet, and seconds to choose one.
_UNDECIDED = ("too short", "looked for", "compiled after", "being compiled", "to be tried")
_LIMIT = 30
# Elements of a result that are compared.
_COMPARED = 500


def all_cases() -> list[Case]:
    """Return every case; its place in the list is what names it to the processes."""
    return [*scipy_cases(), *learn_cases()]


def _arrays(found: Any) -> Iterator[Any]:
    if isinstance(found, list | tuple):
        for x in found:
            yield from _arrays(x)
    else:
        yield found


def _sample(found: Any) -> list[Any]:
    """Return of each array in a result its shape and some of its elements, as plain data."""
    out = []
    for x in _arrays(found):
        a = np.asarray(x)
        some = a.reshape(-1)[:: max(1, a.size // _COMPARED)]
        parts = [some.real, some.imag] if some.dtype.kind == "c" else [some]
        out.append([list(a.shape), [p.astype(float).tolist() for p in parts]])
    return out


def _prepared(c: Contestant, case: Case, size: str) -> Callable[[], Any]:
    """Return what calls a case, on arrays that are made here, and evaluates all results."""
    n = case.size(size)
    assert n is not None
    given = [c.asarray(a) for a in case.make(np.random.default_rng(0), n)]
    c.evaluate(given)

    def call() -> Any:
        found = case.call(*given)
        for x in _arrays(found):
            c.evaluate(x)
        return found

    return call


def _choose_tiers(call: Callable[[], Any]) -> None:
    """Call until no program of this process is on its way from the host to MAX."""
    end = perf_counter() + _LIMIT
    while perf_counter() < end:
        call()
        if not any(state in k.where for k in nabla_array.report().kernels for state in _UNDECIDED):
            return


def _compile(c: Contestant, cases: list[Case], size: str) -> None:
    """Have MAX compile, together, what it could run of calls of cases; `_answer` tells of errors."""
    warnings.simplefilter("ignore")
    with tiers.gather() as keys, sklearn.config_context(array_api_dispatch=True):
        for case in cases:
            with suppress(Exception), nabla_array.config(mode="auto"):
                _prepared(c, case, size)()
    trials.prepare(keys)


def _timed(c: Contestant, case: Case, size: str, calls: int) -> dict[str, Any]:
    call = _prepared(c, case, size)
    seconds: list[float] = []
    found: Any = None
    with sklearn.config_context(array_api_dispatch=True):
        if c.xp is nabla_array and nabla_array.config.mode == "auto":
            _choose_tiers(call)
        while sum(seconds) < (_ENOUGH if len(seconds) < calls else _AT_LEAST if calls > 1 else 0.0):
            found = None
            start = perf_counter()
            found = call()
            seconds.append(perf_counter() - start)
    return {"seconds": seconds, "found": _sample(found)}


def _answer(c: Contestant, case: Case, size: str, calls: int) -> str:
    warnings.simplefilter("ignore")
    try:
        return json.dumps(_timed(c, case, size, calls))
    except Exception:  # a library that does not take these arrays: told, and left out of the table
        return json.dumps({"error": traceback.format_exc(limit=-3)})


def main() -> None:
    """Answer each number of a case on a line of the input with a line of JSON."""
    name, size, calls = sys.argv[1:]
    (c,) = contestants(name)
    import_late()
    cases = all_cases()
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        is_compiled = line.startswith("compile")
        chosen = [cases[int(number)] for number in line.removeprefix("compile").split()]
        child = os.fork()
        if child == 0:
            if is_compiled:
                _compile(c, chosen, size)
            print("{}" if is_compiled else _answer(c, *chosen, size, int(calls)), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"error": f"the process ended with status {status}"}), flush=True)


if __name__ == "__main__":
    main()
