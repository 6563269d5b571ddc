"""Calls of libraries in forked processes: `python -m benchmarks.libraries_calls CONTESTANT SIZE CALLS`.

A process imports everything, what first uses import included, calls nothing, and forks for each case that a
line of the input numbers: first calls meet a process that has computed nothing before. The environment is to
have ``SCIPY_ARRAY_API=1``.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
import sklearn

from .contestants import Contestant, contestants, import_late
from .libraries_cases import Case, scipy_cases
from .libraries_learn import learn_cases

# Seconds after which no further call is made, and for which short calls are repeated, since single ones vary.
_ENOUGH, _AT_LEAST = 1.5, 0.05
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


def _timed(c: Contestant, case: Case, n: int, calls: int) -> dict[str, Any]:
    given = [c.asarray(a) for a in case.make(np.random.default_rng(0), n)]
    c.evaluate(given)
    seconds: list[float] = []
    found: Any = None
    with sklearn.config_context(array_api_dispatch=True):
        while sum(seconds) < (_ENOUGH if len(seconds) < calls else _AT_LEAST if calls > 1 else 0.0):
            found = None
            start = perf_counter()
            found = case.call(*given)
            for x in _arrays(found):
                c.evaluate(x)
            seconds.append(perf_counter() - start)
    return {"seconds": seconds, "found": _sample(found)}


def _answer(c: Contestant, case: Case, n: int, calls: int) -> str:
    warnings.simplefilter("ignore")
    try:
        return json.dumps(_timed(c, case, n, calls))
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
        case = cases[int(line)]
        n = case.size(size)
        assert n is not None
        child = os.fork()
        if child == 0:
            print(_answer(c, case, n, int(calls)), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"error": f"the process ended with status {status}"}), flush=True)


if __name__ == "__main__":
    main()
