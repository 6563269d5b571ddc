"""What is registered with libraries that others can add to, as soon as they are imported.

Each function here is called with a module that has just been imported, and tells it of our arrays in the way
that the library has for that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ..._lazy.rules.concretization import differentiating, is_traced
from ..core.array import Array, current, is_scalar
from ..core.views import layout, memory
from ..dispatch.fastpath import FUNCTIONS
from .doors import put_in
from .functions import numpys
from .imports import after_import, unknown


class _Float(float):
    """What JSON's encoder in Python takes for `float`, whose `__repr__` it calls with what is one."""

    __repr__ = staticmethod(lambda x: float.__repr__(float(x)))  # type: ignore[assignment]


def _json(encoder: ModuleType) -> None:
    """Let JSON have scalars of float64, as NumPy's, which are floats; no other has it."""
    default = encoder.JSONEncoder.default

    @wraps(default)
    def answer(self: Any, o: Any) -> Any:
        if type(o) is not Array:
            return default(self, o)
        if not o.shape and o.dtype == np.float64:
            return float(o)
        kind = o.dtype if not o.shape else f"{o.dtype}[{', '.join(map(str, o.shape))}]"
        raise TypeError(f"Object of type {kind} is not JSON serializable; x.tolist() of an array x is")

    encoder.JSONEncoder.default = answer
    if encoder.__name__ != "json.encoder":
        return
    vars(encoder)["float"] = _Float
    make = vars(encoder)["c_make_encoder"]

    def made(markers: Any, default: Callable[[Any], Any], *options: Any) -> Any:
        """Ask a program's own `default` for no number that NumPy's scalars are."""

        def shown(o: Any) -> Any:
            return float(o) if type(o) is Array and isinstance(o, float) else default(o)

        return make(markers, shown, *options)

    if make is not None:  # Python may have no C code
        vars(encoder)["c_make_encoder"] = made


def _joblib(hashing: ModuleType) -> None:
    """Let joblib hash our arrays as NumPy's of the same elements, so that `Memory` finds what it keeps."""
    behind = hashing.NumpyHasher.save

    @wraps(behind)
    def save(self: Any, obj: Any) -> None:
        if type(obj) is Array:
            obj = np.asarray(obj)[()] if is_scalar(obj) else np.asarray(obj)
        behind(self, obj)

    hashing.NumpyHasher.save = save


def _autograd_boxes(boxes: ModuleType) -> None:
    """Let Autograd differentiate functions of our arrays as those of NumPy's: what stands for them, ..."""
    boxes.ArrayBox.register(Array)


def _autograd_spaces(spaces: ModuleType) -> None:
    """... and the space that their derivatives are in."""
    spaces.VSpace.register(Array, spaces.VSpace.mappings[np.ndarray])


def _autoray(autoray: ModuleType) -> None:
    """Let Autoray, by which PennyLane and quimb compute, call NumPy's functions for our arrays."""
    autoray.register_backend(Array, "numpy")


def _pytensor(tensor: ModuleType) -> None:
    """Let PyTensor make constants of our arrays."""
    convert = tensor._as_tensor_variable

    def constant(x: Any, *args: Any, **kwargs: Any) -> Any:
        return convert(np.asarray(x)[()], *args, **kwargs)

    convert.register(Array, constant)


# einops knows its backends by weak references.
_backends: list[type] = []


def _einops(backends: ModuleType) -> None:
    """Add a backend, which einops finds among the subclasses of its own."""

    class Backend(backends.NumpyBackend):  # type: ignore[name-defined]
        framework_name = "nabla_array"

        def __init__(self) -> None:
            self.np = sys.modules["nabla_array"]

        def is_appropriate_type(self, tensor: Any) -> bool:
            return type(tensor) is Array

        def from_numpy(self, x: Any) -> Any:
            return self.np.asarray(x)

        def to_numpy(self, x: Any) -> Any:
            return np.asarray(x)

    _backends.append(Backend)


def _dask(chunk_types: ModuleType) -> None:
    """Let our arrays be chunks of Dask's, and operands beside them."""
    chunk_types.register_chunk_type(Array)


def _dask_percentiles(backends: ModuleType) -> None:
    """Let Dask do with our chunks what it does with NumPy's."""
    lookup = backends.percentile_lookup
    lookup.register(Array, lookup.dispatch(np.ndarray))


