"""Loops over elements: read and written in NumPy's memory, where nobody can tell."""

from __future__ import annotations

import copy
import operator
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops.structure import reshape
from nabla_array.transforms import grad, vmap


def known(value: Any) -> xp.Array:
    x = xp.asarray(value)
    xp.eval(x)
    return x


def memory(x: xp.Array) -> int:
    return int(x._node.value.ctypes.data)


def test_what_nobody_else_knows_is_written_in_place() -> None:
    x = known(np.zeros((3, 4)))
    before = memory(x)
    x[1, 2] = 5
    x[2] = xp.asarray([1.0, 2.0, 3.0, 4.0])
    x[0, 1:3] += 7.0
    x[0, 0] = x[1, 2] * x[2, 3]
    assert memory(x) == before
    np.testing.assert_array_equal(x, [[20, 7, 7, 0], [0, 0, 5, 0], [1, 2, 3, 4]])


@pytest.mark.skipif(compiled is None, reason="Python's way copies what views hold")
@pytest.mark.parametrize(
    "alive",
    [
        lambda x: x[1],
        lambda x: x[1:3].T,
        lambda x: x.reshape(-1)[::2],
        lambda x: (x[0], x[:, 1], x[0][1:]),
        lambda x: [x[i % 3] for i in range(8)],
    ],
    ids=["row", "turned part", "flat", "several", "many"],
)
def test_elements_that_only_views_share_are_written_in_place(alive: Any) -> None:
    x = known(np.zeros((3, 4)))
    before = memory(x)
    views = alive(x)
    x[1, 2] = 5
    x[2] *= 2.0
    x[0][1:][1] = 3.0
    assert memory(x) == before
    y = np.zeros((3, 4))
    y[1, 2], y[0, 2] = 5, 3
    for found, wanted in zip(views, alive(y), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_view_that_something_pending_reads_keeps_what_was_there_for_it() -> None:
    x = known(np.arange(12.0).reshape(3, 4))
    row, part = x[1], x[1][1:]
    later, copied = row * 2.0, part.copy()
    x[1] = 0.0
    assert later.tolist() == [8.0, 10.0, 12.0, 14.0]
    assert copied.tolist() == [5.0, 6.0, 7.0]
    assert row.tolist() == [0.0] * 4
    assert part.tolist() == [0.0] * 3


def test_what_is_pending_sees_what_was_there() -> None:
    x = known([1.0, 2.0, 3.0])
    y = x + 1
    x[0] = 10.0
    assert y.tolist() == [2.0, 3.0, 4.0]
    row = known(np.arange(6.0).reshape(2, 3))
    view = row[1]
    later = view * 2
    view[0] = -1.0
    assert later.tolist() == [6.0, 8.0, 10.0]
    assert row.tolist() == [[0.0, 1.0, 2.0], [-1.0, 4.0, 5.0]]


@pytest.mark.parametrize(
    "other",
    [copy.copy, copy.deepcopy, lambda x: x.copy(), lambda x: np.asarray(x, copy=False), np.from_dlpack],
    ids=["copy", "deepcopy", "method", "asarray", "dlpack"],
)
def test_copies_and_what_left_keep_what_was_there(other: Any) -> None:
    x = known([1.0, 2.0, 3.0])
    y = other(x)
    x[1] = 9.0
    assert np.asarray(y).tolist() == [1.0, 2.0, 3.0]
    assert x.tolist() == [1.0, 9.0, 3.0]


def test_views_see_each_others_writes() -> None:
    x = known(np.arange(12.0).reshape(3, 4))
    a, b = x[1], x[:, 2]
    inner = a[1:3]
    a[2] = 100.0
    assert b.tolist() == [2.0, 100.0, 10.0]
    b[1] = -1.0
    assert inner.tolist() == [5.0, -1.0]
    inner[0] = 50.0
    assert a.tolist() == [4.0, 50.0, -1.0, 7.0]
    assert x[1].tolist() == a.tolist()
    inner += 1
    assert x[1].tolist() == [4.0, 51.0, 0.0, 7.0]
    assert inner.base is x


def test_an_element_is_a_copy() -> None:
    x = known([1.0, 2.0])
    y = x[0]
    y += 1
    x[0] = 7.0
    assert (float(y), x.tolist()) == (2.0, [7.0, 2.0])


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        (3, 1, IndexError),
        ((0, 0), 1, IndexError),
        (0, 1j, TypeError),
        (0, 300, OverflowError),
        (slice(2), [1, 2, 3], ValueError),
    ],
)
def test_what_does_not_fit_changes_nothing(key: Any, value: Any, error: type[Exception]) -> None:
    x = known(np.array([1, 2, 3], np.int8))
    with pytest.raises(error):
        x[key] = value
    assert x.tolist() == [1, 2, 3]


