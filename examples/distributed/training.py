"""A network that learns digits on four devices: rows shared out, or rows and weights, as with one device.

Only how the arrays are cut differs between data and tensor parallelism; what moves between the devices
follows from that, and is printed. Devices are threads of this process, or workers of a Dask cluster:

    python examples/distributed/training.py
    python examples/distributed/training.py --engine dask
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, shard
from nabla_array.transforms import value_and_grad

# A mesh for each kind of parallelism, and how images, labels and weights are cut over it.
WAYS: dict[str, tuple[tuple[int, ...], tuple[str, ...], dict[str, P]]] = {
    "data parallel": ((4,), ("dp",), {"x": P("dp"), "y": P("dp"), "w1": P(), "w2": P()}),
    "tensor parallel": (
        (2, 2),
        ("dp", "tp"),
        {"x": P("dp"), "y": P("dp"), "w1": P(None, "tp"), "w2": P("tp", None)},
    ),
}


def loss(weights: dict[str, Any], x: Any, y: Any) -> Any:
    """The mean cross-entropy of a network with one hidden layer."""
    scores = xp.maximum(x @ weights["w1"], 0.0) @ weights["w2"]
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    return xp.mean(xp.log(xp.sum(xp.exp(scores), axis=1)) - xp.sum(scores * y, axis=1))


def train(weights: dict[str, Any], x: Any, y: Any, steps: int, rate: float) -> tuple[list[float], Any]:
    """Descend; returns the loss before each step, and the weights afterwards."""
    losses = []
    for _ in range(steps):
        value, slopes = value_and_grad(loss)(weights, x, y)
        weights = {name: w - rate * slopes[name] for name, w in weights.items()}
        xp.eval(*weights.values())
        losses.append(float(value))
    return losses, weights


def traffic(weights: dict[str, Any], x: Any, y: Any) -> None:
    """Print what a step moves between the devices."""
    slopes = value_and_grad(loss)(weights, x, y)[1]
    for step in xp.explain(*slopes.values()).steps:
        if step.reads and step.kind != "spread":
            print(f"  {step.where}: {step.reads:,} bytes to each device")
            for row in step.moved:
                print(f"    {row}")


def cluster() -> Any:
    """Start two workers, each of which is two devices; a client of any other cluster would do."""
    from distributed import Client

    return Client(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0")


def main(argv: Sequence[str] | None = None) -> None:
    """Train in each way, and compare with one device."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="local", choices=["local", "dask"])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--hidden", type=int, default=128)
    args = parser.parse_args(argv)

    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    start = {
        "x": images / 16.0,
        "y": np.eye(10)[digits],
        "w1": rng.standard_normal((64, args.hidden)) / 8,
        "w2": rng.standard_normal((args.hidden, 10)) / args.hidden**0.5,
    }
    alone = {name: xp.asarray(a) for name, a in start.items()}
    x, y = alone.pop("x"), alone.pop("y")
    wanted, _ = train(alone, x, y, args.steps, 0.5)
    print(f"one device: loss {wanted[0]:.4f}, after {args.steps} steps {wanted[-1]:.4f}")

    with cluster() if args.engine == "dask" else nullcontext() as client:
        for way, (shape, names, specs) in WAYS.items():
            mesh = DeviceMesh(shape, names, engine=args.engine, client=client)
            weights = {name: shard(a, mesh, specs[name]) for name, a in start.items()}
            xp.eval(*weights.values())
            x, y = weights.pop("x"), weights.pop("y")
            print(f"\n{way}, on {mesh}; a gradient moves")
            traffic(weights, x, y)
            losses, weights = train(weights, x, y, args.steps, 0.5)
            print(f"loss {losses[0]:.4f}, after {args.steps} steps {losses[-1]:.4f}")
            cuts = {name: w.sharding.partition_spec for name, w in weights.items()}
            print(f"the weights lie as before: {cuts}")
            print(f"the same as on one device: {np.allclose(losses, wanted)}")


if __name__ == "__main__":
    main()