def _torch_collate(collate: ModuleType) -> None:
    """Let data loaders make batches of our arrays, which need not be copied for that first."""

    def collated(batch: Any, *, collate_fn_map: Any = None) -> Any:
        return collate.default_collate([np.asarray(x)[()] for x in batch])

    collate.default_collate_fn_map[Array] = collated


def _jax(array: ModuleType) -> None:
    """Let JAX see our arrays as NumPy's: their shapes and dtypes while it traces, then copies."""
    from jax._src import core, dtypes
    from jax._src.interpreters import pxla

    avals, canonical, sharded = (
        core.pytype_aval_mappings,
        dtypes.canonicalize_value_handlers,
        pxla.shard_arg_handlers,
    )
    avals[Array] = lambda x: avals[np.ndarray](np.broadcast_to(np.empty((), x.dtype), x.shape))
    canonical[Array] = lambda x: canonical[np.ndarray](np.asarray(x))
    sharded[Array] = lambda xs, *more: sharded[np.ndarray]([np.asarray(x) for x in xs], *more)


def _detrend(signaltools: ModuleType) -> None:
    """Let `detrend` overwrite no array of ours, whose memory it only borrows (policies.py)."""
    behind = signaltools.detrend

    @wraps(behind)
    def detrend(
        data: Any, axis: Any = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
    ) -> Any:
        return behind(data, axis, type, bp, overwrite_data and not isinstance(data, Array))

    put_in(signaltools, {"detrend": detrend})


def _real_transforms(backend: ModuleType) -> None:
    """Let `dct` and its like overwrite no array of ours, whose memory they only borrow (policies.py)."""
    behind = backend._execute

    @wraps(behind)
    def execute(
        function: Any, x: Any, type: Any, s: Any, axes: Any, norm: Any, overwrite_x: Any, *more: Any
    ) -> Any:
        overwrites = overwrite_x and not isinstance(x, Array)
        return behind(function, x, type, s, axes, norm, overwrites, *more)

    put_in(backend, {"_execute": execute})


def _memory_of(x: Any) -> Any:
    """Return the memory of an array of ours; all else comes back."""
    return memory(x) if type(x) is Array else x


def _numba(numba: ModuleType) -> None:
    """Let compiled functions have the memory of our arrays, and numbers of those without axes."""
    from numba.core import cgutils, types
    from numba.core.boxing import unbox_array
    from numba.core.interpreter import Interpreter
    from numba.core.pythonapi import _unboxers
    from numba.extending import NativeValue, lower_cast, models, register_model, typeof_impl, unbox

    class Held(types.Array):
        """An array of ours, which is as NumPy's once it is inside."""

        def as_numpys(self) -> Any:
            return types.Array(
                self.dtype, self.ndim, self.layout, readonly=not self.mutable, aligned=self.aligned
            )

    register_model(Held)(models.ArrayModel)

    @lower_cast(Held, types.Array)
    def as_numpys(context: Any, builder: Any, ours: Any, numpys: Any, value: Any) -> Any:
        """Let a variable be of both kinds, one after the other."""
        return value

    @typeof_impl.register(Array)
    def typeof(x: Array, context: Any) -> Any:
        like = typeof_impl(x.dtype.type(0) if is_scalar(x) else layout(x), context)
        if is_scalar(x):
            return like
        return Held(
            like.dtype, like.ndim, like.layout, not like.mutable, f"nabla_array({like})", like.aligned
        )

    def lent(kind: Any, x: Any, context: Any) -> tuple[Any, Any]:
        """Return where the value will be, and whether that failed."""
        api, builder = context.pyapi, context.builder
        value = cgutils.alloca_once(builder, context.context.get_value_type(kind))
        failed = cgutils.alloca_once_value(builder, cgutils.true_bit)
        give = api.unserialize(api.serialize_object(_memory_of))
        numpys = api.call_function_objargs(give, [x])
        with cgutils.if_likely(builder, cgutils.is_not_null(builder, numpys)):
            made = unbox_array(kind, numpys, context)
            builder.store(made.value, value)
            builder.store(made.is_error, failed)
            api.decref(numpys)
        api.decref(give)
        return value, failed

    @unbox(Held)
    def unboxed(kind: Any, x: Any, context: Any) -> Any:
        value, failed = lent(kind.as_numpys(), x, context)
        return NativeValue(context.builder.load(value), is_error=context.builder.load(failed))

    def unboxed_as_declared(kind: Any, x: Any, context: Any) -> Any:
        """Take an array of ours for one of NumPy's, where a signature says so, once that has failed."""
        builder = context.builder
        made = unbox_array(kind, x, context)
        value = cgutils.alloca_once_value(builder, made.value)
        failed = cgutils.alloca_once_value(builder, made.is_error)
        with builder.if_then(made.is_error, likely=False):
            context.pyapi.err_clear()
            again, fails = lent(kind, x, context)
            builder.store(builder.load(again), value)
            builder.store(builder.load(fails), failed)
        return NativeValue(builder.load(value), is_error=builder.load(failed))

    _unboxers.functions[types.Array] = unboxed_as_declared

    # What functions that it compiles find under global names, and names of functions around them.
    for name in ("get_global_value", "get_closure_value"):
        setattr(Interpreter, name, _returning_numpys(getattr(Interpreter, name)))


