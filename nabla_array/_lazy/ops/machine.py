"""How machine code does operations: the rules in the records' field `llvm`, for `cpu/machine.py`.

The rule of an elementwise operation is ``(code, dtype, *scalars, **params) -> scalar``: it writes the
instructions for one element, of which `dtype` is the result's. That of a reduction joins two elements so.
That of another operation is ``(code, aval, *values, **params) -> value`` (or a tuple). For dtypes that it is
not for, a rule returns None, or NotImplemented where the ufunc's own loop does it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..graph.aval import aval_of

Rule = Callable[..., Any]
_DOUBLE, _TRUTH = np.dtype(float), np.dtype(bool)


def _of_kind(by_kind: dict[str, Any], dtype: np.dtype) -> Any:
    return next((found for kinds, found in by_kind.items() if dtype.kind in kinds), None)


def instruction(**by_kind: str) -> Rule:
    """Make the rule of one instruction; ``f="fadd", iu="add"``: which, by the kind of the operands' dtype."""

    def rule(code: Any, dtype: np.dtype, *xs: Any) -> Any:
        name = _of_kind(by_kind, xs[0].dtype)
        if name is None:
            return NotImplemented
        return code.scalar(f"{name} {xs[0].type} {', '.join([x.name for x in xs])}", dtype)

    return rule


def intrinsic(**by_kind: str) -> Rule:
    """Make the rule of one of LLVM's functions; the operand itself where its name is ''."""

    def rule(code: Any, dtype: np.dtype, *xs: Any) -> Any:
        name = _of_kind(by_kind, dtype)
        if name is None:
            return NotImplemented
        return code.call(name, dtype, *xs) if name else xs[0]

    return rule


def loops(kinds: str) -> Rule:
    """Leave dtypes of these kinds to the ufunc's loop; for others the host has another function."""

    def rule(code: Any, dtype: np.dtype, *xs: Any) -> Any:
        return NotImplemented if xs[0].dtype.kind in kinds else None

    return rule


def ordered(how: str) -> Rule:
    """Make the rule of a comparison: "lt", "ge" and so on."""
    return instruction(f=f"fcmp o{how}", i=f"icmp s{how}", ub=f"icmp u{how}")


def extreme(how: str, is_nan_left_out: bool) -> Rule:
    """Make the rule of the operand that is greater ("gt"), or less ("lt"); nan is both, or is left out."""
    beats = ordered(how)

    def rule(code: Any, dtype: np.dtype, x: Any, y: Any) -> Any:
        first = beats(code, _TRUTH, x, y)
        if dtype.kind == "f":
            odd = y if is_nan_left_out else x
            is_nan = code.scalar(f"fcmp uno {odd.type} {odd.name}, {odd.name}", _TRUTH)
            first = code.scalar(f"or i1 {first.name}, {is_nan.name}", _TRUTH)
        return select(code, dtype, first, x, y)

    return rule


def select(code: Any, dtype: np.dtype, mask: Any, x: Any, y: Any) -> Any:
    return code.scalar(f"select i1 {mask.name}, {x.type} {x.name}, {y.type} {y.name}", dtype)


def neg(code: Any, dtype: np.dtype, x: Any) -> Any:
    return code.scalar(f"fneg {x.type} {x.name}" if dtype.kind == "f" else f"sub {x.type} 0, {x.name}", dtype)


def absolute(code: Any, dtype: np.dtype, x: Any) -> Any:
    if dtype.kind == "i":
        return code.call("abs", dtype, x, more=", i1 false")
    return code.call("fabs", dtype, x) if dtype.kind == "f" else x


def square(code: Any, dtype: np.dtype, x: Any) -> Any:
    return code.scalar(f"{'fmul' if dtype.kind == 'f' else 'mul'} {x.type} {x.name}, {x.name}", dtype)


def reciprocal(code: Any, dtype: np.dtype, x: Any) -> Any:
    if dtype.kind != "f":
        return NotImplemented
    one = code.constant(1, dtype)
    return code.scalar(f"fdiv {x.type} {one.name}, {x.name}", dtype)


