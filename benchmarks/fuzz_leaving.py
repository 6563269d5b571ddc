"""Steps of the fuzz of transforms by which values leave and come back, are captured, or meet NumPy's.

Each is made once for a case, with arrays that it captures, and maps an array of one axis to another of its
length, for NumPy and for us alike. What the library cannot follow it must refuse, or warn of; nothing may be
wrong in silence.
"""

from __future__ import annotations

import concurrent.futures
import copy
import math
import operator
import pickle
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

# What the library raises where it cannot follow.
REFUSALS = (TypeError, ValueError, NotImplementedError, BufferError)

Step = Callable[[Any], Any]
MOST = 4  # as long as any axis


def _numbers(take: Callable[[Any], Any]) -> Callable[[Any, Any], Step]:
    """Return the step that multiplies by a number which `take` gives for an array without axes."""
    return lambda m, dtype: lambda x: x * (take(m.sum(x)) * 0.3 + 1)


def _stored(m: Any, dtype: Any) -> Step:
    kept: list[Any] = []

    def step(x: Any) -> Any:
        kept.append(float(x[0]))
        return x * kept[-1]

    return step


def _attribute(m: Any, dtype: Any) -> Step:
    def step(x: Any) -> Any:
        step.scale = float(m.mean(x))  # type: ignore[attr-defined]
        return x + step.scale  # type: ignore[attr-defined]

    return step


def _decides(m: Any, dtype: Any) -> Step:
    def step(x: Any) -> Any:
        size = float(m.sum(x * x))
        count = 0
        while size > 1.5 and count < 20:
            x = x * 0.6
            size, count = m.sum(x * x).item(), count + 1
        return x * (2.0 if math.isfinite(size) and size < 0.4 else 0.5)

    return step


def _numpys_memory(m: Any, dtype: Any) -> Step:
    def step(x: Any) -> Any:
        b = np.zeros(len(x), dtype)
        b[0] = x[1]
        return x * x + b

    return step


def _numpys_row(m: Any, dtype: Any) -> Step:
    def step(x: Any) -> Any:
        b = np.zeros((2, len(x)), dtype)
        b[1] = x * 2
        return x * b[1]

    return step


def _scratch(own: bool) -> Callable[[Any, Any], Step]:
    """Return a step that overwrites captured memory, ours or NumPy's, and reads it back."""

    def make(m: Any, dtype: Any) -> Step:
        c = (m if own else np).zeros(MOST, dtype=dtype)

        def step(x: Any) -> Any:
            c[: len(x)] = x * 2
            part = c[1 : len(x)]
            part *= 0.5
            return x * c[: len(x)]

        step.captured = c  # type: ignore[attr-defined]
        return step

    return make


def _element(own: bool) -> Callable[[Any, Any], Step]:
    def make(m: Any, dtype: Any) -> Step:
        c = (m if own else np).zeros(MOST, dtype=dtype)

        def step(x: Any) -> Any:
            c[0] = x[0]
            return x + c[0] * x

        step.captured = c  # type: ignore[attr-defined]
        return step

    return make


def _pool(m: Any, dtype: Any) -> Step:
    def step(x: Any) -> Any:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            parts = list(pool.map(lambda k: x * k * x, (1.0, 0.5)))
        return reduce(operator.add, parts)

    return step


WEIGHTS = np.linspace(-1.0, 1.5, MOST)
LEAVING: dict[str, Callable[[Any, Any], Step]] = {
    "float": _numbers(float),
    "complex": _numbers(lambda x: complex(x).real),
    "item": _numbers(lambda x: x.item()),
    "sin of math": _numbers(math.sin),
    "helper": _numbers(lambda x: (lambda v: (float(v), 1))(x)[0]),
    "numpy.float64": _numbers(np.float64),
    "tolist": lambda m, dtype: lambda x: x * m.asarray(x.tolist(), dtype=dtype),
    "sum of floats": lambda m, dtype: lambda x: x * sum(float(v) for v in x),
    "a list of floats": lambda m, dtype: lambda x: x + m.asarray([float(v) for v in x], dtype=dtype) * 0.5,
    "a list": lambda m, dtype: lambda x: x + m.asarray([x[0]] * len(x)) * 0.5,
    "stored": _stored,
    "attribute": _attribute,
    "decides": _decides,
    "numpy.asarray": lambda m, dtype: lambda x: x * np.sin(np.asarray(x)),
    "numpy.array": lambda m, dtype: lambda x: x * np.array([x[0]] * len(x)),
    "pickle": lambda m, dtype: lambda x: x * pickle.loads(pickle.dumps(x)),
    "copies": lambda m, dtype: lambda x: copy.copy(x) * copy.deepcopy(x),
    "bytes": lambda m, dtype: lambda x: x * np.frombuffer(x.tobytes(), dtype),
    "bits": lambda m, dtype: lambda x: x * x.view(np.uint8).view(dtype),
    "NumPy's memory": _numpys_memory,
    "NumPy's row": _numpys_row,
    "NumPy's fill": lambda m, dtype: lambda x: x * _filled(x, dtype),
    "scratch": _scratch(True),
    "NumPy's scratch": _scratch(False),
    "element": _element(True),
    "NumPy's element": _element(False),
    "threads": _pool,
    "NumPy's weights": lambda m, dtype: lambda x: x * WEIGHTS[: len(x)] + np.float64(0.5),
    "NumPy's functions": lambda m, dtype: lambda x: np.add(np.where(x > 0.1, x, x * x), WEIGHTS[: len(x)]),
    "joined with NumPy's": lambda m, dtype: lambda x: np.concatenate([x[1:], WEIGHTS[:1] * x[0]]),
    "NumPy's product": lambda m, dtype: lambda x: np.outer(WEIGHTS[: len(x)], WEIGHTS[: len(x)]) @ x,
    "NumPy's indices": lambda m, dtype: lambda x: x[np.arange(len(x))[::-1]] * x,
    "NumPy's mask": lambda m, dtype: lambda x: x + m.sum(x[WEIGHTS[: len(x)] > -0.5]),
    "a list of both": lambda m, dtype: lambda x: m.stack([x[0], *[np.float64(0.5) * x[1]] * (len(x) - 1)]),
    "out=": lambda m, dtype: lambda x: np.multiply(x, x, out=np.empty(len(x), dtype)),
}


