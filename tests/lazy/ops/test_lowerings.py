"""Every primitive that MAX may run gives the results of the host, over special and random values (D5).

All programs are compiled in one go, in a process of its own, and few of them: a hundred operations in one
program compile as fast as ten.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.graph.primitive import Primitive, resolve
from nabla_array._lazy.graph.program import Eqn, Program
from nabla_array._lazy.max.backend import load, primitives, runner
from nabla_array._lazy.max.canonical import Canonical, canonicalize, for_target
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import reduction as r
from nabla_array._lazy.ops import structure as s
from nabla_array._lazy.ops.creation import Literal, fill
from nabla_array._lazy.ops.special import LOWERED
from nabla_array._lazy.ops.special import special as scipys

pytestmark = pytest.mark.xdist_group("max")

# The narrowest and the widest integers stand for those between, which are the same code.
INTS = "bBlL"
ULPS = 4
RANDOM = 20_000  # of each distribution

# What MAX has of SciPy's functions, where there is SciPy.
SPECIAL = (
    {name: p for name in sorted(LOWERED) if (p := scipys(name)) is not None} if find_spec("scipy") else {}
)

# Where a result is a difference of large terms, its error is counted in ulps of these.
TERMS = {
    e.logaddexp: lambda x, y: np.maximum(np.abs(x), np.abs(y)),
    r.reduce_sum: lambda x, axes: np.sum(np.abs(x), axis=axes),
    r.cumsum: lambda x, axis: np.cumsum(np.abs(x), axis=axis),
}
_SCIPY_TERMS = {
    "erfc": lambda x: np.abs(x) < 1,
    # By reflection of negative numbers, by the logarithm of a quotient near 1, and by a sum up to 10.
    "gammaln": lambda x: (x < 3) + np.where(x < 0, np.abs(SPECIAL["gammaln"].host(np.abs(x))), 0),
    "psi": lambda x: 2.3 + np.where(x < 0, np.pi / np.sin(np.pi * x) ** 2, 0),
    "kl_div": lambda x, y: np.maximum(np.abs(x), np.abs(y)),
    "ndtr": lambda x: 0.5 * (np.abs(x) < np.sqrt(2)),
}
TERMS |= {p: _SCIPY_TERMS[name] for name, p in SPECIAL.items() if name in _SCIPY_TERMS}
# How far rounding errors of a sum or a product of many may add up, beyond ULPS.
LONG = {r.reduce_sum: 16, r.cumsum: 64, r.reduce_prod: 64, r.cumprod: 64}
# SciPy's own rounding errors are larger than ULPS here. Beside 40 digits, those of the kernels are at most 6
# ulp, but for erfc and ndtr far out, which round x^2 as SciPy's do.
_SCIPY_LONG = {
    "erfc": 16,
    "erfcx": 16,
    "ndtr": 16,
    "log_ndtr": 16,
    "i0": 8,
    "i0e": 8,
    "i1": 16,
    "i1e": 8,
    "psi": 8,
}
LONG |= {p: _SCIPY_LONG[name] for name, p in SPECIAL.items() if name in _SCIPY_LONG}
# Their zeros may have either sign: NumPy's own depends on where in the array they are.
ANY_ZERO = {e.fmax, e.fmin, r.reduce_max, r.reduce_min}


@dataclass(frozen=True)
class Case:
    """One operation on one of the inputs; a fill as operand is written as its value."""

    prim: Primitive
    inputs: str
    operands: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        told = [*self.operands, *(f"{k}={v}".replace(" ", "") for k, v in self.params.items())]
        return f"{self.prim.name}-{self.inputs}-{'-'.join(map(str, told))}"


def special(char: str) -> np.ndarray:
    """Return values that some operation treats in its own way."""
    dtype = np.dtype(char)
    if char == "?":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        some = [
            0,
            1,
            2,
            3,
            5,
            7,
            8,
            10,
            15,
            16,
            31,
            32,
            33,
            63,
            64,
            65,
            100,
            info.max,
            info.max - 1,
            info.min,
        ]
        some += [info.min + 1, -1, -2, -3, -7, -64, -100] if dtype.kind == "i" else []
        return np.array(some, dtype)
    info = np.finfo(dtype)
    some = [0, 0.3, 0.5, 1, 1.5, 2, 2.5, 3, 7, 10, 20, 33, 100, 1000, 1e5, 1e6, 1e7, 1e10, 1e22, 1e38, np.inf]
    some += [
        np.pi,
        np.pi / 2,
        np.pi / 4,
        22,
        np.log(2) / 2,
        1 + info.eps,
        1 - info.epsneg,
        info.eps / 2,
        1e-10,
    ]
    some += [info.max, info.tiny, info.tiny * 4, 2.0**24, 2.0**31, 2.0**53, 2.0**62, 0.1, 0.9, 0.70710678]
    some += [709.78, 709.79, 745.5, 88.72, 88.73, 103.9, 127, 1022, 1023.5, np.nan]
    with np.errstate(over="ignore"):
        out = np.array(some).astype(dtype)
    return np.concatenate([out, -out])


def random(char: str, n: int = RANDOM, seed: int = 0) -> np.ndarray:
    """Return values of the whole range, and of ordinary ones."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(char)
    bits = rng.integers(0, 256, n * dtype.itemsize, dtype=np.uint8)
    if char == "?":
        return bits < 128
    if dtype.kind in "iu":
        small = rng.integers(0 if dtype.kind == "u" else -20, 21, n)
        return np.concatenate([bits.view(dtype), small.astype(dtype)])
    parts = [rng.standard_normal(n), rng.uniform(-1, 1, n), rng.uniform(-1000, 1000, n)]
    parts += [1 + 1e-3 * rng.standard_normal(n), np.exp(rng.uniform(-40, 40, n)), rng.integers(-50, 50, n)]
    out = np.concatenate([bits.view(dtype), *[p.astype(dtype) for p in parts]])
    # Subnormal numbers may be flushed to zero: neither they are operands here, nor what a remainder
    # could leave some of.
    return np.where(np.abs(out) < 1024 * np.finfo(dtype).tiny, dtype.type(0), out)


