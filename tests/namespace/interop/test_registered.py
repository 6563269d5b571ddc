"""What libraries are told of our arrays in their own ways."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.interop import registered
from nabla_array.transforms import grad

V = np.array([3.0, 1.0, 2.0])


def test_json_has_the_numbers_that_it_has_of_numpys() -> None:
    x = xp.asarray(V)
    for indent in (None, 1):
        assert json.dumps({"a": [x.sum(), x[1]]}, indent=indent) == json.dumps(
            {"a": [6.0, 1.0]}, indent=indent
        )
    assert json.dumps(x * xp.inf, default=lambda a: a.tolist()) == "[Infinity, Infinity, Infinity]"
    for indent in (None, 1):  # a program's own `default` is asked for none of them
        assert json.loads(json.dumps([x[1], xp.arange(3)[2], {1}], default=str, indent=indent)) == [
            1.0,
            "2",
            "{1}",
        ]
    for other in (x, x.astype(xp.float32)[0], xp.arange(2)[1]):
        with pytest.raises(TypeError, match=r"not JSON serializable; x\.tolist\(\)"):
            json.dumps(other)
    with pytest.raises(TypeError, match="Object of type set is not"):
        json.dumps({1})


def test_simplejson_has_the_numbers_that_it_has_of_numpys() -> None:
    simplejson = pytest.importorskip("simplejson", reason="simplejson is optional")
    x = xp.asarray(V)
    assert simplejson.dumps({"a": [x.sum(), x[1]]}) == simplejson.dumps({"a": [V.sum(), V[1]]})
    for other in (x, xp.arange(2)[1]):
        with pytest.raises(TypeError, match=r"not JSON serializable; x\.tolist\(\)"):
            simplejson.dumps(other)


def test_joblib_finds_what_it_remembers(tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib", reason="joblib comes with scikit-learn")
    x = xp.asarray(V)
    for ours, numpys in ((x, V), (x[::2], V[::2].copy()), (x[1], V[1]), ({"a": [x, x[0]]}, {"a": [V, V[0]]})):
        assert joblib.hash(ours) == joblib.hash(numpys)
    assert joblib.hash(x) != joblib.hash(x + 1)
    calls = []

    def double(a: Any) -> Any:
        calls.append(a)
        return a * 2

    remembered = joblib.Memory(tmp_path, verbose=0).cache(double)
    assert remembered(x).tolist() == remembered(x.copy()).tolist() == (2 * V).tolist()
    assert len(calls) == 1


def test_autograd_differentiates_functions_of_ours() -> None:
    autograd = pytest.importorskip("autograd", reason="Autograd is optional")
    anp = pytest.importorskip("autograd.numpy", reason="Autograd is optional")
    x = xp.asarray(V)
    for f in (lambda a: anp.sum(anp.sin(a) * a), lambda a: a[0] * a[1], lambda a: anp.dot(a, x)):
        np.testing.assert_allclose(np.asarray(autograd.grad(f)(x)), autograd.grad(f)(V), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(autograd.jacobian(anp.tanh)(x)), autograd.jacobian(anp.tanh)(V))
    assert autograd.grad(anp.sin)(x[0]) == np.cos(3.0)


def test_pytensor_makes_constants_of_ours() -> None:
    pt = pytest.importorskip("pytensor.tensor", reason="PyTensor is optional")
    x = xp.asarray(V)
    for ours, numpys in ((x, V), (x[0], V[0]), (x[::2], V[::2]), (xp.arange(3), np.arange(3))):
        made, wanted = pt.as_tensor(ours), pt.as_tensor(numpys)
        assert (made.type, made.data.tolist()) == (wanted.type, wanted.data.tolist())
    with pytest.raises(TypeError, match="stop_gradient"):
        grad(lambda a: xp.sum(xp.asarray(pt.as_tensor(a).data)))(x)


def test_autoray_finds_numpys_functions() -> None:
    autoray = pytest.importorskip("autoray", reason="Autoray is optional")
    x = xp.asarray(V)
    assert autoray.infer_backend(x) == autoray.infer_backend(x[0]) == "numpy"
    assert autoray.do("sum", x) == V.sum()


def test_jax_traces_and_takes_values() -> None:
    jax = pytest.importorskip("jax", reason="JAX is optional")
    x = xp.asarray(V.astype(np.float32))
    traced = []

    @jax.jit
    def double(a: Any) -> Any:
        traced.append(a.shape)
        return a * 2

    for y in (x, x + 1, x[::-1]):
        np.testing.assert_array_equal(np.asarray(double(y)), np.asarray(y) * 2)
    assert traced == [(3,)]
    np.testing.assert_allclose(np.asarray(jax.grad(lambda a: (a**2).sum())(x)), 2 * V)
    np.testing.assert_allclose(np.asarray(jax.vmap(jax.numpy.sin)(x)), np.sin(V), rtol=1e-6)
    assert jax.device_put({"a": x})["a"].tolist() == V.tolist()
    with pytest.raises(TypeError, match="stop_gradient"):
        grad(lambda a: xp.sum(xp.asarray(jax.numpy.sin(a))))(x)


def test_dask_computes_with_ours() -> None:
    da = pytest.importorskip("dask.array", reason="Dask is optional")
    d = da.from_array(V, chunks=2)
    for found in (d + xp.asarray(V), xp.asarray(V) + d):
        np.testing.assert_array_equal(np.asarray(found.compute()), 2 * V)
    assert float(da.percentile(da.from_array(xp.asarray(V), chunks=3), 50).compute()) == 2.0


def test_einops_computes_with_ours() -> None:
    einops = pytest.importorskip("einops", reason="einops is optional")
    x = xp.asarray(np.arange(6.0).reshape(2, 3))
    assert type(einops.rearrange(x, "a b -> b a")) is xp.Array
    gradient = grad(lambda a: xp.sum(einops.reduce(a, "a b -> b", "mean") ** 2))(x)
    np.testing.assert_allclose(np.asarray(gradient), [[1.5, 2.5, 3.5]] * 2)


def test_numba_has_the_memory() -> None:
    numba = pytest.importorskip("numba", reason="Numba is optional")

    @numba.njit
    def fill(a: Any, s: float) -> Any:
        a[0] = s
        return a + 1

    x = xp.asarray(V)
    view = x[::2]
    assert fill(view, view[1]).tolist() == [3.0, 3.0]
    assert x.tolist() == [2.0, 1.0, 2.0]


def test_numba_has_variables_of_both_kinds_and_arrays_without_axes() -> None:
    numba = pytest.importorskip("numba", reason="Numba is optional")

    @numba.njit
    def raised(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x + 1.0
        return x

    @numba.njit
    def fill(x: Any) -> None:
        x[()] = 5.0

    for n in (0, 2):
        np.testing.assert_array_equal(raised(xp.ones((2, 3)), n), np.full((2, 3), 1.0 + n))
    x = xp.asarray(1.0)
    assert fill(x) is None
    assert float(x) == 5


def test_numba_compiles_calls_of_our_functions() -> None:
    numba = pytest.importorskip("numba", reason="Numba is optional")
    table, sine, linalg = xp.asarray(V), xp.sin, xp.linalg

    @numba.njit
    def computed(a: Any) -> Any:
        b = xp.zeros(3, dtype=xp.float32)
        b[:] = xp.sqrt(a) + sine(table[1])
        return linalg.norm(b) + xp.e

    expected = np.linalg.norm(np.sqrt(V).astype("f4") + np.sin(V[1])) + np.e
    assert abs(computed(xp.asarray(V)) - expected) < 1e-5


def test_numba_takes_ours_where_a_signature_says_numpys() -> None:
    numba = pytest.importorskip("numba", reason="Numba is optional")

    @numba.njit("float64(float64[:], float64)")
    def fill(a: Any, s: float) -> Any:
        a[0] = s
        return a.sum()

    x = xp.asarray(V)
    assert fill(x[::2], x[1]) == 3.0
    assert x.tolist() == [1.0, 1.0, 2.0]
    for wrong in ([1.0], "text", None):
        with pytest.raises(TypeError):
            fill(wrong, 1.0)
    with pytest.raises(TypeError):
        fill(xp.asarray([1, 2]), 1.0)


def test_arrow_has_the_values() -> None:
    pa = pytest.importorskip("pyarrow", reason="PyArrow is optional")
    assert pa.array(xp.asarray(V)).to_pylist() == V.tolist()
    assert pa.array([xp.asarray(V).sum(), 2.0]).to_pylist() == [6.0, 2.0]


def test_torch_makes_batches() -> None:
    collate = pytest.importorskip("torch.utils.data", reason="PyTorch is optional").default_collate
    assert collate([xp.asarray(V), xp.asarray(V)]).tolist() == [V.tolist()] * 2


def test_a_library_whose_names_have_changed_is_imported_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match=r"dask.array.chunk_types does not know arrays of nabla_array"):
        registered._register(registered._dask, types.ModuleType("dask.array.chunk_types"))
