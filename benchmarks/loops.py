"""Loops over small values: the transforms' loops beside JAX's, and beside the same written in plain NumPy.

``python -m benchmarks.loops LIBRARY CASE`` times the first call of one in a fresh process.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from nabla_array import transforms

from .contestants import JIT, Contestant, contestants, jax_of, libraries
from .fresh import child, empty_cache
from .measure import OURS, Claim, Row

Call = Callable[[], object]
BY_HAND = "by hand"


class Case(NamedTuple):
    """A function with a loop.

    Attributes
    ----------
    name
        Of the line.
    make
        Gives the function; it is given the namespace, its loops (as of `jax.lax`) and its transforms.
    value
        What the function is called with.
    plain
        The same in NumPy and loops of Python: a loop over examples, differences for a gradient.
    by_hand
        The same batched, or differentiated, by hand, where there is something to batch or to differentiate.
    """

    name: str
    make: Callable[[Any, Any, Any], Callable[..., Any]]
    value: np.ndarray
    plain: Callable[[np.ndarray], Any]
    by_hand: Callable[[np.ndarray], Any] | None = None


def _rk4(xp: Any, lax: Any, steps: int, y: Any) -> Any:
    """Return where a pendulum is after some steps of Runge and Kutta's method."""

    def slope(y: Any) -> Any:
        return xp.stack([y[1], -xp.sin(y[0])])

    def step(y: Any, _: Any) -> tuple[Any, None]:
        a = slope(y)
        b = slope(y + 0.005 * a)
        c = slope(y + 0.005 * b)
        d = slope(y + 0.01 * c)
        return y + 0.01 / 6 * (a + 2 * b + 2 * c + d), None

    return lax.scan(step, y, None, length=steps)[0]


