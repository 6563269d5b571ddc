"""What `checkpoint` keeps: functions ``(primitive, *operands, **params) -> bool``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Policy = Callable[..., bool]

__all__ = [
    "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
    "everything_saveable",
    "nothing_saveable",
    "save_any_names_but_these",
    "save_anything_except_these_names",
    "save_from_both_policies",
    "save_only_these_names",
]


def everything_saveable(prim: Any, *operands: Any, **params: Any) -> bool:
    """Keep everything, as without `checkpoint`.

    >>> import nabla_array as xp
    >>> from nabla_array.transforms import checkpoint, checkpoint_policies, grad
    >>> layer = checkpoint(lambda x: xp.sum(xp.eye(2) @ x), policy=checkpoint_policies.everything_saveable)
    >>> grad(layer)(xp.zeros(2))
    array([1., 1.])
    """
    return True


def nothing_saveable(prim: Any, *operands: Any, **params: Any) -> bool:
    """Keep nothing, as without a policy.

    >>> import nabla_array as xp
    >>> from nabla_array.transforms import checkpoint, checkpoint_policies, grad
    >>> layer = checkpoint(lambda x: xp.sum(xp.eye(2) @ x), policy=checkpoint_policies.nothing_saveable)
    >>> grad(layer)(xp.zeros(2))
    array([1., 1.])
    """
    return False


def dots_saveable(prim: Any, *operands: Any, **params: Any) -> bool:
    """Keep matrix products.

    >>> import nabla_array as xp
    >>> from nabla_array.transforms import checkpoint, checkpoint_policies, grad
    >>> layer = checkpoint(lambda x: xp.sum(xp.eye(2) @ x), policy=checkpoint_policies.dots_saveable)
    >>> grad(layer)(xp.zeros(2))
    array([1., 1.])
    """
    return bool(prim.name == "matmul")


def dots_with_no_batch_dims_saveable(prim: Any, *operands: Any, **params: Any) -> bool:
    """Keep products of matrices and vectors, but not of stacks of them.

    >>> import nabla_array as xp
    >>> from nabla_array.transforms import checkpoint, checkpoint_policies, grad
    >>> policy = checkpoint_policies.dots_with_no_batch_dims_saveable
    >>> layer = checkpoint(lambda x: xp.sum(xp.eye(2) @ x), policy=policy)
    >>> grad(layer)(xp.zeros(2))
    array([1., 1.])
    """
    return dots_saveable(prim) and all(x.ndim <= 2 for x in operands)


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def _name(prim: Any, params: Any) -> Any:
    return params["name"] if prim.name == "checkpoint_name" else None


def save_only_these_names(*names: str) -> Policy:
    """Keep what `checkpoint_name` gave one of these names.

    >>> import nabla_array as xp
    >>> from nabla_array.transforms import checkpoint, checkpoint_name, checkpoint_policies, grad
    >>> policy = checkpoint_policies.save_only_these_names("wave")
    >>> f = checkpoint(lambda x: xp.sum(checkpoint_name(xp.sin(x), "wave")), policy=policy)
    >>> grad(f)(xp.zeros(2))
    array([1., 1.])
    """
    return lambda prim, *operands, **params: _name(prim, params) in names


def save_any_names_but_these(*names: str) -> Policy:
    """Keep what `checkpoint_name` gave another name.

    >>> import nabla_array as xp
    >>> from nabla_array.transforms import checkpoint, checkpoint_name, checkpoint_policies, grad
    >>> policy = checkpoint_policies.save_any_names_but_these("wave")
    >>> f = checkpoint(lambda x: xp.sum(checkpoint_name(xp.sin(x), "wave")), policy=policy)
    >>> grad(f)(xp.zeros(2))
    array([1., 1.])
    """
    return lambda prim, *operands, **params: _name(prim, params) not in (None, *names)


def save_anything_except_these_names(*names: str) -> Policy:
    """Keep everything that `checkpoint_name` gave none of these names.

    >>> import nabla_array as xp
    >>> from nabla_array.transforms import checkpoint, checkpoint_name, checkpoint_policies, grad
    >>> policy = checkpoint_policies.save_anything_except_these_names("wave")
    >>> f = checkpoint(lambda x: xp.sum(checkpoint_name(xp.sin(x), "wave")), policy=policy)
    >>> grad(f)(xp.zeros(2))
    array([1., 1.])
    """
    return lambda prim, *operands, **params: _name(prim, params) not in names


def save_from_both_policies(first: Policy, second: Policy) -> Policy:
    """Keep what one of two policies keeps.

    >>> import nabla_array as xp
    >>> from nabla_array.transforms import checkpoint, checkpoint_policies, grad
    >>> named = checkpoint_policies.save_only_these_names("wave")
    >>> policy = checkpoint_policies.save_from_both_policies(checkpoint_policies.dots_saveable, named)
    >>> grad(checkpoint(lambda x: xp.sum(xp.eye(2) @ x), policy=policy))(xp.zeros(2))
    array([1., 1.])
    """
    return lambda prim, *operands, **params: (
        first(prim, *operands, **params) or second(prim, *operands, **params)
    )
