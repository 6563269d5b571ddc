"""Functions that transformed functions call: for results when these are needed, or for what they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    ShapeDtypeStruct,
    checkpoint,
    compile,
    cond,
    custom_jvp,
    debug,
    disable_jit,
    eval_shape,
    fori_loop,
    grad,
    hessian,
    io_callback,
    jvp,
    pure_callback,
    scan,
    trace,
    vmap,
    while_loop,
)

X = xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
F = ShapeDtypeStruct((), xp.float64)
shapes: list[Any] = []


def host_sum(x: Any, scale: Any = 1.0) -> Any:
    assert type(x) is np.ndarray
    shapes.append((x.shape, np.shape(scale)))
    return (x * np.expand_dims(scale, -1)).sum(-1)


def total(x: Any, scale: Any = 1.0, **options: Any) -> Any:
    return pure_callback(host_sum, F, x, scale=scale, **options)


@pytest.fixture(autouse=True)
def _forget() -> None:
    shapes.clear()


# -- for results -----------------------------------------------------------------------------------------


def test_callbacks_are_parts_of_programs() -> None:
    assert total(X[0]) == 3.0
    made = compile(lambda x: total(x) + 1, fullgraph=True)
    assert [made(x) for x in X] == [4.0, 8.0, 12.0]
    assert made.cache_info().hits == 2
    assert fori_loop(0, 3, lambda i, v: total(xp.stack([v, v])), 1.0) == 8.0
    assert [*scan(lambda c, x: (c + total(x), total(x)), 0.0, X)[1]] == [3.0, 7.0, 11.0]
    assert cond(X[0, 0] > 0, total, lambda x: 0.0, X[0]) == 3.0
    assert "pure_callback" in str(trace(total, X[0]))
    n = len(shapes)
    assert eval_shape(total, X[0]) == F
    total(X[0])  # nobody needs it
    assert len(shapes) == n


@pytest.mark.parametrize(
    "method", [None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]
)
def test_callbacks_of_many_examples(method: Any) -> None:
    for transform in (lambda f: f, compile):
        found = transform(vmap(lambda x: total(x, 2.0, vmap_method=method)))(X)
        assert [*found] == [6.0, 14.0, 22.0]
    one = [((2,), ())] * 3
    wanted = {"expand_dims": [((3, 2), (1,))], "broadcast_all": [((3, 2), (3,))]}.get(method, one)
    assert shapes[: len(wanted)] == wanted
    both = vmap(vmap(lambda x: total(x, vmap_method=method)))(xp.stack([X, 2 * X]))
    assert both.tolist() == [[3.0, 7.0, 11.0], [6.0, 14.0, 22.0]]


def test_derivatives_of_callbacks_are_given() -> None:
    f = custom_jvp(total)
    f.defjvp(lambda p, t: (f(*p), xp.sum(t[0]) * p[1]))
    assert [*grad(lambda x: f(x) ** 2)(X[0])] == [6.0, 6.0]
    assert vmap(grad(lambda x: f(x) ** 2))(X).tolist() == [[6.0] * 2, [14.0] * 2, [22.0] * 2]
    assert hessian(lambda x: f(x) ** 2)(X[0]).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with pytest.raises(NotImplementedError, match="pure_callback: no derivative is known"):
        grad(total)(X[0])


def test_what_callbacks_must_give() -> None:
    with pytest.raises(TypeError, match=r"the callback gave float64\[\], not float64\[2\]"):
        print(pure_callback(host_sum, ShapeDtypeStruct((2,), xp.float64), X[0]))
    with pytest.raises(TypeError, match=r"the callback gave float64\[\], not int64\[\]"):
        print(pure_callback(host_sum, ShapeDtypeStruct((), xp.int64), X[0]))
    with pytest.raises(TypeError, match="the callback gave the structure"):
        print(pure_callback(host_sum, (F, F), X[0]))
    with pytest.raises(ValueError, match="vmap_method 'other' is none of"):
        total(X[0], vmap_method="other")
    assert pure_callback(host_sum, ShapeDtypeStruct((), xp.float32), X[0]).dtype == xp.float32


def test_callbacks_may_compute_on_these_arrays() -> None:
    def inside(x: Any) -> Any:
        return {"s": xp.sum(xp.asarray(x) ** 2), "n": len(x)}

    found = pure_callback(inside, {"s": F, "n": ShapeDtypeStruct((), int)}, X[0])
    assert (found["s"] + found["n"]) == 7.0


# -- for what they do ------------------------------------------------------------------------------------


def test_effects_happen_once_an_example_and_call(capsys: Any) -> None:
    def f(x: Any) -> Any:
        debug.print("x = {x}, {}", "text", x=x)
        return x * 2

    lines = ["x = 1.0, text", "x = 2.0, text"]
    runs = {
        "plain": lambda: [f(x) for x in X[0]],
        "vmap": lambda: vmap(f)(X[0]),
        "vmap of grad": lambda: vmap(grad(f))(X[0]),
        "grad of vmap": lambda: grad(lambda x: vmap(f)(x).sum())(X[0]),
        "jvp": lambda: jvp(vmap(f), (X[0],), (X[0],)),
        "compile of vmap": lambda: compile(vmap(f))(X[0]),
        "vmap of compile": lambda: vmap(compile(f))(X[0]),
        "scan": lambda: scan(lambda c, x: (c, f(x)), 0.0, X[0]),
        "checkpoint": lambda: grad(lambda x: vmap(checkpoint(f))(x).sum())(X[0]),
        "cond": lambda: vmap(lambda x: cond(x > 0, f, lambda x: x, x))(X[0]),
    }
    for name, run in runs.items():
        for _ in range(2):
            run()
            assert capsys.readouterr().out.splitlines() == lines, name


def test_effects_without_arguments_happen_in_programs(capsys: Any) -> None:
    def say(value: Any) -> Any:
        debug.print("here")
        return value

    made = compile(say)
    for _ in range(3):
        made(X)
    fori_loop(0, 2, lambda i, v: say(v), 1.0)
    while_loop(lambda v: v < 3, lambda v: say(v + 1), 0)
    scan(lambda c, x: (say(c), None), None, None, length=2)
    compile(lambda x: fori_loop(0, 2, lambda i, v: say(v), x))(1.0)
    assert capsys.readouterr().out.split() == ["here"] * (3 + 2 + 3 + 2 + 2)


def test_effects_where_examples_part(capsys: Any) -> None:
    def f(x: Any) -> Any:
        debug.print("all {}", x)
        if x > 1:
            debug.print("large {}", x)
            return x
        debug.print("small {}", x)
        return -x

    vmap(f)(xp.asarray([1.0, 3.0, 0.0]))
    out = capsys.readouterr().out.splitlines()
    assert sorted(out) == ["all 0.0", "all 1.0", "all 3.0", "large 3.0", "small 0.0", "small 1.0"]


def test_callbacks_for_what_they_do_return_constants() -> None:
    seen: list[float] = []

    def note(x: Any) -> Any:
        seen.append(float(x))
        return len(seen)

    def f(x: Any) -> Any:
        return x**2 + io_callback(note, ShapeDtypeStruct((), int), x, ordered=True)

    assert f(3.0) == 10.0
    assert grad(f)(3.0) == 6.0
    assert [*vmap(f)(xp.asarray([1.0, 2.0]))] == [1 + 3, 4 + 4]
    assert seen == [3.0, 3.0, 1.0, 2.0]
    made = compile(f)
    assert [made(1.0), made(1.0)] == [6.0, 7.0]
    assert scan(lambda c, x: (c + f(x), None), 0.0, xp.zeros(2))[0] == 7 + 8
    assert eval_shape(f, F) == F
    assert len(seen) == 8
    assert io_callback(lambda x: None, None, 1.0) is None


def test_functions_that_must_be_written_down_have_no_effects() -> None:
    def f(x: Any) -> Any:
        debug.print("x")
        return x

    assert eval_shape(f, F) == F
    for run in (compile(f, fullgraph=True), lambda x: trace(f, x)):
        with pytest.raises(TypeError, match=r"test_callbacks\.py"):
            run(X)


def test_effects_of_rules(capsys: Any) -> None:
    f = custom_jvp(lambda x: x * x)

    def rule(primals: Any, tangents: Any) -> Any:
        debug.print("x = {}", primals[0])
        return f(*primals), 2 * primals[0] * tangents[0]

    f.defjvp(rule)
    x = xp.asarray([1.0, 2.0])
    for run in (
        lambda: vmap(grad(f))(x),
        lambda: grad(lambda x: vmap(f)(x).sum())(x),
        lambda: compile(vmap(grad(f)))(x),
        lambda: vmap(grad(compile(f)))(x),
    ):
        assert [*run()] == [2.0, 4.0]
        assert capsys.readouterr().out.splitlines() == ["x = 1.0", "x = 2.0"]

    def loop(x: Any) -> Any:
        return fori_loop(0, 2, lambda i, v: f(v), x)

    with pytest.raises(TypeError, match="a rule for a derivative does this in a loop"):
        grad(loop)(2.0)
    with disable_jit():
        assert grad(loop)(2.0) == 32.0
    assert capsys.readouterr().out.splitlines() == ["x = 4.0", "x = 2.0"]
