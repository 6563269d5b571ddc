"""Derivatives of functions: forward, reverse, and of any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NamedTuple, Unpack, overload

from .._lazy.graph.node import Node
from .._lazy.graph.tape import Tape, taping
from .._lazy.ops.creation import fill_like
from .._lazy.ops.placement import in_use, reshard, sharding_of
from .._lazy.rules.autodiff import pull, push
from .._lazy.rules.levels import align, bind, merge
from .._namespace.core.array import Array, current
from .._namespace.core.promotion import astype
from .calls import array_leaf, choose, decorator, fresh, named
from .concretization import boundaries
from .derived import derived
from .linear import RuleLooksError, Value, found_for, pulling, pushing
from .pytree import TreeDef, tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from ._types import (
        A,
        Differentiation,
        Gradient,
        GradientAndMore,
        Leaf,
        Mapped,
        P,
        R,
        T,
        Ts,
        ValueAndGradient,
        X,
    )

__all__ = [
    "grad",
    "hvp",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
]


class Run(NamedTuple):
    """One run of a function on fresh arrays, and what it recorded: the arguments and results as arrays."""

    tape: Tape
    sources: list[Array]
    in_tree: TreeDef
    outs: list[Array]
    out_tree: TreeDef
    aux: Any

    def output(self) -> Any:
        """Return what the function returned."""
        return tree_unflatten(self.out_tree, [Array(x._node, x._levels) for x in self.outs])

    def tuple_of(self, *found: Any) -> tuple[Any, ...]:
        """Return results of a transform, and what the function returned beside its output, if anything."""
        return found if self.aux is _NO_AUX else (*found, self.aux)


_NO_AUX = object()


def run(
    function: str,
    what: str,
    fun: Callable[..., Any],
    primals: Sequence[Any],
    has_aux: bool,
    strict: bool,
    kinds: str = "fc",
) -> Run:
    """Run `fun` on fresh arrays like `primals`, which are called `what`, with a tape.

    `kinds` are those of the dtypes that there may be; the derivatives by integers are zero.
    """
    leaves, in_tree = tree_flatten(tuple(primals))
    given, sources, followed, handed = [], [], [], []
    for leaf in leaves:
        x = array_leaf(function, leaf)
        kind = x.dtype.kind
        if kind not in kinds:
            raise _unfit(function, what, x)
        source = fresh(x)
        given.append(x)
        sources.append(source)
        if kind in "fc":
            followed.append(source._node)
    with taping(followed, strict=strict) as tape:
        # What the function is handed it may write to; these stay.
        for x, source in zip(given, sources, strict=True):
            handed.append(_sharded(x, source) if in_use else Array(source._node, source._levels))
        result = fun(*tree_unflatten(in_tree, handed))
        aux = _NO_AUX
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"{function}: with has_aux the function must return a pair (output, aux), not {result!r}"
                )
            result, aux = result
        leaves, tree = tree_flatten(result)
        outs = []
        for leaf in leaves:
            if tape.numbers and type(leaf) is not Array:
                raise TypeError(
                    f"{function}: the function returned {leaf!r}, no array, and has made Python numbers "
                    "(float(x), x.item()) of values on which the derivative depends: return an array instead"
                )
            x = leaf if type(leaf) is Array else array_leaf(function, leaf)
            outs.append(Array(current(x), x._levels))
    return Run(tape, sources, in_tree, outs, tree, aux)


boundaries.add(run.__code__)


def _sharded(x: Array, source: Array) -> Array:
    """Return what the function gets for an argument; the cotangent of that is to be sharded as `x` is."""
    spec = sharding_of(current(x))
    if spec is None:
        return Array(source._node, source._levels)
    own = spec.within(len(x._levels))
    return Array(*bind(reshard, ((source._node, source._levels),), {"spec": own}))


def _unfit(function: str, what: str, x: Array) -> TypeError:
    """Return the error for an argument of a kind that this derivative does not take."""
    if x.dtype.kind == "f":
        return TypeError(f"{function}: holomorphic needs complex arguments, not {x.dtype}")
    if x.dtype.kind == "c":
        return TypeError(f"{function}: inputs must be real floating-point numbers, not {x.dtype}")
    return TypeError(
        f"{function}: {what} is {x.dtype}, which has no derivative; "
        "floating-point numbers would do: astype(xp.float64)"
    )


def _matched(function: str, what: str, tree: Any, wanted: TreeDef, like: Sequence[Array]) -> list[Value]:
    """Return tangents or cotangents as nodes along the levels of their values, and newer ones.

    Values without derivatives have none.
    """
    leaves, given = tree_flatten(tree)
    if given is not wanted and given != wanted:
        raise ValueError(f"{function}: the {what}s have the structure {given}, not {wanted}")
    for leaf, x in zip(leaves, like, strict=True) if what == "tangent" else ():
        if x.dtype.kind not in "fc" and array_leaf(function, leaf).dtype.kind in "fc":
            raise TypeError(
                f"{function}: a value of {x.dtype} has no derivative, but a tangent of "
                f"{array_leaf(function, leaf).dtype} was given: zeros of {x.dtype} would do"
            )
    pairs = zip(leaves, like, strict=True)
    return [matched_one(function, f"a {what}", leaf, x) for leaf, x in pairs if x.dtype.kind in "fc"]


def matched_one(function: str, what: str, leaf: Any, like: Array) -> Value:
    x = array_leaf(function, leaf)
    if x.shape != like.shape:
        raise ValueError(f"{function}: {what} of shape {x.shape} for a value of shape {like.shape}")
    if type(leaf) is not Array:
        x = astype(x, like.dtype)
    if x.dtype != like.dtype:
        raise TypeError(f"{function}: {what} of {x.dtype} for a value of {like.dtype}")
    node = current(x)
    if x._levels == like._levels:
        return node, x._levels
    wanted = merge([x._levels, like._levels])
    sizes = dict(zip(like._levels, like._node.aval.shape, strict=False))
    return align(node, x._levels, wanted, sizes), wanted


# -- reverse -------------------------------------------------------------------------------------------


@overload
def value_and_grad(
    fun: Callable[Concatenate[Any, P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    **options: Unpack[Differentiation],
) -> ValueAndGradient[P, Array]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[Any, P], tuple[Any, A]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    **options: Unpack[Differentiation],
) -> ValueAndGradient[P, tuple[Array, A]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    fun: Callable[Concatenate[X, T, P], Any],
    argnums: Literal[1],
    has_aux: Literal[False] = False,
    **options: Unpack[Differentiation],
) -> Callable[Concatenate[X, T, P], tuple[Array, T]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    fun: Callable[Concatenate[X, T, P], Any],
    argnums: tuple[Literal[0], Literal[1]],
    has_aux: Literal[False] = False,
    **options: Unpack[Differentiation],
) -> Callable[Concatenate[X, T, P], tuple[Array, tuple[X, T]]]: ...
@overload
def value_and_grad(
    fun: Callable[P, Any],
    argnums: int | str | Sequence[int | str],
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    strict: bool = False,
) -> Mapped[P, Any]: ...
@overload
def value_and_grad(
    *,
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    **options: Unpack[Differentiation],
) -> Callable[[Callable[P, Any]], Mapped[P, Any]]: ...
@decorator
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    strict: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the value of `fun` and its gradient.

    Parameters
    ----------
    fun : callable
        Of arrays, numbers and pytrees of these; its value is one real number (a 0-d array).
    argnums : int, str, or a sequence of them
        The arguments to differentiate by: positions, or names.
    has_aux : bool
        `fun` returns ``(value, aux)``, where `aux` is anything that comes out as it is.
    holomorphic : bool
        `fun` is a holomorphic function of complex numbers; so is the gradient then.
    allow_int : bool
        Arguments may be of integers and booleans too. Their gradients are zeros of their dtype.
    strict : bool
        Raise TypeError, naming the line, where `ValueLeftWarning` would warn.

    Returns
    -------
    callable
        ``(*args, **kwargs) -> (value, gradient)`` or ``((value, aux), gradient)``. The gradient has the
        structure of the argument; for several arguments it is a tuple.

    Raises
    ------
    TypeError
        For an argument of integers or booleans without `allow_int`, a value that is no real number, or with
        `strict`.
    ValueError
        For `argnums` that the call does not have.

    Warns
    -----
    ValueLeftWarning
        Where a value becomes a Python number (``float(x)``) that is computed with.

    >>> from nabla_array.transforms import value_and_grad
    >>> value_and_grad(lambda x: xp.sum(x**3))(xp.asarray([1.0, 2.0]))
    (np.float64(9.0), array([ 3., 12.]))
    """
    return named(fun, "Value and gradient")(
        _value_and_grad("value_and_grad", fun, argnums, has_aux, holomorphic, strict, allow_int)
    )


