"""`compile` under other transforms, and these under it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    checkpoint,
    compile,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jvp,
    vjp,
    vmap,
)

from .counted import Counted, arr, close, same


def loss(w: Any, x: Any) -> Any:
    return xp.sum(xp.tanh(x @ w) ** 2)


def test_grad_of_compiled_and_compiled_grad() -> None:
    w, x = arr(3, 2), arr(4, 3)
    f = Counted(loss)
    c = compile(f)
    for _ in range(2):
        same(grad(c)(w, x), grad(loss)(w, x))
    assert f.runs == 1
    same(c(w, x), loss(w, x))
    assert f.runs == 1  # the program is the same without grad
    f = Counted(grad(loss))
    c = compile(f)
    for _ in range(3):
        same(c(w, x), grad(loss)(w, x))
    assert f.runs == 1
    for _ in range(2):
        close(
            grad(lambda w: xp.sum(compile(grad(loss))(w, x) ** 2))(w),
            grad(lambda w: xp.sum(grad(loss)(w, x) ** 2))(w),
        )


def test_derivatives_through_a_compiled_function_that_was_first_called_without() -> None:
    c = compile(loss)
    w, x = arr(3, 2), arr(4, 3)
    c(w, x)
    t = arr(3, 2)
    close(jvp(lambda w: c(w, x), (w,), (t,))[1], jvp(lambda w: loss(w, x), (w,), (t,))[1])
    close(vjp(c, w, x)[1](xp.asarray(1.0))[1], vjp(loss, w, x)[1](xp.asarray(1.0))[1])
    v = arr(4)
    q = lambda v: xp.sum(xp.exp(v)) ** 2  # noqa: E731
    close(hessian(compile(q))(v), hessian(q)(v))
    close(compile(hessian(q))(v), hessian(q)(v))
    close(grad(grad(compile(lambda a: xp.sin(a) * a)))(1.3), grad(grad(lambda a: xp.sin(a) * a))(1.3))
    assert c.cache_info()[:2] == (2, 1)


def test_vmap_first_then_plain_then_another_batch() -> None:
    f = Counted(lambda x, y: xp.sum(x * y) + x)
    c = compile(f)
    y = arr(3)
    over = vmap(c, in_axes=(0, None))

    def wanted(xs: Any) -> Any:
        return xp.stack([f.fun(xs[i], y) for i in range(xs.shape[0])])

    for n in (4, 4, 5, 4):
        xs = arr(n, 3)
        close(over(xs, y), wanted(xs))
    assert f.runs == 2  # once a size
    x = arr(3)
    same(c(x, y), f.fun(x, y))
    assert f.runs == 3
    for n in (4, 5, 6, 7):  # now one program serves all
        xs = arr(n, 3)
        close(over(xs, y), wanted(xs))
    assert f.runs == 3
    xss = arr(2, 4, 3)
    close(vmap(over, in_axes=(0, None))(xss, y), xp.stack([wanted(xss[0]), wanted(xss[1])]))
    assert f.runs == 3


def test_vmap_over_one_argument_or_the_other_and_none() -> None:
    f = Counted(lambda x, y: (x * 2, y, x - y, 7))
    c = compile(f)
    x, y, xs, ys = arr(3), arr(3), arr(4, 3), arr(4, 3)
    for _ in range(2):
        for axes, args in (((0, None), (xs, y)), ((None, 0), (x, ys)), ((0, 0), (xs, ys))):
            got = vmap(c, in_axes=axes)(*args)
            want = vmap(f.fun, in_axes=axes)(*args)
            same(got, want)
    inside = vmap(lambda a: a + xp.sum(c(x, y)[2]))
    for _ in range(2):
        close(inside(xs), xs + xp.sum(x - y))


def test_compiled_vmap_and_both() -> None:
    f = lambda x: xp.sum(xp.sin(x))  # noqa: E731
    xs = arr(5, 3)
    c = compile(vmap(f))
    for _ in range(2):
        same(c(xs), vmap(f)(xs))
    assert c.cache_info().hits == 1
    for make in (
        lambda f: vmap(grad(compile(f))),
        lambda f: compile(vmap(grad(f))),
        lambda f: vmap(compile(grad(f))),
        lambda f: compile(vmap(compile(grad(compile(f))))),
    ):
        made = make(f)
        for _ in range(3):
            close(made(xs), xp.cos(xs))
    total = compile(f)
    close(grad(lambda xs: xp.sum(vmap(total)(xs)))(xs), xp.cos(xs))
    close(grad(lambda xs: xp.sum(vmap(total)(xs)))(xs), xp.cos(xs))


def test_looks_under_vmap_split_the_batch_as_without() -> None:
    def collatz(n: Any) -> Any:
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    n = xp.asarray([1, 2, 3, 4, 5, 6])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for made in (vmap(compile(collatz)), compile(vmap(collatz)), compile(vmap(compile(collatz)))):
            for _ in range(2):
                assert np.asarray(made(n)).tolist() == [0, 1, 7, 2, 5, 8]
        with pytest.raises(TypeError, match="fullgraph"):
            compile(vmap(collatz), fullgraph=True)(n)
    abs_ = compile(lambda x: x if x > 0 else -x)
    g = vmap(grad(abs_))
    for _ in range(2):
        assert np.asarray(g(xp.asarray([1.0, -2.0, 3.0]))).tolist() == [1.0, -1.0, 1.0]


def test_compiled_calls_compiled() -> None:
    inner = Counted(lambda x: xp.exp(x) * 2)
    c = compile(inner)
    outer = Counted(lambda x: c(x) + c(x + 1))
    d = compile(outer)
    for _ in range(3):
        x = arr(3)
        same(d(x), inner.fun(x) + inner.fun(x + 1))
    assert (inner.runs, outer.runs) == (1, 1)
    looking = compile(lambda x: x * float(x[0]))
    around = compile(lambda x: looking(x) + 1)
    for _ in range(2):
        x = arr(3)
        same(around(x), x * float(x[0]) + 1)
    assert around.cache_info()[:3] == (0, 0, 2)


def test_functions_with_their_own_derivatives_keep_them() -> None:
    @custom_jvp
    def f(x: Any) -> Any:
        return xp.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return f(primals[0]), 10 * tangents[0]

    @custom_vjp
    def g(x: Any) -> Any:
        return xp.sin(x)

    g.defvjp(lambda x: (xp.sin(x), x), lambda x, ct: (20 * ct,))
    for fun, slope in ((f, 10.0), (g, 20.0), (checkpoint(xp.sin), float(np.cos(1.0)))):
        c = compile(fun)
        close(c(xp.asarray(1.0)), np.sin(1.0))
        for _ in range(2):
            close(grad(c)(1.0), slope)
            close(compile(grad(fun))(1.0), slope)
            close(vmap(grad(c))(xp.asarray([1.0, 1.0])), [slope, slope])


def test_captured_arrays_are_constants_but_differentiable() -> None:
    made = []

    def outer(a: Any) -> Any:
        c = compile(lambda y: xp.sum(a * y))
        made.append(c)
        return c(xp.asarray([1.0, 2.0])) + c(xp.asarray([3.0, 4.0]))

    close(grad(outer)(xp.asarray([5.0, 6.0])), [4.0, 6.0])
    assert made[0].cache_info().hits == 1
    k = arr(3)
    before = np.asarray(k)
    c = compile(lambda x: x + k)
    x = arr(3)
    c(x)
    k += 1.0
    close(c(x), np.asarray(x) + before)
