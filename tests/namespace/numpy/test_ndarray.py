"""`ndarray` as a class, memory that C writes to, and what is set of an array within transforms."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import gc
import hashlib
import io
import pickle
import struct
import zlib
from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms as t
from nabla_array._lazy.stats import stats
from nabla_array._namespace.dispatch import fastpath
from nabla_array._namespace.interop import policies

from ...optional import HAS_BUFFERS, NO_BUFFERS

X = np.array([1.0, 2.0, 3.0, 4.0])


def test_both_kinds_of_arrays_are_instances() -> None:
    for x in (xp.ones(3), xp.ones(3)[0], np.ones(3), np.zeros(2, "S3")):
        assert isinstance(x, xp.ndarray)
    for thing in (3.0, [1.0], None, np.float64(1)):
        assert not isinstance(thing, xp.ndarray)
    assert issubclass(xp.Array, xp.ndarray)
    assert issubclass(np.matrix, xp.ndarray)
    assert not issubclass(list, xp.ndarray)
    kind = type(xp.ones(3))
    assert kind == xp.ndarray
    assert {xp.ndarray: "found"}[kind] == "found"


def test_patterns_and_dispatch_know_the_class() -> None:
    match xp.ones(2):
        case xp.ndarray():
            pass
        case _:
            pytest.fail("no array")

    @functools.singledispatch
    def kind(x: Any) -> str:
        return "other"

    @kind.register(xp.ndarray)
    def _(x: Any) -> str:
        return "array"

    assert [kind(x) for x in (xp.ones(2), 3)] == ["array", "other"]


def test_annotations() -> None:
    @dataclasses.dataclass
    class Data:
        x: xp.ndarray
        y: xp.ndarray | None = None

    namespace = {"np": xp}
    source = "def f(a: np.ndarray, b: 'np.ndarray[int, float]' = None) -> np.ndarray | None: ..."
    exec(source, namespace)
    assert get_type_hints(namespace["f"])["a"] is xp.ndarray
    again = pickle.loads(pickle.dumps(xp.ones(2)))
    assert Data(again).x is again


def test_a_subclass_is_numpys() -> None:
    class Named(xp.ndarray):  # type: ignore[misc]
        name = "n"

    x = np.arange(3.0).view(Named)
    assert (type(x), x.name, isinstance(x, np.ndarray)) == (Named, "n", True)
    assert type(Named.__mro__[1]) is type
    assert Named.__mro__[-2] is np.ndarray


def test_an_array_over_a_buffer_shares_it() -> None:
    buffer = bytearray(16)
    x = xp.ndarray((2,), float, buffer)
    x[1] = 2.5
    assert np.frombuffer(buffer)[1] == 2.5
    assert type(x) is np.ndarray  # which ours, that are computed, could not be


def test_c_writes_where_ctypes_points() -> None:
    x = xp.arange(4.0)
    view, doubled = x[::2], x * 2
    first = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    first[2] = 7.0
    again = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    again[0] = 5.0
    np.testing.assert_array_equal(np.asarray(x), [5, 1, 7, 3])
    np.testing.assert_array_equal(np.asarray(view), [5, 7])
    np.testing.assert_array_equal(np.asarray(doubled), [0, 2, 4, 6])
    assert view.ctypes.strides[:] == [16]
    assert view.ctypes.data == x.ctypes.data
    x.data[1] = 9.0
    assert float(x[1]) == 9.0
    x.flags.writeable = False
    assert x.data.readonly


buffers = pytest.mark.skipif(not HAS_BUFFERS, reason=NO_BUFFERS)

READERS: dict[str, Callable[[Any], Any]] = {
    "hashlib": lambda x: hashlib.sha256(x).hexdigest(),
    "write": lambda x: io.BytesIO().write(x),
    "zlib": zlib.crc32,
    "join": lambda x: b"-".join([x, b"", x]),
    "unpack": lambda x: struct.unpack_from("b", x),
    "frombuffer": lambda x: np.frombuffer(x, np.uint8).tolist(),
}
MEMORY: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda ns: ns.arange(6.0).reshape(2, 3),
    "pending": lambda ns: ns.arange(6.0) * 2 + 1,
    "of one number": lambda ns: ns.full((2, 3), 2.5),
    "part": lambda ns: ns.arange(9.0)[2:5],
    "transposed": lambda ns: ns.arange(6.0).reshape(2, 3).T,
    "strided": lambda ns: ns.arange(9)[::2],
    "empty": lambda ns: ns.zeros((0, 3)),
    "number": lambda ns: ns.asarray(3, dtype=ns.int16),
    "complex": lambda ns: ns.ones(2, dtype=ns.complex64) * 1j,
    "read-only": lambda ns: ns.broadcast_to(ns.ones(1), (4,)),
}


@buffers
@pytest.mark.parametrize("make", MEMORY.values(), ids=MEMORY)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_c_reads_the_bytes_that_it_reads_of_numpys(
    read: Callable[[Any], Any], make: Callable[[Any], Any]
) -> None:
    try:
        wanted = read(make(np))
    except (TypeError, ValueError, struct.error) as error:
        with pytest.raises(type(error)):
            read(make(xp))
    else:
        assert read(make(xp)) == wanted


@buffers
def test_c_writes_into_arrays_and_their_views() -> None:
    x = xp.zeros(4)
    before = x + 1
    struct.pack_into("d", x, 8, 2.5)
    assert io.BytesIO(np.arange(2.0).tobytes()).readinto(x[2:]) == 16
    np.testing.assert_array_equal(np.asarray(x), [0, 2.5, 0, 1])
    np.testing.assert_array_equal(np.asarray(before), [1, 1, 1, 1])
    with pytest.raises((BufferError, TypeError, ValueError)):
        struct.pack_into("d", xp.broadcast_to(x[:1], (4,)), 0, 1.0)
    x.flags.writeable = False
    with pytest.raises((BufferError, TypeError, ValueError)):
        struct.pack_into("d", x, 0, 1.0)


@buffers
def test_numpy_has_a_copy_and_no_view_of_the_buffer() -> None:
    x = xp.arange(3.0)
    for make in (np.asarray, np.array, lambda x: np.asarray(x, np.float64)):
        copy = make(x)
        copy[0] = 9.0
        assert float(x[0]) == 0.0
    for refused in (memoryview, bytearray):
        with pytest.raises(BufferError, match=r"x\.data"):
            refused(x)


@buffers
def test_a_buffer_is_where_a_derivative_ends() -> None:
    with pytest.raises(TypeError, match="no derivative follows"):
        t.grad(lambda x: xp.sum(x) * zlib.crc32(x))(xp.ones(3))
    crcs = t.vmap(lambda x: xp.asarray(zlib.crc32(x)))(xp.arange(6.0).reshape(2, 3))
    assert crcs.tolist() == [zlib.crc32(row) for row in np.arange(6.0).reshape(2, 3)]


def test_a_resized_array_lets_go_of_views() -> None:
    x = xp.arange(4.0)
    view = x[1:]
    with pytest.raises(ValueError, match="referenced"):
        x.resize(6)
    x.resize(6, refcheck=False)
    x[1] = 9.0
    np.testing.assert_array_equal(np.asarray(view), [1, 2, 3])
    view[0] = 5.0
    np.testing.assert_array_equal(np.asarray(x), [0, 9, 2, 3, 0, 0])
    del view
    gc.collect()
    x.resize(2)
    np.testing.assert_array_equal(np.asarray(x), [0, 9])


def test_a_read_only_array_is_forgotten_with_its_id() -> None:
    for _ in range(100):
        x = xp.ones(2)
        x.flags.writeable = False
        del x
        y = xp.ones(2)
        y[0] = 2.0


def changed(np: Any, x: Any) -> Any:
    """Set a shape and write through views from before and after."""
    y = x * 2
    whole = y[1:]
    y.shape = (2, 2)
    row = y[0]
    y.flat[3] = y.flat[0] ** 2
    row *= x[1]
    whole += 1
    return (y**2).sum() + (y.view(complex).real * x[:2]).sum()


def difference(f: Any, x: np.ndarray) -> np.ndarray:
    h = 1e-6
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy's own, from 2.5 on
def test_what_is_set_has_derivatives_and_batches() -> None:
    def ours(x: Any) -> Any:
        return changed(xp, x)

    def theirs(x: np.ndarray) -> Any:
        return changed(np, x)

    x, many = xp.asarray(X), xp.asarray(np.stack([X, X + 1]))
    np.testing.assert_allclose(np.asarray(ours(x)), theirs(X))
    np.testing.assert_allclose(np.asarray(t.grad(ours)(x)), difference(theirs, X), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(t.vmap(ours)(many)), [theirs(X), theirs(X + 1)])
    gradients = [difference(theirs, X), difference(theirs, X + 1)]
    np.testing.assert_allclose(np.asarray(t.vmap(t.grad(ours))(many)), gradients, rtol=1e-6)
    compiled = t.compile(ours)
    for _ in range(2):
        np.testing.assert_allclose(np.asarray(compiled(x)), theirs(X))


def test_a_compiled_function_may_set_the_shape_of_its_argument() -> None:
    def f(x: Any) -> Any:
        x.shape = (2, 2)
        return x.sum(0)

    compiled = t.compile(f)
    for _ in range(2):
        x = xp.asarray(X)
        np.testing.assert_array_equal(np.asarray(compiled(x)), [4, 6])
        assert x.shape == (2, 2)


@pytest.mark.parametrize("dtype", ["f4", "i8", "c16", "u1"])
def test_bits_read_as_another_dtype_under_vmap(dtype: str) -> None:
    x = np.arange(12.0).reshape(3, 4)
    got = t.vmap(lambda row: row.view(dtype))(xp.asarray(x))
    np.testing.assert_array_equal(np.asarray(got), x.view(dtype))


class Tagged(xp.ndarray):  # type: ignore[misc, valid-type]
    def __array_finalize__(self, obj: Any) -> None:
        self.tag = getattr(obj, "tag", None)


_THROUGH_NUMPY = pytest.mark.filterwarnings(
    "ignore::nabla_array._namespace.interop.functions.HostFallbackWarning"
)


@_THROUGH_NUMPY
def test_what_is_computed_with_a_subclass_is_of_it() -> None:
    tagged = np.asarray([1.0, 2.0, 3.0]).view(Tagged)
    tagged.tag = "m"
    x = xp.asarray([1.0, 2.0, 3.0])
    for found in (tagged + 1, x + tagged, tagged * x, xp.sin(tagged), tagged[1:]):
        assert type(found) is Tagged
        assert found.tag == "m"
    assert type(xp.asarray(tagged)) is xp.Array


class Plain(np.ndarray):
    """A class of a user's own that adds nothing."""


