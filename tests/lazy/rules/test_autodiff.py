"""The derivative rule of every primitive, on the smooth rows of `registry.py`; and at kinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import nabla_array
from nabla_array._lazy.graph.aval import is_differentiable
from nabla_array._lazy.graph.node import Node, leaf
from nabla_array._lazy.graph.primitive import Primitive, elementwise
from nabla_array._lazy.graph.tape import taping
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import linalg
from nabla_array._lazy.ops import reduction as r
from nabla_array._lazy.ops.contraction import matmul, turned
from nabla_array._lazy.ops.creation import fill_like
from nabla_array._lazy.ops.indexing import scatter
from nabla_array._lazy.ops.structure import alias, broadcast, project, stop_gradient
from nabla_array._lazy.rules.autodiff import pull, push, replay, results_of
from nabla_array._lazy.run.evaluator import value_of
from nabla_array._namespace.core.array import Array

from ..ops.test_registry import as_tuple
from ..registry import ROWS, SMOOTH, Row, holds_program, random

Function = Callable[[Sequence[Node]], list[Node]]

# What finite differences cannot test, and why.
WITHOUT_SAMPLE = {
    e.nextafter: "the next number counts as a constant",
    stop_gradient: "it is there to differ",
    linalg.pinv: "the second operand follows the first: test_pinv",
}
# Rows that have no derivative, and what the error says.
REFUSED = {
    ("scatter", "mul"): "mode 'mul'",
    ("scatter", "max"): "mode 'max'",
    ("scatter", "min"): "mode 'min'",
    ("qr", "complete"): "mode 'complete' of tall",
    ("svd", True): "full matrices of oblong",
}


def refusal(row: Row) -> str | None:
    if row.prim.name in ("qr", "svd") and row.inputs[0].shape[-2] <= row.inputs[0].shape[-1]:
        return None
    found = [REFUSED[row.prim.name, v] for v in row.params.values() if (row.prim.name, v) in REFUSED]
    return found[0] if found else None


def constant(row: Row) -> bool:
    return not is_differentiable(row.prim.aval(*[leaf(x).aval for x in row.inputs], **row.params))


SAMPLES = [s for s in SMOOTH if s.prim not in WITHOUT_SAMPLE and not refusal(s) and not constant(s)]
samples = pytest.mark.parametrize("row", SAMPLES, ids=str)


def test_every_primitive_has_a_rule_and_a_sample() -> None:
    """A primitive that takes and gives inexact numbers has a rule that is tested, or a reason."""
    needed = {w.prim for w in ROWS if not constant(w) and any(x.dtype.kind in "fc" for x in w.inputs)}
    missing = needed - {s.prim for s in SAMPLES} - WITHOUT_SAMPLE.keys()
    assert not missing, f"give {sorted(map(str, missing))} a smooth row in tests/lazy/registry.py"


# -- what is differentiated: the row's primitive, between functions that make it differentiable ------------


def adjoint(x: Node) -> Node:
    return e.conj(turned(x))


def scaled(vectors: Node) -> Node:
    """Vectors times numbers that differ, column by column."""
    n = vectors.aval.shape[-1]
    numbers = leaf(np.arange(1, n + 1).astype(vectors.aval.dtype))
    return vectors * broadcast(numbers, shape=vectors.aval.shape, axes=(vectors.aval.ndim - 1,))


def without_phases(row: Row, out: Sequence[Node]) -> list[Node]:
    """Of complex vectors that are known but for a phase, take what does not depend on it."""
    if row.prim is linalg.eigh:
        return [out[0], matmul(scaled(out[1]), adjoint(out[1]))]
    u, s, vh = out
    k = s.aval.shape[-1]
    return [s, matmul(scaled(u), vh), matmul(scaled(u), adjoint(u))] if k else list(out)


def varied(row: Row, i: int) -> bool:
    return row.inputs[i].dtype.kind in "fc" and i not in row.held


def function(row: Row) -> Function:
    """Return the row's primitive as a function of its inexact operands that are not held."""

    def call(operands: Sequence[Node]) -> list[Node]:
        given = iter(operands)
        inputs = [next(given) if varied(row, i) else leaf(x) for i, x in enumerate(row.inputs)]
        if row.prim in (linalg.cholesky, linalg.eigh, linalg.eigvalsh):
            inputs = [(inputs[0] + adjoint(inputs[0])) * 0.5]
        out = list(as_tuple(results_of(row.prim(*inputs, **row.params))))
        if row.prim in (linalg.eigh, linalg.svd) and row.inputs[0].dtype.kind == "c" and not refusal(row):
            return without_phases(row, out)
        return out

    return call


