"""When programs of small values become machine code, and what they do then."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms
from nabla_array._lazy.cpu import faults
from nabla_array._lazy.cpu.machine import Machine
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.run import hot
from nabla_array.transforms import fori_loop, grad, scan, vmap, while_loop

from ..cpu.test_loops import of_eqns

pytest.importorskip("llvmlite", reason="llvmlite, which makes machine code, is not installed")
pytestmark = pytest.mark.skipif(compiled is None, reason="machine code calls the compiled module")


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    hot.hot_of.cache_clear()
    yield
    hot.wait_for_compilers()
    hot.hot_of.cache_clear()


def decay(x: Any, n: int = 500) -> Any:
    return scan(lambda c, _: (c * 0.99 + xp.sin(c), xp.sum(c)), x, None, length=n)


@pytest.fixture
def seen() -> Iterator[list[hot.Hot]]:
    """Return the programs that are made while the test runs."""
    made: list[hot.Hot] = []
    init = hot.Hot.__init__

    def noted(self: hot.Hot, program: Any) -> None:
        init(self, program)
        made.append(self)

    with patch.object(hot.Hot, "__init__", noted):
        yield made


def test_a_loop_becomes_hot(seen: list[hot.Hot]) -> None:
    x = xp.linspace(0, 1, 5)
    with xp.config(mode="host"):
        wanted = [np.asarray(y) for y in decay(x)]
    assert not seen
    with xp.config(mode="auto", compile_after=0):
        states = []
        for _ in range(4):
            for y, w in zip(decay(x), wanted, strict=True):
                np.testing.assert_allclose(np.asarray(y), w, rtol=1e-14)
            hot.wait_for_compilers()
            states.append(seen[0].state)
    assert states == ["new", "hot", "hot", "hot"]
    assert seen[0].status() == "machine code"


def test_explain_says_where_loops_run() -> None:
    x = xp.linspace(0, 1, 5)
    with xp.config(mode="auto", compile_after=0):
        assert "%1: host: machine code after 0 s" in str(xp.explain(decay(x)[0]))
        for _ in range(3):
            xp.eval(decay(x))
            hot.wait_for_compilers()
        assert "loops\n  %1: machine code" in str(xp.explain(decay(x)[0]))
    with xp.config(mode="host"):
        assert "loops" not in str(xp.explain(decay(x)[0]))


def test_it_runs_cold_until_then(seen: list[hot.Hot]) -> None:
    with xp.config(mode="auto", compile_after=100):
        xp.eval(decay(xp.ones(3)))
        assert [h.state for h in seen] == ["cold"]
        assert "after 5 s" in seen[0].status()


def test_max_waits_for_it(seen: list[hot.Hot]) -> None:
    with xp.config(mode="max"):
        xp.eval(decay(xp.ones(3)))
    assert [h.state for h in seen] == ["new"]
    assert seen[0].machine is not None


def test_wrong_results_are_never_used(seen: list[hot.Hot]) -> None:
    def wrong(self: Machine, inputs: Any) -> Any:
        outs, faults = run(self, inputs)
        return [y + 1 for y in outs], faults

    run = Machine.run
    with xp.config(mode="host"):
        wanted = np.asarray(decay(xp.ones(2))[0])
    with xp.config(mode="auto", compile_after=0), patch.object(Machine, "run", wrong):
        for _ in range(3):
            np.testing.assert_array_equal(np.asarray(decay(xp.ones(2))[0]), wanted)
            hot.wait_for_compilers()
    assert [h.status() for h in seen] == ["host: its results differ from the host's"]


def test_what_machine_code_cannot_do_stays_on_the_host(seen: list[hot.Hot]) -> None:
    x = xp.asarray([2.0, 1.0])
    with xp.config(mode="max"):
        found = np.asarray(scan(lambda c, _: (xp.sort(c) + 1, None), x, None, length=3)[0])
    np.testing.assert_array_equal(found, [4.0, 5.0])
    assert "sort" in seen[0].status()


def test_the_host_tells_of_faults() -> None:
    x = np.full(3, 1e300)
    program, cold = of_eqns([x], (e.mul, (0, 0), {})), Mock(return_value=[np.multiply(x, 0)])
    made = hot.Hot(program)
    with xp.config(mode="max"):
        for state, wanted in (("ignore", 0), ("warn", 1)):
            with patch.object(faults, "is_asked", return_value=True), np.errstate(over=state):
                made.run([x], cold)
                assert cold.call_count == wanted


def test_a_compiled_function_becomes_hot(seen: list[hot.Hot]) -> None:
    @transforms.compile
    def step(x: Any) -> Any:
        for _ in range(20):
            x = xp.sin(x) + w @ x
        return x, xp.sum(x)

    w, x = xp.ones((3, 3)) / 4, xp.linspace(0, 1, 3)
    with xp.config(mode="auto", compile_after=0):
        wanted = [np.asarray(y) for y in step(x)]
        for _ in range(4):
            for y, right in zip(step(x), wanted, strict=True):
                np.testing.assert_allclose(np.asarray(y), right, rtol=1e-13)
            hot.wait_for_compilers()
    (one,) = seen
    assert one.turns
    assert any({"sin", "matmul", "add"} <= {*line.split(":")[0].split()} for line in xp.report().loops)


def test_errors_are_raised_by_the_host() -> None:
    def solved(a: Any) -> Any:
        return scan(lambda c, _: (xp.linalg.solve(a, c), None), xp.ones(2), None, length=3)[0]

    regular, singular = xp.asarray([[2.0, 1.0], [1.0, 3.0]]), xp.ones((2, 2))
    with xp.config(mode="auto", compile_after=0):
        for _ in range(3):
            found = np.asarray(solved(regular))
            hot.wait_for_compilers()
        np.testing.assert_allclose(found, np.linalg.matrix_power(np.linalg.inv(regular), 3) @ np.ones(2))
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            xp.eval(solved(singular))


def test_a_forked_child_begins_anew() -> None:
    with xp.config(mode="auto", compile_after=0):
        for _ in range(3):
            wanted = np.asarray(decay(xp.ones(3))[0])
            hot.wait_for_compilers()
        child = os.fork()
        if not child:
            try:
                for _ in range(3):
                    same = (np.asarray(decay(xp.ones(3))[0]) == wanted).all()
                    hot.wait_for_compilers()
                os._exit(0 if same else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_without_llvm(seen: list[hot.Hot]) -> None:
    with patch.object(hot, "is_available", return_value=False), xp.config(mode="auto", compile_after=0):
        assert np.asarray(decay(xp.ones(3))[0]).shape == (3,)
        assert seen[0].status() == "host: llvmlite is not installed"


def test_many_threads() -> None:
    with xp.config(mode="host"):
        wanted = [np.asarray(decay(xp.ones(3) * k, 2000)[0]) for k in range(8)]

    def run(k: int) -> np.ndarray:
        with xp.config(mode="auto", compile_after=0):
            return np.asarray(decay(xp.ones(3) * k, 2000)[0])

    with ThreadPoolExecutor(8) as pool:
        for found, right in zip(pool.map(run, [*range(8)] * 10), wanted * 10, strict=True):
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("nested", [False, True])
def test_ctrl_c_ends_it(nested: bool) -> None:
    def forever(x: Any) -> Any:
        return while_loop(lambda c: c > 0, lambda c: c + 1, x)

    def outer(x: Any) -> Any:
        return scan(lambda c, _: (forever(c), None), x, None, length=3)[0]

    with xp.config(mode="max"):
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            xp.eval((outer if nested else forever)(xp.asarray(1.0)))


def collatz(n: Any) -> Any:
    return while_loop(
        lambda s: s[0] != 1,
        lambda s: (xp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
        (n, xp.asarray(0)),
    )[1]


def newton(a: Any) -> Any:
    return fori_loop(0, 20, lambda i, x: 0.5 * (x + a / x), a)


def table(x: Any) -> Any:
    """Return powers, by a loop in a loop with a branch."""

    def row(c: Any, n: Any) -> Any:
        inner = scan(lambda p, _: (p * c, p), xp.ones(()), None, length=4)[1]
        return transforms.cond(n > 1, lambda: c * 0.5, lambda: c + n), inner

    return scan(row, x, xp.arange(3.0))


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (collatz, np.int64(27)),
        (vmap(collatz), np.arange(1, 40)),
        (newton, np.float64(2)),
        (grad(newton), np.float64(2)),
        (vmap(grad(newton)), np.linspace(0.5, 4, 9)),
        (grad(grad(newton)), np.float64(3)),
        (vmap(newton), np.linspace(1, 2, 7, dtype=np.float32)),
        (table, np.float64(1.5)),
        (vmap(table), np.linspace(0, 2, 5)),
        (grad(lambda x: xp.sum(table(x)[1])), np.float64(1.5)),
        (grad(lambda x: decay(x, 30)[1].sum()), np.ones(3)),
        (lambda x: transforms.jvp(decay, (x,), (x,)), np.ones(3)),
        (decay, np.ones((0,))),
        (decay, np.float32(1)),
    ],
)
def test_transforms_of_loops(function: Any, value: Any, seen: list[hot.Hot]) -> None:
    x = xp.asarray(value)
    with xp.config(mode="host"):
        wanted = [np.asarray(y) for y in transforms.tree_leaves(function(x))]
    with xp.config(mode="auto", compile_after=0):
        for _ in range(3):
            found = [np.asarray(y) for y in transforms.tree_leaves(function(x))]
            hot.wait_for_compilers()
    assert seen
    assert any(h.turns and "differ" not in h.status() for h in seen)
    for y, w in zip(found, wanted, strict=True):
        assert y.dtype == w.dtype
        np.testing.assert_allclose(y, w, rtol=1e-5 if y.dtype == np.float32 else 1e-12)
