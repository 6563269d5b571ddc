"""Random programs on arrays against NumPy, as `python -m benchmarks fuzz-numpy` runs thousands of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks import fuzz_numpy
from benchmarks.numpy_programs import STEPS, Difference, Machine, compare
from benchmarks.numpy_steps import ALIASING, EVERYTHING

pytestmark = pytest.mark.filterwarnings("ignore")  # NumPy's own, of whatever the programs do


class Drawn:
    """Draws from hypothesis, which makes smaller what failed."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def number(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))

    def order(self, n: int) -> list[int]:
        return list(self._data.draw(st.permutations(range(n))))


@pytest.mark.parametrize("steps", [ALIASING, EVERYTHING], ids=["views and writes", "everything"])
@settings(
    max_examples=300, deadline=None, report_multiple_bugs=False, suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_random_programs(steps: dict[str, int], data: st.DataObject) -> None:
    machine = Machine(Drawn(data))
    machine.run(steps, machine.number(4, 16))


def test_every_step_is_taken_and_the_command_says_so(capsys: Any) -> None:
    assert set(EVERYTHING) | set(ALIASING) == set(STEPS)
    assert fuzz_numpy.main(["--programs", "60", "--seed", "7"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "; 0 programs differ" in out
    assert all(name in out for name in EVERYTHING)


def _run_programs(n: int) -> None:
    for seed in range(n):
        fuzz_numpy.run_program(seed, 24)


def test_a_difference_is_told_with_its_program(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def wrong(machine: Machine) -> None:
        machine.log.append("a step that goes wrong")
        ours, theirs = machine.pairs[0]
        compare(~ours if ours.dtype.kind == "b" else ours + 1, theirs, "x0")

    monkeypatch.setitem(STEPS, "look", wrong)
    with pytest.raises(Difference) as found:
        _run_programs(50)
    assert "a step that goes wrong" in found.value.__notes__[0]
    assert fuzz_numpy.main(["--programs", "50"]) == 1
    assert "fuzz-numpy --programs 1 --seed" in capsys.readouterr().out
