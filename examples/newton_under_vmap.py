"""Newton's method until it converges, for many equations at once: `vmap` of a `while` loop and of `grad`.

    python examples/newton_under_vmap.py

Kepler's equation E - e sin(E) = M tells where a planet is. `anomaly` solves one; some need three steps, some
more, and each stops when it is done.
"""

from __future__ import annotations

import sys

import numpy as np

import nabla_array as xp
from nabla_array.transforms import grad, vmap


def kepler(angle: xp.Array, mean: xp.Array, eccentricity: xp.Array) -> xp.Array:
    return angle - eccentricity * xp.sin(angle) - mean


def anomaly(mean: xp.Array, eccentricity: xp.Array) -> tuple[xp.Array, int]:
    """Solve Kepler's equation; returns the angle and how many steps it took."""
    angle = mean + eccentricity * xp.sin(mean)
    steps = 0
    while abs(kepler(angle, mean, eccentricity)) > 1e-12:
        angle = angle - kepler(angle, mean, eccentricity) / grad(kepler)(angle, mean, eccentricity)
        steps += 1
    return angle, steps


def main() -> None:
    rng = np.random.default_rng(0)
    mean = xp.asarray(rng.uniform(0, np.pi, 5000))
    eccentricity = xp.asarray(rng.uniform(0, 0.95, 5000))

    angles, steps = vmap(anomaly)(mean, eccentricity)
    left = float(xp.max(xp.abs(kepler(angles, mean, eccentricity))))
    sys.stdout.write(f"5000 equations, left over: {left:.0e}\n")
    for n, count in zip(*np.unique(np.asarray(steps), return_counts=True), strict=True):
        sys.stdout.write(f"  {count:4} took {n} steps\n")

    alone = [anomaly(m, e) for m, e in zip(mean[:20], eccentricity[:20], strict=True)]
    same = all(a == angles[i] and n == steps[i] for i, (a, n) in enumerate(alone))
    sys.stdout.write(f"the same one by one: {same}\n")

    # The derivative goes through the loop: by the mean anomaly it is 1 / (1 - e cos E).
    slopes = vmap(grad(lambda m, e: anomaly(m, e)[0]))(mean, eccentricity)
    wanted = 1 / (1 - eccentricity * xp.cos(angles))
    sys.stdout.write(
        f"derivatives differ from the formula by {float(xp.max(xp.abs(slopes / wanted - 1))):.0e}\n"
    )


if __name__ == "__main__":
    main()
