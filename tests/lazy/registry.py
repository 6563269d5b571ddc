"""One sample row, or a few, for every primitive: what `test_registry.py` runs each rule on."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import Aval, aval_of
from nabla_array._lazy.graph.bodies import hole, holes, written
from nabla_array._lazy.graph.node import Node
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.graph.program import Program
from nabla_array._lazy.ops import (
    contraction,
    control,
    creation,
    custom,
    fourier,
    indexing,
    linalg,
    ordering,
    placement,
    reduction,
    structure,
)
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops.special import PARTIALS, SEVERAL, special
from nabla_array._lazy.run import control as _run_control  # noqa: F401  gives loops their host functions

from ..optional import MISSING
from .special_samples import samples

DTYPES = "?bBhHiIlLefdFD"
# Operations that are computed alike for every integer are sampled on these only.
SAMPLED = "?iBLefdFD"


@dataclass(frozen=True)
class Row:
    """A call of a primitive, and calls that it must refuse.

    Attributes
    ----------
    exact
        False where a batch, or blocks, may round otherwise than a call a time.
    held
        Numbers of operands by which there is no derivative.
    wrong
        Avals and params that raise an error of the given type, which names the primitive.
    """

    prim: Primitive
    inputs: tuple[np.ndarray, ...]
    params: dict[str, Any] = field(default_factory=dict)
    exact: bool = True
    held: frozenset[int] = frozenset()
    wrong: tuple[tuple[tuple[Aval, ...], dict[str, Any], type[Exception]], ...] = ()

    def __str__(self) -> str:
        avals = ",".join(f"{x.dtype.char}{list(x.shape)}".replace(" ", "") for x in self.inputs)
        short = {k: v for k, v in self.params.items() if not holds_program(v)}
        params = ",".join(f"{k}={v}".replace(" ", "") for k, v in short.items())
        return f"{self.prim.name}({avals}{';' if params else ''}{params})"


def each(rows: Iterable[Row]) -> Callable[[Callable[..., None]], Any]:
    """Run a test of one row for each: an item for each primitive, since pytest takes long for an item."""
    of_prim: dict[Primitive, list[Row]] = {}
    for row in rows:
        of_prim.setdefault(row.prim, []).append(row)

    def decorate(test: Callable[..., None]) -> Any:
        def of_rows(rows: list[Row], **fixtures: Any) -> None:
            for row in rows:
                try:
                    test(row=row, **fixtures)
                except Exception as error:
                    error.add_note(f"the row is {row}")
                    raise

        own = inspect.signature(test).parameters.values()
        named = [p.replace(name="rows") if p.name == "row" else p for p in own]
        of_rows.__name__, of_rows.__doc__ = test.__name__, test.__doc__
        of_rows.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
        return pytest.mark.parametrize("rows", of_prim.values(), ids=[p.name for p in of_prim])(of_rows)

    return decorate


def holds_program(value: Any) -> bool:
    return isinstance(value, Program) or (isinstance(value, tuple) and any(map(holds_program, value)))


def values(char: str) -> np.ndarray:
    """Return values of a dtype that are special to some operation."""
    dtype = np.dtype(char)
    if char == "?":
        return np.array([False, True, True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 3, 7, 100, info.max, info.min, info.min + 1], dtype)
    if dtype.kind == "c":
        parts = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
        return np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype)
    info = np.finfo(dtype)
    plain = [0.0, -0.0, 0.3, 0.5, 1.0, 1.5, 2.0, 7.0, 30.0, np.inf, np.nan]
    limits = [info.max, info.tiny, info.smallest_subnormal, info.eps]
    return np.array([*plain, *[-v for v in plain], *limits], dtype)


def random(char: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Return moderate random values; those of integers are distinct where there is room."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(char)
    if char == "?":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.permutation(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    x = rng.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype)


def avals(*texts: str) -> tuple[Aval, ...]:
    """Return avals written as a dtype's character and sizes: ``"d2,3"``."""
    return tuple(aval_of(tuple(map(int, t[1:].split(","))) if t[1:] else (), np.dtype(t[0])) for t in texts)


