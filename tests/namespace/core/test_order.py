"""Orders in memory: flags, strides and elements of arrays against NumPy's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import transforms
from nabla_array._lazy.ops.structure import reshape
from nabla_array._namespace.core.steps import Step

ORDERS = ("C", "F", "A", "K")
Case = Callable[[Any, Any, Any], Any]


def told(x: Any) -> tuple[Any, ...]:
    """Return what an array says of its memory, and what NumPy's of its elements says."""
    flags, seen = x.flags, np.asarray(x)
    return (
        x.shape,
        x.strides,
        flags.c_contiguous,
        flags.f_contiguous,
        flags.owndata,
        seen.strides,
        seen.tolist(),
    )


def both(case: Case, n: int = 3) -> tuple[Any, Any]:
    """Return what a case gives with us and with NumPy, of C order and of Fortran's."""
    results = []
    for m in (xp, np):
        b = m.arange(2.0 * n).reshape(2, n) + 0
        results.append(case(m, b, m.asfortranarray(b)))
    return results[0], results[1]


def zeroed(x: Any) -> Any:
    x[...] = 0
    return x


MADE: dict[str, Case] = {
    "array": lambda m, b, f: m.array(b, order="F"),
    "array of a list": lambda m, b, f: m.array([[1, 2], [3, 4]], order="F"),
    "array keeps": lambda m, b, f: m.array(f),
    "array of a transposed one": lambda m, b, f: m.array(b.T),
    "asarray, copied": lambda m, b, f: m.asarray(b.T, copy=True),
    "astype, the function": lambda m, b, f: m.astype(b.T, int),
    "astype to the same": lambda m, b, f: m.astype(b.T, float),
    "array in C order": lambda m, b, f: m.array(f, order="C"),
    "ascontiguousarray": lambda m, b, f: m.ascontiguousarray(f),
    "asarray": lambda m, b, f: m.asarray(b, order="F"),
    "asfortranarray": lambda m, b, f: f,
    "require": lambda m, b, f: m.require(b, requirements="F"),
    "copy": lambda m, b, f: m.copy(f),
    "method copy": lambda m, b, f: f.copy(),
    "method copy, K": lambda m, b, f: b.T.copy("K"),
    "method copy, A": lambda m, b, f: b.T.copy("A"),
    "astype": lambda m, b, f: f.astype(int),
    "astype, C": lambda m, b, f: f.astype(int, order="C"),
    "astype, F": lambda m, b, f: b.astype(int, order="F"),
    "zeros": lambda m, b, f: m.zeros((3, 2, 4), order="F"),
    "ones": lambda m, b, f: m.ones((3, 2), order="F"),
    "full": lambda m, b, f: m.full((3, 2), 7.0, order="F"),
    "full of a row": lambda m, b, f: m.full((3, 2), m.arange(2.0), order="F"),
    "eye": lambda m, b, f: m.eye(3, 2, order="F"),
    "zeros_like": lambda m, b, f: m.zeros_like(f),
    "ones_like, C": lambda m, b, f: m.ones_like(f, order="C"),
    "full_like, F": lambda m, b, f: m.full_like(b, 3, order="F"),
    "full_like of a view": lambda m, b, f: m.full_like(b.T, 3),
    "empty_like, another shape": lambda m, b, f: zeroed(m.empty_like(f, shape=(4, 5))),
    "one axis of length 1": lambda m, b, f: m.ones((2, 1, 3), order="F"),
    "nothing": lambda m, b, f: m.ones((0, 3), order="F"),
    "copy.copy": lambda m, b, f: copy.copy(f),
    "reshape": lambda m, b, f: f.reshape((b.shape[1], 2), order="F"),
    "middle axis": lambda m, b, f: m.copy(m.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)),
    "zeros_like, middle axis": lambda m, b, f: m.zeros_like(m.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)),
}
SEEN: dict[str, Case] = {
    "columns": lambda m, b, f: f[:, 1:],
    "column": lambda m, b, f: f[:, 0],
    "T": lambda m, b, f: f.T,
    "ravel": lambda m, b, f: f.ravel("K"),
    "real": lambda m, b, f: f.real,
    # Of protocol 5, Python 3.14's default, NumPy makes arrays whose memory is a `bytearray`'s.
    "pickle": lambda m, b, f: pickle.loads(pickle.dumps(f, 4)),
}
COMPUTED: dict[str, Case] = {
    "add": lambda m, b, f: f + 1,
    "both": lambda m, b, f: f + f,
    "mixed": lambda m, b, f: f + b,
    "mixed too": lambda m, b, f: b + f,
    "of a transposed one": lambda m, b, f: b.T * 2,
    "sin": lambda m, b, f: m.sin(f),
    "compare": lambda m, b, f: f > 1,
    "where": lambda m, b, f: m.where(f > 1, f, 0),
    "sort": lambda m, b, f: m.sort(f, axis=0),
    "cumsum": lambda m, b, f: m.cumsum(f, axis=0),
    "round": lambda m, b, f: f.round(1),
    "clip": lambda m, b, f: m.clip(f, 0, 1),
    "pad": lambda m, b, f: m.pad(f, 1),
    "out": lambda m, b, f: m.negative(f, out=m.empty_like(f)),
    "product": lambda m, b, f: f @ f.T,
}


