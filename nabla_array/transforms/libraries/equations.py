"""What rules for solvers have in common: functions that are watched, derivatives by equations that hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, NoReturn

import numpy as np

from ..._lazy.graph.tape import derivatives, hidden
from ..implicit import custom_linear_solve, custom_root
from .operands import Function, array, mapped, plain
from .tracking import is_tracked

# ``solve(y, transposed)`` undoes a linear function, or its transpose, for an array of NumPy's.
Solve = Callable[[np.ndarray, bool], Any]


class Watched:
    """A function that another library calls: it gets values, and we learn whether they are differentiated."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)  # SciPy may ask for its parameters
        self._function = function
        self.is_tracked = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with hidden(derivatives() if self.is_tracked else ()):  # from then on, values are all that matters
            found = self._function(*args, **kwargs)
            self.is_tracked = self.is_tracked or is_tracked(found)
            return plain(found)


def refuse(function: str, what: str) -> NoReturn:
    raise TypeError(
        f"scipy.{function}: a value that is being differentiated leaves for NumPy (or C), where no "
        f"derivative follows it, {what}"
    )


def undone(g: Callable[[Any], Any], y: Any, solve: Solve) -> Any:
    """Return x for which ``g(x)``, which is linear, is `y`."""
    shape = y.shape

    def of_rows(transposed: bool) -> Function:
        def forward(v: np.ndarray) -> np.ndarray:
            rows = v.reshape(-1, v.shape[-1])
            found = [np.asarray(solve(row.reshape(shape), transposed)).ravel() for row in rows]
            return np.stack(found).reshape(v.shape)

        return forward

    def way(transposed: bool) -> Callable[[Any, Any], Any]:
        there, back = of_rows(transposed), of_rows(not transposed)
        return lambda _, y: mapped(there, y.reshape(-1), -1, back).reshape(shape)

    return custom_linear_solve(g, y, way(False), way(True))


def zero_of(f: Callable[[Any], Any], x: Any, solve: Solve | None = None) -> Any:
    """Return where `f` is zero, which is known to be `x`, as a function of what `f` captures.

    `solve` undoes the derivative of `f` at `x`. Without it, that is computed as a matrix.
    """
    x = np.asarray(x)
    x = x if x.dtype.kind in "fc" else x.astype(float)
    tangent = _tangent if solve is None else lambda g, y: undone(g, y, solve)
    return custom_root(f, x, lambda f, x: x, tangent)


def _tangent(g: Callable[[Any], Any], y: Any) -> Any:
    """Solve a linear system by its matrix; column by column, since the `vmap` around may have ended."""
    if not y.ndim:
        return y / g(np.ones_like(y))
    basis = np.eye(y.size, dtype=y.dtype).reshape(y.size, *y.shape)
    columns = [array(g(array(e))).reshape(-1) for e in basis]
    return np.linalg.solve(np.stack(columns, axis=-1), y.reshape(-1)).reshape(y.shape)