def _pairs(char: str) -> list[np.ndarray]:
    left, right = np.meshgrid(special(char), special(char))
    x = random(char)
    y = np.random.default_rng(9).permutation(random(char, seed=1))
    return [np.concatenate([left.ravel(), x]), np.concatenate([right.ravel(), y])]


def _table(char: str) -> np.ndarray:
    """Return values with two long axes, and a short one between that is written out."""
    x = np.random.default_rng(3).standard_normal((12, 7, 50)) * 3
    return (
        (x > 0) if char == "?" else x.astype(char) if char in "fd" else (x * 10).astype(np.int64).astype(char)
    )


def inputs(name: str) -> list[np.ndarray]:
    """Return the arrays that a case's `inputs` names: a word and a dtype's character."""
    word, char = name[:-1], name[-1]
    if word == "pair":
        return _pairs(char)
    if word == "whole":  # floats that every integer type but the narrowest can hold
        whole = np.array([0, -0.0, 0.5, 1.5, 100, 100.9, 126.99])
        return [np.concatenate([whole, np.random.default_rng(4).uniform(0, 127, 100)]).astype(char)]
    if word == "select":
        x, y = _pairs(char)
        return [np.random.default_rng(5).random(x.size) < 0.5, x, y]
    if word == "table":
        return [_table(char)]
    if word == "odd":  # nan, infinities, zeros of both signs and equal values, in different places
        x = _table(char)
        x[0, 0, 3], x[1, :, 5], x[2, 1, 7:9], x[2, 2, 9], x[3] = np.nan, np.inf, -np.nan, -np.inf, 0
        x[3, ::2, ::3] = -0.0
        x[4] = np.round(x[4])
        return [x]
    if word == "long":
        return [np.random.default_rng(6).uniform(-1, 1, 300_000).astype(char)]
    assert word == "one"
    return [np.concatenate([special(char), random(char)])]


def _lowered(operands: int, char: str) -> list[Primitive]:
    """Return the operations on so many operands of a dtype that are ufuncs, and that MAX may run on it."""
    dtypes = (np.dtype(char),) * operands
    found = []
    for prim in [*primitives().values(), *SPECIAL.values()]:
        if prim.kind == "elementwise" and prim.ufunc is not None and prim.ufunc.nin == operands:
            with suppress(TypeError):
                if prim.max and dtypes[0].kind in prim.max_kinds and resolve(prim, dtypes)[:-1] == dtypes:
                    found.append(prim)
    return found


