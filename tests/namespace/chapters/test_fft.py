"""Fourier transforms against NumPy, whose routines run below: values are compared bit for bit."""

import itertools
import sys
from inspect import unwrap
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.fft  # which transforms many elements, where it is loaded
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.graph.node import leaf
from nabla_array._lazy.run.evaluator import value_of
from nabla_array._namespace.chapters.fft import over_axes
from nabla_array._namespace.core.array import Array, current

from ..strategies import same

RNG = np.random.default_rng(0)
NORMS = ["backward", "ortho", "forward", None]
COMPLEX = ["fft", "ifft", "irfft", "hfft"]
REAL = ["rfft", "ihfft"]
DTYPES = ["float32", "float64", "complex64", "complex128", "int8", "uint16", "int64", "bool"]


def random(shape, dtype):
    x = RNG.normal(size=shape) * 4
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.normal(size=shape)
    return (abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)


@pytest.fixture(autouse=True)
def _all_is_recorded(recorded):
    """Transforms are lazy."""


def check(name, x, **kw):
    out = unwrap(getattr(xp.fft, name))(xp.asarray(x), **kw)  # what is recorded; a library may answer before
    assert current(out).value is None
    # Left to itself, NumPy transforms float32 in double precision where there is a norm, else in single.
    given = x.astype("complex64") if x.dtype == "float32" and not name.startswith(("r", "ih")) else x
    same(out, getattr(np.fft, name)(given, **kw))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    ("name", "dtype"), [(n, d) for n in COMPLEX + REAL for d in DTYPES if n in COMPLEX or d[0] != "c"]
)
def test_one_axis(name, dtype, norm):
    for shape in ((7,), (2, 8), (3, 4, 2), (0, 3)):
        x = random(shape, dtype)
        for n in (None, 1, 2, 5, 11):
            for axis in {-1, 0 if shape[0] else -1, len(shape) // 2}:
                check(name, x, n=n, axis=axis, norm=norm)


@st.composite
def many(draw):
    """Draw a shape with keywords of the transforms along several axes."""
    shape = draw(st.lists(st.integers(2, 5), min_size=1, max_size=3).map(tuple))
    ndim = len(shape)
    order = draw(st.permutations(range(ndim)))[: draw(st.integers(1, ndim))]
    axes = draw(st.none() | st.just([a - draw(st.sampled_from([0, ndim])) for a in order]))
    kw = {"axes": axes, "norm": draw(st.sampled_from(NORMS))}
    if axes is not None and draw(st.booleans()):
        kw["s"] = draw(st.lists(st.sampled_from([-1, 1, 3, 6]), min_size=len(axes), max_size=len(axes)))
    return shape, kw


@given(many(), st.sampled_from(DTYPES), st.sampled_from(["fftn", "ifftn", "rfftn", "irfftn"]))
def test_several_axes(case, dtype, name):
    shape, kw = case
    if name == "rfftn" and np.dtype(dtype).kind == "c":
        dtype = "float32"
    check(name, random(shape, dtype), **kw)


@pytest.mark.filterwarnings("ignore:.*should not be `None`:DeprecationWarning")
def test_sizes_without_axes_mean_the_last_ones():
    x = random((2, 3, 4), "complex128")
    same(xp.fft.fftn(xp.asarray(x), s=(2, 5)), np.fft.fftn(x, (2, 5), axes=(-2, -1)))


def test_half_precision_is_transformed_in_single():
    x = random((6,), "float16")
    same(xp.fft.fft(xp.asarray(x)), np.fft.fft(x.astype("float32")))
    assert xp.fft.irfft(xp.asarray(x)).dtype == xp.float32


def test_arguments_may_be_given_by_position():
    x = random((4, 6), "float64")
    same(xp.fft.fft(xp.asarray(x), 3, 0, "ortho"), np.fft.fft(x, 3, 0, "ortho"))
    same(xp.fft.rfftn(xp.asarray(x), (3, 4), (0, 1)), np.fft.rfftn(x, (3, 4), (0, 1)))
    same(xp.fft.fftfreq(5, 0.1), np.fft.fftfreq(5, 0.1))
    same(xp.fft.fftshift(xp.asarray(x), 1), np.fft.fftshift(x, 1))


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name):
    for n in (1, 2, 7, 10):
        for d in (1.0, 0.1, 3, -2.0):
            expected = getattr(np.fft, name)(n, d)
            same(getattr(xp.fft, name)(n, d=d), expected)
            same(getattr(xp.fft, name)(n, d=d, dtype=xp.float32, device="cpu"), expected.astype("float32"))
            out = getattr(xp.fft, name)(n, d=xp.sum(xp.asarray([d, d])))
            assert current(out).value is None
            same(out, getattr(np.fft, name)(n, d * 2))


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int8", "bool"])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name, dtype):
    for shape in ((), (0,), (1,), (2,), (7,), (4, 5), (3, 1, 2)):
        x = random(shape, dtype)
        for axes in (None, *range(len(shape)), tuple(range(len(shape))), list(range(len(shape)))[::-1]):
            a = xp.asarray(x)
            out = getattr(xp.fft, name)(a, axes=axes)
            assert out is not a
            same(out, getattr(np.fft, name)(x, axes=axes) if shape else x)  # NumPy refuses 0-d arrays


