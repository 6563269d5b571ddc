"""MAX: the one module that touches it. Canonical programs become graphs, compiled models and results."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..cpu.pool import Task
from ..forks import at_fork, late
from ..graph.primitive import Primitive
from ..ops.special import special
from ..ops.structure import slice_
from ..stats import stats
from .canonical import CanonicalEqn, CanonicalProgram, Size, parse, slices_of
from .columns import taken_apart
from .rows import Rows

_KERNELS = Path(__file__).parent / "kernels"
_MODULES = ("creation", "elementwise", "structure", "reduction", "contraction", "indexing", "ordering")


class _Primitives(dict[str, Primitive]):
    def __missing__(self, name: str) -> Primitive:
        prim = special(name.removeprefix("special."))  # made when it is first asked for: SciPy may be missing
        assert prim is not None, name
        self[name] = prim
        return prim


@lru_cache(1)
def primitives() -> dict[str, Primitive]:
    """Return the primitives by name."""
    modules = [import_module(f"nabla_array._lazy.ops.{name}") for name in _MODULES]
    return _Primitives({p.name: p for m in modules for p in vars(m).values() if isinstance(p, Primitive)})


class Builder:
    """What a lowering sees of MAX: its operations, and how constants, casts and our kernels are made."""

    def __init__(self, target: str = "") -> None:
        from max.dtype import DType
        from max.graph import DeviceRef, Dim, Shape, StaticDim, TensorType, TensorValue, ops

        self.ops: Any = ops
        # What MAX makes of symbols, sizes and dims: a dim that can be reckoned with, and a shape.
        self.dim, self.shape = Dim, Shape
        self._known, self._type, self._value = StaticDim, TensorType, TensorValue
        number, api, _ = parsed_target(target)
        self.device = DeviceRef.CPU() if api == "cpu" else DeviceRef.GPU(number)
        # Whether our own loops can be used: accelerators have threads of another kind.
        self.has_loops = api == "cpu"
        self._dtype_of = DType.from_numpy

    def dtype(self, dtype: np.dtype | type) -> Any:
        """Return MAX's name of a NumPy dtype."""
        return self._dtype_of(np.dtype(dtype))

    def numpy(self, x: Any) -> np.dtype:
        """Return the NumPy dtype of a tensor."""
        return np.dtype(x.dtype.to_numpy())

    def size(self, x: Any, axis: int) -> int | None:
        """Return the size of an axis, where it is part of the program."""
        dim = x.shape[axis]
        return int(dim) if isinstance(dim, self._known) else None

    def constant(self, value: Any, dtype: np.dtype | type) -> Any:
        """Return a constant without axes."""
        # From memory, not from a Python number: that would lose -0.0, nan and large integers. MAX gives
        # a NumPy scalar an axis.
        array = np.asarray(value, dtype)
        return self.ops.reshape(self.ops.constant(array, self.dtype(dtype), self.device), ())

    def cast(self, x: Any, dtype: np.dtype | type) -> Any:
        """Return MAX's own cast."""
        return self.ops.cast(x, self.dtype(dtype))

    def custom(self, name: str, *xs: Any, dtype: np.dtype | type | None = None) -> Any:
        """Return what our elementwise Mojo kernel gives, of `dtype` or that of the first operand.

        Operands are of one shape, or without axes.
        """
        shape = max((x.shape for x in xs), key=len)
        xs = tuple(x if x.shape == shape else self.ops.broadcast_to(x, shape) for x in xs)
        result = xs[0].type.cast(xs[0].dtype if dtype is None else self.dtype(dtype))
        return self.ops.custom(name, self.device, list(xs), [result])[0].tensor

    def rows(self, name: str, x: Any) -> Any:
        """Return what our kernel makes of the rows along the last axis, which is of size 1 then."""
        *lead, n = x.shape
        if len(lead) > 2:
            x = self.ops.reshape(x, (prod(lead, start=self.dim(1)), n))
        return self._reduced(f"nabla.row_{name}", x, x.shape[:-1] or (1,), [*lead, 1])

    def columns(self, name: str, x: Any) -> Any:
        """Return what our kernel makes of the columns: their axis, the last but one, is of size 1 then."""
        *lead, n, m = x.shape
        if len(lead) > 1:
            x = self.ops.reshape(x, (prod(lead, start=self.dim(1)), n, m))
        return self._reduced(f"nabla.column_{name}", x, [*x.shape[:-2], m], [*lead, 1, m])

    def _reduced(self, kernel: str, x: Any, shape: Any, kept: list[Any]) -> Any:
        y = self.ops.custom(kernel, self.device, [x], [self._type(x.dtype, shape, self.device)])[0].tensor
        return self.ops.reshape(y, kept)

    def whole(self, x: Any, shape: tuple[str | int, ...], user: CanonicalEqn | None = None) -> Any:
        """Return a value with all its axes, which literals lack; pointwise operations do without."""
        if x.rank == len(shape) or (user is not None and primitives()[user.prim].kind == "elementwise"):
            return x
        return self.ops.broadcast_to(x, self.shape(shape))

    def lower(self, eqn: CanonicalEqn, xs: list[Any]) -> Any:
        """Return the tensor of one equation."""
        prim, params = primitives()[eqn.prim], eqn.params
        out = Result(self.shape(eqn.shape), eqn.dtype)
        if prim.role == "literal":
            # Without axes: operations broadcast it.
            value = params["value"]
            return self._size(value) if isinstance(value, Size) else self.constant(value.value, eqn.dtype)
        if prim is slice_:
            params = {"slices": slices_of(params, eqn.shape)}
        assert prim.max is not None, eqn.prim
        y = self.run(prim.max, *xs, out=out, **params)
        assert y.dtype == self.dtype(eqn.dtype), f"{eqn.prim}: {y.dtype}, not {eqn.dtype}"
        if y.shape != out.shape and y.rank:
            y = self.ops.rebind(y, out.shape)
        return y

    def run(self, lowering: str | Callable[..., Any], *xs: Any, out: Result, **params: Any) -> Any:
        """Return the tensor that a lowering, as records have them, gives."""
        if callable(lowering):
            return lowering(self, *xs, out=out, **params)
        is_own = lowering.startswith("nabla.")
        return self.custom(lowering, *xs, dtype=out.dtype) if is_own else getattr(self.ops, lowering)(*xs)

    def _size(self, size: Size) -> Any:
        n = self.cast(self._value(self.dim(size.name)).to(self.device), size.dtype)
        return self.custom("nabla.sub", n, self.constant(size.less, size.dtype)) if size.less else n


