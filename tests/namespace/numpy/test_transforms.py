"""NumPy's names under transforms: derivatives against differences, batches against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import grad, vmap

from .comparing import run

# Expressions of a smooth x (2 x 3, no two elements alike, none near a kink).
SMOOTH = """
np.append(x, x * 2)
np.hstack([x, x])
np.vstack([x, x[0]])
np.column_stack([x, x[:, 0]])
np.block([[x, x], [x, x]])
np.stack(np.split(x, 3, axis=1))
np.delete(x, 1, axis=1)
np.insert(x, 1, x[:, 0] * 2, axis=1)
np.resize(x, (4, 2))
np.rot90(x)
np.select([x > 0, x < -1], [x, x * x], 7.0)
np.choose([[0, 1, 0], [1, 0, 1]], [x, x * x])
np.piecewise(x, [x < 0, x >= 0], [lambda a: a * a, lambda a: a * 3])
np.diagonal(x)
np.trace(x)
np.extract([[1, 0, 1], [0, 1, 0]], x)
np.take(x, [0, 5, 9], mode="wrap")
np.partition(x, 1)[:, 1]
np.apply_along_axis(lambda a: a * a[0], 1, x)
np.diag(x)
np.diag(x[0], 1)
np.diagflat(x)
np.vander(x[0], 4)
np.tril(x)
np.sinc(x)
np.i0(x)
np.nan_to_num(x)
np.ediff1d(x, to_end=x[0, 0])
np.gradient(x, axis=1)
np.gradient(x[0], [0.0, 1.0, 3.0], edge_order=2)
np.trapezoid(x, [0.0, 1.0, 3.0])
np.unwrap(x)
np.interp(x, [-5.0, 0.1, 5.0], [1.0, 4.0, 2.0])
np.interp([0.3, 1.2], [0.0, 1.0, 2.0], x[0])
np.vectorize(lambda a: a * a if a > 1 else 3 * a)(x)
np.vectorize(lambda a, c: (a * c).sum(), signature="(n),(n)->()")(x, x[0])
np.convolve(x[0], x[1])
np.correlate(x[0], x[1], "full")
np.clip(x, -1, 1)
np.cumsum(x)
np.cumprod(x, axis=1)
np.mean(x, axis=1, where=[[True, True, False]])
np.std(x, axis=1, ddof=1)
np.var(x, where=[[True, True, False]])
np.average(x, axis=1, weights=[1.0, 2.0, 3.0])
np.average(x * x, weights=x * x)
np.median(x, axis=1)
np.quantile(x, [0.2, 0.7], axis=0)
np.percentile(x, 30)
np.ptp(x, axis=0)
np.cov(x)
np.corrcoef(x)
np.bincount([0, 1, 1], weights=x[0])
np.histogram([0.5, 1.5, 2.5], bins=2, weights=x[0])[0]
np.nansum(x, axis=1)
np.nanmean(x, axis=0)
np.nanvar(x, axis=1)
np.nanmax(x, axis=1)
np.nanstd(x)
np.nanquantile(x, 0.3, axis=1)
np.nanmedian(x)
np.dot(x, x.T)
np.inner(x, x)
np.outer(x, x)
np.vdot(x, x)
np.kron(x, x)
np.cross(x, x[::-1])
np.einsum("ij,kj->ik", x, x)
np.einsum("ij,ij->", x, x)
np.einsum("ij,kj,il->kl", x, x, x)
np.linalg.norm(x)
np.linalg.norm(x, axis=1)
np.linalg.norm(x, "nuc")
np.linalg.cond(x)
np.linalg.lstsq(x.T, np.ones(3))[0]
np.linalg.multi_dot([x, x.T, x])
np.polyval(x[0], x[1])
np.polyfit([0.0, 1.0, 2.0], x[0], 1)
np.polymul(x[0], x[1])
np.pad(x, 1, mode="reflect")
np.pad(x, 2, "linear_ramp")
np.pad(x, 1, "mean")
np.unique(x)
np.unique(x, return_counts=True)[0]
np.intersect1d(x, x[0])
np.argpartition(x, 1) * x
np.partition(x, (0, 2), axis=1)
np.partition(x, 3, axis=None)[3:4]
np.lib.stride_tricks.sliding_window_view(x, (1, 2))
np.fmax(x, -x)
np.fmin(x, x * x)
np.fmod(x, 0.7)
np.float_power(x * x, 1.5)
np.logaddexp2(x, 1.0)
np.deg2rad(x)
np.frexp(x)[0]
np.modf(x)[0]
np.ldexp(x, 3)
np.heaviside(0.0, x)
np.add(x, x, where=[[True, False, True]], out=np.zeros((2, 3)))
np.multiply.reduce(x, axis=1)
np.maximum.accumulate(x, axis=1)
np.multiply.outer(x[0], x[1])
np.logaddexp.reduce(x)
np.add.reduceat(x, [0, 2], axis=1)
"""
X = np.array([[0.31, -1.27, 2.13], [1.74, -0.55, 0.86]])
W = np.random.default_rng(0).uniform(0.5, 1.5, 100)


def weighted(call: str, namespace: Any, x: Any) -> Any:
    """Return a scalar that depends on every element of a call's result."""
    y = run(call, namespace, {"x": x}) * 1.0
    return (namespace.reshape(y, (-1,)) * W[: y.size]).sum()


# These look at elements, or order them, one example at a time.
calls = pytest.mark.parametrize("call", SMOOTH.strip().splitlines())


@calls
def test_a_derivative_is_that_of_differences(call: str) -> None:
    mine = grad(lambda x: weighted(call, xp, x))(xp.asarray(X))
    for i in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[i] = 1e-6
        slope = (weighted(call, np, X + step) - weighted(call, np, X - step)) / 2e-6
        np.testing.assert_allclose(float(mine[i]), slope, 1e-5, 1e-6, err_msg=f"{call} at {i}")


@calls
def test_a_batch_is_a_loop(call: str) -> None:
    batch = np.stack([X, X[::-1] * 1.1])
    mine = vmap(lambda x: weighted(call, xp, x))(xp.asarray(batch))
    np.testing.assert_allclose(np.asarray(mine), [weighted(call, np, x) for x in batch], 1e-9, 1e-12)
