"""Shapes that no array can have: NumPy's type of error at once, with the function and the shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp

H, B = 2**33, 2**62
WIDE = f"{H}, {H}"

TOO_BIG = {
    "xp.broadcast_to(1.0, (H, H))": f"broadcast_to: .*{WIDE}",
    "xp.broadcast_to(o, (H, H, 3))": f"broadcast_to: .*{WIDE}, 3",
    "xp.broadcast_to(1.0, (B, 0, B))": "broadcast_to: ",
    "xp.broadcast_to(1.0, 2**64)": f"broadcast_to: .*{2**64}",
    "xp.broadcast_to(1.0, (1,) * 65)": "broadcast_to: 65 axes",
    "xp.zeros((H, H))": f"zeros: .*{WIDE}",
    "xp.zeros((B, 0, B))": "zeros: ",
    "xp.zeros((1,) * 65)": "zeros: 65 axes",
    "xp.zeros(2**60)": "too big",
    "xp.empty((H, H))": "empty: ",
    "xp.ones((H, H))": "ones: ",
    "xp.full((H, H), 2.0)": "full: ",
    "xp.zeros_like(o, shape=(H, H))": "zeros_like: ",
    "xp.full_like(o, 1, shape=(H, H))": "full_like: ",
    "xp.arange(B)": "",
    "xp.linspace(0, 1, B)": "",
    "xp.eye(H)": f"eye: .*{WIDE}",
    "xp.identity(H)": "identity: ",
    "xp.tri(H)": "",
    "xp.indices((H, H))": "indices: ",
    "xp.fromfunction(lambda i, j: i, (H, H))": "fromfunction: ",
    "xp.vander(o, B)": "vander: ",
    "xp.diag(xp.broadcast_to(1.0, (H,)))": "diag: ",
    "xp.reshape(o, (H, H))": f"reshape: .*{WIDE}",
    "xp.reshape(o[:0], (0, H, H))": "too big",
    "xp.tile(o, B)": "tile: ",
    "xp.tile(o[:0], (B, B))": "tile: ",
    "xp.repeat(o, B)": "repeat: ",
    "xp.meshgrid(*[xp.broadcast_to(1.0, (H,))] * 2)": "too big",
    "xp.broadcast_arrays(xp.broadcast_to(1.0, (H, 1)), xp.broadcast_to(1.0, (1, H)))": "broadcast_arrays: ",
    "xp.broadcast_shapes((H, 1), (1, H))": f"broadcast_shapes: .*{WIDE}",
    "xp.broadcast_to(1.0, (H, 1)) + xp.broadcast_to(1.0, (1, H))": f"add: .*{WIDE}",
    "xp.kron(xp.broadcast_to(1.0, (H,)), xp.broadcast_to(1.0, (H,)))": WIDE,
    "xp.matmul(xp.broadcast_to(1.0, (H, 1)), xp.broadcast_to(1.0, (1, H)))": "too big",
    "xp.where(True, xp.broadcast_to(1.0, (H, 1)), xp.broadcast_to(1.0, (1, H)))": "where: ",
    "xp.fft.fft(o, B)": "too big",
    "xp.pad(o, 2**61)": "too big",
    "xp.expand_dims(o, tuple(range(70)))": "71 axes",
    "xp.unravel_index(5, (H, H))": "unravel_index: ",
    "xp.ravel_multi_index((1, 1), (H, H))": "ravel_multi_index: ",
    "xp.zeros((-1,))": r"zeros: negative dimensions .*\(-1,\)",
    "xp.broadcast_to(1.0, (-1, 3))": "broadcast_to: negative",
    "xp.full((-3,), 2.0)": "full: negative",
    "xp.eye(-1)": "",
    "xp.indices((-1,))": "indices: negative",
    "xp.tile(o, -1)": "tile: negative",
    "xp.repeat(o, -1)": "repeat: negative",
    "xp.linspace(0, 1, -1)": "linspace: ",
    "xp.reshape(o, (-1, -1))": "reshape: ",
    "xp.pad(o, -1)": "",
    "o[(None,) * 70]": "getitem: .*71 axes",
    "xp.repeat(o, 2**64)": f"repeat: {2**64}",
}


def run(code: str, of: Any) -> Any:
    return eval(code, {"xp": of, "o": of.ones(3), "H": H, "B": B})


@pytest.mark.parametrize("code", TOO_BIG)
def test_no_array_has_this_shape(code: str) -> None:
    try:
        run(code, np)
        wanted: type[Exception] = ValueError  # it happens to be empty, or a view of nothing
    except MemoryError:  # of a size that one could have; ours is told at once
        wanted = (MemoryError, ValueError)  # type: ignore[assignment]
    except Exception as error:
        wanted = type(error)
    with pytest.raises(wanted, match=TOO_BIG[code] or None):
        run(code, xp)


def test_the_largest_shapes_are_fine() -> None:
    assert xp.broadcast_to(1.0, (2**30, 2**29)).shape == (2**30, 2**29)
    assert xp.zeros((2**31, 2**28)).nbytes == 2**62
    assert xp.zeros((1,) * 64).ndim == 64
    assert float(xp.broadcast_to(2.0, (2**30, 2**29))[5, 7]) == 2.0
    assert xp.zeros((0, 2**40)).shape == (0, 2**40)


def test_what_is_too_big_for_vmap_says_so() -> None:
    from nabla_array.transforms import vmap

    with pytest.raises(ValueError, match="too big"):
        vmap(lambda v: xp.broadcast_to(v, (2**59,)))(xp.ones(40))
