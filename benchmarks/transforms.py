"""Transforms of functions: what a call costs beside JAX's, compiled and not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import nabla_array
from nabla_array import transforms
from nabla_array._lazy.max import trials
from nabla_array._lazy.run import hot, tiers

from . import batches, loops
from .contestants import JIT, jax_of, libraries
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


def _of_one(xp: Any, x: Any) -> Any:
    return xp.sin(x) * x**2 + xp.exp(-x)


def _of_ten(xp: Any, x: Any) -> Any:
    return xp.sum(xp.tanh(x * 2.0) ** 2)


# Transforms of small functions: what is made of a `jax` module or of ours, and of a function.
_PLAIN: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], Any]] = {
    "gradient of a function of one number": (lambda of, f: of.grad(f), _of_one, 1.5),
    "tangent of a function of one number": (lambda of, f: lambda x: of.jvp(f, (x,), (1.0,))[1], _of_one, 1.5),
    "gradient of a function of 10": (lambda of, f: of.grad(f), _of_ten, np.linspace(0, 1, 10)),
    "pullback of a function of 10": (
        lambda of, f: lambda x: of.vjp(f, x)[1](x[0]),
        _of_ten,
        np.linspace(0, 1, 10),
    ),
    "Hessian of a function of 10": (lambda of, f: of.hessian(f), _of_ten, np.linspace(0, 1, 10)),
    "Jacobian of 10 numbers": (lambda of, f: of.jacfwd(f), _of_one, np.linspace(0, 1, 10)),
    "vmap of 10": (lambda of, f: of.vmap(f), _of_one, np.linspace(0, 1, 10)),
    "vmap of 10 gradients": (lambda of, f: of.vmap(of.grad(f)), _of_one, np.linspace(0, 1, 10)),
}


def plain(name: str) -> dict[str, Call]:
    """Return calls of a transform of a small function, compiled by JAX alone."""
    make, function, x = _PLAIN[name]
    calls: dict[str, Call] = {}
    for c in libraries().values():
        f = make(transforms if c.name == OURS else jax_of(c), partial(function, c.xp))
        given = x if np.ndim(x) == 0 else c.asarray(x)
        evaluate = float if np.ndim(x) == 0 else c.evaluate
        calls[c.name] = partial(_once, evaluate, f if c.name == OURS else c.prepare(f), (given,))
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
        *[Case(f"{name}, not compiled", partial(plain, name), 20, (Claim(JIT, 4),)) for name in _PLAIN],
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


# -- all -----------------------------------------------------------------------------------------------


def cases(quick: bool) -> list[Case]:
    """Return every case; `quick` in tiny sizes."""
    hot_loops = [Case(x.name, partial(loops.calls, x), 1, (Claim(JIT, 3.0),)) for x in loops.cases(quick)]
    return [*_network_cases(quick), *hot_loops]


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
    hot_rows = [measure(case, 1 if quick else 60) for case in some]
    return [*hot_rows, *batches.rows(quick), *loops.cold_rows(quick)]
