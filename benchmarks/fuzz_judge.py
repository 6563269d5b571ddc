"""Is what MAX made of a program right? Each value is compared with the host's, from MAX's own operands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nabla_array._lazy.graph.program import Eqn, Program

from .fuzz_programs import Undefined, is_open, on_host

# What rounds nothing, or as IEEE says it: hidden inside a fused kernel it is still the host's value.
_MOVES = {"broadcast", "permute", "reshape", "slice", "concat", "fill", "select", "conj"}
_PICKS = {"maximum", "minimum", "reduce_max", "reduce_min"}
_EXACT = (
    _MOVES
    | _PICKS
    | {"neg", "abs", "sign", "copysign", "nextafter", "floor", "ceil", "trunc", "rint", "cast"}
)
# Products too: MAX would contract them with sums, our kernel does not let it.
_ROUNDED = {"add", "sub", "mul", "div", "sqrt", "square", "reciprocal"}
_ULPS = 4
# Ways in which rounding may go, of which the extent is estimated; so many more where these show a difference.
_WAYS, _MORE = 6, 200
# What products may end in where their order decides.
_EXTREMES = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)


class Disagreement(NamedTuple):
    """An equation whose value on MAX is not what the host makes of MAX's own operands.

    Attributes
    ----------
    number
        Of the value.
    got, wanted, operands
        All of MAX's value, of the host's, and of what both come from.
    where
        The elements.
    """

    number: int
    got: np.ndarray
    wanted: np.ndarray
    operands: tuple[np.ndarray, ...]
    where: np.ndarray


class Verdict(NamedTuple):
    """What was found: the disagreements, and how many elements were compared and how many could not be."""

    disagreements: list[Disagreement]
    compared: int
    unstable: int


class _Value:
    """A value as it was seen (or as the host makes it), and as it may be where it is computed once more."""

    def __init__(self, seen: np.ndarray, ways: list[np.ndarray] | None = None) -> None:
        self.seen = seen
        self.ways = ways

    def way(self, s: int) -> np.ndarray:
        return self.seen if self.ways is None else self.ways[s]


def judge(program: Program, inputs: tuple[np.ndarray, ...], seen: Mapping[int, np.ndarray]) -> Verdict:
    """Compare the values that MAX gave, by number, with the host's.

    What was seen is taken as it is for what follows. What was not, inside a fused kernel, may be off by
    as much as is allowed.
    """
    verdict = _judged(program, inputs, seen, _WAYS)
    return _judged(program, inputs, seen, _MORE) if verdict.disagreements else verdict


def _judged(
    program: Program, inputs: tuple[np.ndarray, ...], seen: Mapping[int, np.ndarray], count: int
) -> Verdict:
    rng = np.random.default_rng(0)
    base = len(program.inputs)
    values = [_Value(x) for x in inputs]
    found = []
    compared = unstable = 0
    for k, eqn in enumerate(program.eqns, base):
        operands = [values[i] for i in eqn.ins]
        xs = [v.seen for v in operands]
        params = dict(eqn.params)
        wanted = on_host(eqn.prim, xs, params)
        ways = None
        if any(v.ways is not None for v in operands) or is_open(eqn.prim, xs, params) is not None:
            ways = [_way(eqn, [v.way(s) for v in operands], wanted, rng, s) for s in range(count)]
        allowed, hidden = _error(eqn, xs, wanted)
        got = seen.get(k)
        if got is not None:
            spread, vague, signs = _spread(wanted, ways)
            wrong = _differ(got, wanted, allowed + 2 * spread, signs | (eqn.prim.name in _PICKS)) & ~vague
            # Sums of such size that their order decides whether they overflow.
            wrong &= np.isfinite(allowed)
            compared += wrong.size
            unstable += int(np.count_nonzero(vague | ~np.isfinite(allowed)))
            if wrong.any():
                found.append(Disagreement(k, got, wanted, tuple(xs), wrong))
            hidden = np.zeros_like(hidden)
        values.append(_value(wanted if got is None else got, wanted, ways, hidden, rng, count))
    return Verdict(found, compared, unstable)


def _way(
    eqn: Eqn, xs: list[np.ndarray], wanted: np.ndarray, rng: np.random.Generator, number: int
) -> np.ndarray:
    """Return what comes of other operands; where anything may, something else on each way."""
    params = dict(eqn.params)
    try:
        y = on_host(eqn.prim, xs, params)
    except Undefined:
        return wanted
    anything = is_open(eqn.prim, xs, params)
    if anything is None:
        return y
    if y.dtype.kind in "iu":  # what does not fit is cut, often to 0
        other = np.where(rng.random(y.shape) < 0.5, 0, y + np.int64(number + 1).astype(y.dtype))
    elif number < 2:  # all signs are one, which what follows may ask
        return np.where(anything, bool(number) if y.dtype == np.bool else np.copysign(y, (1, -1)[number]), y)
    else:
        other = ~y if y.dtype == np.bool else -y
    # One by one: the signs of two may cancel in what follows.
    return np.where(anything & (rng.random(y.shape) < 0.5), other, y)


def _error(eqn: Eqn, xs: list[np.ndarray], wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far MAX's value may be from the host's, and how far it may be where it is not seen."""
    none = np.zeros(wanted.shape, np.longdouble)
    name = eqn.prim.name
    if wanted.dtype.kind != "f" or name in _EXACT:
        return none, none
    eps = np.finfo(wanted.dtype).eps
    # The largest number has no spacing in NumPy.
    most = np.nextafter(np.finfo(wanted.dtype).max, eps)
    size = np.minimum(np.where(np.isfinite(wanted), np.abs(wanted), 0), most)
    few = _ULPS * np.spacing(size).astype(np.longdouble)
    if name in ("reduce_sum", "cumsum", "reduce_prod", "cumprod"):
        own = _accumulated(name, xs[0], dict(eqn.params), wanted) * eps
        return np.maximum(own, few), own
    if name in _ROUNDED:
        return few, none
    if name == "logaddexp":  # the host's own error, near a result of 0
        few = few + np.where(np.isfinite(xs[0]) & np.isfinite(xs[1]), np.maximum(*np.abs(xs)), 0) * eps
    return few, few


