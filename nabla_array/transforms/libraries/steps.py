"""Differential equations: SciPy chooses the steps.

Those of Runge's and Kutta's methods are taken again; of others, equations of collocation hold between times.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._lazy.graph.tape import derivatives, hidden
from ..custom import stop_gradient
from ..jacobians import jacfwd
from ..vmap import vmap
from .equations import Watched, refuse, zero_of
from .operands import array, plain
from .tracking import holding, is_tracked

Field = Callable[[Any, Any], Any]


@holding
def _solve_ivp(
    original: Any, fun: Any, t_span: Any, y0: Any, t_eval: Any, vectorized: bool, args: Any, **options: Any
) -> Any:
    from scipy import integrate

    extra = () if args is None else tuple(args)
    watch = Watched(lambda t, y, *_: fun(t, y, *extra))
    times, start = plain(t_span), plain(y0)
    own = {k: Watched(v) if k == "jac" and callable(v) else plain(v) for k, v in options.items()}
    if args is not None:
        own["args"] = tuple(map(plain, extra))
    found = original(watch, times, start, t_eval=plain(t_eval), vectorized=vectorized, **own)
    tracked_events = is_tracked([t_span, t_eval])
    if not (watch.is_tracked or is_tracked(y0) or tracked_events):
        return found
    if tracked_events or options["dense_output"] or options["events"] is not None or not found.success:
        refuse("integrate.solve_ivp", "by times, events, dense_output, or where it fails; t_eval is constant")
    with hidden(derivatives()):
        own["dense_output"] = True
        steps = original(watch, times, start, vectorized=vectorized, **own)

    def field(t: Any, y: Any) -> Any:
        return array(fun(t, y[:, None], *extra))[:, 0] if vectorized else array(fun(t, y, *extra))

    method = options["method"]
    if method in ("RK23", "RK45"):
        y = _explicit(field, array(y0), getattr(integrate, method), steps.t, found.t)
    else:
        y = _collocated("solve_ivp", field, y0, steps, found.t)
    found.y = y.T - stop_gradient(y.T) + found.y  # the values are SciPy's
    return found


@holding
def _odeint(
    original: Any, func: Any, y0: Any, t: Any, args: Any, tfirst: bool, rtol: Any, atol: Any, **options: Any
) -> Any:
    from scipy.integrate import solve_ivp

    extra = args if isinstance(args, tuple) else (args,)

    def whole(t: Any, y: Any, *_: Any) -> Any:
        return func(t, y, *extra) if tfirst else func(y, t, *extra)

    watch, start, times, tol = Watched(whole), plain(y0), plain(t), 1.49012e-8
    slopes = options.pop("Dfun")
    if slopes is not None:
        slopes = Watched(lambda t, y: slopes(t, y, *extra) if tfirst else slopes(y, t, *extra))
    found = original(watch, start, times, tfirst=True, rtol=rtol, atol=atol, Dfun=slopes, **options)
    if not (watch.is_tracked or is_tracked([y0, t])):
        return found
    if options["full_output"] or is_tracked(t) or options["tcrit"] is not None:
        refuse("integrate.odeint", "by times, or with full_output or tcrit")
    limits = {"rtol": tol if rtol is None else rtol, "atol": tol if atol is None else atol}
    with hidden(derivatives()):
        steps = solve_ivp(watch, (times[0], times[-1]), start, "LSODA", dense_output=True, **limits)
    y = _collocated("odeint", lambda t, y: array(whole(t, y)), y0, steps, np.asarray(times))
    return y - stop_gradient(y) + found


def _explicit(field: Field, y: Any, method: Any, grid: Any, times: Any) -> Any:
    """Take the steps of a method of Runge and Kutta again, and its interpolant between them."""
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
    return array(np.stack(found))


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


def _collocated(name: str, field: Field, y0: Any, steps: Any, times: np.ndarray) -> Any:
    """Return the solution at these times, by the equations of all steps at once.

    There is a step between all times at which SciPy has stopped, or is asked for the solution.
    """
    grid = np.unique(np.concatenate([steps.t, times]))
    grid = grid if steps.t[-1] >= steps.t[0] else grid[::-1]
    y0, h = array(y0), np.diff(grid)
    at = grid[:-1, None] + h[:, None] * _C
    shape = (h.size, 3, y0.size)
    fields = vmap(vmap(field))

    def short(z: Any) -> Any:
        before = np.concatenate([array(y0)[None], z[:-1, 2]])[:, None]
        return z - before - h[:, None, None] * np.matmul(_A, fields(array(at), z))

    z = np.moveaxis(steps.sol(at.ravel()), 0, -1).reshape(shape)
    with hidden(derivatives()):
        z, inverse = _newton(name, short, field, at, h, z)
    found = zero_of(short, z, lambda r, transposed: _substituted(inverse, r, transposed))
    found = np.concatenate([y0[None], found[:, 2]])
    order = np.argsort(grid)
    return found[order[np.searchsorted(grid, times, sorter=order)]]


def _newton(name: str, short: Any, field: Field, at: Any, h: Any, z: Any) -> tuple[Any, Any]:
    """Return where all equations hold, near `z`, and the inverses of the steps' matrices there."""
    slopes = vmap(vmap(jacfwd(field, argnums=1)))
    steps, _, n = z.shape
    for _ in range(20):
        jacobians = np.asarray(slopes(array(at), array(z)))
        blocks = -h[:, None, None, None, None] * np.einsum("ij,kjab->kiajb", _A, jacobians)
        inverse = np.linalg.inv(np.eye(3 * n) + blocks.reshape(steps, 3 * n, 3 * n))
        step = _substituted(inverse, np.asarray(short(array(z))), False)
        z = z - step
        if np.abs(step).max(initial=0.0) <= 1e-11 * max(1.0, np.abs(z).max(initial=0.0)):
            return z, inverse
    refuse(f"integrate.{name}", "since Newton's method finds no solution of the equations of its steps")