@pytest.mark.parametrize("name", [*MADE, *SEEN, *COMPUTED])
def test_tells_what_numpy_tells(name: str) -> None:
    ours, theirs = both({**MADE, **SEEN, **COMPUTED}[name])
    assert told(ours) == told(theirs)
    assert (ours.base is None) == (theirs.base is None)


@pytest.mark.parametrize("name", MADE)
def test_tells_it_of_many_elements(name: str) -> None:
    ours, theirs = both(MADE[name], 3000)
    assert told(ours) == told(theirs)


def test_writes_go_both_ways() -> None:
    def case(m: Any, b: Any, f: Any) -> Any:
        row, turned = f[0], f.T
        row += 5
        f[1, 1] = 9
        turned[0] = 7
        f *= f
        f[f > 60] = 0
        assert f.flags.f_contiguous
        assert f.flags.owndata
        return m.stack([f, turned.T])

    ours, theirs = both(case)
    assert ours.tolist() == theirs.tolist()


def test_base_of_a_view_is_in_order() -> None:
    f = xp.zeros((2, 3), order="F")
    base = f[1:].base
    assert base.shape == (2, 3)
    assert base.flags.f_contiguous
    base[0, 0] = 1
    assert f[0, 0] == 1


@pytest.mark.parametrize("shape", [(3, 3), (2, 2), (3, 2), (6,), (1, 2, 4)])
def test_resize_keeps_the_order(shape: tuple[int, ...]) -> None:
    def case(m: Any, b: Any, f: Any) -> Any:
        mine = f.copy("K")
        mine.resize(shape)
        return mine

    ours, theirs = both(case)
    assert ours.tolist() == theirs.tolist()
    assert ours.flags.f_contiguous == theirs.flags.f_contiguous


def test_resize_with_views_raises() -> None:
    f = xp.ones((2, 3), order="F")
    row = f[0]
    with pytest.raises(ValueError, match="references"):
        f.resize((4, 4))
    assert row.shape == (3,)


def test_buffer_is_fortrans() -> None:
    f = xp.asarray([[1.0, 2.0], [3.0, 4.0]], order="F")
    assert f.data.f_contiguous
    assert f.data.tobytes("A") == np.asarray(f).tobytes("A")
    f.data[0, 1] = 9.0
    assert f[0, 1] == 9


def test_writing_protection_stays() -> None:
    f = xp.asfortranarray(xp.ones((2, 3)))
    f.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f[0] = 1
    f.flags.writeable = True
    f[0] = 2
    assert f.sum() == 9


def test_numpys_own_order_comes_in() -> None:
    theirs = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert told(xp.asarray(theirs)) == told(theirs.copy("K"))


def test_transforms_see_values_alone() -> None:
    f = xp.asfortranarray(xp.arange(6.0).reshape(2, 3))
    got = transforms.grad(lambda x: (xp.asfortranarray(x) ** 2).sum())(f)
    assert np.array_equal(np.asarray(got), 2 * np.asarray(f))
    rows = transforms.vmap(lambda x: xp.array(xp.outer(x, x), order="F"))(f)
    assert np.array_equal(np.asarray(rows), np.einsum("bi,bj->bij", np.asarray(f), np.asarray(f)))


