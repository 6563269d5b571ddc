"""What NumPy refuses is refused, with the same class of exception; another byte order stays NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp

pytestmark = pytest.mark.filterwarnings(
    "ignore::nabla_array._namespace.interop.functions.HostFallbackWarning"
)

# Code that both NumPy and we run, as `np`.
_REFUSED = [
    "np.einsum('ij->j', [[1, 2]], casting='blah')",
    "np.einsum('', 0, casting='blah')",
    "np.einsum('i', [1, 2], order='W')",
    "np.einsum('ij,jk', np.ones((2, 3)), np.ones((4, 5)))",
    "np.einsum(np.ones((2, 3)), [0, 52])",
    "np.einsum('ab,bc,cd', *[np.ones((2, 2))] * 3, optimize=['einsum_path', (0, 1)])",
    "np.reshape(np.ones(2), (True, -1))",
    "np.zeros((True, 2))",
    "np.sum(np.ones(2), axis=False)",
    "np.concatenate([[1], [2]], casting='x')",
    "np.concatenate([[1], [2]], out=np.empty((2, 1)))",
    "np.take(np.ones((2, 0)), [0], axis=1, mode='wrap')",
    "np.ravel_multi_index(np.zeros((3, 1), int), (2, 1, 0), mode='clip')",
    "np.unravel_index([], (2, 3))",
    "np.nanmean([1.0], dtype=int)",
    "np.nanstd([1.0], out=np.array(0))",
    "np.can_cast(None, 'i4')",
    "np.can_cast(3, 'i4')",
    "np.partition(np.arange(5), 2, kind='x')",
    "np.arange(5).argpartition(2, kind=1)",
    "np.eye(3).resize(3, refcheck='x')",
    "np.trim_zeros([0, 1], '')",
    "np.digitize([1], [1j])",
    "np.putmask(a=np.zeros(2), mask=[0, 1], values=[1])",
    "np.dot(np.ones((4, 3)), np.ones((3, 2)), np.empty((5, 4, 2)))",
    "np.vecdot([1.0], [1.0], keepdims='true')",
    "np.vecdot([1.0], [1.0], axis=0, axes=[0, 0])",
    "np.vecdot([1.0], [1.0], axes=[-1, -1, -1])",
    "np.add(1, 2, sig='ii->i', signature='ii->i')",
    "np.add(1, 2, out=(...,))",
    "np.add.reduce([], initial=None)",
    "np.add(np.zeros(2, '>f4'), 1, casting='no')",
    "np.vecdot([1.0], [1.0], axes=[-1, (-2, -1), ()])",
    "np.arange(3).partition(1, axis=None)",
    "np.arange(2, dtype='5i')",
    "np.concatenate(([1], [1]), dtype='(2,)i')",
    "np.packbits([1], bitorder=10)",
    "np.isin([1], [1], kind='quicksort')",
    "np.pad([1.0, 2.0], 0, 'minimum', stat_length=0)",
    "np.ravel_multi_index(([], []), (3, 4))",
    "np.array([1], copy=np.array([1, 2]))",
    "np.ones(3).flat.__delitem__(1)",
    "np.ones(3).flat.__setitem__((), 1)",
]


def _kind(code: str, module: Any) -> type[Exception]:
    with pytest.raises((TypeError, ValueError, IndexError, RuntimeError)) as caught:
        eval(code, {"np": module})
    return caught.type


@pytest.mark.parametrize("code", _REFUSED)
def test_what_numpy_refuses(code: str) -> None:
    assert issubclass(_kind(code, xp), _kind(code, np))


@pytest.mark.parametrize(
    "code",
    [
        *("np.array([1, 2], '>i4')", "np.arange(3, dtype='>i2')", "np.full((2, 2), 1.5, '>f8')"),
        *(
            "np.concatenate([[1], [2]], dtype='>i8')",
            "np.linspace(0, 1, 3, dtype='>f4')",
            "np.eye(2, dtype='>c8')",
        ),
        *("np.zeros_like([1, 2], '>u2')", "np.array([1, 2], '>i4') + 1"),
        *("np.ones_like(np.zeros(2, '>i4'))", "np.add(np.zeros(2, '>f4'), 1)"),
    ],
)
def test_another_byte_order_is_in_the_bytes(code: str) -> None:
    ours, theirs = eval(code, {"np": xp}), eval(code, {"np": np})
    assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())


def test_text_of_a_number_has_the_width_of_its_dtype() -> None:
    assert xp.array(1.0).astype("S").dtype == np.array(1.0).astype("S").dtype


def test_rows_of_coordinates_are_a_list() -> None:
    rows = [[0.0, 1.0, 2.0], [0.0, 5.0, 5.0]]
    ours, edges = xp.histogramdd(rows, bins=2)
    theirs, wanted = np.histogramdd(rows, bins=2)
    np.testing.assert_array_equal(ours, theirs)
    for x, y in zip(edges, wanted, strict=True):
        np.testing.assert_array_equal(x, y)


def test_an_object_answers_for_itself_wherever_it_stands() -> None:
    class Answers:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            return options

    a = Answers()
    assert xp.sin(a) == {}
    assert xp.sin([1.0], out=a) == {"out": (a,)}
    assert xp.add(1, 2, where=a) == {"where": a}
    assert xp.multiply(a, 2, out="x") == {"out": ("x",)}
    assert xp.modf(a, "x", "y") == {"out": ("x", "y")}


def test_an_object_that_refuses_says_so() -> None:
    class OptsOut:
        __array_ufunc__ = None

    with pytest.raises(TypeError, match="operand 'OptsOut' does not support ufuncs"):
        xp.add(OptsOut(), 1)


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_einsum_lies_in_the_order_that_is_asked_for(order: Any) -> None:
    for given in ("C", "F"):
        a, b = (np.ones(shape, order=given) for shape in ((2, 3), (3, 4)))
        ours = xp.einsum("ij,jk->ik", xp.array(a, order=given), xp.array(b, order=given), order=order)
        theirs = np.einsum("ij,jk->ik", a, b, order=order)
        assert (ours.flags.c_contiguous, ours.flags.f_contiguous) == (
            theirs.flags.c_contiguous,
            theirs.flags.f_contiguous,
        )


@pytest.mark.parametrize("n", [0, 1, 9, 150])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
def test_sums_that_begin_with_minus_zero(n: int, dtype: str) -> None:
    start = np.dtype(dtype).type(-0.0)
    ours = xp.sum(xp.full((n,), start, dtype), initial=start)
    assert np.signbit(np.asarray(ours).real) == np.signbit(np.full((n,), start).sum(initial=start).real)


def test_both_sides_of_a_singular_hermitian_matrix_are_orthonormal() -> None:
    u, s, vh = xp.linalg.svd(xp.asarray([[4.0, 2.0], [2.0, 1.0]]), hermitian=True)
    for side in (u, vh):
        np.testing.assert_allclose(side @ side.T, np.eye(2), atol=1e-15)
    np.testing.assert_allclose(u * s @ vh, [[4, 2], [2, 1]], atol=1e-15)


def test_memory_that_does_not_lie_in_the_order_is_not_shared() -> None:
    view = memoryview(np.ones((4, 4)))
    assert xp.array(view, copy=False, order="C").shape == (4, 4)
    with pytest.raises(ValueError, match="needs a copy"):
        xp.array(view, copy=False, order="F")
    with pytest.raises(ValueError, match="needs a copy"):
        xp.array([1, 2], copy=np.False_)
