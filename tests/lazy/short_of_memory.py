"""Random programs whose allocations fail at random moments.

``python -m tests.lazy.short_of_memory SEED HITS``: until so many operations have failed. Each array then has
the value from before the operation or that from after it, or is pending and comes to one of them.
"""

from __future__ import annotations

import random
import resource
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import nabla_array as xp

try:
    from _testcapi import remove_mem_hooks, set_nomemory
except ImportError:  # not every Python has it
    set_nomemory = None

State = dict[str, Any]


def record(m: Any, s: State) -> None:
    s["y"] = m.sqrt(s["x"] * s["x"] + 1.0) * 2.0 - s["x"]
    s["z"] = s["y"] + s["x"]


def evaluate(m: Any, s: State) -> None:
    if m is xp:
        xp.eval(s["y"], s["z"])


def chain(m: Any, s: State) -> None:
    y = s["x"]
    for k in range(30):
        y = y * 0.5 + k
    s["y"] = y


def add_in_place(m: Any, s: State) -> None:
    s["x"] += 1.0


def scale_a_view(m: Any, s: State) -> None:
    view = s["x"][5:]
    view *= 1.5


def write_a_number(m: Any, s: State) -> None:
    s["x"][3:9] = 7.0


def write_a_part(m: Any, s: State) -> None:
    s["x"][1::2] = s["x"][::2] * 2.0


def write_at_places(m: Any, s: State) -> None:
    s["x"][m.asarray([1, 4, 2])] = 5.0


def write_where(m: Any, s: State) -> None:
    s["x"][s["x"] > 1.0] = 0.25


def write_out(m: Any, s: State) -> None:
    m.multiply(s["x"], 0.5, out=s["x"])


def reduce(m: Any, s: State) -> None:
    s["r"] = m.sum(s["y"] * s["x"]) + m.max(s["z"])


def transpose(m: Any, s: State) -> None:
    s["r"] = m.sum(m.reshape(s["x"] * 1.0, (2, -1)).T, axis=0)


def sort(m: Any, s: State) -> None:
    s["y"] = m.sort(s["z"])


def multiply(m: Any, s: State) -> None:
    n = int(len(s["x"]) ** 0.5)
    a = m.reshape(s["x"] + 0.0, (n, n))
    s["z"] = m.reshape(a @ a / n, (-1,)) * 1.0


STEPS: list[Callable[[Any, State], None]] = [
    *(record, evaluate, chain, add_in_place, scale_a_view, write_a_number, write_a_part, write_at_places),
    *(write_where, write_out, reduce, transpose, sort, multiply),
]
SIZES = [16, 900, 96**2, 548**2]


def without_memory(rng: random.Random, is_large: bool, work: Callable[[], None]) -> bool:
    """Do some work in which an allocation fails, or more; returns whether that was told."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        if set_nomemory is not None and not (is_large and rng.random() < 0.5):
            at = int(10 ** rng.uniform(0, 3))
            set_nomemory(at, at + 1)  # after two, Python itself follows null pointers, as NumPy may after one
        else:
            with open("/proc/self/statm") as file:
                used = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + rng.randrange(1 << 23), before[1]))
        work()
    except MemoryError:
        return True
    except (RuntimeError, SystemError):  # as of Python's `compile`, and of its locks
        return True
    finally:
        if set_nomemory is not None:
            remove_mem_hooks()
        resource.setrlimit(resource.RLIMIT_AS, before)
    return False


def is_same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-9)


def check(seed: int, wanted: int) -> None:
    """Run programs until so many operations have failed."""
    rng, hits = random.Random(seed), 0
    while hits < wanted:
        n = rng.choice(SIZES)
        x = np.random.default_rng(rng.randrange(1 << 30)).random(n)
        mine: State = {"x": xp.asarray(x), "y": xp.zeros(n), "z": xp.ones(n), "r": xp.asarray(0.0)}
        right: State = {"x": x, "y": np.zeros(n), "z": np.ones(n), "r": np.asarray(0.0)}
        done = []
        for step in rng.choices(STEPS, k=6):
            done.append(step.__name__)
            after, named = {k: v.copy() for k, v in right.items()}, dict(mine)
            step(np, after)
            if not without_memory(rng, n == SIZES[-1], lambda step=step, mine=mine: step(xp, mine)):  # type: ignore[misc]
                right = after
                continue
            hits += 1
            for k, x in named.items():
                got, made = np.asarray(x), np.asarray(mine[k])
                written = k == "x"  # the others have been given another array, or not
                good = is_same(got, right[k]) or (written and is_same(got, after[k]))
                if not (good and (mine[k] is x or is_same(made, after[k]))):
                    sys.exit(f"seed {seed}: {k} is wrong after {done} on {n} elements")
                right[k] = made.copy()
    print(f"{hits} operations failed")


if __name__ == "__main__":
    check(int(sys.argv[1]), int(sys.argv[2]))
