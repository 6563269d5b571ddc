"""`compile` gives what the function gives, runs it once for a kind of arguments, and composes."""

from __future__ import annotations

import functools
import inspect
import threading
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled
from nabla_array.transforms import (
    CacheInfo,
    compile,
    grad,
)

from .counted import Counted, arr, close, rng, same

# -- hits and misses -----------------------------------------------------------------------------------


def test_a_hit_does_not_run_the_function() -> None:
    f = Counted(lambda x, y: xp.sum(xp.sin(x) * y, axis=0))
    c = compile(f)
    x, y = arr(3, 4), arr(4)
    same(c(x, y), f.fun(x, y))
    for _ in range(3):
        x, y = arr(3, 4), arr(4)
        same(c(x, y), f.fun(x, y))
    assert f.runs == 1
    assert c.cache_info() == CacheInfo(hits=3, misses=1, fallbacks=0, maxsize=64, currsize=1)


def test_kinds_differ_by_shape_dtype_structure_and_static_values() -> None:
    f = Counted(lambda x, how: -x if how == "neg" else x)
    c = compile(f)
    for args in [
        (arr(3), "neg"),
        (arr(4), "neg"),
        (arr(3, dtype=np.float32), "neg"),
        (arr(3), "id"),
        (rng.normal(size=3), "neg"),
    ]:
        same(c(*args), xp.asarray(f.fun(*args)))
        same(c(*args), xp.asarray(f.fun(*args)))
    assert f.runs == 5
    assert c.cache_info()[:2] == (5, 5)
    g = compile(Counted(lambda tree: tree))
    g({"a": arr(3)})
    g({"b": arr(3)})
    g([arr(3)])
    assert g.cache_info().misses == 3


def test_numbers_are_what_the_function_sees() -> None:
    f = Counted(lambda x, n: (x * n, type(n)))
    c = compile(f)
    x = arr(3, dtype=np.float32)
    for n in [2, 2.0, True, 2j, 0.0, -0.0, 1, float("nan")]:
        for _ in range(2):
            got, kind = c(x, n)
            same(got, x * n)
            assert kind is type(n)


def test_structures_in_and_out() -> None:
    Pair = namedtuple("Pair", "left right")

    @dataclass
    class Layer:
        w: Any
        name: str

    def f(d: Any, p: Any, layer: Any, *rest: Any, scale: Any = None) -> Any:
        total = d["x"] + p.left @ layer.w
        if scale is not None:
            total = total * scale
        for r in rest:
            total = total + r
        return {"total": total, "name": layer.name, 3: (1, "two", None, [p.right]), "pair": Pair(total, 0)}

    c = compile(f)
    for _ in range(3):
        args = ({"x": arr(2)}, Pair(arr(3), arr(1)), Layer(arr(3, 2), "l"), arr(2), arr(2))
        same(c(*args), f(*args))
        k = arr()
        same(c(*args, scale=k), f(*args, scale=k))
    assert c.cache_info().misses == 2


def test_keyword_arguments_in_any_order() -> None:
    f = Counted(lambda *, a, b: a - b)
    c = compile(f)
    x, y = arr(3), arr(3)
    same(c(a=x, b=y), x - y)
    same(c(b=y, a=x), x - y)
    assert f.runs == 1


def test_outputs_that_do_not_depend_on_the_arguments() -> None:
    constant = arr(3)
    host = np.arange(3)
    c = compile(lambda x: (x.shape[0], constant, "s", None, xp.zeros(2), host, x))
    first, x = c(arr(3)), arr(3)
    got = c(x)
    assert got[0] == 3
    same(got[1:5], first[1:5])
    same(got[6], x)
    assert (got[5] == host).all()
    # What comes out is the caller's: a change to it does not show in the next result.
    got[1][0] = 100.0
    got[4][0] = 100.0
    got[5][0] = 100
    again = c(x)
    same(again[1:5], first[1:5])
    assert again[5][0] == 0


def test_one_array_in_two_places() -> None:
    f = Counted(lambda x, y: (x - y, x, x))
    c = compile(f)
    x, y = arr(3), arr(3)
    same(c(x, x), f.fun(x, x))
    same(c(x, y), f.fun(x, y))
    a, b = c(x, y)[1:]
    a[0] = 7.0
    assert float(b[0]) != 7.0
    assert float(x[0]) != 7.0
    assert f.runs == 1


