"""Arrays on an accelerator: where they are, what moves, and that every operation gives the CPU's result.

The host computes for the accelerator here (that it may: fusion groups that are not compiled yet are run so);
tests/lazy/run/test_accelerator.py has what MAX compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms as t
from nabla_array._lazy.ops.placement import resident
from nabla_array._lazy.run.accelerator import Placed

from ...stand_in import accelerators

GPU, OTHER = "gpu:0", "gpu:1"


@pytest.fixture(autouse=True)
def _accelerators() -> Iterator[None]:
    with accelerators(GPU, OTHER):
        xp.zeros(1, device=GPU)
        with xp.config(mode="host"):  # nothing is compiled
            yield


def there(*shape: int) -> xp.Array:
    return (xp.arange(float(np.prod(shape))) + 1).reshape(shape).to_device(GPU)


def test_devices_are_listed() -> None:
    with xp.config(mode="auto"):
        assert xp.__array_namespace_info__().devices() == ("cpu", GPU, OTHER)
    assert xp.__array_namespace_info__().default_device() == "cpu"


def test_the_mode_host_starts_no_accelerator() -> None:
    with pytest.raises(
        ValueError, match=r"^ones: no device 'gpu:1' \(the mode is 'host', in which MAX is never"
    ):
        xp.ones(3, device=OTHER)


def test_an_accelerator_that_is_not_there_is_refused_with_those_that_are() -> None:
    told = r"^to_device: no device 'gpu:7' \(MAX finds gpu:0, gpu:1\); 'cpu' would work"
    with xp.config(mode="auto"), pytest.raises(ValueError, match=told):
        xp.ones(3).to_device("gpu:7")


@pytest.mark.parametrize(
    "make",
    [
        lambda device: xp.asarray([1.0, 2.0], device=device),
        lambda device: xp.asarray(xp.asarray([1.0, 2.0]), device=device),
        lambda device: xp.arange(3, device=device),
        lambda device: xp.linspace(0, 1, 5, device=device),
        lambda device: xp.eye(3, device=device),
        lambda device: xp.full((2, 3), 7, device=device),
        lambda device: xp.zeros(3, device=device),
        lambda device: xp.ones(3, device=device),
        lambda device: xp.empty(3, device=device),
        lambda device: xp.zeros_like(xp.asarray([1.0, 2.0]), device=device),
        lambda device: xp.full_like(xp.asarray([1.0, 2.0]), 3, device=device),
        lambda device: xp.astype(xp.asarray([1, 2]), xp.float64, device=device),
        lambda device: xp.from_dlpack(np.arange(3.0), device=device),
        lambda device: xp.fft.fftfreq(5, device=device),
        lambda device: xp.asarray([1.0, 2.0]).to_device(device),
    ],
)
def test_functions_that_take_a_device_put_arrays_there(make: Callable[[str], xp.Array]) -> None:
    x, here = make(GPU), make("cpu")
    assert (x.device, here.device) == (GPU, "cpu")
    assert (x.shape, x.dtype) == (here.shape, here.dtype)
    np.testing.assert_array_equal(np.asarray(x), np.asarray(here))


def test_functions_that_infer_the_device_keep_it() -> None:
    x = there(3)
    for y in (
        xp.zeros_like(x),
        xp.ones_like(x),
        xp.full_like(x, 2),
        xp.empty_like(x),
        xp.asarray(x),
        x.copy(),
    ):
        assert y.device == GPU
    assert xp.zeros_like(x, device="cpu").device == "cpu"


def test_to_device_gives_the_array_itself_where_it_is() -> None:
    x = there(3)
    assert x.to_device(GPU) is x
    y = x.to_device("cpu")
    assert y.device == "cpu"
    assert (y + 1).device == "cpu"
    with pytest.raises(ValueError, match="to_device: there are no streams"):
        x.to_device("cpu", stream=1)


OPERATIONS: dict[str, Callable[[xp.Array], Any]] = {
    "arithmetic": lambda x: x * 2 - 1,
    "with the host's": lambda x: x + xp.arange(4.0),
    "with NumPy's": lambda x: x * np.arange(4.0),
    "with a scalar of NumPy's": lambda x: np.float64(2) * x,
    "with what is pending": lambda x: x + xp.sqrt(xp.arange(4.0) + 1) * 3,
    "sum": lambda x: xp.sum(x, axis=0),
    "cumsum": lambda x: xp.cumulative_sum(x, axis=0),
    "matmul": lambda x: x.T @ x,
    "sort": lambda x: xp.sort(-x, axis=-1),
    "fft": lambda x: xp.fft.fft(x),
    "complex": lambda x: xp.real(x * 1j + x),
    "view": lambda x: x[1:, ::2].T,
    "element": lambda x: x[1, 2],
    "fancy": lambda x: x[:, [2, 0]],
    "index there": lambda x: x[xp.asarray([1, 0], device=GPU)],
    "concat": lambda x: xp.concat([x, xp.ones((1, 4))]),
    "where": lambda x: xp.where(x > 4, x, 0),
    "solve": lambda x: xp.linalg.solve(x[:3, :3] + 9 * xp.eye(3), xp.ones(3)),
    "einsum": lambda x: xp.einsum("ij,kj->ik", x, x),
    "ufunc": lambda x: xp.add.reduce(x, axis=1),
    "grad": t.grad(lambda x: xp.sum(xp.sin(x) ** 2)),
    "jvp": lambda x: t.jvp(lambda y: xp.exp(-y), (x,), (xp.ones_like(x),))[1],
    "vmap": t.vmap(lambda row: row / xp.sum(row)),
    "vmap of grad": t.vmap(t.grad(lambda row: xp.sum(row**3))),
    "grad of vmap": t.grad(lambda x: xp.sum(t.vmap(xp.prod)(x))),
    "scan": lambda x: t.scan(lambda c, r: (c + r, c), xp.zeros(4), x)[0],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_results_are_the_hosts_and_stay(name: str) -> None:
    function, x = OPERATIONS[name], there(5, 4)
    y, wanted = function(x), function(x.to_device("cpu"))
    assert y.device == GPU
    assert (y.shape, y.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(wanted))
    assert y.device == GPU  # still, now that somebody has looked
    assert (y + 1).device == GPU


def test_several_results_stay_there() -> None:
    x = there(3, 3) + 9 * xp.eye(3)
    for y, wanted in zip(xp.linalg.qr(x), np.linalg.qr(np.asarray(x)), strict=True):
        assert y.device == GPU
        np.testing.assert_array_equal(np.asarray(y), wanted)


def test_results_whose_shape_depends_on_data_are_the_hosts() -> None:
    x = there(4)
    for y, wanted in (
        (x[x > 2], [3, 4]),
        (xp.nonzero(x > 2)[0], [2, 3]),
        (xp.unique_values(x), [1, 2, 3, 4]),
    ):
        np.testing.assert_array_equal(np.asarray(y), wanted)


def test_writes_reach_views_and_stay_there() -> None:
    x = there(3, 4)
    row = x[1]
    x += 1
    x[0, 1] = -5
    row *= 2
    x[x > 20] = 0
    x[2, :2] = xp.asarray([7.0, 8.0])
    wanted = np.arange(1.0, 13).reshape(3, 4) + 1
    wanted[0, 1] = -5
    wanted[1] *= 2
    wanted[wanted > 20] = 0
    wanted[2, :2] = [7, 8]
    np.testing.assert_array_equal(np.asarray(x), wanted)
    np.testing.assert_array_equal(np.asarray(row), wanted[1])
    assert (x.device, row.device) == (GPU, GPU)


@pytest.mark.parametrize("n", [3, 1_000_000])
def test_what_is_written_does_not_move_an_array(n: int) -> None:
    x, y = xp.zeros(n), there(n)
    x[1:] = there(n - 1)
    y[1:] = xp.zeros(n - 1)
    assert (x.device, y.device) == ("cpu", GPU)
    assert (float(x[-1]), float(y[-1])) == (n - 1, 0.0)
    x[:] = there(n)
    y[:] = xp.zeros(n)
    assert (x.device, y.device) == ("cpu", GPU)
    assert (float(x[-1]), float(y[0])) == (n, 0.0)
    y.fill(7)
    assert (y.device, float(y[1])) == (GPU, 7.0)
    assert xp.imag(y).device == GPU


def test_the_arrays_own_memory_is_not_shared() -> None:
    a = np.arange(3.0)
    x = xp.asarray(a, device=GPU)
    y = x.to_device("cpu")
    y += 1
    a[0] = 9
    assert x.tolist() == [0.0, 1.0, 2.0]


def test_python_sees_values() -> None:
    x = there(3)
    assert float(x[0]) == 1.0
    assert bool(xp.all(x > 0))
    assert repr(x) == "array([1., 2., 3.])"
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert np.from_dlpack(x).tolist() == [1.0, 2.0, 3.0]
    assert [int(v) for v in x] == [1, 2, 3]


def test_operands_on_two_accelerators_are_refused() -> None:
    with xp.config(mode="auto"):
        other = xp.ones(3, device=OTHER)
    with pytest.raises(
        ValueError, match=r"^add: operands are on gpu:0 and gpu:1; to_device would bring them"
    ):
        xp.eval(there(3) + other)
    assert (there(3) + other.to_device(GPU)).tolist() == [2.0, 3.0, 4.0]


def test_moves_back_and_forth_within_one_program() -> None:
    x = xp.arange(6.0)
    y = (x + 1).to_device(GPU) * 2
    z = (y.to_device("cpu") - 3).to_device(GPU) + y
    assert (z.device, z.tolist()) == (GPU, [1.0, 5.0, 9.0, 13.0, 17.0, 21.0])


def test_a_derivative_goes_through_moves() -> None:
    g = t.grad(lambda x: xp.sum(x.to_device(GPU) ** 2).to_device("cpu"))
    x = xp.asarray([1.0, 2.0])
    assert (g(x).device, g(x).tolist()) == ("cpu", [2.0, 4.0])
    assert (g(there(2)).device, g(there(2)).tolist()) == (GPU, [2.0, 4.0])


def test_compiled_functions_run_where_their_arguments_are() -> None:
    captured = there(3)
    along, there_anyway = t.compile(lambda x: x * x + 1), t.compile(lambda x: captured * x)
    for device in ("cpu", GPU, "cpu", GPU, GPU):
        x = xp.asarray([1.0, 2.0, 3.0], device=device)
        y, z = along(x), there_anyway(x)
        assert (y.device, z.device) == (device, GPU)
        assert (y.tolist(), z.tolist()) == ([2.0, 5.0, 10.0], [1.0, 4.0, 9.0])
    moving = t.compile(lambda x: (x + 1).to_device(GPU))
    for _ in range(3):
        y = moving(xp.ones(2))
        assert (y.device, y.tolist()) == (GPU, [2.0, 2.0])


def test_errors_of_the_data_leave_arrays_as_they_were() -> None:
    x = there(3)
    y = x[xp.asarray([1, 5], device=GPU)]
    with pytest.raises(IndexError):
        xp.eval(y)
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_evaluated_arrays_hold_values_of_the_accelerator() -> None:
    x = there(3) * 2
    xp.eval(x)
    assert x._node.prim is resident
    assert isinstance(x._node.params["value"], Placed)
    assert str(xp.explain(x)) == "float64[3]: evaluated, 24 B"
    assert "transfers" in str(xp.report())
