"""The canonical form of a program: what MAX compiles, once for every size.

Axes that everything treats alike are merged, and sizes are replaced by symbols, so that programs which
differ in nothing but sizes, or in how many axes a flat array is spread over, have one text.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..graph.program import Program
from ..ops.creation import Literal
from ..ops.lowerings import UNROLLED
from ..ops.structure import broadcast, concat, reshape, slice_
from ..schedule.axes import AxisClasses, axes_of


class Canonical(NamedTuple):
    """A program in canonical form."""

    # Its text, which `parse` reads; equal texts are equal programs (`for_target`: on one accelerator).
    key: str
    # The shapes that the inputs take, and that the outputs of the original program have.
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]


class CanonicalEqn(NamedTuple):
    """One equation of a canonical program; `shape` holds symbols (str) and sizes (int)."""

    prim: str
    ins: tuple[int, ...]
    params: dict[str, Any]
    shape: tuple[str | int, ...]
    dtype: np.dtype


class CanonicalProgram(NamedTuple):
    """What `parse` makes of a key: inputs are (shape, dtype), `target` says what it is compiled for."""

    inputs: tuple[tuple[tuple[str | int, ...], np.dtype], ...]
    eqns: tuple[CanonicalEqn, ...]
    outputs: tuple[int, ...]
    target: str = ""

    def shapes(self) -> list[tuple[str | int, ...]]:
        """Return the shapes of all values."""
        return [shape for shape, _ in self.inputs] + [e.shape for e in self.eqns]

    def users(self) -> dict[int, set[int]]:
        """Return the values that are computed from each; of an output also -1, for whoever asks for it."""
        users: dict[int, set[int]] = {v: {-1} for v in self.outputs}
        for v, eqn in enumerate(self.eqns, len(self.inputs)):
            for i in eqn.ins:
                users.setdefault(i, set()).add(v)
        return users


def _short(axes: AxisClasses) -> set[int]:
    """Return the classes of axes of length 1 or 0."""
    both = zip(axes.alike, axes.shapes, strict=True)
    return {c for classes, shape in both for c, n in zip(classes, shape, strict=True) if n <= 1}


def _fixed(axes: AxisClasses) -> set[int]:
    """Return the classes whose size is part of the program."""
    program = axes.program
    base = len(program.inputs)
    fixed = _short(axes)
    for k, eqn in enumerate(program.eqns, base):
        *operands, result = axes.labels[k]
        for value, labels in zip((*eqn.ins, k), (*operands, result), strict=True):
            for c, label, n in zip(axes.alike[value], labels, axes.shapes[value], strict=True):
                vanishes = len(labels) > len(result) and label not in result
                if (label < 0 and eqn.prim is reshape) or (vanishes and n <= UNROLLED):
                    fixed.add(c)
        if eqn.prim is slice_:
            for axis, (c, label) in enumerate(zip(axes.alike[k], result, strict=True)):
                if label < 0 and _from_end(axes.shapes[eqn.ins[0]][axis], dict(eqn.params), axis) is None:
                    fixed.add(c)
    return fixed | _untold(axes, fixed)


def _untold(axes: AxisClasses, fixed: set[int]) -> set[int]:
    """Return the classes whose size no input tells a graph: only literals and repeats have it.

    What a slice or a concatenation makes can be told, unless it is made of fixed sizes alone.
    """
    program, alike = axes.program, axes.alike
    base = len(program.inputs)
    inputs = {c for of in alike[:base] for c in of}
    known = inputs.copy()
    made: list[tuple[set[int], int]] = []  # from which classes, and which
    untold: set[int] = set()
    for k, eqn in enumerate(program.eqns, base):
        if eqn.prim is broadcast:
            # What is sliced or joined later tells nothing yet.
            untold.update(set(alike[k]) - known)
        if eqn.prim in (slice_, concat):
            known.update(alike[k])
            sources = [alike[i] for i in eqn.ins]
            made += [
                ({s[axis] for s in sources}, c) for axis, c in enumerate(alike[k]) if c not in sources[0]
            ]
    untold.update({c for of in alike for c in of} - inputs - {c for _, c in made})
    before = -1
    while before != len(untold):
        before = len(untold)
        untold.update([c for sources, c in made if sources <= fixed | untold])
    return untold


def _runs(axes: AxisClasses) -> dict[int, list[int]]:
    """Return for the first class of each run of neighbours that can be merged the classes of the run."""
    apart = _short(axes)
    for k, labels in axes.labels.items():
        for value, own in zip((*axes.operands(k), k), labels, strict=True):
            apart.update([c for c, label in zip(axes.alike[value], own, strict=True) if label < 0])
    after: dict[int, set[int | None]] = {}
    before: dict[int, set[int | None]] = {}
    for classes in axes.alike:
        for a, b in zip([None, *classes], [*classes, None], strict=True):
            if a is not None:
                after.setdefault(a, set()).add(b)
            if b is not None:
                before.setdefault(b, set()).add(a)
    follower: dict[int, int] = {}
    for a, found in after.items():
        (b,) = found if len(found) == 1 else (None,)
        if b is not None and a != b and len(before[b]) == 1 and not {a, b} & apart:
            follower[a] = b
    starts = after.keys() - follower.values()
    out = {}
    for c in starts:
        run = [c]
        while run[-1] in follower:
            run.append(follower[run[-1]])
        out[c] = run
    return out


# How far from its end a slice may stop for its place to be told from there.
_NEAR_END = 16


def _from_end(n: int, params: dict[str, Any], axis: int) -> int | None:
    """Return how many elements before the end the slice's last one is; None: its size is told instead."""
    start, size, step = params["start"][axis], params["size"][axis], params["step"][axis]
    last = start + (size - 1) * step
    return n - 1 - last if step > 0 and n - 1 - last <= _NEAR_END else None


