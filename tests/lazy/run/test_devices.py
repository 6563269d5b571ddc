"""Which device a node is on, against the rule in words: where its operands are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.program import pending_order
from nabla_array._lazy.run.devices import CPU, device_of, devices

from ...stand_in import accelerators

A, B = "gpu:0", "gpu:1"


@pytest.fixture(autouse=True)
def _two_accelerators() -> Iterator[None]:
    with accelerators(A, B):
        yield


def test_what_is_computed_is_on_the_host() -> None:
    x = xp.asarray([1.0, 2.0])
    assert device_of(x._node) == CPU
    assert device_of((x + 1)._node) == CPU


def test_what_is_pending_is_where_its_operands_are() -> None:
    x = xp.asarray(np.ones(5), device=A)
    y = xp.asarray(np.ones(5))
    z = (x + y) * (y - 1)
    assert device_of(z._node) == A
    assert device_of((y - 1)._node) == CPU


def test_a_transfer_says_where() -> None:
    x = xp.asarray(np.ones(5), device=A)
    moved = (x * 2).to_device(B)
    assert device_of(moved._node) == B
    assert device_of((moved + 1)._node) == B
    assert device_of((x * 2).to_device("cpu")._node) == CPU


def test_it_stays_there_once_it_is_computed() -> None:
    x = xp.asarray(np.ones(5), device=A) * 3
    xp.eval(x)
    assert device_of(x._node) == A
    assert device_of((x + 1)._node) == A


def test_each_node_of_a_program_has_one() -> None:
    x = xp.asarray(np.ones(5), device=A)
    there, here = xp.exp(x) + 1, xp.exp(xp.asarray(np.ones(5))) + 1
    order = pending_order([there._node, here._node])
    found = devices(order)
    assert {found[id(n)] for n in pending_order([there._node])} == {A}
    assert {found[id(n)] for n in pending_order([here._node])} == {CPU}


def test_operands_on_two_accelerators_are_told_of() -> None:
    x, y = xp.asarray(np.ones(5), device=A), xp.asarray(np.ones(5), device=B)
    with pytest.raises(ValueError, match=r"add: operands are on gpu:0 and gpu:1; to_device would bring"):
        xp.eval(x + y)


def test_a_long_chain_is_no_recursion() -> None:
    x = xp.asarray(np.ones(3), device=A)
    for _ in range(900):
        x = x + 1
    assert device_of(x._node) == A


def test_a_move_decides_whatever_it_moves() -> None:
    x = xp.asarray(np.ones(5))
    up = x.to_device(A) + 1
    across = up.to_device(B) + 1
    back = across.to_device("cpu") + 1
    for _ in range(2):  # once more, now that it is known
        assert [device_of(y._node) for y in (up, across, back, back + x, back + up)] == [A, B, CPU, CPU, A]
    found = devices(pending_order([back._node, up._node]))
    assert [found[id(y._node)] for y in (up, across, back)] == [A, B, CPU]


def test_several_results_are_where_their_operation_is() -> None:
    x = xp.asarray(np.eye(3))
    for y in (*xp.linalg.qr(x.to_device(A)), *xp.linalg.eigh(x.to_device(A) + 1)):
        assert device_of(y._node) == A


def test_what_was_told_holds_once_some_of_it_is_computed() -> None:
    x, here = xp.asarray(np.ones(5), device=A), xp.asarray(np.ones(5)) - 1
    there = here + x
    both = (there, here, there * here, here * 2)
    for _ in range(2):
        assert [device_of(y._node) for y in both] == [A, CPU, A, CPU]
        xp.eval(here, both[2])


def test_what_is_told_of_once_is_told_of_again() -> None:
    x, y = xp.asarray(np.ones(5), device=A), xp.asarray(np.ones(5), device=B)
    both = xp.where(x > 0, x, y)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^select: operands are on gpu:0 and gpu:1"):
            device_of(both._node)
