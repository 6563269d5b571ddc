"""Random stacks of transforms, as `python -m benchmarks fuzz-transforms` runs a thousand of."""

from __future__ import annotations

import numpy as np
import pytest

import nabla_array as xp
from benchmarks import fuzz_leaving
from benchmarks.fuzz_transforms import check, check_control, check_leaving, main, random_case, wanted
from nabla_array.transforms import SplitWarning, vmap

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
            assert check(case, right) == ("right", None), f"case {seed}: {case}"
    assert compared > 5


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_values_that_leave_are_right_or_told_of(first: int) -> None:
    outcomes = []
    for seed in range(first, first + 20):
        case = random_case(seed, leaving=True)
        right = wanted(case)
        if right is not None:
            outcome, problem = check_leaving(case, right)
            assert problem is None, f"case {seed}: {case}: {problem}"
            outcomes.append(outcome)
    assert outcomes.count("right") > 3


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_control_flow_in_stacks_of_transforms(first: int) -> None:
    outcomes = []
    for seed in range(first, first + 10):
        case = random_case(seed, control=True)
        right = wanted(case)
        if right is not None:
            outcome, problem = check_control(case, right)
            assert problem is None, f"case {seed}: {case}: {problem}"
            outcomes.append(outcome)
    assert outcomes.count("right") > 2


@pytest.mark.filterwarnings("ignore", category=SplitWarning)
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_captured_arrays_are_as_after_a_loop(first: int) -> None:
    for seed in range(first, first + 20):
        _, problem = fuzz_leaving.check_counting(seed, vmap, xp)
        assert problem is None, f"seed {seed}: {problem}"


def test_what_is_wrong_is_found() -> None:
    case = random_case(0)
    right = wanted(case)
    assert right is not None
    assert "differs by" in (check(case, right + 1e-4 * (1 + np.abs(right)))[1] or "")
    assert "shape" in (check(case, right[None])[1] or "")
    assert check_control(case, right[None])[0] == "wrong"
    assert check_leaving(case, right + 1e-4 * (1 + np.abs(right)))[0] == "wrong"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cases", "5", "--seed", "7"]) == 0
    assert "5 cases, 0 wrong" in capsys.readouterr().out
    for option in ("--leaving", "--control"):
        assert main(["--cases", "3", "--seed", "1", option]) == 0
        assert "3 cases, 0 wrong" in capsys.readouterr().out