def weights(node: Node, seed: int) -> Node:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 1.5, node.aval.shape)
    if node.aval.dtype.kind == "c":
        x = x + 1j * rng.uniform(0.5, 1.5, node.aval.shape)
    return leaf(np.asarray(x).astype(node.aval.dtype))


def size_of(f: Function) -> Function:
    """Return a function to a number: a weighted sum of f's results, and of their squares."""

    def call(operands: Sequence[Node]) -> list[Node]:
        total = leaf(np.zeros(()))
        for k, y in enumerate(f(operands)):
            z = weights(y, k) * y
            if y.aval.dtype.kind == "c":
                z = e.real(z) + e.real(y) * e.real(y) + 0.5 * e.imag(y) * e.imag(y)
            else:
                z = z + y * y
            total = total + r.reduce_sum(z, axes=tuple(range(z.aval.ndim)))
        return [total]

    return call


# -- derivatives ---------------------------------------------------------------------------------------------


def tangent_of(f: Function, operands: Sequence[Node], tangents: Sequence[Node]) -> list[Node]:
    sources = [alias(x) for x in operands]
    with taping(sources) as tape:
        out = f(sources)
    known = push(tape, {id(s): t for s, t in zip(sources, tangents, strict=True)}, out)
    return [fill_like(y, 0) if known.get(id(y)) is None else known[id(y)] for y in out]


def pulled(f: Function, operands: Sequence[Node], cotangents: Sequence[Node] | None = None) -> list[Node]:
    sources = [alias(x) for x in operands]
    with taping(sources) as tape:
        out = f(sources)
    cts = [fill_like(y, 1) for y in out] if cotangents is None else cotangents
    known = pull(tape, list(zip(out, cts, strict=True)))
    return [fill_like(s, 0) if known.get(id(s)) is None else known[id(s)] for s in sources]


def gradient(f: Function) -> Function:
    return lambda operands: pulled(size_of(f), operands)


def inexact(row: Row) -> list[Node]:
    return [leaf(x) for i, x in enumerate(row.inputs) if varied(row, i)]


def directions(nodes: Sequence[Node]) -> list[Node]:
    return [weights(n, 100 + k) - fill_like(n, 0.8) for k, n in enumerate(nodes)]


def differences(f: Function, operands: Sequence[Node], tangents: Sequence[Node]) -> list[np.ndarray]:
    """Central differences of f along the tangents, of fourth order."""
    step = 1e-4

    def at(h: float) -> list[np.ndarray]:
        nodes = [leaf(value_of(x) + h * value_of(t)) for x, t in zip(operands, tangents, strict=True)]
        return [value_of(y) for y in f(nodes)]

    steps = zip(at(-2 * step), at(-step), at(step), at(2 * step), strict=True)
    return [(a - 8 * b + 8 * c - d) / (12 * step) for a, b, c, d in steps]


def assert_near(got: Sequence[Node], wanted: Sequence[np.ndarray], rtol: float = 1e-7) -> None:
    for node, value in zip(got, wanted, strict=True):
        assert node.aval.shape == value.shape
        scale = max(1.0, np.abs(value).max(initial=0))
        np.testing.assert_allclose(value_of(node), value, rtol=rtol, atol=rtol * scale)


@samples
def test_tangent_is_the_difference(row: Row) -> None:
    x = inexact(row)
    t = directions(x)
    got = tangent_of(function(row), x, t)
    assert [n.aval for n in got] == [n.aval for n in function(row)(x)]
    assert_near(got, differences(function(row), x, t))


def paired(xs: Sequence[Node], ys: Sequence[Node]) -> float:
    return sum(float(np.sum(value_of(x) * value_of(y)).real) for x, y in zip(xs, ys, strict=True))


@samples
def test_cotangent_is_the_transpose(row: Row) -> None:
    """<ct, J t> is <J^T ct, t>, each operand alone as well."""
    f, x = function(row), inexact(row)
    t = directions(x)
    ct = [weights(y, 200 + k) for k, y in enumerate(f(x))]
    back = pulled(f, x, ct)
    assert [n.aval for n in back] == [n.aval for n in x]
    for k in range(len(x)):
        only = [d if i == k else fill_like(d, 0) for i, d in enumerate(t)]
        np.testing.assert_allclose(
            paired(ct, tangent_of(f, x, only)), paired(back, only), rtol=1e-8, atol=1e-10
        )


