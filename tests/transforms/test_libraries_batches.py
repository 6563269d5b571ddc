"""SciPy's compiled functions for all examples of a batch at once, against calls with one after the other."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.fft
from scipy import integrate, linalg, ndimage, signal

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, pickling, shard
from nabla_array.transforms import SplitWarning, compile, disable_jit, grad, jvp, scan, vmap
from nabla_array.transforms.libraries.batches import OPERANDS
from nabla_array.transforms.libraries.host_calls import text_of

from ..distributed.meshes import on_mesh, recorded

Function = Callable[[Any], Any]
RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(5, 20, 15)) * 10
B, A = map(xp.asarray, signal.butter(3, 0.2))
SOS = xp.asarray(signal.butter(4, 0.2, output="sos"))
WEIGHTS = xp.asarray(np.arange(6.0).reshape(2, 3))
CROSS = xp.asarray(np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool))

FACTOR = xp.asarray(np.tril(RNG.normal(size=(20, 20))) + 9 * np.eye(20))
BAND = xp.asarray(np.array([[0.0], [90], [0]]))
LEADS = xp.asarray(np.eye(15)[0] * 300)
COLUMNS = RNG.normal(size=(20, 2))


def definite(x: Any) -> Any:
    return x @ x.mT / 99 + xp.eye(20, dtype=x.dtype)


def product(*factors: Any) -> Any:
    """Return the product of factors, which may be vectors: diagonal matrices."""
    found, *others = [f if f.ndim == 2 else xp.diag(f) for f in factors]
    for other in others:
        found = found @ other
    return found


def factored(factor: Function, x: Any) -> Any:
    """Return factors of a matrix, as arrays of one namespace, as SciPy wants them elsewhere."""
    first, second = factor(x)
    return xp.asarray(first), second if isinstance(second, bool) else xp.asarray(second)


# By module and function: calls with an example.
CALLS: dict[str, dict[str, list[Function]]] = {
    "scipy.ndimage": {
        "gaussian_filter": [
            lambda x: ndimage.gaussian_filter(x, (1, 2), mode=["wrap", "nearest"]),
            lambda x: ndimage.gaussian_filter(x, 1.5, axes=(0,)),
        ],
        "uniform_filter": [lambda x: ndimage.uniform_filter(x, (3, 4))],
        "gaussian_laplace": [lambda x: ndimage.gaussian_laplace(x, 1.0, truncate=3.0)],
        "laplace": [lambda x: ndimage.laplace(x)],
        "median_filter": [
            lambda x: ndimage.median_filter(x, (3, 5)),
            lambda x: ndimage.median_filter(x, footprint=CROSS),
        ],
        "maximum_filter": [lambda x: ndimage.maximum_filter(x, 3)],
        "minimum_filter": [lambda x: ndimage.minimum_filter(x, footprint=CROSS)],
        "percentile_filter": [lambda x: ndimage.percentile_filter(x, 30, 3)],
        "rank_filter": [lambda x: ndimage.rank_filter(x, 2, size=3)],
        "convolve": [lambda x: ndimage.convolve(x, WEIGHTS, mode="constant", cval=2)],
        "correlate": [lambda x: ndimage.correlate(x, WEIGHTS, mode="wrap")],
        "gaussian_filter1d": [lambda x: ndimage.gaussian_filter1d(x, 2, axis=0)],
        "uniform_filter1d": [lambda x: ndimage.uniform_filter1d(x, 4, axis=-2)],
        "correlate1d": [lambda x: ndimage.correlate1d(x, xp.asarray([1, 2, 3.0]))],
        "convolve1d": [lambda x: ndimage.convolve1d(x, xp.asarray([1, 2, 3.0]), 0)],
        "maximum_filter1d": [lambda x: ndimage.maximum_filter1d(x, 3)],
        "minimum_filter1d": [lambda x: ndimage.minimum_filter1d(x, 3, axis=0)],
        "spline_filter1d": [lambda x: ndimage.spline_filter1d(x, 3, axis=0)],
        "spline_filter": [lambda x: ndimage.spline_filter(x)],
        "grey_erosion": [lambda x: ndimage.grey_erosion(x, size=(3, 3))],
        "grey_dilation": [lambda x: ndimage.grey_dilation(x, footprint=CROSS)],
        "grey_opening": [lambda x: ndimage.grey_opening(x, size=3)],
        "grey_closing": [lambda x: ndimage.grey_closing(x, size=3)],
        "morphological_gradient": [lambda x: ndimage.morphological_gradient(x, size=3)],
        "white_tophat": [lambda x: ndimage.white_tophat(x, size=(3, 3))],
        "black_tophat": [lambda x: ndimage.black_tophat(x, footprint=CROSS)],
        "rotate": [
            lambda x: ndimage.rotate(x, 20.0, order=1),
            lambda x: ndimage.rotate(x, 33.0, reshape=False, mode="nearest"),
        ],
        "binary_erosion": [lambda x: ndimage.binary_erosion(x > 1, CROSS, border_value=1)],
        "binary_dilation": [lambda x: ndimage.binary_dilation(x > 9, iterations=2)],
        "binary_opening": [lambda x: ndimage.binary_opening(x > 0)],
        "binary_closing": [lambda x: ndimage.binary_closing(x > 5, CROSS)],
        "sobel": [lambda x: ndimage.sobel(x, 0), lambda x: ndimage.sobel(x)],
        "prewitt": [lambda x: ndimage.prewitt(x, axis=0, mode="nearest")],
        "gaussian_gradient_magnitude": [
            lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0),
            lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0, axes=(0,)),
        ],
    },
    "scipy.signal": {
        "lfilter": [lambda x: signal.lfilter(B, A, x), lambda x: signal.lfilter(B, A, x, axis=0)],
        "filtfilt": [lambda x: signal.filtfilt(B, A, x, axis=0)],
        "sosfilt": [lambda x: signal.sosfilt(SOS, x)],
        "sosfiltfilt": [lambda x: signal.sosfiltfilt(SOS, x, axis=0, padlen=5)],
        "savgol_filter": [lambda x: signal.savgol_filter(x, 7, 2, axis=0, mode="wrap")],
        "resample_poly": [lambda x: signal.resample_poly(x, 2, 3)],
        "decimate": [lambda x: signal.decimate(x, 2, ftype="fir")],
        "upfirdn": [lambda x: signal.upfirdn(xp.asarray([1.0, 2, 1]), x, 2)],
        "detrend": [lambda x: signal.detrend(x, axis=0, type="constant")],
        "welch": [lambda x: signal.welch(x, nperseg=8, axis=0)[1]],
        "periodogram": [lambda x: sum(y.sum() for y in signal.periodogram(x))],
        "stft": [lambda x: signal.stft(x, nperseg=8)[2]],
        "spectrogram": [lambda x: signal.spectrogram(x, nperseg=8)[2]],
        "coherence": [lambda x: signal.coherence(x, x[::-1], nperseg=4)[1]],
        "convolve": [
            lambda x: signal.convolve(x[0], xp.asarray([1, 2, 3]), mode="same"),
            lambda x: signal.convolve(x, WEIGHTS, method="direct"),
        ],
        "correlate": [lambda x: signal.correlate(x, WEIGHTS, mode="valid")],
        "csd": [
            lambda x: signal.csd(x, x[::-1], nperseg=8)[1],
            lambda x: signal.csd(x, xp.asarray(IMAGES[0]), nperseg=8)[1],
        ],
    },
    "scipy.integrate": {
        "simpson": [lambda x: integrate.simpson(x, dx=0.5), lambda x: integrate.simpson(x, axis=0)]
    },
    "scipy.fft": {
        **{name: [lambda x, name=name: getattr(scipy.fft, name)(x, 2, axis=0)] for name in ("dct", "idct")},
        **{name: [lambda x, name=name: getattr(scipy.fft, name)(x, 3)] for name in ("dst", "idst")},
        **{name: [lambda x, name=name: getattr(scipy.fft, name)(x)] for name in ("dctn", "idctn")},
        **{name: [lambda x, name=name: getattr(scipy.fft, name)(x, axes=0)] for name in ("dstn", "idstn")},
    },
    "scipy.linalg": {
        **{
            name: [lambda x, name=name: getattr(linalg, name)(definite(x))]
            for name in ("inv", "det", "cholesky", "eigvalsh", "svdvals", "pinv", "expm")
        },
        "eigh": [lambda x: linalg.eigh(definite(x))[0]],
        "svd": [lambda x: product(*linalg.svd(x, full_matrices=False))],
        "qr": [
            lambda x: product(*linalg.qr(x, mode="economic")),
            lambda x: abs(linalg.qr(x, mode="r")[0]),
        ],
        "lu": [lambda x: product(*linalg.lu(x))],
        "solve": [
            lambda x: linalg.solve(definite(x), x),
            lambda x: linalg.solve(definite(x), x[:, 0]),
            lambda x: linalg.solve(definite(x), xp.asarray(COLUMNS)),
            lambda x: linalg.solve(xp.asarray(IMAGES[0] @ IMAGES[0].T + np.eye(20)), x[:, 1]),
        ],
        "eigvals": [lambda x: xp.sort(linalg.eigvals(definite(x)).real)],
        "polar": [lambda x: product(*linalg.polar(definite(x)))],
        "norm": [lambda x: linalg.norm(x), lambda x: linalg.norm(x, 2), lambda x: linalg.norm(x, axis=0)],
        **{name: [lambda x, name=name: getattr(linalg, name)(x[:4, :4] / 9)] for name in ("cosm", "sinm")},
        "cho_factor": [lambda x: xp.tril(linalg.cho_factor(definite(x), lower=True)[0])],
        "cho_solve": [
            lambda x: linalg.cho_solve(factored(linalg.cho_factor, definite(x)), x[:, 0]),
            lambda x: linalg.cho_solve((xp.linalg.cholesky(definite(x)), True), x),
            lambda x: linalg.cho_solve((FACTOR, True), x[:, 1]),
        ],
        "lu_factor": [lambda x: linalg.lu_factor(definite(x))[0]],
        "lu_solve": [lambda x: linalg.lu_solve(factored(linalg.lu_factor, definite(x)), x[:, 0], trans=1)],
        "solve_banded": [lambda x: linalg.solve_banded((1, 1), x[:3] + BAND, x[4])],
        "solve_sylvester": [lambda x: linalg.solve_sylvester(definite(x), definite(x[::-1]), x @ x.mT)],
        "toeplitz": [lambda x: linalg.toeplitz(x[0]), lambda x: linalg.toeplitz(x[0], x[1])],
        "solve_toeplitz": [
            lambda x: linalg.solve_toeplitz(x[0] + LEADS, x[1]),
            lambda x: linalg.solve_toeplitz((x[0] + LEADS, x[1] + LEADS), x[2:4].T),
        ],
        "solve_triangular": [lambda x: linalg.solve_triangular(definite(x), x[:, 0], lower=True)],
    },
}
CASES = [
    pytest.param(f, dtype, id=f"{name}-{k}-{dtype}")
    for functions in CALLS.values()
    for name, calls in functions.items()
    for k, f in enumerate(calls)
    for dtype in ("f4", "f8", "i4")
    if (name, dtype) != ("gaussian_gradient_magnitude", "i4")  # SciPy rounds on the way: one by one
]


@pytest.fixture(autouse=True)
def _nothing_is_split() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SplitWarning)
        yield


def one_by_one(f: Function, batch: np.ndarray) -> np.ndarray:
    return np.stack([np.asarray(f(xp.asarray(x))) for x in batch])


def assert_same(found: Any, wanted: np.ndarray) -> None:
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    tolerance = 100 * np.finfo(found.dtype).eps if found.dtype.kind in "fc" else 0
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


def test_each_function_of_the_table_is_called() -> None:
    assert {module: {*names} for module, names in OPERANDS.items()} == {m: {*c} for m, c in CALLS.items()}


@pytest.mark.parametrize(("f", "dtype"), CASES)
def test_a_batch_at_once(f: Function, dtype: str) -> None:
    batch = IMAGES.astype(dtype)
    wanted = one_by_one(f, batch)
    assert_same(vmap(f)(xp.asarray(batch)), wanted)
    assert_same(vmap(f, in_axes=1, out_axes=-1)(xp.asarray(batch.swapaxes(0, 1))), np.moveaxis(wanted, 0, -1))
    pairs = np.stack([batch, batch[::-1]])
    assert_same(vmap(vmap(f))(xp.asarray(pairs)), np.stack([wanted, wanted[::-1]]))
    assert_same(compile(f, fullgraph=True)(xp.asarray(batch[0])), wanted[0])
    assert_same(vmap(compile(f, fullgraph=True))(xp.asarray(batch)), wanted)


def smooth(x: Any) -> Any:
    return ndimage.gaussian_filter(x, 1.0)


def test_between_operations_of_ours_and_in_loops() -> None:
    f = lambda x: xp.exp(-smooth(xp.abs(x))) + ndimage.median_filter(x - 1, 3)  # noqa: E731
    wanted = one_by_one(f, IMAGES)
    assert_same(vmap(f)(xp.asarray(IMAGES)), wanted)
    _, found = scan(lambda c, x: (c, f(x)), 0.0, xp.asarray(IMAGES))
    assert_same(found, wanted)


@pytest.mark.parametrize(
    "f",
    [
        smooth,
        lambda x: signal.lfilter(B, A, x),
        lambda x: signal.convolve(x, WEIGHTS),
        lambda x: signal.welch(x, nperseg=8)[1],
        lambda x: integrate.simpson(x),
        lambda x: linalg.solve(definite(x), x[:, 0]),
        lambda x: linalg.cho_solve(factored(linalg.cho_factor, definite(x)), x[:, 0]),
        lambda x: product(*linalg.qr(x, mode="economic")),
        lambda x: linalg.eigh(definite(x))[0],
    ],
)
def test_derivatives_of_programs(f: Function) -> None:
    """Of what is recorded before anybody differentiates it: loops, and compiled functions."""
    loss = lambda x: xp.sum(f(x) ** 2)  # noqa: E731
    x, wanted = xp.asarray(IMAGES), one_by_one(grad(loss), IMAGES)
    looped = lambda x: scan(lambda c, z: (c + loss(z), 0.0), 0.0, x)[0]  # noqa: E731
    close = partial(np.testing.assert_allclose, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())
    close(grad(looped)(x), wanted)
    close(grad(compile(lambda x: xp.sum(vmap(loss)(x))))(x), wanted)
    close(jvp(compile(looped), (x,), (x,))[1], (wanted * IMAGES).sum())


def test_a_rule_that_looks_at_values_of_a_loop() -> None:
    largest = lambda x: xp.sum(ndimage.maximum_filter(x, 3) ** 2)  # noqa: E731
    looped = lambda x: scan(lambda c, z: (c + largest(z), 0.0), 0.0, x)[0]  # noqa: E731
    x, wanted = xp.asarray(IMAGES), one_by_one(grad(largest), IMAGES)
    assert_same(grad(looped)(x), wanted)  # which runs round after round
    assert_same(grad(compile(looped))(x), wanted)
    program = compile(looped, fullgraph=True)
    program(x)
    with pytest.raises(TypeError, match=r"maximum_filter: the rule for its derivative looks at values"):
        grad(program)(x)
    with disable_jit():
        assert_same(grad(program)(x), wanted)


def test_what_has_no_rule_says_so_where_a_program_is_differentiated() -> None:
    looped = lambda x: scan(lambda c, z: (c + ndimage.binary_erosion(z > 0).sum(), 0.0), 0, x)[0]  # noqa: E731
    assert looped(xp.asarray(IMAGES)) > 0
    program = compile(lambda x: xp.sum(linalg.polar(definite(x))[0]), fullgraph=True)
    with pytest.raises(TypeError, match="a value that is being differentiated leaves"):
        grad(program)(xp.asarray(IMAGES[0]))


def test_derivatives_take_their_rules() -> None:
    x = xp.asarray(IMAGES)
    loss = lambda x: xp.sum(smooth(x) ** 2)  # noqa: E731
    assert_same(vmap(grad(loss))(x), one_by_one(grad(loss), IMAGES))
    assert_same(grad(lambda x: xp.sum(vmap(loss)(x)))(x), one_by_one(grad(loss), IMAGES))
    _, tangent = jvp(vmap(smooth), (x,), (x,))
    assert_same(tangent, one_by_one(smooth, IMAGES))
    total = one_by_one(smooth, IMAGES).sum()
    assert_same(grad(lambda s: xp.sum(s * vmap(smooth)(x)))(2.0), np.asarray(total))


def test_devices_of_a_mesh_have_their_own_examples() -> None:
    x = shard(np.concatenate([IMAGES, IMAGES[:3]]), DeviceMesh(4, "d"), P("d"))
    found = vmap(smooth)(x)
    assert found.sharding.partition_spec == P("d", None, None)
    assert_same(found, one_by_one(smooth, np.asarray(x)))


def test_one_program_for_batches_of_any_length() -> None:
    f = compile(vmap(lambda x: 2 * ndimage.convolve(x, WEIGHTS)), dynamic_dims={0: {0: "n"}})
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for n in (5, 2, 4):
            assert_same(
                f(xp.asarray(IMAGES[:n])), one_by_one(lambda x: 2 * ndimage.convolve(x, WEIGHTS), IMAGES[:n])
            )


def test_calls_with_other_arguments_are_told_apart() -> None:
    with xp.config(mode="host"):
        for value in (0.0, -0.0, 1, 1.0, True, 2.0):
            f = lambda x, v=value: xp.signbit(ndimage.convolve(0 * x, WEIGHTS, mode="constant", cval=v) - v)  # noqa: E731
            assert_same(vmap(f)(xp.asarray(IMAGES)), one_by_one(f, IMAGES))


def test_large_arguments_are_told_apart_by_their_memory() -> None:
    weights = np.zeros((400, 400))  # 1.3 MB
    key = text_of({"weights": weights, "mode": "wrap"})
    assert key == text_of({"weights": weights[:], "mode": "wrap"})
    assert hash(key) == hash(text_of({"weights": weights[:], "mode": "wrap"}))
    assert key != text_of({"weights": weights.copy(), "mode": "wrap"})
    assert key != text_of({"weights": weights, "mode": "mirror"})
    few = weights[:9].copy()
    assert text_of({"weights": few}) == text_of({"weights": few.copy()})
    assert text_of({"weights": few}) != text_of({"weights": few + 1})
    f = lambda x: ndimage.convolve(x, xp.asarray(weights), mode="wrap")  # noqa: E731
    for number in (1.0, 2.0):  # it has the elements that it has when it is called
        weights[200, 200] = number
        np.testing.assert_allclose(vmap(f)(xp.asarray(IMAGES[:2])), number * IMAGES[:2])


def test_what_is_written_to_a_result_stays_there() -> None:
    f = vmap(lambda x: signal.welch(x, nperseg=8), out_axes=(None, 0))
    frequencies, _ = f(xp.asarray(IMAGES[:, 0]))
    wanted = np.array(frequencies)
    frequencies[:] = 7
    np.testing.assert_array_equal(np.asarray(f(xp.asarray(IMAGES[:, 0]))[0]), wanted)


def test_an_empty_batch() -> None:
    assert vmap(smooth)(xp.zeros((0, 7, 6))).shape == (0, 7, 6)
    assert [x.shape for x in vmap(linalg.eigh)(xp.zeros((0, 4, 4)))] == [(0, 4), (0, 4, 4)]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: scipy.fft.dct(x, overwrite_x=True),
        lambda x: signal.detrend(x, overwrite_data=True),
        lambda x: linalg.inv(x, overwrite_a=True),
        lambda x: linalg.eigh(x, overwrite_a=True)[0],
        lambda x: linalg.solve(x, x[0], overwrite_a=True, overwrite_b=True),
    ],
)
def test_nothing_is_written_over_a_batch(f: Function) -> None:
    batch = np.asfortranarray(IMAGES[:, :4, :4])
    x = xp.asarray(batch)
    wanted = one_by_one(f, batch)
    assert_same(vmap(f)(x), wanted)
    assert_same(compile(f)(x[0]), wanted[0])
    np.testing.assert_array_equal(np.asarray(x), batch)


def test_errors_are_raised_by_the_call() -> None:
    matrices = np.stack([np.eye(3), np.zeros((3, 3))])
    with pytest.raises(np.linalg.LinAlgError, match=r"^inv \(called at .*test_libraries_batches.py"):
        vmap(linalg.inv)(xp.asarray(matrices))
    with pytest.raises(np.exceptions.AxisError, match="axis 5 is out of bounds for array of dimension 2"):
        vmap(lambda x: ndimage.gaussian_filter1d(x, 1.0, axis=5))(xp.asarray(IMAGES))
    with pytest.raises(ValueError, match="window_length must be less than"):
        vmap(lambda x: signal.savgol_filter(x, 99, 2))(xp.asarray(IMAGES))


def test_what_differs_in_another_operand_is_split() -> None:
    sigmas = xp.asarray([0.5, 1.0, 1.5, 2.0, 2.5])
    warnings.simplefilter("ignore", SplitWarning)
    found = vmap(ndimage.gaussian_filter)(xp.asarray(IMAGES), sigmas)
    pairs = zip(IMAGES, np.asarray(sigmas), strict=True)
    assert_same(found, np.stack([ndimage.gaussian_filter(x, s) for x, s in pairs]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.maximum_filter(x, (3, 5), axes=(1, 0)),
        lambda x: ndimage.grey_opening(x, footprint=CROSS, origin=(1, -1), axes=(1, 0)),
        lambda x: ndimage.gaussian_laplace(x, (1.0, 2.0), axes=(1, 0)),
        lambda x: scipy.fft.dctn(x, s=(7,)),
        lambda x: linalg.norm(xp.astype(x, xp.float32), 1),  # of double precision, of one matrix alone
    ],
)
def test_what_scipy_would_do_otherwise_for_a_batch_is_split(f: Function) -> None:
    warnings.simplefilter("ignore", SplitWarning)
    assert_same(vmap(f)(xp.asarray(IMAGES)), one_by_one(f, IMAGES))


def test_derivatives_of_some_axes_have_scipys_values() -> None:
    x = xp.asarray(IMAGES[0])
    for name in ("gaussian_laplace", "gaussian_gradient_magnitude"):
        f = lambda x, name=name: getattr(ndimage, name)(x, 1.5, axes=(0,))  # noqa: E731
        value, tangent = jvp(f, (x,), (x,))
        assert_same(value, f(IMAGES[0]))
        assert_same(tangent, f(IMAGES[0]))  # of what is linear, or of degree one


@pytest.mark.parametrize("trans", [0, 1])
def test_matrices_are_factored_and_solved_with_a_constant(trans: int) -> None:
    right = np.arange(20.0)
    f = lambda x: linalg.lu_solve(linalg.lu_factor(definite(x)), right, trans)  # noqa: E731
    wanted = np.stack([np.linalg.solve(m.T if trans else m, right) for m in map(definite, IMAGES)])
    np.testing.assert_allclose(vmap(f)(xp.asarray(IMAGES)), wanted, rtol=1e-10)
    f = lambda x: linalg.cho_solve(linalg.cho_factor(definite(x), lower=bool(trans)), right)  # noqa: E731
    np.testing.assert_allclose(compile(vmap(f))(xp.asarray(IMAGES)), wanted, rtol=1e-10)


def test_results_that_depend_on_values_are_split() -> None:
    warnings.simplefilter("ignore", SplitWarning)
    matrices = np.stack([np.diag([1.0, 4]), np.diag([-1.0, 4])])
    for some in (matrices[:1], matrices[1:]):  # the roots of the second are complex
        assert_same(vmap(linalg.sqrtm)(xp.asarray(some)), np.stack([linalg.sqrtm(x) for x in some]))
    f = lambda x: linalg.eigvalsh(x, subset_by_value=(0, 5))  # noqa: E731
    assert_same(vmap(f)(xp.asarray(matrices[:1])), np.array([[1.0, 4]]))


@pytest.mark.parametrize(
    "f", [smooth, lambda x: linalg.solve(definite(x), x[:, 0]), lambda x: signal.welch(x, nperseg=8)[1]]
)
def test_programs_can_be_sent_to_other_processes(f: Function) -> None:
    program, values = recorded(vmap(f), [IMAGES])
    assert any(eqn.prim.name.startswith("host_call") for eqn in program.eqns)
    assert pickling  # which says how
    sent = pickle.loads(pickle.dumps(program))
    (found,) = on_mesh(sent, DeviceMesh(2, "d"), values, [None] * len(values))
    assert_same(found, one_by_one(f, IMAGES))
