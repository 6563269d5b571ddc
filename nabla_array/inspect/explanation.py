"""`eval` and `explain`: run what is pending, or say how it would run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from .._lazy.config import config, threads
from .._lazy.cpu.blocks import blocks_and_threads
from .._lazy.graph.aval import Aval
from .._lazy.graph.node import Node
from .._lazy.graph.program import Eqn, Program, is_literal, is_pending, linearize, pending_order
from .._lazy.ops.placement import in_use, is_resident
from .._lazy.run import planning, tiers
from .._lazy.run.claims import lock
from .._lazy.run.control import told_of_loop
from .._lazy.run.devices import CPU, device_of
from .._lazy.run.evaluator import scheduled
from .._lazy.schedule.steps import Call, Compiled, Fused, Schedule, Tiled
from .._namespace.core.array import current
from .._namespace.core.evaluation import arrays_in
from .drawing import to_dot, to_svg
from .text import bytes_text, call_text, count_text, nbytes, sources

if TYPE_CHECKING:
    from rich.tree import Tree

FORMATS = ("text", "tree", "dot", "svg")
# A step of more operations than this prints its first and its last ones only.
_HEAD, _TAIL = 20, 4
# Kinds of primitives whose results look at their input.
VIEWS = ("view", "broadcast")


# The steps that there are without a mesh, with what a heading that counts them calls them.
_HERE = {
    "compiled": "compiled part",
    "tiled": "row tiling",
    "fused": "fusion group",
    "call": "call",
    "view": "view",
    "small": "",
}


class Step(NamedTuple):
    """A step of an evaluation, with what it costs.

    Attributes
    ----------
    kind
        "fused" (a fusion group: several operations, block by block), "tiled" (several, products of matrices
        among them, tile by tile of their rows, a thread each), "call" (one operation, whole), "view" (one
        that moves no data), "compiled" (several operations compiled by MAX), "small" (operations on small
        arrays, one after the other), "devices" (operations that each device of a mesh does with its parts)
        or the name of a collective.
    where
        What runs it: "host", "MAX", or what it is told as on a mesh.
    eqns
        Numbers of the operations.
    inputs, outputs
        Numbers of the values that it reads and of those that it stores.
    reads, writes, unstored
        Bytes of those, and of the values in between that are never stored whole.
    blocks, threads
        Into how many blocks, or tiles, it is cut (0: compiled code decides), and how many threads share
        them.
    moved
        A line on each value, where several move on a mesh in one step.
    """

    kind: str
    where: str
    eqns: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    reads: int
    writes: int
    unstored: int
    blocks: int = 1
    threads: int = 1
    moved: tuple[str, ...] = ()

    def title(self) -> str:
        """Return one line on what it is and where it runs."""
        several, shared = count_text(len(self.eqns), "operation"), count_text(self.threads, "thread")
        return {
            "fused": f"fusion group of {several}: {self.where}, in blocks on {shared}",
            "tiled": f"row tiling of {several}: {self.where}, {self.blocks} tiles on {shared}",
            "compiled": f"compiled part of {several}: {self.where}",
            "small": f"{count_text(len(self.eqns), 'small operation')}: {self.where}, one by one",
            "call": f"call: {self.where}, whole",
            "view": "view: no data moves",
            "devices": f"{self.where}: {several}",
        }.get(self.kind, self.where)

    def traffic(self) -> str:
        """Return the bytes that it reads and writes."""
        if self.kind == "view":
            return ""
        if self.kind not in _HERE:
            return f"{bytes_text(self.reads)} to each device" if self.reads else ""
        return f"reads {bytes_text(self.reads)}, writes {bytes_text(self.writes)}"


@dataclass(eq=False, repr=False, slots=True)
class Explanation:
    """How arrays would be evaluated. It prints as text, or as a tree with rich, and holds no arrays.

    Attributes
    ----------
    program
        The pending operations, a value a number: the inputs first.
    steps
        What runs, in this order.
    results
        Shape and dtype of each array that was asked about, and its number in the program, which is
        None where it is evaluated already.
    tiers
        For each part that MAX could run its operations, and where it runs and why.
    loops
        For each loop over small values its number, and where it runs and why.
    """

    program: Program
    steps: tuple[Step, ...]
    results: tuple[tuple[Aval, int | None], ...]
    tiers: tuple[tuple[tuple[int, ...], str], ...] = ()
    loops: tuple[tuple[int, str], ...] = ()

    def __str__(self) -> str:
        lines = self.header()
        for title, rows in self._sections():
            lines += [title, *["  " + row for row in rows]]
        return "\n".join(lines)

    __repr__ = __str__

    def __rich__(self) -> Tree:
        from rich.text import Text
        from rich.tree import Tree

        tree = Tree(Text("\n".join(self.header()), style="bold"))
        for title, rows in self._sections():
            branch = tree.add(Text(title, style="cyan"))
            for row in rows:
                branch.add(Text(row))
        return tree

    def _repr_svg_(self) -> str:
        return to_svg(self)

    def operations(self) -> int:
        """Return how many operations are pending; literals are none."""
        return sum(len(step.eqns) for step in self.steps)

    def header(self) -> list[str]:
        """Return a line on each array, and one on the whole where something is pending."""
        lines = []
        for aval, number in self.results:
            state = f"evaluated, {bytes_text(nbytes(aval))}" if number is None else f"pending as %{number}"
            lines.append(f"{aval}: {state}")
        if self.steps:
            kinds = Counter(step.kind for step in self.steps)
            cut = ", ".join(count_text(kinds[k], noun) for k, noun in _HERE.items() if noun and kinds[k])
            if kinds.keys() - _HERE.keys():
                moved = sum(step.reads for step in self.steps)
                moves = [f"{n} {k}" for k, n in kinds.items() if k != "devices"]
                lines.append(
                    f"{count_text(self.operations(), 'operation')} on a mesh, "
                    f"{', '.join(moves) or 'nothing moves'}; {bytes_text(moved)} to each device"
                )
                return lines
            reads, writes, unstored = (
                sum(getattr(step, k) for step in self.steps) for k in ("reads", "writes", "unstored")
            )
            lines.append(
                f"{count_text(self.operations(), 'operation')}, {cut or 'one by one'}; "
                f"reads {bytes_text(reads)}, writes {bytes_text(writes)}"
                + (f"; {bytes_text(unstored)} in between are never stored" if unstored else "")
            )
        return lines

    def eqn(self, number: int) -> Eqn:
        """Return the operation that makes a value."""
        return self.program.eqns[number - len(self.program.inputs)]

    def formula(self, number: int) -> str:
        """Return the operation that makes a value as text, with literals in place."""
        eqn = self.eqn(number)
        return call_text(eqn, [self._name(i) for i in eqn.ins])

    def _name(self, number: int) -> str:
        if number >= len(self.program.inputs) and is_literal(self.eqn(number)):
            return str(dict(self.eqn(number).params)["value"])
        return f"%{number}"

    def _sections(self) -> Iterator[tuple[str, list[str]]]:
        if self.program.inputs and self.steps:
            yield (
                "inputs",
                [f"%{i}: {a}, {bytes_text(nbytes(a))}" for i, a in enumerate(self.program.inputs)],
            )
        for k, step in enumerate(self.steps, 1):
            traffic = f"; {step.traffic()}" if step.traffic() else ""
            eqns = step.eqns
            left_out = len(eqns) - _HEAD - _TAIL
            if left_out > 0:
                rows = [self._row(i) for i in eqns[:_HEAD]]
                rows += [f"... {left_out} more", *[self._row(i) for i in eqns[-_TAIL:]]]
            else:
                rows = [*map(self._row, eqns), *step.moved]
            yield f"{k}. {step.title()}{traffic}", rows
        if self.tiers:
            yield "what MAX could run", [f"{_numbers(eqns)}: {why}" for eqns, why in self.tiers]
        if self.loops:
            yield "loops", [f"%{k}: {where}" for k, where in self.loops]

    def _row(self, number: int) -> str:
        kept = number in self.program.outputs and all(number != n for _, n in self.results)
        note = "  (kept: in use elsewhere)" if kept else ""
        return f"%{number}: {self.eqn(number).aval} = {self.formula(number)}{note}"


def _numbers(eqns: tuple[int, ...]) -> str:
    """Return numbers of values as text, runs of them shortened."""
    runs = [[k for _, k in run] for _, run in groupby(enumerate(eqns), lambda pair: pair[1] - pair[0])]
    return ", ".join(f"%{r[0]}" if len(r) == 1 else f"%{r[0]}-%{r[-1]}" for r in runs)


def explain(x: Any, /, *more: Any, format: str = "text") -> Any:
    """Say what is pending below arrays and how it would be evaluated, without evaluating it.

    Parameters
    ----------
    x, *more : Array, or nested lists, tuples and dicts of them
        Explained as if `eval` were called with all of them.
    format : str, optional
        "text": an `Explanation`, which prints as text, as a tree with ``rich.print``, and as a drawing
        in a notebook; "tree": that tree; "svg": the drawing; "dot": the graph for Graphviz.

    Returns
    -------
    Explanation, rich.tree.Tree, or str

    Raises
    ------
    TypeError
        If there is no array among the arguments.
    ValueError
        If the format is another one.

    Examples
    --------
    >>> import nabla_array as xp
    >>> a = xp.arange(5000.0)  # what is done with fewer elements is done at once
    >>> xp.explain(xp.exp(a) * 2)
    float64[5000]: pending as %3
    2 operations, one by one; reads 40 kB, writes 80 kB
    inputs
      %0: float64[5000], 40 kB
    1. 2 small operations: host, one by one; reads 40 kB, writes 80 kB
      %2: float64[5000] = exp(%0)
      %3: float64[5000] = mul(%2, 2.0)
    """
    if format not in FORMATS:
        raise ValueError(f"explain: no format {format!r}; {', '.join(FORMATS)} would work")
    arrays = arrays_in((x, *more))
    if not arrays:
        given = ", ".join(type(item).__name__ for item in (x, *more))
        raise TypeError(f"explain: no array in {given}; an Array would work")
    explanation = _explain([current(a) for a in arrays])
    if format == "tree":
        return explanation.__rich__()
    return {"text": lambda e: e, "dot": to_dot, "svg": to_svg}[format](explanation)


def _explain(roots: list[Node]) -> Explanation:
    with lock:
        order = pending_order(roots)
        line = scheduled(order)
        pending = [n for n in roots if is_pending(n)]
        device = device_of(roots[0])
        is_large = line is not None or device != CPU
        line = line or linearize(order, pending)
        program = line.program
        numbers = {id(n): k for n, k in zip(order, line.numbers, strict=True)}
        results = tuple((n.aval, numbers.get(id(n))) for n in roots)
        if not is_large:
            pending_eqns = _own(program, range(len(program.inputs), len(program.inputs) + len(program.eqns)))
            small = _told(program, "small", pending_eqns, range(len(program.inputs)), pending_eqns)
            return Explanation(program, (small,) if order else (), results, loops=_loops(program))
        if device == CPU:
            plan = planning.planned(program)
            schedule = tiers.foreseen(plan)
            runners = plan.runners or ()
        else:
            held = [n.params["value"] if is_resident(n) else None for n in line.inputs]
            there = in_use[device].schedule(program, held)
            if not isinstance(there, Schedule):
                shown = {k for t in there for k in t.eqns}
                steps = [
                    Step(
                        t.kind,
                        t.title,
                        t.eqns,
                        _read(program, t.eqns, shown),
                        t.eqns,
                        t.nbytes,
                        0,
                        0,
                        moved=t.rows,
                    )
                    for t in there
                ]
                return Explanation(program, tuple(steps), results)
            schedule = there
            runners = tuple([s.runner for s in schedule.steps if isinstance(s, Compiled)])
    if config.mode == "host":
        runners = ()
    told = [(_own(program, r.part.eqns), r.kernel.status()) for r in runners if r.kernel is not None]
    return Explanation(program, tuple(_steps(schedule)), results, tuple(told), _loops(program))


def _loops(program: Program) -> tuple[tuple[int, str], ...]:
    if config.mode == "host":
        return ()
    told = [
        (k, told_of_loop(eqn, tuple([program.aval(i) for i in eqn.ins])))
        for k, eqn in enumerate(program.eqns, len(program.inputs))
    ]
    return tuple([(k, where) for k, where in told if where is not None])


def _read(program: Program, eqns: Sequence[int], shown: Container[int]) -> tuple[int, ...]:
    """Return the values that the operations of a step read of others."""
    return _own(program, [i for k in eqns for i in sources(program, k, shown) if i not in eqns])


def _own(program: Program, numbers: Iterable[int]) -> tuple[int, ...]:
    """Return values without literals, each once."""
    base = len(program.inputs)
    return tuple(k for k in dict.fromkeys(numbers) if k < base or not is_literal(program.eqns[k - base]))


def _steps(schedule: Schedule) -> Iterator[Step]:
    """Yield the steps of a schedule as they are told."""
    program = schedule.program
    for step, drop in zip(schedule.steps, schedule.drops, strict=True):
        if isinstance(step, Fused):
            calls: list[Fused | Call] = [step, *step.frames]
            made = [k for s in calls for k in s.outputs]
            inputs = [i for s in calls for i in s.inputs if i not in made]
            eqns, outputs = (*step.eqns, *made[len(step.outputs) :]), [k for k in made if k not in drop]
            yield _told(program, "fused", eqns, inputs, outputs, blocks_and_threads(program, step))
        elif isinstance(step, Call):
            eqn = program.eqns[step.eqn - len(program.inputs)]
            if not is_literal(eqn):
                kind = "view" if eqn.prim.kind in VIEWS else "call"
                yield _told(program, kind, (step.eqn,), eqn.ins, (step.eqn,))
        elif isinstance(step, Tiled):
            cut = len(step.cuts), min(threads(), len(step.cuts))
            yield _told(program, "tiled", step.part.eqns, step.inputs, step.outputs, cut)
        elif config.mode != "host" and step.runner.is_on_max():
            yield _told(program, "compiled", step.part.eqns, step.inputs, step.outputs)
        else:  # an accelerator's, which the host runs for it
            number = (*step.part.inputs, *step.part.eqns)
            for s in _steps(tiers.on_host(step.part.program)):
                eqns, ins, outs = (tuple(number[i] for i in v) for v in (s.eqns, s.inputs, s.outputs))
                yield s._replace(eqns=eqns, inputs=ins, outputs=outs)


def _told(
    program: Program,
    kind: str,
    eqns: Iterable[int],
    inputs: Iterable[int],
    outputs: Iterable[int],
    cut: tuple[int, int] = (1, 1),
) -> Step:
    """Return a step with what it costs."""
    eqns, inputs, outputs = _own(program, eqns), _own(program, inputs), tuple(outputs)
    unstored = [k for k in eqns if program.eqns[k - len(program.inputs)].prim.kind not in VIEWS]
    reads, between = _bytes(program, inputs), _bytes(program, [k for k in unstored if k not in outputs])
    # What is stored of a fusion group is whole, a view too.
    whole = [nbytes(program.aval(i)) for i in outputs]
    writes = sum(whole) if kind == "fused" else _bytes(program, outputs)
    costs = (0, 0, 0) if kind == "view" else (reads, writes, between)
    return Step(kind, "MAX" if kind == "compiled" else "host", eqns, inputs, outputs, *costs, *cut)


def _bytes(program: Program, numbers: Iterable[int]) -> int:
    """Return the bytes that values take; one that is a view takes no more than what it looks at."""
    base, total = len(program.inputs), 0
    for i in numbers:
        size = nbytes(program.aval(i))
        while i >= base and program.eqns[i - base].prim.kind in VIEWS:
            eqn = program.eqns[i - base]
            if not eqn.ins:  # a literal
                size = 0
                break
            i = eqn.ins[0]
            size = min(size, nbytes(program.aval(i)))
        total += size
    return total