def _elementwise_cases() -> Iterator[Case]:
    for char in "?fd" + INTS:
        for prim in _lowered(1, char):
            yield Case(prim, "one" + char, (0,))
        for prim in _lowered(2, char):
            yield Case(prim, "pair" + char, (0, 1))
    for char in "fd":
        for prim in (e.add, e.sub, e.mul, e.div, e.eq, e.ne, e.lt, e.le, e.gt, e.ge):
            # What a compiler is tempted to simplify.
            yield Case(prim, "one" + char, (0, 0))
            for value in (0.0, -0.0, 1.0, -1.0):
                yield Case(prim, "one" + char, (0, np.dtype(char).type(value)))
                yield Case(prim, "one" + char, (np.dtype(char).type(value), 0))
        for decimals in (0, 1, 3, -1, -2):
            yield Case(e.round_, "one" + char, (0,), {"decimals": decimals})
    for char in INTS:
        yield Case(e.sub, "one" + char, (np.dtype(char).type(0), 0))
    for char in "HI":  # with "B" and "L", every unsigned one
        yield Case(e.pow_, "pair" + char, (0, 1))


def _move_cases() -> Iterator[Case]:
    yield Case(s.alias, "tabled", (0,))
    yield Case(s.stop_gradient, "tabled", (0,))
    for char, other in itertools.product("?fd" + INTS, repeat=2):
        words = "whole" if char in "fd" and other in INTS else "one"
        yield Case(e.cast, words + char, (0,), {"dtype": np.dtype(other)})
    for char in "?fd" + INTS:
        yield Case(e.select, "select" + char, (0, 1, 2))
    for char in "?di":
        yield Case(s.permute, "table" + char, (0,), {"axes": (2, 0, 1)})
        yield Case(s.reshape, "table" + char, (0,), {"shape": (7, 12, 10, 5)})
        yield Case(s.broadcast, "table" + char, (0,), {"shape": (12, 2, 7, 50), "axes": (0, 2, 3)})
        for step in (4, -4):
            start = 3 if step > 0 else 45
            params = {"start": (1, 0, start), "size": (11, 7, 10), "step": (1, 1, step)}
            yield Case(s.slice_, "table" + char, (0,), params)
        yield Case(s.concat, "table" + char, (0, 0), {"axis": 1})


# Each loop costs seconds to compile. All run on float64 over a short axis, the last one, the first one, and
# two; on the others, of which some stand for those that are cast to them and back, over the last one.
def _reductions(kind: str) -> list[Primitive]:
    return [p for p in primitives().values() if p.kind == "reduce" and p.max and kind in p.max_kinds]


LOOPS = {char: _reductions(kind) for char, kind in {"d": "f", "f": "f", "?": "b", "l": "i"}.items()}
LOOPS |= {"b": LOOPS["l"][::2], "L": LOOPS["l"][1::2]}


def _reduction_cases() -> Iterator[Case]:
    for char, prims in LOOPS.items():
        axes = ((1,), (2,), (0,), (0, 2)) if char == "d" else ((2,),)
        word = "odd" if char in "fd" else "table"
        for prim, some in itertools.product(prims, axes):
            table = "table" if prim in (r.reduce_sum, r.reduce_prod) else word
            yield Case(prim, table + char, (0,), {"axes": some})
        yield Case(r.reduce_count, "table" + char, (0,), {"axes": (2,)})
        if char in "fdl":
            for prim, some in itertools.product((r.argmax, r.argmin), axes[:3]):
                yield Case(prim, word + char, (0,), {"axis": some[0]})
            for prim, axis in itertools.product((r.cumsum, r.cumprod), (2, 0, 1) if char == "d" else (2,)):
                yield Case(prim, "table" + char, (0,), {"axis": axis})
    for char in "fd":
        yield Case(r.reduce_sum, "odd" + char, (0,), {"axes": (2,)})
        yield Case(r.reduce_sum, "long" + char, (0,), {"axes": (0,)})
        yield Case(r.cumsum, "long" + char, (0,), {"axis": 0})
        yield Case(r.cumsum, "odd" + char, (0,), {"axis": 2})


CASES = [*_elementwise_cases(), *_move_cases(), *_reduction_cases()]


