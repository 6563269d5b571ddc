"""Functions that bring their own derivatives, have none, or are computed again for them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from .._lazy.graph.node import Node, record, tapes
from .._lazy.graph.primitive import Primitive
from .._lazy.graph.program import program_of
from .._lazy.graph.tape import derivatives, hidden, taping
from .._lazy.ops.creation import fill_like
from .._lazy.ops.custom import custom_jvp_call, custom_vjp_call
from .._lazy.ops.structure import barrier, project
from .._lazy.ops.structure import stop_gradient as stop_gradient_p
from .._lazy.rules.autodiff import push
from .._lazy.rules.levels import Levels, align, closed, in_force, merge, new_level, only, opened
from .._namespace.chapters.elementwise import add, multiply
from .._namespace.core.array import Array, apply, current
from .._namespace.core.promotion import SCALARS
from .calls import Positions, array_leaf, choose, fresh, is_array_like
from .pytree import Rest, flatten_up_to, take, tree_flatten, tree_map
from .runs import OutsideVmap
from .tracing import trace
from .vmap import vmap
from .watching import run_as_it_is, running_tapes

if TYPE_CHECKING:
    from ._types import Leaf, T

P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["CustomVJPPrimal", "SymbolicZero", "custom_jvp", "custom_vjp", "stop_gradient"]


@overload
def stop_gradient(x: Leaf) -> Array: ...
@overload
def stop_gradient(x: T) -> T: ...
def stop_gradient(x: Any) -> Any:
    """Return the same values, as constants for every derivative.

    Parameters
    ----------
    x : pytree of arrays

    Returns
    -------
    pytree of arrays

    >>> from nabla_array.transforms import grad, stop_gradient
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return tree_map(
        lambda leaf: (
            apply(stop_gradient_p, array_leaf("stop_gradient", leaf)) if is_array_like(leaf) else leaf
        ),
        x,
    )


class SymbolicZero:
    """A tangent or cotangent that is zero, as rules get it that were set with ``symbolic_zeros=True``.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import SymbolicZero, custom_jvp, grad
    >>> @custom_jvp
    ... def product(x, y):
    ...     return x * y
    >>> def rule(primals, tangents):
    ...     (x, y), (dx, dy) = primals, tangents
    ...     assert type(dy) is SymbolicZero  # nobody differentiates by y below
    ...     return x * y, dx * y
    >>> _ = product.defjvp(rule, symbolic_zeros=True)
    >>> grad(product)(2.0, 3.0)
    np.float64(3.0)
    """

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.dtype}{list(self.shape)})"


class CustomVJPPrimal:
    """An argument of the forward rule of a `custom_vjp` that was set with ``symbolic_zeros=True``.

    Attributes
    ----------
    value : array or number
    perturbed : bool
        Whether a derivative by it may be wanted.

    Examples
    --------
    >>> from nabla_array.transforms import custom_vjp, grad
    >>> @custom_vjp
    ... def product(x, y):
    ...     return x * y
    >>> def forward(x, y):
    ...     assert (x.perturbed, y.perturbed) == (True, False)  # nobody differentiates by y below
    ...     return x.value * y.value, y.value
    >>> _ = product.defvjp(forward, lambda y, ct: (ct * y, None), symbolic_zeros=True)
    >>> grad(product)(2.0, 3.0)
    np.float64(3.0)
    """

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


# -- operands along levels -----------------------------------------------------------------------------


def sizes_of(arrays: Sequence[Array]) -> dict[int, int]:
    """Return the sizes of the levels that arrays lie along."""
    return {k: n for x in arrays for k, n in zip(x._levels, x._node.aval.shape, strict=False)}


def aligned(arrays: Sequence[Array]) -> tuple[list[Node], Levels]:
    """Return the arrays' nodes along all their levels."""
    nodes = [current(x) for x in arrays]
    levels, sizes = merge([x._levels for x in arrays]), sizes_of(arrays)
    return [align(n, x._levels, levels, sizes) for n, x in zip(nodes, arrays, strict=True)], levels


@dataclass(eq=False)
class Rule:
    """How derivatives pass a call: the first `outs` operands are its results, the next `args` its arguments.

    All lie along `levels`. Once the call is recorded again in a larger batch, its operands have more axes in
    front than the first operand had (`ndim`): these are taken for levels of their own. `depth` counts the
    forward rules that the call is part of: as many derivatives take those calls first.
    """

    outs: int
    args: int
    levels: Levels
    ndim: int
    depth: int = field(default=0, kw_only=True)

    def at_depth(self, depth: int) -> Rule:
        return replace(self, depth=depth)

    def levels_of(self, operands: Sequence[Node]) -> Levels:
        more = operands[0].aval.ndim - self.ndim
        return (*sorted((new_level() for _ in range(more)), reverse=True), *self.levels)


