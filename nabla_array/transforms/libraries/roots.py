"""`scipy.optimize`: roots, and what solves nonlinear least squares, by the equations that hold there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..derivatives import grad
from ..jacobians import jacfwd
from .equations import Watched, refuse, zero_of
from .operands import array, plain
from .tracking import holding, is_tracked

Function = Callable[..., Any]

# The parameters of functions, besides the first.
_FUNCTIONS = ("jac", "hess", "hessp", "fprime", "fprime2", "Dfun")


def solved(original: Function, function: Function, given: dict[str, Any]) -> tuple[Any, Function, bool]:
    """Return what SciPy finds for values, the function of one operand, and whether it is tracked.

    `given` are the arguments after the first, which is `function`.
    """
    extra = given.get("args", ())
    extra = tuple(extra) if isinstance(extra, list | tuple) else (extra,)
    named = given.get("kwargs") or {}
    watch = Watched(lambda x, *_, **__: function(x, *extra, **named))
    plainly = {k: Watched(v) if k in _FUNCTIONS and callable(v) else plain(v) for k, v in given.items()}
    if "args" in given:
        plainly["args"] = tuple(map(plain, extra))
    if named:
        plainly["kwargs"] = {k: plain(v) for k, v in named.items()}
    return original(watch, **plainly), lambda x: function(x, *extra, **named), watch.is_tracked


def forget(found: Any, *names: str) -> None:
    """Leave out of a result what would be a constant, and is none."""
    for name in names:
        found.pop(name, None)


def _flat(f: Function, with_slope: bool = False) -> Function:
    """Return a function whose lists of numbers are arrays, and which gives its value alone."""
    return lambda x: array(f(x)[0] if with_slope else f(x))


@holding
def _root(original: Function, fun: Function, jac: Any, **options: Any) -> Any:
    found, f, tracked = solved(original, fun, {"jac": jac, **options})
    if tracked and not found.success:
        refuse("optimize.root", "since no root is found")
    if tracked:
        found.x = zero_of(_flat(f, jac is True), found.x)
        forget(found, "fjac", "r", "qtf", "jac")
    return found


@holding
def _root_scalar(original: Function, f: Function, fprime: Any, fprime2: Any, **options: Any) -> Any:
    found, g, tracked = solved(original, f, {"fprime": fprime, "fprime2": fprime2, **options})
    if tracked:
        found.root = zero_of(_flat(g, fprime is True or fprime2 is True), found.root)
    return found


def _bracketed(first: str) -> Function:
    """Return the rule of `brentq`, `fsolve` and their kin, which return the root, alone or first."""

    def rule(original: Function, **options: Any) -> Any:
        found, f, tracked = solved(original, options.pop(first), options)
        if not tracked:
            return found
        whole = isinstance(found, tuple)
        x = zero_of(_flat(f), found[0] if whole else found)
        if not whole:
            return x
        if hasattr(found[1], "root"):
            found[1].root = x
        else:  # of fsolve
            forget(found[1], "fjac", "r", "qtf")
        return (x, *found[1:])

    return holding(rule)


@holding
def _fixed_point(original: Function, func: Function, **options: Any) -> Any:
    found, f, tracked = solved(original, func, options)
    return zero_of(lambda x: array(f(x)) - x, found) if tracked else found


# -- least squares -------------------------------------------------------------------------------------


def _half_squares(f: Function) -> Function:
    return lambda x: 0.5 * (array(f(x)) ** 2).sum()


@holding
def _least_squares(original: Function, fun: Function, bounds: Any, loss: Any, **options: Any) -> Any:
    found, f, tracked = solved(original, fun, {**options, "bounds": bounds, "loss": loss})
    if tracked or is_tracked(bounds):
        if loss != "linear" or is_tracked(bounds):
            refuse("optimize.least_squares", "by `bounds`, or with another loss than 'linear'")
        found.x = lowest(_half_squares(f), found.x, found.active_mask == 0)
        found.fun = array(f(found.x))
        found.cost = 0.5 * (found.fun**2).sum()
        found.jac = jacfwd(_flat(f))(found.x)
        found.grad = found.jac.T @ found.fun
        forget(found, "optimality")
    return found


@holding
def _leastsq(original: Function, func: Function, full_output: Any, **options: Any) -> Any:
    found, f, tracked = solved(original, func, {**options, "full_output": full_output})
    if tracked and full_output:
        refuse("optimize.leastsq", "with full_output; without, it is")
    return (zero_of(grad(_half_squares(f)), found[0]), *found[1:]) if tracked else found


@holding
def _curve_fit(
    original: Function, f: Function, xdata: Any, ydata: Any, sigma: Any, absolute_sigma: Any, bounds: Any,
    jac: Any, full_output: Any, nan_policy: Any, **options: Any,
) -> Any:  # fmt: skip
    watch = Watched(f)
    found = original(
        watch, plain(xdata), plain(ydata), sigma=plain(sigma), absolute_sigma=absolute_sigma,
        bounds=plain(bounds), jac=Watched(jac) if callable(jac) else jac, full_output=full_output,
        nan_policy=nan_policy, **{k: plain(v) for k, v in options.items()},
    )  # fmt: skip
    if not (watch.is_tracked or is_tracked([xdata, ydata, sigma]) or is_tracked(bounds)):
        return found
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    inside = not is_tracked([low, high]) and np.all((found[0] > low) & (found[0] < high))
    if full_output or nan_policy not in (None, "raise") or not inside or np.ndim(plain(sigma)) > 1:
        refuse("optimize.curve_fit", "by bounds, at them, or with full_output, nan_policy or a matrix sigma")
    scale = 1.0 if sigma is None else array(sigma)

    def residuals(p: Any) -> Any:
        return (f(xdata, *p) - array(ydata)) / scale

    p = zero_of(grad(_half_squares(residuals)), found[0])
    slopes = jacfwd(residuals)(p)
    spread = np.linalg.inv(slopes.T @ slopes)
    if not absolute_sigma:
        spread = spread * (residuals(p) ** 2).sum() / (slopes.shape[0] - slopes.shape[1])
    return p, spread


# -- minima, as equations ------------------------------------------------------------------------------


def lowest(f: Function, x: Any, free: np.ndarray) -> Any:
    """Return the minimum of `f`, which is known to be `x`; what is not free does not move."""
    x = np.asarray(x, float)
    if free.all():
        return zero_of(grad(f), x)
    places = np.flatnonzero(free)
    spread = np.eye(x.size)[:, places]
    held = np.where(free, 0.0, x)
    return spread @ zero_of(grad(lambda z: f(spread @ z + held)), x[places]) + held


RULES = {
    "scipy.optimize": {
        "root": _root,
        "root_scalar": _root_scalar,
        **dict.fromkeys(("brentq", "brenth", "ridder", "bisect", "toms748"), _bracketed("f")),
        "fsolve": _bracketed("func"),
        "fixed_point": _fixed_point,
        "least_squares": _least_squares,
        "leastsq": _leastsq,
        "curve_fit": _curve_fit,
    }
}
