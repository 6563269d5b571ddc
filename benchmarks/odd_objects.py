"""Objects that do something to arrays while they are asked what they are: for `fuzz_objects.py`."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

import nabla_array as xp

# What odd objects raise; KeyboardInterrupt is no `Exception`.
ERRORS = (
    ValueError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    ZeroDivisionError,
    KeyboardInterrupt,
)
_DTYPES = ("int8", "uint8", "int32", "int64", "float32", "float64", "complex128", "bool")
_NUMBERS = (0, 1, 2, 3, -1, -2, 7, 2**31, -(2**63), 2**63, 2**70)
# How deep odd objects may use others.
_DEEPEST = 3


class World:
    """Arrays that live together, and what a seed draws: arguments, and deeds that change the arrays."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.arrays: list[Any] = []
        self.depth = 0
        for _ in range(self.random.randint(2, 5)):
            self.new()

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def one_in(self, n: int) -> bool:
        return self.random.randrange(n) == 0

    # -- arrays ------------------------------------------------------------------------------------

    def numpys(self) -> np.ndarray:
        """Return an array of NumPy's: small ones, and some that are recorded."""
        shape = self.pick((), (3,), (3, 4), (4, 3), (2, 3, 2), (0,), (1, 5), (300,), (70, 8), (60, 60))
        values = np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape)
        return (values % 5).astype(self.pick(*_DTYPES)) if shape else np.array(2, self.pick(*_DTYPES))

    def new(self) -> Any:
        """Make an array that owns its elements, is a view, is pending, or has NumPy's memory."""
        made = self.numpys()
        x = xp.asarray(made, copy=self.pick(None, True, False))
        kind = self.random.randrange(6)
        if kind == 0 and x.ndim:
            x = x[:: self.pick(1, 2, -1)]
        elif kind == 1:
            x = x * self.pick(1, 2, 0.5) + self.pick(0, 1)
        elif kind == 2:
            x = x.T
        elif kind == 3 and self.arrays and (whole := self.array()).ndim:
            x = whole[self.pick(slice(None), slice(1, None), slice(None, None, -1), ..., None)]
        self.arrays.append(x)
        return x

    def array(self) -> Any:
        """Return one that lives, most often the newest."""
        if not self.arrays:
            return self.new()
        return self.arrays[-1] if self.one_in(2) else self.random.choice(self.arrays)

    def number(self) -> Any:
        return self.random.choice(_NUMBERS) if self.one_in(4) else self.random.randint(-3, 5)

    # -- deeds -------------------------------------------------------------------------------------

    def do(self) -> None:
        """Do something to some array, or raise."""
        if self.one_in(6):
            raise self.random.choice(ERRORS)("odd")
        if self.depth >= _DEEPEST:
            return
        self.depth += 1
        try:
            for _ in range(self.random.randint(1, 2)):
                self.random.choice(_DEEDS)(self)
        except Exception:  # some cannot be: a dtype that the elements do not fit
            if self.one_in(4):
                raise
        finally:
            self.depth -= 1

    def bomb(self) -> None:
        """Leave a cycle whose finalizer does something, whenever a collection finds it."""
        _Bomb(self)

    # -- arguments ---------------------------------------------------------------------------------

    def argument(self, depth: int = 0) -> Any:
        """Return anything that one may pass."""
        kind = self.random.randrange(14 if depth < 2 else 9)
        if kind < 3:
            return self.array()
        if kind < 6:
            return self.odd()
        if kind == 6:
            return self.number()
        if kind == 7:
            return self.pick(None, ..., True, 1.5, 2j, "float64", "C", float, np.int8, np.dtype("f4"), -0.0)
        if kind == 8:
            return self.pick(np.int64(1), np.float64(2), np.uint8(3), np.arange(3), self.numpys())
        if kind == 9:
            return slice(*[self.pick(None, self.number(), self.odd(), self.array()) for _ in range(3)])
        items = [self.argument(depth + 1) for _ in range(self.random.randint(0, 3))]
        return tuple(items) if kind < 12 else items

    def key(self) -> Any:
        """Return what may be a key."""
        items = [
            self.pick(self.small, lambda: self.odd("__index__"), self.part, self.part, self.argument)()
            for _ in range(self.random.randint(1, 2))
        ]
        return items[0] if len(items) == 1 or self.one_in(3) else tuple(items)

    def small(self) -> int:
        return self.random.randint(-2, 1)

    def part(self) -> slice:
        return slice(*[self.pick(None, self.small(), self.odd("__index__"), np.int64(1)) for _ in range(2)])

    def operand(self) -> Any:
        """Return what may be an operand, or a value to be written."""
        names = (
            ("__array__",),
            ("__float__",),
            ("__array_ufunc__",),
            ("__index__", "__int__"),
            ("__getitem__", "__len__"),
        )
        return self.pick(self.array, self.number, self.argument, lambda: self.odd(*self.pick(*names)))()

    def odd(self, *wanted: str) -> Any:
        """Return an object of a class of its own, with some protocols, or derived from a usual class."""
        names = [*wanted, *self.random.sample(list(_PROTOCOLS), 0 if wanted else self.random.randint(1, 5))]
        members: dict[str, Any] = {name: _PROTOCOLS[name] for name in names} | {
            "world": self,
            "__hash__": _hash,
        }
        base = self.random.choice(_BASES) if not wanted and self.one_in(3) else object
        try:
            if base is np.ndarray:
                return np.arange(3).view(type("OddArray", (base,), members))
            if base is object:
                return type("Odd", (), members)()
            return type("Odd", (base,), members)(self.pick(*_GIVEN[base]))
        except ERRORS:  # what is made asks itself
            return object()


