"""Heat in a plate whose rows are cut over four devices: a step moves the rows at the cuts alone.

python examples/distributed/heat.py
python examples/distributed/heat.py --engine dask
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, shard


def step(u: Any) -> Any:
    """A step of the heat equation, written to the inside of a copy: the rim keeps its temperature."""
    v = u.copy()
    v[1:-1, 1:-1] += 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return v


def main(argv: Sequence[str] | None = None) -> None:
    """Heat a plate on the mesh and with NumPy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="local", choices=["local", "dask"])
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args(argv)

    plate = np.zeros((args.side, args.side))
    plate[0] = 100.0
    mesh = DeviceMesh((4,), ("rows",), engine=args.engine)
    try:
        u = shard(plate, mesh, P("rows"))
        xp.eval(u)
        told = [s for s in xp.explain(step(u)).steps if s.reads and s.kind != "spread"]
        moved = sum(s.reads for s in told)
        print(f"{u.shape} on {mesh}: a step moves {moved:,} bytes to each device,")
        print(f"where a row has {8 * args.side:,} and a device's part {plate.nbytes // 4:,}")
        for s in told:
            print(f"  {s.where}")
        for _ in range(args.steps):
            u = step(u)
            xp.eval(u)
        for _ in range(args.steps):
            plate = step(plate)
        print(f"after {args.steps} steps it is still cut: {u.sharding.partition_spec}")
        print(f"the same as with NumPy: {np.allclose(np.asarray(u), plate)}")
    finally:
        mesh.close()


if __name__ == "__main__":
    main()
