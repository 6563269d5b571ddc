"""Functions that write to arrays that they capture, under every transform, against a loop in Python."""

from __future__ import annotations

import functools
import sys
import types
import warnings
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms as t
from nabla_array.transforms import SplitWarning, vmap
from nabla_array.transforms.captured import _arrays_of

from .capturing import X, close, settle

pytestmark = [
    pytest.mark.filterwarnings("ignore::nabla_array.transforms.SplitWarning"),
    pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning"),
]
START = np.arange(6.0).reshape(2, 3)
Body = Callable[[Any, Any], Any]


def by_loop(body: Body, rows: np.ndarray = X, start: np.ndarray = START) -> tuple[np.ndarray, np.ndarray]:
    """Return what NumPy's loop gives, and what it leaves in the captured array."""
    c = start.copy()
    return np.stack([np.array(body(c, r.copy())) for r in rows]), c


# -- ways to write -----------------------------------------------------------------------------------------


def _helper(c: Any, x: Any) -> None:
    c[1, 2] -= x[1]


def _write(write: Callable[[Any, Any], Any]) -> Body:
    def body(c: Any, x: Any) -> Any:
        write(c, x)
        return x * 2 + c[0, 0]

    return body


def _plus(c: Any, x: Any) -> None:
    c += x


def _part(c: Any, x: Any) -> None:
    part = c[:, 1:]
    part *= x[0]


def _flat(c: Any, x: Any) -> None:
    c.flat[2] = x[0]


def _if(c: Any, x: Any) -> None:
    if x[0] > 0:
        c[0, 0] += 1
    else:
        c[1, 1] += 1


def _swallowed(c: Any, x: Any) -> None:
    try:
        c[0, 0] += x[0]
    except RuntimeError:
        raise AssertionError from None


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "an element": lambda c, x: c.__setitem__((0, 0), x[0]),
    "added to an element": lambda c, x: c.__setitem__((0, 0), c[0, 0] + x[0]),
    "a row": lambda c, x: c.__setitem__(1, x),
    "all": lambda c, x: c.__setitem__(..., x),
    "in place": _plus,
    "a view": _part,
    "transposed": lambda c, x: c.T.__setitem__(0, x[:2]),
    "reshaped": lambda c, x: c.reshape(-1).__setitem__(3, x[0]),
    "flat": _flat,
    "a mask": lambda c, x: c.__setitem__(c > 2, 1.5),
    "a list": lambda c, x: c.__setitem__([1, 0], x[0]),
    "what is the same for all": lambda c, x: c.__setitem__((0, 1), c[0, 1] + 1),
    "a number": lambda c, x: c.__setitem__((0, 1), 7),
    "one of two ways": _if,
    "in a function": _helper,
    "out=": lambda c, x: np.multiply(c, 0.5, out=c),
    "out= of the batch": lambda c, x: np.add(c, x, out=c),
    "add.at": lambda c, x: np.add.at(c, (0, [0, 0]), x[0]),
    "copyto": lambda c, x: np.copyto(c, x),
    "put": lambda c, x: np.put(c, [0, 5], [1.0, 2.0]),
    "putmask": lambda c, x: np.putmask(c, np.asarray([[True, False, True]] * 2), 3.0),
    "place": lambda c, x: np.place(c, np.asarray([[True, False, True]] * 2), [4.0]),
    "fill": lambda c, x: c.fill(2.5),
    "fill_diagonal": lambda c, x: np.fill_diagonal(c, 9.0),
    "put_along_axis": lambda c, x: np.put_along_axis(c, np.asarray([[0], [1]]), 8.0, 1),
    "sort": lambda c, x: (c.__setitem__((0, 0), x[0]), c.sort(axis=0)),
    "partition": lambda c, x: c[:, ::-1].partition(1),
    "swallowed": _swallowed,
}


