"""`compile`: what a function computes is written down once and run again without the function."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack, overload

import numpy as np

from .._lazy.config import MODES, active, config
from .._lazy.cpu.calls import DATA_ERRORS, quiet
from .._lazy.cpu.loops import Loop, is_small
from .._lazy.graph.bodies import Body, hole_for
from .._lazy.graph.node import Node, tapes
from .._lazy.graph.program import run
from .._lazy.ops.placement import in_use
from .._lazy.rules.levels import Levels, align_to_force, bind, frames, in_force
from .._lazy.run.claims import lock
from .._lazy.run.devices import CPU, device_of
from .._lazy.run.evaluator import evaluate
from .._lazy.stats import stats
from .._namespace.core.array import Array, current
from .._namespace.core.lengths import Decision, plain
from .arguments import Arguments, Call, overlap
from .calls import array_leaf, decorator, named
from .captured import Capturing
from .fastcall import MISS, Output, Recipe, fast_call, put_back
from .lengths import is_watching, watching
from .pytree import Rest, tree_unflatten
from .symbolic import Sizes, Template, dtypes_of, generalize, is_general
from .tracing import Traced, trace
from .watching import Watch, disabled, is_disabled, running_tapes, watched

if TYPE_CHECKING:
    from ._types import Compiled, CompiledGradient, Gradient, P, R

__all__ = ["CacheInfo", "Lowered", "compile"]


_LOOKED = (
    "compile: with fullgraph=True, no value of what depends on the arguments may be looked at ({}): xp.where "
    "and control-flow functions choose without looking"
)


class CacheInfo(NamedTuple):
    """What the cache of a compiled function has done.

    Attributes
    ----------
    hits
        Calls that a program answered.
    misses
        Calls that ran the function and wrote its program down.
    fallbacks
        Calls that ran the function because it looks at values, or changes captured arrays.
    maxsize, currsize
        How many programs are kept, and how many there are.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import compile
    >>> f = compile(lambda x: xp.sin(x) * 2)
    >>> y = f(xp.ones(3)), f(xp.zeros(3))
    >>> f.cache_info()
    CacheInfo(hits=1, misses=1, fallbacks=0, maxsize=64, currsize=1)
    """

    hits: int
    misses: int
    fallbacks: int
    maxsize: int
    currsize: int


class Lowered:
    """The program of a compiled function for some arguments; `str` prints it.

    Attributes
    ----------
    program
        The equations.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import compile
    >>> print(compile(lambda x: xp.sin(x) * x).lower(xp.ones(3)))
    program(%0: float64[3]):
      %1: float64[3] = sin(%0)
      %2: float64[3] = mul(%1, %0)
      return %2
    """

    def __init__(self, recipe: Recipe) -> None:
        self.program = recipe.program
        self._captured = recipe.captured

    def __str__(self) -> str:
        return str(self.program)

    def as_text(self) -> str:
        """Return how the operations are done, a line each, where the program's values are small."""
        if not is_small(self.program):
            return "Values are large: they are run in blocks, on threads, or by MAX."
        n = len(self.program.inputs) - len(self._captured)
        constants = {n + i: np.asarray(Array(node)) for i, node in enumerate(self._captured)}
        return str(Loop(self.program, constants=constants))


class _Options(TypedDict, total=False):
    dynamic_dims: Mapping[int | str, Mapping[int, str]] | None
    fullgraph: bool
    static_argnums: int | Sequence[int]
    static_argnames: str | Sequence[str]
    donate_argnums: int | Sequence[int]
    donate_argnames: str | Sequence[str]
    maxsize: int
    backend: str | None


