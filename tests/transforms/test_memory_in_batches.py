"""Memory that leaves for NumPy and C under `vmap`, and strided views, against a loop in NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg, ndimage

import nabla_array as xp
from nabla_array import transforms as t
from nabla_array.transforms import vmap

pytestmark = [
    pytest.mark.filterwarnings("ignore::nabla_array.transforms.SplitWarning"),
    pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning"),
]

RNG = np.random.default_rng(6)
X = RNG.standard_normal((4, 6))
K = np.array([1, 0, 3, 2])
strided = np.lib.stride_tricks.as_strided
windows = np.lib.stride_tricks.sliding_window_view


def ours(x: Any, shape: Any, strides: Any) -> Any:
    """NumPy's function on its arrays, ours on ours."""
    return (strided if isinstance(x, np.ndarray) else xp.lib.stride_tricks.as_strided)(x, shape, strides)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-10, atol=1e-12)


def check(f: Callable[..., Any], *args: np.ndarray) -> None:
    wanted = np.stack([np.array(f(*[np.array(a[i])[()] for a in args])) for i in range(len(args[0]))])
    given = [xp.asarray(a) for a in args]
    close(vmap(f)(*given), wanted)
    close(vmap(vmap(f))(*[x[None] for x in given])[0], wanted)
    close(t.compile(vmap(f))(*given), wanted)
    for i, x in enumerate(wanted):
        close(f(*[xp.asarray(np.array(a[i])) if a.ndim > 1 else a[i] for a in args]), x)


STRIDED: dict[str, Callable[[Any, Any], Any]] = {
    "backwards from the middle": lambda s, v: s(v[2:], (3, 3), (-8, 8)),
    "of what is reversed": lambda s, v: s(v[::-1], (3, 3), (-8, -8)),
    "every other one": lambda s, v: s(v[1::2], (2, 2), (-8, 16)),
    "of a transpose": lambda s, v: s(v.reshape(2, 3).T[1:], (2, 2), (8, 8)),
    "of a column": lambda s, v: s(v.reshape(2, 3)[:, 1], (2, 2), (24, 8)),
    "of a number": lambda s, v: s(v[3:4].reshape(()), (2,), (8,)),
    "of nothing": lambda s, v: s(v[6:], (0, 3), (8, 8)),
    "no steps": lambda s, v: s(v[4:], (3, 2), (0, 8)),
    "of a view of a view": lambda s, v: s(v[1:][1:][::-1][1:], (2,), (8,)),
    "of a new array": lambda s, v: s((v * 2)[2:], (2, 2), (-8, 8)),
    "of what was written": lambda s, v: s(_written(v * 1)[3:], (4,), (-8,)),
    "of another dtype": lambda s, v: s(v.view(np.int64)[2:], (2,), (-8,)),
    "of smaller elements": lambda s, v: s(v.view(np.int16)[3:], (2, 3), (-2, 4)),
    "of larger elements": lambda s, v: s(v.view(np.complex128)[1:], (2,), (-16,)),
    "of imaginary parts": lambda s, v: s(v.view(np.complex128).imag[1:], (2, 2), (-16, -8)),
}


def _written(v: Any) -> Any:
    v[1:3] *= 3
    return v


@pytest.mark.parametrize("which", [strided, ours], ids=["NumPy's", "ours"])
@pytest.mark.parametrize("name", STRIDED)
def test_strided_views_see_the_memory_around_what_they_are_of(name: str, which: Any) -> None:
    check(lambda v: STRIDED[name](which, v), X)


@pytest.mark.parametrize("which", [strided, ours], ids=["NumPy's", "ours"])
def test_strided_views_of_parts_that_each_example_chooses(which: Any) -> None:
    check(lambda v, i: which(v.reshape(6, 1)[i], (2,), (8,)), X, K)
    check(lambda v, i: which(v.reshape(3, 2)[i % 3], (2,), (8,)), X, K)
    rows = xp.arange(6.0).reshape(6, 1)
    close(vmap(lambda i: which(rows[i], (2,), (8,)))(xp.asarray(K)), np.stack([K, K + 1], 1))


@pytest.mark.parametrize("which", [strided, ours], ids=["NumPy's", "ours"])
def test_strided_views_of_captured_arrays(which: Any) -> None:
    c = xp.arange(6.0)
    wanted = strided(np.arange(6.0)[2:], (3, 3), (-8, 8))
    f = lambda v: which(c[2:], (3, 3), (-8, 8)) * v[0]  # noqa: E731
    close(vmap(f, strict=True)(xp.asarray(X)), wanted * X[:, :1, None])
    close(
        vmap(lambda v: vmap(lambda a: which(v[1:], (2,), (-8,)) * a)(v))(xp.asarray(X)),
        X[:, :, None] * X[:, None, 1::-1],
    )
    close(c, np.arange(6.0))