def isnan(code: Any, dtype: np.dtype, x: Any) -> Any:
    if x.dtype.kind != "f":
        return NotImplemented
    return code.scalar(f"fcmp uno {x.type} {x.name}, {x.name}", dtype)


def compared_size(how: str) -> Rule:
    """Make the rule that compares an element's size with infinity."""

    def rule(code: Any, dtype: np.dtype, x: Any) -> Any:
        if x.dtype.kind != "f":
            return NotImplemented
        size, infinity = code.call("fabs", x.dtype, x), code.constant(math.inf, x.dtype)
        return code.scalar(f"fcmp {how} {x.type} {size.name}, {infinity.name}", dtype)

    return rule


def signbit(code: Any, dtype: np.dtype, x: Any) -> Any:
    if x.dtype.kind != "f":
        return NotImplemented
    n = 8 * x.dtype.itemsize
    bits = code.scalar(f"bitcast {x.type} {x.name} to i{n}", np.dtype(f"i{n // 8}"))
    return code.scalar(f"icmp slt i{n} {bits.name}, 0", dtype)


def cast(code: Any, given: np.dtype, x: Any, dtype: np.dtype) -> Any:
    """Convert as C does, where that has a meaning, and else as processors do (the least integer)."""
    old, new = x.dtype.kind, dtype.kind
    if new == "b":
        zero = code.constant(0, x.dtype)
        return x if old == "b" else code.scalar(f"{_UNEQUAL[old]} {x.type} {x.name}, {zero.name}", dtype)
    if old == "f" and new in "iu":
        return _rounded(code, x, dtype) if new == "i" and dtype.itemsize >= 4 else None
    if x.dtype == dtype or (old != "f" and new != "f" and old != "b" and x.dtype.itemsize == dtype.itemsize):
        return code.named(x.name, dtype)
    is_wider = dtype.itemsize > x.dtype.itemsize or old == "b"
    if old == new == "f":
        how = "fpext" if is_wider else "fptrunc"
    elif new == "f":
        how = "sitofp" if old == "i" else "uitofp"
    else:
        how = ("sext" if old == "i" else "zext") if is_wider else "trunc"
    return code.scalar(f"{how} {x.type} {x.name} to {code.type_of(dtype)}", dtype)


_UNEQUAL = {"f": "fcmp une", "i": "icmp ne", "u": "icmp ne"}


def _rounded(code: Any, x: Any, dtype: np.dtype) -> Any:
    least, truth = np.iinfo(dtype).min, _TRUTH
    low, high = code.constant(float(least), x.dtype), code.constant(-float(least), x.dtype)
    if x.dtype.itemsize > dtype.itemsize:  # what is rounded up to the least
        low = code.constant(float(least) - 1, x.dtype)
    above = code.scalar(
        f"fcmp {'ogt' if x.dtype.itemsize > dtype.itemsize else 'oge'} {x.type} {x.name}, {low.name}", truth
    )
    below = code.scalar(f"fcmp olt {x.type} {x.name}, {high.name}", truth)
    fits = code.scalar(f"and i1 {above.name}, {below.name}", truth)
    found = code.scalar(f"fptosi {x.type} {x.name} to {code.type_of(dtype)}", dtype)
    return select(code, dtype, fits, found, code.constant(least, dtype))


def rounded(code: Any, dtype: np.dtype, x: Any, decimals: int) -> Any:
    if dtype.kind != "f":
        return x if decimals >= 0 else None
    ten = code.constant(10.0 ** abs(decimals), dtype)
    there, back = ("fmul", "fdiv") if decimals >= 0 else ("fdiv", "fmul")
    if decimals:
        x = code.scalar(f"{there} {x.type} {x.name}, {ten.name}", dtype)
    x = code.call("rint", dtype, x)
    return code.scalar(f"{back} {x.type} {x.name}, {ten.name}", dtype) if decimals else x


# -- structure -------------------------------------------------------------------------------------------


def concat(code: Any, aval: Any, *xs: Any, axis: int) -> Any:
    out, first = code.room(aval), 0
    for x in xs:
        n = x.aval.shape[axis]
        code.copy(x, out.view(lambda a, s=(*[slice(None)] * axis, slice(first, first + n)): a[s]))
        first += n
    return out


