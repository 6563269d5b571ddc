"""Pipeline parallelism: each device has one layer, and hands what it made to the next.

The layers lie along an axis that is cut over the devices. `vmap(spmd_axis_name=...)` runs all of them at one
time, each on another part of the images, and `ppermute` passes the results on. It is plain code, so `grad`
goes back through the pipeline:

    python examples/distributed/pipeline.py
    python examples/distributed/pipeline.py --engine dask
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, axis_index, ppermute, shard
from nabla_array.transforms import value_and_grad, vmap

STAGES = 4
NEXT = [(k, k + 1) for k in range(STAGES - 1)]


def stage(w: Any, held: Any, new: Any) -> tuple[Any, Any]:
    """What one device does in one tick: its layer, on what came from the one before."""
    x = xp.where(axis_index("stage") == 0, new, held)
    y = xp.tanh(x @ w)
    return ppermute(y, "stage", NEXT), y


tick = vmap(stage, in_axes=(0, 0, None), spmd_axis_name="stage")


def pipeline(weights: Any, parts: Any) -> Any:
    """Return what all layers, one after the other, make of each part of a batch."""
    held = xp.zeros((STAGES, *parts.shape[1:]))
    nothing, made = xp.zeros(parts.shape[1:]), []
    for t in range(len(parts) + STAGES - 1):
        held, done = tick(weights, held, parts[t] if t < len(parts) else nothing)
        if t >= STAGES - 1:
            made.append(done[-1])
    return xp.stack(made)


def layers(weights: Any, parts: Any) -> Any:
    """Return the same, layer by layer."""
    for k in range(STAGES):
        parts = xp.tanh(parts @ weights[k])
    return parts


def loss(weights: Any, head: Any, parts: Any, labels: Any, run: Any) -> Any:
    """The mean cross-entropy."""
    scores = run(weights, parts) @ head
    return xp.mean(xp.log(xp.sum(xp.exp(scores), axis=-1)) - xp.sum(scores * labels, axis=-1))


def main(argv: Sequence[str] | None = None) -> None:
    """Train, and compare the first gradients with those of one device."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="local", choices=["local", "dask"])
    parser.add_argument("--parts", type=int, default=8, help="of a batch: more keep the devices busier")
    parser.add_argument("--steps", type=int, default=30)
    args = parser.parse_args(argv)

    images, digits = load_digits(return_X_y=True)
    rows = len(images) // args.parts
    x = (images / 16.0)[: rows * args.parts].reshape(args.parts, rows, 64)
    y = np.eye(10)[digits[: rows * args.parts]].reshape(args.parts, rows, 10)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((STAGES, 64, 64)) / 8
    head = rng.standard_normal((64, 10)) / 8
    alone = [xp.asarray(a) for a in (weights, head, x, y)]
    slope = value_and_grad(loss, argnums=(0, 1))
    wanted = slope(*alone, layers)[1][0]

    mesh = DeviceMesh((STAGES,), ("stage",), engine=args.engine)
    try:
        w, out = shard(weights, mesh, P("stage")), shard(head, mesh)
        parts, labels = shard(x, mesh), shard(y, mesh)
        print(f"{STAGES} layers on {mesh}: {w.sharding.partition_spec}; in one tick")
        held = shard(xp.zeros((STAGES, rows, 64)), mesh, P("stage"))
        for s in xp.explain(tick(w, held, parts[0])[0]).steps:
            if s.reads and s.kind != "spread":
                print(f"  {s.kind}: {s.reads:,} bytes to each device")
        busy = args.parts / (args.parts + STAGES - 1)
        print(f"{args.parts} parts of {rows} images keep a device busy for {busy:.0%} of the ticks")
        for n in range(args.steps):
            value, (by_w, by_head) = slope(w, out, parts, labels, pipeline)
            if n == 0:
                print(f"the gradient is one device's: {np.allclose(np.asarray(by_w), np.asarray(wanted))}")
                first = float(value)
            w, out = w - 0.3 * by_w, out - 0.3 * by_head
            xp.eval(w, out)
        print(f"loss {first:.4f}, after {args.steps} steps {float(value):.4f}")
        print(f"each device still has its layer: {w.sharding.partition_spec}")
    finally:
        mesh.close()


if __name__ == "__main__":
    main()
