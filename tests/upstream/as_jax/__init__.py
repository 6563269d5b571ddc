"""What `jax` means in JAX's own test files: this library, under JAX's names.

Only names are here, no other behaviour: what has no counterpart is `Missing`. JAX itself is installed beside,
and gives the test files their helpers, which compare with NumPy and with finite differences.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array import special
from nabla_array import transforms as t

from . import lax
from .missing import Names

# Modules of JAX's that tests use to compare, to make up inputs, and to ask about dtypes.
_THEIRS = {
    "jax._src.test_util",
    "jax._src.config",
    "jax._src.dtypes",
    "jax.dtypes",
    "jax._src.util",
    "jax._src.lax.control_flow",
    "jax._src.internal_test_util.lax_test_util",
}


# What is public in our transforms, without the modules that define it.
_OURS = SimpleNamespace(
    **{k: v for k, v in vars(t).items() if not isinstance(v, ModuleType) or k in ("debug", "tree")},
    checkpoint_policies=t.checkpoint_policies,
)


def jit(fun: Any = None, **options: Any) -> Any:
    if fun is None:
        return partial(jit, **options)
    for name in ("inline", "keep_unused", "device", "backend", "abstracted_axes", "compiler_options"):
        options.pop(name, None)
    return t.compile(fun, **options)


def checkpoint(fun: Any = None, **options: Any) -> Any:
    options.pop("concrete", None)
    return partial(checkpoint, **options) if fun is None else t.checkpoint(fun, **options)


def custom_jvp(fun: Any = None, **options: Any) -> Any:
    return partial(custom_jvp, **options) if fun is None else t.custom_jvp(fun, **options)


def register_pytree_node_class(cls: Any) -> Any:
    t.register_pytree_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_node(cls: Any, flatten: Any, unflatten: Any) -> None:
    """Register with both: JAX's helpers walk through results too."""
    from jax import tree_util

    tree_util.register_pytree_node(cls, flatten, unflatten)
    t.register_pytree_node(cls, flatten, lambda aux, children: unflatten(aux, children))


def device_put(x: Any, *where: Any, **options: Any) -> Any:
    return t.tree.map(xp.asarray, x)


def device_get(x: Any) -> Any:
    return t.tree.map(np.asarray, x)


class _At:
    """``x.at[i]``, which says what a copy with a part written is."""

    def __init__(self, x: Any, index: Any = ()) -> None:
        self._x, self._index = x, index

    def __getitem__(self, index: Any) -> Any:
        return _At(self._x, index)

    def set(self, value: Any, **options: Any) -> Any:
        out = self._x.copy()
        out[self._index] = value
        return out

    def get(self, **options: Any) -> Any:
        return self._x[self._index]

    def _write(self, function: Any, value: Any) -> Any:
        out = self._x.copy()
        function.at(out, self._index, value)
        return out

    def add(self, value: Any, **options: Any) -> Any:
        return self._write(xp.add, value)

    def multiply(self, value: Any, **options: Any) -> Any:
        return self._write(xp.multiply, value)

    mul = multiply

    def max(self, value: Any, **options: Any) -> Any:
        return self._write(xp.maximum, value)

    def min(self, value: Any, **options: Any) -> Any:
        return self._write(xp.minimum, value)


def _random(name: str) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        import jax

        return t.tree.map(xp.asarray, np.asarray(getattr(jax.random, name)(*args, **options)))

    return call


def _random_names() -> Names:
    import jax

    own = {
        "key": jax.random.key,
        "PRNGKey": jax.random.PRNGKey,
        "split": lambda *a: list(jax.random.split(*a)),
    }
    for name in ("normal", "uniform", "randint", "bernoulli"):
        own[name] = _random(name)
    return Names("jax.random", **own)


@contextmanager
def _nothing(*args: Any, **options: Any) -> Iterator[None]:
    yield


def _exact(function: Any) -> Any:
    """Return a product without its options on precision: all are exact here."""

    def call(*args: Any, precision: Any = None, preferred_element_type: Any = None, **options: Any) -> Any:
        return function(*args, **options)

    return call


