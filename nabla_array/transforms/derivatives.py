"""Derivatives of functions: forward, reverse, and of any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._lazy.graph.node import Node
from .._lazy.graph.tape import Tape, taping
from .._lazy.ops.creation import fill_like
from .._lazy.rules.autodiff import placeholder, pull, push, replay
from .._lazy.rules.levels import Levels, align, in_force, merge
from .._namespace.core.array import Array, current
from .._namespace.core.promotion import astype
from .calls import array_leaf, choose, decorator, fresh, named
from .concretization import boundaries
from .pytree import TreeDef, tree_flatten, tree_unflatten

__all__ = [
    "grad",
    "hvp",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
]


class _Out(NamedTuple):
    """An output of the function: an array of its own node, and whether it has a tangent."""

    node: Node
    levels: Levels

    @property
    def inexact(self) -> bool:
        return self.node.aval.dtype.kind in "fc"


class Run(NamedTuple):
    """One run of a function on fresh arrays, and what it recorded."""

    tape: Tape
    sources: list[Array]
    outs: list[_Out]
    out_tree: TreeDef
    aux: Any


def run(function: str, fun: Callable[..., Any], arrays: Sequence[Array], has_aux: bool, strict: bool) -> Run:
    """Run `fun`, which takes arrays, on fresh ones like `arrays`, with a tape."""
    sources = [fresh(x) for x in arrays]
    with taping([x._node for x in sources], strict=strict) as tape:
        # What the function is handed it may write to; these stay.
        result = fun(*[Array(x._node, x._levels) for x in sources])
        aux = None
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
            x = array_leaf(function, leaf)
            outs.append(_Out(current(x), x._levels))
    return Run(tape, sources, outs, tree, aux)


boundaries.add(run.__code__)


def _inexact(function: str, what: str, leaf: Any) -> Array:
    x = array_leaf(function, leaf)
    if x.dtype.kind not in "fc":
        raise TypeError(
            f"{function}: {what} is {x.dtype}, which has no derivative; a float would do: astype(xp.float64)"
        )
    return x


def _zeros(node: Node) -> Node:
    return fill_like(node, 0)


def _same_tree(function: str, what: str, tree: TreeDef, wanted: TreeDef) -> None:
    if tree != wanted:
        raise ValueError(f"{function}: the {what} have the structure {tree}, not {wanted}")


def _matched(function: str, what: str, leaf: Any, like: Node, levels: Levels) -> tuple[Node, Levels]:
    """Return a tangent or cotangent as a node along `levels` and newer ones, for a value like `like`."""
    x = array_leaf(function, leaf)
    shape = like.aval.shape[len(levels) :]
    if x.shape != shape:
        raise ValueError(f"{function}: {what} of shape {x.shape} for a value of shape {shape}")
    if type(leaf) is not Array:
        x = astype(x, like.aval.dtype)
    if x.dtype != like.aval.dtype:
        raise TypeError(f"{function}: {what} of {x.dtype} for a value of {like.aval.dtype}")
    wanted = merge([x._levels, levels])
    sizes = dict(zip(levels, like.aval.shape, strict=False))
    node = current(x)
    sizes |= dict(zip(x._levels, node.aval.shape, strict=False))
    return align(node, x._levels, wanted, sizes), wanted


# -- reverse -------------------------------------------------------------------------------------------


@decorator
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
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
        For an argument of integers or booleans, a value that is no real number, or with `strict`.
    ValueError
        For `argnums` that the call does not have.

    Warns
    -----
    ValueLeftWarning
        Where a value becomes a Python number (``float(x)``) that is computed with.

    References
    ----------
    https://docs.jax.dev/en/latest/_autosummary/jax.value_and_grad.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import value_and_grad
    >>> value_and_grad(lambda x: xp.sum(x**3))(xp.asarray([1.0, 2.0]))
    (np.float64(9.0), array([ 3., 12.]))
    """
    return named(fun, "Value and gradient")(
        _value_and_grad("value_and_grad", fun, argnums, has_aux, holomorphic, strict)
    )


def _value_and_grad(
    function: str, fun: Callable[..., Any], argnums: Any, has_aux: bool, holomorphic: bool, strict: bool
) -> Callable[..., Any]:
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = choose(function, fun, argnums, args, kwargs)
        leaves, tree = tree_flatten(chosen)
        arrays = [_inexact(function, f"argument {_told(argnums)}", leaf) for leaf in leaves]
        _check_kinds(function, arrays, holomorphic)
        made = run(function, lambda *xs: of_chosen(*tree_unflatten(tree, xs)), arrays, has_aux, strict)
        out = _scalar(function, made, holomorphic)
        found = pull(made.tape, [(out.node, fill_like(out.node, 1))])
        grads = [Array(found.get(id(x._node)) or _zeros(x._node), x._levels) for x in made.sources]
        gradient = tree_unflatten(tree, grads)
        value = Array(out.node, out.levels)
        many = isinstance(argnums, tuple | list)
        return (value, made.aux) if has_aux else value, tuple(gradient) if many else gradient[0]

    return value_and_gradient


