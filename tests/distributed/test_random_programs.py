"""Random programs on meshes, against the same on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from distributed import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nabla_array.distributed import DeviceMesh

from ..lazy.cpu.test_loops import INSTRUCTIONS, NUMBERS, chosen, program_of, reference
from ..lazy.run.test_random_graphs import leaves
from .clusters import threads
from .meshes import meshes, run
from .test_registry import assert_close


def check(inputs: list[np.ndarray], instructions: Any, kept: set[int], mesh: DeviceMesh, seed: int) -> None:
    program = chosen(program_of(inputs, instructions), kept)
    wanted = reference(program, inputs)
    for got, want in zip(run(program, mesh, inputs, seed), wanted, strict=True):
        assert_close(np.asarray(got), want)


@settings(max_examples=300)
@given(leaves(), INSTRUCTIONS, NUMBERS, meshes, st.integers(0, 1 << 30))
def test_random_programs(
    inputs: list[np.ndarray], instructions: list[Any], kept: set[int], mesh: DeviceMesh, seed: int
) -> None:
    check(inputs, instructions, kept, mesh, seed)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with threads(3) as client:
        yield client


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(leaves(), INSTRUCTIONS, NUMBERS, meshes, st.integers(0, 1 << 30))
def test_random_programs_on_workers(
    client: Client,
    inputs: list[np.ndarray],
    instructions: list[Any],
    kept: set[int],
    mesh: DeviceMesh,
    seed: int,
) -> None:
    there = DeviceMesh(mesh.shape, mesh.axis_names, engine="dask", client=client)
    check(inputs, instructions, kept, there, seed)