def update(code: Any, aval: Any, x: Any, value: Any, key: Any) -> Any:
    """Copy a value, and write another one over a part of it."""
    out = code.room(aval)
    code.copy(x, out)
    code.copy(value, out.view(lambda a: a[(*key, ...)]))
    return out


def matmul(code: Any, aval: Any, x: Any, y: Any) -> Any:
    """Sum products of rows and columns; larger matrices are BLAS's."""
    is_float = aval.dtype.kind == "f"
    if aval.dtype.kind == "b" or (code.is_exact and is_float and aval.ndim > 2):
        return None
    *lead, m, n = aval.shape
    k, out = x.aval.shape[-1], code.room(aval)
    if is_float and (code.is_exact or m * k * n > _MOST_PRODUCTS):
        return code.product(x, y, out)
    zero = code.constant(0, aval.dtype)
    times, plus = ("fmul reassoc contract", "fadd reassoc contract") if is_float else ("mul", "add")

    def term(at: Sequence[Any], j: Any, i: Any) -> Any:
        a, b = x.at([*at[:-1], i]), y.at([*at[:-2], i, j])
        return code.scalar(f"{times} {a.type} {a.name}, {b.name}", aval.dtype)

    def add(a: Any, b: Any) -> Any:
        return code.scalar(f"{plus} {a.type} {a.name}, {b.name}", aval.dtype)

    if n == 1 or not y.is_dense():  # a sum a time

        def dot(at: Any) -> None:
            out.put(at, code.fold(k, zero, lambda total, i: add(total, term(at, at[-1], i))))

        code.each(aval.shape, dot)
        return out

    def row(at: Any) -> None:  # sums of a row at a time
        code.each((n,), lambda j: out.put([*at, *j], zero))
        code.repeat(
            k,
            lambda i: code.each(
                (n,), lambda j: out.put([*at, *j], add(out.at([*at, *j]), term([*at, *j], j[0], i)))
            ),
        )

    code.each((*lead, m), row)
    return out


# Products of numbers from which BLAS is worth a call.
_MOST_PRODUCTS = 1 << 14


# -- along axes ------------------------------------------------------------------------------------------


def count(code: Any, aval: Any, x: Any, axes: Sequence[int]) -> Any:
    if x.aval.dtype.kind not in "biuf":
        return None

    def one(at: Any) -> Any:
        return cast(code, aval.dtype, cast(code, _TRUTH, x.at(at), _TRUTH), aval.dtype)

    ones = code.formula(x.aval, one)
    return code.reduce(aval, ones, axes, instruction(i="add"), code.constant(0, aval.dtype))


def accumulate(join: Rule) -> Rule:
    """Make the rule of an operation that joins each element to those before it."""

    def rule(code: Any, aval: Any, x: Any, axis: int) -> Any:
        if aval.dtype.kind == "b":
            return None
        out, total = code.room(aval), code.room_for(aval.element)

        def element(at: Any, i: Any, is_first: bool = False) -> None:
            here = [*at[:axis], i, *at[axis:]]
            value = x.at(here)
            total.put([], value if is_first else join(code, aval.dtype, total.at([]), value))
            out.put(here, total.at([]))

        def row(at: Any) -> None:
            element(at, 0, is_first=True)
            code.repeat(aval.shape[axis] - 1, lambda i: element(at, code.offset(i, 1, 1)))

        if aval.size:
            code.each((*aval.shape[:axis], *aval.shape[axis + 1 :]), row)
        return out

    return rule


