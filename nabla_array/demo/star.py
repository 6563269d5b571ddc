"""The demo's third part: a planet that is found by the pull on its star.

`velocity` is Python for one number: it branches on values, and its loop ends where the values say so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nabla_array as xp

from ..transforms import grad, vmap

# Period in days, eccentricity, speed in m/s, and where the planet was at the beginning: those of HD 80606 b.
TRUE = (111.4, 0.93, 474.0, 0.3)
GUESS = (112.0, 0.9, 450.0, 0.28)


def velocity(time: Any, period: Any, eccentricity: Any, speed: Any, begin: Any) -> Any:
    """Return how fast a star comes nearer at a time, by Kepler's equation."""
    mean = 2 * np.pi * ((time / period + begin) % 1)
    side = 1.0
    if mean > np.pi:  # the way back mirrors the way there
        mean, side = 2 * np.pi - mean, -1.0
    angle, step = mean + 0.85 * eccentricity, 1.0
    while abs(step) > 1e-10:  # Newton's method, which takes longer for some times than for others
        wrong = angle - eccentricity * np.sin(angle) - mean
        step = wrong / (1 - eccentricity * np.cos(angle))
        angle = angle - step
    near = 1 - eccentricity * np.cos(angle)
    return side * speed * np.sqrt(1 - eccentricity**2) * np.sin(angle) / near


def one_by_one(times: np.ndarray, orbit: Any) -> np.ndarray:
    """Return the velocities at many times, as one writes it with NumPy."""
    return np.array([velocity(time, *orbit) for time in times])


at_once: Callable[..., Any] = vmap(velocity, in_axes=(0, None, None, None, None))


def observed(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times and what a telescope saw then, with its noise."""
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 1000, count))
    return times, one_by_one(times, TRUE) + rng.normal(scale=10, size=count)


def finite_differences(times: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return how the misfit of the guess changes with each number of the orbit, by SciPy's differences."""
    from scipy.optimize import approx_fprime

    return approx_fprime(np.array(GUESS), lambda orbit: np.mean((one_by_one(times, orbit) - seen) ** 2))


def gradient(times: Any, seen: Any) -> Any:
    """Return the same as a derivative, through the branches and the loop."""

    def misfit(orbit: Any) -> Any:
        return xp.mean((at_once(times, *orbit) - seen) ** 2)

    return grad(misfit)(xp.asarray(GUESS))
