"""What bodies of branches and loops may do and what not, what is recorded, and how long loops run."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms as T
from nabla_array._lazy.ops import control
from nabla_array._lazy.stats import stats
from nabla_array._namespace.core.array import Array

from ..lazy.canonical_host import numpy_as_max
from .test_control_flow import BATCH, ROWS, Ours, Python, W, X, python_fori, python_scan, rnn, same, total

# vmap runs plain Python once for each way through its branches, and says so.
in_python = pytest.mark.filterwarnings("ignore::nabla_array.transforms.SplitWarning")


def primitive_of(x: Array) -> str:
    """The name of the operation that an array is the result of, before anybody looks at it."""
    (whole,) = x._node.inputs
    assert whole.prim is not None
    return whole.prim.name


# -- bodies that look at values ------------------------------------------------------------------------------


def newton(m: Any) -> Any:
    """The square root of 1 + x[0]**2, until it is exact enough: the condition is a Python number."""

    def f(x: Any) -> Any:
        a = 1 + x[0] ** 2
        return m.while_loop(lambda y: abs(float(y * y - a)) > 1e-12, lambda y: (y + a / y) / 2, a) * x

    return f


def picky(m: Any) -> Any:
    def step(c: Any, a: Any) -> Any:
        return (c * a if a > 0 else c + xp.sin(a)), {"c": c}

    return lambda x: m.scan(step, x[0], x, reverse=True)


def early(m: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        return v if float(v[0]) > 2 else v * 1.5 + i * xp.cos(v)

    return lambda x: m.fori_loop(0, 6, body, xp.abs(x))


def hesitant(m: Any) -> Any:
    def positive(v: Any) -> Any:
        return xp.exp(v) if v[1] < 0 else v * 2

    return lambda x: m.cond(x[0] > 0, positive, xp.sin, x)


LOOKING = [newton, picky, early, hesitant]
looking = pytest.mark.parametrize("make", LOOKING, ids=lambda f: f.__name__)


@looking
@in_python
def test_python_bodies(make: Any) -> None:
    f, python = make(Ours), make(Python)
    for x in (X, -X):
        same(f(xp.asarray(x)), python(xp.asarray(x)))
        same(T.grad(total(f))(xp.asarray(x)), T.grad(total(python))(xp.asarray(x)))
        same(T.hessian(total(f))(xp.asarray(x)), T.hessian(total(python))(xp.asarray(x)), 1e-8)
    rows = [python(xp.asarray(x)) for x in BATCH]
    same(T.vmap(f)(xp.asarray(BATCH)), T.tree_map(lambda *r: xp.stack(r), *rows))
    gradients = [T.grad(total(python))(xp.asarray(x)) for x in BATCH]
    same(T.vmap(T.grad(total(f)))(xp.asarray(BATCH)), xp.stack(gradients))


@looking
def test_python_bodies_compiled(make: Any) -> None:
    x = xp.asarray(X)
    compiled = T.compile(make(Ours))
    for _ in range(2):
        same(compiled(x), make(Python)(x))
    assert compiled.cache_info().fallbacks > 0
    with pytest.raises(
        TypeError, match=r"fullgraph=True, no value .* may be looked at \(.*test_control_flow"
    ):
        T.compile(make(Ours), fullgraph=True)(x)


def test_a_swallowed_look_is_a_look() -> None:
    def body(c: Any, a: Any) -> Any:
        try:
            sign = 1.0 if a > 0 else -1.0
        except Exception:
            sign = 100.0
        return c + sign * a, None

    same(T.scan(body, 0.0, xp.asarray(X))[0], xp.sum(xp.abs(xp.asarray(X))))


def test_a_look_at_what_is_captured_is_none() -> None:
    factor = xp.asarray(2.0)
    out = T.scan(lambda c, a: (c + a * float(factor), None), 0.0, xp.asarray(X))[0]
    assert primitive_of(out) == "scan"
    same(out, xp.asarray(2 * X.sum()))


@in_python
def test_looks_inside_a_split_batch() -> None:
    """The same look comes again in the second run, where vmap answers from memory: bodies must not get it."""

    def f(x: Any) -> Any:
        sign = 1.0 if x[0] > 0 else -1.0
        return T.scan(lambda c, a: (c + (a if a > x[0] else sign * c), c), x[1], x)

    wanted = [f(xp.asarray(x)) for x in BATCH]
    same(T.vmap(f)(xp.asarray(BATCH)), T.tree_map(lambda *r: xp.stack(r), *wanted))


def test_no_steps_at_all() -> None:
    same(T.scan(lambda c, a: (c + a, c * 2), 1.5, xp.zeros((0,))), (xp.asarray(1.5), xp.zeros((0,))))
    same(T.fori_loop(3, 3, lambda i, c: c + float(i), 1.5), xp.asarray(1.5))
    same(T.while_loop(lambda v: v < 0, lambda v: v + 1, 1.5), xp.asarray(1.5))
    assert float(T.grad(lambda x: T.scan(lambda c, a: (c * a, None), x, xp.zeros((0,)))[0])(3.0)) == 1
    with pytest.raises(ValueError, match="no steps, and a body that looks at values"):
        T.scan(lambda c, a: (c + float(a), None), 1.5, xp.zeros((0,)))


# -- what is recorded ----------------------------------------------------------------------------------------


def test_a_construct_is_one_operation() -> None:
    x = xp.asarray(X)
    assert primitive_of(T.scan(lambda c, a: (c + a, c), 0.0, x)[1]) == "scan"
    assert primitive_of(T.fori_loop(0, 9, lambda i, c: c * i, 0.0)) == "scan"
    assert primitive_of(T.fori_loop(0, 9, lambda i, c: c * i, 0)) == "scan"
    assert primitive_of(T.while_loop(lambda c: c < 9, lambda c: c + 1, 0)) == "while"
    assert primitive_of(T.cond(x[0] > 0, xp.sin, xp.cos, x)) == "switch"
    found = T.vmap(lambda row: T.scan(lambda c, a: (c + a, c), 0.0, row))(xp.asarray(ROWS))
    assert primitive_of(found[1]) == "scan"
    assert primitive_of(T.vmap(lambda v: T.cond(v > 0, xp.sin, xp.cos, v))(x)) == "switch"


def test_equal_bodies_are_equal_params() -> None:
    """So programs around them are equal too, and are planned and compiled once."""
    one, two = (T.scan(lambda c, a: (c + a, c), 0.0, xp.asarray(x))[1]._node.inputs[0] for x in (X, -X))
    assert one.params == two.params
    assert hash(tuple(one.params.items())) == hash(tuple(two.params.items()))


def test_the_other_branch_is_not_computed() -> None:
    singular = xp.zeros((2, 2))

    def inverse(m: Any) -> Any:
        return T.cond(xp.linalg.det(m) != 0, lambda: xp.linalg.inv(m), lambda: m)

    same(inverse(singular), np.zeros((2, 2)))
    both = xp.stack([singular, 2 * xp.eye(2)])
    same(T.vmap(inverse)(both), np.stack([np.zeros((2, 2)), np.eye(2) / 2]))


def test_finished_examples_rest() -> None:
    """What an example would compute once it is through may be an error: here an index out of bounds."""

    def first(x: Any, n: Any) -> Any:
        return T.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, 0.0))[1]

    counts = xp.asarray([3, 1, 0, 2])
    wanted = np.array([BATCH[k, :n].sum() for k, n in enumerate([3, 1, 0, 2])])
    same(T.vmap(first)(xp.asarray(BATCH), counts), wanted)
    assert T.vmap(first)(xp.zeros((0, 3)), xp.zeros(0, dtype=xp.int64)).shape == (0,)


def test_no_nan_from_the_other_branch() -> None:
    """The gradient of the branch that an example does not take is nan at zero; it does not come in."""
    xp.eval(xp.sqrt(xp.ones(2)), xp.ones(2) / xp.ones(2))  # what was recorded before takes a shorter way
    f = T.grad(lambda x: T.cond(x > 0, lambda: xp.sqrt(x), lambda: x))
    same(T.vmap(f)(xp.asarray([0.0, 4.0])), np.array([1.0, 0.25]))


def test_shared_weights_get_every_examples_gradient() -> None:
    """What all examples share is not selected by example: its gradient is a sum over those of a branch."""
    w = xp.asarray(W)

    def loss(m: Any, w: Any) -> Any:
        def one(x: Any) -> Any:
            return m.cond(x[0] > 0, lambda: xp.sum((w @ x) ** 2), lambda: xp.sum(xp.sin(w) @ x))

        return one

    def summed(m: Any) -> Any:
        return lambda w: sum(loss(m, w)(xp.asarray(x)) for x in BATCH)

    def batched(w: Any) -> Any:
        return xp.sum(T.vmap(loss(Ours, w))(xp.asarray(BATCH)))

    same(T.grad(batched)(w), T.grad(summed(Python))(w))
    same(T.hessian(batched)(w), T.hessian(summed(Python))(w), 1e-9)


def test_bodies_with_thousands_of_operations() -> None:
    def step(c: Any, a: Any) -> Any:
        y = c
        for _ in range(1500):
            y = y + a
        return y, None

    f = lambda x: T.scan(step, 0.0, x)[0]  # noqa: E731
    assert primitive_of(f(xp.ones(3))) == "scan"
    assert float(f(xp.ones(3))) == 4500
    same(T.grad(f)(xp.ones(3)), np.full(3, 1500.0))


def test_what_bodies_do_in_place_stays_inside() -> None:
    for look in (lambda x: x, float):

        def step(c: Any, a: Any, look: Any = look) -> Any:
            look(a)
            c[0] = a
            c *= 2
            a += 1
            return c, a

        init, xs = xp.zeros(2), xp.asarray([1.0, 2.0])
        same(T.scan(step, init, xs), (np.array([4.0, 0.0]), np.array([2.0, 3.0])))
        same((init, xs), (np.zeros(2), np.array([1.0, 2.0])))


def test_a_leaked_value_says_so() -> None:
    leaked = []

    def step(c: Any, a: Any) -> Any:
        leaked.append(c + a)
        return c + a, None

    T.scan(step, 0.0, xp.asarray(X))
    with pytest.raises(RuntimeError, match="scan: an array of the body is used outside of it: return it"):
        float(leaked[0])


def test_errors_in_the_data_name_the_call() -> None:
    out = T.scan(lambda c, i: (c + xp.asarray(X)[i], None), 0.0, xp.asarray([0, 5]))[0]
    with pytest.raises(IndexError, match=r"^scan \(called at .*_bodies\.py:\d+\): index 5 is out"):
        float(out)


def test_threads_write_bodies_at_once() -> None:
    wanted, found = rnn(Python)(xp.asarray(X)), []

    def work() -> None:
        for _ in range(5):
            found.append(T.vmap(rnn(Ours))(xp.asarray(X[None])))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 20
    for f in found:
        same(T.tree_map(lambda x: x[0], f), wanted)


# -- numbers and dtypes --------------------------------------------------------------------------------------


def test_python_numbers_take_the_dtype_of_the_body() -> None:
    carry, ys = T.scan(lambda c, a: (c + a, 1), 0, xp.asarray(X))
    assert (carry.dtype, ys.dtype) == (np.float64, np.int64)
    assert T.while_loop(lambda v: v < 5, lambda v: v * 1.5, 1).dtype == np.float64
    assert T.cond(True, lambda: 1, lambda: xp.float32(2)).dtype == np.float32
    assert T.fori_loop(np.int32(0), 3, lambda i, v: i, xp.asarray(0, dtype=xp.int32)).dtype == np.int32


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_dtypes_stay(dtype: str) -> None:
    x = xp.asarray(X, dtype=dtype)

    def f(m: Any) -> Any:
        def loss(x: Any) -> Any:
            c, ys = m.scan(lambda c, a: (c * a + x[0], c * c), x[1], x)
            return xp.real(xp.sum(ys) + c) if dtype[0] == "c" else xp.sum(ys) + c

        return loss

    got = T.grad(f(Ours))(x)
    assert got.dtype == dtype
    same(got, T.grad(f(Python))(x), 1e-5)


def test_switch_counts_what_is_out_of_range_as_the_nearest() -> None:
    branches = [lambda: 0, lambda: 1, lambda: 2]
    found = [int(T.switch(i, branches)) for i in (-(2**40), -1, 0, 1, 2, 3, 2**40)]
    assert found == [0, 0, 0, 1, 2, 2, 2]
    assert int(T.switch(xp.asarray(2**64 - 1, dtype=xp.uint64), branches)) == 2
    assert int(T.switch(np.uint8(255), branches)) == 2
    assert T.switch(5, [lambda x: x], "one branch is called as it is") == "one branch is called as it is"


def test_predicates() -> None:
    for pred in (True, 1, -0.5, np.nan, 2j, np.True_, xp.asarray(3, dtype=xp.int8)):
        assert int(T.cond(pred, lambda: 1, lambda: 0)) == 1
    for pred in (False, 0, 0.0, -0.0, 0j, np.False_, xp.asarray(0, dtype=xp.uint8)):
        assert int(T.cond(pred, lambda: 1, lambda: 0)) == 0


def test_bounds_of_fori_loop() -> None:
    f = lambda lower, upper: T.fori_loop(lower, upper, lambda i, v: v + i, 0)  # noqa: E731
    assert [int(f(a, b)) for a, b in [(0, 5), (-2, 3), (3, -2), (4, 5)]] == [10, 0, 0, 4]
    n = xp.asarray(4)
    assert float(T.grad(lambda x: T.fori_loop(0, n, lambda i, v: v * x, 1.0))(2.0)) == 32
    same(T.vmap(lambda n: f(0, n))(xp.asarray([5, 0, 3])), np.array([10, 0, 3]))
    assert int(T.compile(lambda n: f(n, 2 * n), fullgraph=True)(xp.asarray(5))) == 35
    last = T.jvp(lambda x: T.fori_loop(0, xp.astype(x, xp.int64), lambda i, v: v * x, 1.0), (3.0,), (1.0,))
    same(last, (np.array(27.0), np.array(27.0)))


def test_reverse_mode_needs_to_know_the_number_of_steps() -> None:
    with pytest.raises(NotImplementedError, match=r"while_loop: no reverse mode, .* forward mode"):
        T.grad(lambda x: T.while_loop(lambda v: v < 9, lambda v: v * x, x))(2.0)


# -- wrong uses ----------------------------------------------------------------------------------------------

V = xp.asarray(X)
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: T.scan(lambda c, a: (c[:2], a), V, V),
        TypeError,
        r"scan: the carry must keep its shapes and dtypes: float64\[3\] goes in, float64\[2\] comes out",
    ),
    (
        lambda: T.scan(lambda c, a: ({"k": xp.astype(c["k"], xp.float32)}, a), {"k": V}, V),
        TypeError,
        r"\{'k': float64\[3\]\} goes in, \{'k': float32\[3\]\} comes out",
    ),
    (
        lambda: T.scan(lambda c, a: ((c if a > 0 else c[:2]), a), V, V),
        TypeError,
        r"float64\[3\] goes in, float64\[2\] comes out",
    ),
    (
        lambda: T.scan(lambda c, a: ((c, c), a), V, V),
        TypeError,
        r"its structure: \* goes in, tuple\(\*, \*\)",
    ),
    (lambda: T.scan(lambda c, a: {"c": c}, V, V), TypeError, r"scan: f must return a pair \(carry, y\)"),
    (lambda: T.scan(lambda c, a: (c, "no"), V, V), TypeError, "scan: needs arrays or numbers, not str: 'no'"),
    (lambda: T.scan(lambda c, a: (c, a), V), ValueError, "needs xs or length"),
    (lambda: T.scan(lambda c, a: (c, a), V, (V, V[:2])), ValueError, "different lengths: 3, 2"),
    (lambda: T.scan(lambda c, a: (c, a), V, V, length=2), ValueError, "length is 2, but xs has 3"),
    (lambda: T.scan(lambda c, a: (c, a), V, None, length=-1), ValueError, "must not be negative"),
    (lambda: T.scan(lambda c, a: (c, a), V, 1.0), ValueError, "xs holds a number"),
    (
        lambda: T.cond(True, lambda: V, lambda: V[:2]),
        TypeError,
        r"cond: branches .* same shapes and dtypes: float64\[3\] and float64\[2\]",
    ),
    (lambda: T.cond(True, lambda: V, lambda: xp.astype(V, xp.int64)), TypeError, r"and int64\[3\]"),
    (lambda: T.cond(True, lambda: V, lambda: (V,)), TypeError, r"same structure: \* and tuple\(\*\)"),
    (lambda: T.cond(V, lambda: V, lambda: V), TypeError, r"predicate must be a number, .* \(3,\)"),
    (lambda: T.cond((True,), lambda: V, lambda: V), TypeError, "predicate must be a number, .* structure"),
    (lambda: T.switch(1.0, [xp.sin, xp.cos], V), TypeError, "index must be an integer, not float64"),
    (lambda: T.switch(0, []), ValueError, "at least one branch"),
    (lambda: T.while_loop(lambda v: v, lambda v: v, 1.0), TypeError, r"must give a boolean, not float64\[\]"),
    (lambda: T.while_loop(lambda v: v > V, lambda v: v, 1.0), TypeError, r"a boolean, not bool\[3\]"),
    (lambda: T.while_loop(lambda v: (v,), lambda v: v, 1.0), TypeError, r"not the structure tuple"),
    (lambda: T.while_loop(lambda v: v < 3, lambda v: (v, v), 1.0), TypeError, "the value must keep its str"),
    (lambda: T.fori_loop(0, 1j, lambda i, v: v, 1.0), TypeError, "bounds must be integers or real numb"),
    (lambda: T.fori_loop(0, np.uint64(3), lambda i, v: v[0], V), TypeError, "fori_loop: the carry must keep"),
    (lambda: T.fori_loop(np.int64(0), np.uint64(3), lambda i, v: v, 1.0), TypeError, "hold both bounds"),
    (lambda: T.map(xp.sin, V, batch_size=0), ValueError, "batch_size must be positive, not 0"),
    (lambda: T.map(xp.sin, 1.0), ValueError, "map: xs holds a number"),
    (lambda: T.associative_scan(xp.add, (V, V[:2])), ValueError, "different lengths: 3, 2"),
    (lambda: T.associative_scan(xp.add, V, axis=1), ValueError, r"axis 1 is out of bounds for shape \(3,\)"),
]


@pytest.mark.parametrize(("call", "error", "match"), WRONG, ids=[m for _, _, m in WRONG])
def test_wrong_uses(call: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


# -- map and associative_scan --------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [None, 1, 2, 5, 7])
def test_map(batch_size: int | None) -> None:
    def f(x: Any) -> Any:
        return {"sum": xp.sum(x["a"] ** 2), "x": x["a"] * x["b"]}

    xs = {"a": xp.asarray(ROWS), "b": xp.asarray(ROWS[:, 0])}
    wanted = {"sum": (ROWS**2).sum(1), "x": ROWS * ROWS[:, :1]}
    same(T.map(f, xs, batch_size=batch_size), wanted)
    gradient = T.grad(lambda a: xp.sum(T.map(f, {**xs, "a": a}, batch_size=batch_size)["sum"]))
    same(gradient(xs["a"]), 2 * ROWS)
    empty = T.map(lambda x: x * 2, xp.zeros((0, 3)), batch_size=batch_size)
    assert empty.shape == (0, 3)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", range(10))
def test_associative_scan(n: int, reverse: bool) -> None:
    """Affine maps, one after the other: associative, and not commutative."""
    a, b = np.random.default_rng(n).normal(size=(2, 2, n))

    def then(f: Any, g: Any) -> Any:
        return f[0] * g[0], f[1] * g[0] + g[1]

    wanted = np.zeros((2, 2, n))
    for k in reversed(range(n)) if reverse else range(n):
        before = k + 1 if reverse else k - 1
        one = (a[:, k], b[:, k])
        wanted[0, :, k], wanted[1, :, k] = then(wanted[:, :, before], one) if 0 <= before < n else one
    got = T.associative_scan(then, (xp.asarray(a), xp.asarray(b)), reverse=reverse, axis=-1)
    same(got, tuple(wanted))


def test_associative_scan_under_transforms() -> None:
    f = lambda x: xp.sum(T.associative_scan(xp.multiply, x) ** 2)  # noqa: E731
    g = lambda x: xp.sum(xp.cumulative_prod(x) ** 2)  # noqa: E731
    same(T.grad(f)(xp.asarray(X)), T.grad(g)(xp.asarray(X)))
    same(T.vmap(T.hessian(f))(xp.asarray(ROWS)), T.vmap(T.hessian(g))(xp.asarray(ROWS)))
    same(T.compile(f, fullgraph=True)(xp.asarray(X)), g(xp.asarray(X)))


# -- long loops ----------------------------------------------------------------------------------------------


def test_long_loops_take_linear_time() -> None:
    def seconds(n: int) -> float:
        x = xp.ones(n)
        start = process_time()
        total = T.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x)
        assert float(total[0]) == 2 - 0.5 ** (n - 1)
        gradient = T.grad(lambda x: T.scan(lambda c, a: (xp.sin(c) + a, None), 0.0, x)[0])(x)
        assert float(gradient[-1]) == 1
        return process_time() - start

    seconds(10)
    few = min(seconds(2_000) for _ in range(3))
    assert seconds(100_000) < 50 * few * 4


MEMORY = """
import resource
import numpy as np
import nabla_array as xp
from nabla_array.transforms import fori_loop, scan

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

