"""Functions of one number whose values leave the graph in many ways (pytest rewrites no `assert` here)."""

from __future__ import annotations

import array
import cmath
import ctypes
import fractions
import functools
import io
import itertools
import json
import logging
import math
import operator
import pickle
import statistics
import struct
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, optimize

import nabla_array as xp
from nabla_array import transforms as T

# -- what leaves as a number, and comes back -----------------------------------------------------------------

Function = Callable[[Any], Any]
LOSES: dict[str, Function] = {}
_stored: dict[str, Any] = {}
_logger = logging.getLogger(__name__)


def loses(f: Function) -> Function:
    LOSES[f.__name__] = f
    return f


for name, take in {
    "float": float,
    "complex": lambda x: complex(x).real,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "numpy.float64": np.float64,
    "hex": lambda x: float.fromhex(x.hex()),
    "as_integer_ratio": lambda x: operator.truediv(*x.as_integer_ratio()),
    "Fraction": lambda x: float(fractions.Fraction(x)),
    "math.sin": math.sin,
    "math.hypot": lambda x: math.hypot(x, 1),
    "cmath.exp": lambda x: cmath.exp(x).real,
    "math.fsum": lambda x: math.fsum([x, 2 * x]),
    "statistics.mean": lambda x: statistics.mean([x, 2 * x]),
    "struct": lambda x: struct.unpack("d", struct.pack("d", x))[0],
    "c_double": lambda x: ctypes.c_double(x).value,
    "json": lambda x: json.loads(json.dumps(x.tolist())),
    "numpy.fromiter": lambda x: np.fromiter([x, x], float).sum(),
    "objects": lambda x: np.frompyfunc(lambda _: x, 1, 1)(np.zeros(1)).astype(float)[0],
    "reduce": lambda x: functools.reduce(lambda a, b: a + float(b), [x, x], 0.0),
    "generator": lambda x: sum(float(v) for v in [x, x]),
    "comprehension": lambda x: xp.asarray([float(v) for v in [x, x]])[0],
    "dictionary": lambda x: {"a": float(x)}["a"],
    "map": lambda x: next(iter(map(float, [x]))),
    "map to a list": lambda x: [*map(float, [x, x])][1],
    "unpacked": lambda x: next(a for (a,) in [map(float, [x])]),
    "chain": lambda x: next(itertools.chain(map(float, [x]))),
    "default": lambda x: (lambda v, s=float(x): s)(x),
    "conditional": lambda x: float(x) if x > 0 else x,
    "or": lambda x: float(x) or 1.0,
    "where": lambda x: xp.where(x > 0, float(x), 0.0),
    "sorted": lambda x: sorted([float(x), 9.0])[0],
    "round to digits": lambda x: round(float(x), 3),
    # As they are where they were imported before the transforms.
    "quad of its function": lambda x: integrate.quad.__wrapped__(lambda t: x * t, 0, 1)[0],
    "quad of its limit": lambda x: integrate.quad.__wrapped__(lambda t: t, 0, x)[0],
    "quad of its arguments": lambda x: integrate.quad.__wrapped__(lambda t, a: a * t, 0, 1, args=(x,))[0],
    "brentq": lambda x: optimize.brentq.__wrapped__(lambda t: t**3 - x, 0, 5),
}.items():
    LOSES[name] = lambda x, take=take: take(x) * x


@loses
def assigned_to_numpys(x: Any) -> Any:
    b = np.zeros(2)
    b[0] = x
    return b.sum() * x


@loses
def assigned_to_numpys_flat(x: Any) -> Any:
    b = np.zeros(2)
    b.flat[0] = x
    return b.sum() * x


@loses
def numpys_filled(x: Any) -> Any:
    b = np.zeros(2)
    b.fill(x)
    return b.sum() * x


@loses
def numpys_added_to(x: Any) -> Any:
    b = np.zeros(2)
    b[0] += x
    return b.sum() * x


@loses
def put_into_pythons_array(x: Any) -> Any:
    a = array.array("d", [0.0])
    a[0] = x
    return a[0] * x


@loses
def appended_to_pythons_array(x: Any) -> Any:
    a = array.array("d")
    a.append(x)
    return a[0] * x