def test_large_transforms_inside_larger_graphs():
    x = random((300, 300), "float64")
    spectrum = xp.fft.fft(xp.asarray(x) + 1.0, axis=0)
    same(
        xp.real(xp.fft.ifft(spectrum * 2.0, axis=0)), np.fft.ifft(np.fft.fft(x + 1, axis=0) * 2, axis=0).real
    )


BATCHED = {
    "fft": lambda x: xp.fft.fft(x, n=5, axis=0),
    "ifft": xp.fft.ifft,
    "fftn": xp.fft.fftn,
    "rfft": lambda x: xp.fft.rfft(xp.real(x), axis=0),
    "irfftn": lambda x: xp.fft.irfftn(x, s=(2, 5), axes=(1, 0)),
    "hfft": xp.fft.hfft,
    "fftshift": lambda x: xp.fft.fftshift(x, axes=0),
}


@pytest.mark.parametrize("name", BATCHED)
def test_a_batch_level_is_a_loop(name):
    x = random((3, 4, 2), "complex128")
    out = BATCHED[name](Array(leaf(x), (1,)))
    assert out._levels == (1,)
    rows = [np.asarray(BATCHED[name](xp.asarray(row))) for row in x]
    np.testing.assert_array_equal(value_of(current(out)), np.stack(rows))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: xp.fft.rfft([1j]), TypeError, "rfft: needs a real dtype, not complex128"),
        (lambda: xp.fft.ihfft([1j]), TypeError, "ihfft: needs a real dtype, not complex128"),
        (
            lambda: xp.fft.fft([]),
            ValueError,
            r"fft: Invalid number of FFT data points \(0\); 1 or more would work",
        ),
        (lambda: xp.fft.irfft([1.0]), ValueError, r"irfft: Invalid number of FFT data points \(0\)"),
        (lambda: xp.fft.fft([1.0], n=-3), ValueError, r"fft: Invalid number of FFT data points \(-3\)"),
        (lambda: xp.fft.fft([1.0], n=1.5), TypeError, "float"),
        (lambda: xp.fft.fft([1.0], axis=1), IndexError, "fft: axis 1 is out of bounds"),
        (lambda: xp.fft.fft(1.0), IndexError, "fft: axis -1 is out of bounds"),
        (
            lambda: xp.fft.fft([1.0], norm="none"),
            ValueError,
            "fft: no norm 'none'; 'backward', .* would work",
        ),
        (lambda: xp.fft.hfft([1, 2], norm="none"), ValueError, "hfft: no norm 'none'"),
        (lambda: xp.fft.fftn([1.0], s=(1, 2), axes=(0,)), ValueError, "fftn: 2 sizes for 1 axes"),
        (lambda: xp.fft.fftfreq(0), ZeroDivisionError, "fftfreq: 0 points have no frequencies"),
        (lambda: xp.fft.rfftfreq(-1), ValueError, r"rfftfreq: Invalid number of FFT data points \(-1\)"),
        (lambda: xp.fft.fftfreq(2, dtype=int), TypeError, "fftfreq: needs a real dtype, not int64"),
        (lambda: xp.fft.rfftfreq(2, device="gpu"), ValueError, "rfftfreq: no device 'gpu'; 'cpu' would work"),
        (lambda: xp.fft.fftshift([1.0], axes=1), IndexError, "fftshift: axis 1 is out of bounds"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=f"^{message}" if message != "float" else message):
        call()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64"])
