"""Who sees a write, within transforms: the table of tests/namespace/core/test_views.py again."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import compile, jvp, vmap
from tests.namespace.core.test_views import PROGRAMS


class Shifted(ModuleType):
    """Our names; what the programs begin with has a traced number, which is 0, added to it."""

    def __init__(self, shift: Any) -> None:
        super().__init__("shifted")
        self._shift = shift

    def __getattr__(self, name: str) -> Any:
        function = getattr(xp, name)
        if name not in ("arange", "ones", "zeros"):
            return function

        def make(*args: Any, **kwargs: Any) -> Any:
            x = function(*args, **kwargs)
            shift = xp.astype(self._shift, x.dtype) if x.dtype.kind != "c" else self._shift
            return xp.asarray(x + shift)  # an array also without axes

        return make


def arrays(found: Any) -> list[Any]:
    return [a for f in found for a in arrays(f)] if isinstance(found, list | tuple) else [found]


def run(program: str, module: ModuleType) -> list[Any]:
    names: dict[str, Any] = {"np": module}
    exec(program, names)
    return arrays(names["r"])


def mapped(f: Callable[[Any], list[Any]]) -> list[Any]:
    return [x[1] for x in vmap(f)(xp.zeros(2))]


def compiled(f: Callable[[Any], list[Any]]) -> list[Any]:
    g = compile(f)
    g(xp.asarray(0.0))
    return g(xp.asarray(0.0))


def differentiated(f: Callable[[Any], list[Any]]) -> list[Any]:
    return jvp(f, (xp.asarray(0.0),), (xp.asarray(1.0),))[0]


@pytest.mark.parametrize("transform", [mapped, compiled, differentiated])
@pytest.mark.parametrize("program", PROGRAMS.strip().split("\n\n"))
def test_who_sees_a_write(program: str, transform: Callable[..., list[Any]]) -> None:
    found = transform(lambda shift: [xp.asarray(a) for a in run(program, Shifted(shift))])
    wanted = run(program, np)
    assert [a.tolist() for a in found] == [np.asarray(a).tolist() for a in wanted]
