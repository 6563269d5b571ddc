"""Random programs on meshes, against the same on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nabla_array.distributed import DeviceMesh

from ..lazy.cpu.test_loops import INSTRUCTIONS, NUMBERS, chosen, program_of, reference
from ..lazy.run.test_random_graphs import leaves
from .meshes import meshes, run
from .test_registry import assert_close


@settings(max_examples=300)
@given(leaves(), INSTRUCTIONS, NUMBERS, meshes, st.integers(0, 1 << 30))
def test_random_programs(
    inputs: list[np.ndarray], instructions: list[Any], kept: set[int], mesh: DeviceMesh, seed: int
) -> None:
    program = chosen(program_of(inputs, instructions), kept)
    wanted = reference(program, inputs)
    for got, want in zip(run(program, mesh, inputs, seed), wanted, strict=True):
        assert_close(np.asarray(got), want)