class Result(NamedTuple):
    """The shape (of MAX's dims) and NumPy dtype that an equation's result has."""

    shape: Any
    dtype: np.dtype


def _build(program: CanonicalProgram, name: str, module: Any, kernels: list[Path]) -> None:
    from max.graph import Graph, TensorType

    program = taken_apart(program, primitives())
    rows = Rows(program, primitives())
    b = Builder(program.target)
    types = [TensorType(b.dtype(dtype), shape, b.device) for shape, dtype in program.inputs]
    with Graph(name, input_types=types, module=module, custom_extensions=kernels) as graph:
        env = [i.tensor for i in graph.inputs]
        for v in range(len(env), len(env) + len(program.eqns)):
            env.append(rows.lower(v, b, env))
        graph.output(*[b.whole(env[i], rows.shapes[i]) for i in program.outputs])


def build_kernels(temporary: Path) -> list[Path]:
    """Compile our Mojo kernels, unless they are in MAX's cache; returns what MAX takes them from.

    Where MAX keeps nothing for later processes, they are in `temporary`.
    """
    from mojo.run import subprocess_run_mojo

    toolchain = late(".artifacts", __package__).toolchain()  # of modules that Windows does not have
    name = hashlib.sha256(toolchain.encode()).hexdigest()[:16]
    folder = Path(os.environ.get("MODULAR_CACHE_DIR", temporary))
    out = folder / f"nabla-{name}" / "nabla_kernels.mojoc"
    if out.exists():
        os.utime(out)  # files of the cache that nobody has used for long are deleted
        return [out]
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as unfinished:  # what others see is whole
        new = Path(unfinished, out.name)
        command = ["precompile", str(_KERNELS), "-o", str(new)]
        done = subprocess_run_mojo(command, capture_output=True, text=True)
        if done.returncode or not new.exists():
            raise RuntimeError(f"mojo precompile: exit {done.returncode}: {done.stderr[-2000:]}")
        new.replace(out)
    return [out]


