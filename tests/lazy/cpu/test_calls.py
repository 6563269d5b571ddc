"""Whole calls on the host, over an operand's memory where nobody can tell, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.config import config
from nabla_array._lazy.cpu.calls import StepFailed, can_write, run_call
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import indexing, structure
from nabla_array._lazy.ops.reduction import reduce_sum
from nabla_array._lazy.schedule.steps import Call

from ..execution import assert_same
from .test_blocks import Steps, as_numpy, env_of, program_of


def test_a_call_may_write_over_a_value_that_dies() -> None:
    steps: Steps = [(e.neg, (0,), {}), (structure.concat, (0, 0), {"axis": 0})]
    x = np.arange(3.0)
    program = program_of([x], [*steps, (structure.update_slice, (2, 1), {"start": (0,), "step": (2,)})])
    for drop, is_reused in (((2,), True), ((), False)):
        env = [*as_numpy(program, [x])[:-1], None]
        where = env[2].ctypes.data
        run_call(program, Call(3, (2, 1)), drop, env, set())
        assert (env[3].ctypes.data == where) is is_reused
        np.testing.assert_array_equal(env[3], [-0.0, 1, -1, 0, -2, 2])
        if not is_reused:
            np.testing.assert_array_equal(env[2], [0, 1, 2, 0, 1, 2])


def test_a_call_may_write_through_a_view_of_memory_that_nobody_else_has() -> None:
    steps: Steps = [(e.neg, (0,), {}), (structure.permute, (2,), {"axes": (0, 1)})]
    inputs = [np.zeros((2, 3)), np.ones((2, 1))]
    program = program_of(
        inputs, [*steps, (structure.update_slice, (3, 1), {"start": (0, 1), "step": (1, 1)})]
    )

    def runs_over(view: Callable[[np.ndarray], np.ndarray], keep: bool = False) -> bool:
        whole = np.zeros((2, 3))
        env: list[Any] = [*inputs, None, view(whole), None]
        seen, where = (whole if keep else None), env[3].ctypes.data
        del whole
        run_call(program, Call(4, (3, 1)), (3,), env, set())
        np.testing.assert_array_equal(env[4], [[0, 1, 0], [0, 1, 0]])
        assert seen is None or not seen.any()
        return bool(env[4].ctypes.data == where)

    assert runs_over(lambda x: x[:])
    assert runs_over(lambda x: x.reshape(6).reshape(2, 3))
    assert not runs_over(lambda x: x[:], keep=True)
    assert not runs_over(lambda x: np.concatenate([x, x])[2:])  # half of it
    assert not runs_over(lambda x: np.asfortranarray(x).T.reshape(3, 2).T)  # another order
    assert not runs_over(lambda x: _read_only(x[:]))
    assert not runs_over(lambda x: np.frombuffer(bytearray(48)).reshape(2, 3))  # another's


def _read_only(x: np.ndarray) -> np.ndarray:
    x.setflags(write=False)
    return x


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("made", [np.copy, lambda x: x[:], _read_only, lambda x: others.append(x) or x])
def test_a_call_writes_over_no_input_that_others_could_see(
    made: Callable[[np.ndarray], np.ndarray], owned: bool
) -> None:
    """Who asks for an evaluation holds its inputs too."""
    inputs = [made(np.zeros(6)), np.ones(3)]
    program = program_of(inputs, [(structure.update_slice, (0, 1), {"start": (0,), "step": (2,)})])
    env = env_of(program, inputs)
    run_call(program, Call(2, (0, 1)), (0,), env, {0} if owned else set())
    is_reused = owned and made is np.copy
    assert np.shares_memory(env[0], env[2]) is is_reused
    assert env[0].any() == is_reused
    np.testing.assert_array_equal(env[2], [1, 0, 1, 0, 1, 0])
    others.clear()


def test_what_is_written_over_an_owned_input_is_written_over_again() -> None:
    inputs = [np.zeros(6), np.ones(3)]
    at = [{"start": (k,), "step": (2,)} for k in (0, 1)]
    program = program_of(
        inputs, [(structure.update_slice, (k, 1), p) for k, p in zip((0, 2), at, strict=True)]
    )
    holders = [*inputs]  # the nodes
    env, owned = env_of(program, inputs), {0}
    del inputs
    where = holders[0].ctypes.data
    run_call(program, Call(2, (0, 1)), (0,), env, owned)
    env[0] = None
    other = env[2]
    run_call(program, Call(3, (2, 1)), (2,), env, {*owned})
    assert env[3].ctypes.data != where
    np.testing.assert_array_equal(other, [1, 0, 1, 0, 1, 0])
    del other
    run_call(program, Call(3, (2, 1)), (2,), env, owned)
    assert env[3].ctypes.data == where
    np.testing.assert_array_equal(env[3], np.ones(6))


others: list[np.ndarray] = []


def test_an_error_of_a_call_names_the_equation() -> None:
    x = np.arange(3.0)
    at = np.array([0, 7])
    program = program_of([x, at], [(e.neg, (0,), {}), (indexing.gather, (2, 1), {"axes": (0,), "batch": 0})])
    env = [x, at, -x, None]
    with pytest.raises(StepFailed) as caught:
        run_call(program, Call(3, (2, 1)), (2,), env, set())
    assert caught.value.eqn == 3
    assert isinstance(caught.value.error, IndexError)
    np.testing.assert_array_equal(env[2], -x)


def test_only_memory_of_its_own_is_written_to() -> None:
    x = np.arange(6.0)
    assert can_write(x)
    assert not can_write(x[1:])
    x.flags.writeable = False
    assert not can_write(x)


def test_reductions_of_nothing_and_of_one_element() -> None:
    with config(threads=2):
        for shape in ((0,), (0, 5), (5, 0), (1,), (1, 1), ()):
            x = np.full(shape, 3.0)
            program = program_of([x], [(reduce_sum, (0,), {"axes": tuple(range(x.ndim))})])
            env = env_of(program, [x])
            run_call(program, Call(1, (0,)), (0,), env, set())
            assert_same(env[1], np.asarray(np.sum(x)))
