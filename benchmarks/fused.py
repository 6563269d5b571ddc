"""Fusion groups that MAX compiles, warm: each case in float64 and float32, beside NumPy and jax.jit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import nabla_array
from nabla_array._lazy.max import trials
from nabla_array._lazy.run import tiers

from .contestants import JIT, Contestant, contestants
from .elementwise import chain, choice, row_variance, softmax, stencil
from .measure import OURS, Claim, Row, geometric_mean, race

Case = tuple[str, Callable[..., Any], list[np.ndarray]]


def pairwise(xp: Any, x: Any, y: Any) -> Any:
    """Distances between all pairs of points."""
    d = x[:, None, :] - y[None, :, :]
    return xp.sqrt(xp.sum(d * d, axis=-1))


def scan(xp: Any, x: Any) -> Any:
    """A running sum."""
    return xp.cumulative_sum(x)


def polynomial(xp: Any, x: Any) -> Any:
    """A polynomial of degree 8, by Horner's rule."""
    y = 0.5 * x + 1.0
    for c in (-0.25, 0.125, 2.0, -1.5, 0.75, 3.0, -0.5):
        y = y * x + c
    return y


def _normal_cdf(xp: Any, x: Any) -> Any:
    # Abramowitz and Stegun 26.2.17.
    k = 1.0 / (1.0 + 0.2316419 * xp.abs(x))
    tail = 1.330274429 * k - 1.821255978
    for c in (1.781477937, -0.356563782, 0.319381530):
        tail = tail * k + c
    tail = tail * k * xp.exp(-0.5 * x * x) * 0.3989422804014327
    return xp.where(x >= 0, 1.0 - tail, tail)


def black_scholes(xp: Any, spot: Any, strike: Any, years: Any) -> Any:
    """Prices of call options."""
    rate, volatility = 0.03, 0.2
    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    return spot * _normal_cdf(xp, d1) - strike * xp.exp(-rate * years) * _normal_cdf(xp, d1 - spread)


def forces(xp: Any, p: Any, mass: Any) -> Any:
    """The sum of the gravitational forces on each body."""
    d = p[None, :, :] - p[:, None, :]
    r2 = xp.sum(d * d, axis=-1) + 1e-3
    return xp.sum(d * (mass[None, :] / (r2 * xp.sqrt(r2)))[:, :, None], axis=1)


def assignment(xp: Any, x: Any, centers: Any) -> Any:
    """The nearest center of each point."""
    d = x[:, None, :] - centers[None, :, :]
    return xp.argmin(xp.sum(d * d, axis=-1), axis=1)


def layer(xp: Any, x: Any, w: Any, b: Any) -> Any:
    """A dense layer and the softmax of its rows: fusion groups around a matrix product."""
    return softmax(xp, xp.tanh(x @ w + b))


def ranked(xp: Any, x: Any, w: Any) -> Any:
    """A weighted sum of order statistics: fusion groups around a sort."""
    return xp.sum(xp.sort(xp.exp(-x * x) + 0.1 * x) * w / (1.0 + w * w))


def filtered(xp: Any, x: Any, window: Any, response: Any) -> Any:
    """A filter in the frequency domain: fusion groups around two Fourier transforms."""
    y = xp.fft.irfft(xp.fft.rfft(x * window + 0.5 * x) * response)
    return y * y / (1.0 + xp.abs(y))


def cases(quick: bool, dtype: Any = np.float64) -> list[Case]:
    """Return the cases that are one fusion group, on arrays of that dtype."""
    n, side, points, many = (400, 20, 20, 50) if quick else (4_000_000, 2000, 2000, 500_000)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, n)).astype(dtype)
    m = x.reshape(side, side) if side * side == n else x[: side * side].reshape(side, side)
    p, q = rng.standard_normal((2, points, 3)).astype(dtype)
    spot, strike, years = (rng.uniform(a, b, n).astype(dtype) for a, b in ((50, 150), (50, 150), (0.1, 2)))
    return [
        ("((x+y)*x-y)*(x-y)+x*y", chain, [x, y]),
        ("where(x>y, x*y, x-y)", choice, [x, y]),
        ("variance of rows", row_variance, [m]),
        ("softmax of rows", softmax, [m]),
        ("pairwise distances", pairwise, [p, q]),
        ("5-point stencil", stencil, [m]),
        ("cumulative sum", scan, [x]),
        ("polynomial of degree 8", polynomial, [x]),
        ("Black-Scholes", black_scholes, [spot, strike, years]),
        ("n-body forces", forces, [p, np.abs(q[:, 0])]),
        ("k-means assignment", assignment, [rng.standard_normal((many, 2)).astype(dtype), q[:8, :2].copy()]),
    ]


def mixed_cases(quick: bool) -> list[Case]:
    """Return the cases with library calls between fusion groups."""
    n, side = (400, 20) if quick else (2**20, 1000)
    rng = np.random.default_rng(0)
    x, w, window = rng.standard_normal((3, n))
    a, b = rng.standard_normal((2, side, side))
    response = 1.0 / (1.0 + np.arange(n // 2 + 1) / n)
    return [
        ("softmax(tanh(x @ w + b))", layer, [a, b * 0.05, a[0].copy()]),
        ("around a sort", ranked, [x, w]),
        ("around Fourier transforms", filtered, [x, window, response]),
    ]


def compile_all(*some: tuple[str, list[Case]], device: str = "cpu") -> None:
    """Have MAX compile what each mode ("auto" or "max") has it run of the cases, all together."""
    wanted: set[str] = set()
    for mode, every in some:
        with tiers.gather() as keys, nabla_array.config(mode=mode):
            for _, function, args in every:
                own = [nabla_array.asarray(a, device=device) for a in args]
                nabla_array.eval(function(nabla_array, *own))
        wanted |= keys
    trials.prepare(wanted)


def measure(case: Case, rounds: int, *claims: Claim, ours: Contestant | None = None) -> Row:
    """Time a case: ours on the tier in force, or as it is given, NumPy, and jax.jit."""
    name, function, args = case
    calls = {}
    for c in [ours or found if found.name == OURS else found for found in contestants(OURS, "numpy", JIT)]:
        own = [c.asarray(a) for a in args]
        prepared = c.prepare(partial(function, c.xp))
        calls[c.name] = partial(_once, prepared, own, c.evaluate)
    for call in calls.values():
        for _ in range(3):  # found compiled, tried, run
            call()
    return Row(name, race(calls, rounds), claims)


def _once(function: Callable[..., Any], args: list[Any], evaluate: Callable[[Any], object]) -> None:
    evaluate(function(*args))


def run(quick: bool) -> list[Row]:
    """Measure everything here on MAX; `quick` only tries whether it works, on the host."""
    rounds = 1 if quick else 40  # of a millisecond each: on a shared machine the best of 15 still varies
    both = [
        (f"{name}, {dtype}", f, args)
        for dtype in ("float64", "float32")
        for name, f, args in cases(quick, dtype)
    ]
    mixed = mixed_cases(quick)
    if not quick:
        compile_all(("max", both), ("auto", mixed))
    with nabla_array.config(mode="host" if quick else "max"):
        rows = [measure(case, rounds, Claim(JIT, 1 / 0.6)) for case in both]
    # What lies between the fusion groups MAX can do in part, but not faster.
    with nabla_array.config(mode="host" if quick else "auto"):
        around = [measure(case, rounds) for case in mixed]
    return [
        *rows,
        geometric_mean("geometric mean", rows, Claim("numpy", 0.25), Claim(JIT, 1.0)),
        *around,
        geometric_mean("geometric mean of the last three", around, Claim(JIT, 1 / 1.1)),
    ]
