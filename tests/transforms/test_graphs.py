"""Graphs, calls of graphs, and gradient graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    CallSiteInfo,
    autodiff,
    call,
    call_with_info,
    checkpoint,
    compile,
    cond,
    fori_loop,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    scan,
    trace,
    tree_leaves,
    vjp,
    vmap,
)

from .graphs_of_layers import gradients, layers, linear, net, normal, same

# -- graphs --------------------------------------------------------------------------------------------


def test_a_graph_has_named_inputs_and_outputs() -> None:
    graph = trace(linear, xp.zeros((4, 3), dtype=xp.float32), xp.zeros((3, 2), dtype=xp.float32), 1.0)
    x, W, b = graph.inputs
    assert (x.name, x.shape, x.dtype) == ("x", (4, 3), xp.float32)
    assert (W.name, b.name, b.shape, b.dtype) == ("W", "b", (), xp.float64)
    (out,) = graph.outputs
    assert out.shape == (4, 2)
    assert len({x, W, b, out}) == 4
    assert {x: 1}[graph.inputs[0]] == 1
    assert graph.name == "linear"
    assert graph.called_graphs == ()
    assert repr(graph).startswith("<graph linear(x: float32[4, 3], ")


def test_a_graph_prints_with_the_graphs_that_it_calls() -> None:
    def scaled(x: Any) -> Any:
        return 2.0 * x + offset

    offset = xp.asarray([1.0, 2.0])
    inner = trace(scaled, xp.zeros(2))

    def outer(p: Any, pair: Any) -> Any:
        return {"a": call(inner, p["w"]) * pair[1], "b": call(inner, pair[0])}

    graph = trace(outer, {"w": xp.zeros(2)}, (xp.zeros(2), 3.0))
    assert str(graph) == (
        "graph outer(p['w']: float64[2], pair[0]: float64[2], pair[1]: float64[]):\n"
        "  captured %3: float64[2]\n"
        "  %5: float64[2] = call scaled(p['w'])\n"
        "  %6: float64[2] = broadcast(pair[1], shape=(2,), axes=())\n"
        "  out['a']: float64[2] = mul(%5, %6)\n"
        "  out['b']: float64[2] = call scaled(pair[0])\n"
        "  return out['a'], out['b']\n"
        "\n"
        "graph scaled(x: float64[2]):\n"
        "  captured %1: float64[2]\n"
        "  %3: float64[2] = mul(2.0, x)\n"
        "  out: float64[2] = add(%3, %1)\n"
        "  return out"
    )
    result = call(graph, {"w": xp.ones(2)}, (xp.zeros(2), 3.0))
    same(result, {"a": xp.asarray([9.0, 12.0]), "b": offset})


def test_graphs_of_one_name_are_told_apart_when_printed() -> None:
    x, W, V = normal(2, 3), normal(3, 2), normal(2, 2)
    one, two = trace(linear, x, W, 0.0), trace(linear, V, V, 0.0)
    text = str(trace(lambda x, W, V: call(two, call(one, x, W, 0.0), V, 0.0), x, W, V))
    assert text.count("graph linear(") == text.count("graph linear_2(") == 1
    assert text.count("call linear(") == text.count("call linear_2(") == 1


def test_outputs_may_be_inputs_and_constants() -> None:
    graph = trace(lambda x: (x, 1.0, x, xp.arange(3)), xp.zeros(2))
    x = normal(2)
    same(call(graph, x), (x, xp.asarray(1.0), x, xp.arange(3)))
    assert graph.outputs[0] is graph.inputs[0] is graph.outputs[2]
    y = xp.ones(2)
    same(gradients(graph, (x,), y, 7.0, grads_provided=graph.outputs[:2]), (y,))


def test_captured_arrays_are_constants_also_once_they_are_written_to() -> None:
    w = xp.asarray([1.0, 2.0])
    graph = trace(lambda x: x * w, xp.zeros(2))
    w += 10
    same(call(graph, xp.ones(2)), xp.asarray([1.0, 2.0]))
    same(gradients(graph, (xp.ones(2),), xp.ones(2)), (xp.asarray([1.0, 2.0]),))


def test_what_is_done_to_arguments_stays_inside() -> None:
    def double(x: Any) -> Any:
        x *= 2.0
        return x + 1

    x = xp.ones(2)
    graph = trace(double, x)
    same((call(graph, x), x), (xp.asarray([3.0, 3.0]), xp.ones(2)))


def test_looking_at_a_value_is_an_error_that_names_the_line() -> None:
    def branch(x: Any) -> Any:
        return x if xp.sum(x) > 0 else -x

    with pytest.raises(TypeError, match=r"trace: the function looks at a value \(.*test_graphs.py:\d+\)"):
        trace(branch, xp.ones(2))
    with pytest.raises(TypeError, match="looks at a value"):
        trace(vmap(branch), xp.ones((3, 2)))
    assert float(grad(lambda x: branch(x) * 2)(1.0)) == 2.0  # nothing is left behind

    def constant(x: Any) -> Any:
        return x * float(xp.sum(xp.arange(3)))

    same(call(trace(constant, 1.0), 2.0), xp.asarray(6.0))


def test_trace_takes_and_returns_arrays() -> None:
    with pytest.raises(TypeError, match="trace: needs arrays or numbers, not str"):
        trace(lambda x: x, "a")
    with pytest.raises(TypeError, match="trace: needs arrays or numbers, not str"):
        trace(lambda x: "a", 1.0)


# -- calls ---------------------------------------------------------------------------------------------


def test_a_call_gives_what_the_function_gives() -> None:
    x, W, b = normal(4, 3), normal(3, 2), normal(2)
    graph = trace(linear, x, W, b)
    out, info = call_with_info(graph, x, W, b)
    assert isinstance(info, CallSiteInfo)
    assert info.called_graph is graph
    assert info.inputs == (x, W, b) or all(p is q for p, q in zip(info.inputs, (x, W, b), strict=True))
    assert info.outputs[0] is out
    same((out, call(graph, x, W, b)), (x @ W + b, x @ W + b))
    same(call(graph, x, inputs_dict={graph.inputs[2]: b, graph.inputs[1]: W}), x @ W + b)
    same(info.graph_to_parent(graph.outputs[0]), out)
    same(info.graph_to_parent(graph.inputs[1]), W)


def test_python_scalars_take_the_dtype_that_is_wanted() -> None:
    graph = trace(lambda x, n: x * 2, xp.asarray(1.0, dtype=xp.float32), 3)
    same(call(graph, 2, 1), xp.asarray(4.0, dtype=xp.float32))
    with pytest.raises(TypeError, match=r"call: input n: int64\[\] of graph <lambda> was given float64\[\]"):
        call(graph, 2, 1.5)


def test_wrong_arguments_are_named() -> None:
    graph = trace(linear, normal(4, 3), normal(3, 2), normal(2))
    x, W, b = graph.inputs
    with pytest.raises(ValueError, match=r"call: graph linear takes 3 arguments \(x: .*\), not 4"):
        call(graph, 1, 2, 3, 4)
    with pytest.raises(ValueError, match=r"missing: b: float64\[2\]"):
        call(graph, normal(4, 3), normal(3, 2))
    with pytest.raises(
        ValueError, match=r"input W: float64\[3, 2\] of graph linear was given float64\[2, 3\]"
    ):
        call(graph, normal(4, 3), normal(2, 3), normal(2))
    with pytest.raises(TypeError, match=r"input b: float64\[2\] of graph linear was given float32\[2\]"):
        call_with_info(graph, normal(4, 3), normal(3, 2), np.zeros(2, np.float32))
    with pytest.raises(ValueError, match=r"x: .* is given twice"):
        call(graph, normal(4, 3), inputs_dict={x: 1})
    with pytest.raises(ValueError, match="is no input of graph linear"):
        call(graph, normal(4, 3), inputs_dict={graph.outputs[0]: 1})
    with pytest.raises(ValueError, match=r"argument 0 of graph linear has the structure list\(\*\), not \*"):
        call(graph, [normal(4, 3)], W, b)
    with pytest.raises(TypeError, match="needs a graph, which trace makes"):
        call(linear, 1)
    with pytest.raises(ValueError, match="is no value of graph linear"):
        call_with_info(graph, normal(4, 3), normal(3, 2), normal(2))[1].graph_to_parent(
            trace(linear, normal(4, 3), normal(3, 2), normal(2)).inputs[0]
        )


def test_calls_in_a_traced_function_are_calls_in_its_graph() -> None:
    graph, dense, gate, args = layers()
    assert graph.called_graphs == (dense, gate)
    assert str(graph).count("call linear(") == 2
    assert "tanh" not in str(graph).split("\n\n")[0]
    same(call(graph, *args), net(*args))
    top = trace(lambda *args: call(graph, *args) + 1, *args)
    assert top.called_graphs == (graph,)
    same(call(top, *args), net(*args) + 1)


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "grad": grad,
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "hessian": hessian,
    "grad of grad": lambda f: grad(lambda x: xp.sum(grad(f)(x) ** 2)),
    "jvp": lambda f: lambda x: jvp(f, (x,), (xp.ones(3),)),
    "hvp": lambda f: lambda x: hvp(f, (x,), (xp.ones(3),)),
    "vmap": lambda f: lambda x: vmap(f)(xp.stack([x, 2 * x])),
    "vmap of grad": lambda f: lambda x: vmap(grad(f))(xp.stack([x, 2 * x])),
    "vmap of hessian": lambda f: lambda x: vmap(hessian(f))(xp.stack([x, 2 * x])),
    "grad of vmap": lambda f: grad(lambda x: xp.sum(vmap(f)(xp.stack([x, 2 * x])))),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_calls_under_transforms(name: str) -> None:
    transform = TRANSFORMS[name]

    def f(x: Any) -> Any:
        q, r = xp.linalg.qr(xp.reshape(x, (3, 1)))
        return xp.sum(xp.sin(x) * x**2) + q[1, 0] * r[0, 0]

    x = normal(3)
    graph = trace(f, x)
    wanted = transform(f)(x)
    same(transform(lambda x: call(graph, x))(x), wanted)
    # And in a graph: what the transform records calls graphs too.
    around = trace(lambda x: transform(lambda y: call(graph, y))(x), x)
    same(call(around, x), wanted)
    like, pullback = vjp(transform(f), x)
    seeds = [normal(*y.shape) for y in tree_leaves(like)]
    seed = tuple(seeds) if isinstance(like, tuple) else seeds[0]
    same(gradients(around, (x,), *seeds), pullback(seed))


def test_calls_in_compiled_functions() -> None:
    graph, _, _, args = layers()
    info = autodiff(graph)

    def step(*args: Any) -> Any:
        loss, site = call_with_info(graph, *args)
        return loss, call(info.graph, 1.0, inputs_dict=info.inputs_dict(site))

    fast = compile(step, fullgraph=True)
    for scale in (1.0, 2.0):
        given = [scale * x for x in args]
        same(fast(*given), (net(*given), grad(net, argnums=(0, 1, 2, 3, 4))(*given)))
    assert fast.cache_info().hits == 1


def test_graphs_of_compiled_and_of_checkpointed_functions() -> None:
    graph, _, _, args = layers()
    for transform in (compile, checkpoint):
        around = trace(transform(lambda *args: xp.exp(call(graph, *args))), *args)
        assert around.called_graphs == (graph,)
        same(call(around, *args), xp.exp(net(*args)))
        wanted = grad(lambda *args: xp.exp(net(*args)), argnums=(0, 1, 2, 3, 4))(*args)
        same(gradients(around, args, 1.0), wanted)


BODIES: dict[str, Callable[..., Any]] = {
    "scan": lambda f, x: scan(lambda c, y: (c * y + f(x * y), c), x[0], x)[0],
    "cond": lambda f, x: cond(x[0] > 0, f, lambda x: -f(2 * x), x),
    "fori_loop": lambda f, x: fori_loop(0, 4, lambda i, c: c * 0.5 + f(c * x), xp.ones(())),
}


@pytest.mark.parametrize("name", BODIES)
def test_calls_in_the_bodies_of_control_flow(name: str) -> None:
    def f(x: Any) -> Any:
        return xp.sum(xp.sin(x) * x**2)

    x = normal(3)
    inner = trace(f, x)
    graph = trace(lambda x: BODIES[name](lambda y: call(inner, y), x), x)
    for value in (x, -x):
        same(call(graph, value), BODIES[name](f, value))
        slope = grad(lambda x: BODIES[name](f, x))
        same(gradients(graph, (value,), 1.0), (slope(value),))
        same(grad(lambda x: call(graph, x))(value), slope(value))


def test_trace_within_vmap_makes_a_graph_for_one_example() -> None:
    made = []

    def f(x: Any) -> Any:
        made.append(trace(lambda y: grad(lambda z: xp.sum(xp.sin(z)))(y), x))
        return call(made[-1], x)

    xs = normal(4, 3)
    same(vmap(f)(xs), xp.cos(xs))
    assert made[0].inputs[0].shape == (3,)
    with pytest.raises(ValueError, match="captures an array that is batched by a vmap"):
        vmap(lambda x: call(trace(lambda y: x + y, xp.ones(3)), x))(xs)


def test_a_captured_array_has_its_gradient() -> None:
    def f(w: Any, x: Any) -> Any:
        return call(trace(lambda x: xp.sum(w**2 * x), x), x)

    w, x = normal(3), normal(3)
    same(grad(f)(w, x), 2 * w * x)
    same(hessian(f)(w, x), xp.asarray(np.diag(2 * np.asarray(x))))
