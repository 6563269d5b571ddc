"""What touches MAX, where no program is compiled: memory that it reads, targets, and what a fork leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.max import backend
from nabla_array._lazy.max.backend import Builder, build_kernels, parsed_target, primitives

from ..ops.test_registry import all_primitives

pytestmark = pytest.mark.xdist_group("max")


def test_every_lowering_is_found_by_the_name_of_its_primitive() -> None:
    """Canonical programs have nothing else."""
    lowered = {p for p in all_primitives() if p.max is not None}
    assert lowered <= {*primitives().values()}
    assert all(name == prim.name for name, prim in primitives().items())


def test_targets() -> None:
    assert parsed_target("") == (0, "cpu", "")
    assert parsed_target("1 cuda sm_90a") == (1, "cuda", "sm_90a")


LAYOUTS = {
    "contiguous": np.arange(6.0).reshape(2, 3),
    "strided": np.arange(12.0)[::2].reshape(2, 3),
    "reversed": np.arange(6.0)[::-1].reshape(2, 3),
    "transposed": np.arange(6.0).reshape(3, 2).T,
    "repeated": np.broadcast_to(np.arange(3.0), (2, 3)),
    "empty": np.empty((0, 3)),
    "scalar": np.array(1.5),
    "bits": np.array([True, False]),
    "one bit": np.array(True),
    "no bit": np.array(False),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("is_frozen", [False, True])
def test_max_reads_any_layout(name: str, is_frozen: bool) -> None:
    """In place where it can: not where memory is read-only, or not contiguous."""
    x = LAYOUTS[name]
    if is_frozen:
        x = x.view()
        x.flags.writeable = False
    buffer = backend._as_buffer(x, x.shape)
    got = buffer.to_numpy()
    np.testing.assert_array_equal(got, x)
    assert (got.shape, got.dtype) == (x.shape, x.dtype)
    in_place = x.flags.c_contiguous and x.flags.writeable and x.size > 0
    assert np.shares_memory(got, x) == in_place


def test_flat_memory_takes_the_shape_that_a_model_wants() -> None:
    assert backend._as_buffer(np.arange(6.0).reshape(2, 3), (6,)).to_numpy().shape == (6,)
    assert backend._as_buffer(np.ones((1, 1), bool), (1,)).to_numpy().tolist() == [True]


def test_constants_have_no_axes_and_their_own_dtype() -> None:
    from max.graph import Graph

    builder = Builder()
    with Graph("constants", input_types=[]):
        for value in (np.float32(-0.0), np.float64(np.nan), np.int64(2**62 + 1), np.uint8(255), np.True_):
            made = builder.constant(value, value.dtype)
            assert (made.rank, builder.numpy(made)) == (0, value.dtype)


def test_shapes_are_known_where_they_are_numbers() -> None:
    from max.graph import Graph, TensorType

    builder = Builder()
    kind = TensorType(builder.dtype(np.float64), ("d0", 3), builder.device)
    with Graph("sizes", input_types=[kind]) as graph:
        x = graph.inputs[0].tensor
        assert (builder.size(x, 0), builder.size(x, 1)) == (None, 3)
        assert list(builder.shape((builder.dim("d0") * 2, 5))) == [builder.dim("d0") * 2, 5]


def test_there_is_no_accelerator_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is MAX imported to see that."""
    code = (
        "import sys\n"
        "from nabla_array._lazy.max import backend\n"
        "backend._DRIVERS = ('/no/such/driver',)\n"
        "assert backend.accelerators() == {}\n"
        "print('max.driver' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == ("False\n" if sys.platform == "linux" else run.stdout)


def test_a_forked_child_leaves_its_parents_max_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {"": object()}
    monkeypatch.setattr(backend, "_sessions", kept)
    monkeypatch.setattr(backend, "_is_started", True)
    monkeypatch.setattr(backend, "_is_forked", False)
    monkeypatch.setattr(backend, "_loaded", {"a": {}})
    monkeypatch.setattr(backend, "_has_executed", True)
    held = sys.getrefcount(kept)
    backend._after_fork()
    assert sys.getrefcount(kept) == held  # one for the name it had, which nobody lets go of
    assert (backend._sessions, backend._loaded, backend._has_executed) == ({}, {}, False)
    with pytest.raises(RuntimeError, match=r"^MAX was in use when this process was forked"):
        backend.load("a", b"")


def test_a_child_of_a_process_without_max_may_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_is_started", False)
    monkeypatch.setattr(backend, "_is_forked", True)
    backend._after_fork()
    assert not backend._is_forked


def test_the_first_execution_stands_aside_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """MAX starts a thread in it, which is scheduled as whoever starts it; errors come through."""
    seen: list[tuple[bool, Any]] = []

    class Model:
        def execute(self, *buffers: Any) -> Any:
            policy = os.sched_getscheduler(0) if hasattr(os, "SCHED_IDLE") else None
            seen.append((threading.current_thread() is threading.main_thread(), policy))
            if buffers == ("bad",):
                raise ValueError("bad")
            return buffers

    monkeypatch.setattr(backend, "_has_executed", False)
    assert backend._execute(Model(), [1]) == (1,)
    assert backend._execute(Model(), [2]) == (2,)
    usual = os.sched_getscheduler(0) if hasattr(os, "SCHED_IDLE") else None
    assert [main for main, _ in seen] == [False, True]
    assert seen[1][1] == usual
    monkeypatch.setattr(backend, "_has_executed", False)
    with pytest.raises(ValueError, match="bad"):
        backend._execute(Model(), ["bad"])


def test_kernels_are_compiled_once_for_all_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []

    def run_mojo(command: list[str], **options: Any) -> SimpleNamespace:
        out = Path(command[-1])
        calls.append(out)
        fails = len(calls) == 1
        out.write_bytes(b"half" if fails else b"kernels")
        return SimpleNamespace(returncode=int(fails), stderr="no such thing")

    mojo, run = ModuleType("mojo"), ModuleType("mojo.run")
    run.subprocess_run_mojo = run_mojo  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mojo", mojo)
    monkeypatch.setitem(sys.modules, "mojo.run", run)
    monkeypatch.setenv("MODULAR_CACHE_DIR", str(tmp_path))
    with pytest.raises(RuntimeError, match="exit 1: no such thing"):
        build_kernels(tmp_path / "unused")
    assert not list(tmp_path.rglob("*.mojoc"))
    (first,), (second,) = build_kernels(tmp_path / "unused"), build_kernels(tmp_path / "unused")
    assert first == second
    assert first.read_bytes() == b"kernels"
    assert len(calls) == 2
    monkeypatch.delenv("MODULAR_CACHE_DIR")
    (other,) = build_kernels(tmp_path / "temporary")
    assert other.is_relative_to(tmp_path / "temporary")
