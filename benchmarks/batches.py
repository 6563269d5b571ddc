"""Functions of one example run on many: beside JAX, beside NumPy batched by hand, beside loops."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

import nabla_array
from nabla_array import transforms

from .contestants import JIT, Contestant, contestants
from .measure import OURS, Claim, Row, race

Call = Callable[[], object]
LOOP = "loop"


def _transforms_of(c: Contestant) -> Any:
    """Return what has `grad`, `vmap` and so on, and the function that compiles."""
    if c.name == OURS:
        return transforms, transforms.compile
    jax: ModuleType = __import__(c.xp.__name__.partition(".")[0])
    return jax, jax.jit


def _calls(make: Callable[[Any, Any], Callable[..., Any]], args: tuple[np.ndarray, ...]) -> dict[str, Call]:
    out: dict[str, Call] = {}
    for c in contestants(OURS, JIT):
        library, compiled = _transforms_of(c)
        f = compiled(make(library, c.xp))
        own = tuple(map(c.asarray, args))
        out[c.name] = partial(lambda c, f, own: c.evaluate(f(*own)), c, f, own)
    return out


def per_example_gradients(n: int) -> dict[str, Call]:
    """Return calls of a gradient for each of n examples: of a layer's weights."""
    rng = np.random.default_rng(0)

    def make(library: Any, xp: Any) -> Callable[..., Any]:
        def loss(w: Any, b: Any, x: Any, y: Any) -> Any:
            return xp.sum((xp.tanh(x @ w + b) - y) ** 2)

        return library.vmap(library.grad(loss, argnums=(0, 1)), in_axes=(None, None, 0, 0))

    args = (
        rng.standard_normal((32, 16)),
        np.zeros(16),
        rng.standard_normal((n, 32)),
        rng.standard_normal((n, 16)),
    )
    return _calls(make, args)


def logistic_hessian(n: int, d: int) -> dict[str, Call]:
    """Return calls of the Hessian of a logistic regression's loss."""
    rng = np.random.default_rng(0)

    def make(library: Any, xp: Any) -> Callable[..., Any]:
        def loss(w: Any, x: Any, y: Any) -> Any:
            z = x @ w
            return xp.mean(xp.logaddexp(xp.zeros_like(z), z) - y * z)

        return library.hessian(loss)

    x = rng.standard_normal((n, d))
    return _calls(make, (rng.standard_normal(d), x, (x[:, 0] > 0).astype(float)))


def by_hand(n: int) -> dict[str, Call]:
    """Return calls of a function of one example under vmap, and of the same batched by hand in NumPy."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((n, 64)), rng.standard_normal((64, 32))

    def one(r: Any, w: Any) -> Any:
        h = nabla_array.tanh(r @ w)
        return nabla_array.sum(h * h) / (1 + nabla_array.max(h)) + nabla_array.sum(
            nabla_array.sqrt(r * r + 1)
        )

    def batched() -> Any:
        h = np.tanh(x @ w)
        return np.sum(h * h, axis=1) / (1 + np.max(h, axis=1)) + np.sum(np.sqrt(x * x + 1), axis=1)

    mapped = transforms.vmap(one, in_axes=(0, None))
    ours = nabla_array.asarray(x), nabla_array.asarray(w)
    return {OURS: lambda: nabla_array.eval(mapped(*ours)), "numpy": batched}


def mandelbrot(c: Any) -> int:
    """Count the rounds until a point escapes, fifty at most: a plain loop with an early exit."""
    z = 0 * c
    for n in range(50):
        if abs(z) > 2:
            return n
        z = z * z + c
    return 50


def mandelbrot_row(side: int) -> Row:
    """Time the points of a square under vmap, and one by one (a hundredth of them, times a hundred)."""
    re, im = np.meshgrid(np.linspace(-2, 1, side), np.linspace(-1.5, 1.5, side))
    points = (re + 1j * im).ravel()
    mapped = transforms.vmap(mandelbrot)
    given = nabla_array.asarray(points)
    sample = np.random.default_rng(0).choice(points, max(points.size // 100, 1), replace=False)

    def loop(one: Callable[[Any], Any]) -> float:
        start = perf_counter()
        for c in sample:
            int(mandelbrot(one(c)))
        return (perf_counter() - start) * points.size / sample.size

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", transforms.SplitWarning)
        figures = race({OURS: lambda: nabla_array.eval(mapped(given))}, 5)
    figures[LOOP] = loop(nabla_array.asarray)
    figures["numpy"] = loop(lambda c: c)
    return Row(f"Mandelbrot, {side} x {side}, early exit", figures, (Claim(LOOP, 1 / 50),))


def of_scipy(n: int) -> list[tuple[str, dict[str, Call], Claim]]:
    """Return calls of SciPy's functions under vmap, and of the same in a loop over NumPy's arrays."""
    from scipy import interpolate, linalg, ndimage, signal, stats

    rng = np.random.default_rng(0)
    images, signals = rng.standard_normal((n, 32, 32)), rng.standard_normal((n, 1000))
    matrices = images @ images.swapaxes(1, 2) + np.eye(32)
    cases: list[tuple[str, Callable[[Any], Any], np.ndarray]] = [
        ("ndimage.gaussian_filter", lambda x: ndimage.gaussian_filter(x, 1.0), images),
        ("ndimage.median_filter", lambda x: ndimage.median_filter(x, 3), images),
        ("signal.savgol_filter", lambda x: signal.savgol_filter(x, 7, 2), signals),
        ("linalg.solve", lambda x: linalg.solve(x, x[0]), matrices),
        ("stats.norm.logpdf", lambda x: stats.norm.logpdf(x).sum(), signals),
        ("a CubicSpline", interpolate.CubicSpline(np.linspace(-5, 5, 50), rng.standard_normal(50)), signals),
    ]
    out = []
    for name, f, batch in cases:
        mapped, ours = transforms.vmap(f), nabla_array.asarray(batch)
        calls: dict[str, Call] = {
            OURS: partial(lambda g, x: nabla_array.eval(g(x)), mapped, ours),
            "numpy": partial(lambda f, xs: [f(x) for x in xs], f, batch),
        }
        out.append((f"vmap of {name}, {n} examples", calls, Claim("numpy", 1)))
    return out


def rows(quick: bool) -> list[Row]:
    """Measure everything here."""
    n, rounds = (16, 1) if quick else (4096, 30)
    some: list[tuple[str, dict[str, Call], Claim]] = [
        (f"gradients of {n} examples", per_example_gradients(n), Claim(JIT, 1 / 0.8)),
        (
            "Hessian of logistic regression, d = 50",
            logistic_hessian(n, 5 if quick else 50),
            Claim(JIT, 1 / 0.8),
        ),
        ("vmap over 10,000 examples", by_hand(16 if quick else 10_000), Claim("numpy", 1.2)),
        *(of_scipy(3 if quick else 300) if find_spec("scipy") else ()),
    ]
    out = []
    for name, calls, claim in some:
        for call in calls.values():
            for _ in range(3):
                call()
        out.append(Row(name, race(calls, rounds), (claim,)))
    return [*out, mandelbrot_row(10 if quick else 200)]
