"""Graphs, calls of graphs, and gradient graphs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.transforms import (
    CallSiteInfo,
    ExpectedConnectionType,
    GradGraphInfo,
    Graph,
    autodiff,
    call,
    call_with_info,
    checkpoint,
    compile,
    cond,
    custom_vjp,
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
    watching,
)

FWD, FWD_GRAD = ExpectedConnectionType.Fwd, ExpectedConnectionType.FwdGrad
rng = np.random.default_rng(4)


def normal(*shape: int) -> xp.Array:
    return xp.asarray(rng.normal(size=shape))


def same(got: Any, wanted: Any) -> None:
    got, wanted = tree_leaves(got), tree_leaves(wanted)
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-12)


def linear(x: Any, W: Any, b: Any) -> Any:
    return x @ W + b


def gradients(graph: Graph, args: tuple[Any, ...], *seeds: Any, **options: Any) -> Any:
    """The outputs of the gradient graph for a call of the graph."""
    info = autodiff(graph, **options)
    _, site = call_with_info(graph, *args)
    return call(info.graph, *seeds, inputs_dict=info.inputs_dict(site))


def layers() -> tuple[Graph, Graph, Graph, tuple[xp.Array, ...]]:
    """A network that calls two graphs, each twice."""
    dense = trace(linear, normal(5, 3), normal(3, 3), normal(3))
    gate = trace(lambda x: xp.tanh(x) * xp.sin(x), normal(5, 3))
    args = normal(5, 3), normal(3, 3), normal(3), normal(3, 3), normal(3)

    def net(x: Any, W1: Any, b1: Any, W2: Any, b2: Any) -> Any:
        h = call(gate, call(dense, x, W1, b1))
        return xp.sum(call(gate, call(dense, h, W2, b2)) ** 2)

    return trace(net, *args), dense, gate, args


def net(x: Any, W1: Any, b1: Any, W2: Any, b2: Any) -> Any:
    for W, b in ((W1, b1), (W2, b2)):
        x = x @ W + b
        x = xp.tanh(x) * xp.sin(x)
    return xp.sum(x**2)


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


# -- gradients -----------------------------------------------------------------------------------------


def test_the_gradient_graph_of_a_layer() -> None:
    x, W, b = normal(4, 3), normal(3, 2), normal(2)
    graph = trace(linear, x, W, b)
    info = autodiff(graph)
    assert isinstance(info, GradGraphInfo)
    assert info.forward_graph is graph
    (y,) = graph.outputs
    assert info.expected_inputs == ((FWD_GRAD, y), (FWD, graph.inputs[0]), (FWD, graph.inputs[1]))
    assert info.expected_outputs == tuple((FWD_GRAD, t) for t in graph.inputs)
    assert [t.shape for t in info.graph.outputs] == [(4, 3), (3, 2), (2,)]
    _, site = call_with_info(graph, x, W, b)
    activations = info.inputs_dict(site)
    assert tuple(activations) == info.graph.inputs[1:]
    seed = normal(4, 2)
    wanted = seed @ W.T, x.T @ seed, xp.sum(seed, axis=0)
    outs, grad_site = call_with_info(info.graph, seed, inputs_dict=activations)
    same(outs, wanted)
    same(call(info.graph, seed, *activations.values()), wanted)
    by_inside = info.fwd_graph_ins_to_grad_parent_outs(grad_site)
    assert tuple(by_inside) == graph.inputs
    same(by_inside[graph.inputs[1]], wanted[1])
    by_outside = info.fwd_parent_ins_to_grad_parent_outs(site, grad_site)
    same([by_outside[t] for t in (x, W, b)], wanted)
    assert [id(t) for t in by_outside] == [id(x), id(W), id(b)]
    with pytest.raises(KeyError, match="keys are the same objects"):
        by_outside[x + 0]


def test_some_gradients_provided_and_required() -> None:
    def f(x: Any, n: Any, w: Any, z: Any) -> Any:
        s = xp.sum(w * xp.exp(x)) * n
        return s, xp.argmax(x), xp.sin(z) * xp.sum(x)

    args = normal(3), 2, normal(3), normal(2)
    graph = trace(f, *args)
    x, _, w, z = graph.inputs
    loss, _, other = graph.outputs
    whole = autodiff(graph)
    assert [t for _, t in whole.expected_outputs] == [x, w, z]
    assert [t for kind, t in whole.expected_inputs if kind is FWD_GRAD] == [loss, other]
    _, pullback = vjp(lambda x, w, z: f(x, 2, w, z)[::2], args[0], *args[2:])
    same(gradients(graph, args, 1.5, xp.ones(2)), pullback((1.5, xp.ones(2))))
    zero = pullback((1.5, xp.zeros(2)))
    same(gradients(graph, args, 1.5, grads_provided=[loss]), zero)
    info = autodiff(graph, grads_provided=[other, loss], grads_required=[w, x])
    assert [t for kind, t in info.expected_inputs if kind is FWD_GRAD] == [other, loss]
    assert info.outputs == (w, x)
    assert "cos" not in str(info.graph)  # only the gradient by z needs it
    same(
        gradients(graph, args, xp.zeros(2), 1.5, grads_provided=[other, loss], grads_required=[w, x]),
        zero[1::-1],
    )
    same(gradients(graph, args, 1.0, grads_provided=[loss], grads_required=[z]), (xp.zeros(2),))


def test_what_has_no_gradient_is_named() -> None:
    graph = trace(lambda x, n: (x * n, n), normal(2), 1)
    other = trace(lambda x, n: (x * n, n), normal(2), 1)
    x, n = graph.inputs
    with pytest.raises(
        ValueError, match=r"grads_provided has x: .* which is no output of the graph; it has out"
    ):
        autodiff(graph, grads_provided=[x])
    with pytest.raises(ValueError, match=r"grads_required has x: .* which is no input of the graph"):
        autodiff(graph, grads_required=other.inputs)
    with pytest.raises(ValueError, match="grads_required has 'x', which is no input"):
        autodiff(graph, grads_required=["x"])
    with pytest.raises(TypeError, match=r"grads_required has n: int64\[\], which has no gradient"):
        autodiff(graph, grads_required=[n])
    with pytest.raises(ValueError, match=r"grads_required has x: .* twice"):
        autodiff(graph, grads_required=[x, x])
    with pytest.raises(TypeError, match="inputs_dict: needs a call of graph <lambda>, not one of <lambda>"):
        autodiff(graph).inputs_dict(call_with_info(other, normal(2), 1)[1])
    with pytest.raises(
        ValueError, match="called_graphs_grad_info has the gradient graph of <lambda> for <lambda>"
    ):
        autodiff(graph, called_graphs_grad_info={other: autodiff(graph)})


def test_a_graph_called_twice_is_differentiated_once() -> None:
    graph, dense, gate, args = layers()
    infos = autodiff(graph, return_all_grad_graphs=True)
    assert set(infos) == {graph, dense, gate}
    info = infos[graph]
    assert set(info.graph.called_graphs) == {infos[dense].graph, infos[gate].graph}
    text = str(info.graph)
    assert text.count("call grad_linear(") == 2
    assert text.count("call grad_<lambda>(") == 2
    assert text.count("\ngraph ") == 2
    same(gradients(graph, args, 1.0), grad(net, argnums=(0, 1, 2, 3, 4))(*args))


def test_gradient_graphs_are_used_again() -> None:
    graph, dense, gate, args = layers()
    infos = autodiff(graph, return_all_grad_graphs=True)
    other = trace(lambda *args: xp.exp(call(dense, *args)), *args[:3])
    again = autodiff(other, called_graphs_grad_info=infos, return_all_grad_graphs=True)
    assert again[dense] is infos[dense]
    assert again[other].graph.called_graphs == (infos[dense].graph,)
    assert set(again) == {graph, dense, gate, other}
    single = autodiff(other, called_graphs_grad_info={dense: infos[dense]})
    assert single.graph.called_graphs == (infos[dense].graph,)
    _, site = call_with_info(other, *args[:3])
    got = call(single.graph, xp.ones((5, 3)), inputs_dict=single.inputs_dict(site))
    same(got, vjp(lambda *a: xp.exp(linear(*a)), *args[:3])[1](xp.ones((5, 3))))


def test_gradient_graphs_that_give_too_little_are_named() -> None:
    graph, dense, _, _ = layers()
    little = autodiff(dense, grads_required=dense.inputs[1:])
    with pytest.raises(
        ValueError, match=r"given for linear does not give the gradient by x: float64\[5, 3\]"
    ):
        autodiff(graph, called_graphs_grad_info={dense: little})
    pair = trace(lambda x: (xp.sin(x), xp.cos(x)), 1.0)
    user = trace(lambda x: call(pair, x)[0] * call(pair, x)[1], 1.0)
    little = autodiff(pair, grads_provided=pair.outputs[:1])
    with pytest.raises(ValueError, match=r"given for <lambda> takes no gradient of out\[1\]"):
        autodiff(user, called_graphs_grad_info={pair: little})


def test_a_call_before_and_after_autodiff() -> None:
    graph, _, _, args = layers()
    early = call_with_info(graph, *args)[1]
    info = autodiff(graph)
    late = call_with_info(graph, *args)[1]
    before, after = info.inputs_dict(early), info.inputs_dict(late)
    same(list(before.values()), list(after.values()))
    wanted = grad(net, argnums=(0, 1, 2, 3, 4))(*args)
    for activations in (before, after):
        same(call(info.graph, 1.0, inputs_dict=activations), wanted)


def test_a_call_remembers_its_arguments_as_they_were() -> None:
    x = xp.ones(3)
    graph = trace(lambda x: xp.sin(x) ** 2, x)
    _, site = call_with_info(graph, x)
    info = autodiff(graph)
    x += 5
    (got,) = call(info.graph, xp.ones(3), inputs_dict=info.inputs_dict(site))
    same(got, xp.sin(2 * xp.ones(3)))


def test_an_array_given_twice_has_the_sum_of_its_gradients() -> None:
    graph = trace(lambda x, y, z: x * y + z, *[xp.ones(3)] * 3)
    x, z = normal(3), np.ones(3)
    info = autodiff(graph)
    _, site = call_with_info(graph, x, x, z)
    _, grad_site = call_with_info(info.graph, xp.ones(3), inputs_dict=info.inputs_dict(site))
    found = info.fwd_parent_ins_to_grad_parent_outs(site, grad_site)
    assert len(found) == 2
    same((found[x], found[z]), (2 * x, xp.ones(3)))


def test_gradient_graphs_in_a_traced_step() -> None:
    """A graph that calls a graph and its gradient graph; it differentiates too."""
    graph, _, _, args = layers()
    info = autodiff(graph)

    def slope(*args: Any) -> Any:
        value, site = call_with_info(graph, *args)
        return value, call(info.graph, 1.0, inputs_dict=info.inputs_dict(site))[0]

    step = trace(slope, *args)
    assert step.called_graphs == (graph, info.graph)
    same(call(step, *args), (net(*args), grad(net)(*args)))
    direction = normal(5, 3)
    second = gradients(step, args, direction, grads_provided=step.outputs[1:], grads_required=step.inputs[:1])
    same(second, (hvp(lambda x: net(x, *args[1:]), args[:1], (direction,)),))


def test_graphs_three_deep() -> None:
    x = normal(3)
    one = trace(lambda x: xp.exp(x) * 0.5, x)
    two = trace(lambda x: xp.sin(call(one, x)) * call(one, xp.cos(x)), x)
    top = trace(lambda x: xp.sum(call(two, call(two, x)) + call(one, x)), x)

    def plain(x: Any) -> Any:
        def a(x: Any) -> Any:
            return xp.exp(x) * 0.5

        def b(x: Any) -> Any:
            return xp.sin(a(x)) * a(xp.cos(x))

        return xp.sum(b(b(x)) + a(x))

    same(call(top, x), plain(x))
    infos = autodiff(top, return_all_grad_graphs=True)
    assert set(infos) == {one, two, top}
    same(gradients(top, (x,), 1.0), (grad(plain)(x),))


def test_called_graphs_whose_outputs_are_inputs_constants_or_one_value_twice() -> None:
    def f(x: Any, n: Any) -> Any:
        y = xp.sin(x) * n
        return x, y, y, 3.0, n

    def use(f: Callable[..., Any]) -> Callable[..., Any]:
        def whole(x: Any) -> Any:
            a, b, c, d, n = f(x, 2)
            return a * b + c * d + n * f(b, n)[0]

        return whole

    x, seed = normal(3), normal(3)
    graph = trace(f, x, 2)
    whole = trace(use(lambda *args: call(graph, *args)), x)
    same(call(whole, x), use(f)(x))
    same(gradients(whole, (x,), seed), vjp(use(f), x)[1](seed))


def test_operations_with_several_results_and_complex_numbers() -> None:
    def f(x: Any, z: Any) -> Any:
        w, v = xp.linalg.eigh(x @ x.T)
        sign, logdet = xp.linalg.slogdet(x)
        return xp.tanh(v * w @ v.T), logdet * sign, z * xp.conj(z) * xp.exp(z)

    args = normal(3, 3), normal(2) + 1j * normal(2)
    seeds = normal(3, 3), normal(), normal(2) + 1j * normal(2)
    inner = trace(f, *args)
    wanted = vjp(f, *args)[1](seeds)
    same(gradients(inner, args, *seeds), wanted)
    same(gradients(trace(lambda *a: call(inner, *a), *args), args, *seeds), wanted)


def test_custom_rules_are_kept() -> None:
    @custom_vjp
    def clipped(x: Any) -> Any:
        return x * 1.0

    clipped.defvjp(lambda x: (x * 1.0, None), lambda _, ct: (xp.clip(ct, -1.0, 1.0),))
    inner = trace(lambda x: 10 * clipped(x), xp.ones(2))
    graph = trace(lambda x: call(inner, x) * 2, xp.ones(2))
    same(gradients(graph, (xp.ones(2),), xp.ones(2)), (xp.ones(2),))


def test_no_derivative_where_none_is_known_and_none_needed() -> None:
    graph = trace(lambda x, w: (w * xp.floor(x), xp.sum(w)), normal(3), normal(3))
    got = gradients(graph, (xp.asarray([1.5, 2.5, 3.5]), xp.ones(3)), xp.ones(3), 1.0)
    same(got, (xp.zeros(3), xp.asarray([2.0, 3.0, 4.0])))


def test_a_capture_by_which_a_gradient_is_wanted_is_named() -> None:
    def f(x: Any) -> Any:
        return call(trace(lambda y: x * y, xp.ones(2)), xp.ones(2))

    with pytest.raises(
        ValueError, match="captures an array by which a gradient is wanted; make it an argument"
    ):
        autodiff(trace(f, xp.ones(2)))


def test_long_graphs() -> None:
    def chain(x: Any) -> Any:
        for _ in range(3000):
            x = xp.sin(x) + 0.1
        return x

    x = normal(3)
    graph = trace(chain, x)
    same(gradients(graph, (x,), xp.ones(3)), (grad(lambda x: xp.sum(chain(x)))(x),))


def test_large_values_are_evaluated_on_the_way() -> None:
    """Of what is pending of so large values, tracing evaluates a part: with the examples, which can be."""

    def f(x: Any) -> Any:
        for _ in range(100):
            x = xp.cos(x) + 0.5
        return xp.linalg.cholesky(x @ x.T + xp.eye(150))

    x = normal(150, 150)
    inner = trace(f, x)
    graph = trace(lambda x: xp.sum(call(inner, x)), x)
    same(gradients(graph, (x,), 1.0), (grad(lambda x: xp.sum(f(x)))(x),))


def test_a_site_lets_go_of_what_was_computed() -> None:
    graph, _, _, args = layers()
    info = autodiff(graph)
    site = call_with_info(graph, *args)[1]
    activation = weakref.ref(next(iter(list(info.inputs_dict(site).values())[3:]))._node)
    assert activation() is not None
    del site
    gc.collect()
    assert activation() is None
    assert not watching._watches.stack


OPERATIONS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x * y,
    lambda x, y: xp.sin(x) + y,
    lambda x, y: x - xp.tanh(y) * 2,
    lambda x, y: xp.where(x > y, x, y * x),
    lambda x, y: xp.cumulative_sum(x) / (1 + y**2),
    lambda x, y: xp.flip(x) + y[0],
]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(range(6)), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6
    ),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4),
)
def test_random_graphs_of_graphs(inner: list[Any], outer: list[Any]) -> None:
    def body(x: Any, y: Any) -> Any:
        values = [x, y]
        for op, i, j in inner:
            values.append(OPERATIONS[op](values[i % len(values)], values[j % len(values)]))
        return values[-1], values[-2]

    def program(f: Callable[..., Any]) -> Callable[..., Any]:
        def whole(x: Any, y: Any) -> Any:
            values = [x, y]
            for op, i, j in outer:
                a, b = values[i % len(values)], values[j % len(values)]
                values += f(a, b) if op else [OPERATIONS[0](a, b)]
            return values[-1]

        return whole

    x, y, seed = xp.asarray([0.5, -1.0, 2.0]), xp.asarray([1.5, 0.3, -0.7]), xp.asarray([1.0, -2.0, 0.5])
    sub = trace(body, x, y)
    graph = trace(program(lambda a, b: call(sub, a, b)), x, y)
    plain = program(body)
    same(call(graph, x, y), plain(x, y))
    wanted = vjp(plain, x, y)[1](seed)
    same(gradients(graph, (x, y), seed), wanted)
    same(vjp(lambda x, y: call(graph, x, y), x, y)[1](seed), wanted)