def _value_and_grad(
    function: str,
    fun: Callable[..., Any],
    argnums: Any,
    has_aux: bool,
    holomorphic: bool,
    strict: bool,
    integers: bool,
    with_value: bool = True,
) -> Callable[..., Any]:
    many = isinstance(argnums, tuple | list)
    what = f"argument {', '.join(map(repr, argnums)) if many else repr(argnums)}"
    kinds = ("c" if holomorphic else "fc") + ("biu" if integers else "")

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = choose(function, fun, argnums, args, kwargs)
        made = run(function, what, of_chosen, chosen, has_aux, strict, kinds)
        out = _scalar(function, made, holomorphic)

        def pulled() -> list[Node]:
            found = pull(made.tape, [(out._node, fill_like(out._node, 1))])
            return [x._node for x in (*outs, *found_for(found, made.sources))]

        outs = [out] if with_value else []
        like = [*outs, *made.sources]
        nodes = derived(
            "pull" if outs else "pull alone", made.tape, [x._node for x in made.sources], [out._node], pulled
        )
        found = [Array(n, x._levels) for n, x in zip(nodes, like, strict=True)]
        gradient = tree_unflatten(made.in_tree, found[len(outs) :])
        value = found[0] if outs else None
        return (value, made.aux) if has_aux else value, gradient if many else gradient[0]

    return value_and_gradient