def _adam(xp: Any, lax: Any, steps: int, grad: Any, w: Any) -> Any:
    """Return the minimum of Rosenbrock's function as Adam finds it."""
    loss = grad(lambda w: xp.sum(100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2))

    def step(state: Any, _: Any) -> tuple[Any, None]:
        w, m, v = state
        g = loss(w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return (w - 0.01 * m / (xp.sqrt(v) + 1e-8), m, v), None

    return lax.scan(step, (w, w * 0, w * 0), None, length=steps)[0][0]


def _decay(xp: Any, lax: Any, steps: int, x: Any) -> Any:
    """Return a number after many steps towards another, as long as there are some left."""
    return lax.while_loop(lambda s: s[1] < steps, lambda s: (0.999 * s[0] + 0.1, s[1] + 1), (x, 0))[0]


def _ode(xp: Any, lax: Any, end: float, y: Any) -> Any:
    """Return where van der Pol's oscillator is at the end, by steps of Bogacki and Shampine's that adapt."""

    def slope(y: Any) -> Any:
        return xp.stack([y[1], 5 * (1 - y[0] ** 2) * y[1] - y[0]])

    def step(state: Any) -> Any:
        t, h, y = state
        h = xp.minimum(h, end - t)
        a = slope(y)
        b = slope(y + 0.5 * h * a)
        c = slope(y + 0.75 * h * b)
        new = y + h * (2 * a + 3 * b + 4 * c) / 9
        d = slope(new)
        error = xp.max(xp.abs(h * (-5 * a + 6 * b + 8 * c - 9 * d) / 72) / (1e-6 + 1e-6 * xp.abs(new)))
        is_good = error <= 1
        further = h * xp.clip(0.9 * xp.maximum(error, 1e-10) ** (-1 / 3), 0.2, 5.0)
        return xp.where(is_good, t + h, t), further, xp.where(is_good, new, y)

    return lax.while_loop(lambda state: state[0] < end, step, (y[0] * 0, y[0] * 0 + 1e-3, y))[2]


def _kalman(xp: Any, lax: Any, seen: np.ndarray, start: Any) -> Any:
    """Return what a Kalman filter says of the place of something that moves, seen with noise."""
    f = xp.asarray(np.eye(4) + 0.1 * np.eye(4, k=2))
    h, q, r = xp.asarray(np.eye(2, 4)), xp.asarray(1e-3 * np.eye(4)), xp.asarray(0.1 * np.eye(2))

    def step(state: Any, z: Any) -> Any:
        x, p = state
        x, p = f @ x, f @ p @ f.T + q
        gain = xp.linalg.solve(h @ p @ h.T + r, h @ p).T
        x, p = x + gain @ (z - h @ x), p - gain @ h @ p
        return (x, p), x

    return lax.scan(step, (start, xp.asarray(np.eye(4))), xp.asarray(seen))[1]


def _rnn(xp: Any, lax: Any, weights: np.ndarray, inputs: np.ndarray, start: Any) -> Any:
    """Return the last state of a recurrent network."""
    w = xp.asarray(weights)
    return lax.scan(lambda state, x: (xp.tanh(state @ w + x), None), start, xp.asarray(inputs))[0]


def _metropolis(xp: Any, lax: Any, moves: np.ndarray, levels: np.ndarray, start: Any) -> Any:
    """Return the places of a Metropolis chain over a density with a bent ridge."""

    def log_density(x: Any) -> Any:
        return -0.5 * (x[0] ** 2 + 10 * (x[1] - x[0] ** 2) ** 2)

    def step(state: Any, given: Any) -> Any:
        x, density = state
        move, level = given
        new = x + 0.5 * move
        other = log_density(new)
        is_taken = level < other - density
        state = xp.where(is_taken, new, x), xp.where(is_taken, other, density)
        return state, state[0]

    given = xp.asarray(moves), xp.asarray(levels)
    return lax.scan(step, (start, log_density(start)), given)[1]


# -- the same in NumPy ---------------------------------------------------------------------------------


class _InPython:
    """The loops of `jax.lax` as loops of Python."""

    @staticmethod
    def scan(step: Any, carry: Any, given: Any, length: int = 0) -> Any:
        stacked = []
        for t in (
            range(length) if given is None else zip(*given, strict=True) if type(given) is tuple else given
        ):
            carry, y = step(carry, t)
            if y is not None:
                stacked.append(y)
        return carry, np.stack(stacked) if stacked else None

    @staticmethod
    def while_loop(test: Any, step: Any, carry: Any) -> Any:
        while test(carry):
            carry = step(carry)
        return carry


def _of_each(f: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    return lambda xs: np.stack([f(x) for x in xs])


def _differences(f: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], np.ndarray]:
    """Return the gradient of a function by differences, in the place of `grad`."""

    def gradient(x: np.ndarray) -> np.ndarray:
        step = 1e-7 * np.eye(x.size)
        return (np.stack([f(x + d) for d in step]) - f(x)) / 1e-7

    return gradient


def _rk4_gradient(steps: int, y: np.ndarray) -> np.ndarray:
    """Return the gradient of the sum of what `_rk4` returns, by the chain rule written out."""

    def slope(y: Any) -> Any:
        return np.stack([y[1], -np.sin(y[0])])

    def back(y: Any, ct: Any) -> Any:
        return np.stack([-np.cos(y[0]) * ct[1], ct[0]])

    seen = []
    for _ in range(steps):
        a = slope(y)
        y2 = y + 0.005 * a
        b = slope(y2)
        y3 = y + 0.005 * b
        c = slope(y3)
        y4 = y + 0.01 * c
        seen.append((y, y2, y3, y4))
        y = y + 0.01 / 6 * (a + 2 * b + 2 * c + slope(y4))
    ct = np.ones(2)
    for y, y2, y3, y4 in reversed(seen):
        d = 0.01 / 6 * ct
        by4 = back(y4, d)
        by3 = back(y3, 2 * d + 0.01 * by4)
        by2 = back(y2, 2 * d + 0.005 * by3)
        ct = ct + by4 + by3 + by2 + back(y, d + 0.005 * by2)
    return ct


def _rosenbrock_gradient(_: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the gradient of Rosenbrock's function, in the place of `grad`."""

    def gradient(w: np.ndarray) -> np.ndarray:
        g = np.zeros_like(w)
        bent = w[1:] - w[:-1] ** 2
        g[1:] = 200 * bent
        g[:-1] -= 400 * w[:-1] * bent + 2 * (1 - w[:-1])
        return g

    return gradient


def _decay_of_many(steps: int, x: np.ndarray) -> np.ndarray:
    """Return what `_decay` does of many numbers, for whom the steps are the same."""
    for _ in range(steps):
        x = 0.999 * x + 0.1
    return x


def cases(quick: bool) -> list[Case]:
    """Return every case; `quick` in tiny sizes."""
    steps = 10 if quick else 1000
    few = steps // 10
    y, rng = np.array([1.0, 0.0]), np.random.default_rng(0)
    seen, moves, levels = (
        rng.standard_normal((steps, 2)),
        rng.standard_normal((steps, 2)),
        np.log(rng.random(steps)),
    )
    weights, inputs = rng.standard_normal((64, 64)) / 8, rng.standard_normal((few, 64))

    def same(name: str, value: np.ndarray, f: Callable[..., Any], *data: Any) -> Case:
        return Case(
            name, lambda xp, lax, of: partial(f, xp, lax, *data), value, partial(f, np, _InPython, *data)
        )

    def gradient(xp: Any, lax: Any, of: Any) -> Any:
        return of.grad(lambda y: xp.sum(_rk4(xp, lax, steps, y)))

    def many(xp: Any, lax: Any, of: Any) -> Any:
        return of.vmap(partial(_rk4, xp, lax, steps))

    def adam(xp: Any, lax: Any, of: Any) -> Any:
        return partial(_adam, xp, lax, few, of.grad)

    def decay(xp: Any, lax: Any, of: Any) -> Any:
        return of.vmap(partial(_decay, xp, lax, steps))

    return [
        same(f"RK4, scan of {steps:,} steps", y, _rk4, steps),
        Case(
            "its gradient",
            gradient,
            y,
            _differences(lambda y: np.sum(_rk4(np, _InPython, steps, y))),
            partial(_rk4_gradient, steps),
        ),
        Case(
            "vmap of 100 of it",
            many,
            np.outer(np.linspace(0.5, 1, 100), y),
            _of_each(partial(_rk4, np, _InPython, steps)),
            lambda ys: _rk4(np, _InPython, steps, ys.T).T,
        ),
        Case(
            f"Adam, scan of {few} steps",
            adam,
            np.linspace(-1, 1, 10),
            partial(_adam, np, _InPython, few, _differences),
            partial(_adam, np, _InPython, few, _rosenbrock_gradient),
        ),
        Case(
            f"vmap of a while_loop of {steps:,} steps",
            decay,
            np.ones(100),
            _of_each(partial(_decay, np, _InPython, steps)),
            partial(_decay_of_many, steps),
        ),
        same("an ODE by steps that adapt", np.array([2.0, 0.0]), _ode, steps / 50),
        same(f"Kalman filter, {steps:,} steps", np.zeros(4), _kalman, seen),
        same(f"RNN of 64 x 64, {few} steps", np.zeros((64, 64)), _rnn, weights, inputs),
        same(f"Metropolis chain, {steps:,} steps", np.zeros(2), _metropolis, moves, levels),
    ]


# -- measuring -----------------------------------------------------------------------------------------


def prepared(case: Case, c: Contestant, by_hand: bool = False) -> Callable[[Any], Any]:
    """Return a case's function as a contestant runs it, compiled by those that compile."""
    if c.name == "numpy":
        return case.by_hand or case.plain if by_hand else case.plain
    of = transforms if c.name == OURS else jax_of(c)
    f = case.make(c.xp, of if c.name == OURS else of.lax, of)
    return transforms.compile(f) if c.name == OURS else c.prepare(f)


def calls(case: Case) -> dict[str, Call]:
    """Return calls of a case by us and, where it is installed, by JAX."""
    return {c.name: partial(_once, c, prepared(case, c), c.asarray(case.value)) for c in libraries().values()}


def _once(c: Contestant, f: Callable[[Any], Any], x: Any) -> None:
    c.evaluate(f(x))


def cold_rows(quick: bool) -> list[Row]:
    """Time first calls in fresh processes, with nothing compiled before: medians of some."""
    rows = []
    for k, case in enumerate(cases(quick)):
        seconds: dict[str, list[float]] = {OURS: [], "numpy": [], JIT: []}
        if case.by_hand is not None:
            seconds[BY_HAND] = []
        for _ in range(1 if quick else 5):
            for library, found in seconds.items():
                with empty_cache() as cache:
                    found += child("benchmarks.loops", library, k, *["--quick"] * quick, cache=cache)
        figures = {library: median(found) for library, found in seconds.items() if found}
        rows.append(Row(f"{case.name}, first call", figures, (Claim("numpy", 1.0),)))
    return rows


def main() -> None:
    """Run the case named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loops", description=__doc__)
    parser.add_argument("library", help=f"nabla_array, numpy, {BY_HAND} (in NumPy) or jax.jit")
    parser.add_argument("case", type=int, help="its number")
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    args = parser.parse_args()
    by_hand = args.library == BY_HAND
    case = cases(args.quick)[args.case]
    found = []
    for c in contestants("numpy" if by_hand else args.library):
        x = c.asarray(case.value)
        gc.collect()  # what imports have left
        start = perf_counter()
        _once(c, prepared(case, c, by_hand), x)
        found.append(perf_counter() - start)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