NUMBERS = st.sampled_from([0.0, -0.0, 1.5, -2.0, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan])
INTEGERS = st.sampled_from([0, 1, -1, 7, 2**62, 2**63 - 1, -(2**63)])
OPERATORS = [
    getattr(operator, n) for n in ("add", "sub", "mul", "truediv", "eq", "ne", "lt", "le", "gt", "ge")
]


@pytest.mark.parametrize("function", OPERATORS)
@given(x=st.one_of(NUMBERS, INTEGERS), y=st.one_of(NUMBERS, INTEGERS))
def test_numbers_have_numpys_bits(function: Any, x: Any, y: Any) -> None:
    a, b = np.asarray(x), np.asarray(y)
    with np.errstate(all="ignore"), xp.errstate(all="ignore"):
        wanted = np.asarray(function(a, b))
    with xp.errstate(all="warn"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn_explicit", lambda *args, **kwargs: None)
        found = np.asarray(function(known(a), known(b)))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    if found.dtype.kind == "f" and not np.isnan(wanted):
        assert np.signbit(found) == np.signbit(wanted)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@given(x=st.one_of(NUMBERS, st.floats(-30, 30)), y=st.one_of(NUMBERS, st.floats(-9, 9), st.integers(-4, 4)))
def test_powers_have_the_bits_of_numpys_scalars(kind: Any, x: Any, y: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a, b = kind(x), kind(y)
        pairs = [
            (a**b, known(a) ** known(b)),
            (a ** float(y), known(a) ** float(y)),
            (2.5**b, 2.5 ** known(b)),
            (a**2, known(a) ** 2),
        ]
        for wanted, found in pairs:
            np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)
            assert np.isnan(wanted) or np.signbit(found) == np.signbit(wanted)


def test_transforms_see_loops_over_elements() -> None:
    def total(x: Any) -> Any:
        out = xp.zeros(3)
        for i in range(3):
            out[i] = x[i] * x[i - 1]
        return out[0] * out[1] + out[2]

    def by_hand(x: np.ndarray) -> float:
        return float(x[0] * x[2] * x[1] * x[0] + x[2] * x[1])

    x = known([1.5, -2.0, 0.5])
    points = known([[1.5, -2.0, 0.5], [3.0, 1.0, 2.0]])
    np.testing.assert_allclose(vmap(total)(points), [by_hand(np.asarray(p)) for p in points])
    a, b, c = 1.5, -2.0, 0.5
    np.testing.assert_allclose(grad(total)(x), [2 * a * b * c, a * a * c + c, a * a * b + b])


def test_a_read_only_array_elsewhere_changes_nothing() -> None:
    fixed = xp.broadcast_to(known([1.0]), (3,))
    held = known([1.0, 2.0]).imag
    x = known([1.0, 2.0, 3.0])
    before = memory(x)
    x[0] = 5.0
    assert memory(x) == before
    for y in (fixed, held):
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 1.0


@pytest.mark.parametrize("function", ["dot", "matmul"])
def test_products_of_reversed_parts_have_numpys_bits(function: str) -> None:
    a, b = np.random.default_rng(0).standard_normal((2, 501))
    x, y = known(a), known(b)
    wanted = getattr(np, function)(a[::-1], b)
    assert float(getattr(xp, function)(x[::-1], y[:])) == float(wanted)


# What writes to `x`, of two axes; `y` and `z` are views of it, `v` is as long as one of its rows, `m` a mask.
CHANGES = [
    "np.copyto(x, 3)",
    "np.copyto(x, v)",
    "np.copyto(y, z)",
    "np.copyto(y, 2.0)",
    "np.copyto(x, x * 2)",
    "np.copyto(x[1:], x[:-1])",
    "np.put(x, [1, -1], 5)",
    "np.put(x, [0, 1, 0], v[:1])",
    "np.put(y, [0], 7)",
    "np.put(x, 0, 100)",
    "np.put(x, np.asarray([1, 2]), v)",
    "np.put(x, [99], 1)",
    "np.put(x, [-99], 1)",
    "np.putmask(x, m, 4)",
    "np.putmask(x, m, v)",
    "np.putmask(x, x > 3, x * 2)",
    "np.putmask(x, m, x)",
    "np.putmask(y, y > 1, z)",
    "np.putmask(v, v > 1, 300)",
    "np.fill_diagonal(x, 6)",
    "np.fill_diagonal(x, v)",
    "np.fill_diagonal(x, v[:1], wrap=True)",
    "np.fill_diagonal(y, -2)",
    "np.fill_diagonal(x.T, -3)",
    "np.fill_diagonal(v, 1)",
]


@given(
    st.lists(st.sampled_from(CHANGES), min_size=1, max_size=4),
    st.sampled_from([(4, 3), (3, 4), (1, 1), (3, 3), (5, 2)]),
    st.sampled_from(["float64", "int8", "complex64", "bool"]),
    st.sets(st.sampled_from(["pending", "held", "turned"])),
)
def test_functions_that_write_do_as_numpys(
    changes: list[str], shape: tuple[int, int], dtype: str, how: set[str]
) -> None:
    told = []
    for np_ in (np, xp):
        x = np_.asarray(np.arange(12.0)[: shape[0] * shape[1]].reshape(shape).astype(dtype))
        if "turned" in how:
            x = (x.T + x.T).T
        elif "pending" in how:
            x = x + x
        v = np_.asarray(np.arange(shape[1]).astype(dtype))
        m = np_.asarray(np.arange(shape[0] * shape[1]).reshape(shape) % 2 == 0)
        names = {"np": np_, "x": x, "v": v, "m": m, "y": x[:2], "z": x[-2:]}
        held = x * 1 if "held" in how else None
        seen = []
        for line in changes:
            try:
                exec(line, names)
                seen.append("done")
            except (ValueError, TypeError, IndexError, OverflowError) as error:
                is_loose = "putmask" in line or dtype == "int8"
                kind = type(error).__name__
                seen.append("error" if is_loose and kind != "IndexError" else kind)
        told.append(
            (seen, x.tolist(), v.tolist(), None if held is None else held.tolist(), names["y"].tolist())
        )
    if "IndexError" not in told[0][0]:  # NumPy has written what came before the index
        assert told[0] == told[1]
    assert told[0][0] == told[1][0]


@pytest.mark.parametrize(
    "line",
    ["np.copyto(x, 3)", "np.put(x, [1], 3)", "np.putmask(x, x > 1, 3)", "np.fill_diagonal(x, 3)"],
)
def test_functions_do_not_write_to_what_is_read_only(line: str) -> None:
    x = known(np.arange(9.0).reshape(3, 3))
    for y in (xp.broadcast_to(x[:1], (3, 3)), x):
        y.setflags(write=False)
        with pytest.raises(ValueError, match="read-only"):
            exec(line, {"np": xp, "x": y})
    assert x.tolist() == np.arange(9.0).reshape(3, 3).tolist()


def test_little_of_what_is_large_is_taken_at_once() -> None:
    n = 800
    a = np.random.default_rng(0).standard_normal((n, n))
    x = known(a)
    for code in (
        "np.trace(x)",
        "np.trace(x, 3, dtype='float32')",
        "np.trace(x, n)",
        "np.einsum('ii', x)",
        "np.diag(x) * 1",
        "np.diagonal(x, -2) + 1",
        "np.take(x, [1, -2, 3], axis=1)",
        "np.take(x, [[1, -2]], axis=0)",
        "np.take(x, [5, -7])",
        "np.take(x, np.asarray([3], 'uint8'), axis=-1)",
        "np.take(x, [])",
        "x[::400, 3].T - 1",
    ):
        ours, theirs = eval(code, {"np": xp, "x": x, "n": n}), eval(code, {"np": np, "x": a, "n": n})
        np.testing.assert_array_equal(np.asarray(ours), theirs, strict=True)
    for code in ("np.take(x, [n], axis=0)", "np.take(x, [-n - 1], axis=1)", "np.take(x, [1], axis=2)"):
        with pytest.raises(IndexError):
            np.asarray(eval(code, {"np": xp, "x": x, "n": n}))


def test_what_many_places_spread_to() -> None:
    a = np.random.default_rng(0).standard_normal((60, 70))
    x = known(a)
    for places in (
        np.arange(60).repeat(300).reshape(60, -1),
        np.zeros((200, 80), int),
        np.zeros((0, 5), int),
    ):
        np.testing.assert_array_equal(np.asarray(x[places]), a[places], strict=True)
        np.testing.assert_array_equal(np.asarray(x[xp.asarray(places)]), a[places], strict=True)
    with pytest.raises(IndexError):
        np.asarray(x[np.full((300, 300), 60)])


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("shape", [(300, 400), (70_000, 1), (2, 90_000)])
def test_what_is_repeated(shape: tuple[int, int], axis: int | None) -> None:
    a = np.random.default_rng(0).standard_normal(shape)
    for view in (a, a.T, a[::2], a[:, ::-1]):
        ours = xp.repeat(xp.asarray(view), 3, axis=axis)
        np.testing.assert_array_equal(np.asarray(ours), np.repeat(view, 3, axis=axis), strict=True)


@pytest.mark.parametrize("repeats", [(5, 3), (1, 3), (5, 1)])
def test_what_repeats_is_reshaped_as_numpy_does(repeats: tuple[int, int]) -> None:
    whole = np.broadcast_to(np.arange(5.0)[: repeats[0], None], (5, 3))
    for x in (whole, whole[::-1], np.broadcast_to(whole[:1], (5, 3))):
        for shape in ((5, 3, 1), (5, 1, 3), (1, 15), (15,), (3, 5)):
            ours, theirs = reshape.host(x, shape=shape), x.reshape(shape)
            np.testing.assert_array_equal(ours, theirs, strict=True)
            assert np.may_share_memory(ours, x) == np.may_share_memory(theirs, x)


def test_a_diagonal_sees_what_is_written() -> None:
    a = np.random.default_rng(0).standard_normal((400, 400))
    x = known(a)
    seen, sums = xp.diag(x), xp.trace(x)
    x[3, 3] = 50.0
    expected = a.trace()
    a[3, 3] = 50.0
    np.testing.assert_array_equal(seen, np.diag(a))
    assert float(sums) == expected
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 1.0


def test_transforms_see_what_is_taken_and_written() -> None:
    x = known(np.arange(90_000.0).reshape(300, 300))

    def f(x: xp.Array) -> xp.Array:
        y = x * 1
        xp.fill_diagonal(y, 2.0)
        xp.put(y, [1], 0.0)
        return xp.trace(x) + xp.einsum("ii", x) + xp.sum(xp.take(x, [1], axis=0)) + xp.sum(y)

    expected = np.ones((300, 300)) + np.eye(300)
    expected[0, 1] = 0.0
    expected[1] += 1.0
    np.testing.assert_array_equal(grad(f)(x), expected)
    stack = xp.stack([x, x + 1])
    np.testing.assert_array_equal(vmap(xp.trace)(stack), [np.trace(np.asarray(s)) for s in stack])
    np.testing.assert_array_equal(vmap(lambda x: xp.take(x, [1], axis=0))(stack), np.asarray(stack)[:, [1]])


def test_windows_are_of_what_was_there_and_are_no_copies() -> None:
    window = xp.lib.stride_tricks.sliding_window_view
    x = known(np.arange(1_000_000.0))
    seen = window(x, 4000)  # 32 GB, if they were copied
    part = window(x[2:8], 3) * 2.0
    x[3] = 50.0
    x[4] += 1.0
    assert float(seen[0].sum()) == np.arange(4000).sum()
    np.testing.assert_array_equal(part[0], [4.0, 6.0, 8.0])
    assert (float(x[3]), float(x[4])) == (50.0, 5.0)


@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    axis=st.sampled_from([0, 1, -1, None]),
    dtype=st.sampled_from([np.float64, np.int32]),
    number=st.booleans(),
    seed=st.integers(0, 99),
)
def test_values_are_put_along_an_axis(
    shape: tuple[int, int], axis: int | None, dtype: Any, number: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 50, shape).astype(dtype)
    many = 2 if axis is None else shape[axis]
    order = np.argsort(a, axis=axis)
    index = order[:many] if axis is None else order
    values: Any = 7 if number else rng.integers(0, 9, index.shape).astype(dtype)
    x = known(a)
    held, row = x.copy(), x[0]
    xp.put_along_axis(x, xp.asarray(index), values if number else xp.asarray(values), axis)
    expected = a.copy()
    np.put_along_axis(expected, index, values, axis)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(row, expected[0])
    np.testing.assert_array_equal(held, a)


