"""What the seed 004 asks for: PopXL's page on autodiff, feature by feature."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    ExpectedConnectionType,
    GradGraphInfo,
    Graph,
    autodiff,
    call,
    call_with_info,
    trace,
)

rng = np.random.default_rng(0)
X, W, B = (xp.asarray(rng.normal(size=s).astype(np.float32)) for s in ((2, 2), (2, 2), (2,)))


def linear(x: Any, W: Any, b: Any) -> Any:
    return x @ W + b


@pytest.fixture
def linear_graph() -> Graph:
    return trace(linear, X, W, B)


def test_the_signature() -> None:
    parameters = inspect.signature(autodiff).parameters
    assert list(parameters) == [
        "graph",
        "grads_provided",
        "grads_required",
        "called_graphs_grad_info",
        "return_all_grad_graphs",
    ]
    assert [p.default for p in list(parameters.values())[1:]] == [None, None, None, False]


def test_the_example_step_by_step(linear_graph: Graph) -> None:
    x, w, b = linear_graph.inputs
    out, fwd_call_info = call_with_info(linear_graph, X, inputs_dict={w: W, b: B})
    assert fwd_call_info.outputs[0] is out
    bwd_graph_info = autodiff(linear_graph)
    assert isinstance(bwd_graph_info, GradGraphInfo)
    grad_seed = xp.ones((2, 2), dtype=xp.float32)
    activations = bwd_graph_info.inputs_dict(fwd_call_info)
    grads_x, grads_w, grads_b = call(bwd_graph_info.graph, grad_seed, inputs_dict=activations)
    xn, wn = np.asarray(X), np.asarray(W)
    seed = np.ones((2, 2), np.float32)
    np.testing.assert_allclose(grads_x, seed @ wn.T, rtol=1e-6)
    np.testing.assert_allclose(grads_w, xn.T @ seed, rtol=1e-6)
    np.testing.assert_allclose(grads_b, [2.0, 2.0])
    assert bwd_graph_info.outputs == (x, w, b)


def test_grads_provided() -> None:
    """Loss and accuracy: no gradient is given for the accuracy."""

    def f(x: Any) -> Any:
        return xp.sum(x**2), xp.mean(xp.astype(x > 0, xp.float32))

    graph = trace(f, X)
    loss, accuracy = graph.outputs
    assert autodiff(graph).inputs[:2] == (loss, accuracy)
    info = autodiff(graph, grads_provided=[loss])
    assert [t for kind, t in info.expected_inputs if kind is ExpectedConnectionType.FwdGrad] == [loss]
    _, site = call_with_info(graph, X)
    (got,) = call(info.graph, 1.0, inputs_dict=info.inputs_dict(site))
    np.testing.assert_allclose(got, 2 * np.asarray(X), rtol=1e-6)


def test_grads_required(linear_graph: Graph) -> None:
    x, w, b = linear_graph.inputs
    info = autodiff(linear_graph, grads_required=[w, b])
    assert info.outputs == (w, b)
    assert len(info.graph.outputs) == 2
    assert info.inputs == (*linear_graph.outputs, x)  # W is only needed for the gradient by x


def test_gradient_graphs_of_called_graphs_are_used_again() -> None:
    """A calls C, B calls C: the page's example."""
    c = trace(lambda x: xp.sin(x) * x, X)
    a = trace(lambda x: call(c, x) + call(c, 2 * x), X)
    b = trace(lambda x: xp.exp(call(c, x)), X)
    assert isinstance(autodiff(b), GradGraphInfo)
    infos = autodiff(b, return_all_grad_graphs=True)
    assert isinstance(infos, dict)
    assert set(infos) == {b, c}
    again = autodiff(a, called_graphs_grad_info={c: infos[c]})
    assert isinstance(again, GradGraphInfo)
    assert again.graph.called_graphs == (infos[c].graph,)
    assert str(again.graph).split("\n\n")[0].count("= call ") == 2


def test_what_the_info_contains(linear_graph: Graph) -> None:
    info = autodiff(linear_graph)
    assert isinstance(info, GradGraphInfo)
    assert isinstance(info.graph, Graph)
    assert info.forward_graph is linear_graph
    assert [e.connection_type.value for e in info.expected_inputs] == ["FwdGrad", "Fwd", "Fwd"]
    assert [e.fwd_tensor.name for e in info.expected_outputs] == ["x", "W", "b"]


def test_the_two_mappings(linear_graph: Graph) -> None:
    _, fwd = call_with_info(linear_graph, X, W, B)
    info = autodiff(linear_graph)
    assert isinstance(info, GradGraphInfo)
    outs, bwd = call_with_info(
        info.graph, xp.ones((2, 2), dtype=xp.float32), inputs_dict=info.inputs_dict(fwd)
    )
    inner = info.fwd_graph_ins_to_grad_parent_outs(bwd)
    assert list(inner) == list(linear_graph.inputs)
    assert [inner[t] is o for t, o in zip(linear_graph.inputs, outs, strict=True)] == [True] * 3
    outer = info.fwd_parent_ins_to_grad_parent_outs(fwd, bwd)
    assert [outer[t] is o for t, o in zip((X, W, B), outs, strict=True)] == [True] * 3


def test_the_seed_is_a_scale(linear_graph: Graph) -> None:
    """Loss scaling: a larger seed gives larger gradients."""
    info = autodiff(linear_graph)
    assert isinstance(info, GradGraphInfo)
    _, site = call_with_info(linear_graph, X, W, B)
    activations = info.inputs_dict(site)
    seed = xp.ones((2, 2), dtype=xp.float32)
    one, many = (call(info.graph, s, inputs_dict=activations) for s in (seed, 1024 * seed))
    for a, b in zip(one, many, strict=True):
        assert np.array_equal(1024 * np.asarray(a), np.asarray(b))
