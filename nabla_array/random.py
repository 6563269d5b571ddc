"""NumPy's random numbers, seed for seed: its own generators draw, and arrays come out as ours.

The functions share NumPy's global state: ``seed`` here is ``numpy.random.seed``. Samples are constants:
`grad` does not follow them back to parameters, `vmap` gives the same ones to all examples, and a compiled
function keeps those that were drawn while it was traced; where that is not meant, make them arguments.

SciPy and scikit-learn, which compute with what they draw in compiled code, get NumPy's arrays out of our
generators; so does all installed code in scripts that run unchanged. Seeds and states (``get_state``,
``SeedSequence``) are NumPy's for everybody.

Examples
--------
>>> import nabla_array as xp
>>> rng = xp.random.default_rng(0)
>>> x = rng.integers(10, size=4)
>>> x
array([8, 6, 5, 2])
>>> rng.shuffle(x[1:])
>>> x
array([8, 2, 5, 6])
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import wraps
from types import MethodType, ModuleType
from typing import Any

import numpy as np
import numpy.random as theirs

from ._namespace.core.array import Array, check_writable, from_value, placed, write
from ._namespace.dispatch import fastpath
from ._namespace.dispatch.ufuncs import call_it
from ._namespace.interop.functions import to_host
from ._namespace.interop.policies import program_hook, sampling
from ._namespace.numpy.draws import EXAMPLES

__all__ = list(theirs.__all__)

# How far the lines of NumPy's docstrings are indented.
_INDENTATION = re.compile("\n +(?=\\S)")
# Arguments that hold no array.
_SIMPLE: set[type] = {type(None), bool, int, float, str}


def _is_for(names: dict[str, Any]) -> bool:
    """Say whether arrays drawn for a module, given by its global names, are ours.

    Under the runner NumPy is NumPy to all but the program: to them, so are the arrays of its generators.
    """
    name = str(names.get("__name__"))
    if name == __name__ or name.partition(".")[0] in sampling:  # NumPy's methods that call each other
        return False
    if not program_hook or program_hook[0](names):
        return True
    return names.get("np") is not np and names.get("numpy") is not np


def _given(sample: np.ndarray, names: dict[str, Any]) -> Any:
    """Return what the module with these names gets for an array of NumPy's."""
    if sample.dtype.kind not in "biufc" or not _is_for(names):
        return sample
    return placed(from_value(sample if sample.base is None else sample.copy()), None)


def _place(function: Callable[..., Any], name: str) -> int:
    """Return the place of an argument; -1 where none has that name."""
    names = list(inspect.signature(function).parameters)
    return names.index(name) if name in names else -1


def _drawing(function: Callable[..., Any], found: str) -> Callable[..., Any]:
    """Let a function or method of numpy.random's take our arrays, write to them, and return them."""
    name = function.__name__
    written = "x" if name == "shuffle" else "out"
    place = _place(function, written) if written in function.__code__.co_varnames else -1

    @wraps(function)
    def draw(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and _SIMPLE.issuperset(map(type, args)):
            result = function(*args)
            return result if type(result) is not np.ndarray else _given(result, sys._getframe(1).f_globals)
        target: Any = args[place] if 0 <= place < len(args) else kwargs.get(written)
        if type(target) is Array:
            check_writable(target)  # before anything is drawn
        buffer = np.array(target) if type(target) is Array else target

        def given(value: Any) -> Any:
            return buffer if value is target else _known(name, value)

        result = function(*[given(a) for a in args], **{k: given(v) for k, v in kwargs.items()})
        if buffer is not target:
            write(target, from_value(buffer))
            return target if result is buffer else result
        if type(result) is not np.ndarray or result is target:
            return result
        return _given(result, sys._getframe(1).f_globals)

    # Without its examples, which are NumPy's to test, and with ours.
    draw.__doc__ = (function.__doc__ or "").partition("Examples\n")[0]
    if found in EXAMPLES:
        indentation = _INDENTATION.search(draw.__doc__)
        plain = draw.__doc__.replace(indentation.group() if indentation else "\n", "\n").strip()
        draw.__doc__ = f"{plain}\n\n{EXAMPLES[found]}"
    call_it(draw, __name__, found)
    return fastpath.wrap("draw", draw, name, _given, function, place)


def _known(function: str, given: Any) -> Any:
    """Return an argument as NumPy takes it: a number where it has no axes."""
    value = to_host(function, given)
    return value[()] if type(value) is np.ndarray else value


class _Kind(type):
    """The class of classes of which NumPy's generators are instances too: libraries make and keep those."""

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = cls.__base__ if cls.__module__ == __name__ and cls.__base__ in _NUMPYS else cls
        return issubclass(type(instance), kind)


_NUMPYS = (theirs.Generator, theirs.RandomState)


class Generator(theirs.Generator, metaclass=_Kind):
    """NumPy's `Generator`, whose arrays are ours.

    Examples
    --------
    >>> import nabla_array as xp
    >>> rng = xp.random.Generator(xp.random.PCG64(7))
    >>> rng.standard_normal(3)
    array([ 0.00123015,  0.29874554, -0.27413786])
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), *super().__reduce__()[1:]


class RandomState(theirs.RandomState, metaclass=_Kind):
    """NumPy's `RandomState`, whose arrays are ours.

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.random.RandomState(42).randint(100, size=5)
    array([51, 92, 14, 71, 60])
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__(_known("RandomState", seed))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), *super().__reduce__()[1:]


