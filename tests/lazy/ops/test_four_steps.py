"""Fourier transforms in four steps: sizes of all kinds, norms and dtypes against NumPy's, and threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.ops import four_steps

from ..registry import random

NORMS: tuple[four_steps.Norm, ...] = ("backward", "ortho", "forward")
# Even and odd factors, of equal and of unequal lengths; short parts, and none that is whole.
SIZES = (4, 16, 36, 64 * 64, 30 * 34, 33 * 35, 40 * 96, 66 * 98, 67 * 101)


@pytest.fixture(autouse=True)
def of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(four_steps, "LONG", 1)


def in_turn(function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    return [function(item) for item in items]


def assert_close(got: np.ndarray | None, wanted: np.ndarray) -> None:
    """Compare with a transform that rounds in another order: errors are those of the norm of the vector."""
    assert got is not None
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    assert np.linalg.norm(got - wanted) <= 8 * np.finfo(got.dtype).eps * np.linalg.norm(wanted)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("char", "dDfF")
def test_complex_results(char: str, n: int, norm: four_steps.Norm) -> None:
    x = random(char, n)
    assert_close(four_steps.transformed(x, n, norm, in_turn, inverse=False), np.fft.fft(x, norm=norm))
    wide = x.astype(np.result_type(char, np.complex64))  # NumPy computes some of single in double precision
    assert_close(four_steps.transformed(x, n, norm, in_turn, inverse=True), np.fft.ifft(wide, norm=norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("char", "df")
def test_half_of_the_points(char: str, n: int, norm: four_steps.Norm) -> None:
    x = random(char, n)
    half = np.fft.rfft(x, norm=norm)
    assert_close(four_steps.half_transformed(x, n, norm, in_turn), half)
    back = four_steps.whole_again(half, n, norm, in_turn)
    if back is None:
        assert n % 4
    else:
        assert_close(back, np.fft.irfft(half, n, norm=norm))


def test_imaginary_parts_that_mean_nothing_are_passed_over() -> None:
    """Those of the first point, and of the middle one."""
    half = random("D", 65)
    assert_close(four_steps.whole_again(half, 128, "backward", in_turn), np.fft.irfft(half, 128))


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_axes_are_cut_or_padded(given_points: int, n: int) -> None:
    x = random("D", given_points)
    got = four_steps.transformed(x, n, "backward", in_turn, inverse=False)
    if got is not None:
        assert_close(got, np.fft.fft(x, n))
    got = four_steps.half_transformed(x.real.copy(), n, "backward", in_turn)
    if got is not None:
        assert_close(got, np.fft.rfft(x.real, n))
    got = four_steps.whole_again(x, n, "backward", in_turn)
    if got is not None:
        assert_close(got, np.fft.irfft(x, n))


@pytest.mark.parametrize("n", [97, 2 * 97, 4 * 1009])
def test_lengths_without_factors_are_left(n: int) -> None:
    x = random("D", n)
    assert four_steps.transformed(x, n, "backward", in_turn, inverse=False) is None
    assert four_steps.half_transformed(x.real, n, "backward", in_turn) is None
    assert four_steps.whole_again(x, n, "backward", in_turn) is None


@pytest.mark.parametrize("shape", [(-1,), (1, -1), (1, -1, 1)], ids=str)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_long_vectors_are_transformed_by_threads(name: str, shape: tuple[int, ...]) -> None:
    n = 1 << 18
    kind = "d" if name in ("rfft", "ihfft") else "D"
    x = random(kind, n).reshape(shape)
    axis = shape.index(-1)
    with xp.config(threads=3):
        got = getattr(xp.fft, name)(xp.asarray(x) * 1, axis=axis)
        assert_close(np.asarray(got), getattr(np.fft, name)(x, axis=axis))


def test_no_element_of_the_operand_changes() -> None:
    x = random("D", 1 << 18)
    y = xp.asarray(x)
    np.asarray(xp.fft.fft(y)), np.asarray(xp.fft.ifft(y)), np.asarray(xp.fft.irfft(y))
    assert np.array_equal(y, x)


def test_infinite_elements_are_nan_everywhere() -> None:
    x = random("d", 1 << 12)
    x[5] = np.inf
    with np.errstate(invalid="ignore"):
        got = four_steps.half_transformed(x, x.size, "backward", in_turn)
    assert got is not None
    assert not np.isfinite(got).any()
