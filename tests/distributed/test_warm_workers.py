"""Workers of one machine share what was compiled: NumPy in MAX's place says what was, and how often."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from distributed import Client

import nabla_array as xp
from nabla_array.distributed import P, shard

from ..lazy import numpy_worker
from .clusters import mesh_of, processes, until

pytest.importorskip("max", reason="MAX, in whose place a stand-in compiles here, is optional")


def _compiled() -> int:
    from nabla_array._lazy.stats import stats

    return stats.compiled


def _run_until_compiled(client: Client) -> None:
    client.run(numpy_worker.install)
    a = np.random.default_rng(0).normal(size=(200, 2000))
    x = shard(a, mesh_of(client, 2), P("x"))
    wanted = np.sum(np.tanh(np.exp(a) * 2 - a) * a + 1)

    def is_compiled() -> bool:
        np.testing.assert_allclose(float(xp.sum(xp.tanh(xp.exp(x) * 2 - x) * x + 1)), wanted)
        return all(client.run(_compiled).values())

    assert until(is_compiled, 60)


@pytest.mark.slow
def test_nothing_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "batches"
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.setenv("NABLA_ARRAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NABLA_ARRAY_COMPILE_AFTER", "0.05")
    with processes(2) as client:
        _run_until_compiled(client)
        _run_until_compiled(client)  # programs are sent anew
        times = Counter([k for line in log.read_text().splitlines() for k in json.loads(line)["keys"]])
    assert times
    assert {*times.values()} == {1}  # though both workers come upon a program at one time
    with processes(2) as client:
        _run_until_compiled(client)
    again = Counter([k for line in log.read_text().splitlines() for k in json.loads(line)["keys"]])
    assert all(again[k] == n for k, n in times.items())