@lru_cache(512)
def canonicalize(program: Program) -> Canonical:
    """Return the canonical form of a program whose primitives all have `dims`."""
    axes = axes_of(program)
    fixed, runs = _fixed(axes), _runs(axes)
    # A class that goes around in a circle of followers starts no run; it stays alone.
    covered = {c for run in runs.values() for c in run}
    position = {c: (run, i) for run in runs.values() for i, c in enumerate(run)}
    symbols: dict[int, str] = {}
    maps: list[list[int]] = []  # old axis -> new axis, for each value
    shapes: list[tuple[str | int, ...]] = []
    sizes: list[tuple[int, ...]] = []
    for value, shape in enumerate(axes.shapes):
        moved: list[int] = []
        named: list[str | int] = []
        merged: list[int] = []
        for c, n in zip(axes.alike[value], shape, strict=True):
            if c not in covered or position[c][1] == 0:
                # Of a run that is fixed in part only, the whole can be told from the inputs.
                run = position[c][0] if c in covered else [c]
                named.append(n if fixed.issuperset(run) else symbols.setdefault(c, f"d{len(symbols)}"))
                merged.append(n)
            else:
                merged[-1] *= n
                if isinstance(named[-1], int):
                    named[-1] = merged[-1]
            moved.append(len(named) - 1)
        maps.append(moved)
        shapes.append(tuple(named))
        sizes.append(tuple(merged))
    base = len(program.inputs)
    known = {n: name for i in range(base) for n, name in zip(sizes[i], shapes[i], strict=True) if name != n}
    eqns = []
    for k, eqn in enumerate(program.eqns, base):
        params = dict(eqn.params)
        operand = maps[eqn.ins[0]] if eqn.ins and eqn.prim is not broadcast else maps[k]
        before = axes.shapes[eqn.ins[0]] if eqn.ins else ()
        told = tuple(
            (name, _literal(value, known))
            if isinstance(value, Literal)
            else (name, _told(name, value, params, operand, before))
            for name, value in eqn.params
        )
        if eqn.prim is broadcast:
            # Axes of size 1 that are repeated may come to be one axis, and stay two of the operand.
            own = maps[eqn.ins[0]]
            places = tuple(maps[k][a] for i, a in enumerate(params["axes"]) if own[i] not in own[:i])
            told = tuple((name, places if name == "axes" else value) for name, value in told)
        eqns.append((eqn.prim.name, eqn.ins, told, shapes[k], eqn.aval.dtype.name))
    inputs = tuple((shapes[i], a.dtype.name) for i, a in enumerate(program.inputs))
    return Canonical(
        repr((inputs, tuple(eqns), program.outputs)),
        tuple(sizes[:base]),
        tuple(axes.shapes[i] for i in program.outputs),
    )


