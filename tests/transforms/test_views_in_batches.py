"""Views of arrays that come to differ between examples when they are written to, against a loop in NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms as t
from nabla_array.transforms import vmap

pytestmark = [
    pytest.mark.filterwarnings("ignore::nabla_array.transforms.SplitWarning"),
    # NumPy's own arrays, which do the same, warn from 2.5 on.
    pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning"),
]

I = np.array([0, 2])  # noqa: E741
X = np.arange(6.0).reshape(3, 2) - 2.5

# Of NumPy or us, an index and a row that an example has, and views that are read after a write to the whole.
PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {}


def program(f: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


@program
def a_row_that_an_index_chose(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros((3, 2))
    row = whole[i]
    whole += x
    return row * 1


@program
def both_written(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros((3, 2))
    row = whole[i]
    row += x
    whole *= 2
    return whole + row


@program
def another_shape(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros((3, 2))
    row = whole[i]
    whole[0] = x
    whole.shape = (2, 3)
    row[0] += 1
    return whole * 1


@program
def a_part_of_a_view(m: Any, i: Any, x: Any) -> Any:
    view = (m.ones(6) * 1).reshape(3, 2)
    view[...] = i * 1.0
    return view[1:] * 1


@program
def an_element(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros(4)
    view = whole[1:]
    whole[...] = x[0]
    return view[0] * 1 + view[i]


@program
def a_mask(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros(2)
    mask = (whole == 0)[::-1]
    base = mask.base if mask.base is not None else mask
    base[...] = x > 0
    return m.where(mask, x, -x)


@program
def a_value(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros(3)
    view = whole[1:]
    whole[1] = x[0]
    return x * float(view[0]) + len(str(view.tolist())) * 0 + np.asarray(view)[0]


@program
def an_index(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros(2, dtype=int)
    place = whole[1:]
    whole[...] = i % 2
    return x[place[0]] + m.arange(3)[place]


@program
def what_is_written_elsewhere(m: Any, i: Any, x: Any) -> Any:
    whole, other = m.zeros(3), m.ones((2, 2))
    view = whole[1:]
    whole[1] = x[0]
    other[1] = view
    other[0] += view
    return other


@program
def written_through_a_view(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros((2, 3))
    view = whole.T[::-1]
    whole[0] = x[0]
    view[0] = 7
    view[1:, 1] += x
    return whole + view.T


@program
def a_loops_argument(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros(3)
    view = whole[1:]
    whole[1] = x[0]
    if m is np:
        return view.sum() + np.cumsum(view)
    total, sums = t.scan(lambda s, v: (s + v, s + v), 0.0, view)
    return total + sums


@program
def a_derivatives_argument(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros(3)
    view = whole[1:]
    whole[1] = x[0]
    return 2 * view if m is np else t.grad(lambda v: m.sum(v * v))(view)


@program
def an_inner_batch(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros(3)
    view = whole[1:]
    whole[1] = x[0]
    return view * 3 if m is np else vmap(lambda v: v * 3)(view)


@program
def shared_memory(m: Any, i: Any, x: Any) -> Any:
    whole = m.zeros((3, 2))
    shared = [m.shares_memory(whole[i], whole[k]) for k in range(3)]
    return m.asarray(shared) + (x[0] - x[0])


def loop(f: Callable[[Any, Any, Any], Any]) -> np.ndarray:
    return np.array([[f(np, int(i), x.copy()) for x in X] for i in I])


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)


def check(f: Callable[[Any, Any, Any], Any]) -> None:
    wanted = loop(f)
    body = lambda i, x: f(xp, i, x)  # noqa: E731
    inner, outer = vmap(body, (None, 0)), vmap(body, (0, None))
    i, x = xp.asarray(I), xp.asarray(X)
    close(vmap(inner, (0, None))(i, x), wanted)
    close(vmap(outer, (None, 0), out_axes=1)(i, x), wanted)
    close(vmap(lambda i: body(i, x[1]))(i), wanted[:, 1])
    close(vmap(lambda x: body(2, x))(x), wanted[1])
    close(t.compile(vmap(inner, (0, None)))(i, x), wanted)
    close(t.map(lambda k: inner(k, x), i), wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_views_see_what_is_written_for_each_example(name: str) -> None:
    check(PROGRAMS[name])


def _random(seed: int) -> Callable[[Any, Any, Any], Any]:
    """Return a program of views, and of writes to them and to what they are of."""

    def f(m: Any, i: Any, x: Any) -> Any:
        rng = random.Random(seed)
        arrays = [m.zeros((3, 2)), (x * 1)[None] * m.ones((3, 1)), m.arange(6.0).reshape(3, 2)]
        for _ in range(rng.randint(2, 8)):
            a = arrays[rng.randrange(len(arrays))]
            value = [x.sum(), x[0], 2.5, i * 1.0][rng.randrange(4)]
            step, place = rng.choice("srtgGwepbmSc"), rng.random()
            if not a.shape:
                continue
            k = i % a.shape[0] if place < 0.5 else int(place * 100) % a.shape[0]
            if step == "s" and a.shape[0] > 1:
                arrays.append(a[1:])
            elif step == "r":
                arrays.append(a[::-1])
            elif step == "t":
                arrays.append(a.T)
            elif step == "g" and a.ndim == 2:
                arrays.append(a[k])
            elif step == "G" and a.ndim == 2:
                arrays.append(a[:, i % a.shape[1]])
            elif step == "w":
                a[...] = value
            elif step == "e":
                a[k] = value
            elif step == "p":
                a += value
            elif step == "b":
                a[k] += value
            elif step == "m":
                a *= 1.5
            elif step == "S" and a.ndim == 2 and a.base is None:
                a.shape = a.shape[::-1]
            elif step == "c":
                arrays.append(a.copy())
        return sum((k + 1) * a.sum() + a.reshape(-1)[0] for k, a in enumerate(arrays))

    return f


@pytest.mark.parametrize("seed", range(60))
def test_random_views_and_writes(seed: int) -> None:
    check(_random(seed))


def test_a_view_is_described_as_what_it_has_become() -> None:
    def f(x: Any) -> Any:
        whole = xp.zeros(3)
        view = whole[1:]
        whole[1] = x[0]
        for text in (repr(view), str(view), f"{view}"):
            assert text == "<float64 array of shape (2,) in a batch of 3>"
        return view

    vmap(f, strict=True)(xp.asarray(X))