def ruled(levels: Levels, rule: Callable[..., Any], arrays: Sequence[Array]) -> Any:
    """Return what ``rule(*arrays)`` gives, a pytree of arrays along some of these levels."""
    here, sizes = in_force(), sizes_of(arrays)
    gone = [i for i in levels if i not in here]
    try:
        with only(levels, {i: sizes[i] for i in gone if i in sizes}):
            return rule(*arrays)
    except OutsideVmap:
        if not gone:
            raise
    # The rule looks at a value, after the vmaps of its examples have ended: others part them.
    kept = tuple([i for i in levels if i not in gone])
    rests: list[Rest] = []

    def one(*xs: Array) -> list[Any]:
        leaves, tree = tree_flatten(ruled(merge([kept, *[x._levels for x in xs]]), rule, xs))
        found, rest = take(leaves, tree, is_array_like)
        rests.append(rest)
        return found

    again: Callable[..., Any] = one
    for level in gone:  # the oldest is outermost
        arrays = [Array(*opened(current(x), x._levels, level)) for x in arrays]
        again = vmap(again)
    found = again(*arrays)
    for level in reversed(gone):
        found = [Array(*closed(current(x), x._levels, level)) for x in found]
    return rests[0].filled(found)


def _arrays(nodes: Sequence[Node], levels: Levels) -> list[Array]:
    return [Array(n, levels) for n in nodes]


def nodes_like(
    function: str, what: str, leaves: Sequence[Any], like: Sequence[Node], levels: Levels
) -> list[Any]:
    """Return what a rule gave as nodes along `levels`, each like one of `like`; None stays."""
    if len(leaves) != len(like):
        raise TypeError(f"{function}: the rule gave {len(leaves)} {what} instead of {len(like)}")
    out: list[Any] = []
    for leaf, node in zip(leaves, like, strict=True):
        if leaf is None or type(leaf) is SymbolicZero or node.aval.dtype.kind not in "fc":
            out.append(None)
            continue
        x = array_leaf(function, leaf)
        sizes = dict(zip(levels, node.aval.shape, strict=False))
        got = align(current(x), x._levels, levels, sizes)
        if got.aval.shape != node.aval.shape or got.aval.dtype != node.aval.dtype:
            raise TypeError(
                f"{function}: the rule gave {what} of {x.dtype}{list(x.shape)} for "
                f"{node.aval.dtype}{list(node.aval.shape[len(levels) :])}"
            )
        out.append(got)
    return out


def recorded(prim: Primitive, operands: Sequence[Node], levels: Levels, **params: Any) -> list[Array]:
    whole = record(prim, tuple(operands), params)
    return [Array(project(whole, index=i), levels) for i in range(len(whole.aval))]


def is_array(leaf: Any) -> bool:
    """Say whether a leaf is an array; Python's numbers stay numbers, which promote otherwise."""
    return is_array_like(leaf) and type(leaf) not in SCALARS


def _is_inexact(leaf: Any) -> bool:
    return is_array_like(leaf) and array_leaf("", leaf).dtype.kind in "fc"


def or_zeros(
    values: Sequence[Node | None], like: Sequence[Node], levels: Levels, symbolic: bool
) -> list[Any]:
    """Return tangents or cotangents as rules get them."""

    def zero(node: Node) -> Any:
        aval = node.aval
        return (
            SymbolicZero(aval.shape[len(levels) :], aval.dtype)
            if symbolic
            else Array(fill_like(node, 0), levels)
        )

    return [zero(n) if v is None else Array(v, levels) for v, n in zip(values, like, strict=True)]


def _closed_over(function: Any, depth: int = 3) -> list[Node]:
    """Return the nodes of the arrays that a function captures, and functions that it captures."""
    found = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            x = cell.cell_contents
        except ValueError:  # not set yet
            continue
        if type(x) is Array:
            found.append(current(x))
        elif depth and isinstance(x, FunctionType):
            found += _closed_over(x, depth - 1)
    return found


