"""Large arrays: fused expressions, and single calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import nabla_array

from .contestants import contestants
from .measure import Claim, Row, geometric_mean, race


def chain(xp: Any, x: Any, y: Any) -> Any:
    """Six cheap operations."""
    return ((x + y) * x - y) * (x - y) + x * y


def choice(xp: Any, x: Any, y: Any) -> Any:
    """A choice between two expressions."""
    return xp.where(x > y, x * y, x - y)


def row_variance(xp: Any, m: Any) -> Any:
    """The variance of each row."""
    return xp.var(m, axis=1)


def softmax(xp: Any, m: Any) -> Any:
    """Softmax of each row: two reductions that come back broadcast."""
    e = xp.exp(m - xp.max(m, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def stencil(xp: Any, m: Any) -> Any:
    """The five-point Laplace operator: slices of one array."""
    around = m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:]
    return around - 4.0 * m[1:-1, 1:-1]


def averaged(xp: Any, u: Any, v: Any) -> Any:
    """Write the means of neighbours to the inside of another array."""
    if xp.__name__.startswith("jax"):  # whose arrays are not written to
        return v.at[1:-1, 1:-1].set(_means(u))
    v[1:-1, 1:-1] = _means(u)
    return v


def _means(u: Any) -> Any:
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


# No worse than 0.95 times as fast.
_NO_WORSE = Claim("numpy", 1 / 0.95)
_TWICE_AS_FAST = Claim("numpy", 0.5)


def measure(name: str, function: Callable[..., Any], args: list[np.ndarray], rounds: int) -> Row:
    """Time `function(xp, *args)` on arrays of each library."""
    calls = {}
    for c in contestants():
        own = [c.asarray(a) for a in args]
        calls[c.name] = partial(_once, c.prepare(partial(function, c.xp)), own, c.evaluate)
    for call in calls.values():
        call()
    return Row(name, race(calls, rounds), (_NO_WORSE,))


def _once(function: Callable[..., Any], args: list[Any], evaluate: Callable[[Any], object]) -> None:
    evaluate(function(*args))


def run(quick: bool) -> list[Row]:
    """Measure everything here, on the host; `quick` only tries whether it works."""
    with nabla_array.config(mode="host"):
        return _rows(quick)


def _rows(quick: bool) -> list[Row]:
    rounds = 1 if quick else 40
    side, small = (40, 20) if quick else (2000, 1024)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, side * side))
    m = x.reshape(side, side)
    a, b = rng.standard_normal((2, small, small))
    fused = [
        measure("((x+y)*x-y)*(x-y)+x*y", chain, [x, y], rounds),
        measure("where(x>y, x*y, x-y)", choice, [x, y], rounds),
        measure("variance of rows", row_variance, [m], rounds),
        measure("softmax of rows", softmax, [m], rounds),
        measure("5-point stencil", stencil, [m], rounds),
    ]
    looked = rng.permutation(side * side)
    steps = np.linspace(-3.0, 3.0, 100)
    matrices = rng.standard_normal((side * side // 40, 3, 3)) + 3.0 * np.eye(3)
    single = {
        "x[i], in any order": (lambda xp, x, i: x[i], [x, looked]),
        "rows[i]": (lambda xp, m, i: m[i], [x.reshape(-1, 4), looked[: side * side // 4] // 4]),
        "take_along_axis": (
            lambda xp, m, i: xp.take_along_axis(m, i, axis=1),
            [m, looked.reshape(m.shape) % side],
        ),
        "searchsorted": (lambda xp, v, x: xp.searchsorted(v, x), [steps, x]),
        "interp": (lambda xp, x, v: xp.interp(x, v, v * v), [x, steps]),
        "columns joined": (lambda xp, m: xp.concatenate([m, m], axis=1), [m]),
        "ravel of m.T": (lambda xp, m: xp.ravel(m.T), [m]),
        "repeat": (lambda xp, x: xp.repeat(x, 2), [x]),
        "means written to a part": (averaged, [m, m.copy()]),
        "roll": (lambda xp, x: xp.roll(x, 5), [x]),
        "3 x 3 products": (lambda xp, a: a @ a, [matrices]),
        "svd of 3 x 3": (lambda xp, a: xp.linalg.svd(a)[1], [matrices]),
        "eigh of 3 x 3": (lambda xp, a: xp.linalg.eigh(a)[0], [matrices]),
    }
    return [
        *fused,
        geometric_mean("geometric mean", fused, _TWICE_AS_FAST),
        measure("x + y", lambda xp, x, y: x + y, [x, y], rounds),
        measure(f"x @ y, {small} rows", lambda xp, a, b: a @ b, [a, b], rounds),
        measure("sort", lambda xp, x: xp.sort(x), [x], max(1, rounds // 8)),
        measure("sum", lambda xp, x: xp.sum(x), [x], rounds),
        *[measure(name, function, args, max(1, rounds // 8)) for name, (function, args) in single.items()],
    ]
