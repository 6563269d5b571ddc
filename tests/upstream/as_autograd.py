"""What `autograd` means in the tests of HIPS autograd: this library, under autograd's names.

`autograd.numpy` is ours; `autograd.scipy` is SciPy itself, which runs on our arrays as it is.
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array import transforms as t

from .as_jax.missing import Names

Function = Callable[..., Any]
STEP, CLOSE = 1e-6, 1e-6


def _numbers(argnum: Any) -> Any:
    return builtins.tuple(argnum) if isinstance(argnum, list) else argnum


def _of_one(fun: Function, argnum: Any, args: Any, kwargs: Any) -> tuple[Function, Any]:
    """Return `fun` as a function of the chosen argument, or of a tuple of some, and what that is now."""
    several = isinstance(argnum, (builtins.tuple, list))

    def of_one(x: Any) -> Any:
        given = list(args)
        for i, value in zip(argnum, x, strict=True) if several else ((argnum, x),):
            given[i] = value
        return fun(*given, **kwargs)

    return of_one, builtins.tuple(args[i] for i in argnum) if several else args[argnum]


def _nary(operator: Function) -> Function:
    """Let an operator on functions of one argument choose that argument by its number."""

    def with_number(fun: Function, argnum: Any = 0, *more: Any, **options: Any) -> Function:
        def of_args(*args: Any, **kwargs: Any) -> Any:
            of_one, x = _of_one(fun, argnum, args, kwargs)
            return operator(of_one, x, *more, **options)

        return of_args

    return with_number


def grad(fun: Function, argnum: Any = 0) -> Function:
    return t.grad(fun, _numbers(argnum))


def value_and_grad(fun: Function, argnum: Any = 0) -> Function:
    return t.value_and_grad(fun, _numbers(argnum))


def jacobian(fun: Function, argnum: Any = 0) -> Function:
    return t.jacrev(fun, _numbers(argnum))


def holomorphic_grad(fun: Function, argnum: Any = 0) -> Function:
    return t.grad(fun, argnum, holomorphic=True)


def grad_named(fun: Function, argname: str) -> Function:
    return t.grad(fun, argname)


@_nary
def hessian(fun: Function, x: Any) -> Any:
    return t.jacfwd(t.jacrev(fun))(x)


@_nary
def make_vjp(fun: Function, x: Any) -> Any:
    value, pull = t.vjp(fun, x)
    return (lambda g: pull(g)[0]), value


@_nary
def make_jvp(fun: Function, x: Any) -> Function:
    return lambda v: t.jvp(fun, (x,), (v,))


@_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    value, pull = t.vjp(fun, x)
    return pull(xp.ones_like(value))[0]


@_nary
def deriv(fun: Function, x: Any) -> Any:
    return t.jvp(fun, (x,), (xp.ones_like(x),))[1]


@_nary
def make_hvp(fun: Function, x: Any) -> Any:
    value, push = t.linearize(t.grad(fun), x)
    return push, value


@_nary
def grad_and_aux(fun: Function, x: Any) -> Any:
    return t.grad(fun, has_aux=True)(x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    def of_args(*args: Any, **kwargs: Any) -> Any:
        gradient = t.grad(fun, argnum)
        return t.grad(lambda *a: xp.tensordot(gradient(*a, **kwargs), args[-1], np.ndim(args[-1])), argnum)(
            *args[:-1]
        )

    return of_args


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    def of_args(*args: Any, **kwargs: Any) -> Any:
        v = args[-1]
        return t.jacrev(lambda *a: xp.tensordot(v, fun(*a, **kwargs), np.ndim(v)), argnum)(*args[:-1])

    return of_args


def make_ggnvp(
    f: Function, g: Function = lambda x: 0.5 * xp.sum(x**2, axis=-1), f_argnum: int = 0
) -> Function:
    def make(f: Function, x: Any) -> Any:
        value, pull = t.vjp(f, x)
        _, push = t.linearize(f, x)
        _, curve = t.linearize(t.grad(g), value)
        return lambda v: pull(curve(push(v)))[0]

    return _nary(make)(f, f_argnum)


def multigrad_dict(fun: Function) -> Function:
    import inspect

    def of_args(*args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(fun).bind(*args, **kwargs)
        given.apply_defaults()
        return t.grad(lambda d: fun(**d))(builtins.dict(given.arguments))

    return of_args


def _inner(a: Any, b: Any) -> float:
    pairs = zip(t.tree.leaves(a), t.tree.leaves(b), strict=True)
    return float(sum(np.sum(np.real(np.conj(np.asarray(x)) * np.asarray(y))) for x, y in pairs))


def _like(x: Any) -> Any:
    """Return a direction: random numbers in the place of each array's."""

    def one(leaf: Any) -> Any:
        leaf = np.asarray(leaf)
        v = np.random.standard_normal(leaf.shape)
        return v + 1j * np.random.standard_normal(leaf.shape) if leaf.dtype.kind == "c" else v

    return t.tree.map(one, x)


