"""Functions of SciPy's and scikit-learn's that leave for C go to rules of ours where a derivative is taken.

Some are called once for a batch, too: `batches`.

A derivative cannot follow a value into C code. `ROWS` names the modules whose functions do that, why there is
no other way to meet them, and the module of ours with rules for them, by name.

- What is replaced: the functions and methods that `replaced` lists. `scipy.fft` has a protocol for that,
  uarray; nothing of it is replaced.
- When: once `nabla_array.transforms` and the module are both imported, whichever is first.
- What a call does then: what it did before, unless a derivative is being taken by an operand, or a function
  that is an operand may capture one. Then our rule is asked. It names the parameters that it heeds; a call
  that sets another one is SciPy's own, and refuses what would leave.
- What stays SciPy's own: calls elsewhere, all other functions, names that were imported from the module
  before.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial, wraps
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..._lazy.graph.node import tapes
from ..._lazy.rules.concretization import is_traced
from ..._namespace.core.array import Array, current
from ..._namespace.interop.doors import keep_capabilities
from ..._namespace.interop.imports import after_import
from .batches import OPERANDS, AtOnce, flat
from .host_calls import holds_any
from .places import PLACES, AtPlaces
from .tracking import constant, is_tracked

# ``rule(original, **arguments)`` returns the result, in ways that derivatives pass, or NotImplemented: the
# original is called then. Its parameters have the names of those of the original's that it heeds, and get
# what is given or SciPy's defaults; ``**options`` takes the rest.
Rule = Callable[..., Any]


class Row(NamedTuple):
    """A module whose functions are replaced, the one of ours with their rules, and why."""

    module: str
    rules: str
    reason: str


ROWS = (
    Row("scipy.linalg", "matrices", "LAPACK takes the matrices"),
    Row("scipy.sparse.linalg", "sparse", "compiled solvers, or loops until all is near enough"),
    Row("scipy.sparse", "sparse", "products with sparse matrices are C++"),
    Row("scipy.ndimage", "images", "filters and interpolation are C"),
    Row("scipy.signal", "signals", "filters are C, and spectra are written into NumPy's arrays"),
    Row("scipy.fft", "fourier", "pocketfft takes the arrays"),
    Row("scipy.integrate", "integrals", "QUADPACK calls the function, and takes numbers of it"),
    Row("scipy.integrate", "steps", "values choose the steps, which are written into NumPy's arrays"),
    Row("scipy.optimize", "roots", "MINPACK and loops until all is near enough call the function"),
    Row("scipy.optimize", "minima", "compiled minimizers call the function"),
    Row("scipy.optimize", "programs", "HiGHS and compiled solvers take the coefficients"),
    Row("scipy.interpolate", "interpolation", "coefficients are computed, and evaluated, in C"),
    Row("scipy.interpolate", "splines", "FITPACK makes and evaluates the splines"),
    Row("scipy.interpolate", "grids", "values on grids, or scattered, are interpolated in C"),
    Row("scipy.spatial.distance", "distances", "distances are C++"),
    Row("scipy.cluster.vq", "samples", "clusters are found in C"),
    Row("scipy.stats", "samples", "samples become NumPy's arrays"),
    Row("scipy.stats", "distributions", "places and parameters become NumPy's arrays"),
    Row("scipy.stats._multivariate", "samples", "densities are of NumPy's arrays"),
    Row("sklearn.metrics", "samples", "distances go through joblib, a part at a time"),
)

# Parameters that say how a result is found, and not what it is.
_HOW = {
    *("overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_x", "overwrite_A", "overwrite_data"),
    *("check_finite", "lwork", "lapack_driver", "driver", "workers", "permc_spec", "use_umfpack"),
}

# Of these, SciPy takes one alone.
_SEEDS = {"rng", "seed", "random_state"}


def rules_of(row: Row) -> Mapping[str, Rule]:
    """Return the rules for a module's functions (or methods, "Class.method"), by their names."""
    rules: Mapping[str, Rule] = import_module(f".{row.rules}", __package__).RULES[row.module]
    return rules


def names_of(row: Row, rules: Mapping[str, Rule]) -> list[str]:
    """Return the names of what is replaced in a module."""
    return [*{**rules, **OPERANDS.get(row.module, {})}]


def replaced() -> Iterator[tuple[Row, list[str]]]:
    """Yield what is replaced: rows, and the names of the functions and methods."""
    for row in ROWS:
        names = names_of(row, rules_of(row))
        yield row, [name.removesuffix(".__init__") for name in names]


# -- calls ---------------------------------------------------------------------------------------------


def asked(rule: Rule, args: Any, kwargs: Any) -> bool:
    """Say whether a derivative is being taken by an operand, as far as one can see."""
    if not tapes:
        return False
    if hasattr(rule, "holds"):
        return any(t.thread >= 0 for t in tuple(tapes))
    return any(map(is_tracked, (*args, *kwargs.values())))


