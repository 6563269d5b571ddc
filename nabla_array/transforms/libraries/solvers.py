"""`scipy.optimize`: SciPy finds the solution, and its derivative is that of the equations that hold there."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._namespace.core.array import Array
from ..derivatives import grad
from ..implicit import custom_root
from ..jacobians import jacfwd
from .operands import array, plain
from .tracking import is_tracked

Function = Callable[..., Any]


class Watched:
    """A function that another library calls: it gets values, and we learn whether they are differentiated."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self.is_tracked = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self._function(*args, **kwargs)
        self.is_tracked |= is_tracked(found)
        return plain(found)


def zero_of(f: Function, x: Any) -> Any:
    """Return where `f` is zero, which is known to be `x`, as a function of what `f` captures."""
    return custom_root(f, np.asarray(x, float), lambda f, x: x, _tangent)


def _tangent(g: Function, y: Any) -> Any:
    """Solve a linear system by its matrix; column by column, since the `vmap` around may have ended."""
    if not y.ndim:
        return y / g(np.ones_like(y))
    basis = np.eye(y.size).reshape(y.size, *y.shape)
    columns = [array(g(array(e))).reshape(-1) for e in basis]
    return np.linalg.solve(np.stack(columns, axis=-1), y.reshape(-1)).reshape(y.shape)


def _bound(original: Function, args: Any, kwargs: Any) -> inspect.BoundArguments:
    found = inspect.signature(original).bind(*args, **kwargs)
    found.apply_defaults()
    return found


def _extra(args: Any) -> tuple[Any, ...]:
    return tuple(args) if isinstance(args, list | tuple) else (args,)


# The parameters of functions, besides the first.
_FUNCTIONS = ("jac", "hess", "hessp", "fprime", "fprime2", "Dfun", "callback")


def _solved(original: Function, given: inspect.BoundArguments) -> tuple[Any, Function, bool]:
    """Return what SciPy finds for values, the function as a function of one operand, and if it is tracked."""
    values = given.arguments
    first = next(iter(values))
    extra = _extra(values.get("args", ()))
    named = values.get("kwargs") or {}
    function = values[first]
    watch = Watched(lambda x, *_, **__: function(x, *extra, **named))
    plainly = {k: Watched(v) if k in _FUNCTIONS and callable(v) else plain(v) for k, v in values.items()}
    plainly[first] = watch
    if "args" in values:
        plainly["args"] = tuple(map(plain, extra))
    found = original(**plainly)
    return found, lambda x: function(x, *extra, **named), watch.is_tracked


def _flat(f: Function) -> Function:
    """Return a function whose lists of numbers are arrays."""
    return lambda x: array(f(x))


def _root(original: Function, *args: Any, **kwargs: Any) -> Any:
    given = _bound(original, args, kwargs)
    found, f, tracked = _solved(original, given)
    if tracked and found.success:
        found.x = zero_of(_flat(f), found.x)
        _forget(found, "fjac", "r", "qtf", "jac")
    elif tracked:
        return NotImplemented
    return found


def _root_scalar(original: Function, *args: Any, **kwargs: Any) -> Any:
    given = _bound(original, args, kwargs)
    if given.arguments["fprime"] is True:
        return NotImplemented
    found, f, tracked = _solved(original, given)
    if tracked:
        found.root = zero_of(_flat(f), found.root)
    return found


def _bracketed(original: Function, *args: Any, **kwargs: Any) -> Any:
    """Of `brentq`, `fsolve` and their kin, which return the root, alone or first."""
    given = _bound(original, args, kwargs)
    if original.__name__ == "fsolve" and given.arguments["full_output"]:
        return NotImplemented
    found, f, tracked = _solved(original, given)
    if not tracked:
        return found
    whole = isinstance(found, tuple)
    x = zero_of(_flat(f), found[0] if whole else found)
    if whole and hasattr(found[1], "root"):
        found[1].root = x
    return (x, *found[1:]) if whole else x