def _filled(x: Any, dtype: Any) -> Any:
    b = np.empty(len(x), dtype)
    b.fill(x[0])
    return b


# -- captured arrays that count ----------------------------------------------------------------------------

# What a function does to an array that it captures, one example at a time.
WRITES: dict[str, Callable[[Any, Any], None]] = {
    "adds": lambda c, x: operator.setitem(c, 0, c[0] + x),
    "adds in place": lambda c, x: _add(c[1:], x),
    "counts": lambda c, x: operator.setitem(c, 1, c[1] + 1),
    "keeps the last": lambda c, x: operator.setitem(c, 2, x),
    "multiplies": lambda c, x: operator.setitem(c, slice(2, None), c[2:] * 0.5 + x),
    "chooses": lambda c, x: operator.setitem(c, 3 if x > 0 else 0, x),
    "indexes": lambda c, x: operator.setitem(c, int(abs(x) * 10) % MOST, c[0] + 1),
    "looks": lambda c, x: operator.setitem(c, 0, float(c[0]) + 2 if x > 0 else c[0]),
    "fills": lambda c, x: c.fill(x),
    "sorts": lambda c, x: c.sort(),
    "writes out": lambda c, x: _add_out(c, x),
}


def _add(part: Any, x: Any) -> None:
    part += x


def _add_out(c: Any, x: Any) -> None:
    np.add(c, x, out=c)


def counting(m: Any, writes: list[str], own: bool) -> tuple[Callable[[Any], Any], Any]:
    """Return a function of a number that writes to an array which it captures, and that array."""
    c = (m if own else np).asarray(np.arange(float(MOST)))

    def f(x: Any) -> Any:
        y = x * 2
        for name in writes:
            WRITES[name](c, x)
        if x > 0.5:
            y = y + 1
        return y

    return f, c


def check_counting(seed: int, vmap: Callable[..., Any], xp: Any) -> tuple[str, str | None]:
    """Run a function that writes to a captured array under nested `vmap`s, and as nested loops.

    Returns how it came out, and what is wrong or None.
    """
    rng = np.random.default_rng(seed)
    writes = [str(w) for w in rng.choice(list(WRITES), int(rng.integers(1, 4)))]
    shape = tuple(int(n) for n in rng.integers(1, 4, int(rng.integers(1, 3))))
    x = rng.choice([-0.7, 0.3, 0.3, 0.9, 1.4], shape)
    own = bool(rng.integers(2))
    told = f"writes {writes} to {'our' if own else 'a NumPy'} array at shape {shape}"
    plain, kept = counting(np, writes, False)
    right = np.reshape([plain(v) for v in x.ravel()], shape)
    f, c = counting(xp, writes, own)
    before = np.asarray(c).copy()
    mapped = reduce(lambda g, _: vmap(g), shape, f)
    try:
        found = np.asarray(mapped(xp.asarray(x)))
        refused = ""
    except REFUSALS as error:
        refused = type(error).__name__
    try:
        state = np.asarray(c)
    except RuntimeError as error:
        return "wrong", f"{told}: left behind: {error}"
    if refused:
        if not own or np.array_equal(state, before):
            return refused, None
        return "wrong", f"{told}: refused, and the array is {state}, no more {before}"
    if not np.allclose(found, right) or not np.allclose(state, kept):
        return "wrong", f"{told}: {found.tolist()} and {state}, not {right.tolist()} and {kept}"
    return "right", None
