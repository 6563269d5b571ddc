"""Fourier transforms of a vector that is cut, without bringing it together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, shard
from nabla_array.distributed.rules import four_steps
from nabla_array.transforms import grad

from .clusters import threads
from .meshes import MESHES, moved, on_mesh, parted, random_layout, recorded


@pytest.fixture(autouse=True, scope="module")
def small_ones_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(four_steps, "_LARGE", 0)
        yield


def assert_close(got: Any, wanted: np.ndarray) -> None:
    """Close for the size of all elements, as errors of a transform are."""
    got = np.asarray(got)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    scale = np.sqrt(np.mean(np.abs(wanted) ** 2))
    assert np.abs(got - wanted).max() <= 16 * np.finfo(wanted.dtype).eps * scale


@given(st.data())
def test_the_same_as_numpy(data: st.DataObject) -> None:
    mesh = data.draw(st.sampled_from(MESHES))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 16)))
    n = data.draw(st.integers(1, 9)) * data.draw(st.sampled_from([1, 4, 9, 16, 25, 36, 64]))
    x = rng.normal(size=n).astype(data.draw(st.sampled_from(["f8", "f4"])))
    name, norm = (
        data.draw(st.sampled_from(["fft", "ifft", "rfft", "irfft"])),
        data.draw(st.sampled_from(["backward", "ortho", "forward"])),
    )
    if name != "rfft":
        x = x + x.dtype.type(1) * 1j * x[::-1]
        x = x.astype("c8" if x.real.dtype == "f4" else "c16")
    given: dict[str, Any] = {"norm": norm}
    if name == "irfft":
        given["n"], x = n, x[: n // 2 + 1]
    program, values = recorded(lambda x: getattr(xp.fft, name)(x, **given), [x])
    layouts = [random_layout(mesh, x.shape, rng, sums=True), *[None] * (len(values) - 1)]
    assert_close(on_mesh(program, mesh, values, layouts)[0], getattr(np.fft, name)(x, **given))


@pytest.mark.parametrize("many", [2, 4, 8])
def test_what_moves(many: int) -> None:
    x = np.ones(many**2 * 6, "c16")
    steps = moved(parted(xp.fft.fft, DeviceMesh(many, "i"), (x, P("i"))))
    part = x.nbytes / many
    assert steps == [("all_to_all", part * (many - 1) / many)] * 3


@pytest.mark.parametrize("many", [2, 4])
def test_what_moves_of_half_a_spectrum(many: int) -> None:
    n = many**2 * 6

    def there_and_back(x: Any) -> Any:
        return xp.fft.irfft(xp.fft.rfft(x) * 2, n=n)

    steps = moved(parted(there_and_back, DeviceMesh(many, "i"), (np.ones(n), P("i"))))
    assert steps == [("all_to_all", 16 * n / many * (many - 1) / many)] * 6


def test_other_lengths_are_brought_together() -> None:
    x = shard(np.ones(17) + 0j, DeviceMesh(4, "i"), P("i"))
    xp.eval(x)
    assert "all_gather for %1 fft" in str(xp.explain(xp.fft.fft(x)))


def test_there_and_back_and_derivatives() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=4096)
    y = shard(x, DeviceMesh(4, "i"), P("i"))
    assert xp.fft.fft(y + 0j).sharding.partition_spec == P("i")
    assert_close(xp.real(xp.fft.ifft(xp.fft.fft(y + 0j))), x)
    assert_close(xp.fft.irfft(xp.fft.rfft(y)), x)
    slope = grad(lambda y: xp.sum(xp.abs(xp.fft.rfft(y)) ** 2))(y)
    wanted = grad(lambda y: xp.sum(xp.abs(xp.fft.rfft(y)) ** 2))(xp.asarray(x))
    assert_close(slope, np.asarray(wanted))
    slope = grad(lambda y: xp.sum(xp.fft.irfft(y + 0j, n=8190) ** 2))(y)
    wanted = grad(lambda y: xp.sum(xp.fft.irfft(y + 0j, n=8190) ** 2))(xp.asarray(x))
    assert_close(slope, np.asarray(wanted))


def test_on_workers() -> None:
    x = np.random.default_rng(1).normal(size=36) + 1j
    with threads(2) as client:
        y = shard(x, DeviceMesh(3, "i", engine="dask", client=client), P("i"))
        assert_close(xp.fft.fft(y), np.fft.fft(x))
