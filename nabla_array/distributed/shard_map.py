"""`shard_map`: a function of whole arrays that runs on a mesh, arguments and results cut as it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .._lazy.graph.program import run
from .._lazy.ops.placement import sharding_of
from .._lazy.rules.levels import align_to_force, bind, in_force
from .._namespace.core.array import Array, check_device, current, default, placed
from ..inspect.explanation import Explanation, explain
from ..transforms.calls import array_leaf, is_array_like, named
from ..transforms.fastcall import put_back
from ..transforms.pytree import broadcast_prefix, take, tree_flatten, tree_leaves, tree_unflatten
from ..transforms.tracing import trace
from .arrays import cut, cut_node
from .auto_sharding import Choice, choose
from .costs import Machine
from .errors import ShardingError
from .mesh import DeviceMesh
from .specs import ShardingSpec, as_spec

if TYPE_CHECKING:
    from ._types import P, R, Sharded


@dataclass(frozen=True, repr=False)
class Plan:
    """How a call of a `shard_map` would run; it prints as text.

    Attributes
    ----------
    in_specs, out_specs
        For each array among the arguments and the results how it is cut; None: as it comes.
    explanation
        The steps, as `nabla_array.explain` tells them; None where nothing is left to compute.
    choice
        With `auto_sharding`: what was tried, and chosen.
    """

    in_specs: tuple[ShardingSpec | None, ...]
    out_specs: tuple[ShardingSpec | None, ...]
    explanation: Explanation | None
    choice: Choice | None = None

    def __str__(self) -> str:
        lines = [f"argument {k}: {_told(spec)}" for k, spec in enumerate(self.in_specs)]
        lines += [f"result {k}: {_told(spec)}" for k, spec in enumerate(self.out_specs)]
        lines += [self.choice.report()] if self.choice is not None else []
        return "\n".join([*lines, str(self.explanation or "nothing is left to compute")])

    def __repr__(self) -> str:
        return str(self)


def _told(spec: ShardingSpec | None) -> str:
    return "as it comes" if spec is None else repr(spec.partition_spec)


@overload
def shard_map(
    fun: Callable[P, R],
    mesh: DeviceMesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    auto_sharding: bool = False,
    memory_limit: float | None = None,
    machine: Machine | None = None,
) -> Sharded[P, R]: ...
@overload
def shard_map(
    fun: DeviceMesh | None = None,
    mesh: Any = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    auto_sharding: bool = False,
    memory_limit: float | None = None,
    machine: Machine | None = None,
) -> Callable[[Callable[P, R]], Sharded[P, R]]: ...
def shard_map(
    fun: Any = None,
    mesh: DeviceMesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    auto_sharding: bool = False,
    memory_limit: float | None = None,
    machine: Machine | None = None,
) -> Any:
    """Return a function that does what `fun` does on a mesh, with arguments and results cut as specs say.

    `fun` sees whole arrays, and is written as for one device: which device computes what, and what moves in
    between, follows from the specs. To see it before it runs, print ``.plan(*args)``.

    Parameters
    ----------
    fun : callable
        Of arrays and pytrees of them. Without it, or with the mesh in its place, `shard_map` is a decorator.
    mesh : DeviceMesh, optional
        The devices; without it those of the ``with mesh:`` block.
    in_specs : spec, pytree of specs, or dict, optional
        How arguments are cut: `P`, `ShardingSpec`, or None for one that stays as it is. One spec is for all
        arguments, a tuple has one for each; a pytree is a prefix of the arguments' structure. A dict has
        them by position, or by the name of a keyword argument.
    out_specs : spec, pytree of specs, or dict, optional
        The same of the results; a dict has them by position in the tuple that `fun` returns.

    auto_sharding : bool
        Choose how arguments are cut for which no spec is given, and what moves inside: what takes the least
        time by the model of `simulate`. The plan tells what was tried and chosen.
    memory_limit : float, optional
        With `auto_sharding`: bytes that a device may hold.
    machine : Machine, optional
        With `auto_sharding`: what a device can do, and its link to the others.

    Returns
    -------
    callable
        Of the same arguments, with ``.plan(*args)``, which gives a `Plan`. What it returns is on the mesh,
        and computed when it is looked at, as any array is.

    Raises
    ------
    ShardingError
        If there is no mesh, a spec does not fit, or nothing fits into `memory_limit`.
    ValueError
        If specs are no prefix of the structure that they are for.

    Notes
    -----
    JAX's function of this name hands each device's own part to `fun`; that is what `pmap` and
    ``vmap(spmd_axis_name=...)`` are for here.

    References
    ----------
    https://docs.jax.dev/en/latest/_autosummary/jax.shard_map.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh, P, shard_map
    >>> mesh = DeviceMesh((2, 2), ("dp", "tp"))
    >>> @shard_map(mesh, in_specs=(P("dp"), P(None, "tp")), out_specs=P("dp", "tp"))
    ... def layer(x, w):
    ...     return xp.maximum(x @ w, 0)
    >>> y = layer(xp.ones((4, 3)), xp.ones((3, 6)))
    >>> y.sharding.partition_spec
    P('dp', 'tp')
    >>> float(y[0, 0])
    3.0
    """
    if fun is None or isinstance(fun, DeviceMesh):
        on = mesh if fun is None else fun
        more: dict[str, Any] = {"auto_sharding": auto_sharding, "memory_limit": memory_limit}
        return lambda f: shard_map(f, on, in_specs, out_specs, machine=machine, **more)
    if not callable(fun):
        raise TypeError(f"shard_map: needs a function, not {fun!r}")
    if not auto_sharding and (memory_limit is not None or machine is not None):
        raise ValueError("shard_map: memory_limit and machine are for auto_sharding=True")

    def called(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Called:
        on = default.device if mesh is None else mesh
        if not isinstance(on, DeviceMesh):
            given_as = "no mesh was given" if mesh is None else f"{mesh!r} is no mesh"
            raise ShardingError(
                f"shard_map: {given_as}; shard_map(f, mesh), or a `with mesh:` block, would work"
            )
        check_device("shard_map", on)
        given = (args, kwargs)
        specs = _of_arguments(in_specs, args, kwargs)
        with on:
            if auto_sharding:
                return _choose(fun, on, specs, out_specs, given, machine or Machine(), memory_limit)
            return _call(fun, on, specs, out_specs, given)

    @named(fun, "Sharded form")
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return called(args, kwargs).result

    def plan(*args: Any, **kwargs: Any) -> Plan:
        """Return how a call would run, without running it."""
        found = called(args, kwargs)
        told = explain(tree_leaves(found.result)) if found.out_specs else None
        return Plan(found.in_specs, found.out_specs, told, found.choice)

    mapped.plan = plan  # type: ignore[attr-defined]
    return mapped


class _Called(NamedTuple):
    """A call that is recorded."""

    in_specs: tuple[ShardingSpec | None, ...]
    out_specs: tuple[ShardingSpec | None, ...]
    result: Any
    choice: Choice | None = None


def _call(fun: Callable[..., Any], mesh: DeviceMesh, specs: Any, out_specs: Any, given: Any) -> _Called:
    """Call a function on arguments that are cut as specs say."""
    used, (args, kwargs) = _cut("in_specs", specs, given, mesh)
    result = fun(*args, **kwargs)
    out, result = _cut("out_specs", _of_results(out_specs, result), result, mesh)
    return _Called(used, out, result)


def _choose(
    fun: Callable[..., Any],
    mesh: DeviceMesh,
    specs: Any,
    out_specs: Any,
    given: Any,
    machine: Machine,
    memory_limit: float | None,
) -> _Called:
    """Write a function's program down, and record it again with the layouts that are chosen for it."""
    leaves, tree = tree_flatten(given)
    taken, rest = take(leaves, tree, is_array_like)
    arrays = [array_leaf("shard_map", x) for x in taken]

    def body(*some: Array) -> Any:
        args, kwargs = rest.filled(some)
        return fun(*args, **kwargs)

    made = trace(body, arrays)
    prefix = broadcast_prefix("shard_map: in_specs", specs, tree)
    known = [_known(mesh, prefix[i], len(in_force())) for i in rest.places]
    known += [sharding_of(node) for node in made.captured]
    out = _of_results(out_specs, tree_unflatten(made.tree, made.leaves))
    prefix = broadcast_prefix("shard_map: out_specs", out, made.tree)
    found = dict(zip(made.numbers, [_known(mesh, s, len(in_force())) for s in prefix], strict=True))
    wanted = [found.get(i) for i in made.program.outputs]
    choice = choose(made.program, mesh, known, wanted, machine, memory_limit)
    nodes = [align_to_force(current(x), x._levels)[0] for x in arrays] + made.captured
    values = [(cut_node(n, s), ()) for n, s in zip(nodes, choice.chosen.inputs, strict=True)]
    values = run(choice.program, values, bind)
    results = dict(zip(made.program.outputs, [node for node, _ in values], strict=True))
    for i, (new, number) in made.written.items():
        put_back(taken[i], new if number is None else Array(results[number], new._levels))
    outs = [
        x if number is None else Array(results[number], x._levels)
        for x, number in zip(made.leaves, made.numbers, strict=True)
    ]
    result = tree_unflatten(made.tree, outs)
    used, result = _cut("out_specs", _of_results(out_specs, result), result, mesh)
    return _Called(choice.chosen.inputs[: len(arrays)], used, result, choice)