def _forget(found: Any, *names: str) -> None:
    """Leave out of a result what would be a constant, and is none."""
    for name in names:
        found.pop(name, None)


def _fixed_point(original: Function, *args: Any, **kwargs: Any) -> Any:
    found, f, tracked = _solved(original, _bound(original, args, kwargs))
    return zero_of(lambda x: array(f(x)) - x, found) if tracked else found


# -- minima --------------------------------------------------------------------------------------------


def _lowest(f: Function, x: Any, free: np.ndarray) -> Any:
    """Return the minimum of `f`, which is known to be `x`; what is not free does not move."""
    x = np.asarray(x, float)
    if free.all():
        return zero_of(grad(f), x)
    places = np.flatnonzero(free)
    spread = np.eye(x.size)[:, places]
    found = zero_of(grad(lambda z: f(spread @ z + np.where(free, 0.0, x))), x[places])
    return spread @ found + np.where(free, 0.0, x)


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


def _minimize(original: Function, *args: Any, **kwargs: Any) -> Any:
    given = _bound(original, args, kwargs)
    values = given.arguments
    if values["constraints"]:
        return NotImplemented
    with_slope = values["jac"] is True
    if with_slope:
        both, values["jac"] = values[next(iter(values))], None
        values["fun"] = lambda *a: both(*a)[0]
    found, f, tracked = _solved(original, given)
    if tracked:
        found.x = _lowest(f, found.x, _free(found.x, plain(values["bounds"])))
        found.fun = f(found.x)
        _forget(found, "hess", "hess_inv", "final_simplex", "direc")
    return found


def _minimize_scalar(original: Function, *args: Any, **kwargs: Any) -> Any:
    given = _bound(original, args, kwargs)
    found, f, tracked = _solved(original, given)
    if tracked:
        bounds = given.arguments["bounds"]
        near = 1e-5 * max(1.0, abs(float(found.x)))
        if bounds is not None and min(abs(float(found.x) - b) for b in map(float, bounds)) < near:
            return NotImplemented
        found.x = zero_of(grad(f), found.x)
        found.fun = f(found.x)
    return found


def _half_squares(f: Function) -> Function:
    return lambda x: 0.5 * (array(f(x)) ** 2).sum()


def _least_squares(original: Function, *args: Any, **kwargs: Any) -> Any:
    given = _bound(original, args, kwargs)
    if given.arguments["loss"] != "linear":
        return NotImplemented
    found, f, tracked = _solved(original, given)
    if tracked:
        found.x = _lowest(_half_squares(f), found.x, found.active_mask == 0)
        found.fun = array(f(found.x))
        found.cost = 0.5 * (found.fun**2).sum()
        found.jac = jacfwd(_flat(f))(found.x)
    return found


