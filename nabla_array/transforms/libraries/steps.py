"""Differential equations: SciPy chooses the steps, and these are taken again with what is differentiated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..custom import stop_gradient
from ..jacobians import jacfwd
from .operands import array, plain
from .solvers import Watched, zero_of
from .tracking import is_tracked

Field = Callable[[float, Any], Any]


def _solve_ivp(
    original: Any, fun: Any, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None,
    dense_output: bool = False, events: Any = None, vectorized: bool = False, args: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    extra = () if args is None else tuple(args)
    watch = Watched(lambda t, y, *_: fun(t, y, *extra))
    options = {k: Watched(v) if callable(v) else plain(v) for k, v in options.items()}
    if "jac" in options and extra and callable(options["jac"]):
        return NotImplemented
    if is_tracked([t_span, t_eval]) or dense_output or events is not None:
        return NotImplemented
    times, start = plain(t_span), plain(y0)
    found = original(watch, times, start, method=method, t_eval=t_eval, vectorized=vectorized, **options)
    if not (watch.is_tracked or is_tracked(y0)):
        return found
    steps = original(watch, times, start, method=method, dense_output=True, vectorized=vectorized, **options)
    if not found.success or not steps.success:
        return NotImplemented

    def field(t: float, y: Any) -> Any:
        return array(fun(t, y, *extra))

    columns = _taken(field, array(y0), method, steps, found.t)
    if columns is None:
        return NotImplemented
    y = array(np.stack(columns, axis=1))
    found.y = y - stop_gradient(y) + found.y  # the values are SciPy's
    return found


def _odeint(
    original: Any, func: Any, y0: Any, t: Any, args: Any = (), Dfun: Any = None, col_deriv: Any = 0,
    full_output: Any = 0, ml: Any = None, mu: Any = None, rtol: Any = None, atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0, hmax: float = 0.0, hmin: float = 0.0, ixpr: Any = 0, mxstep: int = 0, mxhnil: int = 0,
    mxordn: int = 12, mxords: int = 5, printmessg: Any = 0, tfirst: bool = False,
) -> Any:  # fmt: skip
    from scipy.integrate import solve_ivp

    extra = args if isinstance(args, tuple) else (args,)
    if full_output or Dfun is not None or is_tracked(t) or tcrit is not None:
        return NotImplemented

    def field(t: float, y: Any) -> Any:
        return func(t, y, *extra) if tfirst else func(y, t, *extra)

    watch, start, tol = Watched(field), plain(y0), 1.49012e-8
    found = original(watch, start, t, tfirst=True, rtol=rtol, atol=atol, h0=h0, hmax=hmax, hmin=hmin,
                     mxstep=mxstep, mxhnil=mxhnil, mxordn=mxordn, mxords=mxords)  # fmt: skip
    if not (watch.is_tracked or is_tracked(y0)):
        return found
    limits = {"rtol": tol if rtol is None else rtol, "atol": tol if atol is None else atol}
    steps = solve_ivp(watch, (t[0], t[-1]), start, method="LSODA", dense_output=True, **limits)
    columns = _taken(lambda t, y: array(field(t, y)), array(y0), "LSODA", steps, np.asarray(t))
    if columns is None or not steps.success:
        return NotImplemented
    y = array(np.stack(columns, axis=0))
    return y - stop_gradient(y) + found


def _taken(field: Field, y: Any, method: Any, steps: Any, times: Any) -> list[Any] | None:
    """Return the solution at these times, from steps taken anew."""
    from scipy import integrate

    if method in ("RK23", "RK45"):
        return _explicit(field, y, getattr(integrate, method), steps.t, times)
    if method in ("Radau", "BDF", "LSODA", "DOP853"):
        return _collocated(field, y, steps, times)
    return None


def _explicit(field: Field, y: Any, method: Any, grid: Any, times: Any) -> list[Any]:
    """Take the steps of a method of Runge and Kutta, and its interpolant between them."""
    found, waiting, direction = [], [*times], np.sign(grid[-1] - grid[0])
    while waiting and waiting[0] == grid[0]:
        found.append(y)
        waiting.pop(0)
    slope = field(grid[0], y)
    for t, end in itertools.pairwise(grid):
        h, slopes = end - t, [slope]
        for a, c in zip(method.A[1:], method.C[1:], strict=True):
            slopes.append(field(t + c * h, y + h * _sum(a, slopes)))
        after = y + h * _sum(method.B, slopes)
        slope = field(end, after)
        slopes.append(slope)
        while waiting and direction * (waiting[0] - end) <= 0:
            s = (waiting.pop(0) - t) / h
            weights = method.P @ s ** np.arange(1, method.P.shape[1] + 1)
            found.append(after if s == 1 else y + h * _sum(weights, slopes))
        y = after
    return found


def _sum(weights: Any, terms: Sequence[Any]) -> Any:
    used = [w * x for w, x in zip(weights, terms, strict=False) if w]
    return sum(used[1:], used[0])


# Three stages of Radau IIA, of order 5: for steps of any method, stiff or not.
_ROOT6 = 6**0.5
_C = np.array([(4 - _ROOT6) / 10, (4 + _ROOT6) / 10, 1.0])
_A = np.array(
    [
        [(88 - 7 * _ROOT6) / 360, (296 - 169 * _ROOT6) / 1800, (-2 + 3 * _ROOT6) / 225],
        [(296 + 169 * _ROOT6) / 1800, (88 + 7 * _ROOT6) / 360, (-2 - 3 * _ROOT6) / 225],
        [(16 - _ROOT6) / 36, (16 + _ROOT6) / 36, 1 / 9],
    ]
)


def _collocated(field: Field, y: Any, steps: Any, times: Any) -> list[Any] | None:
    """Take implicit steps between all times at which SciPy has stopped, or is asked for the solution."""
    grid = np.unique(np.concatenate([steps.t, times]))
    if steps.t[-1] < steps.t[0]:
        grid = grid[::-1]
    at = {grid[0]: y}
    for t, end in itertools.pairwise(grid):
        h = end - t

        def short(z: Any, t: float = t, h: float = h, y: Any = y) -> Any:
            slopes = np.stack([field(t + c * h, z[i]) for i, c in enumerate(_C)])
            return z - y - h * (_A @ slopes)

        guess = _newton(short, steps.sol(t + _C * h).T)
        if guess is None:
            return None
        y = zero_of(short, guess)[2]
        at[end] = y
    return [at[t] for t in times]


def _newton(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray | None:
    """Return where `f` is zero near `x`, where it is nearly so."""
    inverse = None
    for _ in range(20):
        short = plain(f(array(x)))
        if np.abs(short).max() <= 1e-14 * max(1.0, np.abs(x).max()):
            return x
        if inverse is None:
            inverse = np.linalg.inv(plain(jacfwd(f)(array(x))).reshape(x.size, x.size))
        step = (inverse @ short.ravel()).reshape(x.shape)
        x = x - step
        if np.abs(step).max() <= 1e-13 * max(1.0, np.abs(x).max()):
            return x
    return None


RULES = {"solve_ivp": _solve_ivp, "odeint": _odeint}