@pytest.mark.parametrize("make", [xp.asarray, np.array], ids=["ours", "NumPy's"])
@pytest.mark.parametrize("name", WRITES)
def test_writes_to_what_is_captured_are_those_of_a_loop(name: str, make: Any) -> None:
    body = _write(WRITES[name])
    wanted, left = by_loop(body)
    c = make(START)
    close(vmap(lambda x: body(c, x))(xp.asarray(X)), wanted)
    close(c, left)
    settle(c)


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_an_argument_that_all_examples_share(name: str) -> None:
    body = _write(WRITES[name])
    wanted, left = by_loop(body)
    for make in (xp.asarray, np.array):
        c = make(START)
        close(vmap(body, in_axes=(None, 0))(c, xp.asarray(X)), wanted)
        close(c, left)
        settle(c)


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")  # from 2.5 on
def test_shapes_and_dtypes_set_in_place() -> None:
    def shape(c: Any, x: Any) -> Any:
        c.shape = c.shape[::-1]
        return x[: c.shape[0]].sum()

    def size(c: Any, x: Any) -> Any:
        c.resize((c.shape[0] + 1, 3), refcheck=False)
        return x.sum() * c.shape[0]

    for body in (shape, size):
        wanted, left = by_loop(body, X[:3])
        c = xp.asarray(START)
        close(vmap(functools.partial(body, c))(xp.asarray(X[:3])), wanted)
        close(c, left)
        assert c.shape == left.shape

    def dtype(x: Any) -> Any:
        c.dtype = np.int64 if c.dtype == np.float64 else np.float64
        return x + (c.dtype == np.int64)

    c = xp.asarray(START)
    close(vmap(dtype)(xp.asarray(X[:3, 0])), X[:3, 0] + [1, 0, 1])
    assert c.dtype == np.int64


def test_memory_that_is_given_away() -> None:
    def data(c: Any, x: Any) -> Any:
        c.data[0, 1] = 5.0
        return x

    def pointer(c: Any, x: Any) -> Any:
        np.ctypeslib.as_array(
            c.ctypes.data_as(np.ctypeslib.ctypes.POINTER(np.ctypeslib.ctypes.c_double)), (6,)
        )[2] += 1
        return x

    for body in (data, pointer):
        wanted, left = by_loop(body)
        c = xp.asarray(START)
        close(vmap(functools.partial(body, c))(xp.asarray(X)), wanted)
        close(c, left)
        settle(c)


# -- ways to capture ---------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b")
_STATE: Any = None


class Slots:
    __slots__ = ("held",)

    def __init__(self, c: Any) -> None:
        self.held = c

    def step(self, x: Any) -> Any:
        self.held[0] += x
        return x * 2


class Callable_(Slots):
    def __call__(self, x: Any) -> Any:
        return self.step(x)


@dataclass
class Layer:
    params: dict[str, Any]


def _add(c: Any, x: Any) -> Any:
    c[0] += x
    return x * 2


def _of_global(c: Any) -> Any:
    global _STATE
    _STATE = c

    def f(x: Any) -> Any:
        _STATE[0] += x
        return x * 2

    return f


def _of_class(c: Any) -> Any:
    class Holder:
        state = c

        @staticmethod
        def step(x: Any) -> Any:
            return _add(Holder.state, x)

    return lambda x: Holder().step(x)


def _of_module(c: Any) -> Any:
    module = types.ModuleType("a_users_module")
    module.__file__ = __file__
    module.state = c  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"module": module}
    exec("def f(x):\n    module.state[0] += x\n    return x * 2", scope)
    return scope["f"]


def _of_default(c: Any) -> Any:
    def f(x: Any, c: Any = c) -> Any:
        return _add(c, x)

    return f


def _of_keyword(c: Any) -> Any:
    def f(x: Any, *, c: Any = c) -> Any:
        return _add(c, x)

    return f


def _of_nested(c: Any) -> Any:
    def f(x: Any) -> Any:
        return (lambda y: _add(c, y))(x)

    return f


def _of_wrapped(c: Any) -> Any:
    inner = lambda x: _add(c, x)  # noqa: E731

    @functools.wraps(inner)
    def f(x: Any) -> Any:
        return f.__wrapped__(x)

    return f


def _of_attribute(c: Any) -> Any:
    def f(x: Any) -> Any:
        return _add(f.state, x)  # type: ignore[attr-defined]

    f.state = c  # type: ignore[attr-defined]
    return f


