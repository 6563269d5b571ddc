"""How a view sees the elements of the array that owns them: the steps from there to here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._lazy.graph.node import Node
from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops.structure import permute, reinterpret, reshape, slice_
from ..._lazy.rules.levels import Levels
from .keys import one_an_axis, selected, width
from .order import Axes, Order

if TYPE_CHECKING:
    from .array import Array

NO_LEVELS: Levels = ()


class Step(NamedTuple):
    """One operation of a view: a primitive that moves elements, its params, and indices that are arrays."""

    prim: Primitive
    params: dict[str, Any]
    indices: tuple[Array, ...] = ()

    def shown(self, memory: np.ndarray, at: Callable[[Array], int]) -> np.ndarray:
        """Return the view that NumPy would have of memory; `at` says what an index that is an array is.

        The elements are not read: there may be none behind what only shows shapes and strides. Where NumPy
        would have to copy them for another shape, the view is of an array of that shape in C order.
        """
        if self.prim.reshapes is not None:
            shape, size = self.prim.reshapes(**self.params), memory.itemsize
            try:
                return memory.reshape(shape, copy=False)
            except ValueError:  # NumPy would copy
                steps = [size * math.prod(shape[i + 1 :]) for i in range(len(shape))]
                return np.lib.stride_tricks.as_strided(memory, shape, steps)
        if not self.indices:
            return self.prim.host(memory, **self.params)
        places = dict(zip(self.params["axes"], map(at, self.indices), strict=True))
        return memory[tuple([places.get(a, slice(None)) for a in range(memory.ndim)])]


class View:
    """What a view looks at: the array that owns the elements, and how it gets from there to here.

    `seen` is the owner's node that the view's own node was made from, along `levels` (not set where there are
    none); once the owner has another one (somebody wrote to it), the view makes its node anew. A view that
    was read at once (dispatch/eager.py) knows the array and the key (or the last step) instead of the steps,
    until these are asked for.
    """

    __slots__ = ("_key", "_of", "_shape", "_steps", "base", "levels", "seen")

    def __init__(
        self,
        base: Array,
        steps: tuple[Step, ...] | None,
        seen: Node,
        of: Array | View | None = None,
        key: Any = None,
        shape: tuple[int, ...] = (),
    ) -> None:
        self.base = base
        self.seen = seen
        self._steps = steps
        self._of, self._key, self._shape = of, key, shape
        if base._levels:
            self.levels = base._levels

    @property
    def steps(self) -> tuple[Step, ...]:
        """The operations that lead from the owner to here."""
        parts = []
        view: Array | View | None = self
        while type(view) is View and view._steps is None:
            parts.append((view._key, view._shape))
            view = view._of
        if not parts:
            assert self._steps is not None
            return self._steps
        done = view._steps or () if type(view) is View else ()
        for key, shape in reversed(parts):
            for step in _steps_to(key, shape):
                done = add_step(done, step)
        self._steps = done
        return done

    @property
    def order(self) -> Axes | None:
        """The axes of the base that are those of an array which owns its elements: nobody else has that."""
        steps = self.steps
        return steps[0].params["axes"] if len(steps) == 1 and type(steps[0].params) is Order else None

    def is_part(self, x: Array, key: Any) -> bool:
        """Say whether this is of what was read as ``x[key]``, with that very key."""
        return self._of is not None and self._key is key and self._of is (x._view or x)

    def back(self) -> tuple[Step, ...] | None:
        """Return what leads from the owner to the shape and dtype that it had when the view was made.

        Somebody may have set them since; None where it has other memory now.
        """
        base, was = self.base, self.seen.aval
        shape: tuple[int, ...] = was.shape[len(getattr(self, "levels", NO_LEVELS)) :]
        n = math.prod(shape)
        if n * was.dtype.itemsize != base.nbytes:
            return None
        there = Step(reshape, {"shape": shape})
        if was.dtype != base.dtype:
            return Step(reshape, {"shape": (base.size,)}), Step(reinterpret, {"dtype": was.dtype}), there
        return () if shape == base.shape else (there,)


def _steps_to(key: Any, shape: tuple[int, ...]) -> Iterator[Step]:
    """Yield the steps that lead from an array of a shape to the part with a plain key.

    In the key's place there may be a step, or a primitive with the name and the value of its one param, which
    is what compiled code makes.
    """
    if type(key) is Step:
        yield key
        return
    many = key if type(key) is tuple else (key,)
    if many and type(many[0]) is Primitive:
        prim, name, value = many
        yield Step(prim, {name: value})
        return
    part, out = selected("getitem", one_an_axis("getitem", many, map(width, many), len(shape)), shape)
    is_whole = part["size"] == shape and all(s == 1 for s in part["step"])
    if not is_whole:
        yield Step(slice_, part)
    if is_whole or part["size"] != out:
        yield Step(reshape, {"shape": out})


def add_step(steps: tuple[Step, ...], new: Step) -> tuple[Step, ...]:
    """Append a step to a view's; two slices in a row are one."""
    if not steps or steps[-1].prim is not new.prim or new.prim.merge is None:
        return (*steps, new)
    return (*steps[:-1], Step(new.prim, new.prim.merge(steps[-1].params, new.params)))


@lru_cache(1024)
def order_step(axes: Axes) -> Step:
    """Return the step from elements in the order of their axes to an array whose axes are these of them."""
    return Step(permute, Order(axes=axes))


def same_part(part: np.ndarray, was: np.ndarray | None, now: np.ndarray | None) -> np.ndarray | None:
    """Return the part of new elements that lies as one of others; None where that is not so simple."""
    if was is None or now is None or not part.size or not part.flags.writeable or not now.flags.owndata:
        return None
    if part.base is None or part.base is not (was if was.base is None else was.base):
        return None
    if (was.shape, was.strides, was.dtype) != (now.shape, now.strides, now.dtype):
        return None
    flat = now.ravel("K")
    if flat.base is not now:  # a copy: there are gaps between the elements
        return None
    offset = part.__array_interface__["data"][0] - was.__array_interface__["data"][0]
    found: np.ndarray = np.ndarray(part.shape, part.dtype, flat, offset, part.strides)
    return found
