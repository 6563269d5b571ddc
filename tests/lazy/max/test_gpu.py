"""An accelerator that is there: what MAX computes on it is what the host computes. Skipped without one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms as t
from nabla_array._lazy.max import backend
from nabla_array._lazy.max.canonical import Canonical

from ..ops.test_lowerings import CASES, by_inputs, check, compile_cases, inputs
from ..run.test_accelerator import chain, placed

pytestmark = [pytest.mark.xdist_group("max"), pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def gpu() -> str:
    """The first accelerator."""
    if not backend.accelerators():
        pytest.skip("MAX finds no accelerator on this machine")
    return "gpu:0"


def test_every_lowering_gives_the_hosts_result(gpu: str, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.prim.kind != "scan"]
    target = backend.accelerators()[gpu]
    # MAX compiles for an accelerator on one core, and the more slowly the more there is in one file.
    batches = [some[k : k + 12] for some in by_inputs(cases).values() for k in range(0, len(some), 12)]

    def compiled(i: int) -> Canonical:
        folder = tmp_path / str(i)
        folder.mkdir()
        (canonical,) = compile_cases(batches[i], folder, target).values()
        return canonical

    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 2)) as pool:
        canonicals = list(pool.map(compiled, range(len(batches))))
    wrong = {}
    for i, (batch, canonical) in enumerate(zip(batches, canonicals, strict=True)):
        models = backend.load(f"test_gpu {i}", (tmp_path / str(i) / "mef").read_bytes(), target)
        run = backend.buffer_runner(models["g0"], canonical.inputs, canonical.outputs)
        arrays = [backend.upload(x, gpu) for x in inputs(batch[0].inputs)]
        for case, buffer in zip(batch, run(*arrays), strict=True):
            try:
                check(case, backend.download(buffer))
            except (AssertionError, pytest.fail.Exception) as error:
                wrong[str(case)] = str(error)
    assert not wrong


def test_regions_run_there_and_results_stay(gpu: str) -> None:
    wanted = [np.asarray(x) for x in chain("cpu")]
    with xp.config(mode="max"):
        got = xp.eval(chain(gpu))
    for x, w in zip(got, wanted, strict=True):
        assert x.device == gpu
        assert placed(x)._here is None
        np.testing.assert_allclose(np.asarray(x), w, rtol=1e-13, atol=1e-13)


def test_transforms_run_there(gpu: str) -> None:
    def loss(w: xp.Array) -> xp.Array:
        return xp.sum(xp.tanh(w) ** 2)

    w = xp.linspace(-2, 2, 12_000).reshape(3, 4000)
    with xp.config(mode="max"):
        there = t.vmap(t.grad(loss))(w.to_device(gpu))
        assert there.device == gpu
        np.testing.assert_allclose(np.asarray(there), np.asarray(t.vmap(t.grad(loss))(w)), rtol=1e-12)
