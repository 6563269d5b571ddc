"""Steps of the fuzz of transforms that are made of branches and loops, one inside the other.

Each is written once: `c` is the library's transforms, or their twins in plain Python, by which a loop is a
loop and a derivative a difference. A step maps an array of one axis to another of its length; the functions
within it are steps too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .differences import difference, each, jacobian

Step = Callable[[Any], Any]
MOST = 4  # as long as any axis
WEIGHTS = np.linspace(-1.0, 1.5, MOST)


# -- the twins ---------------------------------------------------------------------------------------------


class _Custom:
    """A function with rules of its own, which say nothing new to differences."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f

    def __call__(self, *args: Any) -> Any:
        return self.f(*args)

    def defjvp(self, rule: Any) -> None:
        """Take a rule."""

    def defvjp(self, forward: Any, backward: Any) -> None:
        """Take two."""


def _sliced(xs: Any, i: int) -> Any:
    if isinstance(xs, dict):
        return {k: x[i] for k, x in xs.items()}
    return None if xs is None else xs[i]


class Plain:
    """The transforms in plain Python; `h` is the step of differences."""

    custom_jvp = custom_vjp = _Custom

    def __init__(self, h: float) -> None:
        self.h = h

    def checkpoint(self, f: Step, **options: Any) -> Step:
        """Return the function itself."""
        return f

    compile = checkpoint

    def scan(
        self, f: Any, init: Any, xs: Any = None, length: Any = None, reverse: bool = False, **_: Any
    ) -> Any:
        """Run a loop, and stack what it gives on the way."""
        n = len(next(iter(xs.values())) if isinstance(xs, dict) else xs) if length is None else length
        rows = []
        for i in range(n - 1, -1, -1) if reverse else range(n):
            init, y = f(init, _sliced(xs, i))
            rows.append(y)
        rows = rows[::-1] if reverse else rows
        return init, None if rows[0] is None else np.stack(rows)

    def while_loop(self, test: Any, body: Any, value: Any) -> Any:
        """Run a loop."""
        while test(value):
            value = body(value)
        return value

    def fori_loop(self, lower: Any, upper: Any, body: Any, value: Any) -> Any:
        """Run a loop."""
        for i in range(int(lower), int(upper)):
            value = body(i, value)
        return value

    def map(self, f: Step, xs: Any, batch_size: int | None = None) -> Any:
        """Run a loop over rows."""
        return np.stack([f(x) for x in xs])

    def vmap(self, f: Step, in_axes: int = 0) -> Step:
        """Return a loop over rows."""
        return lambda x: each(f, x, in_axes)

    def cond(self, pred: Any, true_fun: Any, false_fun: Any, *operands: Any) -> Any:
        """Take one of two ways."""
        return true_fun(*operands) if pred else false_fun(*operands)

    def switch(self, index: Any, branches: Sequence[Any], *operands: Any) -> Any:
        """Take one of several ways."""
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)

    def associative_scan(self, fn: Any, elems: tuple[Any, ...], reverse: bool = False) -> Any:
        """Run a loop over elements."""
        rows = list(zip(*elems, strict=True))[:: -1 if reverse else 1]
        for i in range(1, len(rows)):
            rows[i] = fn(rows[i - 1], rows[i])
        return tuple(np.stack(x) for x in zip(*rows[:: -1 if reverse else 1], strict=True))

    def custom_root(self, f: Any, guess: Any, solve: Any, tangent_solve: Any) -> Any:
        """Return what the solver finds."""
        return solve(f, guess)

    def custom_linear_solve(self, matvec: Any, b: Any, solve: Any, symmetric: bool) -> Any:
        """Return what the solver finds."""
        return solve(matvec, b)

    def grad(self, f: Step) -> Step:
        """Return differences by every element."""
        return lambda x: jacobian(f, x, self.h)

    def jvp(self, f: Step, primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        """Return the value, and the difference along a tangent."""
        return f(*primals), difference(f, primals[0], tangents[0], self.h)


# -- loops -------------------------------------------------------------------------------------------------


def _rows(m: Any, x: Any) -> Any:
    return x[:, None] * WEIGHTS[None, : len(x)] * 0.5 + x


def _scan(m: Any, c: Any, f: Step, g: Step) -> Step:
    def step(x: Any) -> Any:
        last, ys = c.scan(lambda s, e: (f(s) * 0.5 + e, m.sum(s) * e), x, x)
        return last + ys

    return step


def _scan_reversed(m: Any, c: Any, f: Step, g: Step) -> Step:
    def step(x: Any) -> Any:
        last, ys = c.scan(lambda s, row: (s * 0.5 + f(row), g(s) * row), x, _rows(m, x), reverse=True)
        return last + m.sum(ys, axis=0) * 0.3

    return step


def _scan_unrolled(m: Any, c: Any, f: Step, g: Step) -> Step:
    return lambda x: c.scan(lambda s, _: (f(s) * 0.7, None), x, length=3, unroll=2)[0]


def _scan_of_pairs(m: Any, c: Any, f: Step, g: Step) -> Step:
    """Carry a Python number, something that never changes, and something that comes to depend on x late."""

    def step(x: Any) -> Any:
        def body(s: Any, e: Any) -> Any:
            i, w, late, y = s
            return (i + 1, w, y, f(y) * 0.5 + w * e["a"]), y[0] * e["b"] + m.sum(late) * 0.1

        init = (0, m.asarray(WEIGHTS[: len(x)]), m.zeros(len(x)), x)
        (_, w, late, y), ys = c.scan(body, init, {"a": x, "b": m.cos(x)}, reverse=True)
        return y + late * w + ys

    return step


def _while(m: Any, c: Any, f: Step, g: Step) -> Step:
    def step(x: Any) -> Any:
        def test(s: Any) -> Any:
            return (s[0] < 4) & (m.sum(s[1] * s[1]) > 0.4)

        return c.while_loop(test, lambda s: (s[0] + 1, f(s[1]) * 0.6), (0, x))[1]

    return step


def _while_counted(m: Any, c: Any, f: Step, g: Step) -> Step:
    def body(s: Any) -> Any:
        i, w, y = s
        return i + 1, w, f(y) * 0.6 + w * 0.1

    def step(x: Any) -> Any:
        return c.while_loop(lambda s: s[0] < 3, body, (0, m.asarray(WEIGHTS[: len(x)]), x))[2]

    return step


def _while_still(m: Any, c: Any, f: Step, g: Step) -> Step:
    """Carry x unchanged beside numbers that have no derivative."""

    def step(x: Any) -> Any:
        def test(s: Any) -> Any:
            return (s[0] < 5) & (s[0] * s[0] < m.sum(s[1] * s[1]))

        n, y = c.while_loop(test, lambda s: (s[0] + 1, s[1]), (0, x))
        return f(y) + n * 0.5

    return step


def _fori(m: Any, c: Any, f: Step, g: Step) -> Step:
    return lambda x: c.fori_loop(0, 3, lambda i, y: f(y) * 0.6 + i * 0.1, x)


def _fori_of_number(m: Any, c: Any, f: Step, g: Step) -> Step:
    return lambda x: x * c.fori_loop(1, 3, lambda i, s: s * 0.5 + m.sum(f(x * i)) * 0.3, 0)


def _fori_to_value(m: Any, c: Any, f: Step, g: Step) -> Step:
    def step(x: Any) -> Any:
        upper = m.floor(m.sum(m.tanh(x)) + 0.3) + 2
        return c.fori_loop(0, upper, lambda i, y: f(y) * 0.6 + i * 0.1, x)

    return step


def _map(m: Any, c: Any, f: Step, g: Step) -> Step:
    return lambda x: c.map(lambda e: m.sum(f(x * e)) + e, x)


def _map_in_batches(m: Any, c: Any, f: Step, g: Step) -> Step:
    return lambda x: m.sum(c.map(f, _rows(m, x), batch_size=2), axis=0) * 0.5


def _associative(reverse: bool) -> Callable[..., Step]:
    def make(m: Any, c: Any, f: Step, g: Step) -> Step:
        def then(p: Any, q: Any) -> Any:
            return p[0] * q[0], p[1] * q[0] + q[1]

        return lambda x: c.associative_scan(then, (m.tanh(f(x)), g(x)), reverse=reverse)[1]

    return make


# -- branches ----------------------------------------------------------------------------------------------


def _cond(m: Any, c: Any, f: Step, g: Step) -> Step:
    return lambda x: c.cond(m.sum(x) > 0.1, f, lambda y: g(y) * 0.5, x)


def _cond_on_number(m: Any, c: Any, f: Step, g: Step) -> Step:
    return lambda x: c.cond(len(x) % 2, lambda y, z: f(y) + z, lambda y, z: g(y) * z, x, 0.5)


def _cond_by_element(m: Any, c: Any, f: Step, g: Step) -> Step:
    def one(x: Any) -> Callable[[Any], Any]:
        return lambda e: c.cond(e > 0.1, lambda e: m.sum(f(x * e)), lambda e: e * e, e)

    return lambda x: c.map(one(x), x)


def _cond_passing(m: Any, c: Any, f: Step, g: Step) -> Step:
    """Hand some operands through both branches, and some through one."""

    def step(x: Any) -> Any:
        w = m.asarray(WEIGHTS[: len(x)])
        y, z, v = c.cond(x[0] > x[-1] + 0.07, lambda y, w: (f(y), w, w), lambda y, w: (y, w, g(y)), x, w)
        return y * z + v

    return step


def _switch(m: Any, c: Any, f: Step, g: Step) -> Step:
    def step(x: Any) -> Any:
        return c.switch(m.astype(m.floor(m.sum(x) * 2 + 0.3), np.int64), [f, g, lambda y: y * 0.3, m.sin], x)

    return step


# -- functions with rules, and transforms, inside ----------------------------------------------------------


def _recomputed(m: Any, c: Any, f: Step, g: Step) -> Step:
    def step(x: Any) -> Any:
        last, ys = c.scan(c.checkpoint(lambda s, e: (f(s) * 0.5 + e, m.max(s) * e)), x, x)
        return g(last) + ys

    return step


def _custom_jvp(m: Any, c: Any, f: Step, g: Step) -> Step:
    made = c.custom_jvp(f)
    made.defjvp(lambda primals, tangents: c.jvp(f, primals, tangents))
    return lambda x: c.scan(lambda s, _: (made(s) * 0.5, None), x, length=2)[0]


def _custom_vjp(m: Any, c: Any, f: Step, g: Step) -> Step:
    made = c.custom_vjp(f)
    made.defvjp(lambda x: (f(x), x), lambda x, ct: c.vjp(f, x)[1](ct))
    return lambda x: c.cond(x[0] > 0.05, made, g, x)


def _custom_root(m: Any, c: Any, f: Step, g: Step) -> Step:
    def solve(residual: Step, guess: Any) -> Any:
        return c.fori_loop(0, 40, lambda i, y: y - residual(y) * 0.7, guess)

    def step(x: Any) -> Any:
        goal = f(x)
        return c.custom_root(
            lambda y: y + 0.3 * m.sin(y) - goal, goal, solve, lambda linear, y: y / linear(m.ones_like(y))
        )

    return step


def _custom_solve(m: Any, c: Any, f: Step, g: Step) -> Step:
    def solve(matvec: Step, b: Any) -> Any:
        return c.scan(lambda y, _: (y + (b - matvec(y)) * 0.3, None), b * 0.3, length=40)[0]

    def step(x: Any) -> Any:
        w, diagonal = m.asarray(WEIGHTS[: len(x)]) * 0.5, 2 + m.tanh(x) ** 2
        return c.custom_linear_solve(lambda y: diagonal * y + w * m.sum(w * y), f(x), solve, symmetric=True)

    return step


def _compiled(m: Any, c: Any, f: Step, g: Step) -> Step:
    return lambda x: c.fori_loop(0, 2, lambda i, y: c.compile(f)(y) * 0.5, x)


def _descent(m: Any, c: Any, f: Step, g: Step) -> Step:
    return lambda x: c.fori_loop(0, 2, lambda i, y: y - 0.1 * c.grad(lambda y: m.sum(f(y)))(y), x)


def _along(m: Any, c: Any, f: Step, g: Step) -> Step:
    def slope(x: Any) -> Any:
        return c.jvp(f, (x,), (m.asarray(WEIGHTS[: len(x)]),))[1]

    return lambda x: c.cond(m.sum(x) > 0.05, slope, g, x)


def _batch(m: Any, c: Any, f: Step, g: Step) -> Step:
    def step(x: Any) -> Any:
        return c.scan(
            lambda s, _: (m.sum(c.vmap(f, in_axes=1)(_rows(m, s)), axis=0) * 0.3, None), x, length=2
        )[0]

    return step


CONTROL: dict[str, Callable[[Any, Any, Step, Step], Step]] = {
    "scan": _scan,
    "scan reversed": _scan_reversed,
    "scan unrolled": _scan_unrolled,
    "scan of pairs": _scan_of_pairs,
    "while": _while,
    "while counted": _while_counted,
    "while still": _while_still,
    "fori": _fori,
    "fori of number": _fori_of_number,
    "fori to value": _fori_to_value,
    "map": _map,
    "map in batches": _map_in_batches,
    "associative": _associative(False),
    "associative reversed": _associative(True),
    "cond": _cond,
    "cond on number": _cond_on_number,
    "cond by element": _cond_by_element,
    "cond passing": _cond_passing,
    "switch": _switch,
    "recomputed": _recomputed,
    "custom_jvp": _custom_jvp,
    "custom_vjp": _custom_vjp,
    "custom_root": _custom_root,
    "custom_linear_solve": _custom_solve,
    "compiled": _compiled,
    "descent": _descent,
    "along": _along,
    "batch": _batch,
}
# How often a step runs what is in it, at most, and how many differences that takes.
_TIMES = {
    "custom_root": 12,
    "custom_linear_solve": 12,
    "descent": 48,
    "along": 6,
    "batch": 6,
    "scan reversed": 6,
}
TAKING = ("descent", "along")  # derivatives


class Refused(NamedTuple):
    """What is refused, as the documentation tells: some steps within some transforms or other steps."""

    told: str
    steps: set[str]
    within: set[str]
    error: type[Exception]
    message: str

    def is_right(self, error: Exception, steps: set[str], around: set[str]) -> bool:
        """Say whether it is this, of these steps in these transforms."""
        fits = type(error) is self.error and self.message in str(error)
        return fits and bool(self.steps & steps) and bool(self.within & around)


REFUSED = (
    Refused(
        "reverse mode of a while_loop",
        {"while", "while counted", "while still", "fori to value"},
        {"vjp", "grad", "jacrev", "hessian", "descent", "custom_vjp"},
        NotImplementedError,
        "while_loop: no reverse mode",
    ),
    Refused(
        "forward mode of a custom_vjp",
        {"custom_vjp"},
        {"jvp", "linear", "jacfwd", "hessian", "along", "custom_jvp"},
        TypeError,
        "has a rule for cotangents alone",
    ),
)


class Drawn(NamedTuple):
    """A step of those of `CONTROL`, and what is in it."""

    name: str
    inner: tuple[Drawn | str, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inner))})"

    def names(self) -> list[str]:
        """Return the names of all steps of `CONTROL` in it."""
        return [self.name, *[n for i in self.inner if isinstance(i, Drawn) for n in i.names()]]

    def cost(self) -> int:
        """Return about how many plain steps it takes."""
        inner = max(i.cost() if isinstance(i, Drawn) else 1 for i in self.inner)
        return _TIMES.get(self.name, 3) * inner

    def made(self, m: Any, c: Any, steps: dict[str, Callable[[Any, Any], Any]]) -> Step:
        """Return it as a function; `steps` are the others."""

        def one(i: Drawn | str) -> Step:
            return i.made(m, c, steps) if isinstance(i, Drawn) else lambda x: steps[i](m, x)

        return CONTROL[self.name](m, c, *map(one, self.inner))


def drawn(rng: np.random.Generator, steps: Sequence[str], deep: int = 3) -> Drawn:
    """Return a random step, with at most so many inside each other."""
    taken = [n for n in CONTROL if deep == 3 or n not in TAKING]
    name = str(rng.choice(taken))
    inner = [
        drawn(rng, steps, deep - 1) if deep > 1 and rng.random() < 0.45 else str(rng.choice(steps))
        for _ in "fg"
    ]
    return Drawn(name, tuple(inner))
