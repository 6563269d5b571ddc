"""Train a network on images of digits, with graphs that are differentiated one by one.

python examples/graph_autodiff_digits.py                  # 30 epochs
python examples/graph_autodiff_digits.py --grad-seed 1    # no loss scaling
python examples/graph_autodiff_digits.py --show-graphs    # prints what is run

The network is a `layer` graph, called for each of the hidden layers, and a `head`. `autodiff` makes one
gradient graph of it, in which the gradient graph of `layer` is called as often. The seed of that gradient,
the partial derivative by the loss, is the scale of the loss: small gradients of narrow floats would vanish
without it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import nabla_array as xp
from nabla_array.transforms import GradGraphInfo, Graph, autodiff, call, call_with_info, trace

HIDDEN, LAYERS, BATCH = 64, 2, 128

Weights = list[xp.Array]


class Digits(NamedTuple):
    """Images, with pixels from 0 to 1, and what is on them."""

    images: xp.Array
    digits: xp.Array
    test_images: xp.Array
    test_digits: xp.Array


def load() -> Digits:
    """Return scikit-learn's 1,797 images of 8 x 8 pixels, a quarter of them to test with."""
    images, digits = load_digits(return_X_y=True)
    parts = train_test_split((images / 16).astype(np.float32), digits, test_size=0.25, random_state=0)
    train_images, test_images, train_digits, test_digits = map(xp.asarray, parts)
    return Digits(train_images, train_digits, test_images, test_digits)


def initial(seed: int) -> Weights:
    """Return the weights and biases: of the layers, then of the head."""
    rng = np.random.default_rng(seed)
    weights = []
    for n in [HIDDEN] * LAYERS + [10]:
        weights += [rng.normal(0, np.sqrt(2 / HIDDEN), (HIDDEN, n)), np.zeros(n)]
    return [xp.asarray(w.astype(np.float32)) for w in weights]


def layer(x: xp.Array, W: xp.Array, b: xp.Array) -> xp.Array:
    """Return a layer's outputs: 64 of them, for 64 pixels or for 64 outputs of another layer."""
    return xp.maximum(x @ W + b, xp.asarray(0.0, dtype=x.dtype))


def head(x: xp.Array, W: xp.Array, b: xp.Array) -> xp.Array:
    """Return the logarithms of probabilities, up to a constant."""
    return x @ W + b


def cross_entropy(logits: xp.Array, targets: xp.Array) -> xp.Array:
    """Return the mean of -log softmax(logits) where the targets are 1."""
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    log_sum = xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
    return xp.mean(xp.sum(targets * (log_sum - shifted), axis=1))


def make_graph(weights: Weights) -> Graph:
    """Return the graph of the network: (images, targets, weights) to the loss."""
    images, targets = xp.zeros((BATCH, HIDDEN), dtype=xp.float32), xp.zeros((BATCH, 10), dtype=xp.float32)
    layer_graph = trace(layer, images, *weights[:2])
    head_graph = trace(head, images, *weights[-2:])

    def network(images: xp.Array, targets: xp.Array, weights: Weights) -> xp.Array:
        x = images
        for i in range(LAYERS):
            x = call(layer_graph, x, *weights[2 * i : 2 * i + 2])
        return cross_entropy(call(head_graph, x, *weights[-2:]), targets)

    return trace(network, images, targets, weights)


def differentiate(graph: Graph) -> GradGraphInfo:
    """Return the gradient graph by the weights: not by images and targets, the first two inputs."""
    info = autodiff(graph, grads_required=graph.inputs[2:])
    assert isinstance(info, GradGraphInfo)
    return info


def train(
    data: Digits,
    epochs: int,
    grad_seed: float,
    rate: float = 0.2,
    report: Callable[[int, float, float], None] = lambda epoch, loss, accuracy: None,
) -> Weights:
    """Return weights after stochastic gradient descent; `report` is told (epoch, loss, accuracy)."""
    weights = initial(seed=1)
    graph = make_graph(weights)
    info = differentiate(graph)
    one_hot = xp.astype(xp.expand_dims(data.digits, axis=1) == xp.arange(10), xp.float32)
    rng = np.random.default_rng(2)
    for epoch in range(epochs):
        order = xp.asarray(rng.permutation(data.images.shape[0]))
        losses = []
        for start in range(0, data.images.shape[0] - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            images, targets = xp.take(data.images, rows, axis=0), xp.take(one_hot, rows, axis=0)
            loss, site = call_with_info(graph, images, targets, weights)
            grads = call(info.graph, grad_seed, inputs_dict=info.inputs_dict(site))
            weights = [w - (rate / grad_seed) * g for w, g in zip(weights, grads, strict=True)]
            loss, *weights = xp.eval(loss, *weights)
            losses.append(float(loss))
        report(epoch + 1, sum(losses) / len(losses), accuracy(data, weights))
    return weights


def accuracy(data: Digits, weights: Weights) -> float:
    """Return the fraction of the test images that are recognized."""
    x = data.test_images
    for i in range(LAYERS):
        x = layer(x, *weights[2 * i : 2 * i + 2])
    best = xp.argmax(head(x, *weights[-2:]), axis=1)
    return float(xp.mean(xp.astype(best == data.test_digits, xp.float32)))


def largest_difference(one: Weights, other: Weights) -> float:
    """Return by how much two sets of weights differ at most."""
    return max(float(xp.max(xp.abs(a - b))) for a, b in zip(one, other, strict=True))


def main() -> None:
    """Train with and without loss scaling, and say how well it went."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=30, help="passes over the images (%(default)s)")
    parser.add_argument(
        "--grad-seed", type=float, default=1024.0, help="what the loss is scaled by (%(default)g)"
    )
    parser.add_argument("--every", type=int, default=10, help="epochs between two lines (%(default)s)")
    parser.add_argument("--show-graphs", action="store_true", help="print the graphs")
    args = parser.parse_args()
    console = Console()
    if args.show_graphs:
        graph = make_graph(initial(seed=1))
        info = differentiate(graph)
        console.print(
            str(graph), "", str(info.graph), "", sep="\n", markup=False, highlight=False, soft_wrap=True
        )
    data = load()
    table = Table("epoch", "loss", "accuracy", title=f"grad_seed {args.grad_seed:g}")

    def report(epoch: int, loss: float, accuracy: float) -> None:
        if epoch % args.every == 0 or epoch in (1, args.epochs):
            table.add_row(str(epoch), f"{loss:.4f}", f"{accuracy:.3f}")

    # The matrices are too small for a product to gain by threads, which wait for each other.
    with threadpool_limits(1), console.status("training"):
        scaled = train(data, args.epochs, args.grad_seed, report=report)
        console.print(table)
        plain = train(data, args.epochs, 1.0)
    console.print(f"accuracy on new images: {accuracy(data, scaled):.3f}", highlight=False)
    gap = largest_difference(scaled, plain)
    console.print(f"weights with and without loss scaling differ by {gap:.1e} at most", highlight=False)
    if gap > 1e-3:
        raise SystemExit("loss scaling has changed the weights by more than rounding")


if __name__ == "__main__":
    main()
