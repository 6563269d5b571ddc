"""Random programs of what MAX runs, with inputs full of special values; the same for other sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nabla_array._lazy.cpu.calls import DATA_ERRORS
from nabla_array._lazy.cpu.sharing import as_value
from nabla_array._lazy.graph.aval import Aval, aval_of
from nabla_array._lazy.graph.node import Node, leaf, record
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.graph.program import Eqn, Program, linearize, pending_order
from nabla_array._lazy.max.backend import primitives
from nabla_array._lazy.max.canonical import Canonical, CanonicalProgram, Size, parse, slices_of
from nabla_array._lazy.ops.creation import Literal, fill, fill_node
from nabla_array._lazy.ops.elementwise import cast, copysign, maximum, minimum, signbit
from nabla_array._lazy.ops.reduction import reduce_max, reduce_min
from nabla_array._lazy.ops.structure import broadcast

DTYPES = [np.dtype(name) for name in ("float32", "float64", "bool")]
DTYPES += [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
# Floats are half of all.
_WEIGHTS = np.array([3, 4, 1.5] + [0.7] * 8)
# Above and below the lengths that are written out, of one vector and more, and ones.
_SIZES = (1, 2, 3, 4, 5, 7, 9, 12, 17)
_LARGEST = 2000
_LARGEST_OTHER = 30_000
_LEAVES = 8
# Operations that are tried for a program, on average, and one in how many gives all its values as outputs.
_LENGTH, _OPEN = 20, 8
# Programs that begin with the same shape.
SIBLINGS = 20
_HUGE = {"f": (1e30, 3e38), "d": (1e250, 1.5e308)}


class Case(NamedTuple):
    """A program, and arguments for it."""

    program: Program
    inputs: tuple[np.ndarray, ...]


class Undefined(Exception):
    """There is no result: NumPy raises an error."""


def random_array(rng: np.random.Generator, aval: Aval) -> np.ndarray:
    """Return values of a shape and dtype: ordinary ones and special ones, mixed or not."""
    dtype, shape = aval.dtype, aval.shape
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < rng.choice([0.1, 0.5, 0.9]))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if rng.random() < 0.2 else (max(-9, info.min), 9)
        x = rng.integers(low, high, shape, dtype, endpoint=True)
        specials: list[Any] = [
            0,
            1,
            2,
            info.max,
            info.min,
            info.max - 1,
            info.min + 1,
            info.bits - 1,
            info.bits,
        ]
    else:
        scale = dtype.type(rng.choice([0.5, 1.0, 3.0, 30.0, 1000.0]))
        x = np.asarray(rng.standard_normal(shape).astype(dtype) * scale)
        if rng.random() < 0.3:
            x = np.asarray(np.round(x * 2) / 2)
        tiny, huge = np.finfo(dtype).tiny, _HUGE[dtype.char]
        specials = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 2.0, np.inf, -np.inf, np.nan, np.pi]
        specials += [huge[0], -huge[0], huge[1], -huge[1], tiny, -tiny, 1 / huge[0], np.finfo(dtype).eps]
    share = rng.choice([0.0, 0.1, 0.3, 0.8])
    picked = rng.choice(np.array(specials, dtype), shape)
    return np.asarray(np.where(rng.random(shape) < share, picked, x))


def on_host(prim: Primitive, xs: Sequence[np.ndarray], params: dict[str, Any]) -> np.ndarray:
    """Return what the operation means; raises Undefined where that is an error."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(as_value(prim.host(*xs, **params)))
    except DATA_ERRORS:
        raise Undefined from None


