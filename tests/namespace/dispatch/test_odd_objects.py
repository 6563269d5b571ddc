"""Arguments that change arrays, or let go of them, while they are asked what they are."""

from __future__ import annotations

import gc
import operator
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from benchmarks import fuzz_objects
from nabla_array.transforms import compile as compiled
from nabla_array.transforms import grad, vmap

check = fuzz_objects.check


class Odd:
    """Does something each time that it is asked what it is, and then says so."""

    def __init__(self, deed: Callable[[], Any], answer: Any = 1) -> None:
        self.deed = deed
        self.answer = answer

    def __index__(self) -> int:
        self.deed()
        return int(self.answer)

    __int__ = __index__
    __len__ = __index__

    def __float__(self) -> float:
        self.deed()
        return float(self.answer)

    def __bool__(self) -> bool:
        self.deed()
        return bool(self.answer)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        self.deed()
        return np.asarray(self.answer, dtype)


class OddInteger(np.int64):
    """One of NumPy's integers, but for its index."""

    deed: Callable[[], Any]

    def __index__(self) -> int:
        self.deed()
        return 1


def integer(deed: Callable[[], Any]) -> OddInteger:
    found = OddInteger(1)
    found.deed = deed
    return found


class Bomb:
    """Does something when a collection finds it."""

    def __init__(self, deed: Callable[[], Any]) -> None:
        self.deed = deed
        self.me = self

    def __del__(self) -> None:
        self.deed()


@contextmanager
def bombs(deed: Callable[[], Any], many: int, every: int) -> Iterator[None]:
    """Let the first collection do something here, after so many objects."""
    gc.collect(0)
    gc.disable()
    for _ in range(many):
        Bomb(deed)
    before = gc.get_threshold()
    gc.set_threshold(every, 1000, 1000)
    gc.enable()
    try:
        yield
    finally:
        gc.set_threshold(*before)


def fresh() -> Any:
    return xp.asarray(np.arange(12.0).reshape(3, 4))[::-1]


DEEDS: dict[str, Callable[[Any], Any]] = {
    "dtype": lambda x: setattr(x, "dtype", "int8"),
    "shape": lambda x: setattr(x, "shape", (4, 3)),
    "elements": lambda x: operator.setitem(x, ..., 7),
    "change": lambda x: operator.iadd(x, 1),
    "resize": lambda x: x.resize((50,), refcheck=False),
    "lend": lambda x: x.ctypes.data,
    "sort": lambda x: x.sort(),
    "raise": lambda x: {}["odd"],
}
KEYS: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "slice": lambda d: slice(Odd(d), None),
    "stop": lambda d: slice(None, Odd(d, 2), Odd(d)),
    "index": lambda d: Odd(d),
    "pair": lambda d: (Odd(d), slice(Odd(d), None)),
    "after a slice": lambda d: (slice(None), Odd(d)),
    "integer": lambda d: integer(d),
    "integer in a slice": lambda d: slice(integer(d), None),
    "list": lambda d: [Odd(d), 0],
    "array": lambda d: Odd(d, [0, 1]),
    "with a mask": lambda d: (np.array([True, False, True]), slice(Odd(d), None)),
    "ellipsis": lambda d: (..., Odd(d)),
    "new axis": lambda d: (None, slice(Odd(d), None)),
}


@pytest.mark.parametrize("is_view", [True, False], ids=["view", "owner"])
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("kind", KEYS)
def test_a_key_may_change_the_array(kind, deed, is_view):
    """Of what it is when it is read, or an error; and it reads as it says afterwards."""
    for _ in range(10):
        x = fresh() if is_view else fresh().copy()

        def do(x: Any = x) -> None:
            DEEDS[deed](x)

        for call in (lambda k, x=x: x[k], lambda k, x=x: operator.setitem(x, k, 5)):
            try:
                y = call(KEYS[kind](do))
            except (IndexError, KeyError, TypeError, ValueError, AttributeError):
                continue
            finally:
                check(x)
            if y is not None:
                check(y)


