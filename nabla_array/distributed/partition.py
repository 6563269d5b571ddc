"""The partitioner for meshes: it makes of a program what each device does, with collectives in between.

Operation by operation, the layouts of the operands say how an operation could be cut. Of the ways in which
all of them agree, the one that moves and computes least is taken; operands that lie in another way are moved
first, explicitly. So a part always is what its layout says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from .._lazy.graph.aval import Aval, aval_of
from .._lazy.graph.primitive import Primitive
from .._lazy.graph.program import Eqn, Program, is_literal
from .._lazy.ops.creation import fill
from .._lazy.ops.structure import project, several, slice_
from .._lazy.schedule.tiling import resized
from .layouts import Layout, Move, move, replicated
from .propagation import asked_for

if TYPE_CHECKING:
    from .mesh import DeviceMesh

# A layout, or that of each result of an operation that has several.
Layouts = Layout | tuple[Layout, ...]
Params = Mapping[str, Any] | Callable[[int], Mapping[str, Any]]


class Value(NamedTuple):
    """A value of the whole mesh: what it is, and which part each device has."""

    aval: Any
    layout: Any


class Local(NamedTuple):
    """An operation that each device does with its own parts.

    Attributes
    ----------
    params
        Those of all devices, or what gives a device's.
    cause
        The number of the equation that it is there for.
    """

    prim: Primitive
    ins: tuple[int, ...]
    params: Params
    out: int
    cause: int

    def params_of(self, device: int) -> Mapping[str, Any]:
        """Return a device's params."""
        return self.params(device) if callable(self.params) else self.params


class Moved(NamedTuple):
    """A value that is moved from one layout to another."""

    value: int
    move: Move
    out: int
    cause: int


class Placing(NamedTuple):
    """A value of the host's of which each device gets its part."""

    value: int
    layout: Layout
    out: int
    cause: int


