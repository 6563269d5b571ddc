"""Manipulation functions against NumPy: values, and what is a view and what a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp

SHAPES = [(), (1,), (4,), (0,), (2, 3), (1, 3), (3, 0), (2, 3, 4), (1, 2, 1)]


def numbers(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def same(ours: Any, theirs: Any) -> None:
    assert type(ours) is xp.Array
    np.testing.assert_array_equal(np.asarray(ours), theirs, strict=True)


def same_view(call: Any, np_call: Any, shape: tuple[int, ...]) -> None:
    """Check values, and that writing through the result reaches the array exactly where NumPy's does."""
    theirs = numbers(shape)
    ours = xp.asarray(theirs)
    out, wanted = call(ours), np_call(theirs)
    assert out is not ours
    same(out, wanted)
    if wanted.flags.writeable and wanted.ndim:
        out[...] = -1
        wanted[...] = -1
        same(out, wanted)
    same(ours, theirs)


VIEWS: list[tuple[str, str, dict[str, Any]]] = [
    ("flip", "flip", {}),
    ("flip", "flip", {"axis": -1}),
    ("flip", "flip", {"axis": (0, -1)}),
    ("permute_dims", "transpose", {"axes": (1, 0)}),
    ("permute_dims", "transpose", {"axes": (-1, 0, 1)}),
    ("transpose", "transpose", {}),
    ("expand_dims", "expand_dims", {"axis": 0}),
    ("expand_dims", "expand_dims", {"axis": -1}),
    ("expand_dims", "expand_dims", {"axis": (0, 2)}),
    ("expand_dims", "expand_dims", {"axis": (-1, 0)}),
    ("squeeze", "squeeze", {}),
    ("squeeze", "squeeze", {"axis": 0}),
    ("squeeze", "squeeze", {"axis": (0, -1)}),
    ("broadcast_to", "broadcast_to", {"shape": (2, 2, 3)}),
    ("reshape", "reshape", {"shape": -1}),
    ("reshape", "reshape", {"shape": (3, -1)}),
    ("reshape", "reshape", {"shape": (-1, 1, 2)}),
    ("reshape", "reshape", {"shape": (3, 2), "order": "F"}),
    ("ravel", "ravel", {}),
    ("atleast_1d", "atleast_1d", {}),
    ("atleast_2d", "atleast_2d", {}),
]