def _elementwise(
    prim: Primitive,
    dtypes: str,
    second: Callable[[np.ndarray], np.ndarray] = lambda y: y,
    exact: bool = True,
) -> Iterator[Row]:
    """Rows of an operation that takes one or two operands of each of `dtypes`, and of no others."""
    assert prim.ufunc is not None
    n = prim.ufunc.nin
    wrong = tuple(((aval_of((2,), np.dtype(c)),) * n, {}, TypeError) for c in DTYPES if c not in dtypes)
    if n > 1:
        wrong += ((avals(f"{dtypes[0]}2", f"{dtypes[0]}3"), {}, ValueError),)
    for char in dtypes:
        if char in SAMPLED:
            x = values(char)
            if n == 1:
                inputs: tuple[np.ndarray, ...] = (np.stack([x, x[::-1]]),)
            else:
                x = x[::3] if char in "FD" else x
                left, right = np.meshgrid(x, second(x), indexing="ij")
                inputs = (left.copy(), right.copy())
            yield Row(prim, inputs, exact=exact, wrong=wrong)
            wrong = ()


_INTS = "bBhHiIlL"
_ELEMENTWISE: list[tuple[str, list[Primitive]]] = [
    (DTYPES, [e.abs_, e.add, e.mul, e.maximum, e.minimum, e.eq, e.ne, e.lt, e.le, e.gt, e.ge]),
    (DTYPES, [e.isnan, e.isinf, e.isfinite]),
    (_INTS + "efdFD", [e.neg, e.sign, e.sub, e.square, e.reciprocal, e.conj]),
    (_INTS + "efd", [e.floor_divide, e.remainder]),
    ("?" + _INTS + "efd", [e.floor, e.ceil, e.trunc]),
    ("?" + _INTS, [e.and_, e.or_, e.xor, e.not_]),
    ("efdFD", [e.div, e.rint, e.exp, e.exp2, e.expm1, e.log, e.log1p, e.log2, e.log10, e.sqrt]),
    ("efdFD", [e.sin, e.cos, e.tan, e.asin, e.acos, e.atan]),
    ("efdFD", [e.sinh, e.cosh, e.tanh, e.asinh, e.acosh, e.atanh]),
    ("efd", [e.copysign, e.nextafter, e.logaddexp, e.cbrt, e.hypot, e.atan2, e.signbit]),
    (_INTS, [e.gcd, e.lcm, e.bitwise_count]),
    (_INTS + "efd", [e.fmod]),
    ("efd", [e.heaviside, e.logaddexp2, e.spacing]),
]


def _small(y: np.ndarray) -> np.ndarray:
    return np.arange(4, dtype=y.dtype) if y.dtype.kind in "iu" else y


def _elementwise_rows() -> Iterator[Row]:
    for dtypes, prims in _ELEMENTWISE:
        for prim in prims:
            yield from _elementwise(prim, dtypes)
    for prim in (e.fmax, e.fmin):  # where zeros of both signs meet, NumPy's choice depends on the place
        yield from _elementwise(prim, DTYPES, exact=False)
    yield from _elementwise(e.pow_, _INTS + "efdFD", second=_small)
    for prim in (e.shift_left, e.shift_right):
        yield from _elementwise(prim, _INTS, second=_small)
    for char in "efd":
        x = values(char)
        for n in "il":
            by = np.arange(len(x), dtype=n) * 7 - 60
            yield Row(e.ldexp, (x, by), wrong=((avals("d2", "d2"), {}, TypeError),))
        yield Row(e.mantissa, (x,))
        yield Row(e.exponent, (x,), wrong=((avals("l2"), {}, TypeError),))
    for char in "BilefdFD":
        yield Row(e.round_, (values(char),), {"decimals": 1})
        yield Row(e.round_, (values(char),), {"decimals": -1})
    for char in "FD":
        yield Row(e.real, (values(char),))
        yield Row(e.imag, (values(char),))
    for char in "fd":
        parts = np.meshgrid(values(char), values(char))
        yield Row(e.complex_, tuple(parts), wrong=((avals("f2", "d2"), {}, ValueError),))
    for char in SAMPLED:
        x = random(char, 3, 4)
        wrong = (
            (avals("l2", "d2", "d2"), {}, ValueError),
            (avals("?2", "d2", "f2"), {}, ValueError),
            (avals("?3", "d2", "d2"), {}, ValueError),
        )
        yield Row(e.select, (random("?", 3, 4), x, x[::-1].copy()), wrong=wrong if char == "d" else ())
        many = random(char, 2, 40)
        yield Row(e.select, (np.arange(80).reshape(2, 40) == 33, many, many[::-1].copy()))
        for other in SAMPLED:
            safe = values(char) if np.can_cast(char, other) else random(char, 3, 5)
            yield Row(e.cast, (safe,), {"dtype": np.dtype(other)})