@overload
def compile(  # type: ignore[overload-overlap]
    fun: Gradient[P], **options: Unpack[_Options]
) -> CompiledGradient[P]: ...
@overload
def compile(fun: Callable[P, R], **options: Unpack[_Options]) -> Compiled[P, R]: ...
@overload
def compile(**options: Unpack[_Options]) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
@decorator
def compile(
    fun: Callable[..., Any],
    *,
    dynamic_dims: Mapping[int | str, Mapping[int, str]] | None = None,
    fullgraph: bool = False,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    maxsize: int = 64,
    backend: str | None = None,
) -> Any:
    """Return a function that does what `fun` does, and runs `fun` only for arguments of a new kind.

    Parameters
    ----------
    fun : callable
        Of arrays, and pytrees of them. Arrays are what may differ from call to call; everything else
        (numbers of Python, strings, functions) is part of the kind, by its value, and must be hashable. A
        number that changes becomes an input where the program is the same but for it.
    dynamic_dims : dict, optional
        ``{argument: {axis: "name"}}``, for arguments by position or name: axes that may have any length.
        Axes of one name have one length. What `fun` decides by a length is a guard: where another length
        decides otherwise, `fun` is run for it.
    fullgraph : bool
        Raise TypeError where `fun` looks at a value (``if x > 0``, ``float(x)``) or changes a captured array,
        naming the line. Without it such a function is run each time, as if it were not compiled.
    static_argnums, static_argnames : ints, strs
        Arguments that are part of the kind as a whole.
    donate_argnums, donate_argnames : ints, strs
        Arguments whose arrays the caller gives up: their memory may hold results. They, and views of them,
        have no elements afterwards, and raise RuntimeError. Within other transforms, and for arguments that
        are views themselves, it changes nothing.
    maxsize : int
        How many programs are kept; the one that was not used for longest goes.
    backend : {None, "auto", "host", "max"}
        The mode to run in (see `config`); None is the one in force.

    Returns
    -------
    callable
        With ``.cache_info()``, ``.clear_cache()``, and ``.lower(*args)``, which shows the program.

    Raises
    ------
    TypeError
        For static values that are not hashable; with `fullgraph`, for a look at a value.
    ValueError
        If axes of one name differ in length, and for options that make no sense.

    Warns
    -----
    UserWarning
        If `dynamic_dims` is given and the program depends on the length in no simple way, or a length leaves
        as a plain number (``len(x)``, ``range(n)``): then there is a program for each length.

    >>> from nabla_array.transforms import compile
    >>> @compile
    ... def norm(x):
    ...     print("runs")
    ...     return xp.sqrt(xp.sum(x * x))
    >>> norm(xp.asarray([3.0, 4.0]))
    runs
    np.float64(5.0)
    >>> norm(xp.asarray([6.0, 8.0]))
    np.float64(10.0)
    >>> norm.cache_info()
    CacheInfo(hits=1, misses=1, fallbacks=0, maxsize=64, currsize=1)
    """
    static, donated = (static_argnums, static_argnames), (donate_argnums, donate_argnames)
    arguments = Arguments(fun, dynamic_dims, static, donated)
    cache = _Cache(fun, arguments, fullgraph, maxsize, backend)

    @named(fun, "Compiled form")
    def compiled(*args: Any, **kwargs: Any) -> Any:
        if disabled and is_disabled():
            return fun(*args, **kwargs)
        if arguments.donated:
            return cache.call_donating(args, kwargs)
        recent = cache.recent
        if recent is not None and not tapes and recent.mode == (backend or active.settings["mode"]):
            out = recent.run(args, kwargs)
            if out is not MISS:
                cache.count_hit()
                return out
        return cache.call(args, kwargs)

    compiled.cache_info = cache.info  # type: ignore[attr-defined]
    compiled.clear_cache = cache.clear  # type: ignore[attr-defined]
    compiled.lower = cache.lower  # type: ignore[attr-defined]
    return compiled


class _Donated(Body):
    """What stands in the place of arrays that were given up."""

    def look(self) -> Any:
        raise RuntimeError(
            f"{self.function}: an array that was donated to a compiled function has no elements any more: "
            "use what the function returned, or do not donate it"
        )


_DONATED = _Donated("compile")


# -- programs ------------------------------------------------------------------------------------------


class _Entry:
    """The program of a call, or with a template for any size of the dynamic dimensions."""

    def __init__(self, recipe: Recipe, template: Template | None = None) -> None:
        self.recipe = recipe
        self.template = template
        self.fast: dict[str, _Fast] = {}
        self._special = lru_cache(_SIZES)(lambda sizes: template and _special(template, sizes))

    def at(self, sizes: Sizes) -> _Entry | None:
        """Return the program for these sizes; None where the general one is not good for them."""
        return self if self.template is None else self._special(sizes)


