"""NumPy's functions called on our arrays: ours where we have it, else NumPy on the host, counted."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, wraps
from importlib import import_module
from types import BuiltinFunctionType, FrameType, ModuleType
from typing import Any

import numpy as np

from ..._lazy.forks import late
from ..._lazy.graph.node import user_frame
from ..._lazy.stats import stats
from ..chapters import elementwise
from ..core.array import Array, check_leaves, from_value, is_scalar, placed, read_only, write, zero_d
from ..core.outputs import deliver
from ..core.promotion import (
    HOLDERS,
    UnheldDtypeError,
    check_override,
    is_foreign,
    meets_derived,
    overrides_functions,
)
from ..dispatch import fastpath
from ..dispatch.elementwise_calls import PRIMITIVES
from ..dispatch.ufuncs import ALIASES, call_it, host_hook, make_ufunc

Namespace = Mapping[str, Any]

# Files of installed libraries and of Python's, and NumPy's own wrappers.
_INSTALLED = r"[/\\]((site|dist)-packages|lib[/\\]python3\.\d+)[/\\]|^<__array_function__"
# What finds a name of NumPy's (of a part of it) among our modules for these; `numpy.homes` puts it here.
find_hook: list[Callable[..., Any]] = []


class HostFallbackWarning(UserWarning):
    """A NumPy function that nabla_array does not have yet ran through NumPy on the host."""


# NumPy's names for parameters that the standard calls otherwise.
_PARAMETERS = {"a_min": "min", "a_max": "max"}
# Names that mean another thing in NumPy than in the standard, or take other arguments than the shared
# ones let us tell.
_NOT_OURS = {"cumulative_sum", "cumulative_prod", "matrix_rank", "pinv"}

_UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    prim.ufunc: function for function, prim in PRIMITIVES.items() if prim.ufunc is not None
}
for _function in ("positive", "logical_and", "logical_or", "logical_xor", "logical_not"):
    _UFUNCS[getattr(np, _function)] = getattr(elementwise, _function)

# NumPy's functions that write to their first argument.
_IN_PLACE = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}


def to_host(function: str, x: Any) -> Any:
    """Return `x` with every array in it, also inside lists, tuples and dicts, as NumPy's."""
    kind = type(x)
    if kind is Array:
        check_leaves(function, x)
        value = x._value()
        if not value.ndim and is_scalar(x):
            return value[()]
        # A masked array on what it is given is written to; others fail rather than write to a copy.
        return value.copy() if function.startswith("ma.") else read_only(value)
    if kind is tuple or kind is list:
        return kind([to_host(function, i) if type(i) in HOLDERS else i for i in x])
    return {k: to_host(function, v) for k, v in x.items()} if kind is dict else x


def from_host(x: Any) -> Any:
    """Return `x` with every NumPy array and scalar of a dtype that we hold as an array of ours.

    Matrices, masked arrays and the like stay what they are: they behave otherwise.
    """
    kind = type(x)
    if kind is Array:
        return x
    if (kind is np.ndarray or isinstance(x, np.generic)) and x.dtype.kind in "biufc" and x.dtype.isnative:
        y = placed(from_value(np.array(x)), None)
        return zero_d(y) if kind is np.ndarray else y
    if kind is list or kind is tuple:
        return kind(map(from_host, x))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(from_host, x))
    return x