def index_of(how: str) -> Rule:
    """Make the rule of the place of the greatest ("gt") or least ("lt") element: nan, if there is one."""

    def beats(code: Any, new: Any, old: Any) -> Any:
        found = ordered(how)(code, _TRUTH, new, old)
        if new.dtype.kind != "f":
            return found
        odd = code.scalar(f"fcmp uno {new.type} {new.name}, {new.name}", _TRUTH)
        fine = code.scalar(f"fcmp ord {old.type} {old.name}, {old.name}", _TRUTH)
        both = code.scalar(f"and i1 {odd.name}, {fine.name}", _TRUTH)
        return code.scalar(f"or i1 {found.name}, {both.name}", _TRUTH)

    def rule(code: Any, aval: Any, x: Any, axis: int) -> Any:
        out, best = code.room(aval), code.room_for(x.aval.element)
        place = code.room_for(aval.element)

        def element(at: Any, i: Any) -> None:
            new, old = x.at([*at[:axis], i, *at[axis:]]), best.at([])
            is_better = beats(code, new, old)
            best.put([], select(code, x.aval.dtype, is_better, new, old))
            here = code.named(str(i), aval.dtype)
            place.put([], select(code, aval.dtype, is_better, here, place.at([])))

        def row(at: Any) -> None:
            best.put([], x.at([*at[:axis], 0, *at[axis:]]))
            place.put([], code.constant(0, aval.dtype))
            code.repeat(x.aval.shape[axis] - 1, lambda i: element(at, code.offset(i, 1, 1)))
            out.put(at, place.at([]))

        code.each(aval.shape, row)
        return out

    return rule


# -- indices ---------------------------------------------------------------------------------------------


def _place(code: Any, aval: Any, at: Any, indices: Any, axes: Any, batch: int) -> list[Any]:
    """Return where in an array the element is that `at` stands for, in the order of `gather`."""
    ndim = indices[0].aval.ndim
    found = {a: code.position(i.at(at[:ndim]), aval.shape[a]) for a, i in zip(axes, indices, strict=True)}
    rest = iter(at[ndim:])
    return [at[a] if a < batch else found[a] if a in found else next(rest) for a in range(aval.ndim)]


def gather(code: Any, aval: Any, x: Any, *indices: Any, axes: Any, batch: int) -> Any:
    (x,), indices = code.stored([x]), code.stored(indices)
    return code.formula(aval, lambda at: x.at(_place(code, x.aval, at, indices, axes, batch)))


def scatter(code: Any, aval: Any, x: Any, value: Any, *indices: Any, axes: Any, batch: int, mode: str) -> Any:
    join, indices = _JOINS[mode], code.stored(indices)
    if aval.dtype.kind == "b" and join is not None:
        return None
    out = code.room(aval)
    code.copy(x, out)

    def write(at: Any) -> None:
        new, where = value.at(at), _place(code, aval, at, indices, axes, batch)
        out.put(where, new if join is None else join(code, aval.dtype, out.at(where), new))

    code.each(value.aval.shape, write)
    return out


_JOINS = {
    "set": None,
    "add": instruction(f="fadd", iu="add"),
    "mul": instruction(f="fmul", iu="mul"),
    "max": extreme("gt", False),
    "min": extreme("lt", False),
}


# -- matrices --------------------------------------------------------------------------------------------

# Rows of a matrix that is decomposed here; LAPACK does larger ones. Up to so many are written out one by one.
_MOST_ROWS, _FEW_ROWS = 8, 4


def _each(code: Any, n: int, first: int, last: int, body: Callable[[Any], None]) -> None:
    """Do something for each of some rows or columns of a matrix of n rows."""
    if n > _FEW_ROWS:
        code.repeat(last - first, lambda i: body(code.offset(i, 1, first)))
    else:
        for i in range(first, last):
            body(i)


def _each_matrix(code: Any, lead: Sequence[int], n: int, body: Callable[[Any], None]) -> None:
    """Do something for each of some matrices of n rows."""
    if n > _FEW_ROWS:
        code.loops(lead, [], body)
    else:
        code.each(lead, body)


