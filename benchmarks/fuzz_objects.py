"""Odd objects as arguments: `python -m benchmarks fuzz-objects --calls N --seed S`.

Their methods (`__index__`, `__array__`, `__float__`, ...) raise, set an array's dtype or shape, write to it,
resize it, or let go of it, while the call that asks them is under way; so do finalizers that collections run.
Nothing may crash, hang, or leave an array whose shape, dtype and elements disagree. Calls run in processes of
their own, some at a time.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import operator
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from inspect import unwrap
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

import nabla_array as xp
from nabla_array import transforms as t
from nabla_array._lazy.graph.node import tapes

from .odd_objects import World

# Calls of one world, worlds of one process, seconds that a world may take on a busy machine.
_CALLS, _WORLDS, _SECONDS = 20, 100, 20
# What touches files, settings or the terminal, or is no function of arrays; grids of bins, which may be huge.
_LEFT_OUT = frozenset(
    [
        *(
            "save",
            "savez",
            "savez_compressed",
            "savetxt",
            "load",
            "loadtxt",
            "genfromtxt",
            "fromfile",
            "fromregex",
        ),
        *(
            "memmap",
            "tofile",
            "dump",
            "test",
            "config",
            "seterr",
            "seterrcall",
            "setbufsize",
            "set_printoptions",
        ),
        *("histogramdd", "histogram2d"),
        *("errstate", "printoptions", "import_module", "info", "show_config", "show_runtime", "report"),
    ]
)
Call = Callable[[World], Any]


@cache
def _functions() -> tuple[Any, ...]:
    """Return the namespace's own functions and ufuncs."""
    found = [getattr(xp, n) for n in xp.__all__ if not n.startswith("_") and n not in _LEFT_OUT]
    return tuple(f for f in found if not isinstance(f, type) and callable(f) and _is_ours(f))


def _is_ours(f: Any) -> bool:
    return str(getattr(unwrap(f), "__module__", "")).startswith("nabla_array") or hasattr(f, "reduce")


@cache
def _methods() -> tuple[str, ...]:
    names = [n for n in dir(xp.Array) if callable(getattr(xp.Array, n)) and n not in _LEFT_OUT]
    special = ["array", "array_ufunc", "array_wrap", "contains", "copy", "deepcopy", "dlpack", "format"]
    special += ["getitem", "iter", "len", "reduce", "round", "setitem"]
    return (*[n for n in names if not n.startswith("_")], *[f"__{n}__" for n in special])


_BINARY = (
    *(
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.floordiv,
        operator.mod,
        operator.pow,
    ),
    *(operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, divmod),
)
_IN_PLACE = (
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod),
    *(operator.ipow, operator.iand, operator.ior, operator.ixor, operator.imatmul),
)


def _arguments(w: World, most: int) -> list[Any]:
    """Return some arguments, an array among them most often."""
    given = [
        w.pick(w.argument, w.operand)()
        for _ in range(min(w.random.randint(0, most), w.random.randint(0, most)))
    ]
    return given if w.one_in(8) else [w.array(), *given]


def _keywords(w: World) -> dict[str, Any]:
    names = [
        n for n in ("out", "axis", "dtype", "where", "shape", "keepdims", "initial", "order") if w.one_in(16)
    ]
    return {n: w.array() if n == "out" and not w.one_in(4) else w.argument() for n in names}


def _operator(w: World) -> Any:
    x, y = w.array(), w.operand()
    f = w.random.choice(_BINARY)
    return f(x, y) if w.one_in(2) else f(y, x)


def _in_place(w: World) -> Any:
    return w.random.choice(_IN_PLACE)(w.array(), w.operand())


def _getitem(w: World) -> Any:
    return w.array()[w.key()]


def _setitem(w: World) -> Any:
    w.array()[w.key()] = w.operand()


def _add_to_item(w: World) -> Any:
    w.array()[w.key()] += w.operand()


def _function(w: World) -> Any:
    return w.random.choice(_functions())(*_arguments(w, 3), **_keywords(w))


def _method(w: World) -> Any:
    return getattr(w.array(), w.random.choice(_methods()))(*_arguments(w, 2)[1:], **_keywords(w))


def _attribute(w: World) -> Any:
    setattr(w.array(), w.pick("dtype", "shape", "real", "imag", "flat"), w.argument())


def _ufunc_method(w: World) -> Any:
    f = w.pick(xp.add, xp.multiply, xp.maximum, xp.subtract, xp.logical_and)
    return getattr(f, w.pick("reduce", "accumulate", "outer", "at", "reduceat"))(
        *_arguments(w, 3), **_keywords(w)
    )


def _numpys(w: World) -> Any:
    f = w.pick(
        np.add, np.multiply, np.sin, np.concatenate, np.where, np.sum, np.asarray, np.stack, np.take, np.dot
    )
    return f(*_arguments(w, 2), **_keywords(w))


def _scalar(w: World) -> Any:
    return w.pick(bool, int, float, complex, operator.index, len, str, list, hash)(w.array())


def _empty(w: World) -> Any:
    """Use an array that nothing was put into."""
    w.arrays.append(xp.Array.__new__(xp.Array))
    try:
        return w.random.choice(_PLAIN)(w)
    finally:
        w.arrays = [x for x in w.arrays if hasattr(x, "_view")]


