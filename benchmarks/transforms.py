"""Transforms of functions: what a call costs beside JAX's, compiled and not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import nabla_array
from nabla_array import transforms
from nabla_array._lazy.max import trials
from nabla_array._lazy.run import hot, tiers

from . import batches
from .contestants import JIT, Contestant, contestants
from .measure import OURS, Claim, Row, race

GRAD = "jax"  # JAX's transforms, without jit
Call = Callable[[], object]


class Case(NamedTuple):
    """One line of the table.

    Attributes
    ----------
    name
        Of the line.
    make
        Gives each contestant that takes part the call that is timed.
    number
        Calls a round: small ones are timed by the dozen.
    claims
        What must hold.
    """

    name: str
    make: Callable[[], dict[str, Call]]
    number: int
    claims: tuple[Claim, ...]


def libraries() -> dict[str, Contestant]:
    """Return nabla_array and, where it is installed, JAX, by name."""
    return {c.name: c for c in contestants(OURS, JIT)}


def jax_of(contestant: Contestant) -> ModuleType:
    """Return the `jax` module of a contestant whose namespace is `jax.numpy`."""
    jax: ModuleType = __import__(contestant.xp.__name__.partition(".")[0])
    return jax


# -- a small network: compile --------------------------------------------------------------------------

_SIZES = (32, 64, 64, 10)


def mlp(xp: Any, params: list[tuple[Any, Any]], x: Any, y: Any) -> Any:
    """Mean cross entropy of a network of three layers."""
    for w, b in params[:-1]:
        x = xp.tanh(x @ w + b)
    w, b = params[-1]
    z = x @ w + b
    z = z - xp.max(z, axis=1, keepdims=True)
    return -xp.mean(xp.sum(y * (z - xp.log(xp.sum(xp.exp(z), axis=1, keepdims=True))), axis=1))


def _network(batch: int, dtype: str) -> tuple[list[tuple[Any, Any]], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    params = [
        ((rng.standard_normal((m, n)) / m**0.5).astype(dtype), np.zeros(n, dtype))
        for m, n in pairwise(_SIZES)
    ]
    x = rng.standard_normal((batch, _SIZES[0])).astype(dtype)
    return params, x, np.eye(_SIZES[-1], dtype=dtype)[rng.integers(0, _SIZES[-1], batch)]


def network(batch: int, dtype: str, transform: str, compiled: bool) -> dict[str, Call]:
    """Return calls of `grad` or `value_and_grad` of the network's loss."""
    params, x, y = _network(batch, dtype)
    calls: dict[str, Call] = {}
    for c in libraries().values():
        own = [(c.asarray(w), c.asarray(b)) for w, b in params], c.asarray(x), c.asarray(y)
        if c.name == OURS:
            f = getattr(transforms, transform)(partial(mlp, c.xp))
            name, f = OURS, transforms.compile(f) if compiled else f
        else:
            f = getattr(jax_of(c), transform)(partial(mlp, c.xp))
            name, f = (JIT, c.prepare(f)) if compiled else (GRAD, f)
        calls[name] = partial(_once, c.evaluate, f, own)
    return calls


def scalar() -> dict[str, Call]:
    """Return calls of the gradient of a function of one number, compiled by JAX alone."""

    def f(xp: Any, x: Any) -> Any:
        return xp.sin(x) * x**2 + xp.exp(-x)

    calls: dict[str, Call] = {}
    for c in libraries().values():
        grad = (transforms if c.name == OURS else jax_of(c)).grad(partial(f, c.xp))
        calls[c.name] = partial(_once, float, grad if c.name == OURS else c.prepare(grad), (1.5,))
    return calls


def _once(evaluate: Callable[[Any], object], function: Callable[..., Any], args: Any) -> None:
    evaluate(function(*args))


def _network_cases(quick: bool) -> list[Case]:
    large = 16 if quick else 4096
    out = [
        Case(
            "MLP gradient, batch 8, not compiled",
            partial(network, 8, "float64", "grad", False),
            1,
            (Claim(GRAD, 1 / 3),),
        ),
        Case("gradient of a function of one number, not compiled", scalar, 20, (Claim(JIT, 4),)),
    ]
    for dtype in ("float64", "float32"):
        out += [
            Case(
                f"MLP gradient, batch 8, {dtype}",
                partial(network, 8, dtype, "grad", True),
                20,
                (Claim(JIT, 1.5),),
            ),
            Case(
                f"MLP value and gradient, batch {large}, {dtype}",
                partial(network, large, dtype, "value_and_grad", True),
                1,
                (Claim(JIT, 1 / 0.9),),
            ),
        ]
    return out


# -- loops ---------------------------------------------------------------------------------------------


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


def _kalman(xp: Any, lax: Any, steps: int, start: Any) -> Any:
    """Return what a Kalman filter says of the place of something that moves, seen with noise."""
    f = xp.asarray(np.eye(4) + 0.1 * np.eye(4, k=2))
    h, q, r = xp.asarray(np.eye(2, 4)), xp.asarray(1e-3 * np.eye(4)), xp.asarray(0.1 * np.eye(2))
    seen = xp.asarray(np.random.default_rng(0).standard_normal((steps, 2)))

    def step(state: Any, z: Any) -> Any:
        x, p = state
        x, p = f @ x, f @ p @ f.T + q
        gain = xp.linalg.solve(h @ p @ h.T + r, h @ p).T
        x, p = x + gain @ (z - h @ x), p - gain @ h @ p
        return (x, p), x

    return lax.scan(step, (start, xp.asarray(np.eye(4))), seen)[1]