class Nested(NamedTuple):
    """A loop, or a branch, whose bodies need collectives: the process that runs the schedule steers it.

    Attributes
    ----------
    bodies
        Of a `while` the condition and the body, of a `scan` a step, of a `switch` its branches.
    inputs, outputs
        Numbers of what it reads, and of each of its results.
    """

    prim: Primitive
    bodies: tuple[Partition, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    params: Mapping[str, Any]
    cause: int

    @property
    def is_branch(self) -> bool:
        """Whether one of the bodies runs, once."""
        return "branches" in self.params

    @property
    def times(self) -> int | None:
        """How many steps a loop has; None where that depends on data."""
        times: int | None = 1 if self.is_branch else self.params.get("length")
        return times


Made = Local | Moved | Placing | Nested


def read_by(made: Made) -> tuple[int, ...]:
    """Return the numbers of what something reads."""
    if isinstance(made, Nested):
        return made.inputs
    return made.ins if isinstance(made, Local) else (made.value,)


def made_by(made: Made) -> tuple[int, ...]:
    """Return the numbers of what something makes."""
    return made.outputs if isinstance(made, Nested) else (made.out,)


# What of a partition grows with each operation.
_GROWING = ("values", "rounds", "made", "number", "unruled", "_moved", "_makers", "_made_of", "_parts")


class Partition:
    """A program for the devices of a mesh, as far as it is made.

    Attributes
    ----------
    values
        All values, the program's inputs first.
    rounds
        For each value how many moves it waits for, one after the other.
    made
        What makes the others, in order.
    number
        For each value of the program its number here, or None for a literal: everybody has those.
    outputs
        Numbers of the program's outputs here.
    hosted
        Inputs that are in the host's memory.
    wishes
        For each value of the program a layout in which it would be welcome.
    targets
        For values of the program that are resharded the layout that they get.
    decided
        Classes of axes that are cut as it is welcome, or not at all.
    unruled
        Equations whose operands are gathered, since no rule says how to cut them.
    bodies
        Partitions of programs within this one, by program and layouts: rules ask for the same ones again.
    """

    def __init__(
        self,
        mesh: DeviceMesh,
        program: Program,
        layouts: Sequence[Layouts | None],
        wishes: Sequence[Layout],
        targets: Mapping[int, Layout],
    ) -> None:
        self.targets = targets
        self.decided: frozenset[int] = frozenset()
        self.mesh = mesh
        self.program = program
        self.wishes = wishes
        inputs = zip(program.inputs, layouts, strict=True)
        self.values = [Value(a, everywhere(mesh, a) if lay is None else lay) for a, lay in inputs]
        self.rounds = [0] * len(self.values)
        self.hosted = {i for i, lay in enumerate(layouts) if lay is None}
        self.made: list[Made] = []
        self.number: list[int | None] = [*range(len(layouts))]
        self.outputs: tuple[int, ...] = ()
        self.unruled: list[int] = []
        self.bodies: dict[Any, Partition] = {}
        self.cause = 0
        self._moved: dict[tuple[int, Layout], int] = {}
        self._makers: dict[int, Local] = {}
        self._made_of: dict[int, tuple[int, ...]] = {}  # the parts of several values together
        self._parts: dict[tuple[int, int], int] = {}

    def copy(self) -> Partition:
        """Return one to add to, which leaves this one as it is."""
        found = copy(self)
        for name in _GROWING:
            setattr(found, name, getattr(self, name).copy())
        return found

    def end(self) -> None:
        """Make the program's outputs whole: nothing in them is still to be joined that nobody asked for."""
        found: list[Any] = []
        for i in self.program.outputs:
            self.cause = i
            layout = self.layout(i)
            if isinstance(layout, tuple):
                found.append(self._joined_parts(i, layout))
            elif asked_for(self.program, i) is not None:
                found.append(self.number[i])
            else:
                found.append(
                    self.operand(i, self._everywhere(i) if layout is None else self._joined(i, layout))
                )
        self.outputs = tuple(found)

    def _joined(self, i: int, layout: Layout) -> Layout:
        """Return a layout with nothing to be joined: cut where that is welcome, as it moves half as much."""
        cuts, over = [*layout.cuts], {a for a, _ in layout.partial}
        for axis, wish in enumerate(self.wishes[i].cuts):
            if wish.axes and over.issuperset(wish.axes) and not cuts[axis].axes:
                cuts[axis] = wish
                over -= {*wish.axes}
        return Layout(self.mesh, cuts)

    def _joined_parts(self, i: int, layouts: tuple[Layout, ...]) -> int:
        """Return several values with nothing to be joined."""
        number = self.number[i]
        assert number is not None
        if not any(lay.partial for lay in layouts):
            return number
        joined = [lay.joined() for lay in layouts]
        parts = [self.moved(self.part(number, n), lay) for n, lay in enumerate(joined)]
        return self._together(parts, self.program.aval(i), tuple(joined))

    def _together(self, parts: Iterable[int], aval: Any, layouts: tuple[Layout, ...]) -> int:
        """Return several values as those of one operation."""
        made_of = tuple(parts)
        number = self.local(several, made_of, {}, aval, layouts)
        self._made_of[number] = made_of
        return number

    def part(self, number: int, index: int) -> int:
        """Return one of several values."""
        if number in self._made_of:
            return self._made_of[number][index]
        if (number, index) not in self._parts:
            aval, layouts = self.values[number]
            part = self.local(project, [number], {"index": index}, aval[index], layouts[index])
            self._parts[number, index] = part
        return self._parts[number, index]

    def _everywhere(self, i: int) -> Layout:
        return replicated(self.mesh, self.program.aval(i).shape)

    @cached_property
    def slices(self) -> dict[tuple[int, ...], list[int]]:
        """By value, axis, size and step where the program's slices begin, in order."""
        found: dict[tuple[int, ...], set[int]] = {}
        for eqn in self.program.eqns:
            if eqn.prim is slice_:
                params = dict(eqn.params)
                rows = zip(params["size"], params["step"], params["start"], strict=True)
                for axis, (*row, start) in enumerate(rows):
                    found.setdefault((eqn.ins[0], axis, *row), set()).add(start)
        return {key: sorted(starts) for key, starts in found.items()}

    def layout(self, i: int) -> Layout | None:
        """Return the layout of a value of the program; None of a literal, which is everywhere."""
        number = self.number[i]
        return None if number is None else self.values[number].layout

    def _value(self, aval: Any, layout: Layouts, rounds: int) -> int:
        self.values.append(Value(aval, layout))
        self.rounds.append(rounds)
        return len(self.values) - 1

    def local(self, prim: Primitive, ins: Iterable[int], params: Params, aval: Any, layout: Layouts) -> int:
        """Add an operation that each device does; returns its result's number."""
        ins = tuple(ins)
        number = self._value(aval, layout, max([self.rounds[i] for i in ins], default=0))
        made = Local(prim, ins, params, number, self.cause)
        self._makers[made.out] = made
        self.made.append(made)
        return made.out

    def nested(
        self, eqn: Eqn, bodies: Iterable[Partition], ins: Iterable[int], layouts: Sequence[Layout]
    ) -> int:
        """Add a loop, or a branch, whose results lie like that; returns the number of all of them."""
        ins = tuple(ins)
        rounds = 1 + max([self.rounds[i] for i in ins], default=0)
        outs = tuple([self._value(*value, rounds) for value in zip(eqn.aval, layouts, strict=True)])
        made = Nested(eqn.prim, tuple(bodies), ins, outs, dict(eqn.params), self.cause)
        self.made.append(made)
        return self._together(outs, eqn.aval, tuple(layouts))

    def moved(self, number: int, layout: Layout) -> int:
        """Return a value in a layout, which may be its own."""
        before = self.values[number].layout
        if before == layout and number not in self.hosted:
            return number
        key = number, layout
        if key not in self._moved and (view := self._view_of_moved(number, layout)) is not None:
            self._moved[key] = view
        if key not in self._moved:
            how = move(before, layout)
            aval = self.values[number].aval
            if number in self.hosted:
                self._moved[key] = self._value(aval, layout, 0)
                self.made.append(Placing(number, layout, self._moved[key], self.cause))
            elif how.is_local and not before.partial:
                self._moved[key] = self.local(slice_, (number,), _slicing(before, layout), aval, layout)
            else:
                self._moved[key] = self._value(aval, layout, self.rounds[number] + 1)
                self.made.append(Moved(number, how, self._moved[key], self.cause))
        return self._moved[key]

    def _view_of_moved(self, number: int, layout: Layout) -> int | None:
        """Return a view in a layout where what it looks at has been moved so already."""
        made = self._makers.get(number)
        if made is None or made.prim.kind != "view" or callable(made.params) or made.prim.dims is None:
            return None
        if len(made.ins) != 1:
            return None
        (source,) = made.ins
        before, after = made.prim.dims(self.values[source].aval, **made.params)
        if {*before} != {*after} or len({*after}) < len(after) or min(after, default=0) < 0:
            return None
        cuts = dict(zip(after, layout.cuts, strict=True))
        base = self._moved.get((source, Layout(self.mesh, [cuts[f] for f in before], layout.partial)))
        if base is None:
            return None
        return self.local(made.prim, (base,), made.params, self.values[number].aval, layout)

    def operand(self, i: int, layout: Layout) -> int:
        """Return a value of the program in a layout."""
        number = self.number[i]
        if number is not None:
            return self.moved(number, layout)
        base = len(self.program.inputs)
        eqn = self.program.eqns[i - base]
        while not is_literal(eqn):  # one that was transferred
            eqn = self.program.eqns[eqn.ins[0] - base]
        return self.local(fill, (), sized(dict(eqn.params), layout), eqn.aval, layout)

    def whole(self, k: int, eqn: Eqn) -> int:
        """Add an operation that every device does with all of its operands."""
        if any(lay is not None and _varies(lay) for lay in map(self.layout, eqn.ins)):
            self.unruled.append(k)
        ins = []
        for i in eqn.ins:
            aval = self.program.aval(i)
            if isinstance(aval, Aval):
                ins.append(self.operand(i, self._everywhere(i)))
            else:
                number = self.number[i]
                assert number is not None
                ins.append(number)
        return self.local(eqn.prim, ins, dict(eqn.params), eqn.aval, everywhere(self.mesh, eqn.aval))


def _varies(layout: Layouts) -> bool:
    return any(x.varies for x in (layout if isinstance(layout, tuple) else (layout,)))


def everywhere(mesh: DeviceMesh, aval: Any) -> Layouts:
    """Return the layout of what every device has."""
    if isinstance(aval, Aval):
        return replicated(mesh, aval.shape)
    return tuple([replicated(mesh, a.shape) for a in aval])


def sized(params: dict[str, Any], layout: Layout) -> Params:
    """Return the params of an operation of which only the shape depends on the size of its result."""
    if not layout.varies or not params.keys() & {"shape", "size"}:
        return params
    return lambda device: resized(params, layout.local_shape(device))


def _slicing(before: Layout, after: Layout) -> Params:
    """Return the params of a slice by which each device gets its new part out of its old one."""
    step = (1,) * len(before.cuts)

    def params(device: int) -> dict[str, Any]:
        pairs = zip(before.boxes[device], after.boxes[device], strict=True)
        start = tuple([max(c - a, 0) if d > c else 0 for (a, _), (c, d) in pairs])
        return {"start": start, "size": after.local_shape(device), "step": step}

    return params


def part_aval(aval: Aval, layout: Layout, device: int) -> Aval:
    """Return the aval of a device's part."""
    return aval_of(layout.local_shape(device), aval.dtype)
