"""Reductions and scans: kinks, dtypes, and where the extremes are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import aval_of
from nabla_array._lazy.graph.node import leaf
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.ops import reduction as r
from nabla_array._lazy.ops.creation import fill_like
from nabla_array._lazy.ops.structure import broadcast
from nabla_array._lazy.run.evaluator import value_of

from ..execution import assert_same
from ..registry import random
from ..rules.test_autodiff import pulled

INF, NAN = np.inf, np.nan
# A primitive, its params, an operand, and the gradient of the sum of the results. JAX has the same (0.10.2).
KINKS = [
    (r.reduce_max, {"axes": (0,)}, [1.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
    (r.reduce_min, {"axes": (0,)}, [0.0, -0.0, 3.0], [0.5, 0.5, 0.0]),
    (r.reduce_max, {"axes": (0,)}, [INF, INF], [0.5, 0.5]),
    (r.reduce_max, {"axes": (0,)}, [NAN, 1.0], [NAN, NAN]),
    (r.reduce_prod, {"axes": (0,)}, [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    (r.reduce_prod, {"axes": (0,)}, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    (r.cumprod, {"axis": 0}, [0.0, 2.0, 3.0], [9.0, 0.0, 0.0]),
    (r.cumprod, {"axis": 0}, [2.0, 0.0, 0.0], [1.0, 2.0, 0.0]),
    (r.reduce_prod, {"axes": (0,)}, [INF, 2.0], [2.0, INF]),
    (r.cumprod, {"axis": 0}, [0.0, 0.0, 3.0], [1.0, 0.0, 0.0]),
    (r.cumsum, {"axis": 0}, [INF, 2.0, NAN], [3.0, 2.0, 1.0]),
]


@pytest.mark.parametrize(("prim", "params", "x", "wanted"), KINKS, ids=str)
def test_kinks(prim: Primitive, params: dict[str, Any], x: Any, wanted: Any) -> None:
    (got,) = pulled(lambda xs: [prim(*xs, **params)], [leaf(np.array(x))])
    np.testing.assert_allclose(value_of(got), wanted, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("char", "bHefF")
def test_scans_stay_in_their_dtype(char: str) -> None:
    """NumPy would add small integers in larger ones."""
    x = random(char, 5, 3)
    for prim, ufunc in ((r.cumsum, np.add), (r.cumprod, np.multiply)):
        wanted = x.copy()
        with np.errstate(over="ignore"):
            for k in range(1, 5):
                wanted[k] = ufunc(wanted[k - 1], x[k])
            assert_same(prim.host(x, axis=0), wanted, exact=char != "F")


@pytest.mark.parametrize(("prim", "beyond"), [(r.argmax, 9.0), (r.argmin, -9.0)], ids=str)
def test_the_first_extreme_counts_and_nan_is_beyond_all(prim: Primitive, beyond: float) -> None:
    x = np.array([[0.0, beyond, beyond], [NAN, beyond, NAN], [0.0, -0.0, 0.0]])
    assert_same(prim.host(x, axis=1), np.array([1, 0, 0]))


def test_true_elements_are_counted_over_any_axes() -> None:
    x = np.array([[NAN, 0.0, -0.0], [INF, 1.0, 0.0]])
    for axes, wanted in (((), x != 0), ((0,), [2, 1, 0]), ((1,), [1, 2]), ((0, 1), 3)):
        out = r.reduce_count.host(x, axes=axes)
        assert_same(out, np.asarray(wanted, np.intp))
        assert r.reduce_count.aval(aval_of(x.shape, x.dtype), axes) is aval_of(out.shape, out.dtype)


def test_a_broadcast_and_a_sum_are_transposes() -> None:
    """Axes of size 1, new ones and such that stay; of a literal only a literal comes."""
    x = leaf(random("d", 3, 1))
    ct = leaf(random("d", 2, 3, 4))
    (back,) = pulled(lambda xs: [broadcast(*xs, shape=(2, 3, 4), axes=(1, 2))], [x], [ct])
    np.testing.assert_allclose(value_of(back), value_of(ct).sum((0, 2))[:, None])
    (forth,) = pulled(lambda xs: [r.reduce_sum(*xs, axes=(0, 2))], [ct], [leaf(random("d", 3))])
    np.testing.assert_array_equal(value_of(forth), np.broadcast_to(random("d", 3)[:, None], (2, 3, 4)))
    (ones,) = pulled(lambda xs: [r.reduce_sum(*xs, axes=(0, 2))], [ct])
    assert ones is fill_like(ct, 1)
