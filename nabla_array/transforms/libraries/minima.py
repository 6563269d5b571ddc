"""`scipy.optimize`: minima, by the equations of Lagrange that hold there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..derivatives import grad
from .equations import Watched, refuse, zero_of
from .operands import array, plain
from .roots import forget, lowest, solved
from .tracking import holding, is_tracked

Function = Callable[..., Any]


@holding
def _minimize(
    original: Function, fun: Function, jac: Any, bounds: Any, constraints: Any, **options: Any
) -> Any:
    watched: list[Watched] = []
    given = {"jac": jac, "bounds": _plain(bounds), "constraints": _watched(constraints, watched), **options}
    found, f, tracked = solved(original, fun, given)
    if not (tracked or any(w.is_tracked for w in watched) or _moves(bounds, constraints)):
        return found
    if _moves(bounds, constraints):
        refuse("optimize.minimize", "by bounds, or by the matrix or bounds of a LinearConstraint")

    def value(x: Any) -> Any:
        return f(x)[0] if jac is True else f(x)

    free = _free(found.x, bounds)
    active = [*_active(constraints, found.x)]
    found.x = _constrained(value, active, found.x, free) if active else lowest(value, found.x, free)
    found.fun = value(found.x)
    forget(
        found, "jac", "grad", "hess", "hess_inv", "final_simplex", "direc", "multipliers", "lagrangian_grad"
    )
    forget(found, "constr", "v", "maxcv", "optimality", "constr_violation")
    return found


def _plain(bounds: Any) -> Any:
    return bounds if hasattr(bounds, "lb") else plain(bounds)


def _free(x: Any, bounds: Any) -> np.ndarray:
    """Say which coordinates do not lie at a bound."""
    x = np.asarray(x)
    if bounds is None:
        return np.ones(x.shape, bool)
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    else:
        low = np.array([-np.inf if b[0] is None else b[0] for b in bounds], float)
        high = np.array([np.inf if b[1] is None else b[1] for b in bounds], float)
    near = 1e-9 * np.maximum(1.0, np.abs(x))
    return np.asarray((x - low > near) & (high - x > near))


# -- constraints ---------------------------------------------------------------------------------------


class _Active(NamedTuple):
    """Values of a constraint that are zero at the minimum."""

    function: Function
    places: np.ndarray


def _each(constraints: Any) -> list[Any]:
    return [*constraints] if isinstance(constraints, list | tuple) else [constraints]


def _watched(constraints: Any, watched: list[Watched]) -> list[Any]:
    """Return constraints whose functions are watched."""
    from scipy.optimize import NonlinearConstraint

    def watch(function: Function) -> Watched:
        watched.append(Watched(function))
        return watched[-1]

    found = []
    for c in _each(constraints):
        if isinstance(c, dict):
            own = {k: watch(v) if k in ("fun", "jac") and callable(v) else v for k, v in c.items()}
            found.append(own | ({"args": tuple(map(plain, c["args"]))} if "args" in c else {}))
        elif isinstance(c, NonlinearConstraint):
            jac = watch(c.jac) if callable(c.jac) else c.jac
            hess = watch(c.hess) if callable(c.hess) else c.hess
            sparse = c.finite_diff_jac_sparsity
            found.append(
                NonlinearConstraint(
                    watch(c.fun), c.lb, c.ub, jac, hess, c.keep_feasible, c.finite_diff_rel_step, sparse
                )
            )
        else:
            found.append(c)
    return found


def _moves(bounds: Any, constraints: Any) -> bool:
    parts = [getattr(c, k, None) for c in [bounds, *_each(constraints)] for k in ("A", "lb", "ub")]
    return is_tracked(parts) or (isinstance(bounds, list | tuple) and is_tracked(bounds))


def _active(constraints: Any, x: np.ndarray) -> Iterator[_Active]:
    near = 1e-6
    for c in _each(constraints):
        if isinstance(c, dict):
            given = tuple(c.get("args", ()))

            def function(x: Any, fun: Function = c["fun"], given: Any = given) -> Any:
                return array(fun(x, *given)).reshape(-1)

            values = plain(function(x))
            holds = np.ones(values.shape, bool) if c["type"] == "eq" else np.abs(values) <= near
            yield _Active(function, np.flatnonzero(holds))
        else:
            inner = c.fun if hasattr(c, "fun") else (lambda x, a=c.A: np.asarray(a) @ x)
            values = plain(array(inner(x)).reshape(-1))
            for side, other in ((c.lb, None), (c.ub, c.lb)):
                bound = np.broadcast_to(side, values.shape)
                holds = np.abs(values - np.where(np.isfinite(bound), bound, np.inf)) <= near
                if other is not None:
                    holds &= np.broadcast_to(other, values.shape) != bound  # an equation holds once
                where = np.flatnonzero(holds)

                def gap(x: Any, inner: Function = inner, bound: Any = bound) -> Any:
                    return array(inner(x)).reshape(-1) - np.where(np.isfinite(bound), bound, 0.0)

                yield _Active(gap, where)


def _constrained(f: Function, active: list[_Active], x: np.ndarray, free: np.ndarray) -> Any:
    """Return the minimum: the gradient is a combination of those of the constraints that are active."""
    places = np.flatnonzero(free)
    spread = np.eye(x.size)[:, places]
    held, n = np.where(free, 0.0, x), places.size

    def gaps(x: Any) -> Any:
        return np.concatenate([a.function(x)[a.places] for a in active])

    size = sum(a.places.size for a in active)

    def lagrangian(z: Any, weights: Any) -> Any:
        at = spread @ z + held
        return array(f(at)) - (weights * gaps(at)).sum()

    def short(both: Any) -> Any:
        z, weights = both[:n], both[n:]
        return np.concatenate([grad(lagrangian)(z, weights), gaps(spread @ z + held)])

    # The multipliers are what fits best.
    slopes = np.asarray(plain(short(array(np.concatenate([x[places], np.zeros(size)])))))[:n]
    basis = [plain(grad(lambda z, i=i: gaps(spread @ z + held)[i])(array(x[places]))) for i in range(size)]
    weights = np.linalg.lstsq(np.reshape(basis, (size, n)).T, slopes, rcond=None)[0]
    found = zero_of(short, np.concatenate([x[places], weights]))
    return spread @ found[:n] + held


@holding
def _minimize_scalar(original: Function, fun: Function, bounds: Any, **options: Any) -> Any:
    found, f, tracked = solved(original, fun, {"bounds": plain(bounds), **options})
    if tracked or is_tracked([bounds]):
        near = 1e-5 * max(1.0, abs(float(found.x)))
        if bounds is not None and min(abs(float(found.x) - b) for b in map(float, plain(bounds))) < near:
            refuse("optimize.minimize_scalar", "since the minimum lies at a bound")
        found.x = zero_of(grad(f), found.x)
        found.fun = f(found.x)
    return found


RULES = {"scipy.optimize": {"minimize": _minimize, "minimize_scalar": _minimize_scalar}}
