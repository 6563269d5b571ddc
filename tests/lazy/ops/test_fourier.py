"""Fourier transforms: all sizes and norms against NumPy's, and the matrices of their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph.node import leaf
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.ops.fourier import fft, irfft, rfft
from nabla_array._lazy.run.evaluator import value_of

from ..execution import assert_same
from ..registry import avals, random
from ..rules.test_autodiff import pulled

NORMS = ("backward", "ortho", "forward")
TRANSFORMS: list[tuple[Primitive, dict[str, Any], str, Any]] = [
    (fft, {"inverse": False}, "D", np.fft.fft),
    (fft, {"inverse": True}, "D", np.fft.ifft),
    (rfft, {}, "d", np.fft.rfft),
    (irfft, {}, "D", np.fft.irfft),
]
each = pytest.mark.parametrize(
    ("prim", "more", "char", "numpys"), TRANSFORMS, ids=lambda x: getattr(x, "__name__", str(x))
)


@each
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9])
def test_any_size_and_norm(
    prim: Primitive, more: dict[str, Any], char: str, numpys: Any, norm: str, n: int
) -> None:
    x = random(char, 2, 5, 3)
    params = {"n": n, "axis": 1, "norm": norm, **more}
    out = prim.host(x, **params)
    assert_same(out, numpys(x, n, 1, norm))
    aval = prim.aval(leaf(x).aval, **params)
    assert (aval.shape, aval.dtype) == (out.shape, out.dtype)


@each
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_the_transpose_is_that_of_the_matrix(
    prim: Primitive, more: dict[str, Any], char: str, numpys: Any, norm: str, n: int
) -> None:
    """Of the real matrix where parts count alone: cotangents pair as the real part of a product."""
    x = random(char, 4)
    params = {"n": n, "axis": 0, "norm": norm, **more}
    out = prim.host(x, **params)
    ct = random(out.dtype.char, len(out), seed=1)
    (got,) = pulled(lambda xs: [prim(*xs, **params)], [leaf(x)], [leaf(ct)])
    assert got.aval is leaf(x).aval
    for unit in (1, 1j) if char == "D" else (1,):
        for i, row in enumerate(np.eye(4)):
            slope = np.sum(prim.host((row * unit).astype(char), **params) * ct).real
            np.testing.assert_allclose((value_of(got)[i] * unit).real, slope, atol=1e-14)


def test_a_half_is_the_whole_and_back() -> None:
    for n in (6, 7):
        x = random("f", 3, n)
        params = {"n": n, "axis": 1, "norm": "ortho"}
        half = rfft.host(x, **params)
        assert half.dtype.char == "F"
        np.testing.assert_allclose(
            half, fft.host(x.astype("F"), **params, inverse=False)[:, : n // 2 + 1], atol=1e-6
        )
        np.testing.assert_allclose(irfft.host(half, **params), x, atol=1e-6)


@pytest.mark.parametrize(
    ("prim", "text", "n", "kind"),
    [(fft, "i3", 3, "cf"), (rfft, "D3", 3, "f"), (irfft, "D3", 0, "c")],
    ids=str,
)
def test_kinds_and_sizes_that_are_refused(prim: Primitive, text: str, n: int, kind: str) -> None:
    message = rf"^{prim}: needs a dtype of kind '{kind}' and n of 1 or more: .*\[3\], n={n}$"
    with pytest.raises(ValueError, match=message):
        prim.aval(*avals(text), n=n, axis=0, norm="backward")


@pytest.mark.parametrize("n", [1, 2, 5, 6, 9, 600, 601])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("inverse", [False, True])
def test_real_numbers_are_transformed_as_complex_ones(n: int, axis: int, inverse: bool) -> None:
    x = np.random.default_rng(n).standard_normal((6, 605) if axis else (605, 6))
    params = {"n": n, "axis": axis, "norm": "forward", "inverse": inverse}
    found = fft.host(x, **params)
    assert found.dtype == np.complex128
    np.testing.assert_allclose(found, fft.host(x.astype(complex), **params), atol=1e-14)
