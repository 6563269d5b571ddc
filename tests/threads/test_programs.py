"""Random programs in many threads: each does what NumPy's does, or what it does alone.

`python -m benchmarks fuzz-threads` runs many more of the latter.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import nabla_array as xp
from benchmarks.fuzz_numpy import run_program
from benchmarks.fuzz_threads import run_rounds
from nabla_array._lazy.max import trials
from tests.lazy.canonical_host import numpy_as_max

from .together import THREADS, together

# Programs of each thread.
PROGRAMS = 200


@pytest.mark.parametrize("seed", [0])
def test_random_programs(seed: int) -> None:
    def work(t: int) -> int:
        for k in range(PROGRAMS):
            run_program(seed + t * PROGRAMS + k, longest=24)
        return PROGRAMS

    with warnings.catch_warnings():
        # Each program sets the filter again in its thread. Filters belong to the process, and this one is
        # gone for a moment then: no other filter may turn a warning into an error meanwhile.
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        assert sum(together(work)) == THREADS * PROGRAMS


def test_random_programs_on_shared_arrays() -> None:
    assert not run_rounds(range(15), THREADS)


def test_random_programs_while_the_compiled_tier_arrives() -> None:
    def auto() -> Any:
        return xp.config(mode="auto", compile_after=0.0)

    with numpy_as_max():
        assert not run_rounds(range(3), THREADS, columns=(9000,), around=auto)
        kernels = trials.kernels()
        assert any(k.hits for k in kernels), kernels
