"""Random programs in many threads: each does what NumPy's does."""

from __future__ import annotations

import warnings

import pytest

from benchmarks.fuzz_numpy import run_program

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
        warnings.simplefilter("ignore")
        assert sum(together(work)) == THREADS * PROGRAMS