@pytest.mark.parametrize(
    "code",
    [
        *("xp.outer(v, v)", "xp.kron(v, v)", "xp.tile(v, 3000)", "xp.repeat(v, 3000)", "xp.inner(c, c)"),
        *("xp.einsum('i,j->ij', v, v)", "xp.tensordot(v, v, 0)", "xp.vander(v)", "xp.diag(v)"),
        *("xp.where(c > 0.5, v, c)", "xp.clip(v, c, 1.0)", "xp.logical_and(v, c)"),
    ],
)
def test_what_is_large_is_recorded_though_it_comes_from_little(code: str) -> None:
    v = known(np.linspace(0.1, 0.9, 3000))
    c = known(np.linspace(0.1, 0.9, 3000)[:, None])
    assert xp.explain(eval(code, {"xp": xp, "v": v, "c": c})).operations() > 0
    few = {"xp": xp, "v": v[:40], "c": c[:40]}
    expected = eval(code, {"xp": np, "v": np.asarray(v)[:40], "c": np.asarray(c)[:40]})
    np.testing.assert_allclose(eval(code, few), expected, rtol=1e-12)
    if compiled is not None or "vander" not in code:  # compiled code asks NumPy for it, Python records it
        is_recorded = compiled is not None and "where" in code  # by compiled code, as operators are
        assert xp.explain(eval(code.replace("3000", "3"), few)).operations() == is_recorded


@pytest.mark.parametrize("name", ["eigh", "eig", "svd", "qr", "slogdet"])
def test_several_results_of_what_is_known_are_there_at_once(name: str) -> None:
    value = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
    function, wanted = getattr(xp.linalg, name), getattr(np.linalg, name)(value)
    for x in (xp.asarray(value), xp.asarray(value * 2) * 0.5):
        found = function(x)
        assert all(y._node.value is not None for y in found)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-14)
        if name != "eig":  # NumPy gives parts of complex results, which happen to be real
            assert [y.flags.f_contiguous for y in found] == [y.flags.f_contiguous for y in wanted]
    with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: needs"):
        function(xp.ones(3))
    rows = vmap(lambda m: function(m)[0])(xp.stack([xp.asarray(value)] * 2))
    np.testing.assert_allclose(np.asarray(rows)[1], wanted[0], rtol=1e-14)


def test_wrong_data_are_told_of_where_several_results_are_looked_at() -> None:
    found = xp.linalg.eig(xp.asarray([[np.nan, 1.0], [1.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError, match=r"^eig "):
        print(found.eigenvalues)