def _reduction_rows() -> Iterator[Row]:
    x = random("d", 4, 3, 5)
    for prim in (reduction.reduce_sum, reduction.reduce_prod):
        for axes in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), ()):
            yield Row(prim, (x,), {"axes": axes}, exact=False)
        for char in "iLefFD":
            yield Row(prim, (random(char, 4, 6),), {"axes": (0,)}, exact=False)
        yield Row(prim, (values("d"),), {"axes": (0,)})
        yield Row(prim, (np.ones((3, 0, 2)),), {"axes": (1,)})
    for prim in (reduction.reduce_max, reduction.reduce_min):
        empty = ((avals("d3,0"), {"axes": (1,)}, ValueError),)
        for axes in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), ()):
            yield Row(prim, (x,), {"axes": axes}, wrong=empty)
        for char in "?iLef":
            yield Row(prim, (random(char, 4, 6),), {"axes": (0,)})
        yield Row(prim, (values("d"),), {"axes": (0,)})
    for prim in (reduction.reduce_any, reduction.reduce_all):
        for axes in ((0,), (1,), (0, 1), ()):
            yield Row(prim, (random("?", 4, 6),), {"axes": axes})
        yield Row(prim, (np.ones((3, 0), bool),), {"axes": (1,)})
    for axes in ((0,), (1,), (0, 1), ()):
        yield Row(reduction.reduce_count, (random("i", 4, 6) % 3,), {"axes": axes})
    for prim in (reduction.argmax, reduction.argmin):
        wrong = ((avals("d3,0"), {"axis": 1}, ValueError),)
        yield Row(prim, (random("d", 4, 6),), {"axis": 0}, wrong=wrong)
        yield Row(prim, (random("i", 4, 6),), {"axis": 1})
    for prim in (reduction.cumsum, reduction.cumprod):
        yield Row(prim, (random("d", 4, 6),), {"axis": 0})
        yield Row(prim, (random("i", 4, 6),), {"axis": 1})


def _signal_rows() -> Iterator[Row]:
    none: dict[str, Any] = {"ends": (0, 0)}
    wrong = (
        (avals("d2", "d3"), none, ValueError),
        (avals("d3", "f2"), none, ValueError),
        (avals("d3", "d2"), {"ends": (-1, -1)}, ValueError),
        (avals("d3", "d1"), {"ends": (-4, 4)}, ValueError),
    )
    for char in "ilfdFD":
        x, y = random(char, 7), random(char, 3, seed=1)
        yield Row(contraction.correlate, (x, y), none, exact=False, wrong=wrong if char == "d" else ())
    for ends in ((2, 2), (1, 1), (3, 0), (-2, 1), (0, -4), (-7, 9)):  # of 3: all, as many, and any others
        yield Row(
            contraction.correlate, (random("d", 7), random("d", 3, seed=1)), {"ends": ends}, exact=False
        )
    yield Row(contraction.correlate, (random("d", 2, 5), random("d", 2, 5, seed=1)), none, exact=False)
    yield Row(
        contraction.correlate, (random("d", 2, 3), random("d", 2, 5, seed=1)), {"ends": (4, 4)}, exact=False
    )
    yield Row(contraction.correlate, (random("d", 4), random("d", 1, seed=1)), none, exact=False)


