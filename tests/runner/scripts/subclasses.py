"""Classes that NumPy calls: subclasses of `ndarray`, overrides, conversions. Prints what NumPy gives."""

import copy
import pickle
import typing
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sized
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.random.mtrand import _rand


class Named(np.ndarray):
    """The documentation's first example: an attribute that views and results inherit."""

    def __new__(cls, values, name=None):
        made = np.asarray(values).view(cls)
        made.name = name
        return made

    def __array_finalize__(self, parent):
        if parent is not None:
            self.name = getattr(parent, "name", None)


class Shaped(np.ndarray, ABC):
    def __new__(cls, shape, dtype=float, buffer=None):
        made = np.ndarray.__new__(cls, shape, dtype, buffer)
        if buffer is None:
            made[...] = 2
        return made

    @abstractmethod
    def area(self):
        """What a subclass has to say."""


class Square(Shaped):
    def area(self):
        return np.ndarray.sum(self) * 1.0


class Inexact(np.ndarray):
    """The documentation's example of an override: it counts what was called."""

    called: ClassVar = []

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        Inexact.called.append((ufunc.__name__, method, ufunc is np.add))
        inputs = [x.view(np.ndarray) if isinstance(x, Inexact) else x for x in inputs]
        if out:
            options["out"] = tuple(x.view(np.ndarray) if isinstance(x, Inexact) else x for x in out)
        results = super().__array_ufunc__(ufunc, method, *inputs, **options)
        if results is NotImplemented:
            return NotImplemented
        if ufunc.nout == 1:
            results = (results,)
        pairs = zip(results, out or (None,) * ufunc.nout, strict=True)
        results = [np.asarray(r).view(Inexact) if o is None else o for r, o in pairs]
        return results[0] if len(results) == 1 else tuple(results)


class Watched(np.ndarray):
    seen: ClassVar = []

    def __array_function__(self, function, types, args, kwargs):
        Watched.seen.append((function.__name__, function is np.sum))
        return super().__array_function__(function, types, args, kwargs)


class Operators(np.ndarray):
    __hash__ = None

    def __mul__(self, other):
        return np.ndarray.__mul__(self, other)

    def __eq__(self, other):
        return np.ndarray.__eq__(self, other)

    def __getitem__(self, key):
        return np.ndarray.__getitem__(self, key)

    def __repr__(self):
        return "<" + np.ndarray.__repr__(self) + ">"


warnings.simplefilter("ignore", DeprecationWarning)
HANDLED = {}


class Diagonal(NDArrayOperatorsMixin):
    """The documentation's example of a container that is no array."""

    def __init__(self, size, value):
        self.size, self.value = size, value

    def __repr__(self):
        return f"Diagonal({self.size}, {float(self.value)})"

    def __array__(self, dtype=None, copy=None):
        return self.value * np.eye(self.size)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method != "__call__" or ufunc not in (np.multiply, np.add):
            return NotImplemented
        values = [x.value if isinstance(x, Diagonal) else x for x in inputs]
        return Diagonal(self.size, ufunc(*values, **options))

    def __array_function__(self, function, types, args, kwargs):
        if function not in HANDLED or not all(issubclass(t, (Diagonal, np.ndarray)) for t in types):
            return NotImplemented
        return HANDLED[function](*args, **kwargs)


HANDLED[np.sum] = lambda x: x.size * x.value
HANDLED[np.linalg.det] = lambda x: x.value**x.size


class Quantity:
    """A number with more to it, as units and parameters are."""

    def __init__(self, values):
        self.values = np.array(values)

    def __array__(self, *args, **kwargs):
        return np.array(self.values)

    def __float__(self):
        return self.values.mean()  # a number of NumPy's is one of Python's: a warning tells

    def __complex__(self):
        return self.values.mean() + 0j

    def __index__(self):
        return int(self.values.sum())


named = Named([1.0, 2.0, 3.0], "n")
print(
    (named + 1).name, np.sin(named)[1:].name, (np.ones(3) * named).name, type(named.view(np.ndarray)) is Named
)
print(
    named.view(np.ndarray),
    named.view(type=np.ndarray),
    named.view(np.int64)[0],
    np.asanyarray(named) is named,
)
print(copy.deepcopy(named).name, type(np.array(named, subok=True)) is Named, type(np.array(named)) is Named)
square = Square((2, 2))
print(square.area(), square.T.shape, isinstance(square, np.ndarray), Square.__mro__[-2].__name__)
values = np.arange(5.0).view(Inexact)
target = np.zeros(5).view(Inexact)
print(
    repr(np.add(values, 1, out=target)),
    repr(values * np.ones(5)),
    repr(np.add.reduce(values)),
    np.modf(values)[0],
)
values += 2
print(values, Inexact.called)
watched = np.arange(3).view(Watched)
print(repr(np.sum(watched)), np.concatenate([watched, watched]), Watched.seen)
own = np.array([3.0, 4.0]).view(Operators)
print(own * 2, own == own, own[::-1], np.ndarray.mean(np.arange(4.0)), np.linalg.norm(own))
diagonal = Diagonal(3, 2.0)
print(diagonal * 3, 1 + diagonal, np.multiply(diagonal, diagonal), np.sum(diagonal), np.linalg.det(diagonal))
print(np.dot(np.asarray(diagonal), np.ones(3)))
for refused in (lambda: np.subtract(diagonal, 1), lambda: np.mean(diagonal)):
    try:
        refused()
    except TypeError as error:
        print(type(error).__name__)
quantity = Quantity([1.0, 2.0])
np.testing.assert_allclose(quantity, [1, 2])
print(np.sin(quantity), np.ones(2) + quantity, float(quantity), complex(quantity), [0, 1, 2, 3][quantity])
print(np.ma.asanyarray(np.ma.array([1, 2], mask=[0, 1])), np.asanyarray(np.ma.array([1, 2], mask=[0, 1])))
np.random.seed(3)
first = np.random.mtrand._rand.normal(), np.random.normal(), _rand.normal()
np.random.seed(3)
print(list(first) == [np.random.normal() for _ in range(3)], isinstance(_rand, np.random.RandomState))
again = pickle.loads(pickle.dumps(_rand))
print(again.normal() == np.random.normal(), again is _rand)
for stream in (np.random.default_rng(5), np.random.RandomState(5), np.random.SeedSequence(5)):
    restored = pickle.loads(pickle.dumps(stream))
    print(type(restored) is type(stream))
print(np.version.version == np.__version__, np.lib.NumpyVersion(np.__version__) >= "1.25.0")
for value in (np.ones(2)[0], np.arange(3).sum(), np.ones(2), [1], 2.5):
    kinds = (
        Iterable,
        Sized,
        Collection,
        typing.Iterable,
        typing.Sized,
        Real,
        Integral,
        float,
        int,
        np.floating,
        np.integer,
        np.ndarray,
    )
    print([isinstance(value, kind) for kind in kinds])


@typing.runtime_checkable
class Measured(typing.Protocol):  # an attribute, so that no class can be asked
    shape: tuple

    def sum(self): ...


@typing.runtime_checkable
class Framed(typing.Protocol):
    columns: list


for value in (np.ones(2)[0], np.ones(2), np.array(3.0), [1]):
    print([isinstance(value, kind) for kind in (Measured, Framed, typing.SupportsFloat)])

# Another module asks whether a number is a collection.
print(pytest.approx({"mean": np.ones(3).mean()}) == {"mean": 1.0}, pytest.approx(np.ones(3)) == [1, 1, 1])
