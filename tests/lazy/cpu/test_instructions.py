"""What is written for LLVM, run: views of values, loops, branches, what is handed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

from nabla_array._lazy.cpu.instructions import Writer
from nabla_array._lazy.cpu.kernels import Unfit
from nabla_array._lazy.cpu.machine import assembled
from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.native import compiled

pytestmark = pytest.mark.skipif(compiled is None, reason="machine code calls the compiled module")


def run(write: Callable[[Writer], Any], inputs: list[np.ndarray], outputs: list[np.ndarray]) -> int | None:
    """Run what is written on arrays; returns the faults, None where it left."""
    writer = Writer([aval_of_value(x) for x in inputs], [aval_of_value(y) for y in outputs])
    write(writer)
    engine, address = assembled(str(writer))
    found = compiled.run_machine(address, (*inputs, *outputs), False, (), writer.scratch_bytes)
    del engine
    return None if found is None else found[1]


@given(st.data())
def test_views(data: st.DataObject) -> None:
    """Of views, as NumPy does, and through copies where NumPy makes some."""
    shape = data.draw(array_shapes(max_dims=3, max_side=5))
    x = np.arange(np.prod(shape), dtype=data.draw(st.sampled_from(["f4", "f8", "i2", "u1"]))).reshape(shape)
    looks: list[Callable[[Any], Any]] = []
    wanted = x
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(basic_indices(wanted.shape, allow_newaxis=True, allow_ellipsis=False, max_dims=4))
        axes = tuple(data.draw(st.permutations(range(np.asarray(wanted[key]).ndim))))
        looks += [lambda a, k=key: np.asarray(a[(*k, ...) if isinstance(k, tuple) else (k, ...)])]
        looks += [lambda a, axes=axes: a.transpose(axes), lambda a: a.reshape(-1)]
        for look in looks[-3:]:
            wanted = look(wanted)
    out = np.zeros_like(wanted)

    def write(code: Writer) -> None:
        value = code.inputs[0]
        for look in looks:
            value = value.view(look)
        code.copy(value, code.outs[0])

    run(write, [x], [out])
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 2, 2), (40,), (9, 1, 5), (3, 0)])
@pytest.mark.parametrize("is_flat", [False, True])
def test_each_element_once(shape: tuple[int, ...], is_flat: bool) -> None:
    x = np.zeros(shape)

    def write(code: Writer) -> None:
        out = code.outs[0]

        def add(at: Any) -> None:
            out.put(at, code.scalar(f"fadd double {out.at(at).name}, 1.0", x.dtype))

        code.each(shape, add, is_flat)

    run(write, [], [x])
    assert (x == 1).all()


def test_what_is_handed_on_may_be_parts_of_what_was() -> None:
    state = [np.arange(3.0), np.arange(3.0, 6.0)]
    outs = [np.empty(3), np.empty(3)]

    def write(code: Writer) -> None:
        now = code.copied(code.inputs)
        code.repeat(3, lambda t: code.hand_on([now[1].view(lambda a: a[::-1]), now[0]], now))
        for x, y in zip(now, code.outs, strict=True):
            code.copy(x, y)

    run(write, state, outs)
    a, b = state
    for _ in range(3):
        a, b = b[::-1], a
    np.testing.assert_array_equal(outs, [a, b])


def test_what_it_does_not_do_is_left_to_python() -> None:
    def write(code: Writer) -> None:
        code.choose(code.inputs[0].at([]), [lambda: code.copy(code.inputs[0], code.outs[0])] * 2)

    for number, left in ((0, False), (1, False), (2, True), (-1, True)):
        found = run(write, [np.array(number)], [np.empty((), int)])
        assert (found is None) == left


def test_dtypes_that_there_are_not() -> None:
    for dtype in ("f2", "c16", "O", "M8[s]", ">f8"):
        with pytest.raises(Unfit):
            Writer([aval_of_value(np.empty(2, dtype))], [])
        with pytest.raises(Unfit):
            Writer([], []).constant(0, np.dtype(dtype))


@pytest.mark.parametrize(
    ("counts", "looks"),
    [((1000,), 0), ((1024,), 1), ((1000, 3), 1), ((30, 30), 0), ((10, 10, 1000), 2), ((5, 2000), 2)],
)
def test_long_loops_ask_whether_to_stop(counts: tuple[int, ...], looks: int) -> None:
    code = Writer([], [])

    def nested(rest: tuple[int, ...]) -> None:
        if rest:
            code.repeat(rest[0], lambda _: nested(rest[1:]), is_long=True)

    nested(counts)
    assert str(code).count("call i32") == looks
