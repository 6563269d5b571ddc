"""Programs that MAX compiles for an accelerator, with the CPU in the place of one.

tests/lazy/max/test_gpu.py has what needs a real one,
tests/namespace/core/test_devices.py what arrays do there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.max import backend, trials
from nabla_array._lazy.max.artifacts import Store
from nabla_array._lazy.max.canonical import for_target, parse
from nabla_array._lazy.max.compiler import Compiler
from nabla_array._lazy.native import compiled
from nabla_array._lazy.run import accelerator, settling, tiers
from nabla_array._lazy.run.tiers import Runner
from nabla_array._lazy.schedule.steps import Compiled
from nabla_array._lazy.stats import stats
from nabla_array.inspect.reporting import report

from ...stand_in import accelerators
from ..ops.test_lowerings import CASES, compile_cases

pytestmark = [pytest.mark.xdist_group("max"), pytest.mark.timeout(1800)]

GPU = "gpu:0"
HOPPER = "0 cuda sm_90a"
# What accelerators were hard for (angles and quotients out of range, powers), and a reduction.
HARD = {("pairf", "remainder"), ("pairf", "pow"), ("oned", "sin"), ("oned", "exp"), ("tableb", "reduce_sum")}
SOME = [case for case in CASES if (case.inputs, case.prim.name) in HARD]


def chain(device: str) -> list[xp.Array]:
    """Return results of parts that MAX compiles around one that it does not, and of a reduction."""
    x = xp.linspace(-3, 3, 60_000, device=device).reshape(300, 200)
    y = xp.sort(xp.exp(x) * 2 - 1, axis=1)
    return [xp.sin(y) * x + y, xp.sum(x * x, axis=1)]


def placed(x: xp.Array) -> accelerator.Placed:
    value = x._node.params["value"]
    assert isinstance(value, accelerator.Placed)
    return value


@pytest.fixture
def _stand_in() -> Iterator[None]:
    with accelerators(GPU):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("_stand_in")
def test_regions_run_from_max_and_results_stay_in_its_buffers() -> None:
    wanted = [np.asarray(x) for x in chain("cpu")]
    with xp.config(mode="max"):
        got = chain(GPU)
        downloaded = stats.downloaded
        xp.eval(got)
        # The sort is the host's, the rest is not.
        assert stats.downloaded - downloaded == got[0].nbytes
        assert all(placed(x)._here is None for x in got)
        again = xp.eval(got[0] + 1)  # from the buffer
        assert stats.downloaded - downloaded == got[0].nbytes
    for x, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(x), w, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(np.asarray(again), wanted[0] + 1, rtol=1e-14, atol=1e-14)
    # In `auto` what is compiled is used, after its first results were compared; what is not is asked for.
    found = [k for k in trials.kernels() if k.target and k.state == "ready"]
    assert found
    assert "MAX" in str(xp.explain(*chain(GPU)))
    hits = [k.hits for k in found]
    for k in found:
        k.faster.clear()
    for x, w in zip(chain(GPU), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(x), w, rtol=1e-14, atol=1e-14)
    assert any(k.faster for k in found)
    assert sum(k.hits for k in found) > sum(hits)
    assert report().uploaded == stats.uploaded


def test_a_graph_like_another_is_planned_once_on_each_device(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(settling, "linearize", lambda *args: calls.append(args) or linearize(*args))
    with accelerators(GPU, "gpu:1"):
        for k in range(3):
            for device in (GPU, "gpu:1", GPU):
                x = xp.asarray([1.0, 2.0 + k], device=device)
                y = xp.eval(xp.exp(x) * 7 + np.asarray([1.0, k]))
                assert y.device == device
                np.testing.assert_array_equal(np.asarray(y), np.exp([1.0, 2.0 + k]) * 7 + [1.0, k])
    assert len(calls) == (2 if compiled is not None else 9)


@pytest.mark.usefixtures("_stand_in")
def test_what_it_could_run_is_gathered() -> None:
    x = xp.linspace(0, 1, 3000, device=GPU)
    with tiers.gather() as keys:
        y = xp.eval(xp.sin(x) * 5 - x)
    a = np.linspace(0, 1, 3000)
    np.testing.assert_array_equal(np.asarray(y), np.sin(a) * 5 - a)
    (key,) = keys
    (kernel,) = [k for k in trials.kernels() if k.key == key]
    assert kernel.target == parse(key).target == backend.accelerators()[GPU]


@pytest.mark.usefixtures("_stand_in")
def test_what_differs_from_the_host_is_never_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = xp.linspace(0, 1, 3000, device=GPU)
    y = xp.cos(x) * 3 + x
    runner = _runner(y)
    assert runner.kernel is not None
    runner.kernel.state = "ready"
    wrong = backend.upload(np.zeros(3000), GPU)
    monkeypatch.setattr(type(runner), "on_max", lambda self, ins: [wrong])
    a = np.linspace(0, 1, 3000)
    np.testing.assert_array_equal(np.asarray(y), np.cos(a) * 3 + a)
    assert runner.kernel.status() == "host: its results differ from the host's"


@pytest.mark.usefixtures("_stand_in")
def test_what_fails_there_runs_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    x = xp.linspace(0, 1, 3000, device=GPU)
    y = xp.sin(x) * 3 - x
    runner = _runner(y)
    assert runner.kernel is not None
    runner.kernel.state = "ready"

    def lost(self: object, ins: object) -> None:
        raise RuntimeError("the accelerator fell off the bus")

    monkeypatch.setattr(type(runner), "on_max", lost)
    np.testing.assert_array_equal(
        np.asarray(y), np.sin(np.linspace(0, 1, 3000)) * 3 - np.linspace(0, 1, 3000)
    )
    assert y.device == GPU
    assert runner.kernel.status() == "host: cannot be run: the accelerator fell off the bus"


@pytest.mark.usefixtures("_stand_in")
def test_the_mode_host_compiles_nothing() -> None:
    x = xp.linspace(0, 1, 3000, device=GPU)
    y = xp.sin(x) * 5 - x
    runner = _runner(y)
    with xp.config(mode="host"):
        xp.eval(y)
    assert runner.kernel is not None
    assert (runner.kernel.state, runner.kernel.host_seconds) == ("new", 0.0)


def _runner(x: xp.Array) -> Runner:
    steps = accelerator.Accelerator(GPU).schedule(_program(x)).steps
    (found,) = [s.runner for s in steps if isinstance(s, Compiled) and s.runner.kernel is not None]
    assert isinstance(found, Runner)
    return found


def _program(x: xp.Array) -> Program:
    order = pending_order([x._node.inputs[0], x._node])
    moves = [n for n in order if n.prim.role == "transfer"]
    xp.eval([xp.Array(n) for n in moves])
    return linearize(pending_order([x._node]), [x._node]).program


def test_programs_of_two_targets_are_not_compiled_together(tmp_path: Path) -> None:
    compiler = Compiler(Store(tmp_path, 100), settle=0.0)
    compiler._start_thread = lambda: None  # type: ignore[method-assign]
    asked = [
        compiler.request(key, target=target)
        for key, target in zip("abcd", ("", HOPPER, "", HOPPER), strict=True)
    ]
    assert compiler._next() == [asked[0], asked[2]]
    assert compiler._next() == [asked[1], asked[3]]


@pytest.mark.slow
def test_kernels_compile_for_an_accelerator_that_is_not_here(tmp_path: Path) -> None:
    compile_cases(SOME, tmp_path, HOPPER)


def test_a_key_says_what_it_is_compiled_for() -> None:
    key = "((), (), ())"
    assert parse(key).target == ""
    assert parse(for_target(key, HOPPER)).target == HOPPER
    assert backend.parsed_target(HOPPER) == (0, "cuda", "sm_90a")
