"""Fourier transforms of long vectors that threads share, in four steps.

The points are the rows of a matrix, one after the other. Its columns are transformed, the elements are
turned by their share of the circle, the rows are transformed, and the result is read by columns (Bailey,
"FFTs in external or hierarchical memory", Journal of Supercomputing 4, 1990). Threads take a few columns at
a time, and then a few rows, so that what they transform stays in the cache.

Of real numbers half of the rows are transformed: the others are their mirror images.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

# Points from which that is worth the copies.
LONG = 750_000
# Rows and columns that are transformed at once.
_MANY = 32
# How many times as long the matrix may be as it is wide.
_LONGEST = 32

Norm = Literal["backward", "ortho", "forward"]
Each = Callable[[Callable[[Any], Any], list[Any]], list[Any]]


def transformed(x: np.ndarray, n: int, norm: Norm, each: Each, inverse: bool) -> np.ndarray | None:
    """Transform a vector to `n` complex numbers; None where `n` has no factors for it."""
    rows = _rows(n)
    if rows is None:
        return None
    x = _fitted(x, n)
    if x.dtype.kind == "f" and not inverse:
        return _from_real(x, rows, n // rows, n, norm, each)
    dtype = np.result_type(x.dtype, np.complex64)
    columns = n // rows
    x, out = x.reshape(rows, columns), np.empty((columns, rows), dtype)
    change = partial(np.fft.ifft if inverse else np.fft.fft, axis=0, norm=norm)

    def first(some: slice) -> None:
        part = x[:, some].astype(dtype)
        change(part, out=part)
        part *= _turns(n, rows, some, inverse, dtype)
        out[some] = part.T

    def second(some: slice) -> None:
        part = out[:, some].copy()
        out[:, some] = change(part, out=part)

    each(first, _parts(columns))
    each(second, _parts(rows))
    return out.reshape(n)


def half_transformed(x: np.ndarray, n: int, norm: Norm, each: Each) -> np.ndarray | None:
    """Transform a vector of real numbers to the first half of its `n` points, with the middle one."""
    rows = _rows(n)
    return None if rows is None else _from_real(_fitted(x, n), rows, n // rows, n // 2 + 1, norm, each)


def _from_real(x: np.ndarray, rows: int, columns: int, wanted: int, norm: Norm, each: Each) -> np.ndarray:
    """Transform real numbers to so many points, from the first one on."""
    n, half = rows * columns, rows // 2 + 1
    dtype = np.result_type(x.dtype, np.complex64)
    matrix, turned = x.reshape(rows, columns), np.empty((columns, half), dtype)
    out = np.empty((-(-wanted // rows), rows), dtype)

    def first(some: slice) -> None:
        part = np.fft.rfft(matrix[:, some].copy(), axis=0, norm=norm)
        part *= _turns(n, half, some, False, dtype)
        turned[some] = part.T

    def second(some: slice) -> None:
        part = turned[:, some].copy()
        np.fft.fft(part, axis=0, norm=norm, out=part)
        out[:, some] = part[: len(out)]
        # Point n - k is the mirror image of point k, and that of row rows - i of row i.
        start, stop = max(some.start, 1), min(some.stop, (rows + 1) // 2)
        if start < stop:
            image = part[::-1, start - some.start : stop - some.start][: len(out), ::-1]
            np.conjugate(image, out=out[:, rows - stop + 1 : rows - start + 1])

    each(first, _parts(columns))
    each(second, _parts(half))
    return out.reshape(-1)[:wanted]


def whole_again(x: np.ndarray, n: int, norm: Norm, each: Each) -> np.ndarray | None:
    """Transform half of a spectrum back to `n` real numbers; None where `n` has no even factors for it."""
    rows = _rows(n, even=True)
    if rows is None:
        return None
    x, columns, half = _fitted(x, n // 2 + 1), n // rows, rows // 2 + 1
    spectrum, middle = x[:-1].reshape(columns // 2, rows), x[-1]
    turned = np.empty((half, columns), x.dtype)
    out = np.empty((rows, columns), x.real.dtype)

    def first(some: slice) -> None:
        part = np.empty((columns, some.stop - some.start), x.dtype)
        part[: columns // 2] = spectrum[:, some]
        start = max(some.start, 1)
        image = spectrum[::-1, rows - some.stop + 1 : rows - start + 1]
        np.conjugate(image[:, ::-1], out=part[columns // 2 :, start - some.start :])
        if some.start == 0:  # it is its own mirror image
            part[0, 0], part[columns // 2, 0] = part[0, 0].real, middle.real
            np.conjugate(spectrum[:0:-1, 0], out=part[columns // 2 + 1 :, 0])
        np.fft.ifft(part, axis=0, norm=norm, out=part)
        part *= _turns(n, columns, some, True, x.dtype)
        turned[some] = part.T

    def second(some: slice) -> None:
        out[:, some] = np.fft.irfft(turned[:, some].copy(), rows, axis=0, norm=norm)

    each(first, _parts(half))
    each(second, _parts(columns))
    return out.reshape(n)


def _rows(n: int, even: bool = False) -> int | None:
    """Return how many rows n points are: about as many as columns; None where they would be too few."""
    unit = 2 if even else 1
    if n < LONG or n % unit**2:
        return None
    rest = n // unit**2
    first = math.isqrt(rest)
    while rest % first:
        first -= 1
    return unit * first if first * first * _LONGEST >= rest else None


def _fitted(x: np.ndarray, n: int) -> np.ndarray:
    """Return a vector cut, or padded with zeros, to `n` points."""
    x = x.reshape(-1)
    if x.size >= n:
        return x[:n]
    whole = np.zeros(n, x.dtype)
    whole[: x.size] = x
    return whole


def _parts(n: int) -> list[slice]:
    return [slice(k, min(k + _MANY, n)) for k in range(0, n, _MANY)]


def _turns(n: int, many: int, some: slice, inverse: bool, dtype: np.dtype) -> np.ndarray:
    """Return by how much the first elements of some lines are turned: place times place n-th parts.

    They are the products of those for each s-th element and those of the s elements from there on.
    """
    step = math.isqrt(many)
    number = np.arange(some.start, some.stop)
    far, near = [
        _on_circle(n, k[:, None] * number, inverse) for k in (np.arange(0, many, step), np.arange(step))
    ]
    return (far[:, None] * near).reshape(-1, number.size)[:many].astype(dtype, copy=False)


def _on_circle(n: int, parts: np.ndarray, inverse: bool) -> np.ndarray:
    """Return exp of so many n-th parts of the circle; those of half of it at most make for small errors."""
    parts = parts % n
    parts -= n * (2 * parts > n)
    angle = parts * ((2 if inverse else -2) * math.pi / n)
    found = np.empty(angle.shape, np.complex128)
    np.cos(angle, out=found.real)
    np.sin(angle, out=found.imag)
    return found
