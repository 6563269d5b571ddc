"""`scipy.optimize`: linear problems, whose solution is where a known set of constraints holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._namespace.core.array import Array
from .operands import array, plain
from .roots import forget
from .tracking import is_tracked


def _fitted(a: Any, b: Any, x: np.ndarray, free: np.ndarray) -> Any:
    """Return the least squares' solution, of which the coordinates that are not free do not move."""
    places = np.flatnonzero(free)
    held = np.where(free, 0.0, x)
    some = a[:, places]
    found = np.linalg.solve(some.T @ some, some.T @ (b - a @ held))
    return np.eye(x.size)[:, places] @ found + held


def _nnls(original: Any, A: Any, b: Any, **options: Any) -> Any:
    x, _ = original(plain(A), plain(b), **options)
    found = _fitted(array(A), array(b), x, x > 0)
    rest = array(A) @ found - array(b)
    return found, np.sqrt((rest * rest).sum())


def _lsq_linear(original: Any, A: Any, b: Any, **options: Any) -> Any:
    if not isinstance(A, Array | np.ndarray) or is_tracked([*options.values()]):
        return NotImplemented
    found = original(plain(A), plain(b), **options)
    found.x = _fitted(array(A), array(b), found.x, found.active_mask == 0)
    found.fun = array(A) @ found.x - array(b)
    found.cost = 0.5 * (found.fun**2).sum()
    forget(found, "unbounded_sol", "optimality")
    return found


def _linprog(original: Any, **options: Any) -> Any:
    """The solution is where as many constraints and bounds hold as there are unknowns."""
    found = original(**{k: plain(v) for k, v in options.items()})
    if not found.success or is_tracked([options["bounds"]]) or np.any(options["integrality"] or 0):
        return NotImplemented
    n = found.x.size
    rows: list[Any] = []
    sides: list[Any] = []
    for name, slack in (("ub", found.slack), ("eq", found.con)):
        if options[f"A_{name}"] is not None:
            holds = np.flatnonzero(np.abs(slack) < 1e-9)
            rows.append(array(options[f"A_{name}"])[holds])
            sides.append(array(options[f"b_{name}"])[holds])
    for marginals in (found.lower, found.upper):
        holds = np.flatnonzero(marginals.residual < 1e-9)
        rows.append(np.eye(n)[holds])
        sides.append(found.x[holds])
    a, b = np.concatenate(rows), np.concatenate(sides)
    if a.shape[0] != n or np.linalg.matrix_rank(plain(a)) < n:
        return NotImplemented
    found.x = np.linalg.solve(a, b)
    found.fun = array(options["c"]) @ found.x
    forget(found, "slack", "con", "lower", "upper", "ineqlin", "eqlin")
    return found


def _milp(original: Any, c: Any, integrality: Any, **options: Any) -> Any:
    """The solution stays where it is while the costs move a little, if all unknowns are integers."""
    if is_tracked([*options.values()]) or integrality is None or not np.all(integrality):
        return NotImplemented
    found = original(plain(c), integrality=integrality, **options)
    if found.success:
        found.x = 0 * array(c) + found.x
        found.fun = array(c) @ found.x
        forget(found, "mip_dual_bound", "mip_gap")
    return found


def _linear_sum_assignment(original: Any, args: Any = (), **options: Any) -> Any:
    """The places of the assignment are integers. Before SciPy 1.18 no signature names the arguments."""
    return original(*map(plain, args), **{k: plain(v) for k, v in options.items()})


RULES = {
    "scipy.optimize": {
        "nnls": _nnls,
        "lsq_linear": _lsq_linear,
        "linprog": _linprog,
        "milp": _milp,
        "linear_sum_assignment": _linear_sum_assignment,
    }
}