class _Custom(Generic[P, R]):
    """What `custom_jvp` and `custom_vjp` share: the function, and which arguments have derivatives."""

    rule: Any = None
    symbolic = False
    _lacking = ""

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        self.fun = fun
        one = isinstance(nondiff_argnums, int)
        self.nondiff: tuple[int, ...] = (nondiff_argnums,) if one else tuple(nondiff_argnums)  # type: ignore
        self._positions = Positions(type(self).__name__, fun)
        own = self._positions.parameters
        places = {
            p.name: i for i, p in enumerate(own) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        }
        for name in (nondiff_argnames,) if isinstance(nondiff_argnames, str) else nondiff_argnames:
            if name not in places:
                raise ValueError(
                    f"{type(self).__name__}: nondiff_argnames {name!r} is no argument of {fun!r}: there are "
                    f"{', '.join(places) or 'none'}"
                )
            self.nondiff = tuple({*self.nondiff, places[name]})
        functools.update_wrapper(self, fun)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the function's value; derivatives of it will use what it was given for them."""
        if self.rule is None:
            raise AttributeError(f"{type(self).__name__}: {self.fun.__name__} has {self._lacking}")
        fun: Callable[..., R] = self.fun
        given = self._positions.of(args, kwargs)
        name, n = type(self).__name__, len(given)
        fixed = {i % n for i in self.nondiff if -n <= i < n}
        if len(fixed) != len(self.nondiff):
            raise ValueError(f"{name}: nondiff_argnums {self.nondiff} for {n} arguments")
        if not self._is_recorded():
            return fun(*given)
        # A program would keep what rules capture as it is now.
        if held := [n for f in self._rules() for n in _closed_over(f)]:
            run_as_it_is(*held)
        diff = [i for i in range(n) if i not in fixed]
        found, rest = take(*tree_flatten(tuple([given[i] for i in diff])), is_array)
        arrays = [array_leaf(name, x) for x in found]
        nodes = [current(x) for x in arrays]
        if any(t.linear == "transposed" and any(t.moves(nodes)) for t in running_tapes()):
            return fun(*given)  # linear in tangents of a rule that is being transposed: what it computes

        def of_arrays(fun: Callable[..., Any], xs: Sequence[Any], rest: Rest = rest) -> Any:
            return choose(name, fun, diff, given, {})[0](*rest.filled(xs))

        out: R = self._called(arrays, rest, [given[i] for i in sorted(fixed)], of_arrays)
        return out

    def _rules(self) -> tuple[Any, ...]:
        return self.rule if isinstance(self.rule, tuple) else (self.rule,)

    def _is_recorded(self) -> bool:
        raise NotImplementedError

    def _called(
        self, arrays: list[Array], rest: Rest, fixed: list[Any], of_arrays: Callable[..., Any]
    ) -> Any:
        """Record a call.

        Its arguments are `fixed`, which have no derivatives, and the arrays and the rest of the others.
        ``of_arrays(fun, arrays)`` calls a function with other arrays.
        """
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


@dataclass(eq=False)
class _JvpRule(Rule):
    rule: Callable[..., Any]
    rest: Rest
    of: list[int]
    symbolic: bool

    def _ask(self, tangents: Sequence[Node | None], operands: Sequence[Node], which: int) -> list[Any]:
        """Return the results (0) or their tangents (1) as the rule gives them."""
        levels = self.levels_of(operands)
        outs, primals = operands[: self.outs], operands[self.outs :]
        ts = or_zeros(tangents[self.outs :], primals, levels, self.symbolic)
        still = self.rest._replace(leaves=[None if x is None else self._still(x) for x in self.rest.leaves])
        moving, zeros = take(ts, tree_flatten(ts)[1], lambda t: type(t) is Array)
        n = len(primals)

        def rule(*xs: Array) -> tuple[Any, Any]:
            result = self.rule(self.rest.filled(xs[:n]), still.filled(zeros.filled(xs[n:])))
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"custom_jvp: the rule must return (output, output_tangent), not {result!r}")
            return result

        result = ruled(levels, rule, [*_arrays(primals, levels), *moving])
        found = tree_flatten(result[which])[0]
        if len(found) > self.outs:  # integers, or their tangents, come along
            found = [found[i] for i in self.of]
        return nodes_like("custom_jvp", ("results", "tangents")[which], found, outs, levels)

    def _still(self, number: Any) -> Any:
        """Return the tangent of what is no array."""
        if self.symbolic and is_array_like(number):
            return SymbolicZero((), np.result_type(number))
        return type(number)(0)

    def push(self, tangents: Sequence[Node | None], operands: Sequence[Node]) -> list[Any]:
        return self._ask(tangents, operands, 1)

    def push_result(self, tangents: Sequence[Node | None], operands: Sequence[Node]) -> list[Any]:
        """Return the tangents of the results that the rule gives, where its own have been taken."""
        inputs = [barrier(n) for n in operands]
        with taping(inputs) as tape:
            outs = self._ask([None] * len(operands), inputs, 0)
        known = {id(n): t for n, t in zip(inputs, tangents, strict=True) if t is not None}
        found = push(tape, known, outs)
        return [found.get(id(n)) for n in outs]