@pytest.mark.parametrize(("name", "np_name", "options"), VIEWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_views(name: str, np_name: str, options: dict[str, Any], shape: tuple[int, ...]) -> None:
    function, np_function = getattr(xp, name), getattr(np, np_name)
    try:
        np_function(numbers(shape), **options)
    except (ValueError, IndexError) as error:
        kind = IndexError if isinstance(error, IndexError) else ValueError
        with pytest.raises(kind, match=f"{name}: "):
            function(xp.asarray(numbers(shape)), **options)
    else:
        x = xp.asarray(numbers(shape))
        a = numbers(shape)
        if np_function(a, **options) is a:
            assert function(x, **options) is x
            return
        same_view(lambda x: function(x, **options), lambda x: np_function(x, **options), shape)


@pytest.mark.parametrize("source", [0, -1, (0, 1), (2, 0), [1, 2], ()])
@pytest.mark.parametrize("destination", [1, -1, (-1, 0), (0, 2), ()])
def test_moveaxis(source: Any, destination: Any) -> None:
    a = numbers((2, 3, 4))
    x = xp.asarray(a)
    try:
        wanted = np.moveaxis(a, source, destination)
    except ValueError:
        with pytest.raises(ValueError, match="moveaxis: "):
            xp.moveaxis(x, source, destination)
    else:
        same(xp.moveaxis(x, source, destination), wanted)
    same(xp.swapaxes(x, 0, -1), np.swapaxes(a, 0, -1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shift", [0, 1, -2, 7, (1, -1), (2,)])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (0, 0)])
def test_roll(shape: tuple[int, ...], shift: Any, axis: Any) -> None:
    a = numbers(shape, np.int32)
    try:
        wanted = np.roll(a, shift, axis)
    except ValueError:
        with pytest.raises(ValueError, match="roll: "):
            xp.roll(xp.asarray(a), shift, axis=axis)
    else:
        x = xp.asarray(a)
        out = xp.roll(x, shift, axis=axis)
        same(out, wanted)
        out[...] = 0
        same(x, a)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("repetitions", [2, (), (1,), (2, 1), (0, 2), (2, 1, 3, 1)])
def test_tile(shape: tuple[int, ...], repetitions: Any) -> None:
    a = numbers(shape, np.int16)
    x = xp.asarray(a)
    out = xp.tile(x, repetitions)
    same(out, np.tile(a, repetitions))
    out[...] = 7
    same(x, a)


@pytest.mark.parametrize("shape", [s for s in SHAPES if s])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_repeat(shape: tuple[int, ...], axis: int | None) -> None:
    a = numbers(shape, np.complex64)
    x = xp.asarray(a)
    n = a.size if axis is None else a.shape[axis]
    each = [i % 3 for i in range(n)]
    for repeats in (0, 1, 3, [2], np.asarray(2, np.uint8), each, np.asarray(each, np.int8)):
        same(xp.repeat(x, repeats, axis=axis), np.repeat(a, repeats, axis=axis))
    same(xp.repeat(x, xp.asarray(each, dtype=xp.int64), axis=axis), np.repeat(a, each, axis=axis))


@pytest.mark.usefixtures("recorded")
def test_repeat_stays_lazy_in_the_array() -> None:
    x = xp.asarray([1.0, 2.0]) + 1
    assert xp.repeat(x, xp.asarray([1, 2]))._node.value is None
    assert x._node.value is None
    same(xp.repeat(xp.asarray(3), 2), np.repeat(3, 2))


@pytest.mark.parametrize("dtypes", [(np.int8, np.uint8), (np.bool, np.float32), (np.float64, np.complex64)])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_concat_and_stack(dtypes: Any, axis: int | None) -> None:
    pair = [numbers((2, 3), dtypes[0]), numbers((2, 3), dtypes[1])]
    ours = [xp.asarray(pair[0]), pair[1]]
    same(xp.concat(ours, axis=axis), np.concatenate(pair, axis=axis))
    if axis is not None:
        same(xp.stack(tuple(ours), axis=axis), np.stack(pair, axis=axis))
        wide = [numbers((2, 3)), numbers((2, 3))[:, :1] if axis else numbers((2, 3))[:0]]
        same(xp.concatenate(wide, axis), np.concatenate(wide, axis))


def test_concat_takes_scalars_as_weak() -> None:
    same(xp.concat([xp.asarray([1.0], dtype=xp.float32), 2.0], axis=None), np.asarray([1, 2], np.float32))
    same(xp.concat([xp.asarray([1.0])]), np.asarray([1.0]))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unstack_gives_views(axis: int) -> None:
    a = numbers((2, 3, 2))
    x = xp.asarray(a)
    ours, theirs = xp.unstack(x, axis=axis), np.unstack(a, axis=axis)
    assert type(ours) is tuple
    for mine, wanted in zip(ours, theirs, strict=True):
        same(mine, wanted)
    ours[1][0] = 50
    theirs[1][0] = 50
    same(x, a)


def test_broadcasting() -> None:
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_shapes((3, 1), (2,), ()) == np.broadcast_shapes((3, 1), (2,), ())
    a, b = numbers((3, 1)), numbers((2,))
    x = xp.asarray(a)
    ours, theirs = xp.broadcast_arrays(x, b), np.broadcast_arrays(a, b)
    assert type(ours) is tuple
    for mine, wanted in zip(ours, theirs, strict=True):
        same(mine, wanted)
    x[0] = 9
    same(ours[0], theirs[0] + np.asarray([[9], [0], [0]]))  # it is a view
    with pytest.raises(ValueError, match="read-only"):
        ours[0][0, 0] = 1
    alike = xp.broadcast_arrays(x, x)
    alike[0][0] = 4
    assert x[0, 0] == 4


@given(st.data())
def test_reshape_is_a_view_where_numpy_gives_one(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 4]), max_size=4)))
    theirs = numbers(shape)
    ours = xp.asarray(theirs)
    view, np_view = ours, theirs
    for _ in range(data.draw(st.integers(0, 3))):
        axes = tuple(data.draw(st.permutations(range(np_view.ndim))))
        view, np_view = xp.permute_dims(view, axes), np_view.transpose(axes)
        key = tuple(slice(None, None, data.draw(st.sampled_from([1, 1, 2, -1]))) for _ in np_view.shape)
        view, np_view = view[(*key, ...)], np_view[(*key, ...)]
    sizes, rest = [], np_view.size
    while rest > 1:
        sizes.append(data.draw(st.sampled_from([n for n in range(2, rest + 1) if rest % n == 0])))
        rest //= sizes[-1]
    target = (*sizes, *data.draw(st.sampled_from([(), (1,)])))
    wanted = np.reshape(np_view, target)
    aliases = np.shares_memory(wanted, theirs)
    out = xp.reshape(view, target)
    same(out, wanted)
    same(xp.reshape(view, target, copy=True), wanted)
    if aliases:
        same(xp.reshape(view, target, copy=False), wanted)
    else:
        with pytest.raises(ValueError, match=r"reshape: .*needs a copy"):
            xp.reshape(view, target, copy=False)
    out[...] = -1
    wanted[...] = -1
    same(ours, theirs)


