"""Examples of `nabla_array.random`, which run as tests of that module."""

from __future__ import annotations

import nabla_array as xp
from nabla_array._namespace.numpy.draws import EXAMPLES


def test_each_function_has_an_example() -> None:
    functions = {n for n in xp.random.__all__ if not isinstance(getattr(xp.random, n), type)}
    assert functions >= EXAMPLES.keys()
    for name in functions:
        text = getattr(xp.random, name).__doc__
        assert ">>>" in text
        assert name not in EXAMPLES or text.endswith(EXAMPLES[name])