CAPTURES: dict[str, Callable[[Any], Any]] = {
    "closure": lambda c: lambda x: _add(c, x),
    "global": _of_global,
    "default": _of_default,
    "keyword": _of_keyword,
    "nested": _of_nested,
    "wrapped": _of_wrapped,
    "attribute of the function": _of_attribute,
    "partial": lambda c: functools.partial(_add, c),
    "partial of a partial": lambda c: functools.partial(functools.partial(_add), c),
    "method": lambda c: Slots(c).step,
    "callable": Callable_,
    "object": lambda c: (lambda o: lambda x: o.step(x))(Slots(c)),
    "class": _of_class,
    "module": _of_module,
    "list": lambda c: (lambda many: lambda x: _add(many[1], x))([None, c]),
    "tuple": lambda c: (lambda many: lambda x: _add(many[0][0], x))(((c,),)),
    "named tuple": lambda c: (lambda pair: lambda x: _add(pair.b, x))(Pair(1, c)),
    "dict": lambda c: (lambda many: lambda x: _add(many["k"], x))({"k": c}),
    "ordered dict": lambda c: (lambda many: lambda x: _add(many["k"], x))(OrderedDict(k=c)),
    "default dict": lambda c: (lambda many: lambda x: _add(many["k"], x))(defaultdict(list, k=c)),
    "namespace": lambda c: (lambda o: lambda x: _add(o.c, x))(types.SimpleNamespace(c=c)),
    "deep": lambda c: (lambda o: lambda x: _add(o.params["layers"][0].params["w"], x))(
        Layer({"layers": [Layer({"w": c})]})
    ),
    "view": lambda c: (lambda part: lambda x: _add(part, x))(c[::-1]),
    "memo": lambda c: (lambda get: lambda x: _add(get(), x))(functools.lru_cache(lambda: c)),
    "another transform": lambda c: t.checkpoint(lambda x: _add(c, x)),
    "compiled": lambda c: t.compile(lambda x: _add(c, x)),
}


@pytest.mark.parametrize("make", [xp.asarray, np.array], ids=["ours", "NumPy's"])
@pytest.mark.parametrize("name", CAPTURES)
def test_arrays_are_found_wherever_they_are_held(name: str, make: Any) -> None:
    wanted = START.copy()
    row = 1 if name == "view" else 0
    wanted[row] += X.sum()
    c = make(START)
    f = CAPTURES[name](c)
    close(vmap(f)(xp.asarray(X[:, 0])), X[:, 0] * 2)
    wanted[row] += X[:, 0].sum() - X.sum()
    close(c, wanted)
    settle(c)


def test_looking_for_arrays_runs_no_code_and_ends() -> None:
    class Odd:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

        @property
        def value(self) -> Any:
            raise AssertionError

        def __iter__(self) -> Any:
            raise AssertionError

        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = None  # type: ignore[assignment]

    class Oddest(dict[Any, Any]):
        def values(self) -> Any:
            raise AssertionError

        def __iter__(self) -> Any:
            raise AssertionError

    endless: list[Any] = [Odd(), Oddest(a=1), np, sys, unset_slot := Slots.__new__(Slots)]
    endless.append(endless)
    n = np.zeros(3)
    many = [list(range(100_000)), {i: i for i in range(10_000)}]
    found = _arrays_of([lambda: (endless, many, n, unset_slot)])
    assert [x is n for x in found] == [True]


def test_what_libraries_hold_is_left_alone() -> None:
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(np.arange(5.0), np.arange(5.0) ** 2)
    assert _arrays_of([lambda x: spline(x)]) == []


# -- what goes on as before --------------------------------------------------------------------------------


def test_arrays_of_the_function_are_written_at_once() -> None:
    class Model:
        def __init__(self) -> None:
            self.buffer: Any = None

        def __call__(self, x: Any) -> Any:
            self.buffer = xp.zeros(3)
            self.buffer[1:] += x[1:]
            view = self.buffer[:2]
            view *= 2
            again = self.buffer.copy()
            again[0] = 1
            own = xp.sin(x)
            own += 1
            own[0] = x[2]
            xp.add(own, 1, out=own)
            x[0] = 5
            x += 1
            return own + again + x

    def plain(x: np.ndarray) -> np.ndarray:
        buffer = np.append(0, x[1:])
        buffer[:2] *= 2
        buffer[0] = 1
        own = np.sin(x) + 2
        own[0] = x[2] + 1
        return own + buffer + np.append(6, x[1:] + 1)

    model = Model()
    close(vmap(model, strict=True)(xp.asarray(X)), np.stack([plain(x) for x in X]))
    kept = np.ones(3)
    scale, shift = xp.asarray(kept), kept
    close(vmap(lambda x: x * scale + shift, strict=True)(xp.asarray(X)), X + 1)
    scale += 1
    shift += 1
    close(scale, kept)