class _Method:
    """A method of a generator, wrapped when it is first asked for: to wrap all of them takes milliseconds."""

    def __init__(self, function: Callable[..., Any], kind: type, name: str) -> None:
        self._function, self._kind, self._name = function, kind, name

    def __get__(self, generator: Any, kind: type) -> Any:
        # Threads that come at the same time make the same twice.
        made = _drawing(self._function, f"{self._kind.__name__}.{self._name}")
        setattr(self._kind, self._name, made)
        return made if generator is None else MethodType(made, generator)


for _kind in (Generator, RandomState):
    _SIMPLE.add(_kind)
    for _name, _method in vars(_kind.__base__).items():
        if callable(_method) and not _name.startswith("_"):
            setattr(_kind, _name, _Method(_method, _kind, _name))


def default_rng(seed: Any = None) -> Generator:
    """Return a generator with NumPy's default bit generator.

    Parameters
    ----------
    seed : None, int, array of ints, SeedSequence, BitGenerator, Generator or RandomState, optional
        As for NumPy's function of that name. None asks the operating system; a generator comes back, or
        shares its state with the new one.

    Returns
    -------
    Generator

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.random.default_rng(12345).random(3)
    array([0.22733602, 0.31675834, 0.79736546])
    """
    if issubclass(type(seed), Generator):
        own: Generator = seed
        return own
    return Generator(theirs.default_rng(_known("default_rng", seed)).bit_generator)


class _Global(RandomState):
    """The generator whose methods are the functions of this module, which share NumPy's global state."""

    def __init__(self) -> None:
        super().__init__(theirs.get_bit_generator())

    def __getattribute__(self, name: str) -> Any:
        return getattr(sys.modules[__name__], name) if name in _FUNCTIONS else super().__getattribute__(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return RandomState, *theirs.mtrand._rand.__reduce__()[1:]


_FUNCTIONS = {name for name in __all__ if hasattr(theirs.RandomState, name)}
_Global.__name__ = "RandomState"
# As in NumPy, where many programs look for the global generator: ``np.random.mtrand._rand``.
mtrand = ModuleType(f"{__name__}.mtrand", theirs.mtrand.__doc__)
vars(mtrand).update(_rand=_Global(), __getattr__=lambda name: getattr(sys.modules[__name__], name))
sys.modules[mtrand.__name__] = mtrand
__path__: list[str] = []  # its other submodules are found among NumPy's


def __getattr__(name: str) -> Any:
    """Wrap a function of numpy.random's, or return what else it has: submodules, the global bit generator."""
    if name.startswith("_"):
        raise AttributeError(f"module 'nabla_array.random' has no attribute {name!r}")
    found = getattr(theirs, name)
    if name in __all__ and not isinstance(found, type):
        found = globals()[name] = _drawing(found, name)
    return found


def __dir__() -> list[str]:
    return __all__