def compile_programs(keys: Sequence[str], path: Path) -> None:
    """Compile canonical programs of one target into one file; the graph of number i is called g{i}."""
    from max.engine import InferenceSession
    from max.graph import Module

    programs = [parse(key) for key in keys]
    (target,) = {p.target for p in programs}
    device = _device_to_compile_for(target)
    with tempfile.TemporaryDirectory() as folder:
        kernels = build_kernels(Path(folder))
        module = Module()
        for i, program in enumerate(programs):
            _build(program, f"g{i}", module, kernels)
        session = InferenceSession(devices=[device], custom_extensions=kernels)
        session.compile(module).export_mef(path)


def parsed_target(target: str) -> tuple[int, str, str]:
    """Return the number, the programming interface and the architecture of a target; "" is the CPU."""
    number, api, architecture = target.split() if target else ("0", "cpu", "")
    return int(number), api, architecture


def _device(target: str) -> Any:
    from max import driver

    number, api, _ = parsed_target(target)
    return driver.CPU() if api == "cpu" else driver.Accelerator(number)


def _device_to_compile_for(target: str) -> Any:
    """Return MAX's device; of an accelerator that is not here, one that can only be compiled for."""
    from max import driver

    number, api, architecture = parsed_target(target)
    if api != "cpu" and driver.accelerator_count() <= number:
        driver.set_virtual_device_api(api)
        driver.set_virtual_device_target_arch(architecture)
        driver.set_virtual_device_count(number + 1)
    return _device(target)


def _import() -> None:
    """Import MAX, which enters a context of the importing thread, to be left by the main one at exit.

    In another thread that would end with an error on the terminal, so the main one enters it just before.
    """
    if "max.engine" in sys.modules or threading.current_thread() is threading.main_thread():
        return
    import max.engine  # noqa: F401

    try:
        from max.mlir import Context
    except ImportError:  # no part of MAX's public interface: without it, the error is printed
        return
    context = Context.current
    if context is not None:
        context.__exit__(None, None, None)
        atexit.register(context.__enter__)


# What drivers of accelerators put there: NVIDIA's, AMD's, and that of Windows.
_DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")


@lru_cache(1)
def accelerators() -> dict[str, str]:
    """Return the accelerators that MAX can use, by name, with the target that a program for each has."""
    if sys.platform == "linux" and not any(map(os.path.exists, _DRIVERS)):
        return {}  # nor would MAX find any, which takes seconds to import
    _import()
    from max.driver import Accelerator, accelerator_count

    devices = [Accelerator(i) for i in range(accelerator_count())]
    return {
        f"gpu:{i}": f"{i} {d.api} {d.architecture_name}" for i, d in enumerate(devices) if d.is_compatible
    }


def upload(array: np.ndarray, device: str) -> Any:
    """Return a buffer with these elements on an accelerator."""
    there = _device(accelerators()[device])
    here = _as_buffer(array, array.shape)
    buffer = here.copy(there)
    there.synchronize()  # threads of MAX's copy, which do not keep the array's memory alive
    stats.uploaded += array.nbytes
    return buffer


def download(buffer: Any) -> np.ndarray:
    """Return an array with the elements of a buffer on an accelerator."""
    from max.driver import CPU

    buffer.device.synchronize()
    array: np.ndarray = buffer.to(CPU()).to_numpy()
    stats.downloaded += array.nbytes
    return array


