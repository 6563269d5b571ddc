"""Evaluation on devices other than the host: what is moved, what runs where, and in which order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.graph.program import Program, run
from nabla_array._lazy.ops.placement import in_use
from nabla_array._lazy.run.claims import claims
from tests.threads.together import together

SECONDS = 30


class Held:
    def __init__(self, device: str, value: Any) -> None:
        self.device, self.value, self.aval = device, value, aval_of_value(value)

    def here(self) -> Any:
        return self.value


class Elsewhere:
    """A device that runs programs with NumPy, and remembers which."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: list[tuple[int, ...]] = []
        self.ran: list[str] = []

    def place(self, value: Any) -> Held:
        return Held(self.name, value)

    def send(self, held: Held) -> None:
        self.sent.append(held.aval.shape)

    def run(self, program: Program, env: list[Any]) -> None:
        self.ran.append(" ".join(e.prim.name for e in program.eqns if e.ins))
        values = [x.value for x in env[: len(program.inputs)]]
        outs = run(program, values, lambda prim, ins, params: prim.host(*ins, **params))
        for i, value in zip(program.outputs, outs, strict=True):
            env[i] = Held(self.name, np.asarray(value))

    def schedule(self, program: Program, inputs: Sequence[Any]) -> Any:
        raise NotImplementedError


@pytest.fixture
def devices() -> Iterator[list[Elsewhere]]:
    found = [Elsewhere("here"), Elsewhere("there")]
    in_use.update({d.name: d for d in found})
    yield found
    in_use.clear()


def test_each_node_is_computed_on_its_device(devices: list[Elsewhere]) -> None:
    here, there = devices
    x = np.arange(4.0)
    a = xp.asarray(x).to_device("here") * 2
    b = (a + 1).to_device("there")
    c = b * b
    assert (a.device, b.device, c.device) == ("here", "there", "there")
    assert (here.ran, there.ran) == ([], [])
    np.testing.assert_array_equal(np.asarray(c), (x * 2 + 1) ** 2)
    assert here.ran == ["mul add"]
    assert there.ran == ["mul"]
    assert (here.sent, there.sent) == ([(4,)], [(4,)])


def test_what_comes_back_is_the_hosts(devices: list[Elsewhere]) -> None:
    x = xp.asarray([1.0, 2.0]).to_device("here") + 1
    y = x.to_device("cpu")
    assert y.device == "cpu"
    assert (y * 2).tolist() == [4.0, 6.0]
    assert x.device == "here"


def test_operands_on_two_devices(devices: list[Elsewhere]) -> None:
    x, y = xp.ones(3).to_device("here"), xp.ones(3).to_device("there")
    with pytest.raises(ValueError, match=r"add: operands are on here and there; to_device would bring them"):
        xp.eval(x + y)
    assert xp.add(x, y.to_device("here")).tolist() == [2.0, 2.0, 2.0]


def test_the_hosts_arrays_go_along(devices: list[Elsewhere]) -> None:
    here, _ = devices
    x = xp.ones(3).to_device("here")
    host = xp.arange(3.0) * 2
    y = x + host
    assert y.tolist() == [1.0, 3.0, 5.0]
    assert (y.device, host.device) == ("here", "cpu")
    assert here.sent == [(3,)]


class Meeting(Elsewhere):
    """A device that runs a program once something else has come about."""

    def __init__(self, meet: Callable[[], object]) -> None:
        super().__init__("here")
        self.meet = meet

    def run(self, program: Program, env: list[Any]) -> None:
        self.meet()
        super().run(program, env)


def moved(value: float) -> xp.Array:
    return xp.asarray([value]).to_device("here")


def test_two_evaluations_run_at_one_time(devices: list[Elsewhere]) -> None:
    barrier = threading.Barrier(2, timeout=SECONDS)
    in_use["here"] = Meeting(barrier.wait)
    assert together(lambda t: float((moved(t) + 1)[0]), 2) == [1.0, 2.0]


def test_the_host_computes_beside_a_device(devices: list[Elsewhere]) -> None:
    begun, go = threading.Event(), threading.Event()
    in_use["here"] = Meeting(lambda: (begun.set(), go.wait(SECONDS)))
    y = moved(1.0) + 1
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(np.asarray, y)
        assert begun.wait(SECONDS)
        second = pool.submit(lambda: np.asarray(y * 3))  # waits for the first
        assert float(xp.sum(xp.arange(300_000.0) + 1)) == 300_000 * 300_001 / 2
        assert y.device == "here"
        assert not second.done()
        go.set()
        assert (first.result()[0], second.result()[0]) == (2.0, 6.0)
    assert not claims


def test_an_error_ends_the_claim(devices: list[Elsewhere]) -> None:
    def fail() -> None:
        raise OSError("not yet")

    device = in_use["here"] = Meeting(fail)
    y = moved(1.0) + 1
    with pytest.raises(OSError, match="not yet"):
        y.tolist()
    assert not claims
    device.meet = lambda: None
    assert y.tolist() == [2.0]


def test_many_moves_in_a_row(devices: list[Elsewhere]) -> None:
    x = xp.asarray([0.0])
    for k in range(40):
        x = x.to_device(("here", "there", "cpu")[k % 3]) + 1.0
    assert x.tolist() == [40.0]
    assert not claims