def _bfloat16() -> Any:
    import jax

    return jax.numpy.bfloat16.dtype.type


def _numpy() -> Names:
    products = {name: _exact(getattr(xp, name)) for name in ("dot", "matmul", "einsum", "vdot", "tensordot")}
    return Names("jax.numpy", xp, ndarray=xp.Array, bfloat16=_bfloat16(), **products)


def _tree_util() -> Names:
    names = {f"tree_{k}": getattr(t.tree, k) for k in dir(t.tree) if not k.startswith("_")}
    return Names(
        "jax.tree_util",
        _OURS,
        **names,
        register_pytree_node=register_pytree_node,
        register_pytree_node_class=register_pytree_node_class,
    )


def _jax() -> Names:
    """Return the stand-in for `jax`, and for its private `api`."""
    xp.Array.at = property(_At)
    xp.Array.block_until_ready = lambda self: self
    names = Names(
        "jax",
        _OURS,
        jit=jit,
        pjit=jit,
        checkpoint=checkpoint,
        remat=checkpoint,
        custom_jvp=custom_jvp,
        custom_vjp=t.custom_vjp,
        device_put=device_put,
        device_get=device_get,
        Array=xp.Array,
        lax=Names("jax.lax", lax),
        numpy=_numpy(),
        scipy=Names("jax.scipy", special=special, linalg=xp.linalg),
        random=_random_names(),
        nn=Names("jax.nn", relu=lambda x: xp.maximum(x, 0), sigmoid=special.expit),
        tree=t.tree,
        tree_util=_tree_util(),
        flatten_util=_OURS,
        custom_batching=Names("jax.custom_batching", _OURS),
        custom_derivatives=Names("jax.custom_derivatives", _OURS),
        block_until_ready=lambda x: x,
        clear_caches=lambda: None,
        default_matmul_precision=_nothing,
        numpy_rank_promotion=_nothing,
        numpy_dtype_promotion=_nothing,
        checking_leaks=_nothing,
        enable_checks=_nothing,
        named_scope=_nothing,
        legacy_prng_key=_nothing,
        named_call=lambda fun, **options: fun,
    )
    names.util = names.api = names.ad_checkpoint = names
    return names


def helpers(jax: Names) -> None:
    """Let the helpers of JAX's tests, which are JAX's own, call our transforms."""
    import jax as theirs
    from jax._src import public_test_util, test_util

    held = {np.dtype(d).type for d in "?bhilBHILefdFD"}
    test_util.supported_dtypes = lambda: held
    vars(test_util.dtypes)["custom_floats"] = [_bfloat16()]
    from jax._src.internal_test_util import lax_test_util  # asks at once

    own = SimpleNamespace(jit=jit, jvp=t.jvp, vjp=t.vjp, linearize=t.linearize)
    public_test_util.api = test_util.api = own
    lax_test_util.lax = jax.lax
    jax.config, jax.dtypes, jax.float0 = theirs.config, theirs.dtypes, theirs.float0
    jax.test_util = SimpleNamespace(
        check_grads=public_test_util.check_grads,
        check_jvp=public_test_util.check_jvp,
        check_vjp=public_test_util.check_vjp,
    )


class Jax:
    """The modules of the stand-in, by the names that test files import."""

    def __init__(self) -> None:
        self._jax = _jax()
        helpers(self._jax)

    def module(self, path: str) -> Any:
        """Return what stands for a module."""
        if path in _THEIRS:
            return importlib.import_module(path)
        found: Any = self._jax
        if path.startswith("jax._src"):
            parts = {theirs.removeprefix(f"{path}.") for theirs in _THEIRS if theirs.startswith(f"{path}.")}
            below = {part.partition(".")[0] for part in parts}
            return Names(path, self._jax, **{part: self.module(f"{path}.{part}") for part in below})
        for name in path.split(".")[1:]:
            found = getattr(found, name)
        return found

    def statement(self, path: str, fromlist: Any) -> Any:
        """Return what an import statement binds, or takes names from."""
        return self.module(path) if fromlist else self._jax
