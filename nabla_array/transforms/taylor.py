"""Derivatives of high order along a curve: Taylor series pushed through what a function recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from .._lazy.graph.aval import Aval, is_differentiable
from .._lazy.graph.node import Node, record
from .._lazy.graph.tape import Entry, taping
from .._lazy.ops.contraction import matmul
from .._lazy.ops.creation import fill_like
from .._lazy.ops.elementwise import div, mul
from .._lazy.ops.structure import alias
from .._lazy.rules.autodiff import push_entry
from .._namespace.core.array import Array
from .derivatives import matched_one, run
from .pytree import flatten_up_to, tree_unflatten

if TYPE_CHECKING:
    from ._types import R

__all__ = ["jet"]


@overload
def jet(
    fun: Callable[..., Array],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
) -> tuple[Array, list[Array]]: ...
@overload
def jet(
    fun: Callable[..., R],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
) -> tuple[R, Any]: ...
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
) -> tuple[Any, Any]:
    """Return the value of `fun` and its derivatives along a curve, of every order up to some.

    The cost grows with a power of the order for most functions, where that of nested `jvp` doubles with each.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them.
    primals : sequence of pytrees
        Where the curve begins.
    series : sequence of sequences of pytrees
        For each primal the derivatives of the curve there: the first, the second, and so on. The shorter ones
        go on with zeros.
    factorial_scaled : bool
        False: series hold coefficients of Taylor series, which are the derivatives divided by factorials.

    Returns
    -------
    (output, series)
        The second in the structure of the output, with a list of derivatives in the place of each array.

    Raises
    ------
    TypeError, ValueError
        As `jvp` for tangents.

    >>> from nabla_array.transforms import jet
    >>> jet(xp.sin, (0.0,), ([1.0, 0.0, 0.0],))
    (np.float64(0.0), [np.float64(1.0), np.float64(0.0), np.float64(-1.0)])
    """
    if len(primals) != len(series):
        raise ValueError(f"jet: {len(series)} series for {len(primals)} primals")
    order = max([len(terms) for terms in series], default=0)
    made = run("jet", "a primal", fun, primals, False, False)
    table = _Series()
    like = iter(made.sources)
    for child, terms in zip(made.in_tree.children, series, strict=True):
        rows = [flatten_up_to("jet: series", child, term) for term in terms]
        for k in range(child.num_leaves):
            x = next(like)
            leaves = [matched_one("jet", "a derivative", row[k], x)[0] for row in rows]
            scaled = [_scaled(n, 1 / math.factorial(i)) for i, n in enumerate(leaves, 1)]
            table.known[id(x._node)] = [x._node, *(scaled if factorial_scaled else leaves)]
    entries = made.tape.below([x._node for x in made.outs])
    for k in range(1, order + 1):
        table.advance(entries, k)
    outs = []
    for x in made.outs:
        found = [table.of(x._node, k) for k in range(1, order + 1)]
        terms = [fill_like(x._node, 0) if n is None else n for n in found]
        if factorial_scaled:
            terms = [_scaled(n, math.factorial(i)) for i, n in enumerate(terms, 1)]
        outs.append([Array(n, x._levels) for n in terms])
    return made.output(), tree_unflatten(made.out_tree, outs)


def _scaled(node: Node, factor: float) -> Node:
    return node if factor == 1 else node * factor


class _Derived(NamedTuple):
    """What an operation's tangent is, as a graph."""

    entries: list[Entry]
    result: Any
    tangents: list[tuple[Node, Node]]  # with the operands whose tangents they are


class _Series:
    """The coefficients of the Taylor series of nodes."""

    def __init__(self) -> None:
        self.known: dict[int, list[Any]] = {}  # None is zero
        self.derived: dict[int, _Derived] = {}

    def of(self, node: Node, k: int) -> Any:
        """Return a coefficient; what has no series is constant."""
        if k == 0:
            return node
        found = self.known.get(id(node), ())
        return found[k] if k < len(found) else None

    def advance(self, entries: Sequence[Entry], k: int) -> None:
        """Find the coefficients of this order, where the lower ones are known."""
        for entry in entries:
            self.known.setdefault(id(entry.node), [entry.node]).append(self._next(entry, k))

    def _next(self, entry: Entry, k: int) -> Any:
        node, prim, inputs, params = entry
        terms = [self.of(i, k) for i in inputs]
        if prim.role == "projection":
            return terms[0] and terms[0][params["index"]]
        if isinstance(node.aval, Aval) and not is_differentiable(node.aval):
            return None
        if prim is mul or prim is matmul:
            return self._product(entry, k)
        if prim is div:
            _, y = inputs
            pairs = [(self.of(node, i), self.of(y, k - i)) for i in range(k)]
            parts = [-(a * b) for a, b in pairs if a is not None and b is not None]
            total = _sum([terms[0], *parts])
            return None if total is None else total / y
        if prim.partials is None and prim.jvp is None and prim.transpose is not None:
            if all(t is None for t in terms):
                return None
            return record(prim, tuple([_or_zero(t, i) for t, i in zip(terms, inputs, strict=True)]), params)
        return self._by_tangent(entry, k)

    def _product(self, entry: Entry, k: int) -> Node | None:
        x, y = entry.inputs
        pairs = [(self.of(x, i), self.of(y, k - i)) for i in range(k + 1)]
        found = [(a, b) for a, b in pairs if a is not None and b is not None]
        return _sum([record(entry.prim, pair, entry.params) for pair in found])

    def _by_tangent(self, entry: Entry, k: int) -> Any:
        """Take the coefficient from those of the derivative along the curve, which is a graph too."""
        key = id(entry.node)
        if key not in self.derived:
            self.derived[key] = self._derive(entry)
        derived = self.derived[key]
        # Of order k - 1, for which the tangents' series are those of the operands, one on.
        if k > 1:
            for tangent, operand in derived.tangents:
                term = self.of(operand, k)
                self.known[id(tangent)].append(None if term is None else term * k)
            self.advance(derived.entries, k - 1)
        result = derived.result
        if type(result) in (tuple, list):
            found = [None if n is None else self.of(n, k - 1) for n in result]
            return tuple([None if n is None else _scaled(n, 1 / k) for n in found])
        term = None if result is None else self.of(result, k - 1)
        return None if term is None else _scaled(term, 1 / k)

    def _derive(self, entry: Entry) -> _Derived:
        tangents: list[Node | None] = []
        pairs = []
        for operand in entry.inputs:
            known = id(operand) in self.known and is_differentiable(operand.aval)
            if not known:
                tangents.append(None)
                continue
            first = self.of(operand, 1)
            tangent = alias(fill_like(operand, 0) if first is None else first)
            self.known[id(tangent)] = [tangent]
            tangents.append(tangent)
            pairs.append((tangent, operand))
        sources = [entry.node, *[n for pair in pairs for n in pair]]
        with taping(sources) as tape:
            result = push_entry(entry, tangents) if pairs else None
        return _Derived(tape.entries, result, pairs)


def _or_zero(term: Node | None, like: Node) -> Node:
    if term is not None:
        return term
    return fill_like(like, 0) if is_differentiable(like.aval) else like


def _sum(parts: Sequence[Node | None]) -> Node | None:
    found = [p for p in parts if p is not None]
    if not found:
        return None
    total = found[0]
    for part in found[1:]:
        total = total + part
    return total