def _accumulated(name: str, x: np.ndarray, params: dict[str, Any], wanted: np.ndarray) -> np.ndarray:
    """Return a bound of the error of sums and products, in units of eps; inf where the order decides."""
    axes = params["axes"] if "axes" in params else (params["axis"],)
    n = math.prod(x.shape[a] for a in axes)
    finite = np.isfinite(x)
    info = np.finfo(x.dtype)
    sums = name in ("reduce_sum", "cumsum")
    with np.errstate(all="ignore"):
        wide = np.abs(x.astype(np.longdouble))
        sizes = np.where(finite, wide if sums else np.abs(np.log2(np.where(wide == 0, 1, wide))), 0)
        if "axes" in params:
            total = np.asarray(sizes.sum(axis=axes))
        else:
            total = np.add.accumulate(sizes, axis=axes[0])
        bound = (n + 4) / 2 * total if sums else (n + 4) * np.where(np.isfinite(wanted), np.abs(wanted), 0)
    limit = info.max if sums else -info.minexp
    if n == 1:
        return np.zeros(wanted.shape, np.longdouble)
    return np.where(total >= limit, np.inf, bound).astype(np.longdouble)


def _spread(wanted: np.ndarray, ways: list[np.ndarray] | None) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return how far the ways of rounding are apart; where they share nothing; where zeros have two signs."""
    vague, signs = np.zeros(wanted.shape, bool), np.zeros(wanted.shape, bool)
    if ways is None:
        return np.longdouble(0), vague, signs
    if wanted.dtype.kind != "f":
        for way in ways:
            vague |= way != wanted
        return np.longdouble(0), vague, signs
    spread = np.zeros(wanted.shape, np.longdouble)
    finite = np.isfinite(wanted)
    for way in ways:
        same = np.where(finite, np.isfinite(way), (way == wanted) | (np.isnan(way) & np.isnan(wanted)))
        vague |= ~same
        both = finite & same
        apart = np.where(both, way, 0).astype(np.longdouble) - np.where(both, wanted, 0)
        spread = np.maximum(spread, np.abs(apart))
        signs |= (way == 0) & (wanted == 0) & (np.signbit(way) != np.signbit(wanted))
    return spread, vague, signs


def _flushed(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def _differ(got: np.ndarray, wanted: np.ndarray, allowed: Any, signs: Any) -> np.ndarray:
    """Say where a result is wrong: by more than allowed, or not the same nan, infinity or sign of zero.

    `signs` says of which zeros the sign is open.
    """
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise AssertionError(f"{got.dtype}{got.shape} for {wanted.dtype}{wanted.shape}")
    if wanted.dtype.kind != "f":
        return np.asarray(got != wanted)
    tiny = np.finfo(wanted.dtype).tiny
    # Subnormals may be flushed, and what rounds to the least normal number may have been one.
    allowed = allowed + np.where(np.abs(wanted) <= tiny * (1 + 1e-6), tiny, 0)
    got, wanted = _flushed(got), _flushed(wanted)
    finite = np.isfinite(wanted)
    odd = np.where(finite, ~np.isfinite(got), (got != wanted) & ~(np.isnan(got) & np.isnan(wanted)))
    both = finite & np.isfinite(got)
    apart = np.abs(np.where(both, got, 0).astype(np.longdouble) - np.where(both, wanted, 0))
    wrong = odd | (apart > allowed)
    # Where rounding has a say there is no zero to speak of, but a small number.
    exact = allowed <= tiny + _ULPS * np.finfo(wanted.dtype).smallest_subnormal
    wrong |= (got == 0) & (wanted == 0) & (np.signbit(got) != np.signbit(wanted)) & exact & ~np.asarray(signs)
    return np.asarray(wrong)


def _value(
    seen: np.ndarray,
    wanted: np.ndarray,
    ways: list[np.ndarray] | None,
    hidden: np.ndarray,
    rng: np.random.Generator,
    count: int,
) -> _Value:
    """Return a value around what was seen, with the spread of its operands and of its own rounding."""
    if wanted.dtype.kind != "f":
        return _Value(seen, None if ways is None else [np.where(w == wanted, seen, w) for w in ways])
    tiny = np.finfo(wanted.dtype).tiny
    flushable = (seen != 0) & (np.abs(seen) <= tiny)
    if ways is None and not hidden.any() and not flushable.any():
        return _Value(seen)
    made = []
    for s in range(count):
        # All up, all down, each at random; and anywhere between, which decides where a remainder is taken.
        sign: Any = (1, -1)[s] if s < 2 else rng.choice([-1, 1], wanted.shape)
        if s >= _WAYS:
            sign = rng.uniform(-1, 1, wanted.shape)
        way = wanted if ways is None else ways[s]
        with np.errstate(all="ignore"):
            moved = seen.astype(np.longdouble) + (way.astype(np.longdouble) - wanted) + sign * hidden
            moved = np.where(np.isfinite(way) & np.isfinite(wanted) & np.isfinite(seen), moved, way)
            same = (way == wanted) | (np.isnan(way) & np.isnan(wanted))
            moved = np.where(same & (hidden == 0), seen, moved).astype(seen.dtype)
            moved = np.where((way == 0) & (seen == 0) & (hidden == 0), way, moved)
            # A zero that was open is no difference of two rounded values.
            moved = np.where((way == 0) & (np.abs(wanted) > tiny) & (np.abs(seen) > tiny), way, moved)
            # Where the order of products decides, whether they overflow on the way, all may come of it.
            moved = np.where(np.isfinite(hidden), moved, rng.choice(_EXTREMES, wanted.shape)).astype(
                seen.dtype
            )
        made.append(_flushed(moved) if s % 2 else moved)
    return _Value(seen, made)