def _told(argnums: Any) -> str:
    return ", ".join(map(repr, argnums)) if isinstance(argnums, tuple | list) else repr(argnums)


def _check_kinds(function: str, arrays: Sequence[Array], holomorphic: bool) -> None:
    if holomorphic:
        for x in arrays:
            if x.dtype.kind != "c":
                raise TypeError(f"{function}: holomorphic needs complex arguments, not {x.dtype}")


def _scalar(function: str, made: Run, holomorphic: bool) -> _Out:
    if len(made.outs) != 1 or made.out_tree.type is not None:
        raise TypeError(
            f"{function}: the function must return one number, not the structure {made.out_tree}; "
            "has_aux=True lets it return more"
        )
    (out,) = made.outs
    shape = out.node.aval.shape[len(out.levels) :]
    if shape:
        raise TypeError(
            f"{function}: the function must return one number, not an array of shape {shape}; "
            "sum it, or use jacrev"
        )
    kind = out.node.aval.dtype.kind
    if kind != ("c" if holomorphic else "f"):
        more = "; holomorphic=True is for complex ones" if kind == "c" else ""
        wanted = "complex" if holomorphic else "real"
        raise TypeError(f"{function}: the value must be a {wanted} number, not {out.node.aval.dtype}{more}")
    return out


@decorator
def grad(
    fun: Callable[..., Any],
    argnums: int | str | Sequence[int | str] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    strict: bool = False,
) -> Callable[..., Any]:
    """Return a function that gives the gradient of `fun`.

    Parameters
    ----------
    fun, argnums, has_aux, holomorphic, strict
        As for `value_and_grad`.

    Returns
    -------
    callable
        ``(*args, **kwargs) -> gradient``, or ``(gradient, aux)`` with `has_aux`.

    Raises
    ------
    TypeError, ValueError
        As `value_and_grad`.

    References
    ----------
    https://docs.jax.dev/en/latest/_autosummary/jax.grad.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import grad
    >>> grad(lambda x: xp.sum(x**3))(xp.asarray([1.0, 2.0]))
    array([ 3., 12.])
    >>> grad(grad(xp.sin))(1.0)
    np.float64(-0.8414709848078965)
    """
    both = _value_and_grad("grad", fun, argnums, has_aux, holomorphic, strict)

    @named(fun, "Gradient")
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, strict: bool = False) -> Any:
    """Return the value of `fun` at `primals`, and the function that pulls cotangents back.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them.
    *primals : pytrees of arrays
        Where; of real or complex numbers.
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
        For primals of integers, and cotangents of another dtype than the output.
    ValueError
        For a cotangent of another structure or shape than the output.

    References
    ----------
    https://docs.jax.dev/en/latest/_autosummary/jax.vjp.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import vjp
    >>> y, pullback = vjp(lambda x: x**2, xp.asarray([1.0, 2.0]))
    >>> pullback(xp.asarray([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    leaves, tree = tree_flatten(primals)
    arrays = [_inexact("vjp", "a primal", leaf) for leaf in leaves]
    made = run("vjp", lambda *xs: fun(*tree_unflatten(tree, xs)), arrays, has_aux, strict)
    output = tree_unflatten(made.out_tree, [Array(o.node, o.levels) for o in made.outs])
    pullback = Pullback(made, tree)
    return (output, pullback, made.aux) if has_aux else (output, pullback)


class Pullback:
    """Pulls a cotangent of a function's output back to its arguments (see `vjp`)."""

    def __init__(self, made: Run, tree: TreeDef) -> None:
        self._made = made
        self._tree = tree
        self._linear: tuple[Tape, list[Node], list[Node | None]] | None = None

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """Return a cotangent for each primal."""
        made = self._made
        leaves, tree = tree_flatten(cotangent)
        _same_tree("vjp", "cotangents", tree, made.out_tree)
        cts = [
            _matched("vjp", "a cotangent", leaf, o.node, o.levels) if o.inexact else None
            for leaf, o in zip(leaves, made.outs, strict=True)
        ]
        force = made.sources[0]._levels if made.sources else ()
        newer = {level for c in cts if c is not None for level in c[1] if level not in force}
        if not newer:
            pairs = [(o.node, c[0]) for o, c in zip(made.outs, cts, strict=True) if c is not None]
            found = pull(made.tape, pairs)
            grads = [Array(found.get(id(x._node)) or _zeros(x._node), x._levels) for x in made.sources]
        else:
            grads = self._batched(cts, force)
        return tuple(tree_unflatten(self._tree, grads))

    def _batched(self, cts: Sequence[tuple[Node, Levels] | None], force: Levels) -> list[Array]:
        """Pull a cotangent with levels that the primals do not have: it alone is batched."""
        made = self._made
        if self._linear is None:
            seeds = [placeholder(o.node) for o in made.outs]
            with taping(seeds, linear="replayed") as tape:
                found = pull(made.tape, [(o.node, s) for o, s in zip(made.outs, seeds, strict=True)])
            self._linear = tape, seeds, [found.get(id(x._node)) for x in made.sources]
        tape, seeds, results = self._linear
        like = [(x._node, x._levels) for x in made.sources]
        return _replayed(tape, seeds, cts, results, like, force)


