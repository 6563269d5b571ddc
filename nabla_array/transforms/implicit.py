"""Results that are defined by an equation: derivatives of solutions, whoever finds these and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from .._lazy.graph.node import Node
from .._lazy.graph.primitive import Primitive
from .._namespace.chapters.elementwise import negative, subtract
from .._namespace.core.array import Array, current
from .bodies import arrays_of
from .calls import array_leaf
from .closures import converted, linear_transpose
from .custom import Rule, SymbolicZero, aligned, custom_jvp, nodes_like, or_zeros, recorded, ruled
from .derivatives import linearize
from .pytree import TreeDef, tree_flatten, tree_map, tree_unflatten
from .watching import running_tapes

if TYPE_CHECKING:
    from ._types import Leaf, T

__all__ = ["custom_linear_solve", "custom_root"]

Solver = Callable[[Callable[..., Any], Any], Any]


def _without_derivative(aux: Any) -> Any:
    return tree_map(lambda x: SymbolicZero((), float), aux)


@overload
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Leaf,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: Literal[False] = False,
) -> Array: ...
@overload
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: T,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: Literal[False] = False,
) -> T: ...
@overload
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: T,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: Literal[True],
) -> tuple[T, Any]: ...
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: bool = False,
) -> Any:
    """Return where `f` is zero; derivatives are those of the zero, not of how it was found.

    Parameters
    ----------
    f : callable
        Of arrays and pytrees of them; its value has the same structure, shapes and dtypes. Derivatives by the
        arrays that it captures are taken by the implicit function theorem.
    initial_guess : pytree of arrays
        No derivative is taken by it.
    solve : callable
        ``solve(f, initial_guess)`` gives the zero. It may look at values, and call anything.
    tangent_solve : callable
        ``tangent_solve(g, y)`` gives x for which ``g(x)`` is y, where g is linear, in ways that derivatives
        pass; `custom_linear_solve` in it is one. For a function of one number ``y / g(1.0)``.
    has_aux : bool
        `solve` returns ``(zero, aux)``, where `aux` has no derivative.

    Returns
    -------
    pytree of arrays, or (pytree of arrays, aux)

    Raises
    ------
    TypeError
        If `f` captures what is differentiated, and looks at a value of its argument.

    >>> from nabla_array.transforms import custom_root, grad
    >>> def square_root(a):
    ...     def newton(f, x):
    ...         while abs(f(x)) > 1e-15:
    ...             x = x - f(x) / (2 * x)
    ...         return x
    ...     return custom_root(lambda x: x**2 - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> square_root(4.0), grad(square_root)(4.0)
    (np.float64(2.0), np.float64(0.25))
    """
    initial_guess = tree_map(partial(array_leaf, "custom_root"), initial_guess)
    g, captured = _converted("custom_root", f, (initial_guess,))
    solver, more = _solver("custom_root", f, g, solve, initial_guess)

    @custom_jvp
    def root(guess: Any, more: Any, *consts: Any) -> Any:
        return solver(guess, consts, more)

    def rule(primals: Any, tangents: Any) -> Any:
        (guess, more, *consts), (_, _, *along) = primals, tangents
        found = root(guess, more, *consts)
        x = found[0] if has_aux else found
        _, by_consts = linearize(lambda *cs: g(x, *cs), *consts)
        _, linear = linearize(lambda x: g(x, *consts), x)
        tangent = tree_map(negative, tangent_solve(linear, by_consts(*along)))
        return found, (tangent, _without_derivative(found[1])) if has_aux else tangent

    root.defjvp(rule)
    return root(initial_guess, more, *captured)


def _converted(function: str, f: Callable[..., Any], args: Any) -> tuple[Callable[..., Any], list[Any]]:
    found = converted(function, f, args)
    assert found is not None
    return found


def _solver(
    function: str, f: Callable[..., Any], g: Callable[..., Any], solve: Solver, arg: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """Return ``solver(arg, captured by f, captured by it)``, and the last, which has no derivative.

    One that looks at values is called as it is, with `g`, which is `f` converted.
    """
    found = converted(function, lambda x: solve(f, x), (arg,), may_look=True)
    if found is None or not found[1]:
        return lambda x, consts, more: solve(lambda y: g(y, *consts), x), []
    own, captured = found
    return lambda x, consts, more: own(x, *more), captured


@overload
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Leaf,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: Literal[False] = False,
) -> Array: ...
@overload
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: T,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: Literal[False] = False,
) -> T: ...
@overload
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: T,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    *,
    has_aux: Literal[True],
) -> tuple[T, Any]: ...
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return x for which ``matvec(x)`` is `b`; its derivatives solve such systems too.

    Parameters
    ----------
    matvec : callable
        A linear function of what has `b`'s structure, shapes and dtypes, to such. Derivatives are taken by
        the arrays that it captures.
    b : pytree of arrays
    solve : callable
        ``solve(matvec, b)`` gives x. It may look at values, and call anything; then `jacfwd` and `jacrev`
        call it for one unit vector after the other, and what `linearize` and `vjp` give refuses `vmap`. Loops
        by `while_loop` and `scan` do not look.
    transpose_solve : callable, optional
        ``transpose_solve(vecmat, b)`` does so for the transpose, which reverse mode needs. Without it,
        reverse mode goes through what `solve` computes.
    symmetric : bool
        `matvec` is its own transpose, and `solve` serves for both.
    has_aux : bool
        `solve` returns ``(x, aux)``, where `aux` has no derivative; so does `transpose_solve`.

    Returns
    -------
    pytree of arrays, or (pytree of arrays, aux)

    Raises
    ------
    TypeError
        If `matvec` is not linear, which reverse mode sees, or looks at a value.

    >>> from nabla_array.transforms import custom_linear_solve, grad
    >>> def solved(scale, b):
    ...     A = scale * xp.asarray([[2.0, 1.0], [1.0, 3.0]])
    ...     def solve(matvec, b):
    ...         return xp.linalg.solve(A, b)
    ...     return custom_linear_solve(lambda x: A @ x, b, solve, symmetric=True)
    >>> b = xp.asarray([5.0, 5.0])
    >>> solved(1.0, b)
    array([2., 1.])
    >>> grad(lambda scale: solved(scale, b).sum())(1.0)
    np.float64(-3.0)
    """
    if symmetric and transpose_solve is None:
        transpose_solve = solve
    name = "custom_linear_solve"
    b = tree_map(partial(array_leaf, name), b)
    mv, captured = _converted(name, matvec, (b,))
    solver, more = _solver(name, matvec, mv, solve, b)
    if transpose_solve is None:
        return _System(mv, None, solver, None, has_aux)(b, captured, more, [])
    vecmat = matvec if symmetric else _transpose_of(matvec)
    vm = mv if symmetric else _transpose_of(mv)
    back, further = _solver(name, vecmat, vm, transpose_solve, b)
    system = _System(mv, vm, solver, back, has_aux)
    # Where it is called within a rule that is being transposed, that goes by the system's own rule.
    return (system if has_aux else system._linear)(b, captured, more, further)


def _transpose_of(matvec: Callable[..., Any]) -> Callable[..., Any]:
    return lambda y, *consts: linear_transpose(lambda x: matvec(x, *consts), y)(y)[0]


_Consts = Sequence[Any]


@dataclass(eq=False)
class _System:
    """A linear system and its transpose: functions of x and of what they capture, and how to solve them."""

    matvec: Callable[..., Any]
    vecmat: Callable[..., Any] | None
    solver: Callable[..., Any]
    back: Callable[..., Any] | None
    has_aux: bool

    def __call__(self, b: Any, consts: _Consts, more: _Consts, further: _Consts) -> Any:
        """Solve it: `consts` are the matrix's, `more` the solver's, `further` the other solver's."""

        @custom_jvp
        def solved(b: Any, more: Any, further: Any, *consts: Any) -> Any:
            return self.solver(b, consts, more)

        def rule(primals: Any, tangents: Any) -> Any:
            (b, more, further, *consts), (t, _, _, *along) = primals, tangents
            found = solved(b, more, further, *consts)
            x = found[0] if self.has_aux else found
            if consts:
                _, by_consts = linearize(lambda *cs: self.matvec(x, *cs), *consts)
                t = tree_map(subtract, t, by_consts(*along))
            tangent = self._linear(t, consts, more, further)
            return found, (tangent, _without_derivative(found[1])) if self.has_aux else tangent

        solved.defjvp(rule)
        return solved(b, more, further, *consts)

    def _linear(self, b: Any, *captured: _Consts) -> Any:
        """Solve for a tangent; where that is transposed, by the rule for it."""
        _, arrays, tree = arrays_of("custom_linear_solve", b)
        nodes = [current(x) for x in arrays]
        transposed = any(t.linear == "transposed" and any(t.moves(nodes)) for t in running_tapes())
        if self.back is None or not transposed:
            found = self(b, *captured)
            return found[0] if self.has_aux else found
        # The value is not asked for: the right-hand side, which looks like it, stands in its place.
        operands, levels = aligned([*arrays, *arrays, *[x for some in captured for x in some]])
        numbers = len(arrays), len(arrays), levels, operands[0].aval.ndim
        rule = _TransposeRule(*numbers, self, tree, tree_flatten(captured)[1])
        return tree_unflatten(tree, recorded(linear_solve, operands, levels, rule=rule))

    def transposed(self, ct: Any, consts: _Consts, more: _Consts, further: _Consts) -> Any:
        """Solve the transposed system."""
        assert self.vecmat is not None
        assert self.back is not None
        other = _System(self.vecmat, self.matvec, self.back, self.solver, self.has_aux)
        found = other(ct, consts, further, more)
        return found[0] if self.has_aux else found


@dataclass(eq=False)
class _TransposeRule(Rule):
    system: _System
    tree: TreeDef
    captured: TreeDef

    def pull(self, ct: Sequence[Node | None], operands: Sequence[Node]) -> list[Any]:
        levels = self.levels_of(operands)
        outs, rest = operands[: self.outs], operands[self.outs + self.args :]
        cts = or_zeros(ct, outs, levels, False)

        def rule(*xs: Array) -> Any:
            captured = tree_unflatten(self.captured, xs[self.outs :])
            return self.system.transposed(tree_unflatten(self.tree, xs[: self.outs]), *captured)

        leaves = tree_flatten(ruled(levels, rule, [*cts, *[Array(n, levels) for n in rest]]))[0]
        cts_b = nodes_like("custom_linear_solve", "cotangents", leaves, outs, levels)
        return [None] * self.outs + cts_b + [None] * len(rest)


linear_solve = Primitive(
    "linear_solve",
    lambda *operands, rule: operands[: rule.outs],
    lambda *operands, rule: operands[: rule.outs],
    kind="view",
    transpose=lambda ct, wanted, *operands, rule: rule.pull(ct, operands),
)
