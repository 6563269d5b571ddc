"""Writes to captured arrays under transforms of transforms, in bodies of loops, at random, and by threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms as t
from nabla_array.transforms import vmap

from .capturing import RNG, X, close, settle

pytestmark = [
    pytest.mark.filterwarnings("ignore::nabla_array.transforms.SplitWarning"),
    pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning"),
]


# -- compositions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look", [lambda y: bool(y.sum() > 0), lambda y: float(y.sum()), lambda y: y.tolist()]
)
def test_derivatives_of_results_that_were_looked_at(look: Callable[[Any], Any]) -> None:
    """Examples run one by one, and some results are known by then."""

    def scaled(c: Any) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            c[:3] = x * 2
            y = c[:3] * 1
            look(y)
            return y

        return f

    rows = xp.asarray([[0.3, -0.2, 0.4], [-1.0, 0.2, 0.1]])
    wanted = [t.jvp(scaled(xp.zeros(8)), (x,), (x,))[1] for x in rows]
    f = lambda x: vmap(scaled(xp.zeros(8)))(x)  # noqa: E731
    close(t.jvp(f, (rows,), (rows,))[1], wanted)
    close(t.grad(lambda x: xp.sum(f(x)))(rows), np.asarray(wanted) / np.asarray(rows))
    close(t.jvp(vmap(f), (rows[None],), (rows[None],))[1], [wanted])
    close(vmap(lambda x: t.jvp(f, (x,), (x,))[1])(rows[None]), [wanted])
    close(t.linearize(f, rows)[1](rows), wanted)


def _counting(c: Any) -> Any:
    def f(x: Any) -> Any:
        c[0] += 1
        c[1] = c[1] * 0.5 + x
        return x * x * c[0]

    return f


def _reference(rows: Any) -> tuple[Any, np.ndarray]:
    c = np.zeros(2)
    f = _counting(c)
    return np.array([f(x) for x in np.ravel(rows)]).reshape(np.shape(rows)), c


NUMBERS = RNG.standard_normal((2, 3))
OUTER: dict[str, Callable[[Any, Any], Any]] = {
    "vmap": lambda f, x: vmap(vmap(f))(x),
    "vmap along the other axis": lambda f, x: vmap(lambda r: vmap(f)(r))(x),
    "jvp": lambda f, x: t.jvp(lambda x: vmap(vmap(f))(x), (x,), (x,))[0],
    "vjp": lambda f, x: t.vjp(lambda x: vmap(vmap(f))(x), x)[0],
    "compile": lambda f, x: t.compile(vmap(vmap(f)))(x),
    "in compile": lambda f, x: vmap(t.compile(vmap(f)))(x),
    "of compile": lambda f, x: vmap(vmap(t.compile(f)))(x),
    "of checkpoint": lambda f, x: vmap(vmap(t.checkpoint(f)))(x),
    "map": lambda f, x: t.map(lambda r: t.map(f, r), x),
    "map of vmap": lambda f, x: t.map(vmap(f), x),
    "vmap of map": lambda f, x: vmap(lambda r: t.map(f, r))(x),
    "map in pieces": lambda f, x: t.map(lambda r: t.map(f, r, batch_size=2), x),
    "scan": lambda f, x: t.scan(lambda s, r: (s, t.scan(lambda s, y: (s, f(y)), 0, r)[1]), 0, x)[1],
    "vmap of scan": lambda f, x: vmap(lambda r: t.scan(lambda s, y: (s, f(y)), 0.0, r)[1])(x),
    "scan of vmap": lambda f, x: t.scan(lambda s, r: (s, vmap(f)(r)), 0.0, x)[1],
    "cond in vmap": lambda f, x: vmap(vmap(lambda y: t.cond(y < 9, f, lambda y: y, y)))(x),
    "switch in map": lambda f, x: t.map(vmap(lambda y: t.switch(1, [lambda y: y, f], y)), x),
    "while_loop in vmap": lambda f, x: vmap(
        vmap(lambda y: t.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, f(s[1])), (0, y))[1])
    )(x),
    "fori_loop in vmap": lambda f, x: vmap(vmap(lambda y: t.fori_loop(0, 1, lambda _, y: f(y), y)))(x),
    "vmap in cond": lambda f, x: t.cond(True, vmap(vmap(f)), lambda x: x, x),
    "vmap in fori_loop": lambda f, x: t.fori_loop(0, 1, lambda _, x: vmap(vmap(f))(x), x),
    "jvp in vmap": lambda f, x: vmap(vmap(lambda y: t.jvp(f, (y,), (y,))[0]))(x),
}


@pytest.mark.parametrize("name", OUTER)
def test_writes_under_transforms_in_transforms(name: str) -> None:
    wanted, left = _reference(NUMBERS)
    c = xp.zeros(2)
    close(OUTER[name](_counting(c), xp.asarray(NUMBERS)), wanted)
    close(c, left)
    settle(c)


@pytest.mark.parametrize("name", [k for k in OUTER if not k.startswith(("jvp", "vjp"))])  # there it leaves
def test_writes_to_numpys_arrays_under_transforms_in_transforms(name: str) -> None:
    wanted, left = _reference(NUMBERS)
    c = np.zeros(2)
    close(OUTER[name](_counting(c), xp.asarray(NUMBERS)), wanted)
    close(c, left)
    settle(c)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: t.grad(lambda x: xp.sum(vmap(f)(x)))(x),
        lambda f, x: vmap(t.grad(f))(x),
        lambda f, x: t.compile(vmap(t.grad(f)))(x),
        lambda f, x: t.grad(t.checkpoint(lambda x: xp.sum(vmap(f)(x))))(x),
        lambda f, x: t.grad(lambda x: xp.sum(t.map(f, x)))(x),
        lambda f, x: vmap(t.grad(lambda y: t.cond(y < 9, f, lambda y: y, y)))(x),
        lambda f, x: t.grad(lambda x: t.scan(lambda s, y: (s + f(y), None), 0.0, x)[0])(x),
        lambda f, x: xp.sum(t.jacfwd(lambda x: vmap(f)(x))(x), axis=0),
        lambda f, x: xp.sum(t.jacrev(lambda x: vmap(f)(x))(x), axis=0),
    ],
)
def test_derivatives_follow_what_is_written(derivative: Any) -> None:
    rows = NUMBERS.ravel()
    c = xp.zeros(1)

    def f(x: Any) -> Any:
        c[0] += 1
        return xp.sin(x) * c[0]

    close(derivative(f, xp.asarray(rows)), np.cos(rows) * np.arange(1, 7))
    close(c, [6])
    settle(c)


def test_a_derivative_goes_through_a_captured_array() -> None:
    def total(x: Any) -> Any:
        c = xp.zeros(1)

        def add(v: Any) -> Any:
            c[0] += v**2
            return v

        vmap(add)(x)
        return c[0]

    x = xp.asarray(X[:, 0])
    close(t.grad(total)(x), 2 * X[:, 0])
    close(vmap(t.grad(total))(xp.asarray(X)), 2 * X)
    close(t.hessian(total)(x), 2 * np.eye(4))


def test_an_array_of_the_outer_function_is_captured_by_the_inner_one() -> None:
    def outer(row: Any) -> Any:
        c = xp.zeros(2)

        def inner(x: Any) -> Any:
            c[0] += x
            c[1] += 1
            return c[0] * x

        return vmap(inner)(row), c

    wanted = [np.cumsum(r) * r for r in X]
    found, left = vmap(outer)(xp.asarray(X))
    close(found, wanted)
    close(left, np.stack([[r.sum(), 3] for r in X]))


@pytest.mark.parametrize("make", [xp.zeros, np.zeros], ids=["ours", "NumPy's"])
def test_bodies_of_loops_and_branches(make: Any) -> None:
    c = make(3)

    def body(s: Any, x: Any) -> Any:
        c[0] += 1
        c[1] = c[1] + x
        return s + x, s * c[0]

    found = t.scan(body, 0.0, xp.asarray([1.0, 2.0, 3.0]))
    close(found[0], 6)
    close(found[1], [0, 2, 9])
    close(c, [3, 6, 0])
    close(t.fori_loop(0, 4, lambda i, v: (c.__setitem__(2, i), v + i)[1], 0), 6)
    close(c, [3, 6, 3])
    close(t.while_loop(lambda v: (c.__setitem__(1, v), v < 3)[1], lambda v: v + 1, 0), 3)
    close(c, [3, 3, 3])

    def first(x: Any) -> Any:
        c[0] = -1
        return x

    for i, wanted in ((1, [3, 3, 3]), (0, [-1, 3, 3])):
        close(t.switch(i, [first, lambda x: x], 3.0), 3)
        close(c, wanted)
    t.associative_scan(lambda a, b: (c.__setitem__(2, 8), a + b)[1], xp.arange(4.0))
    close(c, [-1, 3, 8])
    settle(c)


def test_rules_for_derivatives_in_loops() -> None:
    c = xp.zeros(2)

    @t.custom_vjp
    def square(x: Any) -> Any:
        return x * x

    def backward(x: Any, ct: Any) -> Any:
        c[1] = ct
        return (ct * 2 * x,)

    square.defvjp(lambda x: (x * x, x), backward)
    close(t.grad(square)(3.0), 6)
    close(c, [0, 1])
    close(vmap(t.grad(square))(xp.asarray([1.0, 2.0])), [2, 4])
    close(c, [0, 1])
    with pytest.raises(
        TypeError, match=r"in a loop or branch, writes to an array .*test_captured_nested\.py:\d+"
    ):
        t.grad(lambda x: t.scan(lambda a, y: (square(a) + y, None), x, xp.ones(2))[0])(2.0)
    close(c, [0, 1])
    settle(c)


@pytest.mark.parametrize("make", [xp.zeros, np.zeros], ids=["ours", "NumPy's"])
def test_compiled_functions_write_each_time(make: Any) -> None:
    c = make(2)

    def f(x: Any) -> Any:
        c[0] += 1
        return x * c[0]

    compiled = t.compile(f)
    for k in range(1, 4):
        close(compiled(xp.ones(2)), [k, k])
        close(c, [k, 0])
    with pytest.raises(TypeError, match=r"nor made by the function \(.*test_captured_nested\.py:\d+"):
        t.compile(f, fullgraph=True)(xp.ones(2))
    with pytest.raises(TypeError, match=r"trace: the function writes .*test_captured_nested\.py:\d+"):
        t.trace(f, xp.ones(2))
    close(c, [3, 0])
    settle(c)


def test_a_compiled_function_may_keep_arrays_of_its_own() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        own = xp.zeros(2)
        own[0] = x[0]
        kept.append(own)
        return own + x

    compiled = t.compile(f, fullgraph=True)
    for _ in range(3):
        close(compiled(xp.ones(2)), [2, 1])
    assert len(kept) == 1


# -- at random ---------------------------------------------------------------------------------------------


def _random(seed: int) -> Callable[[Any, Any, Any], Any]:
    """Return a program of writes to two captured arrays and to its own."""
    rng = random.Random(seed)
    steps = [
        (rng.choice("w+vsmcbnkofr"), rng.randrange(2), rng.randrange(3), rng.uniform(-2, 2))
        for _ in range(rng.randint(1, 4))
    ]

    def f(m: Any, captured: Any, x: Any) -> Any:
        own, total = m.zeros(3), x * 1.0
        for step, which, i, a in steps:
            c = captured[which]
            if step == "w":
                c[i] = x * a
            elif step == "+":
                c[i] += x
            elif step == "v":
                part = c[1:]
                part *= a
            elif step == "s":
                total = total + c[i] * a
            elif step == "m":
                own[i] = total
                total = total + own[0]
            elif step == "c":
                if x * a > 0:
                    c[i] += 1
                else:
                    total = total * 2
            elif step == "b":
                c[...] = c[::-1]
            elif step == "n":
                c[i] = c[i] + 1
            elif step == "k":
                total = total + float(x)
            elif step == "o":
                np.add(c, a, out=c)
            elif step == "f":
                own = own + x
                own += c
            else:
                c[:2][...] = a
        return total + own[1] + own[2]

    return f


@pytest.mark.parametrize("seed", range(100))
def test_random_writes_under_random_transforms(seed: int) -> None:
    f, rng = _random(seed), np.random.default_rng(seed)
    names = [k for k in OUTER if not k.startswith(("jvp", "vjp"))]
    x, start = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
    left = [s.copy() for s in start]
    wanted = [[f(np, left, v) for v in row] for row in x]
    made = [rng.choice([xp.asarray, np.array])(s) for s in start]
    close(OUTER[names[seed % len(names)]](lambda v: f(xp, made, v), xp.asarray(x)), wanted)
    for c, s in zip(made, left, strict=True):
        close(c, s)
        settle(c)


# -- threads -----------------------------------------------------------------------------------------------


def test_threads_share_captured_arrays() -> None:
    n = np.ones(3)
    view = n[1:]
    errors: list[Any] = []

    def read() -> None:
        try:
            for _ in range(30):
                close(vmap(lambda x: x * n + view[0])(xp.asarray(X)), X + 1)
                close(vmap(vmap(lambda x: x * view[1] + n[0]))(xp.asarray(X)), X + 1)
        except BaseException as error:
            errors.append(error)

    def write() -> None:
        try:
            own = xp.zeros(1)
            for _ in range(30):
                vmap(lambda x: own.__setitem__(0, own[0] + xp.sum(x) * n[0]) or x)(xp.asarray(X))
            close(own, [30 * X.sum()])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=f) for f in (read, write, read, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    settle(n)
    settle(view)


def test_a_thread_may_write_to_what_anothers_batch_captures() -> None:
    c = xp.zeros(2)
    inside, done = threading.Event(), threading.Event()

    def f(x: Any) -> Any:
        inside.set()
        done.wait(10)
        return x + c[0]

    thread = threading.Thread(target=lambda: vmap(f)(xp.ones(3)))
    thread.start()
    inside.wait(10)
    c[1] = 5
    c += 1
    done.set()
    thread.join()
    close(c, [1, 6])