def solve(code: Any, aval: Any, a: Any, b: Any = None) -> Any:
    """Solve linear equations, or invert a matrix, in double precision, as Gauss does with the largest pivots.

    NumPy tells of singular matrices.
    """
    *lead, n, m = aval.shape
    if code.is_exact or n > _MOST_ROWS or aval.dtype.kind != "f":
        return None
    out = code.room(aval)
    square, right = code.room_for(aval_of((n, n), _DOUBLE)), code.room_for(aval_of((n, m), _DOUBLE))

    def copied(at: Any, x: Any, rows: Any) -> None:
        def element(i: Any, j: Any) -> None:
            rows.put([i, j], cast(code, _DOUBLE, x.at([*at, i, j]), _DOUBLE))

        _each(code, n, 0, n, lambda i: _each(code, n, 0, rows.aval.shape[1], partial(element, i)))

    def clear(i: int, j: Any) -> None:
        right.put([i, j], code.constant(0, _DOUBLE))

    def take(k: int, i: Any) -> None:
        _subtract(code, right, k, i, square.at([k, i]))

    def divide(at: Any, k: int, j: Any) -> None:
        found = _double(code, "fdiv", right.at([k, j]), square.at([k, k]))
        right.put([k, j], found)
        out.put([*at, k, j], cast(code, aval.dtype, found, aval.dtype))

    def one(at: Any) -> None:
        copied(at, a, square)
        if b is not None:
            copied(at, b, right)
        else:
            for i in range(n):
                _each(code, n, 0, n, partial(clear, i))
                right.put([i, i], code.constant(1, _DOUBLE))
        for k in range(n):
            _eliminate(code, k, square, right)
        for k in range(n - 1, -1, -1):
            _each(code, n, k + 1, n, partial(take, k))
            _each(code, n, 0, m, partial(divide, at, k))

    _each_matrix(code, lead, n, one)
    return out


def _double(code: Any, name: str, x: Any, y: Any) -> Any:
    return code.scalar(f"{name} double {x.name}, {y.name}", _DOUBLE)


def _eliminate(code: Any, k: int, square: Any, right: Any) -> None:
    """Put the row with the largest pivot first, and take it from the rows below."""
    n = square.aval.shape[0]

    def exchange(i: Any) -> None:
        old, new = (code.call("fabs", _DOUBLE, square.at([row, k])) for row in (k, i))
        is_larger = ordered("gt")(code, _TRUTH, new, old)

        def element(rows: Any, j: Any) -> None:
            x, y = rows.at([k, j]), rows.at([i, j])
            rows.put([k, j], select(code, _DOUBLE, is_larger, y, x))
            rows.put([i, j], select(code, _DOUBLE, is_larger, x, y))

        for rows in (square, right):
            _each(code, n, 0, rows.aval.shape[1], partial(element, rows))

    _each(code, n, k + 1, n, exchange)
    pivot = square.at([k, k])
    code.unless(code.scalar(f"fcmp une double {pivot.name}, 0.0", _TRUTH))

    def reduce(i: Any) -> None:
        factor = _double(code, "fdiv", square.at([i, k]), pivot)
        for rows in (square, right):
            _subtract(code, rows, i, k, factor)

    _each(code, n, k + 1, n, reduce)


def _subtract(code: Any, rows: Any, i: Any, k: Any, factor: Any) -> None:
    """Subtract a multiple of a row from another one."""
    n, m = rows.aval.shape

    def element(j: Any) -> None:
        part = _double(code, "fmul contract", factor, rows.at([k, j]))
        rows.put([i, j], _double(code, "fsub contract", rows.at([i, j]), part))

    _each(code, n, 0, m, element)


def cholesky(code: Any, aval: Any, x: Any, upper: bool) -> Any:
    """Factorize a matrix in double precision; NumPy tells of one that is not positive definite."""
    *lead, n, _ = aval.shape
    if code.is_exact or n > _MOST_ROWS or aval.dtype.kind != "f":
        return None
    out, rows = code.room(aval), code.room_for(aval_of((n, n), _DOUBLE))

    def one(at: Any) -> None:
        for i in range(n):
            for j in range(i + 1):
                here, other = ([j, i], [i, j])[:: 1 if upper else -1]
                total = cast(code, _DOUBLE, x.at([*at, *here]), _DOUBLE)
                for k in range(j):
                    part = _double(code, "fmul contract", rows.at([i, k]), rows.at([j, k]))
                    total = _double(code, "fsub contract", total, part)
                if i == j:
                    code.unless(code.scalar(f"fcmp ogt double {total.name}, 0.0", _TRUTH))
                    total = code.call("sqrt", _DOUBLE, total)
                else:
                    total = _double(code, "fdiv", total, rows.at([j, j]))
                    out.put([*at, *other], code.constant(0, aval.dtype))
                rows.put([i, j], total)
                out.put([*at, *here], cast(code, aval.dtype, total, aval.dtype))

    _each_matrix(code, lead, n, one)
    return out
