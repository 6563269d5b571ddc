"""The derivative rule of every primitive, on the smooth rows of `registry.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import is_differentiable
from nabla_array._lazy.graph.node import Node, leaf
from nabla_array._lazy.graph.primitive import Primitive, elementwise
from nabla_array._lazy.graph.tape import taping
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import linalg
from nabla_array._lazy.ops import reduction as r
from nabla_array._lazy.ops.contraction import matmul, turned
from nabla_array._lazy.ops.creation import fill_like
from nabla_array._lazy.ops.structure import alias, broadcast, stop_gradient
from nabla_array._lazy.rules.autodiff import pull, push, replay, results_of
from nabla_array._lazy.run.evaluator import value_of

from ..ops.test_registry import as_tuple
from ..registry import ROWS, SMOOTH, Row, each, holds_program
from ..special_samples import WHOLE_DEGREE

Function = Callable[[Sequence[Node]], list[Node]]

# What finite differences cannot test, and why.
WITHOUT_SAMPLE = {
    e.nextafter: "the next number counts as a constant",
    stop_gradient: "it is there to differ",
    linalg.pinv: "the second operand follows the first: test_linalg.py",
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
samples = each(SAMPLES)


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


# Programs say the dtypes that they are for. Degrees that are integers go with double precision.
of_any_precision = [
    s
    for s in SAMPLES
    if not any(map(holds_program, s.params.values()))
    and s.prim.name.removeprefix("special.") not in WHOLE_DEGREE
]


@each(of_any_precision)
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


@each([w for w in SMOOTH if refusal(w)])
def test_refusals_say_what_would_work(row: Row) -> None:
    x = inexact(row)
    for derivative in (lambda: tangent_of(function(row), x, directions(x)), lambda: pulled(function(row), x)):
        with pytest.raises(NotImplementedError, match=f"^{row.prim.name}: .*{refusal(row)}"):
            derivative()


CONSTANT = {w.prim: w for w in ROWS if constant(w) and any(x.dtype.kind in "fc" for x in w.inputs)}


@each(CONSTANT.values())
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
