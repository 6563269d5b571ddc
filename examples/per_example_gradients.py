"""The gradient of every example by itself: `vmap` of `grad`.

    python examples/per_example_gradients.py

A small network learns from clipped gradients: each example's is cut to length 1 before they are summed, so
that no example counts too much. The loss is written for one example.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array.transforms import compile, grad, tree_flatten, tree_map, vmap

Parameters = list[tuple[Any, Any]]


def loss(parameters: Parameters, x: xp.Array, label: xp.Array) -> xp.Array:
    """Return the loss at one example."""
    for weight, bias in parameters[:-1]:
        x = xp.tanh(x @ weight + bias)
    weight, bias = parameters[-1]
    scores = x @ weight + bias
    return xp.log(xp.sum(xp.exp(scores))) - scores[label]


def length(gradients: Parameters) -> xp.Array:
    """Return the length of one example's gradient."""
    return xp.sqrt(sum(xp.sum(g * g) for g in tree_flatten(gradients)[0]))


def clipped(parameters: Parameters, x: xp.Array, label: xp.Array) -> tuple[Parameters, xp.Array]:
    """Return one example's gradient, of length 1 at most, and the length that it had."""
    gradients = grad(loss)(parameters, x, label)
    size = length(gradients)
    return tree_map(lambda g: g / xp.maximum(size, 1.0), gradients), size


@compile
def step(parameters: Parameters, x: xp.Array, labels: xp.Array) -> tuple[Parameters, xp.Array]:
    gradients, sizes = vmap(clipped, in_axes=(None, 0, 0))(parameters, x, labels)
    return tree_map(lambda p, g: p - xp.mean(g, axis=0), parameters, gradients), sizes


def main() -> None:
    rng = np.random.default_rng(0)
    sizes = [2, 16, 3]
    parameters: Parameters = [
        (xp.asarray(rng.normal(0, 0.5, (m, n))), xp.zeros(n)) for m, n in pairwise(sizes)
    ]
    angle = rng.uniform(0, 2 * np.pi, 300)
    x = xp.asarray(np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0, 0.2, (300, 2)))
    labels = xp.asarray((angle / (2 * np.pi) * 3).astype(int))

    together = vmap(grad(loss), in_axes=(None, 0, 0))(parameters, x, labels)
    alone = grad(loss)(parameters, x[7], labels[7])
    pairs = zip(tree_flatten(together)[0], tree_flatten(alone)[0], strict=True)
    same = all(float(xp.max(xp.abs(a[7] - b))) < 1e-12 for a, b in pairs)
    sys.stdout.write(f"example 7 alone has the same gradient: {same}\n")

    begin = time.perf_counter()
    for n in range(101):
        parameters, lengths = step(parameters, x, labels)
        if n % 50 == 0:
            mean = xp.mean(vmap(loss, in_axes=(None, 0, 0))(parameters, x, labels))
            sys.stdout.write(
                f"step {n:3}: loss {float(mean):.3f}, {np.mean(lengths > 1):.0%} of the gradients cut\n"
            )
    sys.stdout.write(f"{(time.perf_counter() - begin) / 101 * 1e3:.1f} ms a step\n")


if __name__ == "__main__":
    main()
