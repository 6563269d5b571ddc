"""What makes a function a ufunc. What most programs do without is in `numpy.ufunc_methods`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.promotion import UnheldDtypeError
from . import fastpath

Function = Callable[..., Any]

# What runs a function of NumPy's on the host, counted; and the same after an error. Interop puts them here.
host_hook: list[Function] = []
# What gives a function of `numpy.ufunc_methods` by its name. It is imported when one is first used.
late_hook: list[Callable[[str], Function]] = []


# NumPy's names for functions that the standard calls otherwise.
ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "amax": "max",
    "amin": "min",
    "around": "round",
    "bitwise_not": "bitwise_invert",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}


class _Ufuncs(type):
    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, np.ufunc) or (not isinstance(thing, type) and hasattr(thing, "reduceat"))

    def __getattr__(cls, name: str) -> Any:
        return getattr(np.ufunc, name)


class ufunc(metaclass=_Ufuncs):
    """The type of NumPy's ufuncs, for `isinstance`: ours are functions with a ufunc's attributes.

    References
    ----------
    https://numpy.org/doc/stable/reference/generated/numpy.ufunc.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> isinstance(xp.add, xp.ufunc), xp.add.nin
    (True, 2)
    """


def call_it(function: Function, module: str, name: str) -> Function:
    """Let a function say where it is found, and pickle find it there; returns it."""
    function.__module__, function.__name__ = module, name.rpartition(".")[2]
    function.__qualname__ = name
    return function


# The last two are for compilers of loops, such as Numba.
_SHARED = (
    *("nin", "nout", "nargs", "ntypes", "types", "identity", "signature", "resolve_dtypes"),
    *("_resolve_dtypes_and_context", "_get_strided_loop"),
)


def make_ufunc(function: Function, like: np.ufunc) -> None:
    """Give a function the attributes and the methods of a ufunc of NumPy's."""
    function.__dict__.update({name: getattr(like, name) for name in _SHARED})
    if "__wrapped__" in function.__dict__:  # which tells of operands alone
        function.__dict__["__signature__"] = getattr(like, "__signature__", None)  # NumPy 2.4 has it
    call_it(function, "nabla_array", like.__name__)
    function.__qualname__ = ALIASES.get(like.__name__, like.__name__)  # where pickle finds it
    for method in ("reduce", "accumulate", "reduceat", "outer", "at"):
        function.__dict__[method] = _Method(method, function, like)
    fastpath.alone(function)


# Where a method takes the array that it writes to. (`outer` is recorded: its result may be large, and one of
# several operations on it.)
_OUTS = {"reduce": 3, "accumulate": 3, "reduceat": 4}


class _Method:
    """A method of a ufunc; what we cannot hold goes to NumPy's. (An import makes hundreds: no closures.)"""

    __slots__ = ("__name__", "_call", "_function", "_like")

    def __init__(self, name: str, function: Function, like: np.ufunc) -> None:
        self.__name__, self._function, self._like = name, function, like
        self._call: Function | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._call is None:
            name = self.__name__
            host = getattr(self._like, name)
            self._call = self._late_call
            if name in _OUTS:
                self._call = fastpath.wrap("whole", self._call, name, None, host, _OUTS[name])
            elif name == "at":
                self._call = fastpath.writing(host, 2)(self._call)
        return self._call(*args, **kwargs)

    def _late_call(self, *args: Any, **kwargs: Any) -> Any:
        name, like = self.__name__, self._like
        try:
            return late_hook[0](name)(self._function, like, *args, **kwargs)
        except UnheldDtypeError as error:
            return host_hook[1](getattr(like, name), f"{like.__name__}.{name}", args, kwargs, error)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return late_hook[0](self.__name__).__doc__


def with_options(
    function: Function,
    like: np.ufunc,
    args: tuple[Any, ...],
    out: Any,
    where: Any,
    casting: Any,
    dtype: Any,
    signature: Any,
) -> Any:
    """Call a ufunc with more than its operands; with what we cannot hold, NumPy's."""
    try:
        return late_hook[0]("with_options")(function, like, args, out, where, casting, dtype, signature)
    except UnheldDtypeError as error:
        given = {"out": out, "where": where, "casting": casting, "dtype": dtype, "signature": signature}
        defaults = {"where": True, "casting": "same_kind"}  # which another's `__array_ufunc__` is not told
        options = {k: v for k, v in given.items() if v is not None and v is not defaults.get(k)}
        return host_hook[1](like, like.__name__, args, options, error)