def test_pending_arguments_and_views() -> None:
    f = Counted(lambda x: xp.sum(x * x))
    c = compile(f)
    x = arr(4, 6)
    for make in (lambda: x + 1, lambda: x * 2 - 1, lambda: x[:, :], lambda: xp.reshape(x, (4, 6))):
        same(c(make()), f.fun(make()))
    assert f.runs == 1
    view = x[1:3]
    got = compile(lambda v: v * 2)
    got(view)
    x[1, 0] = 50.0  # the view sees it
    assert float(got(view)[0, 0]) == 100.0


def test_results_are_not_changed_with_numpys_arguments() -> None:
    c = compile(lambda x: (x.T, x))
    a = np.arange(6.0).reshape(2, 3)
    c(a)
    got = c(a)
    a[0, 0] = 99
    assert float(got[0][0, 0]) == 0
    assert float(got[1][0, 0]) == 0


def test_scalars_of_numpy_and_odd_memory() -> None:
    f = Counted(lambda x: xp.exp(x) + 1)
    c = compile(f)
    same(c(np.float32(2)), f.fun(xp.asarray(np.float32(2))))
    same(c(np.float32(3)), f.fun(xp.asarray(np.float32(3))))
    a = rng.normal(size=(4, 6))
    for b in (a, a[:, ::-1], np.asfortranarray(a)):
        same(c(b), f.fun(xp.asarray(b)))
    big = a.astype(">f8")
    same(c(big), f.fun(xp.asarray(a)))
    assert f.runs == 2 + (big.dtype != a.dtype)


# -- the function's identity ---------------------------------------------------------------------------


def test_methods_partials_lambdas_and_callable_objects() -> None:
    class Model:
        def __init__(self, k: float) -> None:
            self.k = k

        @compile
        def scaled(self, x: Any) -> Any:
            """Scale."""
            return x * self.k

    two, three, x = Model(2.0), Model(3.0), arr(3)
    for _ in range(2):
        same(two.scaled(x), x * 2.0)
        same(three.scaled(x), x * 3.0)
    assert Model.scaled.cache_info().misses == 2
    assert Model.scaled.__name__ == "scaled"
    assert "Scale." in Model.scaled.__doc__
    for k in range(20):  # a function that is gone must not be taken for the next one
        c = compile(functools.partial(lambda k, x: x * k, k))
        same(c(x), x * k)
        same(c(x), x * k)
    apply = compile(lambda f, x: f(x))
    for k in range(20):
        same(apply(lambda x, k=k: x + k, x), x + k)

    class Callable_:
        def __call__(self, x: Any) -> Any:
            return -x

    same(compile(Callable_())(x), -x)


def test_as_decorator_with_arguments() -> None:
    @compile(maxsize=2)
    def f(x: Any) -> Any:
        return x + 1

    for n in (1, 2, 3, 1):
        f(arr(n))
    assert f.cache_info() == CacheInfo(0, 4, 0, 2, 2)
    f(arr(1))
    f(arr(3))
    assert f.cache_info().hits == 2
    f.clear_cache()
    assert f.cache_info() == CacheInfo(0, 0, 0, 2, 0)
    with pytest.raises(TypeError, match="needs a function"):
        compile(3)


def test_the_one_not_used_for_longest_goes() -> None:
    f = compile(lambda x: x + 1, maxsize=2)
    for n in (1, 2, 1, 3, 1):
        f(arr(n))
    assert f.cache_info()[:2] == (2, 3)
    nothing = compile(lambda x: x + 1, maxsize=0)
    same(nothing(x := arr(3)), x + 1)
    nothing(x)
    assert nothing.cache_info() == CacheInfo(0, 2, 0, 0, 0)


# -- static arguments ----------------------------------------------------------------------------------


def test_static_arguments() -> None:
    f = Counted(lambda x, axes, mode="sum": getattr(xp, mode)(x, axis=axes))
    f.__signature__ = inspect.signature(f.fun)  # type: ignore[attr-defined]
    c = compile(f, static_argnums=1, static_argnames="mode")
    x = arr(3, 4)
    for axes in ((0,), (1,), (0, 1)):
        for mode in ("sum", "max"):
            same(c(x, axes, mode), f.fun(x, axes, mode))
            same(c(x, axes, mode=mode), f.fun(x, axes, mode))
            same(c(x, axes=axes, mode=mode), f.fun(x, axes, mode))
    with pytest.raises(TypeError, match=r"argument 1 is static and must be hashable.*list"):
        c(x, [0])
    with pytest.raises(TypeError, match=r"argument 1 is or holds no array.*hashable.*set"):
        compile(lambda x, y: x)(x, {1})