class custom_jvp(_Custom[P, R]):
    """A function with a rule for its derivative.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them. Rules get its arguments by position, those with defaults too.
    nondiff_argnums : sequence of ints
        Arguments that are no arrays to differentiate by; the rule gets them first.
    nondiff_argnames : sequence of strs
        The same, by name.

    >>> from nabla_array.transforms import custom_jvp, grad
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return xp.log1p(xp.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1 - 1 / (1 + xp.exp(x)))
    >>> grad(log1pexp)(100.0)
    np.float64(1.0)
    """

    _lacking = "no rule yet; give it one with defjvp"

    def defjvp(self, rule: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: ``(*nondiff_args, primals, tangents) -> (output, output_tangent)``; returns it.

        With `symbolic_zeros`, tangents that are zero are `SymbolicZero`, and the rule may return such.
        """
        self.rule, self.symbolic = rule, symbolic_zeros
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: ``(tangent, output, *primals) -> output_tangent``; None for zero."""

        value: Callable[..., Any] = self

        def rule(*args: Any) -> Any:
            *fixed, primals, tangents = args
            out = value(*fixed, *primals)
            parts = [r(t, out, *primals) for r, t in zip(rules, tangents, strict=True) if r is not None]
            zero = tree_map(lambda x: multiply(x, 0), out)
            return out, functools.reduce(lambda a, b: tree_map(add, a, b), parts, zero)

        self.rule, self.symbolic = rule, False

    def _is_recorded(self) -> bool:
        return bool(tapes)

    def _called(
        self, arrays: list[Array], rest: Rest, fixed: list[Any], of_arrays: Callable[..., Any]
    ) -> Any:
        running = derivatives()
        with hidden(running):
            traced = trace(lambda *xs: of_arrays(self.fun, xs), arrays, everything=True)
        if any(n in tape for tape in running for n in traced.captured):
            raise ValueError(
                f"custom_jvp: {self.fun.__name__} captures an array that is being differentiated, "
                "of which its rule knows nothing; make it an argument"
            )
        outs, others = take(traced.leaves, traced.tree, _is_inexact)
        if not outs:
            return others.filled(())
        nodes, levels = aligned([*[array_leaf("custom_jvp", x) for x in outs], *arrays])
        numbers = len(outs), len(arrays), levels, nodes[0].aval.ndim
        rule = _JvpRule(*numbers, functools.partial(self.rule, *fixed), rest, others.places, self.symbolic)
        return others.filled(recorded(custom_jvp_call, nodes, levels, rule=rule))


@dataclass(eq=False)
class _VjpRule(Rule):
    name: str
    backward: Callable[..., Any]
    rest: Rest
    outputs: Rest
    residuals: Rest
    captured: int
    symbolic: bool

    def push(self, tangents: Sequence[Node | None], operands: Sequence[Node]) -> list[Any]:
        if any(t is not None for t in tangents[self.outs : self.outs + self.args]):
            raise TypeError(
                f"custom_vjp: {self.name} has a rule for cotangents alone, and forward mode (jvp, jacfwd, "
                "linearize) needs one for tangents: vjp, grad and jacrev work; custom_jvp serves both"
            )
        return list(tangents[: self.outs])

    def pull(self, ct: Sequence[Node | None], wanted: Sequence[bool], operands: Sequence[Node]) -> list[Any]:
        if any(wanted[len(operands) - self.captured :]):
            raise NotImplementedError(
                "custom_vjp: the function captures an array that is being differentiated, of which its rule "
                "knows nothing; make it an argument"
            )
        levels = self.levels_of(operands)
        first = self.outs + self.args
        outs, args = operands[: self.outs], operands[self.outs : first]
        saved = operands[first : first + len(self.residuals.places)]
        cts = or_zeros(ct, outs, levels, self.symbolic)
        moving, zeros = take(cts, tree_flatten(cts)[1], lambda t: type(t) is Array)
        n = len(saved)

        def rule(*xs: Array) -> Any:
            return self.backward(self.residuals.filled(xs[:n]), self.outputs.filled(zeros.filled(xs[n:])))

        result = ruled(levels, rule, [*_arrays(saved, levels), *moving])
        children = self.rest.tree.children
        # A list is a tuple, unless it can be the one cotangent for an argument that is a list.
        several = isinstance(result, tuple) or (
            isinstance(result, list) and (len(children) != 1 or children[0].type is not list)
        )
        found = result if several else (result,)
        if len(found) != len(children):
            raise TypeError(
                f"custom_vjp: the backward rule must give a tuple of {len(children)} "
                f"cotangents, one an argument, not {len(found)}"
            )
        leaves: list[Any] = []
        for c, child in zip(found, children, strict=True):
            leaves += flatten_up_to("custom_vjp: cotangents", child, c, nones=True)
        leaves = [leaves[i] for i in self.rest.places]
        pulled = nodes_like("custom_vjp", "cotangents", leaves, args, levels)
        return [None] * self.outs + pulled + [None] * len(operands[first:])


# How deep forward rules in forward rules are written down, where it is not known how many derivatives will
# take them: those of one that calls its own function would never end.
_DEPTH = 3


class custom_vjp(_Custom[P, R]):
    """A function with a rule for cotangents: how reverse mode passes it.

    Derivatives of the gradient, in either mode, differentiate what the two rules compute. Forward mode alone
    knows no rule, and raises TypeError.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them. Rules get its arguments by position, those with defaults too.
    nondiff_argnums : sequence of ints
        Arguments that are no arrays to differentiate by; the backward rule gets them first.
    nondiff_argnames : sequence of strs
        The same, by name.

    >>> from nabla_array.transforms import custom_vjp, grad
    >>> @custom_vjp
    ... def clipped(x):  # the identity, with gradients in [-1, 1]
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (xp.clip(ct, -1.0, 1.0),))
    >>> grad(lambda x: 10 * clipped(x))(3.0)
    np.float64(1.0)
    """

    _lacking = "no rules yet; give it some with defjvp"

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False) -> None:
        """Set ``fwd(*args) -> (output, residuals)``, ``bwd(*nondiff_args, residuals, ct) -> cotangents``.

        The cotangents are a tuple, one an argument; None, for an argument or a part of it, is zero. With
        `symbolic_zeros`, the leaves of `args` are `CustomVJPPrimal`, and those of `ct` that are zero are
        `SymbolicZero`.
        """
        self.rule, self.symbolic = (fwd, bwd), symbolic_zeros

    def _too_deep(self, *args: Any) -> Any:
        raise NotImplementedError(
            f"custom_vjp: in a compiled function, a loop or checkpoint, forward rules that call custom_vjp "
            f"functions {_DEPTH} deep have no derivative of order {_DEPTH + 1}; outside of these they have"
        )

    def _is_recorded(self) -> bool:
        return not all(t.rule for t in running_tapes())

    def _called(
        self, arrays: list[Array], rest: Rest, fixed: list[Any], of_arrays: Callable[..., Any]
    ) -> Any:
        nodes = [current(x) for x in arrays]
        mine = [t for t in derivatives() if any(t.moves(nodes))][-1:]  # the innermost takes the call
        forward, backward = self.rule
        fun: Callable[..., Any] = self.fun
        if not mine and sum(t.rule for t in running_tapes()) >= _DEPTH:
            forward, backward = (lambda *args: (fun(*args), None)), self._too_deep
        # What the rules compute is for those further out: the innermost derivative passes by the rules.
        with hidden(mine):
            inside = [fresh(x) for x in arrays]
            given: tuple[Any, ...] = inside, rest
            if self.symbolic and forward is self.rule[0]:
                moves = mine[0].moves(nodes) if mine else [x.dtype.kind in "fc" for x in arrays]
                still = [CustomVJPPrimal(x, False) if is_array_like(x) else x for x in rest.leaves]
                given = [*map(CustomVJPPrimal, inside, moves)], rest._replace(leaves=still)
            with taping([x._node for x in inside], derivative=False, everything=True, rule=True) as tape:
                pair = of_arrays(forward, *given)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"custom_vjp: the forward rule must return (output, residuals), not {pair!r}")
        outs, others = take(*tree_flatten(pair[0]), _is_inexact)
        saved, residuals = take(*tree_flatten(pair[1]), lambda x: type(x) is Array)
        if not outs:
            return pair[0]
        results = [array_leaf("custom_vjp", x) for x in outs]
        nodes, levels = aligned([*results, *arrays, *saved])
        computed = [n for n in map(current, results) if n in tape]
        captured = program_of(tape, computed)[1] + [n for n in map(current, results) if n not in tape]
        numbers = len(outs), len(arrays), levels, nodes[0].aval.ndim
        name = getattr(self.fun, "__name__", repr(self.fun))
        backward = functools.partial(backward, *fixed)
        rule = _VjpRule(*numbers, name, backward, rest, others, residuals, len(captured), self.symbolic)
        return others.filled(recorded(custom_vjp_call, [*nodes, *captured], levels, rule=rule))