def _leastsq(original: Function, *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("full_output"):
        return NotImplemented
    found, f, tracked = _solved(original, _bound(original, args, kwargs))
    return (zero_of(grad(_half_squares(f)), found[0]), *found[1:]) if tracked else found


def _curve_fit(original: Function, *args: Any, **kwargs: Any) -> Any:
    given = _bound(original, args, kwargs)
    values = given.arguments
    if values["full_output"]:
        return NotImplemented
    f, x, y, sigma = (values[k] for k in ("f", "xdata", "ydata", "sigma"))
    watch = Watched(f)
    plainly = {k: watch if k == "f" else plain(v) for k, v in values.items() if k != "kwargs"}
    found = original(**plainly, **values.get("kwargs", {}))
    if not (watch.is_tracked or is_tracked([x, y, sigma])):
        return found
    if sigma is not None and array(sigma).ndim > 1:
        return NotImplemented
    scale = 1.0 if sigma is None else array(sigma)

    def residuals(p: Any) -> Any:
        return (f(x, *p) - array(y)) / scale

    low, high = values["bounds"] if isinstance(values["bounds"], tuple) else (-np.inf, np.inf)
    if not np.all((found[0] > low) & (found[0] < high)):
        return NotImplemented
    p = zero_of(grad(_half_squares(residuals)), found[0])
    slopes = jacfwd(residuals)(p)
    spread = np.linalg.inv(slopes.T @ slopes)
    if not values["absolute_sigma"]:
        spread = spread * (residuals(p) ** 2).sum() / (slopes.shape[0] - slopes.shape[1])
    return (p, spread, *found[2:])


# -- linear problems -----------------------------------------------------------------------------------


def _fitted(a: Any, b: Any, x: np.ndarray, free: np.ndarray) -> Any:
    """Return the least squares' solution, of which the coordinates that are not free do not move."""
    places = np.flatnonzero(free)
    held = np.where(free, 0.0, x)
    some = a[:, places]
    found = np.linalg.solve(some.T @ some, some.T @ (b - a @ held))
    return np.eye(x.size)[:, places] @ found + held


def _nnls(original: Function, A: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    x, _ = original(plain(A), plain(b), *args, **kwargs)
    found = _fitted(array(A), array(b), x, x > 0)
    rest = array(A) @ found - array(b)
    return found, np.sqrt((rest * rest).sum())


def _lsq_linear(original: Function, A: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(A, Array | np.ndarray) or is_tracked([*args, *kwargs.values()]):
        return NotImplemented
    found = original(plain(A), plain(b), *args, **kwargs)
    found.x = _fitted(array(A), array(b), found.x, found.active_mask == 0)
    found.fun = array(A) @ found.x - array(b)
    found.cost = 0.5 * (found.fun**2).sum()
    return found


def _linprog(original: Function, *args: Any, **kwargs: Any) -> Any:
    """The solution is where as many constraints and bounds hold as there are unknowns."""
    given = _bound(original, args, kwargs)
    values = given.arguments
    found = original(**{k: plain(v) for k, v in values.items()})
    if not found.success or is_tracked(values["bounds"]):
        return NotImplemented
    n = found.x.size
    rows: list[Any] = []
    sides: list[Any] = []
    for name, slack in (("ub", found.slack), ("eq", found.con)):
        if values[f"A_{name}"] is not None:
            holds = np.flatnonzero(np.abs(slack) < 1e-9)
            rows.append(array(values[f"A_{name}"])[holds])
            sides.append(array(values[f"b_{name}"])[holds])
    for marginals in (found.lower, found.upper):
        holds = np.flatnonzero(marginals.residual < 1e-9)
        rows.append(np.eye(n)[holds])
        sides.append(found.x[holds])
    a, b = np.concatenate(rows), np.concatenate(sides)
    if a.shape[0] != n or np.linalg.matrix_rank(plain(a)) < n:
        return NotImplemented
    found.x = np.linalg.solve(a, b)
    found.fun = array(values["c"]) @ found.x
    _forget(found, "slack", "con", "lower", "upper", "ineqlin", "eqlin")
    return found


def _milp(original: Function, c: Any, **kwargs: Any) -> Any:
    """The solution stays where it is while the costs move a little, if all unknowns are integers."""
    if is_tracked([*kwargs.values()]) or not np.all(kwargs.get("integrality", 0)):
        return NotImplemented
    found = original(plain(c), **kwargs)
    if found.success:
        found.x = 0 * array(c) + found.x
        found.fun = array(c) @ found.x
    return found


def _linear_sum_assignment(original: Function, cost_matrix: Any, *args: Any, **kwargs: Any) -> Any:
    return original(plain(cost_matrix), *args, **kwargs)


RULES = {
    "root": _root,
    "root_scalar": _root_scalar,
    **dict.fromkeys(("brentq", "brenth", "ridder", "bisect", "toms748", "fsolve"), _bracketed),
    "fixed_point": _fixed_point,
    "minimize": _minimize,
    "minimize_scalar": _minimize_scalar,
    "least_squares": _least_squares,
    "leastsq": _leastsq,
    "curve_fit": _curve_fit,
    "nnls": _nnls,
    "lsq_linear": _lsq_linear,
    "linprog": _linprog,
    "milp": _milp,
    "linear_sum_assignment": _linear_sum_assignment,
}