def test_a_copy_of_what_is_captured_is_the_functions_own() -> None:
    c, n = xp.asarray(START), START.copy()

    def f(x: Any) -> Any:
        mine, his = c.copy(), xp.asarray(n)
        mine[0] = x
        his[1] += x
        other = c[0] * 1
        other += x
        return mine + his + other

    wanted = []
    for x in X:
        mine, his = START.copy(), START.copy()
        mine[0] = x
        his[1] += x
        wanted.append(mine + his + START[0] + x)
    close(vmap(f, strict=True)(xp.asarray(X)), np.stack(wanted))
    close(c, START)
    close(n, START)


def test_read_only_arrays_stay_what_they_are() -> None:
    frozen = np.ones(3)
    writeable = frozen[:]
    frozen.flags.writeable = False  # so that the view, once it is read-only, stays so
    strided = np.lib.stride_tricks.as_strided(np.ones(3), (2,), (8,))
    buffered = np.frombuffer(bytearray(24))
    base = np.ones(3)
    view = base[1:]
    close(
        vmap(lambda x: x + frozen + writeable + strided[0] + buffered + base + view[0])(xp.ones((2, 3))), 6.0
    )
    assert not frozen.flags.writeable
    assert writeable.flags.writeable
    assert strided.flags.writeable
    assert buffered.flags.writeable
    assert base.flags.writeable
    assert view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        vmap(lambda x: frozen.__setitem__(0, 1))(xp.ones((2, 3)))


# -- errors, and what is told ------------------------------------------------------------------------------


def test_strict_names_the_line() -> None:
    for c in (xp.asarray(START), START.copy()):

        def f(x: Any, c: Any = c) -> Any:
            c[0, 0] += 1
            return x

        with pytest.raises(
            TypeError, match=r"strict=True, no array may be written .*test_captured\.py:\d+\)"
        ):
            vmap(f, strict=True)(xp.ones(3))
        close(c, START)
        settle(c)
        with pytest.raises(ValueError, match="without examples, no array may be written to"):
            vmap(f)(xp.ones(0))
        close(c, START)
        settle(c)


def test_a_warning_names_the_line_once() -> None:
    c = xp.zeros(2)

    def f(x: Any) -> Any:
        c[0] += x
        return x

    for wanted in (1, 0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            vmap(f)(xp.ones(3))
        told = [w for w in caught if issubclass(w.category, SplitWarning)]
        assert len(told) == wanted
        if told:
            assert told[0].filename == __file__
            assert told[0].lineno == f.__code__.co_firstlineno + 1
            assert "an array that the function captures is written to here" in str(told[0].message)
    close(c, [6, 0])


def test_errors_leave_arrays_as_they_are() -> None:
    n, c = START.copy(), xp.asarray(START)

    def f(x: Any) -> Any:
        raise KeyError("of the function's own")

    def g(x: Any) -> Any:
        n[0, 0] = 1
        c[0, 0] = 1
        raise KeyError("after a write")

    for call in (lambda: vmap(lambda x: f(x) + n)(xp.ones(3)), lambda: vmap(g)(xp.ones(3))):
        with pytest.raises(KeyError):
            call()
        settle(n)
        settle(c)
    with pytest.raises(KeyError):
        vmap(lambda x: vmap(g)(x))(xp.ones((2, 3)))
    settle(n)


def test_what_swallows_errors_does_not_swallow_a_write() -> None:
    c = xp.zeros(1)

    def f(x: Any) -> Any:
        try:
            c[0] += x
        except BaseException:
            return x * 0
        return x

    close(vmap(f)(xp.asarray([1.0, 2.0])), [1, 2])
    close(c, [3])


def test_arrays_left_behind_by_a_batch_are_told() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        own = xp.zeros(2)
        own[0] = x
        kept.append(own)
        return x

    vmap(keep)(xp.ones(3))
    with pytest.raises(RuntimeError, match="outside of the vmap"):
        np.asarray(kept[0])
    with pytest.raises(RuntimeError, match="outside of the vmap"):
        vmap(lambda x: kept[0][0] + x)(xp.ones(3))

    cache: dict[str, Any] = {}

    def f(x: Any) -> Any:  # as many examples go each way
        kind = 0 if x < 1 else 1 if x < 2 else 2
        return cache.setdefault("k", x * kind) + x

    with pytest.raises((RuntimeError, ValueError)):
        vmap(f)(xp.asarray([0.5, 1.5, 2.5]))