def test_bad_options() -> None:
    def f(x: Any, y: Any) -> Any:
        return x

    with pytest.raises(ValueError, match="maxsize must be a number of programs from 0 on, not -1"):
        compile(f, maxsize=-1)
    with pytest.raises(ValueError, match="backend must be None or one of auto, host, max, not 'gpu'"):
        compile(f, backend="gpu")
    with pytest.raises(ValueError, match="static_argnums 2 is out of range"):
        compile(f, static_argnums=2)
    with pytest.raises(ValueError, match="static_argnames 'z' names no parameter"):
        compile(f, static_argnames="z")
    with pytest.raises(ValueError, match="dynamic_dims 'z' names no parameter"):
        compile(f, dynamic_dims={"z": {0: "n"}})
    with pytest.raises(TypeError, match="dynamic_dims"):
        compile(f, dynamic_dims={0: "n"})
    with pytest.raises(TypeError, match="dynamic_dims"):
        compile(f, dynamic_dims={0: {0: 3}})
    with pytest.raises(ValueError, match=r"gives argument 0 an axis 2.*shape \(3,\)"):
        compile(f, dynamic_dims={0: {2: "n"}})(arr(3), arr(3))


# -- looks at values -----------------------------------------------------------------------------------

LOOKS: dict[str, Callable[[Any], Any]] = {
    "bool": lambda x: x if xp.sum(x) > 0 else -x,
    "float": lambda x: x * float(xp.sum(x)),
    "int": lambda x: x * int(xp.sum(x)),
    "index": lambda x: x[int(xp.argmax(x))],
    "numpy": lambda x: xp.asarray(np.asarray(x) + 1),
    "item": lambda x: x.tolist(),
    "repr": lambda x: (x, repr(x)),
    "nonzero": lambda x: xp.nonzero(x)[0],
    "mask": lambda x: x[x > 0],
    "unique": lambda x: xp.unique_values(x),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_function_that_looks_is_run_each_time(name: str) -> None:
    f = Counted(LOOKS[name])
    c = compile(f)
    for _ in range(3):
        x = arr(5)
        same(c(x), f.fun(x))
    assert f.runs == 3
    assert c.cache_info() == CacheInfo(0, 0, 3, 64, 0)
    strict = compile(f.fun, fullgraph=True)
    with pytest.raises(TypeError, match=r"fullgraph=True.*test_compile\.py:\d+"):
        strict(arr(5))


def test_looks_at_what_does_not_depend_on_the_arguments_do_no_harm() -> None:
    k = xp.asarray(2.0)
    c = compile(lambda x: x * float(k), fullgraph=True)
    x = arr(3)
    same(c(x), x * 2.0)
    same(c(x), x * 2.0)
    assert c.cache_info().hits == 1


def test_fullgraph_cannot_be_caught_inside() -> None:
    def f(x: Any) -> Any:
        try:
            return x * float(x[0])
        except TypeError:
            return x

    with pytest.raises(TypeError, match="fullgraph"):
        compile(f, fullgraph=True)(arr(3))


def test_errors_of_the_function_come_through_and_nothing_is_kept() -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    c = compile(f)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            c(arr(3))
    assert c.cache_info().currsize == 0


def test_errors_of_the_data_come_where_somebody_looks() -> None:
    c = compile(xp.linalg.inv)
    close(c(xp.asarray([[2.0]])), [[0.5]])
    out = c(xp.asarray([[0.0]]))
    with pytest.raises(np.linalg.LinAlgError, match="inv"):
        print(out)
    close(c(xp.asarray([[4.0]])), [[0.25]])


# -- changes in place ----------------------------------------------------------------------------------


def set_first(x: Any, y: Any) -> Any:
    x[0] = y[0]
    y *= 2.0
    return x + y


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "some": set_first,
    "constant": lambda x, y: x.__setitem__(slice(None), 3.0),
    "all of it": lambda x, y: x.__setitem__(Ellipsis, y),
    "through a view": lambda x, y: x[1:].__iadd__(y[1:]),
    "twice": lambda x, y: (x.__imul__(2.0), x.__iadd__(1.0))[0] * y,
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("kind", ["array", "view", "numpy"])
def test_changes_in_place_are_seen_outside(name: str, kind: str) -> None:
    make = {
        "array": lambda a: xp.asarray(a),
        "view": lambda a: xp.asarray(np.stack([a, a]))[1],
        "numpy": lambda a: a.copy(),
    }[kind]
    f = Counted(WRITES[name])
    c = compile(f)
    for _ in range(3):
        a, b = rng.normal(size=4), rng.normal(size=4)
        x, y = make(a), make(b)
        wanted_x, wanted_y = xp.asarray(a), xp.asarray(b)
        wanted = f.fun(wanted_x, wanted_y)
        got = c(x, y)
        if isinstance(wanted, xp.Array):
            same(got, wanted)
        same(xp.asarray(x), wanted_x)
        same(xp.asarray(y), wanted_y)
    assert f.runs == 1


@pytest.mark.parametrize("warm", [False, True])
def test_arguments_that_share_elements_and_are_changed(warm: bool) -> None:
    c = compile(set_first)
    if warm:
        c(arr(3), arr(3))
    a = rng.normal(size=6)
    for make in (lambda x: (x, x), lambda x: (x[:3], x[2:5]), lambda x: (x[1:5], x[1:5])):
        x, wanted = xp.asarray(a), xp.asarray(a)
        same(c(*make(x)), set_first(*make(wanted)))
        same(x, wanted)


def test_the_views_base_is_changed_too() -> None:
    def f(x: Any) -> None:
        x += 1.0

    c = compile(f)
    for _ in range(2):
        base = xp.asarray(np.zeros((3, 2)))
        c(base[1])
        close(base, [[0, 0], [1, 1], [0, 0]])


def test_a_captured_array_that_is_changed_is_changed_each_time() -> None:
    total, rows = arr(3) * 0, arr(2, 3) * 0

    def f(x: Any) -> Any:
        nonlocal total
        own = xp.zeros(3)
        own[0] = x[0]  # this one is the function's
        view = own[1:]
        view += x[1:]
        total += x
        rows[1] += x
        return own, view

    c = compile(f)
    for i in range(1, 4):
        same(c(xp.ones(3))[0], xp.ones(3))
        close(total, [i] * 3)
        close(rows, [[0] * 3, [i] * 3])
    assert c.cache_info()[:3] == (0, 0, 3)
    with pytest.raises(TypeError, match=r"nor made by the function \(.*test_compile\.py:\d+"):
        compile(f, fullgraph=True)(xp.ones(3))

    def own(x: Any) -> Any:
        out = xp.zeros(4)
        out[1:] = x
        inside = out[:2]
        inside += 1.0
        return out[1:], inside

    d = compile(own)
    for _ in range(3):
        x = arr(3)
        same(d(x), own(x))
    assert d.cache_info()[:3] == (2, 1, 0)


# -- values of all sizes -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 100, 1000, 200_000])
def test_small_medium_and_large_values(n: int) -> None:
    def f(x: Any, y: Any) -> Any:
        z = xp.exp(-x * x) + y
        z = z * 2 - xp.flip(z)
        z[1:] += z[:-1]
        return z, xp.sum(z), xp.cumulative_sum(z) * xp.where(x > 0, 1.0, y), z > 0

    c = compile(f)
    for _ in range(3):
        x, y = arr(n), arr(n)
        same(c(x, y), f(x, y))


OPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x * y - x,
    lambda x, y: x * 1 + y / 1,
    lambda x, y: xp.maximum(x, y),
    lambda x, y: xp.where(x > y, x, 2),
    lambda x, y: xp.sum(x, axis=0, keepdims=True) + y,
    lambda x, y: xp.max(x, axis=-1, keepdims=True) * y,
    lambda x, y: x.T.reshape(x.shape) + y,
    lambda x, y: xp.flip(x, axis=0) + xp.astype(y > 0, x.dtype),
    lambda x, y: xp.matmul(x, y.T) @ y,
    lambda x, y: xp.mean(x) + y,
    lambda x, y: xp.mean(x, axis=0) + y,
    lambda x, y: xp.broadcast_to(xp.sum(y, axis=1)[:, None], x.shape) + xp.zeros(x.shape, dtype=x.dtype),
    lambda x, y: xp.concat([x, y])[: x.shape[0]] - 1,
    lambda x, y: xp.floor_divide(x, y + 3) + xp.square(x),
    lambda x, y: xp.cumulative_sum(x, axis=1),
    lambda x, y: (x + 0).__setitem__(0, y[0]) or x,
    lambda x, y: -xp.zeros(x.shape, dtype=x.dtype) * y,
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, len(OPS) - 1), min_size=1, max_size=8),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.sampled_from([np.float32, np.float64, np.int32, np.complex128]),
    st.integers(0, 2**31),
)
def test_random_programs(ops: list[int], shape: tuple[int, int], dtype: Any, seed: int) -> None:
    """The straight line has the bits of evaluation, whatever is folded, broadcast or written over."""
    numbers = np.random.default_rng(seed)
    if dtype is np.complex128:
        ops = [i for i in ops if i not in (3, 4, 6, 8, 14)]
    if dtype is np.int32:
        ops = [i for i in ops if i not in (2, 10, 11, 14)]

    def f(x: Any, y: Any) -> Any:
        kept = []
        for k, i in enumerate(ops):
            x, y = OPS[i](x, y), x
            if k % 2:
                kept.append(x)
        return x, y, kept

    c = compile(f)
    for _ in range(2):
        a, b = (xp.asarray((numbers.normal(size=shape) * 3).astype(dtype)) for _ in range(2))
        same(c(a, b), f(a, b))
    assert c.cache_info().hits == 1


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (5, 1), (1, 7), (2, 3, 4)])
def test_sums_of_what_rows_are_reduced_for(shape: tuple[int, ...], axis: int | None) -> None:
    """A loop over rows adds in the order in which NumPy adds the whole, and begins with zero as that does."""
    f = lambda x, y: (xp.sum(xp.max(x, axis=-1, keepdims=True) * y, axis=axis), xp.max(y))  # noqa: E731
    c = compile(f)
    numbers = np.random.default_rng(0)
    for _ in range(10):
        x, y = (xp.asarray(numbers.normal(size=shape)) for _ in range(2))
        same(c(x, y), f(x, y))
    x, y = xp.asarray(np.full(shape, -0.0)), xp.ones(shape)
    same(c(x, y), f(x, y))
    assert not np.signbit(np.asarray(c(x, y)[0])).any()