def _structure_rows() -> Iterator[Row]:
    x = random("d", 4, 1, 6)
    fill = creation.Literal(np.float32(-0.0))
    yield Row(creation.fill, (), {"value": fill, "shape": (2, 3)})
    wrong_reshape = ((avals("d3,4"), {"shape": (5,)}, ValueError),)
    yield Row(structure.reshape, (x,), {"shape": (2, 12)}, wrong=wrong_reshape)
    yield Row(structure.reshape, (x,), {"shape": (4, 2, 3)})
    yield Row(structure.reshape, (np.ones((2, 0)),), {"shape": (0, 5)})
    yield Row(structure.permute, (x,), {"axes": (2, 0, 1)})
    yield Row(structure.reinterpret, (random("d", 3, 4),), {"dtype": np.dtype(complex)})
    yield Row(structure.reinterpret, (random("F", 3, 4),), {"dtype": np.dtype(np.float32)})
    wrong_bits = ((avals("d3,3"), {"dtype": np.dtype(complex)}, ValueError),)
    bytes_of = {"dtype": np.dtype(np.uint8)}
    yield Row(structure.reinterpret, (random("i", 3, 4).T,), bytes_of, held=frozenset({0}), wrong=wrong_bits)
    yield Row(structure.alias, (x,))
    yield Row(structure.stop_gradient, (x,))
    yield Row(structure.barrier, (x,))
    yield Row(placement.transfer, (x,), {"source": "cpu", "device": "cpu"})
    wrong_broadcast = ((avals("d3"), {"shape": (2, 4), "axes": (1,)}, ValueError),)
    yield Row(structure.broadcast, (x,), {"shape": (4, 3, 2, 6), "axes": (0, 1, 3)}, wrong=wrong_broadcast)
    yield Row(structure.broadcast, (random("d"),), {"shape": (2, 0, 3), "axes": ()})
    yield Row(structure.slice_, (x,), {"start": (3, 0, 1), "size": (4, 0, 2), "step": (-1, 1, 3)})
    wrong_update = ((avals("d3", "f2"), {"start": (0,), "step": (1,)}, ValueError),)
    start = {"start": (3, 0, 1), "step": (-1, 1, 3)}
    yield Row(structure.update_slice, (x, random("d", 4, 1, 2)), start, wrong=wrong_update)
    yield Row(structure.update_slice, (x, random("d", 0, 1, 2)), start)
    wrong_concat = ((avals("d3,2", "d3,3"), {"axis": 0}, ValueError),)
    yield Row(structure.concat, (x, x[:2], x[:0]), {"axis": 0}, wrong=wrong_concat)
    yield Row(structure.concat, (x, x[:, :, :3]), {"axis": 2})
    yield Row(structure.several, (x, random("d", 3)))
    yield Row(structure.diagonal, (random("i", 3, 4),), {"offset": 1})
    yield Row(structure.diagonal, (random("d", 2, 3, 4),), {"offset": -5})


def _indexing_rows() -> Iterator[Row]:
    x = random("d", 4, 3, 5)
    i, j = np.array([[3, -1], [0, 0]]), np.array([[0, 1], [2, 0]])
    for axes, indices in (((0,), (i,)), ((1,), (j,)), ((0, 2), (i, j)), ((0, 1, 2), (i, j, i))):
        params = {"axes": axes, "batch": 0}
        yield Row(indexing.gather, (x, *indices), params)
        picked = indexing.gather.host(x, *indices, **params)
        wrong = ((avals("d3", "d2", "l1"), {"axes": (0,), "batch": 0, "mode": "set"}, ValueError),)
        for mode in ("set", "add", "mul", "max", "min"):
            rows = (x, random("d", *picked.shape, seed=1), *indices)
            yield Row(indexing.scatter, rows, {**params, "mode": mode}, wrong=wrong)
            wrong = ()
    batch = random("i", 2, 3) % 5
    yield Row(indexing.gather, (random("d", 2, 5), batch), {"axes": (1,), "batch": 1})


def _ordering_rows() -> Iterator[Row]:
    for char, axis in (("d", 0), ("i", 1), ("e", 1)):
        x = random(char, 5, 4)
        for descending, stable in itertools.product((False, True), (False, True)):
            params = {"axis": axis, "descending": descending, "stable": stable}
            yield Row(ordering.sort, (x,), params)
            yield Row(ordering.argsort, (x,), params)
        yield Row(ordering.partition, (x,), {"kth": (1,), "axis": axis})
        yield Row(ordering.argpartition, (x,), {"kth": (0, 2), "axis": axis})
    sorted_ = np.sort(random("d", 6))
    wrong = ((avals("d2,3", "d4,3"), {"side": "left"}, ValueError),)
    for side in ("left", "right"):
        yield Row(ordering.searchsorted, (sorted_, random("d", 2, 4)), {"side": side}, wrong=wrong)
    yield Row(
        ordering.isin,
        (random("i", 2, 4), np.array([2, 5, 9], "i")),
        wrong=((avals("l2", "d3"), {}, ValueError),),
    )