def _program(cases: list[Case]) -> Program:
    """Return one program that gives the result of every case; they have the same inputs."""
    avals = tuple(aval_of_value(x) for x in inputs(cases[0].inputs))
    eqns: list[Eqn] = []
    outputs = []

    def add(prim: Primitive, ins: tuple[int, ...], params: dict[str, Any]) -> int:
        known = [*avals, *(eqn.aval for eqn in eqns)]
        aval = prim.aval(*[known[i] for i in ins], **params)
        eqns.append(Eqn(prim, ins, tuple(params.items()), aval))
        return len(known)

    for case in cases:
        ins = [
            i if isinstance(i, int) else add(fill, (), {"value": Literal(i), "shape": avals[0].shape})
            for i in case.operands
        ]
        outputs.append(add(case.prim, tuple(ins), case.params))
    return Program(avals, tuple(eqns), tuple(outputs))


_COMPILE = """
import json, sys
from pathlib import Path
from nabla_array._lazy.max.backend import compile_programs
compile_programs(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
"""


def compile_keys(keys: list[str], folder: Path) -> None:
    """Compile canonical programs into `folder`/mef, in a process of its own."""
    pytest.importorskip("max")
    (folder / "keys").write_text(json.dumps(keys))
    command = [sys.executable, "-c", _COMPILE, str(folder / "keys"), str(folder / "mef")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (folder / "mef").exists(), done.stderr[-4000:]


def compile_cases(cases: list[Case], folder: Path, target: str = "") -> dict[str, Canonical]:
    """Compile the cases into `folder`/mef, one graph for those that have the same inputs, which name it."""
    canonical = {name: canonicalize(_program(some)) for name, some in by_inputs(cases).items()}
    compile_keys([for_target(c.key, target) if target else c.key for c in canonical.values()], folder)
    return canonical


def by_inputs(cases: list[Case]) -> dict[str, list[Case]]:
    """Return the cases by the name of their inputs."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.inputs, []).append(case)
    return groups


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """What MAX gives, for every case."""
    folder = tmp_path_factory.mktemp("max")
    canonical = compile_cases(CASES, folder)
    models = load("test_lowerings", (folder / "mef").read_bytes())
    out = {}
    for i, (name, cases) in enumerate(by_inputs(CASES).items()):
        run = runner(models[f"g{i}"], canonical[name].inputs, canonical[name].outputs)
        for case, array in zip(cases, run(*inputs(name)), strict=True):
            out[str(case)] = array
    return out


def _host(case: Case) -> tuple[list[np.ndarray], np.ndarray]:
    arrays = inputs(case.inputs)
    operands = [
        arrays[i] if isinstance(i, int) else np.full(arrays[0].shape, i, i.dtype) for i in case.operands
    ]
    with np.errstate(all="ignore"):
        return operands, np.asarray(case.prim.host(*operands, **case.params))


def _flushed(x: np.ndarray) -> np.ndarray:
    # The least normal number may be a subnormal one, rounded up.
    return np.where(np.abs(x) <= np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_max_gives_the_hosts_result(case: Case, results: dict[str, np.ndarray]) -> None:
    check(case, results[str(case)])


def check(case: Case, got: np.ndarray) -> None:
    """Compare what MAX gave for a case with what the host gives."""
    operands, wanted = _host(case)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind != "f":
        wrong = got != wanted
    else:
        if case.prim is not e.nextafter:
            got, wanted = _flushed(got), _flushed(wanted)
        with np.errstate(all="ignore"):
            scale = np.abs(wanted)
            if case.prim in TERMS:
                scale = np.maximum(scale, TERMS[case.prim](*operands, **case.params).astype(wanted.dtype))
            ulp = np.spacing(np.clip(scale, np.finfo(scale.dtype).tiny, np.finfo(scale.dtype).max))
            near = np.abs(got - wanted) <= LONG.get(case.prim, ULPS) * ulp
        same = (
            (got == wanted)
            | (np.isfinite(got) & np.isfinite(wanted) & near)
            | (np.isnan(got) & np.isnan(wanted))
        )
        if case.prim not in ANY_ZERO and case.prim not in TERMS:
            same &= (np.signbit(got) == np.signbit(wanted)) | np.isnan(wanted)
        wrong = ~same
    if wrong.any():
        places = np.argwhere(wrong)[:5]
        shown = [
            (
                [x[tuple(p)] for x in operands] if wrong.shape == operands[0].shape else "",
                got[tuple(p)],
                wanted[tuple(p)],
            )
            for p in places
        ]
        pytest.fail(f"{wrong.sum()} of {wrong.size} differ (operands, MAX, host): {shown}")


def test_every_lowering_has_a_case() -> None:
    lowered = {p for p in [*primitives().values(), *SPECIAL.values()] if p.max is not None}
    assert lowered <= {case.prim for case in CASES} | {fill}