def _scalar(function: str, made: Run, holomorphic: bool) -> Array:
    if len(made.outs) != 1 or made.out_tree.type is not None:
        raise TypeError(
            f"{function}: the function must return one number, not the structure {made.out_tree}; "
            "has_aux=True lets it return more"
        )
    (out,) = made.outs
    if out.shape:
        raise TypeError(
            f"{function}: the function must return one number, not an array of shape {out.shape}; "
            "sum it, or use jacrev"
        )
    if out.dtype.kind != ("c" if holomorphic else "f"):
        more = "; holomorphic=True is for complex ones" if out.dtype.kind == "c" else ""
        wanted = "complex" if holomorphic else "real"
        raise TypeError(f"{function}: the value must be a {wanted} number, not {out.dtype}{more}")
    return out


@overload
def grad(
    fun: Callable[Concatenate[Any, P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    **options: Unpack[Differentiation],
) -> Gradient[P]: ...
@overload
def grad(
    fun: Callable[Concatenate[Any, P], tuple[Any, A]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    **options: Unpack[Differentiation],
) -> GradientAndMore[P, A]: ...
@overload
def grad(  # type: ignore[overload-overlap]
    fun: Callable[Concatenate[X, T, P], Any],
    argnums: Literal[1],
    has_aux: Literal[False] = False,
    **options: Unpack[Differentiation],
) -> Callable[Concatenate[X, T, P], T]: ...
@overload
def grad(  # type: ignore[overload-overlap]
    fun: Callable[Concatenate[X, T, P], Any],
    argnums: tuple[Literal[0], Literal[1]],
    has_aux: Literal[False] = False,
    **options: Unpack[Differentiation],
) -> Callable[Concatenate[X, T, P], tuple[X, T]]: ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: int | str | Sequence[int | str],
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    strict: bool = False,
) -> Mapped[P, Any]: ...
@overload
def grad(
    *,
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    **options: Unpack[Differentiation],
) -> Callable[[Callable[P, Any]], Mapped[P, Any]]: ...
@decorator
def grad(
    fun: Callable[..., Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    strict: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the gradient of `fun`.

    Parameters
    ----------
    fun, argnums, has_aux, holomorphic, allow_int, strict
        As for `value_and_grad`.

    Returns
    -------
    callable
        ``(*args, **kwargs) -> gradient``, or ``(gradient, aux)`` with `has_aux`.

    Raises
    ------
    TypeError, ValueError
        As `value_and_grad`.

    >>> from nabla_array.transforms import grad
    >>> grad(lambda x: xp.sum(x**3))(xp.asarray([1.0, 2.0]))
    array([ 3., 12.])
    >>> grad(grad(xp.sin))(1.0)
    np.float64(-0.8414709848078965)
    """
    both = _value_and_grad("grad", fun, argnums, has_aux, holomorphic, strict, allow_int, with_value=False)

    @named(fun, "Gradient")
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


@overload
def vjp(
    fun: Callable[[Array], R], primal: Leaf, /, *, has_aux: Literal[False] = False, strict: bool = False
) -> tuple[R, Callable[[Any], tuple[Array]]]: ...
@overload
def vjp(
    fun: Callable[[*Ts], R], *primals: *Ts, has_aux: Literal[False] = False, strict: bool = False
) -> tuple[R, Callable[[Any], tuple[*Ts]]]: ...
@overload
def vjp(
    fun: Callable[[*Ts], tuple[R, A]], *primals: *Ts, has_aux: Literal[True], strict: bool = False
) -> tuple[R, Callable[[Any], tuple[*Ts]], A]: ...
def vjp(  # type: ignore[misc]  # mypy takes `*Any` for less than `*Ts`
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, strict: bool = False
) -> Any:
    """Return the value of `fun` at `primals`, and the function that pulls cotangents back.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them.
    *primals : pytrees of arrays
        Where. Cotangents for integers and booleans are zeros of their dtype.
    has_aux : bool
        `fun` returns ``(output, aux)``.
    strict : bool
        Raise TypeError, naming the line, where `ValueLeftWarning` would warn.

    Returns
    -------
    (output, pullback) or (output, pullback, aux)
        ``pullback(cotangent)`` takes what has the structure and shapes of the output and gives a tuple with
        a cotangent for each primal. It may be called often, and under `vmap`.

    Raises
    ------
    TypeError
        For cotangents of another dtype than the output.
    ValueError
        For a cotangent of another structure or shape than the output.

    >>> from nabla_array.transforms import vjp
    >>> y, pullback = vjp(lambda x: x**2, xp.asarray([1.0, 2.0]))
    >>> pullback(xp.asarray([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    made = run("vjp", "a primal", fun, primals, has_aux, strict, "fcbiu")
    return made.tuple_of(made.output(), Pullback(made))


class Pullback:
    """Pulls a cotangent of a function's output back to its arguments (see `vjp`)."""

    def __init__(self, made: Run) -> None:
        self._made = made
        self._linear = pulling("vjp", made)

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """Return a cotangent for each primal."""
        made = self._made
        cts = _matched("vjp", "cotangent", cotangent, made.out_tree, made.outs)
        return tuple(tree_unflatten(made.in_tree, self._linear(cts)))


# -- forward -------------------------------------------------------------------------------------------


@overload
def jvp(
    fun: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
    *,
    strict: bool = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, A]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
    *,
    strict: bool = False,
) -> tuple[R, R, A]: ...
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    *,
    strict: bool = False,
) -> Any:
    """Return the value of `fun`, and how it changes along a tangent.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them.
    primals, tangents : sequences of pytrees
        The arguments, and a tangent of the same structure, shapes and dtypes for each.
    has_aux, strict
        As for `vjp`.

    Returns
    -------
    (output, output_tangent) or (output, output_tangent, aux)

    Raises
    ------
    TypeError
        For primals of integers, and tangents of another dtype than their primals.
    ValueError
        For a tangent of another structure or shape than its primal.

    >>> from nabla_array.transforms import jvp
    >>> jvp(xp.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    made = run("jvp", "a primal", fun, primals, has_aux, strict)
    along = _matched("jvp", "tangent", tuple(tangents), made.in_tree, made.sources)
    given, outs = [node for node, _ in along], [o._node for o in made.outs]

    def pushed() -> list[Node]:
        known = {id(x._node): node for x, node in zip(made.sources, given, strict=True)}
        found = push(made.tape, known, outs)
        return [*outs, *[x._node for x in found_for(found, made.outs)]]

    nodes = derived("push", made.tape, [x._node for x in made.sources], [*outs, *given], pushed)
    levels = [o._levels for o in made.outs]
    values, changes = [
        [Array(*pair) for pair in zip(part, levels, strict=True)]
        for part in (nodes[: len(outs)], nodes[len(outs) :])
    ]
    return made.tuple_of(tree_unflatten(made.out_tree, values), tree_unflatten(made.out_tree, changes))


@overload
def linearize(
    fun: Callable[[Array], R], primal: Leaf, /, *, has_aux: Literal[False] = False, strict: bool = False
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[[*Ts], R], *primals: *Ts, has_aux: Literal[False] = False, strict: bool = False
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[[*Ts], tuple[R, A]], *primals: *Ts, has_aux: Literal[True], strict: bool = False
) -> tuple[R, Callable[..., R], A]: ...
def linearize(  # type: ignore[misc]  # mypy takes `*Any` for less than `*Ts`
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, strict: bool = False
) -> Any:
    """Return the value of `fun`, and its derivative there as a linear function of tangents.

    Parameters
    ----------
    fun, *primals, has_aux, strict
        As for `vjp`.

    Returns
    -------
    (output, jvp_function) or (output, jvp_function, aux)
        ``jvp_function(*tangents)`` does not run `fun` again, and works under `vmap`. A tangent for integers
        or booleans is of their dtype, and counts as zero.

    Raises
    ------
    TypeError, ValueError
        By `jvp_function`, as `jvp` for tangents.

    >>> from nabla_array.transforms import linearize
    >>> y, along = linearize(lambda x: x**2, 3.0)
    >>> along(1.0), along(2.0)
    (np.float64(6.0), np.float64(12.0))
    """
    made = run("linearize", "a primal", fun, primals, has_aux, strict, "fcbiu")
    linear = pushing("linearize", made)
    if any([e.prim.seen is not None for e in made.tape.entries]):  # rules of the user's run here, once
        with suppress(RuleLooksError):  # then they run for each tangent
            linear.record()

    def along(*tangents: Any) -> Any:
        values = _matched("linearize", "tangent", tangents, made.in_tree, made.sources)
        return tree_unflatten(made.out_tree, linear(values))

    return made.tuple_of(made.output(), along)


@overload
def hvp(
    fun: Callable[..., Any], primals: tuple[Leaf], tangents: Sequence[Any], *, strict: bool = False
) -> Array: ...
@overload
def hvp(
    fun: Callable[..., Any], primals: tuple[T], tangents: Sequence[Any], *, strict: bool = False
) -> T: ...
@overload
def hvp(
    fun: Callable[..., Any], primals: tuple[A, X, *Ts], tangents: Sequence[Any], *, strict: bool = False
) -> tuple[A, X, *Ts]: ...
def hvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, strict: bool = False
) -> Any:
    """Return the product of the Hessian of `fun` with a tangent, without making the Hessian.

    Parameters
    ----------
    fun : callable
        Of arrays; its value is one real number.
    primals, tangents : sequences of pytrees
        The arguments, and a tangent for each.
    strict : bool
        Raise TypeError, naming the line, where `ValueLeftWarning` would warn.

    Returns
    -------
    pytree
        Of the structure of the first argument, or a tuple of such where there are several.

    >>> from nabla_array.transforms import hvp
    >>> hvp(lambda x: xp.sum(x**3), (xp.asarray([1.0, 2.0]),), (xp.asarray([1.0, 1.0]),))
    array([ 6., 12.])
    """
    argnums = tuple(range(len(primals))) if len(primals) > 1 else 0
    return jvp(grad(fun, argnums, strict=strict), primals, tangents, strict=strict)[1]
