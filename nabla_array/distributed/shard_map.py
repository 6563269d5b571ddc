"""`shard_map`: a function of whole arrays that runs on a mesh, arguments and results cut as it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._namespace.core.array import Array, check_device, default, placed
from ..inspect.explanation import Explanation, explain
from ..transforms.calls import array_leaf, is_array_like, named
from ..transforms.pytree import broadcast_prefix, tree_flatten, tree_unflatten
from .arrays import cut
from .errors import ShardingError
from .mesh import DeviceMesh
from .specs import ShardingSpec, as_spec


@dataclass(frozen=True, repr=False)
class Plan:
    """How a call of a `shard_map` would run; it prints as text.

    Attributes
    ----------
    in_specs, out_specs
        For each array among the arguments and the results how it is cut; None: as it comes.
    explanation
        The steps, as `nabla_array.explain` tells them; None where nothing is left to compute.
    """

    in_specs: tuple[ShardingSpec | None, ...]
    out_specs: tuple[ShardingSpec | None, ...]
    explanation: Explanation | None

    def __str__(self) -> str:
        lines = [f"argument {k}: {_told(spec)}" for k, spec in enumerate(self.in_specs)]
        lines += [f"result {k}: {_told(spec)}" for k, spec in enumerate(self.out_specs)]
        return "\n".join([*lines, str(self.explanation or "nothing is left to compute")])

    def __repr__(self) -> str:
        return str(self)


def _told(spec: ShardingSpec | None) -> str:
    return "as it comes" if spec is None else repr(spec.partition_spec)


def shard_map(
    fun: Any = None,
    mesh: DeviceMesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
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

    Returns
    -------
    callable
        Of the same arguments, with ``.plan(*args)``, which gives a `Plan`. What it returns is on the mesh,
        and computed when it is looked at, as any array is.

    Raises
    ------
    ShardingError
        If there is no mesh, or a spec does not fit.
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
        return lambda f: shard_map(f, on, in_specs, out_specs)
    if not callable(fun):
        raise TypeError(f"shard_map: needs a function, not {fun!r}")

    def called(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Called:
        return _call(fun, mesh, in_specs, out_specs, args, kwargs)

    @named(fun, "Sharded form")
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return called(args, kwargs).result

    def plan(*args: Any, **kwargs: Any) -> Plan:
        """Return how a call would run, without running it."""
        found = called(args, kwargs)
        return Plan(found.in_specs, found.out_specs, explain(found.result) if found.out_specs else None)

    mapped.plan = plan  # type: ignore[attr-defined]
    return mapped


class _Called(NamedTuple):
    """A call that is recorded."""

    in_specs: tuple[ShardingSpec | None, ...]
    out_specs: tuple[ShardingSpec | None, ...]
    result: Any


def _call(
    fun: Callable[..., Any],
    mesh: DeviceMesh | None,
    in_specs: Any,
    out_specs: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> _Called:
    if mesh is None:
        mesh = default.device
    if not isinstance(mesh, DeviceMesh):
        raise ShardingError(
            "shard_map: no mesh was given; shard_map(f, mesh), or a `with mesh:` block, would work"
        )
    check_device("shard_map", mesh)
    with mesh:
        used, (some, more) = _cut("in_specs", _of_arguments(in_specs, args, kwargs), (args, kwargs), mesh)
        result = fun(*some, **more)
        out, result = _cut("out_specs", _of_results(out_specs, result), result, mesh)
    return _Called(used, out, result)


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
        raise ValueError(f"shard_map: in_specs has {wrong[0]!r}, which is no argument of the call")
    return tuple([specs.get(k) for k in range(len(args))]), {k: specs.get(k) for k in kwargs}


def _of_results(specs: Any, result: Any) -> Any:
    """Return specs as a prefix of what a function returned."""
    if not isinstance(specs, Mapping) or isinstance(result, Mapping):
        return specs
    many = len(result) if isinstance(result, tuple | list) else 1
    wrong = [k for k in specs if not (type(k) is int and 0 <= k < many)]
    if wrong:
        raise ValueError(f"shard_map: out_specs has {wrong[0]!r}, but the function returned {many} results")
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
