"""One program of NPBench, unchanged: `python -m benchmarks.npbench_program FOLDER NAME PRESET TASK`.

NPBench (github.com/spcl/npbench) describes a program by a JSON file: sizes for each preset, a function that
makes its arguments, and a kernel in plain NumPy. Nothing of it is in this repository.
"""

from __future__ import annotations

import argparse
import builtins
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

OURS, NUMPY, JAX = "nabla_array", "numpy", "jax.numpy"
if OURS in sys.argv:  # as a script's user does: before NumPy, and in a process of NumPy's alone not at all
    importlib.import_module(OURS)

import numpy as np  # noqa: E402

# Rounds of warm calls at least, and at most.
_FEWEST, _MOST = 2, 30


def names(folder: Path) -> list[str]:
    """Return the names of NPBench's programs."""
    return sorted(p.stem for p in (folder / "bench_info").glob("*.json"))


def _run_file(path: Path, numpy: str) -> dict[str, Any]:
    """Run a file in which `numpy` means another module; returns its global names."""

    def imported(name: str, names: Any = None, own: Any = None, parts: Any = (), level: int = 0) -> Any:
        # NumPy's own code imports its private modules in the name of whoever calls it.
        if level or name.partition(".")[0] != "numpy" or "._" in name:
            return builtins.__import__(name, names, own, parts, level)
        whole: ModuleType = importlib.import_module(numpy + name.removeprefix("numpy"))
        return whole if parts else importlib.import_module(numpy)

    found = {"__name__": path.stem, "__file__": str(path)}
    found["__builtins__"] = {**vars(builtins), "__import__": imported}  # type: ignore[assignment]
    exec(compile(path.read_text(), path, "exec"), found)
    return found


class Program:
    """A program of NPBench at the sizes of one preset."""

    def __init__(self, folder: Path, name: str, preset: str) -> None:
        self._info = json.loads((folder / "bench_info" / f"{name}.json").read_text())["benchmark"]
        self._folder = folder / "npbench" / "benchmarks" / self._info["relative_path"]
        self._sizes = self._info["parameters"][preset]

    def kernel(self, numpy: str) -> Callable[..., Any]:
        """Return the program's function, with `numpy` meaning that module."""
        kernel: Callable[..., Any] = _run_file(self._folder / f"{self._info['module_name']}_numpy.py", numpy)[
            self._info["func_name"]
        ]
        return kernel

    def arguments(self) -> dict[str, Any]:
        """Return what the kernel is called with, as NumPy makes it."""
        made = dict(self._sizes)
        if init := self._info.get("init"):
            initialize = _run_file(self._folder / f"{self._info['module_name']}.py", NUMPY)[init["func_name"]]
            values = initialize(*[self._sizes[a] for a in init["input_args"]])
            outputs = init["output_args"]
            made.update(zip(outputs, values if len(outputs) > 1 else [values], strict=True))
        return {a: made[a] for a in self._info["input_args"]}


def given(arguments: dict[str, Any], library: str) -> list[Any]:
    """Return fresh arguments, in which arrays are those of a library."""
    convert = importlib.import_module(library).asarray
    return [convert(x.copy()) if isinstance(x, np.ndarray) else x for x in arguments.values()]


def arrays(*values: Any) -> Iterator[Any]:
    """Yield the arrays among results or arguments."""
    for x in values:
        if isinstance(x, tuple | list):
            yield from arrays(*x)
        elif hasattr(x, "__array__"):
            yield x


def wait(library: str, *values: Any) -> None:
    """Have results computed."""
    if library == OURS:
        ours = importlib.import_module(OURS)
        ours.eval(*[x for x in arrays(*values) if isinstance(x, ours.Array)])
    elif library == JAX:
        importlib.import_module("jax").block_until_ready(list(arrays(*values)))


def is_same(found: Any, wanted: Any) -> bool:
    """Say whether results and changed arguments are NumPy's, but for rounding."""
    some, others = [np.asarray(x) for x in arrays(found)], [np.asarray(x) for x in arrays(wanted)]
    if len(some) != len(others):
        return False
    for x, y in zip(some, others, strict=True):
        if x.shape != y.shape:
            return False
        digits = 1e-3 if x.dtype.char in "efF" else 1e-8
        scale = np.abs(y[np.isfinite(y)]).max(initial=0) if y.dtype.kind in "fc" else 0
        if not np.allclose(x, y, rtol=digits, atol=digits * scale, equal_nan=True):
            return False
    return True


class _Counted(np.ndarray):
    """Arrays that count how often one element of theirs is read."""

    reads = 0

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) == self.ndim and all(isinstance(k, int | np.integer) for k in keys):
            _Counted.reads += 1
        return super().__getitem__(key)


def element_reads(program: Program) -> int:
    """Return how often the program reads one element by its index."""
    values = [x.view(_Counted) if isinstance(x, np.ndarray) else x for x in program.arguments().values()]
    program.kernel(NUMPY)(*values)
    return _Counted.reads


def _timed(call: Callable[..., Any], values: list[Any], library: str) -> tuple[float, Any]:
    start = perf_counter()
    result = call(*values)
    wait(library, result, values)
    return perf_counter() - start, result


def race(program: Program, libraries: list[str], budget: float) -> dict[str, Any]:
    """Time warm calls in turns; returns the best seconds of each library, and which give other results."""
    arguments = program.arguments()
    calls, wrong, best = {}, {}, {}
    wanted: Any = None
    for library in libraries:  # the first call is not counted
        try:
            values = given(arguments, library)
            call = program.kernel(library)
            seconds, result = _timed(call, values, library)
            ok = library == NUMPY or is_same((result, values), wanted)
        except Exception as error:  # whatever a program meets in a library that is not NumPy
            wrong[library] = f"{type(error).__name__}: {error}"[:200]
            continue
        if library == NUMPY:
            wanted = (result, values)
        if ok:
            calls[library], best[library] = call, seconds
        else:
            wrong[library] = "other results"
    begin, rounds = perf_counter(), 0
    while rounds < _FEWEST or (rounds < _MOST and perf_counter() - begin < budget):
        rounds += 1
        for library, call in calls.items():
            best[library] = min(best[library], _timed(call, given(arguments, library), library)[0])
    return {"figures": best, "wrong": wrong}


def _mesh(size: int | None) -> AbstractContextManager[None]:
    """Return the block in which new arrays of ours are cut as `run --mesh` cuts a script's."""
    if size is None:
        return nullcontext()
    found: AbstractContextManager[None] = importlib.import_module(f"{OURS}.runner.meshes").mesh(size, "local")
    return found


def main() -> None:
    """Run one program and print what was found, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench_program", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("preset")
    parser.add_argument("task", choices=["race", "cold", "reads"])
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds of warm calls")
    parser.add_argument("--mesh", type=int, help="cut our large arrays over N devices, as `run --mesh` does")
    args = parser.parse_args()
    program = Program(args.folder, args.name, args.preset)
    if args.task == "race":
        with _mesh(args.mesh):
            print(json.dumps(race(program, args.libraries, args.budget)))
    elif args.task == "reads":
        print(json.dumps(element_reads(program)))
    else:
        (library,) = args.libraries
        _timed(program.kernel(library), given(program.arguments(), library), library)
        print("null")


if __name__ == "__main__":
    main()