@loses
def packed_into_memory(x: Any) -> Any:
    memory = bytearray(8)
    struct.pack_into("d", memory, 0, x)
    return struct.unpack("d", memory)[0] * x


@loses
def set_as_attribute(x: Any) -> Any:
    c = ctypes.c_double()
    c.value = x
    return c.value * x


@loses
def stored_as_attribute(x: Any) -> Any:
    stored_as_attribute.kept = float(x)  # type: ignore[attr-defined]
    return stored_as_attribute.kept * x  # type: ignore[attr-defined]


@loses
def stored_globally(x: Any) -> Any:
    _stored["x"] = float(x)
    return _stored["x"] * x


@loses
def listed(x: Any) -> Any:
    some: list[float] = []
    some.append(float(x))
    return some[0] * x


@loses
def captured(x: Any) -> Any:
    s = float(x)
    return (lambda v: v * s)(x)


@loses
def given_by_a_helper(x: Any) -> Any:
    def largest(v: Any) -> float:
        return float(v)

    return largest(x) * x


@loses
def given_in_a_tuple(x: Any) -> Any:
    def both(v: Any) -> tuple[float, int]:
        return float(v), 1

    a, _ = both(x)
    return a * x


@loses
def summed_in_a_loop(x: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total += float(x) * 2
    return total * x


@loses
def decided_and_used(x: Any) -> Any:
    size = float(x)
    if size > 1:
        return x * size
    return x


@loses
def used_after_an_exception(x: Any) -> Any:
    size = 0.0
    try:
        size = float(x)
        raise KeyError
    except KeyError:
        return x * size


@loses
def through_a_library(x: Any) -> Any:
    return T.vmap(lambda a: float(a))(xp.stack([x, x]))[0] * x


# -- what only decides ---------------------------------------------------------------------------------------

DECIDES: dict[str, Function] = {
    "comparison": lambda x: x * x if float(x) > 1 else x,
    "chained": lambda x: x * x if 0 < float(x) < 10 else x,
    "truth": lambda x: x * x if float(x) else x,
    "not": lambda x: x if not float(x) else x * x,
    "and": lambda x: x * x if float(x) > 1 and x.item() < 9 else x,
    "arithmetic": lambda x: x * x if abs(float(x) - 1) / 2 < 1e3 else x,
    "math": lambda x: x * x if math.isfinite(float(x)) and math.sqrt(float(x)) > 0 else x,
    "math at once": lambda x: x * x if math.isfinite(x) else x,
    "numpy": lambda x: x * x if np.isfinite(float(x)) and np.isclose(float(x), float(x)) else x,
    "max": lambda x: x * x if max(float(x), 1.0) > 0 else x,
    "int": lambda x: x * int(float(x) * 0 + 2) / 2 * x,
    "whole": lambda x: x * x * (int(x) > 0),
    "rounded": lambda x: x * x if round(x) > 0 else x,
    "range": lambda x: sum(x * x for _ in range(int(x + 0.5))) / 2,
    "index": lambda x: xp.stack([x, x, x * x])[x.astype(int)],
    "hash": lambda x: {hash(x): x * x}[hash(x)],
    "contained": lambda x: x * x if float(x) not in (7.0, 8.0) else x,
    "list": lambda x: x * x if (xp.stack([x, x]).tolist() > [0.0]) else x,
    "text": lambda x: x * x if f"{x:.3f} {float(x):.3f}" else x,
    "formatted": lambda x: x * x if "%.3f" % float(x) and "%.3f" % x else x,  # noqa: UP031
    "method of a text": lambda x: x * x if "{}".format(float(x)) else x,  # noqa: UP032
    "is_integer": lambda x: x * x if x.is_integer() or float(x).is_integer() else x,
    "stopped": lambda x: x * x + 0 * float(T.stop_gradient(x)),
    "comparing function": lambda x: x * x if operator.gt(float(x), 0) else x,
    "length": lambda x: x * x if len(xp.stack([x, x]).tolist()) == 2 else x,
}


def decides(f: Function) -> Function:
    DECIDES[f.__name__] = f
    return f


@decides
def printed(x: Any) -> Any:
    print("value", float(x), x, x.item())
    return x * x


@decides
def logged(x: Any) -> Any:
    _logger.debug("value %s", float(x))
    logging.debug("value %s", float(x))
    return x * x


@decides
def raised_and_caught(x: Any) -> Any:
    try:
        raise ValueError(f"too large: {float(x)}", float(x))
    except ValueError:
        return x * x


@decides
def tried(x: Any) -> Any:
    try:
        float(x)
    except TypeError:
        return x
    return x * x


@decides
def until_small(x: Any) -> Any:
    y = x * 1.0
    error = float(y - x) + 1
    count = 0
    while error > 1e-6 and count < 40:
        y = 0.5 * (y + x * x / y)
        error = abs(float(y * y - x * x))
        count += 1
    return y * y


@decides
def until_small_forever(x: Any) -> Any:
    y = x
    while True:
        step = float(abs(y - x))
        if step < 1e-9:
            break
        y = y - 0.1
    return y * y


@decides
def norm_of_a_helper(x: Any) -> Any:
    def size(v: Any) -> float:
        return float(v)

    def is_small(v: Any) -> bool:
        return size(v) < 1e-9

    return x if is_small(x) else x * x


@decides
def one_of_a_pair(x: Any) -> Any:
    def step(v: Any) -> tuple[Any, float]:
        return v * v, float(v)

    y, error = step(x)
    assert error > 0, error
    return y


@decides
def in_every_loop(x: Any) -> Any:
    some = [x, x]
    with warnings.catch_warnings():
        for k, v in enumerate(some):
            if v.item() < -k:
                return x
        while float(x) < 0:
            pass
    return x * x


@decides
def asserted(x: Any) -> Any:
    assert float(x) > 0, f"not {float(x)}"
    low, high = float(x) - 1, float(x) + 1
    if not low < high:
        raise ValueError((low, high))
    return x * x


@decides
def dropped(x: Any) -> Any:
    unused = float(x)
    del unused
    return x * x


# -- what leaves as an array, or as bits ---------------------------------------------------------------------


def saved(x: Any) -> Any:
    file = io.BytesIO()
    np.save(file, x)
    file.seek(0)
    return np.load(file)


REFUSED: dict[str, Function] = {
    "numpy.asarray": np.asarray,
    "numpy.array of a list": lambda x: np.array([x, x])[0],
    "numpy.float32": np.float32,
    "numpy.full": lambda x: np.full(3, x)[0],
    "rows of NumPy's": lambda x: np.zeros((2, 2)).__setitem__(0, x),
    "all of NumPy's": lambda x: np.zeros(2).__setitem__(slice(None), x),
    "numpy.put": lambda x: np.put(np.zeros(2), 0, x),
    "numpy.copyto": lambda x: np.copyto(np.zeros(2), x),
    "numpy.add.at": lambda x: np.add.at(np.zeros(2), [0], x),
    "out=": lambda x: np.multiply(x, 2, out=np.zeros(())),
    "numpy.poly1d": lambda x: np.poly1d([x, 1.0])(2.0),
    "a mask of NumPy's": lambda x: np.ma.array([x, 1.0])[0],
    "numpy.vectorize": lambda x: np.vectorize(lambda v: v * x)(np.ones(2)).sum(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "tobytes": lambda x: np.frombuffer(x.tobytes())[0],
    "bytes": lambda x: np.frombuffer(bytes(x))[0],
    "buffer": lambda x: np.frombuffer(memoryview(x.data))[0],
    "a file": lambda x: io.BytesIO().write(x),
    "saved": saved,
    "DLPack": np.from_dlpack,
    "ctypes": lambda x: x.ctypes.data,
    "random numbers": lambda x: xp.random.default_rng(0).normal(x),
    "minimize_scalar": lambda x: optimize.minimize_scalar.__wrapped__(lambda t: (t - x) ** 2).x,
    "integers of the same bits": lambda x: x.view(np.int64).view(np.float64),
    "bytes of an element": lambda x: xp.reshape(x, (1,)).view(np.uint8).view(np.float64)[0],
    "halves": lambda x: xp.reshape(x, (1,)).view(np.float32).view(np.float64)[0],
    "a field": lambda x: x.getfield(np.int32, 4),
    "bytes swapped": lambda x: x.byteswap().byteswap(),
    "another dtype": lambda x: setattr(x, "dtype", "int64"),
}
