"""Gradient graphs: what they take and give, nested, and for random graphs."""

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
    ExpectedConnectionType,
    GradGraphInfo,
    autodiff,
    call,
    call_with_info,
    custom_vjp,
    grad,
    hvp,
    trace,
    vjp,
    watching,
)

from .graphs_of_layers import gradients, layers, linear, net, normal, same

FWD, FWD_GRAD = ExpectedConnectionType.Fwd, ExpectedConnectionType.FwdGrad


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
