"""What asks for its caller what a value is: choosing by its class, assertions, and checks of types."""

import functools
import typing
import unittest

import attr
import numpy as np
import numpy.typing as npt
import traitlets
import typeguard

x = np.arange(6.0).reshape(2, 3)
values = {"array": x, "row": x[1], "zero_d": np.array(5.0), "float": x[0, 1], "int": np.arange(3)[1]}
values |= {
    "bool": x[0, 0] > 1,
    "float32": np.float32(2),
    "complex": x[0, 1] * 1j,
    "Python's": 2.0,
    "list": [1.0],
}


@functools.singledispatch
def by_numpys(value):
    return "object"


for kind in (np.ndarray, np.floating, np.integer, np.bool_, list):
    by_numpys.register(kind)(lambda value, name=kind.__name__: name)


@functools.singledispatch
def by_pythons(value):
    return "object"


for kind in (float, int, complex):
    by_pythons.register(kind)(lambda value, name=kind.__name__: name)


class Chosen:
    @functools.singledispatchmethod
    def of(self, value):
        return "object"

    @of.register
    def _(self, value: np.ndarray):
        return "ndarray"

    @of.register
    def _(self, value: float):
        return "float"


@typeguard.typechecked
def checked(
    a: np.ndarray, k: float = 1.0, b: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float64]:
    return a * k


@attr.define
class Model:
    a: np.ndarray = attr.field(converter=np.asarray, validator=attr.validators.instance_of(np.ndarray))
    k: float = attr.field(validator=attr.validators.optional(attr.validators.instance_of(float)))


class Traits(traitlets.HasTraits):
    k = traitlets.Float()
    a = traitlets.Instance(np.ndarray)


def outcome(call, *args, **options):
    try:
        return str(call(*args, **options))
    except (AssertionError, TypeError, traitlets.TraitError, typeguard.TypeCheckError) as error:
        return type(error).__name__


case = unittest.TestCase()
for name, value in values.items():
    print(name, by_numpys(value), by_pythons(value), Chosen().of(value))
    for kind in (np.ndarray, float, int, np.floating, np.generic):
        for asserted in ("assertIsInstance", "assertNotIsInstance"):
            print(outcome(getattr(case, asserted), value, kind))
    print(outcome(checked, value), outcome(checked, x, value), outcome(checked, x, b=value))
    print(outcome(Model, value, None), outcome(Model, x, value))
    print(outcome(Traits, k=value) == "TraitError", outcome(Traits, a=value) == "TraitError")
print(typing.get_type_hints(checked)["b"] == (npt.NDArray[np.float64] | None))
generic = typing.get_origin(npt.NDArray) or np.ndarray  # an alias has none since NumPy 2.5
print(typing.get_origin(npt.NDArray[np.float64]) is np.ndarray, isinstance(x, generic))