# Literals from which on one that equals a size is told as that size.
_COUNT = 16


def _literal(literal: Literal, known: dict[int, str | int]) -> tuple[str, ...]:
    """Return a literal as the canonical program tells it: by its bits, or as the size that a mean divides by.

    Where it is that size by chance, the program just shares its text with fewer others.
    """
    value = literal.value
    if value.dtype.kind == "f" and float(value) > _COUNT:
        for less in (0, 1):  # a variance may divide by one less
            name = known.get(float(value) + less)  # type: ignore[call-overload]
            if isinstance(name, str):
                return ("size", name, str(less), value.dtype.name)
    return ("literal", value.dtype.name, value.tobytes().hex())


def _told(name: str, value: Any, params: dict[str, Any], moved: list[int], before: tuple[int, ...]) -> object:
    """Return a param as the canonical program tells it, without sizes."""
    if name == "axes":
        return tuple(dict.fromkeys(moved[a] for a in value))
    if name == "axis":
        return moved[value]
    if name == "shape":
        return None  # the result's
    if name in ("start", "step", "size"):
        if name == "size":
            # The elements that are left before the end; where that is far, -1 and the result's size.
            ends = [_from_end(n, params, axis) for axis, n in enumerate(before)]
            value = [-1 if end is None else end for end in ends]
        out = [1 if name == "step" else 0] * (moved[-1] + 1 if moved else 0)
        for i, m in enumerate(moved):
            if moved.count(m) == 1:
                out[m] = value[i]
        return tuple(out)
    if isinstance(value, np.dtype):
        return ("dtype", value.name)
    assert isinstance(value, bool | int | str), (name, value)
    return value


class Size(NamedTuple):
    """A literal that is a size of the inputs, or `less` less."""

    name: str
    less: int
    dtype: np.dtype


def _read(value: Any) -> Any:
    match value:
        case ("size", name, less, dtype):
            return Size(name, int(less), np.dtype(dtype))
        case ("literal", dtype, bits):
            return Literal(np.frombuffer(bytes.fromhex(bits), np.dtype(dtype))[0])
        case ("dtype", name):
            return np.dtype(name)
    return value


def for_target(key: str, target: str) -> str:
    """Return the text of a CPU's program as that of an accelerator's."""
    return f"{key[:-1]}, {target!r})"


def parse(key: str) -> CanonicalProgram:
    """Read the text of a canonical program."""
    inputs, eqns, outputs, *target = literal_eval(key)
    return CanonicalProgram(
        tuple((shape, np.dtype(dtype)) for shape, dtype in inputs),
        tuple(
            CanonicalEqn(prim, ins, {k: _read(v) for k, v in params}, shape, np.dtype(dtype))
            for prim, ins, params, shape, dtype in eqns
        ),
        outputs,
        *target,
    )


def slices_of(params: dict[str, Any], sizes: Iterable[int | str]) -> list[slice]:
    """Return Python's slices for the params of a canonical `slice` with this result."""
    out = []
    for start, left, step, n in zip(params["start"], params["size"], params["step"], sizes, strict=True):
        if left >= 0:
            out.append(slice(start, -left or None, step))
        else:
            assert isinstance(n, int)
            stop = start + n * step
            out.append(slice(start, stop if stop >= 0 else None, step))
    return out