@samples
def test_second_derivative_is_the_difference_of_the_gradient(row: Row) -> None:
    g, x = gradient(function(row)), inexact(row)
    t = directions(x)
    assert_near(tangent_of(g, x, t), differences(g, x, t), 1e-6)


@samples
def test_gradient_replays_along_a_level(row: Row) -> None:
    """What the rules recorded is recorded again on a batch, of the first operand or of all: it is a loop."""
    g, x = gradient(function(row)), inexact(row)
    sources = [alias(y) for y in x]
    with taping(sources) as tape:
        out = g(sources)
    examples = [[value_of(y) * k for y in x] for k in (1, 1.03)]
    for n in {1, len(x)}:
        stacked = [(leaf(np.stack(both)), (1,)) for both in zip(*examples, strict=True)]
        operands = stacked[:n] + [(y, ()) for y in x[n:]]
        found = replay(tape, {id(s): y for s, y in zip(sources, operands, strict=True)})
        for k, example in enumerate(examples):
            wanted = g([leaf(np.asarray(y)) for y in example[:n]] + x[n:])
            for y, one in zip(out, wanted, strict=True):
                node, levels = found.get(id(y), (y, ()))  # a constant depends on no source
                got = value_of(node)[k] if levels else value_of(node)
                np.testing.assert_allclose(got, value_of(one), rtol=1e-7, atol=1e-8)


# Programs say the dtypes that they are for.
of_any_precision = [s for s in SAMPLES if not any(map(holds_program, s.params.values()))]


@pytest.mark.parametrize("row", of_any_precision, ids=str)
def test_single_precision_stays(row: Row) -> None:
    """Rules bring no double precision in, and are as good as single precision allows."""
    narrow = {"d": np.float32, "D": np.complex64}
    params = {k: np.dtype(narrow[v.char]) if k == "dtype" else v for k, v in row.params.items()}
    inputs = tuple(x.astype(narrow.get(x.dtype.char, x.dtype)) for x in row.inputs)
    single = Row(row.prim, inputs, params, held=row.held)
    outcomes = []
    for one in (row, single):
        f, x = function(one), inexact(one)
        outcomes.append([*tangent_of(f, x, directions(x)), *pulled(f, x, [fill_like(y, 1) for y in f(x)])])
    assert {n.aval.dtype.char for n in outcomes[1]} <= set("fF")
    assert_near(outcomes[1], [value_of(n) for n in outcomes[0]], 2e-3)


# -- no derivative, and none but zero ------------------------------------------------------------------------


@pytest.mark.parametrize("row", [w for w in SMOOTH if refusal(w)], ids=str)
def test_refusals_say_what_would_work(row: Row) -> None:
    x = inexact(row)
    for derivative in (lambda: tangent_of(function(row), x, directions(x)), lambda: pulled(function(row), x)):
        with pytest.raises(NotImplementedError, match=f"^{row.prim.name}: .*{refusal(row)}"):
            derivative()


CONSTANT = {w.prim: w for w in ROWS if constant(w) and any(x.dtype.kind in "fc" for x in w.inputs)}


@pytest.mark.parametrize("row", CONSTANT.values(), ids=str)
def test_results_that_are_not_inexact_are_constants(row: Row) -> None:
    sources = [alias(x) for x in inexact(row)]
    with taping(sources) as tape:
        out = e.cast(function(row)(sources)[0], dtype=np.dtype(np.float64))
    assert id(out) not in push(tape, {id(s): fill_like(s, 1) for s in sources}, [out])
    assert not pull(tape, [(out, fill_like(out, 1))])


@pytest.mark.parametrize("prim", [e.nextafter, stop_gradient], ids=str)
def test_constants_by_decree(prim: Primitive) -> None:
    x = [leaf(np.ones(2))] * (2 if prim is e.nextafter else 1)
    (t,) = tangent_of(lambda xs: [prim(*xs)], x, x)
    np.testing.assert_array_equal(value_of(t), 0)
    for ct in pulled(lambda xs: [prim(*xs)], x):
        np.testing.assert_array_equal(value_of(ct), 0)


def test_a_missing_rule_says_what_to_do() -> None:
    lonely = elementwise("lonely", np.sin)
    x = leaf(np.ones(2))

    def f(xs: Sequence[Node]) -> list[Node]:
        return [lonely(*xs)]

    for derivative in (lambda: tangent_of(f, [x], [x]), lambda: pulled(f, [x])):
        with pytest.raises(NotImplementedError, match=r"^lonely: no derivative is known; stop_gradient"):
            derivative()