def _known(mesh: DeviceMesh, spec: Any, levels: int) -> ShardingSpec | None:
    """Return what a user has given as a spec, of an array with batch levels."""
    if spec is None:
        return None
    found = as_spec(mesh, spec, "shard_map")
    for _ in range(levels):
        found = found.batched()
    return found


def _of_arguments(specs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return specs as a prefix of ``(args, kwargs)``."""
    if not isinstance(specs, Mapping):
        if isinstance(specs, list):
            specs = tuple(specs)
        if type(specs) is tuple and len(specs) != len(args):
            raise ValueError(
                f"shard_map: in_specs has {len(specs)} entries for {len(args)} positional arguments; one for "
                "each, or a dict of some, would work"
            )
        return specs, dict.fromkeys(kwargs)
    wrong = [k for k in specs if not (k in kwargs or (type(k) is int and 0 <= k < len(args)))]
    if wrong:
        raise ValueError(
            f"shard_map: in_specs has {wrong[0]!r}, which is no argument of the call; positions below "
            f"{len(args)}, or names of keyword arguments that are given, would work"
        )
    return tuple([specs.get(k) for k in range(len(args))]), {k: specs.get(k) for k in kwargs}


def _of_results(specs: Any, result: Any) -> Any:
    """Return specs as a prefix of what a function returned."""
    if not isinstance(specs, Mapping) or isinstance(result, Mapping):
        return specs
    many = len(result) if isinstance(result, tuple | list) else 1
    wrong = [k for k in specs if not (type(k) is int and 0 <= k < many)]
    if wrong:
        raise ValueError(
            f"shard_map: out_specs has {wrong[0]!r}, but the function returned {many} results; "
            f"positions below {many} would work"
        )
    found = tuple([specs.get(k) for k in range(many)])
    return found if isinstance(result, tuple | list) else found[0]


def _cut(option: str, specs: Any, tree: Any, mesh: DeviceMesh) -> tuple[tuple[Any, ...], Any]:
    """Cut the arrays of a pytree as a prefix of specs says; returns the spec of each, and the pytree."""
    leaves, treedef = tree_flatten(tree)
    used: list[ShardingSpec | None] = []
    out = []
    for leaf, spec in zip(leaves, broadcast_prefix(f"shard_map: {option}", specs, treedef), strict=True):
        if spec is not None and is_array_like(leaf):
            leaf = cut(f"shard_map: {option}", leaf, mesh, spec)
            used.append(as_spec(mesh, spec, "shard_map"))
        elif isinstance(leaf, Array | np.ndarray):
            leaf = placed(array_leaf("shard_map", leaf), mesh)
            used.append(None)
        out.append(leaf)
    return tuple(used), tree_unflatten(treedef, out)