def _solvers(functions: ModuleType) -> None:
    """Let solvers have NumPy's arrays of what a user's function returns: compiled code takes no others."""
    for kind in (functions._ScalarGradWrapper, functions._VectorFunWrapper, functions._VectorJacWrapper):
        kind.__call__ = _returning_numpys(kind.__call__)
    init = functions.VectorFunction.__init__

    @wraps(init)
    def with_jacobian(self: Any, fun: Any, x0: Any, jac: Any, *args: Any, **kwargs: Any) -> None:
        init(self, fun, x0, _returning_numpys(jac) if callable(jac) else jac, *args, **kwargs)

    functions.VectorFunction.__init__ = with_jacobian


def _returning_numpys(find: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that returns our modules, functions or arrays return NumPy's in their place.

    An array that a transform follows stays.
    """

    @wraps(find)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = find(*args, **kwargs)
        if isinstance(found, ModuleType):
            whole, _, part = found.__name__.partition(".")
            return import_module(f"numpy.{part}".rstrip(".")) if whole == "nabla_array" else found
        if type(found) is Array:
            node = current(found)
            is_followed = found._levels or differentiating(node) or is_traced(node)
            return found if is_followed else np.asarray(found)[()]
        return numpys(found) if isinstance(found, FUNCTIONS) else found

    return call


def _as_jax(self: Array) -> Any:
    """Return a JAX array of the elements (`__jax_array__`)."""
    import jax.numpy  # type: ignore[import-not-found, unused-ignore]

    return jax.numpy.asarray(np.asarray(self))


def _as_arrow(self: Array, type: Any = None) -> Any:
    """Return an Arrow array of the elements (`__arrow_array__`)."""
    import pyarrow  # type: ignore[import-not-found, unused-ignore]

    return pyarrow.array(np.asarray(self), type=type)


def _register(tell: Callable[[ModuleType], None], module: ModuleType) -> None:
    """Tell a library of our arrays; where its own names have changed, warn that it does not know them."""
    try:
        tell(module)
    except (ImportError, AttributeError) as error:
        unknown(module, str(error))


# What is done with a module, once it is there.
TOLD = {
    "json.encoder": _json,
    "simplejson.encoder": _json,
    "joblib.hashing": _joblib,
    "autograd.numpy.numpy_boxes": _autograd_boxes,
    "autograd.numpy.numpy_vspaces": _autograd_spaces,
    "autoray.autoray": _autoray,
    "pytensor.tensor": _pytensor,
    "einops._backends": _einops,
    "dask.array.chunk_types": _dask,
    "dask.array.backends": _dask_percentiles,
    "torch.utils.data._utils.collate": _torch_collate,
    "jax._src.array": _jax,
    "numba": _numba,
    "scipy.optimize._differentiable_functions": _solvers,
    "scipy.fft._realtransforms_backend": _real_transforms,
    "scipy.signal._signaltools": _detrend,
}
for _module, _tell in TOLD.items():
    after_import(_module, partial(_register, _tell))
Array.__jax_array__ = _as_jax  # type: ignore[attr-defined]
Array.__arrow_array__ = _as_arrow  # type: ignore[attr-defined]