class Vetoing(Plain):
    """One that comes before its operands in NumPy's operators, and says so in its own."""

    def __rsub__(self, other: Any) -> Any:
        return "theirs"


BESIDE_A_SUBCLASS = [
    *(
        "x - q",
        "q - x",
        "x @ q",
        "m @ q",
        "x == q",
        "q == x",
        "x < q",
        "x**q",
        "q // x",
        "x[0] - q",
        "q - x[0]",
    ),
    *(
        "np.sin(q)",
        "np.add(x, q)",
        "np.hypot(q, 2.0)",
        "np.outer(q, q)",
        "np.dot(x, q)",
        "m.dot(q)",
        "np.sum(q)",
    ),
    *(
        "np.linalg.norm(q)",
        "np.concatenate([x, q])",
        "np.stack((q, x))",
        "np.append(x, q)",
        "np.zeros_like(q)",
    ),
    *("np.array(q)", "np.array(q, dtype=float)", "np.asarray(q)", "np.asanyarray(q)", "np.copy(q)"),
    *(
        "np.atleast_2d(q)",
        "np.cross(q[:3], x[:3])",
        "np.where(x > 2, q, x)",
        "np.clip(q, 0, x)",
        "np.sort(q)",
    ),
    *("np.mean(q[None], axis=0)", "np.add.reduce(q)", "np.multiply.outer(x, q)", "np.einsum('i,i', x, q)"),
    *("written(m[:, 1], q)", "written(x[:2], q[1:3])", "written(i, q)", "written(x, q[0])", "out(q)"),
]