def _matrix_rows() -> Iterator[Row]:
    wrong_product = ((avals("f4,3", "f5,2"), {}, ValueError), (avals("f4,3", "d3,2"), {}, ValueError))
    for char in "ildFD":
        x, y = random(char, 4, 3), random(char, 3, 5, seed=1)
        yield Row(contraction.matmul, (x, y), exact=False, wrong=wrong_product)
    yield Row(contraction.matmul, (random("d", 2, 4, 3), random("d", 2, 3, 5)), exact=False)
    flat = (avals("d3"), avals("l3,3"))
    oblong = (*flat, avals("d3,4"))
    for char in "fdFD":
        x = random(char, 3, 3)
        definite = x @ x.conj().T + np.eye(3, dtype=char)
        rows: list[tuple[Primitive, np.ndarray, dict[str, Any]]] = [
            (linalg.cholesky, definite, {"upper": False}),
            (linalg.cholesky, definite, {"upper": True}),
            (linalg.inv, x, {}),
            (linalg.adjugate, x, {}),
            (linalg.det, x, {}),
            (linalg.slogdet, x, {}),
            (linalg.eigh, definite, {"uplo": "L"}),
            (linalg.eigvalsh, definite, {"uplo": "U"}),
            (linalg.eig, x, {}),
            (linalg.eigvals, x, {}),
        ]
        for prim, matrix, params in rows:
            refused = tuple(((*a,), params, ValueError) for a in oblong)
            yield Row(prim, (matrix,), params, exact=False, wrong=refused)
        yield Row(linalg.adjugate, (np.stack([x, x * np.array(np.nan, char)]),), exact=False)
        tall = random(char, 4, 3)
        more: list[tuple[Primitive, dict[str, Any]]] = [
            (linalg.qr, {"mode": "reduced"}),
            (linalg.qr, {"mode": "complete"}),
            (linalg.svd, {"full": False}),
            (linalg.svd, {"full": True}),
            (linalg.svdvals, {}),
        ]
        for prim, params in more:
            refused = tuple(((*a,), params, ValueError) for a in flat)
            yield Row(prim, (tall,), params, exact=False, wrong=refused)
        unlike = ((avals("d3,3", "d4,2"), {}, ValueError), (avals("d3,3", "f3,2"), {}, ValueError))
        yield Row(linalg.solve, (x, random(char, 3, 2)), exact=False, wrong=unlike)
        yield Row(linalg.pinv, (tall, np.linalg.pinv(tall)), wrong=((avals("d3,2", "d3,2"), {}, ValueError),))


def _fourier_rows() -> Iterator[Row]:
    for norm, n in (("backward", 6), ("ortho", 4), ("forward", 9)):
        params: dict[str, Any] = {"n": n, "axis": 0, "norm": norm}
        for char in "FD":
            z = random(char, 6, 3)
            integers = ((avals("i3"), {**params, "inverse": False}, ValueError),)
            yield Row(fourier.fft, (z,), {**params, "inverse": False}, exact=False, wrong=integers)
            yield Row(fourier.fft, (z,), {**params, "axis": 1, "inverse": True}, exact=False)
            yield Row(fourier.irfft, (z,), params, exact=False, wrong=((avals("d3"), params, ValueError),))
        for char in "fd":
            wrong = ((avals("D3"), params, ValueError),)
            yield Row(fourier.rfft, (random(char, 6, 3),), params, exact=False, wrong=wrong)
            yield Row(fourier.fft, (random(char, 6, 3),), {**params, "inverse": False}, exact=False)


def _special_rows() -> Iterator[Row]:
    if "scipy" in MISSING:  # whose functions these are
        return
    for name, operands in samples():
        prim = special(name)
        assert prim is not None
        held = frozenset(
            i for i, p in enumerate((PARTIALS | SEVERAL)[name]) if p is None or isinstance(p, str)
        )
        wrong = ((avals("?2") * len(operands), {}, TypeError),)
        yield Row(prim, operands, held=held, wrong=wrong)