def _rnn(xp: Any, lax: Any, steps: int, start: Any) -> Any:
    """Return the last state of a recurrent network."""
    rng = np.random.default_rng(0)
    n = start.shape[1]
    w, inputs = xp.asarray(rng.standard_normal((n, n)) / n**0.5), xp.asarray(rng.standard_normal((steps, n)))
    return lax.scan(lambda state, x: (xp.tanh(state @ w + x), None), start, inputs)[0]


def _metropolis(xp: Any, lax: Any, steps: int, start: Any) -> Any:
    """Return the places of a Metropolis chain over a density with a bent ridge."""
    rng = np.random.default_rng(0)
    moves, levels = xp.asarray(rng.standard_normal((steps, 2))), xp.asarray(np.log(rng.random(steps)))

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

    return lax.scan(step, (start, log_density(start)), (moves, levels))[1]


def loop(make: Callable[[Any, Any, Any], Callable[..., Any]], value: np.ndarray) -> dict[str, Call]:
    """Return calls of a function with a loop: `make` is given the namespace, its loops and its transforms."""
    calls: dict[str, Call] = {}
    for c in libraries().values():
        of = transforms if c.name == OURS else jax_of(c)
        f = make(c.xp, transforms if c.name == OURS else of.lax, of)
        f = transforms.compile(f) if c.name == OURS else c.prepare(f)
        calls[c.name] = partial(_once, c.evaluate, f, (c.asarray(value),))
    return calls


# Loops take at most three times as long as JAX's.
AT_MOST = (Claim(JIT, 3.0),)


def _loop_cases(quick: bool) -> list[Case]:
    steps = 10 if quick else 1000
    y, w = np.array([1.0, 0.0]), np.linspace(-1, 1, 10)

    def rk4(xp: Any, lax: Any, of: Any) -> Any:
        return partial(_rk4, xp, lax, steps)

    def gradient(xp: Any, lax: Any, of: Any) -> Any:
        return of.grad(lambda y: xp.sum(_rk4(xp, lax, steps, y)))

    def many(xp: Any, lax: Any, of: Any) -> Any:
        return of.vmap(partial(_rk4, xp, lax, steps))

    def adam(xp: Any, lax: Any, of: Any) -> Any:
        return partial(_adam, xp, lax, steps // 10, of.grad)

    def decay(xp: Any, lax: Any, of: Any) -> Any:
        return of.vmap(partial(_decay, xp, lax, steps))

    def of(make: Any, size: float) -> Any:
        return lambda xp, lax, of: partial(make, xp, lax, size)

    return [
        Case(f"RK4, scan of {steps:,} steps", partial(loop, rk4, y), 1, AT_MOST),
        Case("its gradient", partial(loop, gradient, y), 1, AT_MOST),
        Case("vmap of 100 of it", partial(loop, many, np.outer(np.linspace(0.5, 1, 100), y)), 1, AT_MOST),
        Case(f"Adam, scan of {steps // 10} steps", partial(loop, adam, w), 1, AT_MOST),
        Case(f"vmap of a while_loop of {steps:,} steps", partial(loop, decay, np.ones(100)), 1, AT_MOST),
        Case(
            "an ODE by steps that adapt",
            partial(loop, of(_ode, steps / 50), np.array([2.0, 0.0])),
            1,
            AT_MOST,
        ),
        Case(f"Kalman filter, {steps:,} steps", partial(loop, of(_kalman, steps), np.zeros(4)), 1, AT_MOST),
        Case(
            f"RNN of 64 x 64, {steps // 10} steps",
            partial(loop, of(_rnn, steps // 10), np.zeros((64, 64))),
            1,
            AT_MOST,
        ),
        Case(
            f"Metropolis chain, {steps:,} steps",
            partial(loop, of(_metropolis, steps), np.zeros(2)),
            1,
            AT_MOST,
        ),
    ]


# -- all -----------------------------------------------------------------------------------------------


def cases(quick: bool) -> list[Case]:
    """Return every case; `quick` in tiny sizes."""
    return [*_network_cases(quick), *_loop_cases(quick)]


def measure(case: Case, rounds: int) -> Row:
    """Time a case, compiled before."""
    calls = case.make()
    for call in calls.values():
        for _ in range(6):  # recorded; found compiled, tried, run
            call()
    end = perf_counter() + (1 if rounds > 1 else 0)
    while perf_counter() < end:  # until loops are worth machine code
        calls[OURS]()
    hot.wait_for_compilers()
    for _ in range(3):
        calls[OURS]()
    return Row(case.name, race(calls, rounds, case.number), case.claims)


def _compile(some: list[Case]) -> None:
    """Have MAX compile what it would, sooner or later."""
    with tiers.gather() as keys, nabla_array.config(mode="auto"):
        for case in some:
            call = case.make()[OURS]
            for _ in range(2):
                call()
    trials.prepare(keys)


def run(quick: bool) -> list[Row]:
    """Measure everything here; `quick` only tries whether it works."""
    some = cases(quick)
    if not quick:
        _compile(some)
    return [*[measure(case, 1 if quick else 60) for case in some], *batches.rows(quick)]