def test_the_last_reference_to_an_array_goes_with_its_key():
    held: list[Any] = []

    def let_go() -> None:
        held.clear()
        gc.collect(0)

    for key in (slice(Odd(let_go), None), Odd(let_go), (Odd(let_go), 0), [Odd(let_go)]):
        held.append(fresh())
        check(held[0][key])
        held.append(fresh())
        held[0][key] = 3


def test_bounds_are_asked_once():
    for m in (np, xp):
        answers = iter(range(1, 9))
        x = m.arange(8.0)
        part = x[slice(Odd(lambda: None), None)]
        again = x[slice(type("Counts", (), {"__index__": lambda self, a=answers: next(a)})(), None)]
        x[...] = m.arange(10.0, 18.0)
        np.testing.assert_array_equal(np.asarray(again), np.arange(11.0, 18.0))
        np.testing.assert_array_equal(np.asarray(part), np.arange(11.0, 18.0))
        assert next(answers) == 2


@pytest.mark.parametrize("make", [lambda k: slice(k, None), lambda k: (slice(k, None),), lambda k: k])
def test_a_bound_that_is_an_array_may_change_later(make):
    for m in (np, xp):
        x, k = m.arange(6.0), m.asarray(np.array(2))
        part = x[make(k)]
        k[...] = 4
        x += 10
        np.testing.assert_array_equal(
            np.asarray(part), np.arange(6.0)[make(2)] + (10 if np.ndim(part) else 0)
        )


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, o: x + o,
    "reflected": lambda x, o: o * x,
    "in place": lambda x, o: operator.iadd(x, o),
    "out": lambda x, o: xp.add(x, o, out=x),
    "where": lambda x, o: xp.where(x > 3, x, o),
    "clip": lambda x, o: xp.clip(x, o, 7),
    "full": lambda x, o: xp.full(x.shape, o),
    "stack": lambda x, o: xp.stack([x, o]),
    "fill": lambda x, o: x.fill(o),
    "sum": lambda x, o: xp.sum(x, axis=o),
    "reshape": lambda x, o: xp.reshape(x, (o, -1)),
    "roll": lambda x, o: xp.roll(x, o),
    "take": lambda x, o: xp.take(x, o),
    "repeat": lambda x, o: x.repeat(o),
    "reduce": lambda x, o: xp.add.reduce(x, axis=o),
    "at": lambda x, o: xp.add.at(x, o, 1),
    "matmul": lambda x, o: x @ o,
    "linspace": lambda x, o: xp.linspace(x[0], o),
    "numpy": lambda x, o: np.add(x, o),
    "vmap": lambda x, o: vmap(lambda y: y[slice(o, None)] + o)(x),
    "grad": lambda x, o: grad(lambda y: xp.sum(y[slice(o, None)] ** 2))(x),
    "compile": lambda x, o: compiled(lambda y: y[slice(o, None)] * 2)(x),
}


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operand_may_change_the_array(operation, deed):
    for _ in range(3):
        x = fresh()
        for answer in (1, np.ones(4)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    y = OPERATIONS[operation](x, Odd(lambda x=x: DEEDS[deed](x), answer))
            except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
                continue
            finally:
                check(x)
            if isinstance(y, xp.Array):
                check(y)


COLLECTING: dict[str, Callable[[Any], Any]] = {
    "row": lambda x: x[1],
    "slice": lambda x: x[1:],
    "transposed": lambda x: x.T,
    "reshaped": lambda x: x.reshape(-1),
    "ravel": lambda x: x.ravel(),
    "sum of two": lambda x: x + x,
    "pending": lambda x: (x * 2 + x)[0],
    "in place": lambda x: operator.iadd(x, x),
    "written": lambda x: operator.setitem(x, slice(1, None), 3),
    "out of range": lambda x: x[7],
    "no step": lambda x: x[::0],
    "mask": lambda x: x[x > 3],
    "places": lambda x: x[xp.asarray([0, 1])],
    "stack": lambda x: xp.stack([x, x]),
    "mean": lambda x: xp.mean(x, axis=0),
}


@pytest.mark.parametrize("size", [(3, 4), (60, 40), (300, 1000)], ids=["small", "recorded", "large"])
@pytest.mark.parametrize("deed", ["dtype", "shape", "resize", "elements"])
@pytest.mark.parametrize("call", COLLECTING)
def test_a_finalizer_may_change_the_array(call, deed, size):
    for every in (1, 2, 3, 5, 8):
        x = xp.asarray(np.arange(float(np.prod(size))).reshape(size))
        y = None

        def do(x: Any = x) -> None:
            with suppress(TypeError, ValueError, AttributeError):
                DEEDS[deed](x)

        with bombs(do, 3, every), suppress(IndexError, TypeError, ValueError):
            y = COLLECTING[call](x)
        gc.collect(0)
        check(x)
        if y is not None:
            check(y)


def test_a_list_of_arrays_may_become_shorter_on_the_way():
    for every in range(1, 8):
        pending = [xp.asarray(np.arange(100.0)) * k for k in range(6)]
        with bombs(pending.clear, 2, every):
            try:
                check(xp.stack(pending))
            except ValueError:  # none is left
                assert pending == []


def test_a_mask_may_become_longer_on_the_way():
    for every in range(1, 8):
        x, mask = xp.asarray(np.arange(100_000.0)), xp.asarray(np.arange(100_000) % 4 == 0)
        with bombs(lambda m=mask: operator.setitem(m, ..., True), 2, every):
            found = x[mask]
        check(found)
        assert found.size in (25_000, 100_000)


def test_avals_may_be_asked_for_while_one_is_made():
    for n in range(1000, 1040):
        with bombs(lambda n=n: xp.zeros((n, 1, 3)), 5, 1):
            x = xp.zeros((n, 1, 3))
        assert x._node.aval is xp.zeros((n, 1, 3))._node.aval


def test_an_array_that_nothing_was_put_into_is_no_array():
    empty = xp.Array.__new__(xp.Array)
    x = xp.asarray([1.0, 2.0])
    for call in (
        *(
            lambda: empty + 1,
            lambda: x + empty,
            lambda: x[empty],
            lambda: empty[0],
            lambda: xp.stack([empty]),
        ),
        *(lambda: float(empty), lambda: empty.T, lambda: xp.add(x, x, out=empty), lambda: xp.sum(empty)),
        *(lambda: operator.setitem(x, 0, empty), lambda: operator.setitem(empty, 0, 1), lambda: x[empty:]),
        *(
            lambda: operator.iadd(empty, x),
            lambda: np.add(x, empty),
            lambda: np.asarray(empty),
            lambda: -empty,
        ),
    ):
        with pytest.raises((AttributeError, TypeError, ValueError, IndexError)):
            call()
    np.testing.assert_array_equal(np.asarray(x), [1, 2])


def test_a_derived_class_may_give_no_memory():
    class Derived(xp.Array):
        __slots__ = ()

        def __buffer__(self, flags: int, /) -> Any:
            return 3

    x = Derived(xp.asarray([1.0])._node)
    with pytest.raises((TypeError, BufferError)):
        bytearray(x)
    with pytest.raises((TypeError, BufferError)):
        hash(memoryview(x))


def test_what_cannot_be_computed_natively_is_added_to_in_place():
    """What is pending has no elements to look at: a division by zero is left to Python, which warns."""
    x = xp.asarray(np.arange(200)) + 1
    with xp.errstate(divide="warn"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x // xp.zeros(200, dtype="int64")
        with pytest.raises(TypeError):
            y += xp.ones(200)
        y += 1
        np.testing.assert_array_equal(np.asarray(y), np.ones(200))


@pytest.mark.parametrize("exponent", [10**30, 10**400])
def test_an_exponent_may_be_beyond_all_floats(exponent):
    for make in (lambda n: np.ones(n), lambda n: np.full(n, 2)):
        for n in (3, 200):
            theirs = ours = None
            try:
                theirs = make(n) ** exponent
            except (OverflowError, ValueError, TypeError) as error:
                theirs = error
            try:
                ours = np.asarray(xp.asarray(make(n)) ** exponent)
            except (OverflowError, ValueError, TypeError) as error:
                ours = error
            assert isinstance(ours, Exception) or np.array_equal(ours, np.asarray(theirs, ours.dtype))


def test_random_calls_with_odd_objects(capsys):
    assert fuzz_objects.main(["--calls", "3000", "--seed", "4000000"]) == 0
    assert "3000 calls" in capsys.readouterr().out