X = xp.ones((2, 3))
ERRORS = [
    (lambda: xp.broadcast_to(X, (3, 3)), ValueError, "broadcast_to: shapes "),
    (
        lambda: xp.broadcast_to(X, (3,)),
        ValueError,
        r"broadcast_to: shape \(2, 3\) does not broadcast to \(3,\)",
    ),
    (lambda: xp.broadcast_shapes((2,), (3,)), ValueError, "broadcast_shapes: shapes "),
    (lambda: xp.reshape(X, (5,)), ValueError, r"reshape: cannot turn shape \(2, 3\) into \(5,\): 6 elements"),
    (lambda: xp.reshape(X, (4, -1)), ValueError, "reshape: cannot turn"),
    (lambda: xp.reshape(xp.ones((0, 2)), (0, -1)), ValueError, "reshape: cannot turn"),
    (lambda: xp.reshape(X, (-1, -1)), ValueError, "reshape: only one size may be unknown"),
    (lambda: xp.reshape(X, 6.0), TypeError, "float"),
    (lambda: xp.reshape(X, 6, "K"), ValueError, "reshape: order is 'K'"),
    (lambda: xp.reshape(xp.transpose(X), 6, copy=False), ValueError, "reshape: .* needs a copy"),
    (lambda: xp.expand_dims(X, 4), IndexError, "expand_dims: axis 4 is out of bounds"),
    (lambda: xp.expand_dims(X, (0, 0)), ValueError, "expand_dims: an axis stands twice"),
    (lambda: xp.squeeze(X, 0), ValueError, "squeeze: axes"),
    (lambda: xp.squeeze(X, 2), IndexError, "squeeze: axis 2"),
    (lambda: xp.permute_dims(X, (0, 0)), ValueError, "permute_dims: .* no permutation"),
    (lambda: xp.permute_dims(X, (0,)), ValueError, "permute_dims: .* no permutation"),
    (lambda: xp.permute_dims(X, (0, 2)), IndexError, "permute_dims: axis 2"),
    (lambda: xp.moveaxis(X, 0, (0, 1)), ValueError, "moveaxis: 1 axes cannot move to 2"),
    (lambda: xp.moveaxis(X, (0, 0), (0, 1)), ValueError, "moveaxis: source: an axis stands twice"),
    (lambda: xp.flip(X, axis=2), IndexError, "flip: axis 2"),
    (lambda: xp.roll(X, (1, 2, 3), axis=(0, 1)), ValueError, "roll: 3 shifts do not fit 2 axes"),
    (lambda: xp.concat([]), ValueError, "concat: needs one array"),
    (lambda: xp.concat([1, 2]), ValueError, "concat: a 0-d array cannot be joined"),
    (lambda: xp.concat([X, xp.ones(3)]), ValueError, r"concat: shapes \(2, 3\) and \(3,\) differ"),
    (lambda: xp.concat([X, xp.ones((2, 2))]), ValueError, r"concat: shapes \(2, 3\) and \(2, 2\) differ"),
    (lambda: xp.concat([X, X], axis=2), IndexError, "concat: axis 2"),
    (lambda: xp.stack([]), ValueError, "stack: needs one array"),
    (lambda: xp.stack([X, xp.ones(3)]), ValueError, r"stack: shapes \(2, 3\) and \(3,\) differ"),
    (lambda: xp.stack([X], axis=3), IndexError, "stack: axis 3"),
    (lambda: xp.unstack(xp.asarray(1)), ValueError, "unstack: needs one axis"),
    (lambda: xp.repeat(X, -1), ValueError, "repeat: negative repeats: -1"),
    (lambda: xp.repeat(X, xp.asarray([1.5])), TypeError, "repeat: repeats must be integers, not float64"),
    (lambda: xp.repeat(X, [1, 2], axis=1), ValueError, "repeat: 2 repeats .* do not fit 3 elements"),
    (lambda: xp.tile(X, -1), ValueError, "tile: negative dimensions"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