def body(make: Callable[..., list[Node]], *texts: str) -> Program:
    """Return what a function of nodes of these avals does as a program."""
    given = holes(avals(*texts))
    program, more = written(given, lambda: make(*given))
    assert not more
    return program


def _control_rows() -> Iterator[Row]:
    step = body(lambda c, s, w: [c * w + s, e.sin(c) * s], "d2", "d2", "d2")
    count = body(lambda c, k, s: [c + s * s, k + 1, c * s], "l", "l", "l")
    for reverse in (False, True):
        params = {"length": 4, "reverse": reverse}
        inputs = random("d", 2), random("d", 2, 4, seed=1), random("d", 2, seed=2)
        axes: dict[str, Any] = {"carry": 1, "x_axes": (1,), "y_axes": (0,)}
        yield Row(control.scan, inputs, {"program": step, **params, **axes})
        numbers = np.array(5), np.array(3), random("l", 4)
        axes = {"carry": 2, "x_axes": (0,), "y_axes": (0,)}
        yield Row(control.scan, numbers, {"program": count, **params, **axes})
    for text, rows in (("l", (False,)), ("l5", (True,))):
        params = {
            "cond": body(lambda n, by: [e.gt(n, by)], text, text),
            "body": body(lambda n, by: [n - by], text, text),
        }
        n = np.array(7) if text == "l" else np.array([7, 1, 5, 2, 12])
        yield Row(control.while_, (n, n * 0 + 3), {**params, "carry": 1, "rows": rows})
    roles = (control.ROW, control.SHARED)
    for text, index in (("d", np.array(1)), ("d4", np.array([0, 2, 2, 0]))):
        branches = tuple(body(lambda x, y, f=f: [f(x) * y, x + y], text, text) for f in (e.sin, e.neg, e.exp))
        inputs = index, random("d", *index.shape), random("d", *index.shape, seed=1)
        more = {"lead": index.ndim, "roles": roles, "sums": (False, False)}
        yield Row(control.switch, inputs, {"branches": branches, **more})


ROWS: list[Row] = [
    *_elementwise_rows(),
    *_reduction_rows(),
    *_structure_rows(),
    *_signal_rows(),
    *_indexing_rows(),
    *_ordering_rows(),
    *_matrix_rows(),
    *_fourier_rows(),
    *_special_rows(),
    *_control_rows(),
]

# `project` takes a tuple of values, not values: it is tested through the primitives that have several
# results. `hole` stands where a value is to come, and has none; `resident` has one that is on an accelerator.
# `reshard` needs a mesh: tests/distributed/ tests it.
# The custom calls hold rules that a user gave: transforms/test_custom.py tests them.
CUSTOM = {
    custom.again_call,
    custom.custom_jvp_call,
    custom.custom_jvp_result,
    custom.custom_vjp_call,
    custom.through,
}
WITHOUT_ROW = {structure.project, hole, placement.resident, placement.reshard, *CUSTOM}


# Derivatives: where functions are smooth, in double precision.
_POSITIVE = {e.log, e.log2, e.log10, e.sqrt, e.pow_}


def _moderate(prim: Primitive, char: str, seed: int) -> np.ndarray:
    """Return numbers within the domain of an elementwise operation, away from its edges and from zero."""
    x = np.random.default_rng(seed).uniform(0.2, 0.8, (2, 3))
    sign = np.where(random("?", 2, 3, seed=seed), -1, 1)
    if prim is e.acosh:
        x = x + 1.2
    elif prim not in _POSITIVE:
        x = x * sign
    return x + 0.7j * x[::-1] * sign if char == "D" else x


def _smooth_elementwise() -> Iterator[Row]:
    seen = set()
    for row in ROWS:
        char = row.inputs[0].dtype.char if row.inputs else ""
        if row.prim.name.startswith("special."):
            yield row
        elif row.prim.ufunc is not None and row.prim.kind == "elementwise" and char in "dD":
            if (row.prim, char) not in seen:
                inputs = tuple(
                    _moderate(row.prim, char, seed) if x.dtype.char == char else np.arange(6).reshape(2, 3)
                    for seed, x in enumerate(row.inputs)
                )
                yield Row(row.prim, inputs)
            seen.add((row.prim, char))