# -- kinks ---------------------------------------------------------------------------------------------------

INF, NAN = np.inf, np.nan
# A primitive, its operands, and the gradient. Without a note JAX has the same (0.10.2).
KINKS = [
    (e.abs_, (0.0,), (1.0,)),  # the derivative from the right
    (e.abs_, (-0.0,), (1.0,)),
    (e.abs_, (0j,), (0j,)),
    (e.abs_, (NAN,), (-1.0,)),
    (e.sign, (0.0,), (0.0,)),
    (e.maximum, (1.0, 1.0), (0.5, 0.5)),
    (e.minimum, (0.0, -0.0), (0.5, 0.5)),
    (e.maximum, (NAN, 1.0), (0.0, 0.0)),
    (e.sqrt, (0.0,), (INF,)),
    (e.cbrt, (0.0,), (INF,)),
    (e.pow_, (0.0, 0.0), (0.0, 0.0)),  # JAX: nan by the base, unless the exponent is an integer
    (e.pow_, (0.0, 0.5), (INF, 0.0)),
    (e.pow_, (0.0, 1.0), (1.0, 0.0)),
    (e.pow_, (0.0, 2.0), (0.0, 0.0)),
    (e.pow_, (0.0, -1.0), (-INF, NAN)),
    (e.pow_, (-2.0, 3.0), (12.0, NAN)),
    (e.pow_, (2.0, 0.0), (0.0, np.log(2))),
    (e.hypot, (0.0, 0.0), (0.5, 0.5)),
    (e.logaddexp, (-INF, -INF), (NAN, NAN)),
    (e.logaddexp, (-INF, 1.0), (0.0, 1.0)),
    (e.logaddexp, (INF, INF), (1.0, 1.0)),
    (e.logaddexp, (1.0, INF), (0.0, 1.0)),  # JAX: e by the first
    (e.atan2, (0.0, 0.0), (NAN, NAN)),
    (e.remainder, (4.0, 2.0), (1.0, -2.0)),
    (e.copysign, (0.0, -1.0), (-1.0, 0.0)),
    (e.floor, (2.0,), (0.0,)),
    (e.rint, (0.5,), (0.0,)),
    (e.asin, (1.0,), (INF,)),
    (e.acosh, (1.0,), (INF,)),
    (e.log, (0.0,), (INF,)),
    (e.reciprocal, (0.0,), (-INF,)),
]


