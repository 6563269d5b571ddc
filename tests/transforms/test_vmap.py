"""`vmap` against a Python loop over the examples."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.transforms import SplitWarning, grad, jacfwd, tree_flatten, tree_map, tree_unflatten, vmap

RNG = np.random.default_rng(0)


def loop(fun: Callable[..., Any], *columns: Any) -> Any:
    """Call `fun` for each example (along the first axis of each column) and stack what it gives."""
    results = [fun(*[tree_map(lambda x, i=i: xp.asarray(x)[i], c) for c in columns]) for i in _range(columns)]
    parts = [tree_flatten(r)[0] for r in results]
    return tree_unflatten(
        tree_flatten(results[0])[1],
        [np.stack([np.asarray(x) for x in row]) for row in zip(*parts, strict=True)],
    )


def _range(columns: Any) -> range:
    return range(len(tree_flatten(columns)[0][0]))


def same(found: Any, wanted: Any, **tolerance: Any) -> None:
    a, ta = tree_flatten(found)
    b, tb = tree_flatten(wanted)
    assert ta == tb
    for x, y in zip(a, b, strict=True):
        assert np.asarray(x).shape == np.asarray(y).shape
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), **tolerance)


# -- axes and trees ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_axes(axis: int, out: int) -> None:
    x = RNG.standard_normal((2, 3, 4))
    found = vmap(lambda r: r * 2 + xp.sum(r), in_axes=axis, out_axes=out)(xp.asarray(x))
    wanted = np.moveaxis(loop(lambda r: r * 2 + xp.sum(r), np.moveaxis(x, axis, 0)), 0, out)
    same(found, wanted)


def test_trees_of_axes() -> None:
    params = {"w": RNG.standard_normal((3, 5)), "b": RNG.standard_normal(4)}
    x = RNG.standard_normal((4, 3))

    def model(p: Any, x: Any) -> Any:
        return {"y": xp.tanh(x @ p["w"]) + p["b"], "n": xp.sum(x)}

    found = vmap(model, in_axes=({"w": None, "b": 0}, 0), out_axes={"y": 1, "n": 0})(params, x)
    wanted = loop(lambda b, r: model({"w": params["w"], "b": b}, r), params["b"], x)
    same(found, {"y": wanted["y"].T, "n": wanted["n"]}, rtol=1e-12)


def test_keyword_arguments_are_mapped_over_their_first_axis() -> None:
    x, y = RNG.standard_normal((2, 4, 3))
    same(vmap(lambda a, b: a - 2 * b)(x, b=y), x - 2 * y)
    same(vmap(lambda a, b: a - 2 * b, in_axes=1, out_axes=1)(x.T, b=y), (x - 2 * y).T)


def test_arguments_without_examples_pass_as_they_are() -> None:
    found = vmap(lambda x, mode, n: x * n if mode == "times" else x, in_axes=(0, None, None))(
        xp.arange(3.0), "times", 4
    )
    same(found, np.arange(3.0) * 4)
    captured = xp.asarray(RNG.standard_normal((3, 3)))
    x = RNG.standard_normal((5, 3))
    same(vmap(lambda r: captured @ r)(x), x @ np.asarray(captured).T, rtol=1e-12)


def test_outputs_that_do_not_depend_on_examples() -> None:
    assert vmap(lambda x: 1, axis_size=3, in_axes=None)(0.0).shape == (3,)
    same(vmap(lambda x: (x, xp.ones(2)), out_axes=(0, None))(xp.arange(3.0)), (np.arange(3.0), np.ones(2)))
    same(vmap(lambda x: xp.ones(2), out_axes=1)(xp.arange(3.0)), np.ones((2, 3)))


def test_decorators() -> None:
    @vmap
    def double(x: Any) -> Any:
        """Twice."""
        return 2 * x

    @vmap(in_axes=1)
    def total(x: Any) -> Any:
        return xp.sum(x)

    assert double.__name__ == "double"
    assert "Twice." in (double.__doc__ or "")
    same(double(xp.arange(3.0)), 2 * np.arange(3.0))
    same(total(xp.ones((2, 3))), np.full(3, 2.0))


def test_nested() -> None:
    x, y = RNG.standard_normal((3, 4)), RNG.standard_normal((5, 4))
    found = vmap(vmap(lambda a, b: xp.sum(a * xp.exp(b)), in_axes=(None, 0)), in_axes=(0, None))(x, y)
    same(found, x @ np.exp(y).T, rtol=1e-12)
    deep = vmap(vmap(vmap(lambda v: v - xp.max(v), in_axes=1, out_axes=1)))(RNG.standard_normal((2, 3, 4, 5)))
    assert deep.shape == (2, 3, 4, 5)


CALLS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[1:, ::-1],
    "integer": lambda x: x[0] + x[-1, 2],
    "new axis": lambda x: x[:, None, :] * x[None, :, :],
    "index arrays": lambda x: x[xp.asarray([2, 0]), xp.asarray([1, 1])],
    "take along": lambda x: xp.take_along_axis(x, xp.argsort(x, axis=0), axis=0),
    "own indices": lambda x: x[xp.argmax(x, axis=0), xp.arange(4)],
    "masked write": lambda x: _written(x, x > 0, 7.0),
    "slice write": lambda x: _written(x, (slice(None), 1), x[:, 0] * 2),
    "into unbatched": lambda x: _into(xp.zeros((2, 4)), x),
    "view write": lambda x: _through_view(x),
    "mean var": lambda x: xp.stack([xp.mean(x), xp.var(x), xp.std(x)]),
    "matmul": lambda x: x @ x.T + x[:, :1] @ xp.ones((1, 3)),
    "vector matmul": lambda x: (x @ x[0], x[:, 1] @ x),
    "solve": lambda x: xp.linalg.solve(x @ x.T + 3 * xp.eye(3), x),
    "decompose": lambda x: xp.abs(xp.linalg.qr(x.T)[1]),
    "norm": lambda x: (xp.linalg.vector_norm(x), xp.linalg.matrix_norm(x)),
    "sort": lambda x: xp.sort(x, axis=0, descending=True),
    "cumulative": lambda x: xp.cumulative_sum(x, axis=1) + xp.cumulative_prod(x, axis=0),
    "fft": lambda x: xp.fft.ifft(xp.fft.fft(x, axis=0) * 2, axis=0).real,
    "concat": lambda x: xp.concat([x, xp.ones((1, 4)), x[:1]], axis=0),
    "roll flip": lambda x: xp.roll(xp.flip(x, axis=1), 2, axis=0),
    "where": lambda x: xp.where(x > 0, x, 0.0),
    "clip": lambda x: xp.clip(x, -0.5, xp.max(x)),
    "tensordot": lambda x: xp.tensordot(x, x, axes=([1], [1])),
    "vecdot": lambda x: xp.vecdot(x, xp.ones(4)),
    "reshape": lambda x: xp.reshape(x, (2, -1)),
    "moveaxis": lambda x: xp.moveaxis(x[None], 0, 1),
    "broadcast": lambda x: xp.broadcast_to(x, (2, 3, 4)),
    "searchsorted": lambda x: xp.searchsorted(xp.sort(x[0]), x[1]),
    "repeat tile": lambda x: (xp.repeat(x, 2, axis=1), xp.tile(x, (2, 1))),
    "stack of scalars": lambda x: xp.asarray([x[0, 0], 2.0, x[1, 1]]),
    "full": lambda x: xp.full((2,), x[0, 0]),
    "zeros like": lambda x: xp.zeros_like(x) + x[0, 0],
    "diff": lambda x: xp.diff(x, axis=0),
    "all any": lambda x: (xp.all(x > -9), xp.any(x > 1, axis=0)),
    "count": lambda x: xp.count_nonzero(x > 0, axis=1),
    "isin": lambda x: xp.isin(xp.round(x), xp.asarray([0.0, 1.0])),
    "numpy function": lambda x: np.sum(np.exp(x), axis=1),
    "complex": lambda x: xp.abs(x + 1j * x[::-1]),
    "cast": lambda x: xp.astype(x * 10, xp.int32),
    "integers": lambda x: xp.astype(x * 10, xp.int64) // 3 % 5,
    "trace": lambda x: (xp.linalg.trace(x), xp.linalg.diagonal(x), xp.tril(x)),
    "unstack": lambda x: sum(xp.unstack(x)),
    "loop": lambda x: sum(row * i for i, row in enumerate(x)),
}


def _written(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


def _into(buffer: Any, x: Any) -> Any:
    buffer[0] = x[1]
    buffer[1, 2] = x[0, 0]
    buffer += xp.mean(x)
    return buffer


def _through_view(x: Any) -> Any:
    row = x[1]
    row *= 2
    x.T[0] = 5.0
    return x, row


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    x = RNG.standard_normal((5, 3, 4))
    f = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SplitWarning)
        same(vmap(f, strict=True)(xp.asarray(x)), loop(f, x), rtol=1e-12, atol=1e-12)
        grid = xp.asarray(RNG.standard_normal((2, 3, 3, 4)))
        same(
            vmap(vmap(f, strict=True), strict=True)(grid),
            loop(lambda g: _arrays(loop(f, g)), grid),
            rtol=1e-12,
            atol=1e-12,
        )


def _arrays(tree: Any) -> Any:
    return tree_map(xp.asarray, tree)


# -- branches ----------------------------------------------------------------------------------------------


def mandelbrot(c: Any) -> int:
    z = 0 * c
    for n in range(30):
        if abs(z) > 2:
            return n
        z = z * z + c
    return 30


def newton(a: Any) -> Any:
    x = a
    while xp.abs(x * x - a) > 1e-10 * a:
        x = 0.5 * (x + a / x)
    return x


def bisect(target: Any) -> Any:
    low, high = xp.asarray(0.0), xp.asarray(10.0)
    while float(high - low) > 1e-6:
        middle = (low + high) / 2
        if middle**3 < target:
            low = middle
        else:
            high = middle
    return low


def collatz(n: Any) -> int:
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (mandelbrot, RNG.uniform(-2, 1, 300) + 1j * RNG.uniform(-1, 1, 300)),
        (newton, RNG.uniform(0.1, 1000, 200)),
        (bisect, RNG.uniform(0, 900, 40)),
        (collatz, np.arange(1, 120)),
    ],
)
def test_branches_in_loops(f: Any, x: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SplitWarning)
        found = np.asarray(vmap(f)(xp.asarray(x)))
    assert (found == loop(f, x)).all()


@pytest.mark.parametrize("f", [mandelbrot, newton, collatz])
def test_branches_in_nested_vmaps(f: Any) -> None:
    x = RNG.integers(1, 9, (4, 5))
    grid = x / 4 + 0.2j * x if f is mandelbrot else x.astype(float) if f is newton else x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SplitWarning)
        found = vmap(vmap(f))(xp.asarray(grid))
        other = vmap(vmap(f), in_axes=1, out_axes=1)(xp.asarray(grid))
    assert (np.asarray(found) == loop(lambda r: _arrays(loop(f, r)), grid)).all()
    assert (np.asarray(other) == np.asarray(found)).all()


def test_branches_on_outer_examples_inside_an_inner_vmap() -> None:
    x, y = RNG.standard_normal(6), RNG.standard_normal((6, 5))

    def inner(a: Any, b: Any) -> Any:
        if a > 0:  # differs along the outer level only
            return xp.sin(b)
        return xp.cos(b) if b > a else b  # along both

    found = vmap(lambda a, row: vmap(inner, in_axes=(None, 0))(a, row) + (1 if xp.sum(row) > 0 else 0))(x, y)
    wanted = [
        [(np.sin(b) if a > 0 else np.cos(b) if b > a else b) + (row.sum() > 0) for b in row]
        for a, row in zip(x, y, strict=True)
    ]
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: xp.sum(x[x > 0]),
        lambda x: xp.sum(xp.nonzero(x > 0)[0]),
        lambda x: xp.unique_values(xp.round(x)).shape[0],
        lambda x: np.asarray(x).sum(),
        lambda x: x[int(xp.argmax(x))],
        lambda x: float(x[0]) + x,
        lambda x: xp.ones(int(xp.sum(x > 0)) + 1).sum(),
        lambda x: complex(x[0]).real * x[1],
        lambda x: x[0] if x.tolist()[0] > 0 else x[1],
    ],
)
@pytest.mark.filterwarnings("ignore::nabla_array.transforms.SplitWarning")
def test_values_that_are_looked_at(f: Any) -> None:
    x = RNG.standard_normal((7, 4))
    same(vmap(f)(xp.asarray(x)), loop(f, x), rtol=1e-12)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.lists(st.integers(0, 2), min_size=1, max_size=4)
)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::nabla_array.transforms.SplitWarning")
def test_any_tree_of_branches(values: list[int], plan: list[int]) -> None:
    def f(x: Any) -> Any:
        for step in plan:
            if step == 0 and x > 0:
                x = x - 1
            elif step == 1 and x % 2 == 0:
                x = x * 3 + 1
            elif int(x) < -1:
                return x * 10
        return x

    x = np.asarray(values)
    assert (np.asarray(vmap(f)(x)) == loop(f, x)).all()


@pytest.mark.filterwarnings("ignore::nabla_array.transforms.SplitWarning")
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64, np.complex64, np.complex128])
def test_examples_that_all_differ_run_in_order(dtype: Any) -> None:
    x = np.arange(-3, 6).astype(dtype)
    seen: list[Any] = []

    def f(v: Any) -> Any:
        seen.append(np.asarray(v)[()])
        return v

    same(vmap(f)(xp.asarray(x)), x)
    assert seen == x.tolist()


def test_a_loop_that_most_leave_early_goes_on_without_them() -> None:
    sizes: list[int] = []
    x = np.append(np.repeat(np.arange(1, 9), 100), [20] * 200)

    def f(n: Any) -> Any:
        sizes.append(n._node.aval.shape[0])
        y = 1.0 * n
        while n > 0:
            n, y = n - 1, y * 1.5
        return xp.sqrt(y)

    same(vmap(f)(xp.asarray(x)), np.sqrt(x * 1.5**x), rtol=1e-12)
    # After five rounds the first run computes twice as many as go on: these 400 begin anew. Seven of the
    # eight hundreds that leave early have a run of their own.
    assert sizes == [1000, 400, *[100] * 7]


def test_strict_names_the_line() -> None:
    def f(x: Any) -> Any:
        return x if x > 0 else -x

    with pytest.raises(TypeError, match=r"vmap: with strict=True.*test_vmap\.py:\d+"):
        vmap(f, strict=True)(xp.asarray([1.0, -1.0]))
    same(vmap(f, strict=True)(xp.asarray([1.0, 2.0])), np.asarray([1.0, 2.0]))  # all agree


def test_a_warning_when_every_example_is_alone() -> None:
    def f(x: Any) -> Any:
        return np.asarray(x).sum()

    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            vmap(f)(xp.asarray(RNG.standard_normal((3, 2))))
        told = [w for w in caught if issubclass(w.category, SplitWarning)]
        if _ == 0:
            assert len(told) == 1
            assert told[0].filename == __file__
            assert "3 examples" in str(told[0].message)
        else:
            assert not told
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vmap(lambda x: x if x > 0 else -x)(xp.asarray([1.0, -1.0, 2.0]))


def test_results_must_agree() -> None:
    x = xp.asarray([1.0, -1.0, 2.0])
    with pytest.raises(ValueError, match=r"examples 0, 2.* and 1 give different structures"):
        vmap(lambda v: (v, v) if v > 0 else v)(x)
    with pytest.raises(
        ValueError, match=r"different results: float64 of shape \(\) and float64 of shape \(2,\)"
    ):
        vmap(lambda v: v if v > 0 else xp.ones(2))(x)
    with pytest.raises(ValueError, match=r"different results: float64 of shape \(\) and int64 of shape \(\)"):
        vmap(lambda v: v if v > 0 else 1)(x)


def test_derivatives_of_branches() -> None:
    x = RNG.standard_normal(8)

    def f(v: Any) -> Any:
        return xp.sin(v) if v > 0 else v * v

    wanted = np.where(x > 0, np.cos(x), 2 * x)
    np.testing.assert_allclose(np.asarray(vmap(grad(f))(x)), wanted)
    np.testing.assert_allclose(np.asarray(grad(lambda a: xp.sum(vmap(f)(a)))(xp.asarray(x))), wanted)
    np.testing.assert_allclose(np.asarray(jacfwd(vmap(f))(xp.asarray(x))), np.diag(wanted))


def test_threads_do_not_share_levels() -> None:
    x = RNG.standard_normal((20, 3))
    wanted = loop(lambda r: xp.sum(r) if r[0] > 0 else -xp.sum(r), x)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(5):
            found = np.asarray(vmap(lambda r: xp.sum(r) if r[0] > 0 else -xp.sum(r))(xp.asarray(x)))
            if not np.array_equal(found, wanted):
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: vmap(lambda a, b: a)(xp.ones(2), xp.ones(3)),
            ValueError,
            r"argument 0 has 2, argument 1 has 3",
        ),
        (
            lambda: vmap(lambda a, k: a)(xp.ones(2), k=xp.ones(3)),
            ValueError,
            r"argument 0 has 2, argument 'k' has 3",
        ),
        (lambda: vmap(lambda a: a, axis_size=4)(xp.ones(2)), ValueError, r"argument 0 has 2, axis_size is 4"),
        (lambda: vmap(lambda a: a, in_axes=2)(xp.ones(2)), ValueError, r"in_axes 2 is out of bounds.*\(2,\)"),
        (
            lambda: vmap(lambda a: a)(1.0),
            ValueError,
            r"in_axes 0 is out of bounds for an argument of shape \(\)",
        ),
        (lambda: vmap(lambda a: a, in_axes=None)(1.0), ValueError, r"no argument has an axis of examples"),
        (lambda: vmap(lambda a: a, in_axes=(0, 0))(xp.ones(2)), ValueError, r"2 entries for 1 positional"),
        (
            lambda: vmap(lambda a: a, in_axes=({"a": 0},))([xp.ones(2)]),
            ValueError,
            r"is no prefix of the structure",
        ),
        (lambda: vmap(lambda a: a, in_axes=0.5)(xp.ones(2)), TypeError, r"in_axes must be an int, None"),
        (
            lambda: vmap(lambda a: a, in_axes=("x",))(xp.ones(2)),
            TypeError,
            r"in_axes holds ints and None, not 'x'",
        ),
        (
            lambda: vmap(lambda a: a, out_axes=None)(xp.ones(2)),
            ValueError,
            r"out_axes is None for an output that",
        ),
        (lambda: vmap(lambda a: a, out_axes=1)(xp.ones(2)), ValueError, r"out_axes 1 is out of bounds"),
        (lambda: vmap(lambda a: a, out_axes=(0, 0))(xp.ones(2)), ValueError, r"is no prefix"),
        (lambda: vmap(lambda a: "text")(xp.ones(2)), TypeError, r"must return arrays or numbers, not str"),
        (lambda: vmap(3), TypeError, r"vmap: needs a function, not 3"),
    ],
)
def test_bad_input(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_no_examples() -> None:
    assert vmap(lambda x: xp.sum(x) * 2)(xp.ones((0, 3))).shape == (0,)


def test_arrays_that_escape_are_told() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x)
        return x

    vmap(f)(xp.ones(3))
    with pytest.raises(RuntimeError, match="outside of the vmap"):
        bool(kept[0])
    assert repr(kept[0]) == "<float64 array of shape () in a batch of 3>"
