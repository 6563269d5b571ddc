"""Layouts that are chosen for a program: by an integer program over the ways to cut its operations.

Each operation can be cut in several ways, each of which takes its operands, and gives its result, in some
layout. A way costs the time of a device's part, and of joining what it sums; where one operation's result
meets another layout, moving it costs. All costs are those of `costs`. What is chosen is tried with the
partitioner, beside simpler choices, and the best of them is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .._lazy.graph.aval import Aval
from .._lazy.graph.program import Eqn, Program, is_literal
from .._lazy.ops.placement import reshard, transfer
from .._lazy.schedule.axes import axes_of
from ..inspect.text import bytes_text
from .costs import Costs, Machine, costs_of, seconds_to_move
from .errors import ShardingError
from .layouts import Layout, even, move, replicated, uncut
from .mesh import DeviceMesh
from .rules import RULES, partition
from .specs import ShardingSpec, spec_of

# Choices between which the integer program decides, at the most; beyond, a search over the inputs does.
_MOST = 12_000
# Seconds that the solver has.
_LIMIT = 20.0
# What an input's byte costs beside one that is read.
_HOLDING = 0.01
# Inputs whose layouts the search tries, the largest first, and how often it goes over them.
_INPUTS, _ROUNDS = 6, 2
# Ways to cut one operation, at the most.
_WAYS = 64


# Stands for an operation's result in the place of the number of an operand.
RESULT = -1


class Way(NamedTuple):
    """A way to cut an operation: the layouts of its operands and of its result, and the seconds it takes."""

    operands: tuple[Layout | None, ...]
    result: Layout
    seconds: float


class Candidate(NamedTuple):
    """Layouts for a program, and what it costs with them.

    Attributes
    ----------
    name
        How they were found.
    inputs
        For each input its spec.
    inside
        For operands, by the numbers of the operation and of the operand, specs that they are moved to; for
        results likewise, with `RESULT` for the operand.
    costs
        What the partitioner makes of it.
    """

    name: str
    inputs: tuple[ShardingSpec, ...]
    inside: dict[tuple[int, int], ShardingSpec]
    costs: Costs

    @property
    def nbytes(self) -> float:
        """Bytes that a device receives."""
        return sum(step.nbytes for step in self.costs.steps)


class Choice(NamedTuple):
    """What was chosen for a program, and what for; it prints as a table.

    Attributes
    ----------
    chosen
        What was chosen: what fits into memory and takes the least time.
    candidates
        Everything that was tried.
    program
        The program with what is moved inside.
    """

    chosen: Candidate
    candidates: tuple[Candidate, ...]
    program: Program

    def report(self) -> str:
        """Return what was chosen, beside what else was tried, as text."""
        rows = []
        for c in self.candidates:
            mark = "*" if c is self.chosen else " "
            told = f"{c.costs.seconds:.3g} s, {bytes_text(round(c.nbytes))} to each device"
            rows.append(f"{mark} {c.name}: {told}, {bytes_text(c.costs.memory)} of memory")
        specs = [f"  %{k}: {spec.partition_spec}" for k, spec in enumerate(self.chosen.inputs)]
        moves = [
            f"  {step.title}: {bytes_text(round(step.nbytes))}, {step.seconds:.3g} s"
            for step in self.chosen.costs.steps
            if step.kind != "devices"
        ]
        return "\n".join(
            ["auto_sharding:", *rows, "inputs:", *specs, *(["what moves:"] * bool(moves)), *moves]
        )


def choose(
    program: Program,
    mesh: DeviceMesh,
    known: Sequence[ShardingSpec | None],
    wanted: Sequence[ShardingSpec | None],
    machine: Machine,
    memory_limit: float | None,
) -> Choice:
    """Choose layouts for a program whose inputs, and outputs, are cut as `known` and `wanted` say.

    Raises ShardingError where nothing that was tried fits into `memory_limit` bytes a device.
    """
    return _choose(program, mesh, tuple(known), tuple(wanted), machine, memory_limit)


@lru_cache(64)
def _choose(
    program: Program,
    mesh: DeviceMesh,
    known: tuple[ShardingSpec | None, ...],
    wanted: tuple[ShardingSpec | None, ...],
    machine: Machine,
    memory_limit: float | None,
) -> Choice:
    trial = _Trial(program, mesh, known, wanted, machine)
    limit = math.inf if memory_limit is None else memory_limit
    whole = trial.of("everything on every device", [replicated(mesh, a.shape) for a in program.inputs])
    first = trial.of("first axes cut over all devices", [_first(mesh, a) for a in program.inputs])
    found = [whole, first]
    options = _Options(trial)
    solved = options.solved(limit) if options.size <= _MOST else None
    if solved is not None:
        inputs, inside = solved
        found.append(trial.of("integer program", inputs, inside))
        found.append(trial.of("integer program, inputs alone", inputs))
    if solved is None or all(c.costs.memory > limit for c in found):
        found.append(_searched(trial, limit, min(found, key=lambda c: _rank(c, limit))))
    best = min(found, key=lambda c: _rank(c, limit))
    if best.costs.memory > limit:
        raise ShardingError(
            f"shard_map: nothing that was tried fits into memory_limit={memory_limit}: it takes at least "
            f"{best.costs.memory} bytes on each of {mesh.size} devices; more devices would work, or a higher "
            "limit"
        )
    return Choice(best, tuple(found), trial.program_with(best.inside))


def _rank(c: Candidate, limit: float) -> tuple[float, float]:
    return max(c.costs.memory - limit, 0), c.costs.seconds


def _first(mesh: DeviceMesh, aval: Aval) -> Layout:
    if not aval.ndim or aval.shape[0] < mesh.size:
        return replicated(mesh, aval.shape)
    return replicated(mesh, aval.shape).with_cut(0, even(mesh, mesh.axis_names, aval.shape[0]))


class _Trial:
    """A program, what is said of its layouts, and what tries layouts with the partitioner."""

    def __init__(
        self,
        program: Program,
        mesh: DeviceMesh,
        known: Sequence[ShardingSpec | None],
        wanted: Sequence[ShardingSpec | None],
        machine: Machine,
    ) -> None:
        self.program, self.mesh, self.machine = program, mesh, machine
        pairs = zip(known, program.inputs, strict=True)
        self.known = [None if s is None else s.layout(a.shape, "shard_map") for s, a in pairs]
        self.wanted = [(i, s) for i, s in zip(program.outputs, wanted, strict=True) if s is not None]

    def of(
        self,
        name: str,
        inputs: Sequence[Layout],
        inside: dict[tuple[int, int], Layout] | None = None,
    ) -> Candidate:
        """Return what layouts cost; those of the inputs give way to what is known."""
        layouts = [own if own is not None else given for own, given in zip(self.known, inputs, strict=True)]
        specs = {place: spec_of(layout) for place, layout in (inside or {}).items()}
        made = partition(self.mesh, self.program_with(specs), [*layouts])
        return Candidate(name, tuple(map(spec_of, layouts)), specs, costs_of(made, self.machine))

    def program_with(self, inside: dict[tuple[int, int], ShardingSpec]) -> Program:
        """Return the program with operands, and outputs, moved to specs."""
        base = len(self.program.inputs)
        number = [*range(base)]
        eqns: list[Eqn] = []
        moved: dict[tuple[int, ShardingSpec], int] = {}

        def to(i: int, spec: ShardingSpec) -> int:
            if (i, spec) not in moved:
                eqns.append(Eqn(reshard, (number[i],), (("spec", spec),), self.program.aval(i)))
                moved[i, spec] = base + len(eqns) - 1
            return moved[i, spec]

        for k, eqn in enumerate(self.program.eqns, base):
            ins = [to(i, inside[k, n]) if (k, n) in inside else number[i] for n, i in enumerate(eqn.ins)]
            eqns.append(eqn._replace(ins=tuple(ins)))
            number.append(base + len(eqns) - 1)
            if (k, RESULT) in inside:
                number[k] = to(k, inside[k, RESULT])
        wanted = dict(self.wanted)
        outputs = [to(i, wanted[i]) if i in wanted else number[i] for i in self.program.outputs]
        return Program(self.program.inputs, tuple(eqns), tuple(outputs))


# -- ways to cut operations ----------------------------------------------------------------------------


def layouts_of(mesh: DeviceMesh, shape: tuple[int, ...]) -> list[Layout]:
    """Return every layout whose mesh axes each cut one axis, or none, in even pieces."""
    found = []
    for places in product([None, *range(len(shape))], repeat=len(mesh.axis_names)):
        cuts = {}
        for axis, n in enumerate(shape):
            names = tuple([a for a, p in zip(mesh.axis_names, places, strict=True) if p == axis])
            cuts[axis] = even(mesh, names, n) if names else uncut(n)
        if all(not c.axes or mesh.length(c.axes) <= n for c, n in zip(cuts.values(), shape, strict=True)):
            found.append(Layout(mesh, cuts.values()))
    return found


def ways_of(trial: _Trial, k: int) -> list[Way]:
    """Return the ways to cut an operation of a program."""
    program, mesh = trial.program, trial.mesh
    eqn = program.eqns[k - len(program.inputs)]
    operands = [program.aval(i) for i in eqn.ins]
    if not all(isinstance(a, Aval) for a in (*operands, eqn.aval)):
        return [_whole(trial, eqn, operands)]
    if eqn.prim is reshard:
        layout = dict(eqn.params)["spec"].layout(eqn.aval.shape)
        return [Way((layout,), layout, 0.0)]
    if eqn.prim is transfer:
        return [Way((lay,), lay, 0.0) for lay in layouts_of(mesh, eqn.aval.shape)]
    if eqn.prim in RULES:
        return [*_by_rule(trial, eqn, operands)] or [_whole(trial, eqn, operands)]
    labels = axes_of(program).labels.get(k)
    if labels is None or len(labels) != len(operands) + 1:
        return [_whole(trial, eqn, operands)]
    found = [*_by_labels(trial, eqn, operands, labels)]
    return sorted(found, key=lambda way: way.seconds)[:_WAYS]


def _whole(trial: _Trial, eqn: Eqn, operands: Sequence[Any]) -> Way:
    """Return the way in which every device does all of an operation."""
    mesh = trial.mesh
    ins = tuple([replicated(mesh, a.shape) if isinstance(a, Aval) else None for a in operands])
    result = replicated(mesh, eqn.aval.shape if isinstance(eqn.aval, Aval) else ())
    avals = [a for a in [*operands, eqn.aval] if isinstance(a, Aval)]
    touched = sum(a.nbytes for a in avals)
    return Way(ins, result, touched / trial.machine.memory_bandwidth)


def _by_rule(trial: _Trial, eqn: Eqn, operands: Sequence[Aval]) -> Iterator[Way]:
    """Yield what an operation's own rule makes of operands that are cut alike."""
    mesh = trial.mesh
    alone = Program(tuple(operands), (eqn._replace(ins=tuple(range(len(operands)))),), (len(operands),))
    seen = set()
    for layout in layouts_of(mesh, operands[0].shape):
        places = [c.axes for c in layout.cuts]
        ins = []
        for a in operands:
            fits = a.ndim == len(places) and all(
                not c or mesh.length(c) <= n for c, n in zip(places, a.shape, strict=True)
            )
            cuts = [even(mesh, c, n) if c else uncut(n) for c, n in zip(places, a.shape, strict=False)]
            ins.append(Layout(mesh, cuts) if fits else replicated(mesh, a.shape))
        if tuple(ins) not in seen:
            seen.add(tuple(ins))
            made = partition(mesh, alone, [*ins])
            result = made.values[made.outputs[0]].layout
            yield Way(tuple(ins), result, costs_of(made, trial.machine).seconds)


