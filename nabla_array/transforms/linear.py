"""Derivatives at a point as linear functions of tangents and cotangents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .._lazy.graph.node import Node
from .._lazy.graph.tape import Tape, taping
from .._lazy.ops.creation import fill_like
from .._lazy.rules.autodiff import placeholder, pull, push, replay
from .._lazy.rules.levels import Levels, in_force, merge
from .._namespace.core.array import Array
from .calls import node_of
from .derived import derived
from .watching import Watch, watched

if TYPE_CHECKING:
    from .derivatives import Run

Value = tuple[Node, Levels]


class Linear:
    """The derivative where a function was run: a linear function of tangents or cotangents.

    Parameters
    ----------
    function
        Who asks, as errors say.
    made
        The run.
    inputs, results
        What it takes tangents or cotangents of, and what it gives them of.
    derive
        Records it for nodes along the levels of the run; returns the results by the ids of their nodes.
    replays
        Whether it is recorded once, and then only replayed.
    """

    def __init__(
        self,
        function: str,
        made: Run,
        inputs: Sequence[Array],
        results: Sequence[Array],
        derive: Callable[[Sequence[Node]], Mapping[int, Node]],
        replays: bool,
    ) -> None:
        self.function, self.made, self.results, self.replays = function, made, results, replays
        self.inputs, self._derive = inputs, derive
        self._levels = made.sources[0]._levels if made.sources else in_force()
        self._replayed: tuple[Tape, list[Node], list[Node | None]] | None = None

    def __call__(self, values: Sequence[Value]) -> list[Array]:
        """Return the results; those of small graphs that were met before are kept."""
        newer = [self._newer(levels) for _, levels in values]
        all_newer = merge(newer) if any(newer) else ()
        if len(all_newer) > 1:  # which of them a result has is not to be seen
            return self.recorded(values)
        sources = [*map(node_of, self.made.sources)]
        roots = [*map(node_of, self.made.outs), *[n for n, _ in values]]
        how = self.function, *map(len, newer)
        nodes = derived(how, self.made.tape, sources, roots, lambda: [x._node for x in self.recorded(values)])
        return [
            Array(n, (all_newer if n.aval.ndim > x._node.aval.ndim else ()) + x._levels)
            for n, x in zip(nodes, self.results, strict=True)
        ]

    def _newer(self, levels: Levels) -> Levels:
        if levels == self._levels:
            return ()
        return tuple([i for i in levels if i not in self._levels])

    def recorded(self, values: Sequence[Value]) -> list[Array]:
        """Record the results."""
        is_for_many = any([self._newer(levels) for _, levels in values])
        if is_for_many or self.replays:
            try:
                return self._replay(values)
            except RuleLooksError:
                if is_for_many:
                    raise
                self.replays = False  # what looks sees one value at a time
        return found_for(self._derive([n for n, _ in values]), self.results)

    def _replay(self, values: Sequence[Value]) -> list[Array]:
        # The values may have levels that the run does not have: they alone are batched.
        tape, seeds, ends = self.record()
        known = {id(s): (node, self._newer(levels)) for s, (node, levels) in zip(seeds, values, strict=True)}
        found = replay(tape, known)
        out = []
        for end, x in zip(ends, self.results, strict=True):
            node, newer = (fill_like(x._node, 0), ()) if end is None else found.get(id(end), (end, ()))
            out.append(Array(node, newer + x._levels))
        return out

    def record(self) -> tuple[Tape, list[Node], list[Node | None]]:
        """Return what is replayed: a tape, its sources, and the results where they are not zero."""
        if self._replayed is None:
            seeds = [placeholder(x._node) for x in self.inputs]
            with _replayable(self.function, seeds) as tape:
                given = self._derive(seeds)
            self._replayed = tape, seeds, [given.get(id(x._node)) for x in self.results]
        return self._replayed


class RuleLooksError(TypeError):
    """A rule looks at a tangent or cotangent that stands for many."""


class _WatchOfRules(Watch):
    def error(self) -> TypeError:
        return RuleLooksError(super().error())


@contextmanager
def _replayable(function: str, seeds: Sequence[Node]) -> Iterator[Tape]:
    """Run a tape of what is linear in the seeds, which stand for many values: nobody may look at one."""
    watch = _WatchOfRules(
        f"{function}: a rule looks at a tangent or cotangent ({{}}), which stands for many here: a loop by "
        "while_loop or scan does not look, and jvp and grad let it look, as jacfwd and jacrev do"
    )
    with watched(watch), taping(seeds, linear="replayed") as tape:
        watch.tape = tape
        yield tape


def pulling(function: str, made: Run) -> Linear:
    """Return the function of cotangents of a run's outputs that have some."""
    outs = differentiable(made.outs)

    def derive(cts: Sequence[Node]) -> Mapping[int, Node]:
        return pull(made.tape, [(x._node, c) for x, c in zip(outs, cts, strict=True)])

    return Linear(function, made, outs, made.sources, derive, replays=False)


def pushing(function: str, made: Run) -> Linear:
    """Return the function of tangents of a run's sources that have some."""
    sources = differentiable(made.sources)

    def derive(ts: Sequence[Node]) -> Mapping[int, Node]:
        known = {id(x._node): t for x, t in zip(sources, ts, strict=True)}
        return push(made.tape, known, [x._node for x in made.outs])

    return Linear(function, made, sources, made.outs, derive, replays=True)


def differentiable(arrays: Sequence[Array]) -> list[Array]:
    return [x for x in arrays if x.dtype.kind in "fc"]


def found_for(found: Mapping[int, Node], like: Sequence[Array]) -> list[Array]:
    """Return what was found for the nodes of arrays, zeros where that is nothing."""
    return [Array(found.get(id(x._node)) or fill_like(x._node, 0), x._levels) for x in like]
