"""Which axes of a program's values are one: canonical forms, blocks, row tiles and shards rest on it.

The labels that the records' `dims` give say it of one operation; a union-find says it of the whole program.
"""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate, pairwise

from ..graph.aval import Aval
from ..graph.primitive import Dims
from ..graph.program import Program

Classes = tuple[tuple[int, ...], ...]


class AxisClasses:
    """The classes of the axes of a program's values; `axes_of` gives those of a program.

    Attributes
    ----------
    shapes
        The shape of each value; that of a tuple of arrays is ().
    labels
        What the record's `dims` says of each equation that it knows: for each operand, and last for each
        result, a label for each axis. A negative one says that the operation needs the axis whole.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        avals = [*program.inputs, *[eqn.aval for eqn in program.eqns]]
        self.shapes = [a.shape if isinstance(a, Aval) else () for a in avals]
        self.labels: dict[int, Dims] = {}
        for k, eqn in enumerate(program.eqns, len(program.inputs)):
            values = [avals[i] for i in eqn.ins]
            if eqn.prim.dims is not None and all([isinstance(a, Aval) for a in values]):
                self.labels[k] = eqn.prim.dims(*values, **dict(eqn.params))

    @cached_property
    def cuttable(self) -> Classes:
        """The class of each axis of each value: cutting one axis of a class cuts all of them alike.

        An axis that an operation needs whole ends the class there.
        """
        return self._classes(whole=False)

    @cached_property
    def alike(self) -> Classes:
        """The same, where axes that an operation needs whole and gives back as long are one class, too."""
        return self._classes(whole=True)

    def _classes(self, whole: bool) -> Classes:
        starts = [0, *accumulate([len(shape) for shape in self.shapes])]
        parent = list(range(starts[-1]))

        def root(place: int) -> int:
            while parent[place] != place:
                parent[place] = place = parent[parent[place]]
            return place

        for k, labels in self.labels.items():
            first: dict[int, int] = {}
            values = self.operands(k)
            if isinstance(self.program.aval(k), Aval):
                values += (k,)
            for value, own in zip(values, labels, strict=False):
                for place, label in enumerate(own, starts[value]):
                    if whole or label >= 0:
                        parent[root(place)] = root(first.setdefault(label, place))
        return tuple([tuple([root(p) for p in range(a, b)]) for a, b in pairwise(starts)])

    def operands(self, k: int) -> tuple[int, ...]:
        """Return the numbers of an equation's operands."""
        return self.program.eqns[k - len(self.program.inputs)].ins

    def places(self, value: int, cls: int) -> list[int]:
        """Return which axes of a value are of a class of `cuttable`."""
        return [axis for axis, c in enumerate(self.cuttable[value]) if c == cls]

    def leading(self, k: int) -> int:
        """Return how many axes lead an equation's operands and its result alike, or lead and are reduced."""
        labels = self.labels.get(k, ((),))
        if len(labels) == 1:
            return 0
        *operands, result = labels
        kept = _common([*operands, result])
        return kept or _common([*operands, [a for a in operands[0] if a not in result]])


def _common(rows: list[tuple[int, ...] | list[int]]) -> int:
    """Return with how many labels of axes that nobody needs whole all rows begin."""
    n = 0
    for labels in zip(*rows, strict=False):
        if labels[0] < 0 or len({*labels}) > 1:
            break
        n += 1
    return n


def axes_of(program: Program) -> AxisClasses:
    """Return the axis classes of a program, made once and kept with it."""
    if program.axes is None:
        program.axes = AxisClasses(program)
    found: AxisClasses = program.axes
    return found