def _replayed(
    tape: Tape,
    seeds: Sequence[Node],
    values: Sequence[tuple[Node, Levels] | None],
    results: Sequence[Node | None],
    like: Sequence[tuple[Node, Levels]],
    force: Levels,
) -> list[Array]:
    """Replay a linear tape on values that carry newer levels than `force`, which its nodes have."""
    known = {
        id(s): (v[0], tuple(i for i in v[1] if i not in force))
        for s, v in zip(seeds, values, strict=True)
        if v is not None
    }
    for s in seeds:
        known.setdefault(id(s), (s, ()))
    found = replay(tape, known)
    out = []
    for r, (x, own) in zip(results, like, strict=True):
        node, newer = (_zeros(x), ()) if r is None else found.get(id(r), (r, ()))
        out.append(Array(node, newer + own))
    return out


# -- forward -------------------------------------------------------------------------------------------


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
    has_aux : bool
        `fun` returns ``(output, aux)``.
    strict : bool
        Raise TypeError, naming the line, where `ValueLeftWarning` would warn.

    Returns
    -------
    (output, output_tangent) or (output, output_tangent, aux)

    Raises
    ------
    TypeError
        For primals of integers, and tangents of another dtype than their primals.
    ValueError
        For a tangent of another structure or shape than its primal.

    References
    ----------
    https://docs.jax.dev/en/latest/_autosummary/jax.jvp.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import jvp
    >>> jvp(xp.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    leaves, tree = tree_flatten(tuple(primals))
    directions, other = tree_flatten(tuple(tangents))
    _same_tree("jvp", "tangents", other, tree)
    arrays = [_inexact("jvp", "a primal", leaf) for leaf in leaves]
    made = run("jvp", lambda *xs: fun(*tree_unflatten(tree, xs)), arrays, has_aux, strict)
    known = {
        id(x._node): _matched("jvp", "a tangent", t, x._node, x._levels)[0]
        for x, t in zip(made.sources, directions, strict=True)
    }
    found = push(made.tape, known, [o.node for o in made.outs])
    output = tree_unflatten(made.out_tree, [Array(o.node, o.levels) for o in made.outs])
    out_tangents = [Array(found.get(id(o.node)) or _zeros(o.node), o.levels) for o in made.outs]
    tangent = tree_unflatten(made.out_tree, out_tangents)
    return (output, tangent, made.aux) if has_aux else (output, tangent)


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, strict: bool = False) -> Any:
    """Return the value of `fun`, and its derivative there as a linear function of tangents.

    Parameters
    ----------
    fun, *primals, has_aux, strict
        As for `vjp`.

    Returns
    -------
    (output, jvp_function) or (output, jvp_function, aux)
        ``jvp_function(*tangents)`` does not run `fun` again, and works under `vmap`.

    References
    ----------
    https://docs.jax.dev/en/latest/_autosummary/jax.linearize.html

    Examples
    --------
    >>> from nabla_array.transforms import linearize
    >>> y, along = linearize(lambda x: x**2, 3.0)
    >>> along(1.0), along(2.0)
    (np.float64(6.0), np.float64(12.0))
    """
    leaves, tree = tree_flatten(primals)
    arrays = [_inexact("linearize", "a primal", leaf) for leaf in leaves]
    made = run("linearize", lambda *xs: fun(*tree_unflatten(tree, xs)), arrays, has_aux, strict)
    seeds = [placeholder(x._node) for x in made.sources]
    with taping(seeds, linear="replayed") as tape:
        known = {id(x._node): s for x, s in zip(made.sources, seeds, strict=True)}
        found = push(made.tape, known, [o.node for o in made.outs])
    results = [found.get(id(o.node)) for o in made.outs]
    force = in_force()

    def along(*tangents: Any) -> Any:
        directions, other = tree_flatten(tangents)
        _same_tree("linearize", "tangents", other, tree)
        values = [
            _matched("linearize", "a tangent", t, x._node, x._levels)
            for x, t in zip(made.sources, directions, strict=True)
        ]
        like = [(o.node, o.levels) for o in made.outs]
        return tree_unflatten(made.out_tree, _replayed(tape, seeds, values, results, like, force))

    output = tree_unflatten(made.out_tree, [Array(o.node, o.levels) for o in made.outs])
    return (output, along, made.aux) if has_aux else (output, along)


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

    References
    ----------
    https://docs.jax.dev/en/latest/notebooks/autodiff_cookbook.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import hvp
    >>> hvp(lambda x: xp.sum(x**3), (xp.asarray([1.0, 2.0]),), (xp.asarray([1.0, 1.0]),))
    array([ 6., 12.])
    """
    argnums = tuple(range(len(primals))) if len(primals) > 1 else 0
    return jvp(grad(fun, argnums, strict=strict), primals, tangents, strict=strict)[1]
