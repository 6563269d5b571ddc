"""Derivatives by central differences, and loops over examples: what transforms are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[[Any], Any]


def difference(f: Function, x: np.ndarray, v: Any, h: float) -> Any:
    """Return the derivative along v, by central differences of sixth order."""
    a, b, c = ((f(x + k * h * v) - f(x - k * h * v)) / (2 * k * h) for k in (1, 2, 3))
    return (15 * a - 6 * b + c) / 10


def jacobian(f: Function, x: np.ndarray, h: float) -> np.ndarray:
    """Return the derivatives by every element of x, whose axes come last."""
    columns = []
    for i in range(x.size):
        unit = np.zeros(x.size, x.dtype)
        unit[i] = 1
        columns.append(difference(f, x, unit.reshape(x.shape), h))
    return np.stack(columns, axis=-1).reshape(*np.shape(columns[0]), *x.shape)


def each(f: Function, x: np.ndarray, in_axis: int = 0, out_axis: int = 0) -> np.ndarray:
    """Return what f gives for each example of x."""
    return np.stack([f(row.copy()) for row in np.moveaxis(x, in_axis, 0)], axis=out_axis)