def _substituted(inverse: np.ndarray, r: np.ndarray, transposed: bool) -> np.ndarray:
    """Solve for all steps, one after the other; for the transposed equations, backwards."""
    out = np.empty_like(r)
    carry = np.zeros(r.shape[-1], r.dtype)
    for k in range(len(r))[:: -1 if transposed else 1]:
        side = r[k].copy()
        if transposed:
            side[2] += carry
            out[k] = (inverse[k].T @ side.ravel()).reshape(side.shape)
            carry = out[k].sum(axis=0)
        else:
            out[k] = (inverse[k] @ (side + carry).ravel()).reshape(side.shape)
            carry = out[k, 2]
    return out


# -- boundary values -----------------------------------------------------------------------------------


@holding
def _solve_bvp(
    original: Any,
    fun: Any,
    bc: Any,
    x: Any,
    y: Any,
    p: Any,
    S: Any,
    fun_jac: Any,
    bc_jac: Any,
    **options: Any,
) -> Any:
    from scipy.interpolate import CubicHermiteSpline

    watch, ends = Watched(fun), Watched(bc)
    jacobians = (v if v is None else Watched(v) for v in (fun_jac, bc_jac))
    found = original(watch, ends, plain(x), plain(y), plain(p), plain(S), *jacobians, **options)
    if not (watch.is_tracked or ends.is_tracked or is_tracked([x, S])):
        return found
    if is_tracked([x, S]) or S is not None or not found.success:
        refuse("integrate.solve_bvp", "by `x` or `S`, with `S`, or where it fails")
    n, grid = len(found.y), found.x
    h = np.diff(grid)
    unknown = np.concatenate([found.y.ravel(), [] if found.p is None else found.p])

    def parts(z: Any) -> tuple[Any, tuple[Any, ...]]:
        y, p = z[: n * grid.size].reshape(n, grid.size), z[n * grid.size :]
        return y, () if found.p is None else (p,)

    def slopes(z: Any) -> Any:
        y, p = parts(z)
        return array(fun(grid, y, *p))

    def short(z: Any) -> Any:
        y, p = parts(z)
        f = slopes(z)
        middle = (y[:, 1:] + y[:, :-1]) / 2 - h / 8 * (f[:, 1:] - f[:, :-1])
        inner = array(fun(grid[:-1] + h / 2, middle, *p))
        gaps = y[:, 1:] - y[:, :-1] - h / 6 * (f[:, :-1] + f[:, 1:] + 4 * inner)
        return np.concatenate([gaps.reshape(-1), array(bc(y[:, 0], y[:, -1], *p))])

    with hidden(derivatives()):
        matrix = np.asarray(jacfwd(short)(array(unknown)))
    z = zero_of(short, unknown, lambda r, transposed: np.linalg.solve(matrix.T if transposed else matrix, r))
    found.y, p = parts(z)
    found.yp = slopes(z)
    found.sol = CubicHermiteSpline(grid, found.y, found.yp, axis=1)
    found.p = p[0] if p else None
    found.pop("rms_residuals")
    return found


RULES = {"scipy.integrate": {"solve_ivp": _solve_ivp, "odeint": _odeint, "solve_bvp": _solve_bvp}}