@given(st.permutations(range(3)), st.sampled_from(ORDERS), st.tuples(*[st.integers(0, 4)] * 3))
def test_copies_of_permuted_axes(axes: list[int], order: str, shape: tuple[int, ...]) -> None:
    ours, theirs = [m.arange(np.prod(shape)).reshape(shape).transpose(axes).copy(order) for m in (xp, np)]
    assert ours.tolist() == theirs.tolist()
    if 1 not in shape and 0 not in shape:
        assert told(ours) == told(theirs)


def test_shapes_of_what_numpy_copies_read_no_elements() -> None:
    """There may be none behind an array that shows strides: a reshape that needs a copy must not look."""
    one = np.ones(1)
    memory = np.lib.stride_tricks.as_strided(one, (2, 2), (32, 8))
    shown = Step(reshape, {"shape": (4,)}).shown(memory, lambda index: 0)
    assert (shown.shape, shown.strides) == ((4,), (8,))
    assert shown.ctypes.data == one.ctypes.data


VIEWS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda z: z.T,
    "permuted": lambda z: z.transpose(1, 2, 0),
    "reversed": lambda z: z[::-1, :, ::-1],
    "a part": lambda z: z[1:, ::2, 1:3],
    "a transposed part": lambda z: z.T[1:, ::2],
    "a row": lambda z: z[2],
    "a column": lambda z: z[:, 1],
    "a reversed column": lambda z: z[::-1, 1].T,
    "an axis more": lambda z: z[:, None].swapaxes(0, 3),
    "reshaped": lambda z: z.reshape(12, 5).T,
    "real parts": lambda z: z.real.T,
    "of a result": lambda z: (z.T + 1)[::-1],
    "of a choice": lambda z: z[[2, 0, 1]][:, :, ::-1],
    "broadcast": lambda z: z[:1] + 0 * z[0],
}


@pytest.mark.parametrize("wanted", [None, np.float64, np.float32, np.complex128, np.int64])
@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64])
@pytest.mark.parametrize("name", VIEWS)
def test_numpys_copy_lies_as_that_of_numpys_array(name: str, dtype: Any, wanted: Any) -> None:
    x = np.arange(60).reshape(3, 4, 5).astype(dtype)
    theirs = VIEWS[name](x)
    found = np.asarray(VIEWS[name](xp.asarray(x.copy())), dtype=wanted)
    assert found.strides == np.array(theirs, dtype=wanted).strides
    assert found.dtype == (dtype if wanted is None else wanted)
    assert np.array_equal(found, theirs)
    found[...] = 0  # its own memory


COPIES = {
    "ascontiguousarray": lambda m, a: m.ascontiguousarray(a),
    "copy": lambda m, a: a.copy(),
    "array": lambda m, a: m.array(a, order="C"),
    "astype": lambda m, a: a.astype(int, order="C"),
    "astype to the same": lambda m, a: a.astype(float, order="C"),
    "require": lambda m, a: m.require(a, requirements="C"),
    "keeping": lambda m, a: a.copy("K"),
    "keeping, by a function": lambda m, a: m.copy(a),
    "Fortran's": lambda m, a: m.asfortranarray(a),
}
AFTER = {
    "itself": lambda m, c: c,
    "add": lambda m, c: c + 1,
    "sin": lambda m, c: m.sin(c),
    "full_like": lambda m, c: m.full_like(c, 3),
    "zeros_like": lambda m, c: m.zeros_like(c),
    "a part": lambda m, c: c[1:],
    "flat": lambda m, c: c.reshape(-1),
    "sort": lambda m, c: m.sort(c),
    "transposed": lambda m, c: c.T,
    "copied again": lambda m, c: c.copy("K"),
}


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("n", [3, 90])
def test_what_is_made_of_a_copy_in_an_order_lies_as_numpys(copy: str, after: str, n: int) -> None:
    found = []
    for m in (xp, np):
        b = m.arange(float(n * (n + 1))).reshape(n, n + 1)
        for a in (m.asfortranarray(b), b.T, b[::2, ::2], m.ones((n, n, 2)).swapaxes(0, 1)):
            flags = AFTER[after](m, COPIES[copy](m, a)).flags
            found.append((flags.c_contiguous, flags.f_contiguous))
    assert found[:4] == found[4:]
