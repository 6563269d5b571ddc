"""Graphs of layers, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array.transforms import (
    Graph,
    autodiff,
    call,
    call_with_info,
    trace,
    tree_leaves,
)

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