def _by_labels(trial: _Trial, eqn: Eqn, operands: Sequence[Aval], labels: Any) -> Iterator[Way]:
    """Yield the ways that an operation's labels allow."""
    mesh, machine = trial.mesh, trial.machine
    avals = [*operands, eqn.aval]
    sizes = {f: n for own, a in zip(labels, avals, strict=True) for f, n in zip(own, a.shape, strict=True)}
    kept, reducer = {*labels[-1]}, eqn.prim.reducer
    free = [
        f
        for f in sizes
        if f >= 0
        and all(own.count(f) < 2 for own in labels)
        and (f in kept or (reducer is not None and reducer.identity is not None))
    ]
    joins = any(f not in kept and sum(f in own for own in labels[:-1]) > 1 for f in sizes)
    for places in product([None, *free], repeat=len(mesh.axis_names)):
        axes = {
            f: tuple([a for a, p in zip(mesh.axis_names, places, strict=True) if p == f])
            for f in {*places} - {None}
        }
        if any(mesh.length(names) > sizes[f] for f, names in axes.items()):
            continue
        *ins, result = [
            Layout(
                mesh,
                [
                    even(mesh, axes[f], n) if f in axes else uncut(n)
                    for f, n in zip(own, a.shape, strict=True)
                ],
            )
            for own, a in zip(labels, avals, strict=True)
        ]
        elements = math.prod([-(-n // mesh.length(axes.get(f, ()))) for f, n in sizes.items()])
        touched = result.largest * eqn.aval.dtype.itemsize
        if eqn.prim.kind == "call":
            touched += sum(lay.largest * a.dtype.itemsize for lay, a in zip(ins, operands, strict=True))
        seconds = max(elements * (2 if joins else 1) / machine.flops, touched / machine.memory_bandwidth)
        if eqn.prim.kind in ("view", "broadcast"):
            seconds = 0.0
        summed = [a for f, names in axes.items() if f not in kept for a in names]
        if reducer is None or not summed:
            yield Way(tuple(ins), result, seconds)
            continue
        partial = Layout(mesh, result.cuts, [(a, reducer) for a in summed])
        for target in _joined(mesh, result, summed):
            moving = seconds_to_move(move(partial, target), eqn.aval, machine)
            yield Way(tuple(ins), target, seconds + moving)


def _joined(mesh: DeviceMesh, result: Layout, summed: Sequence[str]) -> Iterator[Layout]:
    """Yield the layouts in which the sum of parts may come out: whole, or scattered along an axis."""
    yield result
    names = tuple([a for a in mesh.axis_names if a in summed])
    for axis, cut in enumerate(result.cuts):
        if not cut.axes and cut.bounds[-1] >= mesh.length(names):
            yield result.with_cut(axis, even(mesh, names, cut.bounds[-1]))


# -- the integer program -------------------------------------------------------------------------------


class _Options:
    """The choices that there are for a program, as the columns of an integer program."""

    def __init__(self, trial: _Trial) -> None:
        self.trial = trial
        program, base = trial.program, len(trial.program.inputs)
        self.costs: list[float] = []
        self.whole: list[int] = []  # columns that are 0 or 1; the others follow from them
        self.rows: list[tuple[dict[int, float], float]] = []  # sums of columns, and what they equal
        # For each value by its layout the columns that stand for that, and for each operation its ways.
        self.out: dict[int, dict[Layout, list[int]]] = {}
        self.ways: dict[int, list[tuple[int, Way]]] = {}
        self.edges: list[tuple[int, int, int, dict[tuple[Layout, Layout], int]]] = []
        for i, known in enumerate(trial.known):
            some = [known] if known is not None else layouts_of(trial.mesh, program.inputs[i].shape)
            # Of two that cost the same, what takes less memory.
            rate = program.inputs[i].dtype.itemsize / trial.machine.memory_bandwidth * _HOLDING
            self.out[i] = {layout: [self._choice(layout.largest * rate)] for layout in some}
            self._one_of([c for columns in self.out[i].values() for c in columns])
        for k, eqn in enumerate(program.eqns, base):
            if not is_literal(eqn):
                self._add(k, eqn)
        for i, spec in trial.wanted:
            target = spec.layout(program.aval(i).shape)
            for layout, columns in self.out.get(i, {}).items():
                for c in columns:
                    self.costs[c] += self._moving(i, layout, target)

    @property
    def size(self) -> int:
        """How many columns are decided on."""
        return len(self.whole)

    def _choice(self, cost: float) -> int:
        self.costs.append(cost)
        self.whole.append(len(self.costs) - 1)
        return len(self.costs) - 1

    def _one_of(self, columns: Sequence[int]) -> None:
        self.rows.append((dict.fromkeys(columns, 1.0), 1.0))

    def _moving(self, i: int, before: Layout, after: Layout) -> float:
        if before == after:
            return 0.0
        return seconds_to_move(move(before, after), self.trial.program.aval(i), self.trial.machine)

    def _add(self, k: int, eqn: Eqn) -> None:
        self.ways[k] = [(self._choice(way.seconds), way) for way in ways_of(self.trial, k)]
        self._one_of([c for c, _ in self.ways[k]])
        self.out[k] = {}
        for c, way in self.ways[k]:
            self.out[k].setdefault(way.result, []).append(c)
        for n, i in enumerate(eqn.ins):
            needed: dict[Layout, list[int]] = {}
            for c, way in self.ways[k]:
                layout = way.operands[n]
                if layout is not None:
                    needed.setdefault(layout, []).append(c)
            if needed and i in self.out:
                self._meet(k, n, i, needed)

    def _meet(self, k: int, n: int, i: int, needed: dict[Layout, list[int]]) -> None:
        """Let a value that comes in one layout, and is needed in another one, cost a move."""
        given = self.out[i]
        if len(given) == 1 or len(needed) == 1:
            for before, some in given.items():
                for after, others in needed.items():
                    for c in others if len(given) == 1 else some:
                        self.costs[c] += self._moving(i, before, after)
            return
        pairs: dict[tuple[Layout, Layout], int] = {}
        for before, after in product(given, needed):
            self.costs.append(self._moving(i, before, after))
            pairs[before, after] = len(self.costs) - 1
        for layout, columns in given.items():
            row = {c: 1.0 for (before, _), c in pairs.items() if before == layout}
            self.rows.append((row | dict.fromkeys(columns, -1.0), 0.0))
        for layout, columns in needed.items():
            row = {c: 1.0 for (_, after), c in pairs.items() if after == layout}
            self.rows.append((row | dict.fromkeys(columns, -1.0), 0.0))

    def _memory(self) -> Iterator[dict[int, float]]:
        """Yield for each operation the columns of what is stored then, with the bytes that they take."""
        program, base = self.trial.program, len(self.trial.program.inputs)
        ends = dict.fromkeys([*range(base), *program.outputs], base + len(program.eqns))
        for k, eqn in enumerate(program.eqns, base):
            for i in eqn.ins:
                ends[i] = max(ends.get(i, 0), k)
        stored = [
            i
            for i in self.out
            if i < base or i in program.outputs or program.eqns[i - base].prim.kind == "call"
        ]
        for k in self.ways:
            row: dict[int, float] = {}
            for i in stored:
                if i <= k <= ends.get(i, i) and isinstance(program.aval(i), Aval):
                    size = program.aval(i).dtype.itemsize
                    row |= {c: float(lay.largest * size) for lay, some in self.out[i].items() for c in some}
            yield row

    def solved(self, limit: float) -> tuple[list[Layout], dict[tuple[int, int], Layout]] | None:
        """Return layouts for the inputs and inside, that cost least; None where the solver finds none."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        rows = [(row, value, value) for row, value in self.rows]
        if limit < math.inf:
            rows += [(row, -math.inf, limit) for row in self._memory()]
        if not rows:
            return [], {}
        at = [(r, c, v) for r, (row, _, _) in enumerate(rows) for c, v in row.items()]
        r, c, v = map(np.array, zip(*at, strict=True))
        integrality = np.zeros(len(self.costs))
        integrality[self.whole] = 1
        # In units that the solver's tolerances suit.
        unit = max(self.costs) or 1.0
        found = milp(
            np.array(self.costs) / unit,
            constraints=LinearConstraint(
                csr_array((v, (r, c)), shape=(len(rows), len(self.costs))),
                np.array([low for _, low, _ in rows]),
                np.array([high for _, _, high in rows]),
            ),
            integrality=integrality,
            bounds=Bounds(0, 1),
            options={"time_limit": _LIMIT, "mip_rel_gap": 1e-3},
        )
        return None if found.x is None else self._read(found.x)

    def _read(self, x: np.ndarray) -> tuple[list[Layout], dict[tuple[int, int], Layout]]:
        base = len(self.trial.program.inputs)
        chosen = {
            i: max(layouts, key=lambda layout: max(x[c] for c in layouts[layout]))
            for i, layouts in self.out.items()
        }
        inside: dict[tuple[int, int], Layout] = {}
        for k, some in self.ways.items():
            way = max(some, key=lambda pair: x[pair[0]])[1]
            eqn = self.trial.program.eqns[k - base]
            for n, (i, layout) in enumerate(zip(eqn.ins, way.operands, strict=True)):
                if layout is not None and i in chosen and chosen[i] != layout:
                    inside[k, n] = layout
            if eqn.prim is not reshard and isinstance(eqn.aval, Aval):
                inside[k, RESULT] = way.result
        return [chosen[i] for i in range(base)], inside


# -- the search ----------------------------------------------------------------------------------------


def _searched(trial: _Trial, limit: float, start: Candidate) -> Candidate:
    """Return the best of what changing the layouts of the largest inputs, one after the other, gives."""
    program, mesh = trial.program, trial.mesh
    layouts = [s.layout(a.shape) for s, a in zip(start.inputs, program.inputs, strict=True)]
    order = sorted(range(len(layouts)), key=lambda i: -program.inputs[i].nbytes)
    free = [i for i in order if trial.known[i] is None][:_INPUTS]
    best = start._replace(name="search")
    for _ in range(_ROUNDS):
        before = best
        for i in free:
            for layout in layouts_of(mesh, program.inputs[i].shape):
                if layout != layouts[i]:
                    given = [layout if j == i else lay for j, lay in enumerate(layouts)]
                    new = trial.of("search", given)
                    best = min(best, new, key=lambda c: _rank(c, limit))
            layouts = [s.layout(a.shape) for s, a in zip(best.inputs, program.inputs, strict=True)]
        if best is before:
            break
    return best