def is_open(prim: Primitive, xs: Sequence[np.ndarray], params: dict[str, Any]) -> np.ndarray | None:
    """Say for which elements neither NumPy nor the standard says what the result is; None: for no one.

    Those are casts of floats to integers that do not have them, the sign of nan, and that of the larger, or
    smaller, of two zeros.
    """
    if prim is cast and xs[0].dtype.kind == "f" and params["dtype"].kind in "iu":
        info = np.iinfo(params["dtype"])
        whole = np.trunc(xs[0])
        # The bounds as floats: from -2**n on, and below 2**n.
        fits = (whole >= float(info.min)) & (whole < float(info.max // 2 + 1) * 2)
        return None if fits.all() else ~fits
    if prim in (signbit, copysign):
        nan = np.isnan(xs[-1])
        return nan if nan.any() else None
    if prim in (maximum, minimum, reduce_max, reduce_min) and xs[0].dtype.kind == "f":
        x = np.stack(xs) if len(xs) == 2 else xs[0]
        axes = params.get("axes", 0)
        positive, negative = [((x == 0) & (np.signbit(x) == s)).any(axis=axes) for s in (False, True)]
        zero = np.asarray(positive & negative & (on_host(prim, xs, params) == 0))
        return zero if zero.any() else None
    return None


def host_values(program: Program, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return all values of a program."""
    env = list(inputs)
    for eqn in program.eqns:
        env.append(on_host(eqn.prim, [env[i] for i in eqn.ins], dict(eqn.params)))
    return env


def lowered() -> list[Primitive]:
    """Return what MAX runs, apart from `fill`, which is an operand of others."""
    return [p for p in primitives().values() if p.max is not None and p.dims is not None and p is not fill]


class _Writer:
    """Writes a random program, an operation at a time; its values are known on the way."""

    def __init__(self, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
        self.rng = rng
        self.values: dict[Node, np.ndarray] = {}
        self.pool: list[Node] = []
        self.used: set[Node] = set()
        self.leaves = 0
        self.pointwise = [p for p in lowered() if p.kind == "elementwise"]
        self.others = [p for p in lowered() if p.kind != "elementwise"]
        for _ in range(rng.integers(1, 4)):
            self.new_leaf(aval_of(shape, self.dtype()))

    def dtype(self) -> np.dtype:
        return DTYPES[self.rng.choice(len(DTYPES), p=_WEIGHTS / _WEIGHTS.sum())]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def below(self, n: int) -> int:
        return int(self.rng.integers(n))

    def new_leaf(self, aval: Aval) -> Node:
        value = random_array(self.rng, aval)
        node = leaf(value)
        self.values[node] = value
        self.pool.append(node)
        self.leaves += 1
        return node

    def apply(self, prim: Primitive, *xs: Node, **params: Any) -> Node | None:
        """Record an operation, if it is one that MAX runs and whose result is defined."""
        if prim.max is None or any(x.aval.dtype.kind not in prim.max_kinds for x in xs):
            return None
        try:
            node = record(prim, xs, params)
            if node.aval.size > _LARGEST or node.aval.dtype.kind not in "fiub" or not node.aval.size:
                return None
            operands = [self.values[x] for x in xs]
            value = on_host(prim, operands, params)
        except (Undefined, TypeError, ValueError):
            return None
        if value.dtype != node.aval.dtype or (prim is cast and is_open(prim, operands, params) is not None):
            return None  # nobody records rounding of bool
        self.values[node] = value
        self.pool.append(node)
        self.used.update(xs)
        return node

    def pick(self, fits: Callable[[Node], bool] = lambda node: True) -> Node | None:
        """Return a value, a recent one and one without a user more often."""
        found = [n for n in self.pool if fits(n)]
        if not found:
            return None
        unused = [n for n in found if n not in self.used]
        found = unused if unused and self.chance(0.6) else found
        back = int(self.rng.exponential(2)) if self.chance(0.7) else self.below(len(found))
        return found[-1 - min(back, len(found) - 1)]

    def literal(self, aval: Aval) -> Node:
        value = random_array(self.rng, aval_of((), aval.dtype))[()]
        if aval.dtype.kind == "f" and self.chance(0.1):
            value = aval.dtype.type(self.values[self.pool[0]].size)  # what a mean divides by
        node = fill_node(aval, value)
        self.values[node] = fill.host(Literal(value), aval.shape)
        return node

    def like(self, aval: Aval) -> Node:
        """Return an operand of exactly this shape and dtype."""
        if self.chance(0.2):
            return self.literal(aval)
        same = self.pick(lambda n: n.aval is aval)
        if same is not None and self.chance(0.7):
            return same
        smaller = self.pick(lambda n: n.aval is not aval and self._spreads(n.aval.shape, aval.shape))
        if smaller is not None and self.chance(0.7):
            other: Node | None = smaller
            if smaller.aval.dtype != aval.dtype:
                other = self.apply(cast, smaller, dtype=aval.dtype)
            if other is not None and other.aval.shape != aval.shape:
                axes = tuple(range(aval.ndim - other.aval.ndim, aval.ndim))
                other = self.apply(broadcast, other, shape=aval.shape, axes=axes)
            if other is not None:
                return other
        if self.leaves < _LEAVES:
            return self.new_leaf(aval)
        return same if same is not None else self.literal(aval)

    def _spreads(self, shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
        try:
            return np.broadcast_shapes(shape, wanted) == wanted
        except ValueError:
            return False

    def first(self, fits: Callable[[Node], bool]) -> Node | None:
        """Return an operand that fits: a value, a new one of the same shape, or a cast one."""
        x = self.pick(fits)
        if x is not None and self.chance(0.8):
            return x
        model = self.pick()
        assert model is not None
        dtype = self.dtype()
        y = leaf(np.zeros(model.aval.shape, dtype))
        if fits(y):
            if self.leaves < _LEAVES and self.chance(0.5):
                return self.new_leaf(y.aval)
            x = model if model.aval.dtype == dtype else self.apply(cast, model, dtype=dtype) or x
        return x

    def step(self) -> None:
        """Add an operation, if the first idea works."""
        # Reductions and moves end a kernel, and each kernel costs half a second to compile.
        some = self.others if self.chance(0.12) else self.pointwise
        prim = some[self.below(len(some))]
        special = _MAKERS.get(prim.name)
        if special is not None:
            special(self, prim)
        elif prim.ufunc is not None:
            self._ufunc(prim)
        elif prim.reducer is not None or prim.name == "reduce_count":
            _reduce(self, prim)

    def _ufunc(self, prim: Primitive) -> None:
        nin = prim.ufunc.nin  # type: ignore[union-attr]

        def fits(node: Node) -> bool:
            try:
                prim.aval(*[node.aval] * nin)
            except TypeError:
                return False
            return node.aval.dtype.kind in prim.max_kinds

        x = self.first(fits)
        if x is not None:
            xs = [x, *[self.like(x.aval) for _ in range(nin - 1)]]
            if self.chance(0.3):
                xs.reverse()
            self.apply(prim, *xs)


def _same(w: _Writer, prim: Primitive) -> None:
    x = w.pick()
    if x is not None:
        w.apply(prim, x)


def _cast(w: _Writer, prim: Primitive) -> None:
    x = w.pick()
    dtype = w.dtype()
    if x is not None and x.aval.dtype != dtype:
        w.apply(prim, x, dtype=dtype)


def _select(w: _Writer, prim: Primitive) -> None:
    mask = w.first(lambda n: n.aval.dtype.kind == "b")
    if mask is not None:
        x = w.pick(lambda n: n.aval.shape == mask.aval.shape) or mask
        w.apply(prim, mask, *[w.like(x.aval) for _ in range(2)])


def _round(w: _Writer, prim: Primitive) -> None:
    x = w.first(lambda n: n.aval.dtype.kind in prim.max_kinds)
    if x is not None:
        w.apply(prim, x, decimals=w.below(6) - 2)


def _broadcast(w: _Writer, prim: Primitive) -> None:
    x = w.pick(lambda n: n.aval.ndim < 4 and n.aval.size < 300)
    if x is not None:
        shape = [int(w.rng.choice(_SIZES)) if n == 1 and w.chance(0.7) else n for n in x.aval.shape]
        axes = list(range(len(shape)))
        if len(shape) < 3 and (shape == list(x.aval.shape) or w.chance(0.5)):
            at = w.below(len(shape) + 1)
            shape.insert(at, int(w.rng.choice(_SIZES)))
            axes = [a + (a >= at) for a in axes]
        w.apply(prim, x, shape=tuple(shape), axes=tuple(axes))


def _permute(w: _Writer, prim: Primitive) -> None:
    x = w.pick(lambda n: n.aval.ndim > 1)
    if x is not None:
        w.apply(prim, x, axes=tuple(int(a) for a in w.rng.permutation(x.aval.ndim)))


def _reshape(w: _Writer, prim: Primitive) -> None:
    x = w.pick()
    assert x is not None
    shape = list(x.aval.shape)
    way = w.below(4)
    if way == 0 and len(shape) < 4:
        shape.insert(w.below(len(shape) + 1), 1)
    elif way == 1 and len(shape) > 1:
        at = w.below(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    elif way == 2 and shape:
        at = w.below(len(shape))
        divisors = [d for d in range(2, shape[at]) if shape[at] % d == 0]
        if divisors:
            d = int(w.rng.choice(divisors))
            shape[at : at + 1] = [d, shape[at] // d]
    else:
        shape = [n for n in shape if n != 1]
    if tuple(shape) != x.aval.shape:
        w.apply(prim, x, shape=tuple(shape))


def _slice(w: _Writer, prim: Primitive) -> None:
    x = w.pick(lambda n: n.aval.ndim > 0)
    if x is None:
        return
    entries = []
    for n in x.aval.shape:
        step = int(w.rng.choice([1, 1, 1, 2, 3, -1, -2])) if w.chance(0.7) else 1
        start, stop = sorted(w.rng.integers(0, n + 1, 2)) if w.chance(0.6) else (0, n)
        size = -(-int(stop - start) // abs(step))
        entries.append((int(start) if step > 0 else int(stop) - 1, size, step))
    start, size, step = zip(*entries, strict=True)
    if (0 not in size and size != x.aval.shape) or any(s < 0 for s in step):
        w.apply(prim, x, start=start, size=size, step=step)


def _concat(w: _Writer, prim: Primitive) -> None:
    x = w.pick(lambda n: n.aval.ndim > 0)
    if x is not None:
        axis = w.below(x.aval.ndim)

        def fits(n: Node) -> bool:
            a, b = n.aval, x.aval
            return (
                a.dtype == b.dtype
                and a.ndim == b.ndim
                and {i for i in range(a.ndim) if a.shape[i] != b.shape[i]} <= {axis}
            )

        others = [w.pick(fits) or x if w.chance(0.6) else w.like(x.aval) for _ in range(1 + w.below(2))]
        # A literal among them has no axes of its own on MAX.
        w.apply(prim, x, *[w.pick(fits) or x if o.prim is fill else o for o in others], axis=axis)


def _reduce(w: _Writer, prim: Primitive) -> None:
    x = w.first(lambda n: n.aval.ndim > 0 and n.aval.dtype.kind in prim.max_kinds)
    if x is not None and x.aval.ndim:
        n = 1 + w.below(x.aval.ndim)
        w.apply(prim, x, axes=tuple(sorted(int(a) for a in w.rng.permutation(x.aval.ndim)[:n])))


def _along(w: _Writer, prim: Primitive) -> None:
    x = w.first(lambda n: n.aval.ndim > 0 and n.aval.dtype.kind in prim.max_kinds)
    if x is not None and x.aval.ndim:
        w.apply(prim, x, axis=w.below(x.aval.ndim))


_MAKERS: dict[str, Callable[[_Writer, Primitive], None]] = {
    "alias": _same,
    "stop_gradient": _same,
    "cast": _cast,
    "select": _select,
    "round": _round,
    "broadcast": _broadcast,
    "permute": _permute,
    "reshape": _reshape,
    "slice": _slice,
    "concat": _concat,
    "argmax": _along,
    "argmin": _along,
    "cumsum": _along,
    "cumprod": _along,
}


def covered(prim: Primitive) -> bool:
    """Say whether programs can have it."""
    return (
        prim.name in _MAKERS
        or prim.ufunc is not None
        or prim.reducer is not None
        or prim.name == "reduce_count"
    )


def _shape(rng: np.random.Generator) -> tuple[int, ...]:
    ndim = rng.choice(4, p=[0.05, 0.3, 0.4, 0.25])
    shape = [int(n) for n in rng.choice(_SIZES, ndim)]
    while math.prod(shape) > _LARGEST // 4:
        shape[shape.index(max(shape))] = 2
    return tuple(shape)


def random_case(seed: int, number: int, largest: int = 30) -> Case:
    """Return a random program of up to so many operations; of some, every value is an output."""
    rng = np.random.default_rng([seed, number])
    w = _Writer(rng, _shape(np.random.default_rng([seed, number // SIBLINGS])))
    # Short ones more often, above all where each value is an output: a kernel of its own, half a second.
    everything = number % _OPEN == 0
    wanted = 1 + int(rng.exponential(_LENGTH / 3 if everything else _LENGTH))
    for _ in range(20 * wanted):
        if len(w.pool) - w.leaves >= wanted:
            break
        w.step()
    made = [n for n in w.pool if n.value is None]
    if not made:
        return random_case(seed + 1_000_003, number, largest)
    # Or else where most comes together: all of that is fused.
    lengths = {n: len(pending_order([n])) for n in made}
    last = max((n for n in made if lengths[n] <= largest), key=lambda n: lengths[n])
    outputs = made[:largest] if everything else [last]
    line = linearize(pending_order(outputs), outputs)
    return Case(line.program, tuple(w.values[n] for n in line.inputs))


def redrawn(program: Program, rng: np.random.Generator) -> Case:
    """Return the program with other values."""
    return Case(program, tuple(random_array(rng, a) for a in program.inputs))


def together(cases: Sequence[Case]) -> tuple[Case, list[int]]:
    """Return programs beside each other, as one, and of which of them each equation is.

    They share inputs of the same shape and dtype: MAX then makes few kernels of them.
    """
    places: dict[tuple[Aval, int], int] = {}
    inputs: list[np.ndarray] = []
    numbers: list[list[int]] = []
    for case in cases:
        avals = case.program.inputs
        numbers.append([])
        for i, (aval, x) in enumerate(zip(avals, case.inputs, strict=True)):
            place = places.setdefault((aval, avals[:i].count(aval)), len(inputs))
            inputs += [x] if place == len(inputs) else []
            numbers[-1].append(place)
    eqns: list[Eqn] = []
    outputs: list[int] = []
    owners: list[int] = []
    for n, (program, _) in enumerate(cases):
        of = [*numbers[n], *range(len(inputs) + len(eqns), len(inputs) + len(eqns) + len(program.eqns))]
        eqns += [e._replace(ins=tuple(of[i] for i in e.ins)) for e in program.eqns]
        outputs += [of[i] for i in program.outputs]
        owners += [n] * len(program.eqns)
    avals = tuple(aval for aval, _ in places)
    return Case(Program(avals, tuple(eqns), tuple(outputs)), tuple(inputs)), owners


def resized(canonical: Canonical, rng: np.random.Generator) -> Program | None:
    """Return a canonical program with random sizes for its symbols, or None where none were found."""
    text = parse(canonical.key)
    old = {
        name: n
        for (shape, _), ns in zip(text.inputs, canonical.inputs, strict=True)
        for name, n in zip(shape, ns, strict=True)
        if isinstance(name, str)
    }
    # Longer by multiples of all steps, so that slices that fit each other still do.
    sizes = {name: n + 6 * int(rng.exponential(2)) for name, n in old.items()}
    for _ in range(200):
        program, wrong = _with_sizes(text, sizes, old)
        if program is not None:
            return program
        sizes.update(wrong)
    return None


def _with_sizes(
    text: CanonicalProgram, told: dict[str, int], old: dict[str, int]
) -> tuple[Program | None, dict[str, int]]:
    """Return a canonical program with these sizes, or None and which sizes should be others."""
    sizes: dict[str | int, int] = dict(told)

    def ints(shape: Sequence[str | int]) -> tuple[int, ...]:
        return tuple(sizes[n] if isinstance(n, str) else n for n in shape)

    inputs = [aval_of(ints(shape), dtype) for shape, dtype in text.inputs]
    base = len(inputs)
    avals: list[Aval | None] = [*inputs]
    params: list[dict[str, Any]] = []
    for eqn in text.eqns:
        known = dict(eqn.params)
        params.append(known)
        if eqn.prim == "fill":
            avals.append(None)
            continue
        for i in eqn.ins:
            avals[i] = avals[i] or aval_of(ints(text.eqns[i - base].shape), text.eqns[i - base].dtype)
        xs = [avals[i] for i in eqn.ins]
        if eqn.prim == "slice":
            rows = [s.indices(n) for s, n in zip(slices_of(known, eqn.shape), xs[0].shape, strict=True)]
            known["start"], known["step"] = tuple(r[0] for r in rows), tuple(r[2] for r in rows)
            known["size"] = tuple(len(range(*r)) for r in rows)
        elif "shape" in known:
            known["shape"] = ints(eqn.shape)
        aval = primitives()[eqn.prim].aval(*xs, **known)
        avals.append(aval)
        for name, n in zip(eqn.shape, aval.shape, strict=True):
            if aval.size > _LARGEST_OTHER or (isinstance(name, int) and name != n):
                return None, {name: old[name] for name in _names_below(text, len(avals) - 1)}
            if isinstance(name, str) and sizes.setdefault(name, n) != n:
                # What is made by slicing or joining tells how long it is.
                return None, {name: n}
    eqns = []
    for eqn, known, aval in zip(text.eqns, params, avals[base:], strict=True):
        if eqn.prim == "fill":
            value = known["value"]
            if isinstance(value, Size):
                value = Literal(value.dtype.type(sizes[value.name] - value.less))
            known = {"value": value, "shape": ints(eqn.shape)}
            aval = aval_of(known["shape"], eqn.dtype)
        eqns.append(Eqn(primitives()[eqn.prim], eqn.ins, tuple(known.items()), aval))
    return Program(tuple(inputs), tuple(eqns), text.outputs), {}


def _names_below(text: CanonicalProgram, number: int) -> set[str]:
    """Return the symbols of the inputs that a value comes from."""
    base = len(text.inputs)
    below = {number}
    for k in range(number, base - 1, -1):
        if k in below:
            below.update(text.eqns[k - base].ins)
    return {n for i in below if i < base for n in text.inputs[i][0] if isinstance(n, str)}
