"""Rules of operations that are more than their labels: results, and what moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.ops.indexing import scatter
from nabla_array._namespace.core.array import Array, current
from nabla_array.distributed import DeviceMesh, P, ShardingSpec
from nabla_array.distributed.engines import Local
from nabla_array.distributed.rules import loops
from nabla_array.transforms import cond, fori_loop, grad, scan, vmap, while_loop

from ..lazy.cpu.test_loops import reference
from .meshes import MESHES, moved, on_mesh, parted, recorded, run
from .test_registry import assert_close

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(19, 6))
NUMBERS = RNG.integers(-9, 9, (19, 6))
ROWS_OF = RNG.integers(-19, 19, (4, 5))
WIDE = TABLE + 1j * TABLE[::-1]
WITH_NAN = np.where(TABLE > 1.5, np.nan, TABLE)
STACK = RNG.normal(size=(9, 4, 4)) + 4 * np.eye(4)
# Functions of arrays, of operands of which no axis need be gathered by every device.
CASES: dict[str, tuple[Callable[..., Any], Sequence[np.ndarray]]] = {
    "cumsum": (lambda x: xp.cumulative_sum(x, axis=0), [TABLE]),
    "cumsum of the last axis": (lambda x: xp.cumulative_sum(x, axis=1), [TABLE]),
    "cumsum of integers": (lambda x: xp.cumulative_sum(x, axis=0), [NUMBERS]),
    "cumprod": (lambda x: xp.cumulative_prod(x, axis=0), [TABLE]),
    "argmax": (lambda x: xp.argmax(x, axis=0), [TABLE]),
    "argmax of all": (lambda x: xp.argmax(x), [TABLE]),
    "argmin with nan": (lambda x: xp.argmin(x, axis=0), [WITH_NAN]),
    "argmax of few": (lambda x: xp.argmax(x, axis=0), [NUMBERS]),
    "argmin of the last axis": (lambda x: xp.argmin(x, axis=1), [NUMBERS]),
    "argmin of truths": (lambda x: xp.argmin(x > 0, axis=0), [NUMBERS]),
    "sort": (lambda x: xp.sort(x, axis=0), [TABLE]),
    "argsort": (lambda x: xp.argsort(x, axis=0), [NUMBERS]),
    "fft": (lambda x: xp.fft.fft(x, axis=0), [WIDE]),
    "fft of both axes": (lambda x: xp.fft.fft2(x), [WIDE]),
    "rfft": (lambda x: xp.fft.rfft(x, axis=0), [TABLE]),
    "take": (lambda x, i: xp.take(x, i[0], axis=0), [TABLE, ROWS_OF]),
    "take of a signed zero": (lambda x, i: xp.take(x * 0.0, i[0], axis=0), [TABLE, ROWS_OF]),
    "index": (lambda x, i: x[i], [TABLE, ROWS_OF]),
    "index of integers": (lambda x, i: x[i], [NUMBERS, ROWS_OF]),
    "index of truths": (lambda x, i: (x > 0)[i], [NUMBERS, ROWS_OF]),
    "index of complex numbers": (lambda x, i: x[i], [WIDE, ROWS_OF]),
    "index of both axes": (lambda x, i: x[i, i % 6], [TABLE, ROWS_OF]),
    "index of small integers": (lambda x, i: x[i], [TABLE, np.abs(ROWS_OF).astype(np.uint8)]),
    "take_along_axis": (lambda x, i: xp.take_along_axis(x, i % 19, axis=0), [TABLE, NUMBERS]),
    "write": (lambda x, i: _set(x, (i,), 7.0), [TABLE, ROWS_OF]),
    "write of both axes": (lambda x, i: _set(x, (i, i % 6), i * 1.0), [TABLE, ROWS_OF]),
    "sums at indices": (lambda x, y, i: _summed(x * 0.0, y[:4, :5], i, "add"), [TABLE, TABLE, ROWS_OF]),
    "largest at indices": (lambda x, y, i: _summed(x, y[:4, :5], i, "max"), [TABLE, TABLE, ROWS_OF]),
    "gradient of an index": (lambda x, i: grad(lambda x: xp.sum(x[i] ** 2))(x), [TABLE, ROWS_OF]),
    "searchsorted": (lambda x, y: xp.searchsorted(x[:, 0], y), [np.sort(TABLE, axis=0), TABLE]),
    "isin": (lambda x, y: xp.isin(x, y[0]), [NUMBERS, ROWS_OF]),
    "inv": (lambda x: xp.linalg.inv(x), [STACK]),
    "slogdet": (lambda x: xp.linalg.slogdet(x)[1], [STACK]),
    "solve": (lambda a, b: xp.linalg.solve(a, b), [STACK, STACK]),
    "qr of a stack": (lambda x: xp.linalg.qr(x)[1], [STACK]),
    "eigh": (lambda x: xp.linalg.eigh(x + xp.matrix_transpose(x))[0], [STACK]),
    "partition": (lambda x: xp.partition(x, 3, axis=0), [TABLE]),
    "count": (lambda x: xp.count_nonzero(x, axis=0), [NUMBERS]),
    "diff": (lambda x: xp.diff(x, axis=0), [TABLE]),
    "flip": (lambda x: xp.flip(x, axis=0), [TABLE]),
    "reversed by two": (lambda x: x[::-2] * 2.0, [TABLE]),
    "roll": (lambda x: xp.roll(x, 3, axis=0), [TABLE]),
    "pad": (lambda x: xp.pad(x, ((1, 2), (0, 3))), [TABLE]),
    "write in reverse": (lambda x, y: _set(x, (slice(None, 3, -2),), y[:8]), [TABLE, NUMBERS * 1.0]),
    "trace": (lambda x: xp.linalg.diagonal(x), [STACK]),
    "stencil": (lambda x: x[1:-1] * 2 - x[2:] - x[:-2], [TABLE]),
    "a scan over rows": (
        lambda x: scan(lambda c, row: (c * 0.5 + row, xp.sin(c)), xp.zeros(6), x)[1],
        [TABLE],
    ),
    "a scan of columns": (
        lambda x: scan(lambda c, row: (xp.tanh(c + row), c), xp.zeros(19), x.T)[1],
        [TABLE],
    ),
    "a loop for each row": (
        vmap(lambda x: while_loop(lambda v: xp.sum(v) < 40, lambda v: v * 1.5 + 1, x)),
        [TABLE],
    ),
    "a loop with a count": (
        lambda x: fori_loop(0, 5, lambda i, v: v * 0.5 + i, x),
        [TABLE],
    ),
    "a branch for each row": (
        vmap(lambda x: cond(x[0] > 0, lambda v: xp.cumulative_sum(v), lambda v: -v, x)),
        [TABLE],
    ),
    "a branch": (
        lambda x, i: cond(i[0, 0] > 0, lambda v: v * 2.0, lambda v: -v, x),
        [TABLE, ROWS_OF],
    ),
    "bits": (lambda x: x.view(xp.int64), [TABLE]),
}


def _set(x: Any, key: Any, value: Any) -> Any:
    x = xp.asarray(x, copy=True)
    x[key] = value
    return x


def _summed(x: Array, value: Array, i: Array, mode: str) -> Array:
    """Write numbers to all columns of rows."""
    rows = xp.broadcast_to(value[..., None], (*value.shape, x.shape[1]))
    nodes = [current(a) for a in (x, rows, i)]
    return Array(scatter(*nodes, axes=(0,), batch=0, mode=mode))


@pytest.mark.parametrize("name", CASES)
def test_on_all_meshes(name: str) -> None:
    function, values = CASES[name]
    program, values = recorded(function, values)
    (wanted,) = reference(program, values)
    for seed, mesh in enumerate(MESHES * 3):
        (got,) = run(program, mesh, values, seed)
        assert_close(np.asarray(got), wanted)


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_unruled(name: str) -> None:
    function, values = CASES[name]
    mesh = DeviceMesh(4, "x")
    p = parted(function, mesh, *[(x, P("x")) for x in values])
    assert not p.unruled


GRID = RNG.normal(size=(32, 10))


def _five_points(u: Any) -> Any:
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]


def _steps(u: Any, many: int) -> Any:
    for _ in range(many):
        u = _set(u, (slice(1, -1), slice(1, -1)), u[1:-1, 1:-1] + 0.1 * _five_points(u))
    return u


@pytest.mark.parametrize("many", [1, 3])
def test_a_stencil_moves_the_rows_at_the_borders_once_a_step(many: int) -> None:
    p = parted(lambda u: _steps(u, many), DeviceMesh(4, "x"), (GRID, P("x")))
    rows = 2 * 3 / 4  # each of three borders is crossed by one row both ways
    assert moved(p) == [("ppermute", rows * 10 * 8)] * many


def test_a_stencil_over_both_axes() -> None:
    p = parted(lambda u: _steps(u, 2), DeviceMesh((2, 2), ("x", "y")), (GRID, P("x", "y")))
    assert moved(p) == [("ppermute", 5 * 8), ("ppermute", 16 * 8)] * 2  # a row, and a column


def test_a_difference_moves_one_row() -> None:
    p = parted(lambda u: u[1:] - u[:-1], DeviceMesh(4, "x"), (GRID, P("x")))
    assert moved(p) == [("ppermute", 3 / 4 * 10 * 8)]


def test_a_reshape_cuts_the_first_axis_instead() -> None:
    p = parted(lambda u: xp.reshape(u, (-1,)), DeviceMesh(4, "x"), (GRID, P(None, "x")))
    ((kind, nbytes),) = moved(p)
    assert kind == "all_to_all"
    assert nbytes < GRID.nbytes / 4
    assert p.values[p.outputs[0]].layout.cuts[0].axes == ("x",)


def test_what_is_not_shifted_stays() -> None:
    p = parted(lambda u: (u[5:] * 2.0)[::3], DeviceMesh(4, "x"), (GRID, P("x")))
    assert moved(p) == []


TALL = RNG.normal(size=(80, 5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("mesh", [m for m in MESHES if m.size > 1], ids=str)
def test_tall_matrices(mesh: DeviceMesh, dtype: Any) -> None:
    x = TALL.astype(dtype) * dtype(1 + 1j if dtype is np.complex128 else 1)
    layout = ShardingSpec(mesh, P(mesh.axis_names)).layout(x.shape)
    triangles = mesh.size * 5 * 5 * x.dtype.itemsize

    def found_for(function: Callable[..., Any]) -> list[np.ndarray]:
        p = parted(function, mesh, (x, P(mesh.axis_names)))
        assert not p.unruled
        assert moved(p) == [("all_gather", pytest.approx(triangles * (mesh.size - 1) / mesh.size))]
        found = on_mesh(p.program, mesh, [x], [layout])
        wanted = reference(p.program, [x])
        assert [(a.shape, a.dtype) for a in found] == [(np.shape(a), a.dtype) for a in wanted]
        for a, b in zip(found[1:], wanted[1:], strict=True):  # which may have other signs
            assert_close(np.abs(a), np.abs(b), 512)
        return found

    q, r = found_for(lambda x: tuple(xp.linalg.qr(x)))
    assert_close(q @ r, x, 512)
    assert_close(np.tril(r, -1), np.zeros_like(r))
    u, s, v = found_for(lambda x: tuple(xp.linalg.svd(x, full_matrices=False)))
    assert_close(u * s @ v, x, 512)
    for unitary in (q, u):
        assert_close(unitary.conj().T @ unitary, np.eye(5, dtype=dtype), 512)
    (values,) = found_for(lambda x: xp.linalg.svdvals(x))
    assert_close(values, s, 512)


def _trained(x: Any, y: Any, w: Any) -> Any:
    """Descend on a batch a step."""

    def step(w: Any, batch: Any) -> Any:
        a, b = batch
        error = a @ w - b
        return w - 0.1 * (a.T @ error) / len(b), xp.sum(error**2)

    return tuple(scan(step, w, (x, y)))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_over_batches_sums_once_a_step(monkeypatch: Any, reverse: bool) -> None:
    monkeypatch.setattr(Local, "meets_from", 0)
    x, y, w = RNG.normal(size=(3, 16, 4)), RNG.normal(size=(3, 16, 2)), RNG.normal(size=(4, 2))

    def function(x: Any, y: Any, w: Any) -> Any:
        found, errors = _trained(x, y, w)
        return (
            (*(grad(lambda w: xp.sum(_trained(x, y, w)[0] ** 2))(w),), errors) if reverse else (found, errors)
        )

    mesh = DeviceMesh(4, "x")
    p = parted(function, mesh, (x, P(None, "x")), (y, P(None, "x")), (w, P()))
    assert not p.unruled
    assert {kind for kind, _ in moved(p)} == {"all_reduce"}
    if not reverse:
        assert sorted(nbytes for _, nbytes in moved(p)) == [3 * 2 * 8 * 3 / 4, 2 * w.nbytes * 3 / 4]
    program, values = recorded(function, [x, y, w])
    layouts = [p.values[i].layout for i in range(3)] + [None] * (len(values) - 3)
    for got, want in zip(on_mesh(program, mesh, values, layouts), reference(program, values), strict=True):
        assert_close(np.asarray(got), want)


@pytest.mark.parametrize("name", [n for n in CASES if "scan" in n])
def test_scans_of_all_devices_together(monkeypatch: Any, name: str) -> None:
    monkeypatch.setattr(Local, "meets_from", 0)
    monkeypatch.setattr(loops.Body, "is_local", False)
    test_on_all_meshes(name)