@_THROUGH_NUMPY
@pytest.mark.parametrize("call", BESIDE_A_SUBCLASS)
@pytest.mark.parametrize("kind", [Plain, Vetoing, np.matrix])
def test_beside_a_subclass_numpy_answers(call: str, kind: type[np.ndarray]) -> None:
    def answer(ns: Any) -> Any:
        def written(place: Any, value: Any) -> Any:
            place[...] = value
            return place

        def out(value: Any) -> Any:
            return ns.add(value, 1, out=ns.zeros(value.shape))

        x = ns.asarray([0.5, 2.0, 3.0, 4.0])
        q = np.array([1.0, 2.0, 3.0, 4.0]).view(Plain if kind is np.matrix else kind)
        m = ns.reshape(ns.arange(16.0), (4, 4))
        known = {"np": ns, "x": x, "m": m, "i": ns.arange(4), "written": written, "out": out}
        try:
            return eval(call, known | {"q": np.asarray(q).view(np.matrix) if kind is np.matrix else q})
        except (TypeError, ValueError, np.linalg.LinAlgError) as error:
            return type(error)

    wanted, got = answer(np), answer(xp)
    if not isinstance(wanted, np.ndarray | np.generic):
        assert got == wanted
        return
    derived = type(wanted) if isinstance(wanted, np.ndarray) and type(wanted) is not np.ndarray else None
    assert type(got) is derived or (derived is None and isinstance(got, xp.Array | np.generic))
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))


@_THROUGH_NUMPY
def test_each_call_beside_a_subclass_is_counted() -> None:
    before, q = stats.fallbacks["outer"], np.ones(3).view(Plain)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(xp.outer(q, xp.ones(3))), np.ones((3, 3)))
    assert stats.fallbacks["outer"] == before + 3


class Disguised:
    """What says that it is an array."""

    __class__ = np.ndarray  # type: ignore[assignment]


@pytest.mark.parametrize("in_a_program", [False, True])
def test_native_code_knows_instances_as_python_does(in_a_program: bool) -> None:
    if in_a_program:
        policies.program_hook.append(lambda names: False)
    try:
        things = [
            xp.ones(3),
            xp.ones(3)[0],
            xp.sum(xp.ones(3)),
            xp.asarray(5.0),
            xp.ones((2, 2))[0],
            np.ones(2),
        ]
        things += [
            1.0,
            2,
            True,
            "a",
            None,
            [],
            (),
            np.float64(1),
            np.ones(2).view(Plain),
            Disguised(),
            object(),
        ]
        native = type(xp.ndarray).__instancecheck__
        for thing in things:
            assert isinstance(thing, xp.ndarray) is fastpath.behind(native)(xp.ndarray, thing)
        with pytest.raises(TypeError):
            native(xp.ndarray)
        assert t.vmap(lambda x: float(isinstance(x, xp.ndarray)) * x)(xp.ones(3)).shape == (3,)
    finally:
        if in_a_program:
            policies.program_hook.clear()