big = xp.ones(200_000)
step = lambda i, v: xp.sin(v) * 0.5 + v
float(fori_loop(0, 3, step, big)[0])
before = peak()
float(fori_loop(0, 300, step, big)[0])
float(scan(lambda c, a: (c + a, None), 0.0, xp.ones(100_000))[0])
print(peak() - before)
"""


def test_long_loops_take_bounded_memory() -> None:
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 30 << 20


def test_no_lowering_yet() -> None:
    """MAX does not run these; when it does, docs/howto/control-flow.md says so."""
    assert [p.max for p in (control.scan, control.while_, control.switch)] == [None] * 3


def test_programs_are_printed_below_the_operation() -> None:
    f = T.compile(lambda x: T.while_loop(lambda v: v < 9, lambda v: v * x, x))
    lines = str(f.lower(xp.asarray(2.0))).splitlines()
    assert "while(%0, %0, cond=<lt>, body=<mul>, carry=1" in lines[1]
    assert [line.strip() for line in lines if line.startswith("    ")] == [
        "program(%0: float64[], %1: float64[]):",
        "%2: float64[] = fill(value=9.0, shape=())",
        "%3: bool[] = lt(%0, %2)",
        "return %3",
        "program(%0: float64[], %1: float64[]):",
        "%2: float64[] = mul(%0, %1)",
        "return %2",
    ]


# -- large arrays: by plans, over dead values ----------------------------------------------------------------

LARGE = np.random.default_rng(3).uniform(size=1 << 17)


def test_large_bodies_give_the_bits_of_a_loop() -> None:
    x = xp.asarray(LARGE)

    def step(c: Any, a: Any) -> Any:
        return xp.sin(c) * a + c * 0.25, (c, xp.sum(c))

    carry, wanted = x, []
    for a in X:
        wanted.append(carry)
        carry = step(carry, a)[0]
    got = T.scan(step, x, xp.asarray(X))
    same(got, (carry, (xp.stack(wanted), xp.stack([xp.sum(c) for c in wanted]))), 0)
    out = T.while_loop(lambda s: s[1] < 3, lambda s: (step(s[0], xp.asarray(X)[s[1]])[0], s[1] + 1), (x, 0))
    same(out, (carry, np.array(3)), 0)
    same(T.cond(x[0] >= 0, lambda: (x, x * 2 + 1), lambda: (x + 1, x)), (LARGE, LARGE * 2 + 1), 0)
    np.testing.assert_array_equal(np.asarray(x), LARGE)
    f = lambda scan: lambda x: xp.sum(scan(step, x, xp.asarray(X))[0] ** 2)  # noqa: E731
    same(T.grad(f(T.scan))(x), T.grad(f(python_scan))(x))


def test_large_bodies_write_over_their_own_memory_only() -> None:
    """A carry that is written to, handed on as it is, given out and captured."""
    start = xp.zeros(1 << 17)

    def step(state: Any, i: Any) -> Any:
        buffer, _, kept = state
        seen = buffer[:4].copy()
        buffer[i] = xp.sum(buffer[:8]) + i
        return (buffer, buffer, kept), (seen, start[i] + kept[i])

    (buffer, before, kept), (seen, zeros) = T.scan(step, (start, start, start), xp.arange(1, 6))
    wanted, rows = np.zeros(1 << 17), []
    for i in range(1, 6):
        rows.append(wanted[:4].copy())
        wanted[i] = wanted[:8].sum() + i
    same((buffer, before), (wanted, wanted), 0)
    same((kept, start, zeros), (np.zeros(1 << 17), np.zeros(1 << 17), np.zeros(5)), 0)
    same(seen, np.stack(rows), 0)


def test_regions_of_large_bodies_run_on_max() -> None:
    with numpy_as_max(), xp.config(mode="max"):
        before = stats.compiled
        got = T.fori_loop(0, 3, lambda i, v: xp.sin(v) * 0.5 + v, xp.asarray(LARGE))
        wanted = python_fori(0, 3, lambda i, v: np.sin(v) * 0.5 + v, LARGE)
        same(got, wanted, 0)
        assert stats.compiled >= before + 3
