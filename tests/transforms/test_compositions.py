"""Random stacks of transforms, as `python -m benchmarks fuzz-transforms` runs a thousand of."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fuzz_transforms import check, main, random_case, wanted

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="the reference needs numbers of more than double precision"
)


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_stacks_of_transforms_agree_with_loops_and_differences(first: int) -> None:
    compared = 0
    for seed in range(first, first + 10):
        case = random_case(seed)
        right = wanted(case)
        if right is not None:
            compared += 1
            assert check(case, right) is None, f"case {seed}: {case}"
    assert compared > 5


def test_what_is_wrong_is_found() -> None:
    case = random_case(0)
    right = wanted(case)
    assert right is not None
    assert "differs by" in (check(case, right + 1e-4 * (1 + np.abs(right))) or "")
    assert "shape" in (check(case, right[None]) or "")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cases", "5", "--seed", "7"]) == 0
    assert "5 cases, 0 wrong" in capsys.readouterr().out