# By target, and by the name of the compiled file.
_sessions: dict[str, Any] = {}
_loaded: dict[str, dict[str, Any]] = {}
# Whether MAX's threads were started, and whether that was before this process was forked from another.
_is_started = _is_forked = False


def _session(target: str) -> Any:
    global _is_started
    from max.engine import InferenceSession

    _is_started = True
    if target not in _sessions:
        _sessions[target] = InferenceSession(devices=[_device(target)])
    return _sessions[target]


def load(name: str, mef: bytes, target: str = "") -> dict[str, Any]:
    """Return the models of a compiled file by name, once for each file, which `name` tells."""
    if _is_forked:  # to load, MAX would wait for its threads, too
        raise RuntimeError(
            "MAX was in use when this process was forked from another, and can be used there only"
        )
    _import()
    from max.engine import read

    models = _loaded.get(name)
    if models is None:
        models = _loaded[name] = dict(_session(target).init_all(read(io.BytesIO(mef))))
    return models


def _after_fork() -> None:
    """Leave alone in a forked child what it cannot use: MAX's threads are its parent's."""
    global _has_executed, _is_forked, _sessions, _loaded
    _has_executed = False
    _is_forked = _is_started
    for kept in (_sessions, _loaded):  # to end them, MAX would wait for its threads, at exit too
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    _sessions, _loaded = {}, {}


at_fork(after_in_child=_after_fork)


# Whether this process has executed something, and so has the threads that MAX starts for that.
_has_executed = False


def _execute(model: Any, buffers: list[Any]) -> Any:
    """Execute a model, the first one on a thread that stands aside.

    In its first execution MAX 26.7 starts a thread that looks every 100 microseconds whether there is
    something to log, and as often takes a core from a thread that computes. It is scheduled as the one that
    starts it.
    """
    global _has_executed
    if _has_executed:
        return model.execute(*buffers)

    def execute() -> Any:
        if hasattr(os, "SCHED_IDLE"):
            with suppress(OSError):  # a sandbox may forbid it
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        return model.execute(*buffers)

    task = Task(execute, ())
    thread = threading.Thread(target=task.run, name="nabla_array first")
    thread.start()
    thread.join()
    _has_executed = True
    return task.result()


def runner(
    model: Any, inputs: tuple[tuple[int, ...], ...], outputs: tuple[tuple[int, ...], ...]
) -> Callable[..., Any]:
    """Return `(*ndarrays) -> list of ndarrays` for a model; no contiguous array is copied."""

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        buffers = [_as_buffer(a, s) for a, s in zip(arrays, inputs, strict=True)]  # alive until all is done
        results = _execute(model, buffers)
        return [r.to_numpy().reshape(shape) for r, shape in zip(results, outputs, strict=True)]

    return run


def buffer_runner(
    model: Any, inputs: tuple[tuple[int, ...], ...], outputs: tuple[tuple[int, ...], ...]
) -> Callable[..., Any]:
    """Return `(*buffers) -> list of buffers` for a model of an accelerator, where they stay."""

    def run(*buffers: Any) -> list[Any]:
        results = model.execute(*[b.view(b.dtype, s) for b, s in zip(buffers, inputs, strict=True)])
        return [r.view(r.dtype, s) for r, s in zip(results, outputs, strict=True)]

    return run


def _as_buffer(array: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Return a buffer of this shape on an array's memory; on that of a copy where MAX could not use it."""
    import max.driver as driver  # not `from`, which takes twice as long

    own = array if array.flags.c_contiguous and array.flags.writeable else np.array(array, order="C")
    if shape or own.dtype != np.bool:
        return driver.Buffer.from_numpy(own.reshape(shape))
    from max.dtype import DType

    # MAX 26.7 fails on those without axes.
    return driver.Buffer.from_numpy(own.reshape(1)).view(DType.bool, ())