@pytest.mark.parametrize(("prim", "operands", "wanted"), KINKS, ids=str)
def test_kinks(prim: Primitive, operands: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    got = pulled(lambda xs: [prim(*xs)], [leaf(np.array(x)) for x in operands])
    np.testing.assert_allclose([value_of(g) for g in got], wanted, rtol=1e-15)


VECTOR_KINKS = [
    (r.reduce_max, {"axes": (0,)}, [1.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
    (r.reduce_min, {"axes": (0,)}, [0.0, -0.0, 3.0], [0.5, 0.5, 0.0]),
    (r.reduce_max, {"axes": (0,)}, [INF, INF], [0.5, 0.5]),
    (r.reduce_max, {"axes": (0,)}, [NAN, 1.0], [NAN, NAN]),
    (r.reduce_prod, {"axes": (0,)}, [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    (r.reduce_prod, {"axes": (0,)}, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    (r.cumprod, {"axis": 0}, [0.0, 2.0, 3.0], [9.0, 0.0, 0.0]),
    (r.cumprod, {"axis": 0}, [2.0, 0.0, 0.0], [1.0, 2.0, 0.0]),
    (linalg.det, {}, [[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]),
    (linalg.det, {}, np.diag([1.0, 2.0, 0.0]), np.diag([0.0, 0.0, 2.0])),
    (linalg.det, {}, np.diag([1.0, 0.0, 0.0]), np.zeros((3, 3))),
    (linalg.svdvals, {}, np.eye(2), np.eye(2)),
    (linalg.eigvalsh, {"uplo": "L"}, np.eye(2), np.eye(2)),
]


@pytest.mark.parametrize(("prim", "params", "x", "wanted"), VECTOR_KINKS, ids=str)
def test_kinks_of_many(prim: Primitive, params: dict[str, Any], x: Any, wanted: Any) -> None:
    """The gradient of the sum of the results: JAX has the same everywhere."""
    (got,) = pulled(lambda xs: [prim(*xs, **params)], [leaf(np.array(x))])
    np.testing.assert_allclose(value_of(got), wanted, rtol=1e-14, atol=1e-14)


def test_clip_shares_at_its_edges() -> None:
    x = leaf(np.array([-1.0, 0.0, 0.5, 1.0, 2.0]))
    (got,) = pulled(lambda xs: [nabla_array.clip(Array(xs[0]), 0, 1)._node], [x])
    np.testing.assert_array_equal(value_of(got), [0, 0.5, 1, 0.5, 0])  # JAX has the same


def test_what_is_overwritten_has_no_derivative() -> None:
    x, value, index = leaf(np.zeros(4)), leaf(np.ones(3)), leaf(np.array([1, -3, 0]))
    ct = leaf(np.array([5.0, 6.0, 7.0, 8.0]))
    params = {"axes": (0,), "batch": 0, "mode": "set"}
    by_x, by_value = pulled(lambda xs: [scatter(*xs, index, **params)], [x, value], [ct])
    np.testing.assert_array_equal(value_of(by_x), [0, 0, 7, 8])
    np.testing.assert_array_equal(value_of(by_value), [0, 6, 5])


@pytest.mark.parametrize("char", "dD")
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 3)])
def test_pinv(char: str, shape: tuple[int, ...]) -> None:
    """Equal singular values do no harm, and nor does a lower rank, along directions that keep it."""

    def f(xs: Sequence[Node]) -> list[Node]:
        return [nabla_array.linalg.pinv(Array(xs[0]))._node]

    full = np.broadcast_to(np.eye(*shape[-2:], dtype=char), shape)
    for x in (leaf(full), leaf(random(char, *shape))):
        t = directions([x])
        assert_near(tangent_of(f, [x], t), differences(f, [x], t))
        assert_near(tangent_of(gradient(f), [x], t), differences(gradient(f), [x], t), 1e-6)

    def of_rank_1(xs: Sequence[Node]) -> list[Node]:
        return f([matmul(xs[0], turned(xs[1]))])

    x = [leaf(random(char, *shape[:-1], 1)), leaf(random(char, *shape[:-2], shape[-1], 1))]
    assert_near(tangent_of(of_rank_1, x, directions(x)), differences(of_rank_1, x, directions(x)))


def test_det_differentiates_thrice() -> None:
    """The third derivative of the product of a diagonal: 1 in three directions that differ."""

    def det(xs: Sequence[Node]) -> list[Node]:
        return [linalg.det(*xs)]

    x = leaf(random("d", 3, 3))
    e1, e2, e3 = (leaf(np.diag(row)) for row in np.eye(3))
    third = tangent_of(lambda xs: tangent_of(lambda ys: tangent_of(det, ys, [e1]), xs, [e2]), [x], [e3])
    np.testing.assert_allclose(value_of(third[0]), 1)


@pytest.mark.parametrize("char", "dD")
def test_values_differentiate_where_some_are_equal(char: str) -> None:
    """Vectors have no derivative there, but the values' own needs none of theirs."""
    x, t = leaf(np.diag([2, 2, 1]).astype(char)), leaf(np.arange(9).reshape(3, 3).astype(char))
    for f in (
        lambda xs: [project(linalg.eigh(*xs, uplo="L"), index=0)],
        lambda xs: [project(linalg.svd(*xs, full=False), index=1)],
    ):
        trace = tangent_of(lambda xs, f=f: [r.reduce_sum(*f(xs), axes=(0,))], [x], [t])
        np.testing.assert_allclose(value_of(trace[0]), 0 + 4 + 8)
        (back,) = pulled(f, [x])
        np.testing.assert_allclose(value_of(back), np.eye(3), atol=1e-15)


@pytest.mark.parametrize("prim", [e.asin, e.acos, e.atanh, e.acosh, e.log1p], ids=str)
def test_slopes_are_exact_near_an_edge(prim: Primitive) -> None:
    """In single precision as in double, where 1 - x * x would lose half the digits."""
    x = {e.acosh: 1 + 2e-7, e.log1p: -1 + 2e-7}.get(prim, 1 - 2e-7)
    single = np.asarray(x, np.float32)
    slopes = [pulled(lambda xs: [prim(*xs)], [leaf(y)]) for y in (single, single.astype(np.float64))]
    np.testing.assert_allclose(*[value_of(*s) for s in slopes], rtol=1e-6)