@pytest.mark.parametrize("shape", [(512,), (1001,), (40, 30), (300, 512), (4, 3, 129)])
def test_many_elements_are_for_scipy(shape, dtype, norm):
    x = random(shape, dtype)
    for name in ("fft", "ifft", "rfft", "irfft", "fftn", "ifftn", "rfftn", "irfftn", "fft2", "irfft2"):
        if (name.startswith("rfft") and dtype[0] == "c") or (name[-1] == "2" and len(shape) == 1):
            continue
        given = x.astype("complex64") if dtype == "float32" and not name.startswith("r") else x
        wanted = getattr(np.fft, name)(given, norm=norm)
        found = getattr(xp.fft, name)(xp.asarray(x), norm=norm)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        epsilon = 20 * np.finfo(wanted.dtype).eps
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=0, atol=epsilon * np.abs(wanted).max())


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16"])
def test_answers_do_not_depend_on_whether_scipy_is_loaded(dtype, norm, monkeypatch):
    calls = [
        (random(shape, dtype), axis, name)
        for shape in [(511,), (512,), (1201,), (70, 600), (600, 70), (9, 8, 7)]
        for axis in range(len(shape))
        for name in ("fft", "ifft", "irfft", *["rfft"] * (dtype[0] != "c"))
    ]

    def transformed() -> list[Any]:
        return [getattr(xp.fft, name)(xp.asarray(x), axis=axis, norm=norm) for x, axis, name in calls]

    loaded = [np.asarray(x) for x in transformed()]
    monkeypatch.delitem(sys.modules, "scipy.fft._pocketfft", raising=False)
    for (x, *call), found, wanted in zip(calls, transformed(), loaded, strict=True):
        np.testing.assert_array_equal(np.asarray(found), wanted, err_msg=f"{x.shape} {call}", strict=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16"])
def test_what_answers_for_several_axes_has_numpys_bits(dtype, monkeypatch):
    for _ in ("with SciPy", "without"):
        for shape in [(31, 33), (2, 9, 8, 7), (3, 4), (2, 300, 2)]:
            x = random(shape, dtype)
            for name in ("fftn", "ifftn", "irfftn", *["rfftn"] * (dtype[0] != "c")):
                for axes, norm in itertools.product([None, (1, 0), (-2,)], [None, "forward", "ortho"]):
                    wanted = getattr(np.fft, name)(x, axes=axes, norm=norm)
                    found = over_axes(name)(x, axes=axes, norm=norm)
                    np.testing.assert_array_equal(found, wanted, err_msg=f"{name} {axes}", strict=True)
            for s, axes in [((5, 9), (1, 0)), ((-1, 700), (0, 1)), ((4,), (-1,))]:
                wanted = np.fft.irfftn(x, s, axes)
                np.testing.assert_array_equal(over_axes("irfftn")(x, s, axes), wanted, strict=True)
        monkeypatch.delitem(sys.modules, "scipy.fft._pocketfft", raising=False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_real_numbers_are_mirrored_along_several_axes(dtype, monkeypatch):
    calls = [
        (random(shape, dtype), s, axes, norm)
        for shape, s, axes in [
            ((130, 140), None, None),
            ((131, 141), None, (1, 0)),
            ((130, 140), (200, 99), (-1, -2)),
            ((20, 3, 31, 30), (-1, 32, 33), (0, 2, 3)),
        ]
        for norm in ("backward", "forward", "ortho")
    ]
    loaded = [over_axes("fftn")(*call) for call in calls]
    for (x, s, axes, norm), found in zip(calls, loaded, strict=True):
        wanted = np.fft.fftn(x, s, (0, 1) if axes is None else axes, norm)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        epsilon = 20 * np.finfo(wanted.dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=0, atol=epsilon * np.abs(wanted).max())
        lazily = np.asarray(xp.fft.fftn(xp.asarray(x), s, (0, 1) if axes is None else axes, norm))
        np.testing.assert_allclose(lazily, wanted, rtol=0, atol=epsilon * np.abs(wanted).max())
    monkeypatch.delitem(sys.modules, "scipy.fft._pocketfft", raising=False)
    for call, wanted in zip(calls, loaded, strict=True):
        np.testing.assert_array_equal(over_axes("fftn")(*call), wanted, strict=True)


def test_several_axes_leave_what_they_are_given_alone():
    for dtype, name in itertools.product(["float64", "complex128"], ["fftn", "ifftn", "rfftn", "irfftn"]):
        if (dtype, name) != ("complex128", "rfftn"):
            x = random((30, 40, 50), dtype)
            kept = x.copy()
            over_axes(name)(x)
            np.testing.assert_array_equal(x, kept)


def test_large_transforms_have_threads(monkeypatch):
    asked = []
    library = getattr(scipy.fft, "_pocketfft", None) or scipy.fft._duccfft
    theirs = library.fft

    def fft(*args: Any, workers: int | None = None) -> Any:
        asked.append(workers)
        return theirs(*args, workers=workers)

    monkeypatch.setattr(library, "fft", fft)
    x = RNG.normal(size=(600, 1000))
    for axis in (0, 1):
        with xp.config(threads=2):
            found = np.asarray(xp.fft.fft(xp.asarray(x), axis=axis))
        np.testing.assert_array_equal(found, theirs(x, axis=axis))
    assert asked == [2, 2]  # the rows are not shared out besides


def test_scipys_transforms_of_other_bits_are_for_large_arrays(monkeypatch):
    library = ModuleType("scipy.fft._duccfft")  # which scales, and so is told from NumPy's

    def rfft(*args: Any, workers: int | None = None) -> Any:
        return 2 * np.fft.rfft(*args[:4])

    library.rfft = rfft
    monkeypatch.delitem(sys.modules, "scipy.fft._pocketfft", raising=False)
    monkeypatch.setitem(sys.modules, "scipy.fft._duccfft", library)
    for rows, factor in [(100, 1), (200, 2)]:  # 0.8 MB and 1.6
        x = RNG.normal(size=(rows, 1000))
        np.testing.assert_array_equal(np.asarray(xp.fft.rfft(xp.asarray(x))), factor * np.fft.rfft(x))


@pytest.mark.parametrize("options", [{"s": (2, 3)}, {"s": (2, None), "axes": (0, 1)}])
def test_sizes_that_numpy_warns_of(options: dict[str, Any]) -> None:
    for m in (xp, np):
        with pytest.warns(DeprecationWarning, match="`None`"):
            m.fft.fftn(m.ones((3, 3)), **options)
