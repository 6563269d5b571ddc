"""Weak scaling up to 4,096 devices, predicted from the plans of programs without running them.

Every device has as much to do on the largest mesh as one device alone, so that the ideal is a flat line:

    python examples/distributed/weak_scaling.py --plot weak-scaling.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, shard, simulate
from nabla_array.transforms import grad


def stencil(mesh: DeviceMesh, devices: int) -> Callable[[], Any]:
    """Return a step of the heat equation on 4,000 rows for each device."""

    def step() -> Any:
        u = shard(xp.zeros((4000 * devices, 4000)), mesh, P("d"))
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return xp.pad(u[1:-1, 1:-1] + 0.2 * (around - 4 * u[1:-1, 1:-1]), 1)

    return step


def network(mesh: DeviceMesh, devices: int) -> Callable[[], Any]:
    """Return the gradient of a network with one hidden layer, of 512 examples for each device."""

    def slopes() -> Any:
        x = shard(xp.zeros((512 * devices, 1024)), mesh, P("d"))
        weights = [shard(xp.zeros(shape), mesh) for shape in ((1024, 4096), (4096, 1024))]
        return grad(lambda w, v: xp.mean((xp.tanh(x @ w) @ v) ** 2), argnums=(0, 1))(*weights)

    return slopes


def main(argv: Sequence[str] | None = None) -> None:
    """Print what is predicted, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=4096, help="devices")
    parser.add_argument("--plot", help="a file for the picture, which takes Matplotlib")
    args = parser.parse_args(argv)

    sizes = [4**k for k in range(8) if 4**k <= args.largest]
    times: dict[str, list[float]] = {}
    for make in (stencil, network):
        for devices in sizes:
            told = simulate(make(DeviceMesh(2, "d"), devices), devices)
            some = times.setdefault(make.__name__, [])
            some.append(told.seconds)
            print(
                f"{make.__name__} on {devices} devices: {told.seconds:.3g} s a step, "
                f"{told.nbytes / 1e6:.3g} MB move to each, {some[0] / told.seconds:.0%} of ideal"
            )
    if args.plot:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(6, 3.2))
        for name, seconds in times.items():
            axes.plot(sizes, [s / seconds[0] for s in seconds], "o-", label=name)
        axes.axhline(1.0, color="grey", linestyle=":", label="ideal")
        axes.set(xscale="log", ylim=(0, None), xlabel="devices", ylabel="time of a step, one device's = 1")
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
        axes.minorticks_off()
        axes.legend()
        figure.tight_layout()
        figure.savefig(args.plot, metadata={"Date": None})


if __name__ == "__main__":
    main()