_SIZES = 32  # programs of one template that are kept


def _special(template: Template, sizes: Sizes) -> _Entry | None:
    recipe = template.recipe(sizes)
    return recipe and _Entry(recipe)


# Calls with other numbers each before these are tried as inputs, and attempts after which they stay numbers.
_CALLS, _FAILURES = 2, 2


@dataclass
class _Numbers:
    """What is known of the numbers of Python in calls that differ in nothing else."""

    first: list[Any]  # the first call's
    dtypes: dict[int, np.dtype] = field(default_factory=dict)  # of those that became inputs, by their places
    calls: int = 0  # that ran the function
    failures: int = 0  # attempts that did not go well


class _Fast:
    """A call made ready to be run in a mode."""

    def __init__(self, run: Callable[[Any, Any], Any], mode: str) -> None:
        self._run = run
        self.mode = mode

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result, or MISS where the arguments are of another kind or the data make it fail."""
        stats.evaluations += 1
        try:
            return quiet.copy().run(self._run, args, kwargs)
        except DATA_ERRORS:  # recorded instead, it fails where somebody looks, with the operation's name
            return MISS


@dataclass(eq=False)
class _Cache:
    """The programs of one compiled function."""

    fun: Callable[..., Any]
    arguments: Arguments
    fullgraph: bool
    maxsize: int
    backend: str | None

    def __post_init__(self) -> None:
        maxsize, backend = self.maxsize, self.backend
        if isinstance(maxsize, bool) or not isinstance(maxsize, int) or maxsize < 0:
            raise ValueError(f"compile: maxsize must be a number of programs from 0 on, not {maxsize!r}")
        if backend is not None and backend not in MODES:
            raise ValueError(f"compile: backend must be None or one of {', '.join(MODES)}, not {backend!r}")
        self.lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        """Forget all programs, and count from zero."""
        with self.lock:
            self.entries: OrderedDict[Hashable, _Entry] = OrderedDict()
            self.looking: set[Hashable] = set()
            self.sized: set[Hashable] = set()  # keys whose program differs from size to size
            self.numbers: dict[Hashable, _Numbers] = {}
            self.recent: _Fast | None = None
            self.hits = self.misses = self.fallbacks = 0

    def info(self) -> CacheInfo:
        """Return what the cache has done."""
        with self.lock:
            return CacheInfo(self.hits, self.misses, self.fallbacks, self.maxsize, len(self.entries))

    def count_hit(self) -> None:
        with self.lock:
            self.hits += 1

    # -- calls -----------------------------------------------------------------------------------------

    def call_donating(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call whose caller gives arguments up."""
        given_up = [] if tapes or frames() else self.arguments.arrays_donated(args, kwargs)
        result = self.call(args, kwargs)
        with lock:
            for x in given_up:
                # What reads it below the result has the node; without the array, that may write over it.
                x._node = hole_for(x._node.aval, _DONATED)
        return result

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call: by a program, or by the function."""
        if is_watching():  # for who calls this, which must see what the function decides by lengths
            return self.fun(*args, **kwargs)
        given = self.arguments.parse(args, kwargs)
        if given.exact in self.looking:
            return self._fall_back(args, kwargs)
        batch = tuple([f.key for f in frames()])
        taking = self._taking(given)
        entry = self._find(taking, ()) or (self._find(taking, batch) if batch else None)
        if entry is None:
            return self._miss(given, batch, args, kwargs)
        given = taking
        if entry.recipe.written and overlap(given.leaves):
            return self._fall_back(args, kwargs)
        self.count_hit()
        recipe = entry.recipe
        elsewhere = in_use and _is_elsewhere(recipe)
        if not (
            recipe.batched
            or elsewhere
            or running_tapes()
            or (self.arguments.donated and not is_small(recipe.program))
            or any(type(x) is Array and x._levels for x in given.leaves)
        ):
            out = self._run(entry, given, args, kwargs)
            if out is not MISS:
                return out
        return self._record(recipe, given)

    def _taking(self, given: Call) -> Call:
        """Return the call with the numbers as inputs that are known to be good for that."""
        known = self.numbers.get(given.loose) if given.loose is not None else None
        if known is None or not known.dtypes:
            return given
        try:
            return given.taking(known.dtypes)
        except OverflowError:  # the function says it better
            return given

    def _find(self, given: Call, batch: tuple[Hashable, ...]) -> _Entry | None:
        with self.lock:
            for key in dict.fromkeys([given.key, given.exact]):
                found = self.entries.get((key, batch))
                entry = found.at(given.sizes) if found is not None else None
                if entry is not None:
                    self.entries.move_to_end((key, batch))
                    return entry
        return None

    def _fall_back(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self.lock:
            self.fallbacks += 1
        return self.fun(*args, **kwargs)

    def _run(self, entry: _Entry, given: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        mode = self.backend or active.settings["mode"]
        fast = entry.fast.get(mode)
        if fast is None:
            run = fast_call(entry.recipe, given.tree, given.kinds, mode, self.backend)
            fast = entry.fast[mode] = _Fast(run, mode)
        if not entry.recipe.written:
            self.recent = fast
        return fast.run(args, kwargs)

    def _record(self, recipe: Recipe, given: Call) -> Any:
        """Record the program on the arguments, for the transforms that go on."""
        force, batched = in_force(), recipe.batched
        values: list[tuple[Node, Levels]] = []
        for i in given.arrays:
            x = array_leaf("compile", given.leaves[i])
            values.append(
                (align_to_force(current(x), x._levels)[0], ()) if batched else (current(x), x._levels)
            )
        values += [(node, ()) for node in recipe.captured]
        found = dict(zip(recipe.program.outputs, run(recipe.program, values, bind), strict=True))

        def made(output: Output) -> Array:
            node, levels = (output.value, ()) if isinstance(output.value, Node) else found[output.value]
            return Array(node, tuple([force[p] for p in output.levels]) if batched else levels)

        for i, output in recipe.written.items():
            put_back(given.leaves[given.arrays[i]], made(output))
        leaves = [made(x) if isinstance(x, Output) else x for x in recipe.leaves]
        leaves = [x.copy() if isinstance(x, np.ndarray) else x for x in leaves]
        return tree_unflatten(recipe.tree, leaves)

    # -- misses ----------------------------------------------------------------------------------------

    def _miss(
        self, given: Call, batch: tuple[Hashable, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        watch = Watch(_LOOKED if self.fullgraph else "")
        try:
            made = self._trace(given, watch)
        except Exception:
            if not watch.as_it_is or self.fullgraph:
                raise
            with self.lock:
                self.looking.add(given.exact)
            return self._fall_back(args, kwargs)
        if made.written and overlap(given.leaves):
            return self._fall_back(args, kwargs)
        for i, (new, _) in made.written.items():
            put_back(given.leaves[given.arrays[i]], new)
        if watch.line:
            with self.lock:
                self.fallbacks += 1
                self.looking.add(given.exact)
        else:
            self._keep(given, batch, _recipe(made))
        if self.backend is not None and not batch and not running_tapes():
            with config(mode=self.backend):
                evaluate([current(x) for x in made.leaves if type(x) is Array])
        return tree_unflatten(made.tree, made.leaves)

    def _trace(self, given: Call, watch: Watch, everything: bool = False) -> Traced:
        """Run the function on arrays like its arguments."""

        def body(*arrays: Array) -> Any:
            watch.tape = running_tapes()[-1]
            some, named = Rest(given.leaves, given.tree, given.arrays).filled(arrays)
            return self.fun(*some, **named)

        with watched(watch), Capturing(self.fun) as scope:
            made = trace(body, [array_leaf("compile", given.leaves[i]) for i in given.arrays], everything)
        if watch.line and watch.refusal:  # the function went on after the error
            raise watch.error()
        if scope.line:
            watch.as_it_is = True
            raise TypeError(
                "compile: with fullgraph=True, no array may be changed in place that is neither an "
                f"argument nor made by the function ({scope.line}): make it an argument"
            )
        return made

    def _keep(self, given: Call, batch: tuple[Hashable, ...], recipe: Recipe) -> None:
        entry, key = _Entry(recipe), given.exact
        if given.loose is not None and not batch and not running_tapes():
            found = self._with_numbers(given, recipe)
            if found is not None:
                entry, key = found
        if given.key != given.exact and not batch and not running_tapes():
            template = self._generalize(given, recipe)
            if template is not None:
                general = _Entry(recipe, template)
                with self.lock:
                    self.entries[given.key, batch] = general
                if template.recipe(given.sizes) is not None:
                    entry, key = general, given.key
        with self.lock:
            self.misses += 1
            self.entries[key, batch] = entry
            while len(self.entries) > self.maxsize:
                self.entries.popitem(last=False)
                self.recent = None

    def _with_numbers(self, given: Call, recipe: Recipe) -> tuple[_Entry, Hashable] | None:
        """Try the numbers that differ from the first call's as inputs; returns the program, and its key."""
        known = self.numbers.setdefault(given.loose, _Numbers([given.leaves[i] for i in given.numbers]))
        pairs = zip(given.numbers, known.first, strict=True)
        places = [i for i, n in pairs if i in known.dtypes or repr(n) != repr(given.leaves[i])]
        known.calls += 1
        if not places or known.calls <= _CALLS or known.failures >= _FAILURES:
            return None
        for dtypes in itertools.product(*dtypes_of([given.leaves[i] for i in places], recipe)):
            taking = dict(zip(places, dtypes, strict=True))
            try:
                other = given.taking(taking)
                general = _recipe(self._trace(other, Watch(_LOOKED)))
            except Exception:  # the function wants numbers, so they stay numbers
                continue
            if is_general(general, recipe, {other.arrays.index(i): given.leaves[i] for i in places}):
                known.dtypes = taking
                return _Entry(general), other.key
        known.failures += 1
        return None

    def _generalize(self, given: Call, recipe: Recipe) -> Template | None:
        if given.key in self.sized:
            return None

        def again(arrays: dict[int, Array], tells: bool) -> tuple[Recipe, list[Decision]]:
            leaves = [arrays.get(i, x) for i, x in enumerate(given.leaves)]
            with watching(tells) as decisions:
                again = _recipe(self._trace(given._replace(leaves=leaves), Watch(_LOOKED), True))
            return again._replace(leaves=[plain(x) for x in again.leaves]), decisions

        axes = self.arguments.symbols.of_leaves(given.tree, given.kinds)
        arrays = {i: (array_leaf("compile", given.leaves[i]), named) for i, _, named in axes}
        before = self.entries.get((given.key, ()))
        known = before.template if before is not None else None
        found = generalize(recipe, arrays, given.sizes, again, known)
        if found is None:
            self.sized.add(given.key)
        return found

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the program for these arguments; runs the function, unless it is known."""
        given = self.arguments.parse(args, kwargs)
        entry = self._find(given, ())
        if entry is not None:
            return Lowered(entry.recipe)
        return Lowered(_recipe(self._trace(given, Watch(_LOOKED))))


def _recipe(made: Traced) -> Recipe:
    """Return how to do again what a run of a function did."""
    force = in_force()

    def output(x: Array, number: int | None) -> Output:
        return Output(current(x) if number is None else number, tuple([force.index(i) for i in x._levels]))

    leaves = [
        output(x, number) if type(x) is Array else x
        for x, number in zip(made.leaves, made.numbers, strict=True)
    ]
    changed = {i: output(*new) for i, new in made.written.items()}
    return Recipe(made.program, made.captured, leaves, made.tree, changed, bool(force))


def _is_elsewhere(recipe: Recipe) -> bool:
    """Say whether a program computes on an accelerator, whatever its arguments."""
    return any(e.prim.role == "transfer" for e in recipe.program.eqns) or any(
        device_of(n) != CPU for n in recipe.captured
    )