class Binding:
    """How calls of a function become those of its rule."""

    def __init__(self, original: Callable[..., Any], rule: Rule) -> None:
        self.original, self.rule = original, rule
        try:
            self.signature = inspect.signature(original)
        except ValueError:  # compiled, and without one
            self.signature = inspect.signature(lambda *args, **kwargs: None)
        heeded = [*inspect.signature(rule).parameters.values()][1:]
        self.takes_rest = any(p.kind is p.VAR_KEYWORD for p in heeded)
        self.heeded = {p.name for p in heeded if p.kind is not p.VAR_KEYWORD}

    def arguments(self, args: Any, kwargs: Any) -> dict[str, Any] | None:
        """Return the rule's arguments, or None if it does not heed one that is set."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:  # which the original says itself
            return None
        given = flat(bound)
        for name in given.keys() - self.heeded - (given.keys() if self.takes_rest else _HOW):
            p = self.signature.parameters.get(name)
            if p is None or not _is_same(given[name], p.default):
                return None
        bound.apply_defaults()
        every = flat(bound)
        if every.get("check_finite"):
            _check_finite([x for name, x in every.items() if name in self.heeded])
        handed = every.keys() - (_SEEDS - given.keys() - self.heeded) if self.takes_rest else self.heeded
        return {name: x for name, x in every.items() if name in handed}

    def __call__(self, args: Any, kwargs: Any) -> Any:
        found = self.arguments(args, kwargs)
        if found is None:
            return NotImplemented
        return self.rule(self.original, **{k: constant(v) for k, v in found.items()})


def _is_same(x: Any, default: Any) -> bool:
    plain = type(x) is not Array and isinstance(x, bool | int | float | str | tuple)
    return x is default or (plain and bool(np.all(x == default)))


def _check_finite(operands: Any) -> None:
    for x in operands:
        if type(x) is Array and is_tracked(x) and not is_traced(current(x)) and not np.isfinite(x).all():
            raise ValueError("array must not contain infs or NaNs")  # as SciPy says


class Delegate:
    """What answers a function's calls first: its rule for derivatives, or one call for a whole batch."""

    def __init__(self, row: Row, name: str, original: Callable[..., Any], rule: Rule | None) -> None:
        self.row, self.name, self.original, self.rule = row, name, original, rule
        self.takes_batches = name in OPERANDS.get(row.module, {}) or name in PLACES.get(row.module, {})

    @cached_property
    def _binding(self) -> Binding:
        assert self.rule is not None
        return Binding(self.original, self.rule)

    @cached_property
    def _at_once(self) -> AtOnce | AtPlaces:
        module = self.row.module
        operands = OPERANDS.get(module, {}).get(self.name)
        if operands is None:
            return AtPlaces(module, self.name, PLACES[module][self.name])
        return AtOnce(module, self.original, operands, self.rule and self._binding)

    def __call__(self, args: Any, kwargs: Any) -> Any:
        """Return the result, or NotImplemented where the original is to be called."""
        found = NotImplemented
        if self.rule is not None and asked(self.rule, args, kwargs):
            found = self._binding(args, kwargs)
        if found is NotImplemented and self.takes_batches and any(map(holds_any, (*args, *kwargs.values()))):
            found = self._at_once(args, kwargs)
        return found


def delegated(row: Row, name: str, original: Callable[..., Any], rule: Rule | None) -> Callable[..., Any]:
    """Return a function that asks our rule first where a derivative is being taken by an operand.

    Then it asks what calls it once for a batch, if anything does.
    """
    delegate = Delegate(row, name, original, rule)

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = delegate(args, kwargs)
        return original(*args, **kwargs) if result is NotImplemented else result

    return call


# -- modules -------------------------------------------------------------------------------------------


def _put_on(row: Row, module: ModuleType) -> None:
    rules = rules_of(row)
    if row.module == "scipy.fft":
        module.register_backend(_Backend(row, rules))
        return
    for name in names_of(row, rules):
        rule = rules.get(name)
        owner, _, attribute = name.rpartition(".")
        holder = getattr(module, owner) if owner else module
        if hasattr(rule, "__set__"):  # for an attribute
            vars(rule)["original"] = vars(holder).get(attribute)
            setattr(holder, attribute, rule)
            continue
        original = getattr(holder, attribute)
        made = delegated(row, name, original, rule)
        setattr(holder, attribute, made)
        keep_capabilities(original, made)
        home = sys.modules.get(original.__module__)
        if not owner and getattr(home, attribute, None) is original:  # so that it can be pickled
            setattr(home, attribute, made)


class _Backend:
    """What `scipy.fft` asks before it computes itself."""

    __ua_domain__ = "numpy.scipy.fft"

    def __init__(self, row: Row, rules: Mapping[str, Rule]) -> None:
        self._row, self._rules = row, rules
        self._delegates: dict[str, Delegate] = {}

    def __ua_function__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        name = function.__name__
        if name not in self._delegates:
            self._delegates[name] = Delegate(self._row, name, function, self._rules.get(name))
        return self._delegates[name](args, kwargs)


for _row in ROWS:
    after_import(_row.module, partial(_put_on, _row))