def _line_of_user() -> FrameType | None:
    """Return the innermost frame that the user can change: of no installed library, if there is one."""
    frame: FrameType | None = user_frame()
    while frame is not None and re.search(_INSTALLED, frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _copied(x: Any, copies: list[tuple[Array, np.ndarray]]) -> Any:
    """Return memory for NumPy to write to in the place of an array, and note whose it is."""
    if type(x) is not Array:
        return x
    copies.append((x, x._value().copy()))
    return copies[-1][1]


def _meets_others(args: Any) -> bool:
    """Say whether an argument is an array of another kind, or of a class derived from NumPy's."""
    return any([is_foreign(x) and not isinstance(x, np.generic) for x in args])


def _warn(name: str, args: Any) -> None:
    """Warn at the user's line that a function ran through NumPy; not of what others do by themselves."""
    if _meets_others(args) and Array not in map(type, args):
        return
    if (frame := _line_of_user()) is not None:
        message = f"{name} runs through NumPy on the host, outside of the graph"
        warnings.warn_explicit(message, HostFallbackWarning, frame.f_code.co_filename, frame.f_lineno)


def host_call(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    """Run a NumPy function on the host; count it, and name it once in a warning."""
    operands, options = to_host(name, args), to_host(name, kwargs) if kwargs else kwargs
    copies: list[tuple[Array, np.ndarray]] = []  # of what NumPy writes to
    if args and (name in _IN_PLACE or name.endswith(".at")):
        operands = (_copied(args[0], copies), *operands[1:])
    if options and (out := kwargs.get("out")) is not None:
        written = [_copied(x, copies) for x in (out if type(out) is tuple else (out,))]
        options["out"] = tuple(written) if type(out) is tuple else written[0]
    result = function(*operands, **options)
    if not stats.fallbacks[name]:
        _warn(name, args)
    stats.fallbacks[name] += 1
    for x, copy in copies:
        write(x, from_value(copy.copy()))
    if isinstance(result, np.generic) and _meets_others(args):
        return result  # what pandas asks of its own data is to be a number for it
    given = {id(copy): x for x, copy in copies}
    if given and type(result) is tuple:
        return tuple([given.get(id(r)) if id(r) in given else from_host(r) for r in result])
    return given[id(result)] if id(result) in given else from_host(result)


def elsewhere(function: Callable[..., Any], name: str, args: Any, kwargs: Any, error: Exception) -> Any:
    """Run with NumPy's function what `error` says that we cannot hold; raise it where NumPy cannot either."""
    try:
        return host_call(function, name, args, kwargs)
    except TypeError:
        if any(map(is_foreign, args)) or others_answer(args, kwargs):
            raise
        raise error from None


def others_answer(args: Any, kwargs: Any) -> bool:
    """Say whether an argument, or an item of one, overrides NumPy's functions (NEP 18): units, times, ..."""
    given = [*args, *kwargs.values()]
    items = [i for x in given if type(x) in (list, tuple) for i in x]
    return any([overrides_functions(kind) for kind in {*map(type, given), *map(type, items)} - {Array}])


def array_ufunc(self: Array, /, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Answer a NumPy ufunc called with one of our arrays among its operands.

    What we cannot hold is NumPy's to refuse: of its error an operator of its arrays may make an answer.
    """
    where, arrays = kwargs.get("where"), (*inputs, *kwargs.get("out", ()))
    if type(where) is Array and method == "reduce" and Array not in map(type, arrays):
        # The methods of NumPy's arrays go on with the result: `var` would take one of ours for a scalar.
        return ufunc.reduce(*inputs, **{**kwargs, "where": np.asarray(where)})
    own = None if any(map(is_foreign, inputs)) else _UFUNCS.get(ufunc) or _late_ufunc(ufunc)
    if own is not None and ufunc.signature is None:
        try:
            return (own if method == "__call__" else getattr(own, method))(*inputs, **kwargs)
        except UnheldDtypeError:
            own = None
    out = kwargs.pop("out", None)
    own = (own or _scipys(ufunc)) if method == "__call__" and not kwargs else None
    result = NotImplemented
    if own is not None:
        with suppress(UnheldDtypeError):
            result = own(*inputs)
    if result is NotImplemented:
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if out is not None:  # where `where=` is false, what was in `out` stays
            kwargs["out"] = tuple(np.array(t) if type(t) is Array else t for t in out)
        result = host_call(getattr(ufunc, method), name, inputs, kwargs)
    if out is None:
        return result
    return deliver(ufunc.__name__, out if isinstance(result, tuple) else out[0], result)


@lru_cache(None)
def _late_ufunc(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return our function for a ufunc of NumPy's that has not been used yet."""
    name = ufunc.__name__
    found: Callable[..., Any] | None = find_hook[0](name) if getattr(np, name, None) is ufunc else None
    if found is not None:
        _UFUNCS[ufunc] = found
    return found


def _scipys(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return our function for a ufunc of SciPy's."""
    if "scipy.special" not in sys.modules:
        return None
    from ..chapters import special

    return special.of_ufunc(ufunc)


def numpys(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return NumPy's function for one of ours; others come back."""
    return _namesake(function, "nabla_array", "numpy")


def ours(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what we have for a function of NumPy's, public ufuncs among them; others come back."""
    return _namesake(function, "numpy", "nabla_array")


@lru_cache(1 << 10)
def _namesake(function: Callable[..., Any], here: str, there: str) -> Callable[..., Any]:
    name = function.__name__
    for part in ("", ".linalg", ".fft"):
        if function is getattr(import_module(here + part), name, None):
            found: Callable[..., Any] = getattr(import_module(there + part), name)
            return found
    return function


@lru_cache(None)
def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:
        return None


@lru_cache(1 << 12)
def _places(
    theirs: Callable[..., Any], ours: Callable[..., Any], count: int, names: tuple[str, ...]
) -> tuple[tuple[list[Any], dict[str, Any]], list[tuple[Any, Any]]] | None:
    """Return where ours takes the arguments of calls of NumPy's function with so many and these keywords.

    An argument is meant by its place, or its keyword. The last are those that ours lacks, with what they must
    be: their defaults. None where ours cannot take the call.
    """
    their_names, our_names = _signature(theirs), _signature(ours)
    if their_names is None or our_names is None:
        return None
    given = their_names.bind(*range(count), **dict(zip(names, names, strict=True)))
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    lacking = []
    our_kinds = {p.kind for p in our_names.parameters.values()}
    operands = [p for p in our_names.parameters.values() if p.kind is p.POSITIONAL_ONLY]
    for place, (name, source) in enumerate(given.arguments.items()):
        parameter = their_names.parameters[name]
        name = _PARAMETERS.get(name, name)
        if parameter.kind is parameter.VAR_POSITIONAL and parameter.kind in our_kinds:
            positional.extend(source)
        elif parameter.kind is parameter.VAR_KEYWORD and parameter.kind in our_kinds:
            keywords.update(source)
        elif parameter.kind is parameter.VAR_POSITIONAL or parameter.kind is parameter.VAR_KEYWORD:
            return None
        elif place < len(operands):
            positional.append(source)
        elif name in our_names.parameters:
            keywords[name] = source
        else:
            lacking.append((source, parameter.default))
    for parameter in [*our_names.parameters.values()][len(positional) :]:
        # What was given by its place is so again, if it can be: compiled code knows the first argument so.
        if (
            parameter.kind is not parameter.POSITIONAL_OR_KEYWORD
            or type(keywords.get(parameter.name)) is not int
        ):
            break
        positional.append(keywords.pop(parameter.name))
    try:
        our_names.bind(*positional, **keywords)
    except TypeError:
        return None
    return (positional, keywords), lacking


def _translate(
    theirs: Callable[..., Any], ours: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[list[Any], dict[str, Any]] | None:
    """Return a call of NumPy's function as a call of ours, or None where ours cannot take it."""
    places = _places(theirs, ours, len(args), tuple(kwargs))
    if places is None:
        return None
    given: dict[Any, Any] = dict(enumerate(args)) | kwargs
    (positional, keywords), lacking = places
    if any([given[source] is not default for source, default in lacking]):
        return None
    return [given[source] for source in positional], {k: given[source] for k, source in keywords.items()}


@lru_cache(None)
def _own_function(function: Callable[..., Any]) -> Callable[..., Any] | None:
    name = function.__name__
    if name in _NOT_OURS:
        return None
    part = function.__module__.removeprefix("numpy").lstrip(".")
    if part in ("linalg", "fft"):
        found = getattr(late(f"..chapters.{part}", __package__), name, None) or find_hook[0](name, part)
    elif part == "lib.stride_tricks":
        found = find_hook[0](name, "lib")
    else:
        found = namespace_names.get(ALIASES.get(name, name)) or find_hook[0](name)
    return found if isinstance(found, fastpath.FUNCTIONS) else None


def array_function(self: Array, /, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Answer a NumPy function called with one of our arrays among its arguments."""
    ours = _taker(function, len(args), *kwargs)
    if ours is not None:
        _takers[function, len(args), *kwargs] = ours
        try:
            return ours(*args, **kwargs)
        except UnheldDtypeError:  # NumPy may hold it
            pass
    if function.__name__ in _SHARED:
        return function(*to_host(function.__name__, args), **to_host(function.__name__, kwargs))
    ours = _own_function(function)
    out = kwargs.get("out")
    plain = {k: v for k, v in kwargs.items() if k != "out"} if out is not None else kwargs
    if ours is not None:
        call = _translate(function, ours, args, plain)
        if call is not None:
            with suppress(UnheldDtypeError):
                result = ours(*call[0], **call[1])
                return deliver(function.__name__, out, result)
    module = function.__module__.removeprefix("numpy").lstrip(".")
    name = f"{module}.{function.__name__}" if module in ("linalg", "fft") else function.__name__
    result = host_call(function, name, args, plain)
    return deliver(function.__name__, out, result)


# What native code, which answers in the place of `array_function` then, knows of `_taker`.
_takers: dict[tuple[Any, ...], Callable[..., Any]] = {}


@lru_cache(1 << 12)
def _taker(function: Callable[..., Any], count: int, *names: str) -> Callable[..., Any] | None:
    """Return our function for one of NumPy's, if it takes a call with these arguments as it is."""
    ours = None if function.__name__ in _SHARED or "out" in names else _own_function(function)
    places = None if ours is None else _places(function, ours, count, names)
    return ours if places == (([*range(count)], {k: k for k in names}), []) else None


# The package puts its public names here once it is whole.
namespace_names: dict[str, Any] = {}


# NumPy's own that is ours too: it concerns dtypes, text, printing and errors, and computes nothing.
_SHARED_NAMES = (
    "array2string array_repr array_str base_repr binary_repr errstate format_float_positional "
    "format_float_scientific frompyfunc get_include get_printoptions getbufsize geterr geterrcall info "
    "issubdtype min_scalar_type mintypecode printoptions promote_types set_printoptions setbufsize "
    "seterr seterrcall show_config show_runtime typename"
)
_SHARED = set(_SHARED_NAMES.split())


def on_host(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return NumPy's function for our arrays: it runs on the host, counted unless it computes nothing."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if name.rpartition(".")[2] in _SHARED:
            return function(*to_host(name, args), **to_host(name, kwargs))
        return host_call(function, name, args, kwargs)

    if isinstance(function, np.ufunc):
        make_ufunc(call, function)
    call.__dict__["runs_on_host"] = name.rpartition(".")[2] not in _SHARED
    return call_it(call, *f"nabla_array.{name}".rsplit(".", 1))


def numpy_name(name: str) -> Any:
    """Return our function under NumPy's name for it, or what NumPy has: a function runs on the host, counted.

    Raises AttributeError for what NumPy does not have.
    """
    if name in ALIASES:
        return _alias(name)
    own = find_hook[0](name)
    if own is not None:
        return or_host(own, name) if name in TAKE_ANY_DTYPE else own
    missing = f"module 'nabla_array' has no attribute {name!r}"
    if name.startswith("_"):
        raise AttributeError(missing)
    try:
        found = getattr(np, name)
    except AttributeError as error:  # of names that went, NumPy says what to use instead
        hint = str(error).removeprefix(f"module 'numpy' has no attribute {name!r}").lstrip(".\n")
        raise AttributeError(f"{missing}. {hint}" if hint else missing) from None
    if inspect.ismodule(found):  # see numpy_modules.py
        return import_module(found.__name__.replace("numpy", "nabla_array", 1))
    if isinstance(found, type) or not callable(found):
        return found
    return on_host(found, name)


def _ours(name: str) -> Callable[..., Any]:
    """Return our function under a name of the standard."""
    function: Callable[..., Any] = namespace_names.get(name) or numpy_name(name)
    return function


def _alias(name: str) -> Callable[..., Any]:
    """Return our function under NumPy's name for it, which its errors start with, too."""
    function, standard = _ours(ALIASES[name]), f"{ALIASES[name]}: "
    behind = fastpath.behind(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return behind(*args, **kwargs)
        except Exception as error:
            text = str(error)
            if not text.startswith(standard):
                raise
            raise type(error)(f"{name}: {text.removeprefix(standard)}").with_traceback(
                error.__traceback__
            ) from error.__cause__

    made, theirs = call_it(fastpath.like(function, call), "nabla_array", name), getattr(np, name)
    made.__name__ = theirs.__name__  # that of a ufunc may be another alias
    if isinstance(theirs, np.ufunc):
        fastpath.alone(made)
    return made


def or_host(function: Callable[..., Any], name: str, part: str = "") -> Callable[..., Any]:
    """Let a function of ours hand arrays that we cannot hold to NumPy's of that name (in a `part`)."""
    theirs = getattr(getattr(np, part) if part else np, name)
    behind, where = fastpath.behind(function), f"{part}.{name}".lstrip(".")

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not part and meets_derived(name, args):
            return host_call(theirs, where, args, kwargs)
        try:
            check_override(name, kwargs.get("like"))
            return behind(*args, **kwargs)
        except Exception as error:
            if not isinstance(error, UnheldDtypeError) and not others_answer(args, kwargs):
                raise
            if part and any([hasattr(type(x), "filled") for x in args]):
                raise  # NumPy's would use what a mask hides
            if kwargs.get("device") is not None:
                raise  # who names a device wants an array that computes there
            return elsewhere(theirs, where, args, kwargs, error)

    made = call_it(fastpath.like(function, call), f"nabla_array.{part}".rstrip("."), name)
    if isinstance(theirs, np.ufunc | BuiltinFunctionType):
        fastpath.alone(made)
    return made


def all_or_host(module: ModuleType, part: str) -> dict[str, Callable[..., Any]]:
    """Do the same for each of the standard's functions that a part of NumPy has (for matrices, objects)."""
    found = {name: getattr(module, name) for name in module.__all__ if hasattr(getattr(np, part), name)}
    return {n: or_host(f, n, part) for n, f in found.items() if isinstance(f, fastpath.FUNCTIONS)}


# The functions of the standard that NumPy's strings, dates, records and objects, and what is not for us to
# compute with (pandas' series, masked arrays), are given to.
_TAKE_ANY_DTYPE = (
    "all any arange argmax argmin argsort array asanyarray asarray astype atleast_1d atleast_2d "
    "broadcast_arrays broadcast_to clip concat concatenate count_nonzero cumprod cumsum cumulative_prod "
    "cumulative_sum diff empty empty_like expand_dims eye flip full full_like imag isin linspace matmul "
    "matrix_transpose max mean meshgrid min moveaxis nonzero ones ones_like permute_dims prod ravel real "
    "repeat reshape roll round searchsorted sort squeeze stack std sum swapaxes take take_along_axis "
    "tensordot tile transpose tril triu unique_all unique_counts unique_inverse unique_values unstack var "
    "vecdot where zeros zeros_like"
)
TAKE_ANY_DTYPE = set(_TAKE_ANY_DTYPE.split())


def star_names() -> set[str]:
    """Return what ``from nabla_array import *`` gives: what NumPy's star gives, and the standard's names."""
    own = (name for name, value in namespace_names.items() if not inspect.ismodule(value))
    return {*np.__all__, *own} - {"core", "f2py"}  # modules that are deprecated, or take long to import


host_hook.extend((host_call, elsewhere))
Array.__array_ufunc__ = fastpath.wrap("array_ufunc", array_ufunc, "array_ufunc", host=_UFUNCS)  # type: ignore[attr-defined]
Array.__array_function__ = fastpath.wrap(  # type: ignore[attr-defined]
    "array_function", array_function, "array_function", UnheldDtypeError, _takers
)
