"""Claims: what one thread computes, another one waits for. `tests/threads` has them at work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from nabla_array._lazy.graph.node import CLAIMED, Node, leaf
from nabla_array._lazy.ops.elementwise import neg
from nabla_array._lazy.run.claims import Claim, claim_below, claims, lock, locked, wait_for

SECONDS = 30


def pending() -> Node:
    return neg(neg(leaf(np.ones(3))))


@pytest.fixture
def node() -> Iterator[Node]:
    yield pending()
    assert not claims


def claim_of(node: Node, donates: bool = False) -> Claim:
    return Claim([node.inputs[0], node], donates)


def elsewhere(node: Node) -> Claim | None:
    """Return what another thread finds claimed below a node."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(claim_below, [node]).result(SECONDS)


def test_other_threads_find_a_claim_until_it_ends(node: Node) -> None:
    claim, depth = claim_of(node), node.depth
    assert elsewhere(node) is None
    claim.begin()
    assert node.depth == CLAIMED + depth
    assert elsewhere(node) is claim
    assert elsewhere(pending()) is None
    claim.end()
    claim.end()
    assert node.depth == depth
    assert elsewhere(node) is None


def test_the_end_of_what_never_began(node: Node) -> None:
    claim, other = claim_of(node), claim_of(node)
    claim.begin()
    other.end()
    assert elsewhere(node) is claim
    claim.end()


def test_ones_own_claim_is_no_obstacle_unless_it_donates(node: Node) -> None:
    for donates in (False, True):
        claim = claim_of(node, donates)
        claim.begin()
        try:
            if donates:
                with pytest.raises(RuntimeError, match="neg is being computed"):
                    claim_below([node])
            else:
                assert claim_below([node]) is None
        finally:
            claim.end()


def test_who_waits_goes_on_at_the_end(node: Node) -> None:
    claim = claim_of(node)
    claim.begin()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait_for, claim)
        assert not waiting.done()
        claim.end()
        waiting.result(SECONDS)


def test_a_locked_function_holds_the_lock() -> None:
    @locked
    def look() -> bool:
        held.set()
        return lock._is_owned()

    held = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with lock:
            found = pool.submit(look)
            assert not held.wait(0.05)
        assert found.result(SECONDS)