@pytest.mark.parametrize(
    ("start", "shape", "strides"),
    [(0, (7,), (8,)), (0, (3,), (-8,)), (0, (2,), (48,)), (2, (2, 5), (8, 8)), (2, (4,), (-8,))],
)
def test_strided_views_are_within_the_memory(start: int, shape: Any, strides: Any) -> None:
    def wrong(v: Any) -> Any:
        return xp.lib.stride_tricks.as_strided(v[start:], shape, strides)

    x = xp.ones((2, 6))
    calls: list[Callable[[], Any]] = [
        lambda: wrong(x[0] * 1),
        lambda: vmap(wrong)(x),
        lambda: vmap(vmap(wrong))(xp.ones((3, 2, 6))),
        lambda: t.compile(vmap(wrong))(x),
        lambda: t.grad(lambda v: xp.sum(wrong(v)))(x[0] * 1),
        lambda: vmap(lambda i: wrong(xp.ones((1, 6))[i]))(xp.zeros(2, dtype=int)),
    ]
    for call in calls:
        with pytest.raises(
            ValueError, match=r"as_strided: shape .* with strides .* leads out of the 48 bytes"
        ):
            call()


def test_derivatives_of_strided_views() -> None:
    x = xp.asarray(X)
    f = lambda v: xp.sum(xp.lib.stride_tricks.as_strided(v[2:], (3, 3), (-8, 8)) ** 2)  # noqa: E731
    counts = np.array([1, 2, 3, 2, 1, 0])
    close(t.grad(f)(x[0]), 2 * X[0] * counts)
    close(vmap(t.grad(f))(x), 2 * X * counts)
    with pytest.raises(TypeError, match="being differentiated leaves"):
        t.grad(lambda v: xp.sum(xp.asarray(strided(v[2:], (3, 3), (-8, 8)))))(x[0])


MATRICES: dict[str, Callable[..., Any]] = {
    "toeplitz": linalg.toeplitz,
    "toeplitz of two": lambda a: linalg.toeplitz(a, a[::-1]),
    "hankel": linalg.hankel,
    "hankel of two": lambda a: linalg.hankel(a, a[::-1]),
    "circulant": linalg.circulant,
    "companion": linalg.companion,
    "leslie": lambda a: linalg.leslie(a, a[1:]),
    "fiedler": linalg.fiedler,
    "fiedler_companion": linalg.fiedler_companion,
    "convolution_matrix": lambda a: linalg.convolution_matrix(a, 4),
    "matmul_toeplitz": lambda a: linalg.matmul_toeplitz(a, a),
    "solve_toeplitz": lambda a: linalg.solve_toeplitz(a + np.array([9.0, 0, 0, 0, 0, 0]), a),
    "solve_circulant": lambda a: linalg.solve_circulant(a + np.array([9.0, 0, 0, 0, 0, 0]), a),
    "sliding_window_view": lambda a: windows(a, 3),
    "of what is reversed": lambda a: windows(a.reshape(2, 3)[:, ::-1], 2, axis=1),
    "of a part": lambda a: windows(a[1:5], 2) * 2,
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_made_of_strided_views(name: str) -> None:
    check(MATRICES[name], X)


# -- memory that is written to -----------------------------------------------------------------------------


def _filtered(v: Any) -> Any:
    out = v * 0
    ndimage.gaussian_filter(v, 1.0, output=out)
    return out


def _filtered_part(v: Any) -> Any:
    out = v * 2
    ndimage.uniform_filter(v[::2], 2, output=out[::2])
    return out


def _pointer(v: Any) -> Any:
    out = v * 2
    p = out.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    p[1] = p[0] + 5
    return out


def _pointer_of_a_view(v: Any) -> Any:
    out = v * 2
    p = out[::-1].ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    p[0] = p[-1] + 5
    return out + out[1]


def _data(v: Any) -> Any:
    out = v * 2
    out.data[2] = 3.0
    return out


def _from_buffer(v: Any) -> Any:
    out = v * 2
    np.frombuffer(out.data)[1] = 9
    return out


def _strided(v: Any) -> Any:
    out = v * 2
    strided(out[2:], (2,), (-8,))[...] = 7
    return out


@pytest.mark.parametrize(
    "f", [_filtered, _filtered_part, _pointer, _pointer_of_a_view, _data, _from_buffer, _strided]
)
def test_what_c_writes_to_an_array_of_the_batch_is_there(f: Any) -> None:
    check(f, X)
    mixed = np.concatenate([X, X[:2]])  # examples that agree go on together
    close(vmap(f)(xp.asarray(mixed)), np.stack([f(x) for x in mixed]))


@pytest.mark.parametrize(
    "f",
    [
        lambda v: v.view(np.int32),
        lambda v: v[::2].view(np.int64)[::-1],
        lambda v: v.view(np.complex128),
        lambda v: v.reshape(2, 3).T * v.reshape(2, 3).T.strides[0],
        lambda v: v[::-1].reshape(3, 2).T.copy(),
    ],
)
def test_memory_seen_as_something_else(f: Any) -> None:
    check(f, X)


def test_bytes_of_elements() -> None:
    close(vmap(lambda v: v.getfield(np.float32, 4))(xp.asarray(X)), X.view(np.float32)[:, 1::2])


def test_a_function_of_a_users_is_not_taken_for_numpys() -> None:
    """NumPy's own `as_strided` is given the memory; a function of that name is given a copy."""
    x = xp.arange(4.0)

    def as_strided(v: Any) -> Any:
        return np.array(v, copy=None)

    as_strided(x)[0] = 7
    close(x, np.arange(4.0))
