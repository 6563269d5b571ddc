"""What functions do beside computing, under transforms: printing, and calls of one's own."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from .callbacks import effect

__all__ = ["callback", "print"]


def callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call a function of NumPy arrays here and now, for every example.

    Parameters
    ----------
    callback : callable
        Gets arrays as NumPy's, everything else as it is; what it returns is dropped. Under `vmap` it is
        called for one example after the other, once for each.
    *args, **kwargs
        Its arguments.
    ordered : bool
        Taken for JAX's sake: calls are in order always.

    Raises
    ------
    TypeError
        In a function that must be written down (`trace`, `compile` with `fullgraph`).

    Notes
    -----
    A compiled function that does so runs as if it were not compiled, and a loop runs in Python.

    >>> from nabla_array.transforms import debug, grad, vmap
    >>> seen = []
    >>> def f(x):
    ...     debug.callback(lambda v: seen.append(float(v)), x)
    ...     return x**2
    >>> vmap(grad(f))(xp.asarray([1.0, 2.0]))
    array([2., 4.])
    >>> seen
    [1.0, 2.0]
    """
    del ordered
    effect("debug.callback", callback, args, kwargs)


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print values here and now, for every example; see `callback`.

    Parameters
    ----------
    fmt : str
        As for `str.format`.
    *args, **kwargs
        The values.
    ordered : bool
        Taken for JAX's sake: lines are in order always.

    Raises
    ------
    TypeError
        In a function that must be written down (`trace`, `compile` with `fullgraph`).

    >>> from nabla_array.transforms import debug, fori_loop
    >>> def step(i, x):
    ...     debug.print("step {i}: {x:.2f}", i=i, x=x)
    ...     return x / 2
    >>> fori_loop(0, 2, step, 1.0)
    step 0: 1.00
    step 1: 0.50
    np.float64(0.25)
    """
    del ordered

    def show(*args: Any, **kwargs: Any) -> None:
        some, named = [_shown(x) for x in args], {k: _shown(x) for k, x in kwargs.items()}
        builtins.print(fmt.format(*some, **named))

    effect("debug.print", show, args, kwargs)


def _shown(x: Any) -> Any:
    return x[()] if getattr(x, "shape", None) == () else x  # a number, not an array