def _hash(self: Any) -> int:
    return 1


class _Bomb:
    def __init__(self, world: World) -> None:
        self.world = world
        self.me = self

    def __del__(self) -> None:
        with suppress(BaseException):  # nobody could be told
            self.world.do()


def _set_dtype(w: World) -> None:
    w.array().dtype = w.pick("int8", "uint8", "float32", "int64", "complex128", "uint32")


def _set_shape(w: World) -> None:
    x = w.array()
    x.shape = w.pick((-1,), (x.size,), (1, x.size), (x.size, 1), (2, -1))


def _write(w: World) -> None:
    x = w.array()
    x[w.pick(..., slice(None), slice(1, None), 0, ())] = w.pick(3, 1.5, w.array(), w.numpys())


def _change(w: World) -> None:
    x = w.array()
    x += w.pick(1, 2.5, w.array())


def _resize(w: World) -> None:
    w.array().resize(w.pick((2,), (50,), (3, 4), (), (0,)), refcheck=False)


def _drop(w: World) -> None:
    if w.arrays:
        del w.arrays[w.random.randrange(len(w.arrays))]
    gc.collect(0)


def _drop_all(w: World) -> None:
    w.arrays.clear()


def _lend(w: World) -> None:
    w.pick(lambda x: x.data, lambda x: x.ctypes.data, lambda x: x.__array_interface__)(w.array())


def _look(w: World) -> None:
    w.pick(str, np.asarray, lambda x: x.tolist(), xp.eval)(w.array())


def _freeze(w: World) -> None:
    w.array().flags.writeable = w.pick(True, True, False)


def _more(w: World) -> None:
    w.new()


def _pend(w: World) -> None:
    x = w.array()
    w.arrays.append(w.pick(lambda: x * 2, lambda: x + w.array(), lambda: xp.sin(x), lambda: x == x)())


def _sort(w: World) -> None:
    w.array().sort()


def _bombs(w: World) -> None:
    w.bomb()


_DEEDS: tuple[Callable[[World], None], ...] = (
    *(
        _set_dtype,
        _set_shape,
        _write,
        _change,
        _resize,
        _drop,
        _drop_all,
        _lend,
        _look,
        _freeze,
        _more,
        _pend,
    ),
    *(_sort, _bombs, _set_dtype, _set_shape, _resize, _write),
)


def _answer(make: Callable[[World], Any]) -> Callable[..., Any]:
    """Return a method that does something first, and then answers, or what is no answer."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.world.do()
        return object() if self.world.one_in(15) else make(self.world)

    return method


def _elements(w: World) -> Any:
    return w.pick(w.numpys, lambda: np.arange(3.0), lambda: w.array(), lambda: np.array([None, 1]))()


_int = _answer(lambda w: w.number())
_any = _answer(lambda w: w.pick(w.array(), w.number(), NotImplemented, None))
_PROTOCOLS: dict[str, Any] = {
    "__index__": _int,
    "__int__": _int,
    "__len__": _answer(lambda w: w.random.randint(0, 3)),
    "__float__": _answer(lambda w: w.pick(0.5, 2.0, float("nan"), 1e300)),
    "__complex__": _answer(lambda w: 1j),
    "__bool__": _answer(lambda w: w.pick(True, False)),
    "__str__": _answer(lambda w: w.pick("float64", "odd")),
    "__array__": _answer(_elements),
    "__getitem__": _answer(lambda w: w.pick(w.number(), w.array(), 1.5)),
    "__iter__": _answer(lambda w: iter([w.number() for _ in range(w.random.randint(0, 3))])),
    "__eq__": _any,
    "__lt__": _any,
    "__radd__": _any,
    "__rmul__": _any,
    "__add__": _any,
    "__call__": _any,
    "__array_ufunc__": _any,
    "__array_function__": _any,
    "__array_finalize__": _answer(lambda w: None),
    "__array_wrap__": _any,
    "__array_interface__": property(_answer(lambda w: np.arange(3).__array_interface__)),
    "__array_struct__": property(_answer(lambda w: np.arange(3).__array_struct__)),
    "__dlpack__": _answer(lambda w: np.arange(3.0).__dlpack__()),
    "__dlpack_device__": _answer(lambda w: (1, 0)),
    "__array_namespace__": _answer(lambda w: xp),
    "__buffer__": _answer(lambda w: memoryview(np.arange(3))),
    "__array_priority__": property(_answer(lambda w: 10.0)),
    "__enter__": _any,
    "dtype": property(_answer(lambda w: np.dtype(w.pick(*_DTYPES)))),
    "shape": property(_answer(lambda w: w.pick((), (3,), (3, 4)))),
    "ndim": property(_answer(lambda w: w.random.randint(0, 3))),
    "size": property(_answer(lambda w: 3)),
    "__del__": lambda self: _Bomb.__del__(self),
}
_BASES = (int, float, str, tuple, list, np.int64, np.float64, np.uint8, np.ndarray)
_GIVEN: dict[Any, tuple[Any, ...]] = {
    int: (0, 1, 2, -1),
    float: (0.5, 2.0),
    str: ("float64", "i1"),
    tuple: ((0, 1), (), (1,)),
    list: ([0, 1], [], [1.5]),
    np.int64: (0, 1, 2, -1),
    np.float64: (0.5, 1.0),
    np.uint8: (1, 2),
}