def _smooth(row: Row) -> bool:
    """Say whether derivatives can be compared with finite differences at the row's values."""
    result = row.prim.aval(*[aval_of(x.shape, x.dtype) for x in row.inputs], **row.params)
    inexact = [x for x in row.inputs if x.dtype.kind in "fc"]
    dtypes = [x.dtype for x in inexact]
    dtypes += [a.dtype for a in (result if isinstance(result, tuple) else (result,)) if a.dtype.kind in "fc"]
    return (
        bool(inexact)
        and all(d.char in "dD" for d in dtypes)
        and all(np.isfinite(x).all() for x in inexact)
        and (row.prim.ufunc is None or row.prim.kind != "elementwise")
    )


def _more_smooth() -> Iterator[Row]:
    x = random("d", 3, 4)
    for e_prim in (e.real, e.imag):
        yield Row(e_prim, (random("D", 3),))
    yield Row(e.complex_, (x[0], x[1]))
    for char in "dD":
        for other in "dD":
            yield Row(e.cast, (random(char, 3),), {"dtype": np.dtype(other)})
    yield Row(e.round_, (x,), {"decimals": 1})
    yield Row(e.mantissa, (x,))
    for zeros in ((), (2,), (2, 4), (0, 5)):
        z = random("d", 2, 6)
        z[0, list(zeros)] = 0
        yield Row(reduction.reduce_prod, (z,), {"axes": (1,)})
        yield Row(reduction.reduce_prod, (z,), {"axes": (0, 1)})
        yield Row(reduction.cumprod, (z,), {"axis": 1})
    for char in "dD":
        for n in (0, 1, 2, 3, 4, 7):
            yield Row(reduction.cumprod, (random(char, n, 2),), {"axis": 0})
            yield Row(reduction.cumsum, (random(char, n, 2),), {"axis": 0})
            yield Row(reduction.reduce_prod, (random(char, n, 2),), {"axes": (0,)})
    yield Row(structure.slice_, (x,), {"start": (2, 0), "size": (3, 2), "step": (-1, 3)})
    yield Row(structure.update_slice, (x, random("d", 2, 2)), {"start": (2, 0), "step": (-1, 3)})
    for offset in (0, 1, -1, -2, 3, 7):
        yield Row(structure.diagonal, (random("d", 2, 3, 4),), {"offset": offset})
    yield Row(contraction.matmul, (random("d", 2, 1, 3), random("d", 2, 3, 2)))
    where = (np.array([[1, 0], [2, 2]]),)
    into = random("d", 2, 3, 2), random("d", 2, 2, 2, seed=1)
    for mode in ("set", "add"):
        yield Row(indexing.scatter, (*into, *where), {"axes": (1,), "batch": 1, "mode": mode})
    for shape in ((1, 1), (2, 2, 2), (0, 2, 2), (2, 0, 0), (4, 4)):
        yield from _smooth_matrices(shape)
    for shape in ((2, 3, 3), (2, 5), (2, 2, 3), (4, 1), (3, 0)):
        for char in "dD":
            oblong = random(char, *shape, seed=3)
            yield Row(linalg.qr, (oblong,), {"mode": "reduced"})
            yield Row(linalg.svd, (oblong,), {"full": False})
            yield Row(linalg.svdvals, (oblong,))
            if shape[-2] == shape[-1]:
                yield Row(linalg.svd, (oblong,), {"full": True})
            if shape[-2] <= shape[-1]:
                yield Row(linalg.qr, (oblong,), {"mode": "complete"})


def _smooth_matrices(shape: tuple[int, ...]) -> Iterator[Row]:
    for char in "dD":
        x = random(char, *shape, seed=2)
        definite = x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1])
        for upper in (False, True):
            yield Row(linalg.cholesky, (definite,), {"upper": upper})
        for uplo in "LU":
            yield Row(linalg.eigh, (definite,), {"uplo": uplo})
            yield Row(linalg.eigvalsh, (definite,), {"uplo": uplo})
        for prim in (linalg.inv, linalg.adjugate, linalg.det, linalg.slogdet, linalg.eig, linalg.eigvals):
            yield Row(prim, (x,))
        yield Row(linalg.solve, (x, random(char, *shape[:-1], 2, seed=4)))


SMOOTH: list[Row] = [*_smooth_elementwise(), *filter(_smooth, ROWS), *_more_smooth()]