def _close(a: float, b: float) -> bool:
    return abs(a - b) < CLOSE or abs(a - b) < CLOSE * abs(a + b)


def _step(fun: Function, x: Any, v: Any) -> Any:
    """Return the difference quotient of `fun` in a direction."""

    def at(step: float) -> Any:
        return fun(t.tree.map(lambda x, v: np.asarray(x) + step * v, x, v))

    there, back = at(STEP), at(-STEP)
    return t.tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / (2 * STEP), there, back)


@_nary
def check_grads(fun: Function, x: Any, modes: Any = ("fwd", "rev"), order: int = 2) -> None:
    """Compare both modes with difference quotients, to the given order."""
    v, y = _like(x), fun(x)
    w, quotient = _like(y), _step(fun, x, v)
    if "fwd" in modes:
        _, tangent = t.jvp(fun, (x,), (v,))
        assert _close(_inner(w, tangent), _inner(w, quotient)), f"jvp: {tangent} is not {quotient}"
        if order > 1:
            check_grads(lambda x, v: t.jvp(fun, (x,), (v,))[1], (0, 1), modes, order - 1)(x, v)
    if "rev" in modes:
        _, pull = t.vjp(fun, x)
        (g,) = pull(t.tree.map(np.conj, w))
        found, wanted = _inner(t.tree.map(lambda g: np.conj(np.asarray(g)), g), v), _inner(w, quotient)
        assert _close(found, wanted), f"vjp: {found} is not {wanted}"
        if order > 1:
            check_grads(lambda x, w: t.vjp(fun, x)[1](w)[0], (0, 1), modes, order - 1)(x, w)


def check_equivalent(a: Any, b: Any) -> None:
    assert t.tree.structure(a) == t.tree.structure(b)
    for x, y in zip(t.tree.leaves(a), t.tree.leaves(b), strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), CLOSE, CLOSE)


def combo_check(fun: Function, *numbers: Any, **options: Any) -> Function:
    def check(*args: Any, **kwargs: Any) -> None:
        named = [[(k, x) for x in xs] for k, xs in kwargs.items()]
        for given in product(*args):
            for more in product(*named):
                check_grads(fun, *numbers, **options)(*given, **dict(more))

    return check


def _part(module: Any, name: str) -> Any:
    """Return an attribute, which may be a module that nobody has imported yet."""
    if not hasattr(module, name):
        importlib.import_module(f"{module.__name__}.{name}")
    return getattr(module, name)


class Autograd:
    """The modules of the stand-in, by the names that test files import."""

    def __init__(self) -> None:
        own = {k: v for k, v in globals().items() if not k.startswith("_") and callable(v)}
        builtin = {k: getattr(builtins, k) for k in ("dict", "isinstance", "list", "tuple", "type")}
        test_util = SimpleNamespace(
            check_grads=check_grads,
            check_equivalent=check_equivalent,
            combo_check=combo_check,
            scalar_close=_close,
        )
        names = Names("autograd", **own, **builtin)
        names.numpy = Names("autograd.numpy", xp, random=np.random)
        names.test_util, names.builtins = test_util, SimpleNamespace(**builtin)
        names.checkpoint = t.checkpoint
        names.core = Names("autograd.core", make_vjp=lambda fun, x: make_vjp(fun)(x))
        names.misc = Names("autograd.misc", flatten=t.ravel_pytree)
        self._autograd = names

    def statement(self, path: str, fromlist: Any) -> Any:
        """Return what an import statement binds, or takes names from."""
        if path.startswith("autograd.scipy"):
            self._autograd.scipy = importlib.import_module("scipy")
            found: Any = self._autograd
            for name in path.split(".")[1:]:
                found = _part(found, name)
            for name in fromlist or ():
                _part(found, name)
            return found if fromlist else self._autograd
        found = self._autograd
        for name in path.split(".")[1:] if fromlist else ():
            found = getattr(found, name)
        return found
