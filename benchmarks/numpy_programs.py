"""Random programs on arrays, run by NumPy and by us side by side: views, writes, in-place operators, out=."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

import nabla_array as xp

# What a step of NumPy's may raise.
ERRORS = (IndexError, TypeError, ValueError, OverflowError, AttributeError, ZeroDivisionError)
# Elements of an array that a program goes on with, at most.
_LARGEST = 5000
DTYPES = (np.bool, np.int8, np.int32, np.uint8, np.float32, np.float64, np.complex128)

Thunk = Callable[[], Any]
Shape = tuple[int, ...]

# Nothing is compared that a transposed result would make differ: NumPy gives some copies in Fortran
# order, and then a reshape of them is a view where ours, always in C order, is not, or the other way round.


class Chooser(Protocol):
    """What programs are drawn from: a seed, or whatever makes them smaller once one has failed."""

    def number(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`."""

    def order(self, n: int) -> list[int]:
        """Return the numbers below n in some order."""


class Seeded:
    """Draws from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def order(self, n: int) -> list[int]:
        return self._random.sample(range(n), n)


class Difference(AssertionError):
    """What we do is not what NumPy does."""


class Undefined(Exception):
    """What NumPy wrote depends on the machine: integers of floats that are beyond all integers."""


def counted(shape: Shape, modulus: int, dtype: Any) -> np.ndarray:
    return (np.arange(1, np.prod(shape, dtype=int) + 1) % modulus).astype(dtype).reshape(shape)


def compare(ours: Any, theirs: np.ndarray, what: str) -> None:
    """Raise Difference unless shape, dtype and elements are alike: the same bits, or nearly."""
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        raise Difference(f"{what}: {ours.dtype}{ours.shape}, NumPy's is {theirs.dtype}{theirs.shape}")
    value = np.asarray(ours)
    if theirs.dtype == bool:  # bytes that were written to one through a view may be any, and count as true
        value, theirs = value.view(np.uint8) != 0, theirs.view(np.uint8) != 0
    same = value == theirs
    if theirs.dtype.kind in "fc":
        eps = np.finfo(theirs.dtype).eps
        with np.errstate(all="ignore"):
            same |= np.isclose(value, theirs, rtol=64 * eps, atol=64 * eps, equal_nan=True)
    if not np.all(same):
        raise Difference(f"{what}:\n{value!r}\nNumPy's is\n{theirs!r}")


class Machine:
    """Live arrays, ours and NumPy's side by side, and the steps that a program is made of."""

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser
        self.pairs: list[tuple[Any, np.ndarray]] = []
        self.log: list[str] = []
        self.done: Counter[str] = Counter()

    # -- choices -----------------------------------------------------------------------------------

    def number(self, low: int, high: int) -> int:
        return self._chooser.number(low, high)

    def pick(self, *choices: Any) -> Any:
        return choices[self.number(0, len(choices) - 1)]

    def order(self, n: int) -> list[int]:
        return self._chooser.order(n)

    def flip(self) -> bool:
        return self.pick(True, False)

    def new(self) -> None:
        """Make an array."""
        shape = tuple(self.pick(2, 3, 4, 2, 1, 0) for _ in range(self.number(0, 3)))
        dtype = np.dtype(self.pick(*DTYPES))
        theirs = counted(shape, 7, dtype)
        if dtype.kind == "c":
            theirs += 1j * theirs[::-1] if shape else 2j
        self.log.append(f"x{len(self.pairs)} = {dtype}{shape}")
        self.pairs.append((xp.asarray(theirs), theirs))

    def some(self) -> tuple[int, Any, np.ndarray]:
        """Return one of the arrays: often the newest, so that views of views of views are made."""
        i = len(self.pairs) - 1 if self.flip() else self.number(0, len(self.pairs) - 1)
        return i, *self.pairs[i]

    def axis(self, a: np.ndarray) -> int:
        """Return an axis, or now and then one that is none."""
        return self.number(-a.ndim, a.ndim - 1) if a.ndim else 0

    # -- keys and values ---------------------------------------------------------------------------

    def slice(self, n: int) -> slice:
        bounds = [None if self.number(0, 3) == 0 else self.number(-n - 1, n + 1) for _ in range(2)]
        return slice(*bounds, self.pick(None, 1, 2, -1, -2, 3))

    def integers(self, shape: Shape, low: int, high: int) -> np.ndarray:
        size = int(np.prod(shape, dtype=int))
        return np.array([self.number(low, high) for _ in range(size)], int).reshape(shape)

    def key(self, shape: Shape, basic: bool) -> tuple[Any, Any]:
        """Return a key for us (whose arrays may be ours) and for NumPy."""
        items: list[Any] = []
        axis = 0
        gap = False
        index_shape = tuple(self.number(1, 2) for _ in range(self.number(0, 2)))
        while axis < len(shape):
            n = shape[axis]
            kinds = ["slice", "slice", "int", "new", "all", "gap"]
            kinds += [] if basic else ["ints", "ints", "mask", "flag", "masks"]
            kind = self.pick(*kinds)
            if kind == "gap":
                if gap:
                    break
                items.append(Ellipsis)
                gap = True
                axis += self.number(0, len(shape) - axis)
                continue
            if kind == "new":
                items.append(None)
                continue
            if kind == "flag":
                items.append(self.pick(True, False, np.array(True)))
                continue
            if kind == "masks" and axis + 1 < len(shape):
                items.append(np.arange(n * shape[axis + 1]).reshape(shape[axis : axis + 2]) % 3 == 1)
                axis += 2
                continue
            if kind == "int" and n:
                items.append(self.number(-n, n - 1))
            elif kind == "ints" and n:
                items.append(self.integers(index_shape, -n, n - 1))
            elif kind == "mask":
                items.append(self.integers((n,), 0, 1).astype(bool))
            else:
                items.append(self.slice(n) if kind == "slice" else slice(None))
            axis += 1
        ours = [self.foreign(i) if isinstance(i, np.ndarray) else i for i in items]
        if len(items) == 1 and self.flip():
            return ours[0], items[0]
        return tuple(ours), tuple(items)

    def foreign(self, a: np.ndarray) -> Any:
        kind = self.pick("ours", "numpy", "list")
        if kind == "list" and a.size and a.ndim:
            return a.tolist()
        return xp.asarray(a) if kind == "ours" else a

    def value(self, dtype: np.dtype, shape: Shape) -> tuple[Any, Any]:
        """Return a value for an array of this dtype and shape, for us and for NumPy."""
        kind = self.pick("scalar", "scalar", "array", "live")
        if kind == "scalar":
            one = self.pick(0, 1, 3, True, 2.5)
            return one, one
        if kind == "live":
            _, ours, theirs = self.some()
            if theirs.dtype.kind != "c" or dtype.kind == "c":
                return ours, theirs
        own = tuple(self.pick(n, n, 1) for n in shape)[self.number(0, len(shape)) :]
        theirs = counted(own, 5, self.pick(np.int64, np.float64, bool))
        return (xp.asarray(theirs) if self.flip() else theirs), theirs

    def shape_at(self, a: np.ndarray, key: Any) -> Shape:
        try:
            return a[key].shape
        except IndexError:
            return ()

    def odd(self, a: np.ndarray, key: Any, value: Any) -> bool:
        """Say whether NumPy's answer to a value with too many axes depends on more than the shapes."""
        shape = self.shape_at(a, key)
        lead = np.shape(value)[: max(0, np.ndim(value) - len(shape))]
        basic = not any(isinstance(i, np.ndarray) for i in (key if isinstance(key, tuple) else (key,)))
        return bool(lead) and not (shape and basic and set(lead) == {1})

    # -- running both ------------------------------------------------------------------------------

    def both(self, what: str, ours: Thunk, theirs: Thunk, in_place: bool = False) -> tuple[Any, Any] | None:
        """Run two thunks; None where NumPy fails, and then we must fail in the same way."""
        self.log.append(what)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = self._theirs(theirs) if in_place else theirs()
            except ERRORS as error:
                # In place, dtypes and shapes can be wrong both.
                kind: Any = ERRORS if in_place else next(k for k in ERRORS if isinstance(error, k))
                self.log[-1] += "  # fails"
                try:
                    known(ours())
                except kind:
                    return None
                raise Difference(f"{what}: NumPy raises {error!r}") from None
            return ours(), wanted

    def keep(self, what: str, ours: Thunk, theirs: Thunk) -> None:
        """Let both make another array, or several."""
        made = self.both(f"x{len(self.pairs)} = {what}", ours, theirs)
        if made is None:
            return
        several = isinstance(made[1], tuple | list)
        for out, wanted in zip(*made, strict=True) if several else [made]:
            out, wanted = xp.asarray(out), np.asarray(wanted)
            if (out.shape, out.dtype) != (wanted.shape, wanted.dtype):
                raise Difference(f"{what}: {out.dtype}{out.shape}, not {wanted.dtype}{wanted.shape}")
            if wanted.size <= _LARGEST:  # powers of arrays, as `outer` makes them, would take all day
                self.pairs.append((out, wanted))
            else:
                compare(out, wanted, what)

    def view_of(self, i: int, name: str, *args: Any) -> None:
        """Let both make a view, `name(x, *args)`."""
        ours, theirs = self.pairs[i]
        what = f"{name}(x{i}, {', '.join(map(str, args))})"
        self.keep(what, lambda: getattr(xp, name)(ours, *args), lambda: getattr(np, name)(theirs, *args))

    def compute(
        self,
        what: str,
        function: Callable[[Any, list[Any]], Any],
        *operands: tuple[Any, Any],
        exact: bool = True,
    ) -> None:
        """Let both compute another array, `function(np or xp, operands)`; NumPy's is kept in C order.

        What is not exact is compared at once, and goes on with NumPy's bits.
        """
        n = len(self.pairs)
        self.keep(
            what,
            lambda: own(function(xp, [o for o, _ in operands])),
            lambda: in_order(function(np, [t for _, t in operands])),
        )
        for i in range(n, len(self.pairs) if not exact else n):
            ours, theirs = self.pairs[i]
            compare(ours, theirs, what)
            self.pairs[i] = xp.asarray(theirs), theirs

    def change(
        self, what: str, function: Callable[[Any, list[Any]], Any], *operands: tuple[Any, Any]
    ) -> None:
        """Let both change an array, `function(np or xp, operands)`."""
        self.both(
            what,
            lambda: function(xp, [o for o, _ in operands]),
            lambda: function(np, [t for _, t in operands]),
            in_place=True,
        )

    def _theirs(self, change: Thunk) -> Any:
        """Let NumPy change an array."""
        invalid: list[str] = []
        with np.errstate(invalid="call", call=lambda kind, _: invalid.append(kind)):
            result = change()
        if invalid and any(t.dtype.kind in "iu" for _, t in self.pairs):
            raise Undefined
        return result

    def check(self) -> None:
        """Compare all arrays."""
        for i, (ours, theirs) in enumerate(self.pairs):
            compare(ours, theirs, f"x{i}")

    def run(self, steps: Mapping[str, int], length: int) -> None:
        """Run a program of steps, named as in `numpy_steps`, each so often; a difference tells it, too."""
        names = [name for name, times in steps.items() for _ in range(times)]
        self.new()
        try:
            for _ in range(length):
                name = self.pick(*names)
                self.done[name] += 1
                STEPS[name](self)
            self.check()
        except (Undefined, MemoryError):  # as of counts up to billions
            return
        except Exception as error:
            error.add_note("\n".join(self.log))
            raise


def known(result: Any) -> None:
    """Evaluate what is pending: an error may wait there."""
    for x in result if isinstance(result, tuple | list) else [result]:
        if isinstance(x, xp.Array):
            np.asarray(x)


def own(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(map(own, result))
    return xp.array(result, order="C")


def in_order(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(map(in_order, result))
    return np.array(result, order="C")


STEPS: dict[str, Callable[[Machine], None]] = {}


def step(function: Callable[[Machine], None]) -> Callable[[Machine], None]:
    """Make a function a step under its name."""
    STEPS[function.__name__] = function
    return function