def _transformed(w: World) -> Any:
    """Do something to what a transform made of an array."""
    x = w.array()
    call = w.random.choice(_PLAIN)

    def function(y: Any) -> Any:
        w.arrays.append(y)
        try:
            found = call(w)
        finally:
            w.arrays = [z for z in w.arrays if z is not y]
        return xp.sum(found) if w.one_in(2) else y * 2

    wrap = w.pick(
        t.vmap, t.grad, t.compile, lambda f: lambda z: t.jvp(f, (z,), (z,)), lambda f: t.vmap(t.grad(f))
    )
    before = [*w.arrays]
    try:
        return wrap(function)(x)
    finally:  # what was made of the transform's arrays is not for later
        w.arrays = before


_PLAIN: tuple[Call, ...] = (
    *(
        _operator,
        _operator,
        _in_place,
        _getitem,
        _getitem,
        _setitem,
        _setitem,
        _add_to_item,
        _function,
        _function,
    ),
    *(_function, _method, _method, _attribute, _ufunc_method, _numpys, _scalar),
)
_EVERYTHING: tuple[Call, ...] = (*_PLAIN, *_PLAIN, *_PLAIN, _transformed, _transformed, _transformed, _empty)


def check(x: Any) -> None:
    """Raise AssertionError unless all that an array says of itself agrees, or it says why it has no value."""
    shape, dtype = x.shape, x.dtype
    try:
        value = np.asarray(x)
    except (ValueError, IndexError):  # of a pending operation, which says so whenever it is looked at
        assert x._node.value is None
        return
    for what, y in {"the array": x, "x[...]": x[...], "a copy": x.copy()}.items():
        if (y.shape, y.dtype) != (shape, dtype) or (y.ndim, y.size) != (value.ndim, value.size):
            raise AssertionError(f"{what} is {y.dtype}{y.shape}, the array {dtype}{shape}")
        seen = np.asarray(y)
        if (seen.shape, seen.dtype) != (shape, dtype):
            raise AssertionError(
                f"elements of {what} are {seen.dtype}{seen.shape}, the array is {dtype}{shape}"
            )
        if seen.tobytes() != value.tobytes():
            raise AssertionError(f"elements of {what} differ: {seen} for {value}")
    if x.base is not None:
        check(x.base)


def run_world(seed: int, calls: int = _CALLS) -> Counter[str]:
    """Make arrays and calls of a seed; returns how many of each; raises where something is wrong then."""
    w = World(seed)
    done: Counter[str] = Counter()
    held: list[Any] = []
    before = gc.get_threshold()
    for _ in range(calls):
        call = w.random.choice(_EVERYTHING)
        done[call.__name__] += 1
        held = [*w.arrays] if w.one_in(2) and call is not _transformed else []
        if w.one_in(2):
            w.bomb()
            gc.set_threshold(w.random.randint(1, 40), 1000, 1000)
        try:
            found = call(w)
            if (
                type(found) is xp.Array
                and found.size < 50_000
                and hasattr(found, "_view")
                and not found._levels
            ):
                w.arrays.append(found)
        except SystemError:
            raise
        except (Exception, KeyboardInterrupt):
            done["raised"] += 1
        finally:
            gc.set_threshold(*before)
        gc.disable()  # what is checked does not change
        for x in {id(y): y for y in [*w.arrays, *held]}.values():
            check(x)
        gc.enable()
        if tapes:
            raise AssertionError(f"{call.__name__}: a tape is left running")
        del w.arrays[:-8]
    return done


def _run_here(seed: int, worlds: int, place: Path) -> int:
    """Run worlds in this process, each seed written down before; returns 1 at the first that is wrong."""
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    done: Counter[str] = Counter()
    with np.errstate(all="ignore"):
        for number in range(seed, seed + worlds):
            place.write_text(str(number))
            faulthandler.dump_traceback_later(_SECONDS, exit=True)
            done += run_world(number)
    faulthandler.cancel_dump_traceback_later()
    print(*[f"{name}={n}" for name, n in done.items()])
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run random calls with odd objects; returns 1 if one crashes, hangs, or leaves a wrong array."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz-objects", description=__doc__)
    parser.add_argument("--calls", type=int, default=4000, help=f"how many, {_CALLS} of each seed")
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--here", metavar="FILE", help="in this process; each seed is written to a file")
    args = parser.parse_args(argv)
    seed, end = args.seed, args.seed + -(-args.calls // _CALLS)
    if args.here:
        faulthandler.enable()
        return _run_here(seed, end - seed, Path(args.here))
    console = Console()
    start, done, failures = perf_counter(), Counter[str](), 0
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress, tempfile.TemporaryDirectory() as folder:
        bar = progress.add_task("seeds", total=end - seed)
        place = Path(folder) / "seed"
        while seed < end:
            worlds = min(_WORLDS, end - seed)
            command = [sys.executable, "-m", "benchmarks", "fuzz-objects", "--here", str(place)]
            command += ["--seed", str(seed), "--calls", str(worlds * _CALLS)]
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode == 0:
                done += Counter({n: int(k) for n, k in (i.split("=") for i in ran.stdout.split())})
                seed += worlds
            else:  # go on with the next
                failures += 1
                failing = int(place.read_text())
                console.rule(f"python -m benchmarks fuzz-objects --calls {_CALLS} --seed {failing}")
                console.print(f"status {ran.returncode}\n{ran.stderr[-3000:]}", markup=False)
                seed = failing + 1
            progress.update(bar, completed=seed - args.seed)
    console.print(
        f"{args.calls} calls in {perf_counter() - start:.0f} s; {failures} seeds crash or are wrong"
    )
    console.print(", ".join(f"{name.strip('_')} {n}" for name, n in done.most_common()))
    return 1 if failures else 0