def test_long_programs() -> None:
    def f(x: Any) -> Any:
        for _ in range(3000):
            x = x + 1
        return x

    c = compile(f)
    for _ in range(2):
        close(c(xp.asarray(0.0)), 3000.0)


def test_modes() -> None:
    f = lambda x: xp.sin(x) + xp.sum(x)  # noqa: E731
    x = arr(5)
    c = compile(f, backend="host")
    same(c(x), f(x))
    same(c(x), f(x))
    plain = compile(f)
    with xp.config(mode="host"):
        same(plain(x), f(x))
        same(plain(x), f(x))
    same(plain(x), f(x))
    assert plain.cache_info()[:2] == (2, 1)


def test_lower_shows_the_program() -> None:
    c = compile(lambda x, n: xp.sin(x) * n)
    text = str(c.lower(arr(3), 2))
    assert "sin(%0)" in text
    assert "float64[3]" in text
    assert c.cache_info().misses == 0
    assert f"sin: {'Python' if compiled is None else 'compiled'}" in c.lower(arr(3), 2).as_text()
    with pytest.raises(TypeError, match="fullgraph"):
        compile(lambda x: float(x[0])).lower(arr(3))


def test_many_threads() -> None:
    f = lambda x, k: xp.sum(xp.sin(x) * k)  # noqa: E731
    c = compile(f, maxsize=4)
    inputs = [arr(n) for n in range(1, 9)]
    wanted = [float(f(x, 2.0)) for x in inputs]
    slopes = [np.asarray(grad(f)(x, 2.0)) for x in inputs]
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        order = np.random.default_rng(seed).integers(0, 8, 60)
        try:
            for i in order:
                assert float(c(inputs[i], 2.0)) == wanted[i]
                if i % 3 == 0:
                    close(grad(c)(inputs[i], 2.0), slopes[i])
        except BaseException as error:  # told to the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors[0]
    info = c.cache_info()
    assert info.currsize <= 4
    assert info.hits + info.misses == 8 * 60 + sum(
        int((np.random.default_rng(k).integers(0, 8, 60) % 3 == 0).sum()) for k in range(8)
    )


def test_a_view_of_a_number() -> None:
    c = compile(lambda x: xp.sqrt(xp.sum(x)[()]))
    for k in range(1, 4):
        close(c(xp.full(4, float(k * k))), 2.0 * k)
