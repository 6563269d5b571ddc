"""The steps that random programs on arrays are made of: each draws what it does, and does it to both."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .numpy_programs import DTYPES, Machine, Shape, compare, step

# How often each step comes in a program of each sort.
ALIASING = {"view": 4, "write": 4, "in_place": 2, "copy": 1, "look": 1}
EVERYTHING = {
    **{
        "view": 5,
        "write": 4,
        "in_place": 4,
        "copy": 1,
        "look": 1,
        "new": 1,
        "change": 4,
        "set_": 1,
        "more_views": 3,
    },
    **{
        "unary": 2,
        "binary": 3,
        "reduction": 3,
        "method": 3,
        "function": 2,
        "out": 4,
        "ufunc_method": 3,
        "at": 2,
    },
}

step(Machine.new)


# -- views ---------------------------------------------------------------------------------------------


@step
def view(m: Machine) -> None:
    i, ours, theirs = m.some()
    n = theirs.ndim
    kind = m.pick(
        "key", "key", "key", "part", "T", "mT", "reshape", "reshape", "flip", "broadcast", "item", "permute"
    )
    if kind == "key":
        mine, its = m.key(theirs.shape, basic=True)
        m.keep(f"x{i}[{its}]", lambda: ours[mine], lambda: theirs[its])
    elif kind in ("T", "mT"):
        m.keep(f"x{i}.{kind}", lambda: getattr(ours, kind), lambda: getattr(theirs, kind))
    elif kind == "part":
        part = m.pick("real", "imag") if theirs.dtype.kind == "c" else "real"
        m.keep(f"x{i}.{part}", lambda: getattr(ours, part), lambda: getattr(theirs, part))
    elif kind == "reshape":
        shape = other_shape(m, theirs)
        m.keep(f"x{i}.reshape({shape})", lambda: ours.reshape(shape), lambda: theirs.reshape(shape))
    elif kind == "flip" and n:
        axis = m.pick(None, *range(-n, n))
        m.view_of(i, "flip", axis)
    elif kind == "permute":
        axes = tuple(m.order(n))
        m.keep(f"x{i}.transpose({axes})", lambda: ours.transpose(axes), lambda: theirs.transpose(axes))
    elif kind == "broadcast":
        m.view_of(
            i, "broadcast_to", (*m.pick((), (2,)), *(m.pick(k, 2) if k == 1 else k for k in theirs.shape))
        )
    elif kind == "item" and n and len(theirs):
        k = m.number(0, len(theirs) - 1)
        m.keep(f"list(x{i})[{k}]", lambda: list(ours)[k], lambda: list(theirs)[k])


@step
def more_views(m: Machine) -> None:
    i, ours, theirs = m.some()
    kind = m.pick(
        "swapaxes", "moveaxis", "expand_dims", "ravel", "squeeze", "split", "diagonal", "view", "bits", "rows"
    )
    if kind in ("swapaxes", "moveaxis"):
        m.view_of(i, kind, m.axis(theirs), m.axis(theirs))
    elif kind == "expand_dims":
        m.view_of(i, kind, m.number(-theirs.ndim - 1, theirs.ndim))
    elif kind == "split":
        m.view_of(i, "array_split", m.number(1, 3), m.axis(theirs))
    elif kind == "diagonal":
        m.view_of(i, kind, m.number(-1, 2))
    elif kind == "bits":
        dtype = np.dtype(m.pick(*DTYPES[1:]))
        m.keep(f"x{i}.view({dtype})", lambda: ours.view(dtype), lambda: theirs.view(dtype))
    elif kind == "rows" and theirs.ndim:
        m.keep(f"[*x{i}]", lambda: [*ours], lambda: [*theirs])
    elif kind in ("ravel", "squeeze", "view"):
        m.keep(f"x{i}.{kind}()", lambda: getattr(ours, kind)(), lambda: getattr(theirs, kind)())


def other_shape(m: Machine, a: np.ndarray) -> Shape:
    splits = [(a.size,), (-1,), (1, a.size), a.shape, a.shape[::-1], (1, *a.shape)]
    splits += [(n, a.size // n) for n in (2, 3, 4) if a.size and a.size % n == 0]
    splits += [(*a.shape[:-2], a.shape[-2] * a.shape[-1])] if a.ndim > 1 else []
    return m.pick(*splits) if a.size else m.pick(a.shape, (0,), (2, 0), a.shape[::-1])


# -- writes --------------------------------------------------------------------------------------------


@step
def write(m: Machine) -> None:
    i, ours, theirs = m.some()
    mine, its = m.key(theirs.shape, basic=False)
    new, wanted = m.value(theirs.dtype, m.shape_at(theirs, its))
    if not m.odd(theirs, its, wanted):
        m.both(
            f"x{i}[{its}] = {wanted!r}",
            lambda: operator.setitem(ours, mine, new),
            lambda: operator.setitem(theirs, its, wanted),
        )


def is_told_apart(name: str, x: Any, y: Any) -> bool:
    """Say whether a known difference would show.

    Infinities are divided as the standard says; an integer to a negative power fails once it is evaluated.
    """
    values = np.concatenate([np.ravel(x), np.ravel(y)])
    if name in ("floor_divide", "remainder", "ifloordiv", "imod"):
        return not np.isfinite(values).all()
    return name in ("power", "ipow") and values.dtype.kind in "iu" and bool((values < 0).any())


def update(x: Any, key: Any, function: Any, value: Any) -> None:
    x[key] = function(x[key], value)


IN_PLACE = (
    "iadd",
    "isub",
    "imul",
    "iadd",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "iand",
    "ior",
    "ixor",
)


@step
def in_place(m: Machine) -> None:
    i, ours, theirs = m.some()
    name = m.pick(*IN_PLACE)
    function = getattr(operator, name)
    new, wanted = m.value(theirs.dtype, theirs.shape)
    if is_told_apart(name, theirs, wanted):
        return
    if not theirs.shape and ours._view is None:
        # What would be a scalar in NumPy: `+=` makes a new one.
        m.keep(
            f"{name}(x{i}[()], {wanted!r})", lambda: function(ours, new), lambda: function(theirs[()], wanted)
        )
        return
    if not theirs.flags.writeable:  # NumPy finds that out after it has found out the rest, or before
        return
    if m.flip():
        m.both(
            f"{name}(x{i}, {wanted!r})", lambda: function(ours, new), lambda: function(theirs, wanted), True
        )
        return
    mine, its = m.key(theirs.shape, basic=False)
    if m.shape_at(theirs, its) and not m.odd(theirs, its, wanted):
        m.both(
            f"{name}(x{i}[{its}], {wanted!r})",
            lambda: update(ours, mine, function, new),
            lambda: update(theirs, its, function, wanted),
            True,
        )


@step
def change(m: Machine) -> None:
    """Change an array by a function or a method of it."""
    i, ours, theirs = m.some()
    if not theirs.flags.writeable:
        return
    x = (ours, theirs)
    new = m.value(theirs.dtype, theirs.shape)
    kind = m.pick(
        "fill", "flat", "put", "copyto", "putmask", "place", "fill_diagonal", "sort", "part", "slots"
    )
    if kind in ("flat", "put", "putmask", "place") and np.may_share_memory(theirs, new[1]):
        return  # NumPy reads what it has written
    if kind == "fill":
        one = m.pick(0, 1, 3, True, 2.5)
        m.change(f"x{i}.fill({one})", lambda np, o: o[0].fill(one), x)
    elif kind == "flat" and theirs.size:
        key = m.pick(m.slice(theirs.size), slice(None))
        if not np.ndim(new[1]):
            key = m.pick(key, m.number(-theirs.size, theirs.size - 1))
        m.change(
            f"x{i}.flat[{key}] = {new[1]!r}", lambda np, o: operator.setitem(o[0].flat, key, o[1]), x, new
        )
    elif kind == "put" and theirs.size:
        places = m.integers((m.number(1, 3),), -theirs.size, theirs.size - 1)  # else it fails halfway
        mode = m.pick("raise", "wrap", "clip")
        m.change(
            f"put(x{i}, {places}, {new[1]!r}, {mode})", lambda np, o: np.put(o[0], places, o[1], mode), x, new
        )
    elif kind in ("copyto", "putmask", "place"):
        mask = m.integers(theirs.shape, 0, 1).astype(bool)
        what = f"{kind}(x{i}, {mask!r}, {new[1]!r})"
        if kind == "copyto":
            m.change(what, lambda np, o: np.copyto(o[0], o[1], where=mask), x, new)
        else:
            m.change(what, lambda np, o: getattr(np, kind)(o[0], mask, o[1]), x, new)
    elif kind == "fill_diagonal":
        m.change(f"fill_diagonal(x{i}, 5)", lambda np, o: np.fill_diagonal(o[0], 5), x)
    elif kind == "sort":
        axis = m.axis(theirs)
        m.change(f"x{i}.sort({axis})", lambda np, o: o[0].sort(axis), x)
    elif kind == "part":
        part = m.pick("real", "imag")
        m.change(f"x{i}.{part} = {new[1]!r}", lambda np, o: setattr(o[0], part, o[1]), x, new)
    elif kind == "slots":
        axis = m.axis(theirs)
        m.change(f"put_along_axis(x{i}, {axis})", lambda np, o: put_least(np, o[0], axis), x)


def put_least(np: Any, x: Any, axis: int) -> None:
    np.put_along_axis(x, np.argmin(x, axis=axis, keepdims=True), 9, axis=axis)


@step
def set_(m: Machine) -> None:
    """Set an array's shape or dtype."""
    i, ours, theirs = m.some()
    if m.flip():
        shape = other_shape(m, theirs)
        m.change(f"x{i}.shape = {shape}", lambda np, o: setattr(o[0], "shape", shape), (ours, theirs))
    else:
        dtype = np.dtype(m.pick(*DTYPES[1:]))
        m.change(f"x{i}.dtype = {dtype}", lambda np, o: setattr(o[0], "dtype", dtype), (ours, theirs))


@step
def at(m: Machine) -> None:
    i, ours, theirs = m.some()
    if not theirs.flags.writeable:
        return
    mine, its = m.key(theirs.shape, basic=False)
    new, wanted = m.value(theirs.dtype, m.shape_at(theirs, its))
    name = m.pick("add", "add", "subtract", "multiply", "maximum", "minimum", "bitwise_xor", "negative")
    operands = ((), ()) if name == "negative" else ((new,), (wanted,))
    if not m.odd(theirs, its, wanted) and np.shape(wanted) in (
        (),
        m.shape_at(theirs, its),
    ):  # NumPy's broadcasting there errs
        m.change(
            f"{name}.at(x{i}, {its}, {wanted!r})",
            lambda np, o: getattr(np, name).at(o[0], o[1], *o[2]),
            (ours, theirs),
            (mine, its),
            operands,
        )


# -- new arrays ----------------------------------------------------------------------------------------


@step
def copy(m: Machine) -> None:
    i, ours, theirs = m.some()
    if m.flip():
        m.compute(f"x{i} * True", lambda np, o: o[0] * True, (ours, theirs))
    else:
        key = m.key(theirs.shape, basic=False)
        m.compute(f"x{i}[{key[1]}].copy()", lambda np, o: o[0][o[1]].copy(), (ours, theirs), key)


@step
def look(m: Machine) -> None:
    i, ours, theirs = m.some()
    m.log.append(f"look at x{i}")
    compare(ours, theirs, f"x{i}")


UNARY = (
    "negative",
    "abs",
    "square",
    "sign",
    "floor",
    "invert",
    "logical_not",
    "conj",
    "sqrt",
    "sin",
    "isnan",
    "real",
)
BINARY = (
    *(
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "less",
        "equal",
        "not_equal",
        "greater_equal",
    ),
    *(
        "power",
        "floor_divide",
        "remainder",
        "logical_and",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "arctan2",
    ),
    *("fmax", "copysign", "left_shift"),
)


@step
def unary(m: Machine) -> None:
    i, ours, theirs = m.some()
    name = m.pick(*UNARY)
    m.compute(f"{name}(x{i})", lambda np, o: getattr(np, name)(o[0]), (ours, theirs))


@step
def binary(m: Machine) -> None:
    _, ours, theirs = m.some()
    value = m.value(theirs.dtype, theirs.shape)
    name = m.pick(*BINARY)
    if is_told_apart(name, theirs, value[1]):
        return
    pair = ((ours, theirs), value) if m.flip() else (value, (ours, theirs))
    m.compute(f"{name}{pair[0][1]!r}, {pair[1][1]!r}", lambda np, o: getattr(np, name)(*o), *pair)


REDUCTIONS = (
    *(
        "sum",
        "sum",
        "prod",
        "max",
        "min",
        "mean",
        "var",
        "any",
        "all",
        "argmax",
        "argmin",
        "cumsum",
        "cumprod",
    ),
    *("ptp", "median", "count_nonzero"),
)


@step
def reduction(m: Machine) -> None:
    i, ours, theirs = m.some()
    name = m.pick(*REDUCTIONS)
    options: dict[str, Any] = {"axis": m.pick(None, m.axis(theirs))}
    if name not in ("cumsum", "cumprod") and m.flip():
        options["keepdims"] = True
    if name in ("sum", "prod", "max", "min") and m.flip():
        options["initial"] = 2
    if name in ("sum", "prod", "any", "all", "mean") and m.number(0, 3) == 0:
        options["where"] = m.integers(theirs.shape, 0, 1).astype(bool)
    if name == "mean" and not theirs.ndim:  # NumPy takes an axis only with `where`
        options["axis"] = None
    m.compute(
        f"{name}(x{i}, **{options})",
        lambda np, o: getattr(np, name)(o[0], **options),
        (ours, theirs),
        exact=False,
    )


METHODS = (
    *(
        "clip",
        "round",
        "astype",
        "repeat",
        "take",
        "compress",
        "searchsorted",
        "argsort",
        "trace",
        "dot",
        "nonzero",
    ),
    *(
        "flatten",
        "byteswap",
        "tolist",
        "getfield",
        "item",
        "std",
        "diagonal",
        "tobytes",
        "conj",
        "choose",
        "flat",
    ),
)


@step
def method(m: Machine) -> None:
    i, ours, theirs = m.some()
    name = m.pick(*METHODS)
    n = max(theirs.size, 1)
    dtype = np.dtype(m.pick(*DTYPES))
    args: dict[str, Any] = {
        "clip": (m.number(-1, 2), m.pick(None, 3)),
        "round": (m.number(0, 1),),
        "astype": (dtype,),
        "repeat": (m.number(0, 2), m.pick(None, m.axis(theirs))),
        "take": (
            m.integers((2,), -n, n),
            m.pick(None, m.axis(theirs)),
            None,
            m.pick("raise", "wrap", "clip"),
        ),
        "compress": ([True, False, True], m.pick(None, m.axis(theirs))),
        "searchsorted": ([1, 3],),
        "argsort": (m.axis(theirs), "stable"),
        "dot": (m.pick(2, [1, 2], [1, 2, 3]),),
        # Not as bool: a byte that is neither 0 nor 1 has no meaning there.
        "getfield": (np.dtype(np.int8) if dtype == np.bool else dtype, m.pick(0, 0, 4)),
        "item": (m.number(-n, n),),
    }
    if name in ("compress", "take", "choose") and not theirs.size:  # NumPy checks nothing, or never ends
        return
    if name == "choose" and theirs.dtype.kind in "biu" and abs(theirs.astype(float)).max() > 1000:
        return  # NumPy gets there in steps of the number of choices
    if name == "tobytes":
        m.both(f"x{i}.tobytes()", lambda: same_bytes(ours, theirs), lambda: None)
    elif name == "flat":
        key = m.pick(m.number(-n, n), m.slice(n), m.integers((2,), -n, n - 1))
        m.compute(f"x{i}.flat[{key}]", lambda np, o: o[0].flat[key], (ours, theirs))
    elif name == "choose":
        m.compute(f"x{i}.choose", lambda np, o: o[0].choose([1, 2.5, 3], mode="wrap"), (ours, theirs))
    else:
        given = args.get(name, ())
        m.compute(
            f"x{i}.{name}{given}",
            lambda np, o: getattr(o[0], name)(*given),
            (ours, theirs),
            exact=name not in ("std", "dot", "clip"),
        )


def same_bytes(ours: Any, theirs: np.ndarray) -> None:
    if theirs.dtype.kind not in "fc":
        assert ours.tobytes() == theirs.tobytes(), "tobytes"


FUNCTIONS = (
    *(
        "concatenate",
        "stack",
        "where",
        "roll",
        "tile",
        "diff",
        "unique",
        "outer",
        "kron",
        "pad",
        "rot90",
        "hstack",
    ),
    *(
        "vstack",
        "select",
        "bincount",
        "histogram",
        "nonzero",
        "insert",
        "delete",
        "append",
        "triu",
        "gradient",
    ),
    *("interp", "digitize", "average", "inner", "tensordot", "searchsorted", "isin", "trapezoid"),
    *("which", "argwhere", "diffs", "cumprod", "round", "flip", "array of two", "var", "percentile", "cov"),
    *("allclose", "array_equal", "broadcast_to", "moveaxis", "split", "take_along_axis", "argmax", "ravel"),
)


@step
def function(m: Machine) -> None:
    (i, *first), (j, *second) = m.some(), m.some()
    name = m.pick(*FUNCTIONS)
    axis, k = m.axis(first[1]), m.number(-2, 3)
    calls: dict[str, Any] = {
        "concatenate": lambda np, a, b: np.concatenate((a, b), axis=axis),
        "stack": lambda np, a, b: np.stack([a, a], axis=axis),
        "hstack": lambda np, a, b: np.hstack([a, b]),
        "vstack": lambda np, a, b: np.vstack([a, b]),
        "where": lambda np, a, b: np.where(a > 2, b, 1),
        "roll": lambda np, a, b: np.roll(a, k, axis),
        "tile": lambda np, a, b: np.tile(a, (2, 1)),
        "diff": lambda np, a, b: np.diff(a, axis=axis),
        "unique": lambda np, a, b: np.unique(a),
        "pad": lambda np, a, b: np.pad(a, 1, mode="edge"),
        "rot90": lambda np, a, b: np.rot90(a, k).copy(),
        "select": lambda np, a, b: np.select([a > 3, a > 1], [a, a * 2], 7),
        "bincount": lambda np, a, b: np.bincount(a),
        "histogram": lambda np, a, b: np.histogram(a, bins=3, range=(0, 6)),
        "nonzero": lambda np, a, b: np.nonzero(a),
        "insert": lambda np, a, b: np.insert(a, 1, 5, axis=axis),
        "delete": lambda np, a, b: np.delete(a, 0, axis=axis),
        "triu": lambda np, a, b: np.triu(a, k),
        "gradient": lambda np, a, b: np.gradient(a, axis=axis),
        "interp": lambda np, a, b: np.interp(a, [0, 2, 4, 6], [1, 3, 2, 5]),
        "digitize": lambda np, a, b: np.digitize(a, [1, 3, 5]),
        "average": lambda np, a, b: np.average(a, axis=axis, weights=np.ones_like(a)),
        "tensordot": lambda np, a, b: np.tensordot(a, b, axes=0),
        "searchsorted": lambda np, a, b: np.searchsorted([1, 2, 4], a),
        "trapezoid": lambda np, a, b: np.trapezoid(a, axis=axis),
        "which": lambda np, a, b: np.where(a > k),
        "argwhere": lambda np, a, b: np.argwhere(a > k),
        "diffs": lambda np, a, b: np.diff(a, n=max(k, 1), prepend=1, axis=axis),
        "cumprod": lambda np, a, b: np.cumprod(a, axis=axis),
        "round": lambda np, a, b: np.round(a, k),
        "flip": lambda np, a, b: np.flip(a, axis).copy(),
        "array of two": lambda np, a, b: np.array([a, a]),
        "var": lambda np, a, b: np.var(a, axis=axis, ddof=1),
        "percentile": lambda np, a, b: np.percentile(a, [25, 50], axis=axis),
        "cov": lambda np, a, b: np.cov(a),
        "broadcast_to": lambda np, a, b: np.broadcast_to(a, (2, *a.shape)) + 1,
        "moveaxis": lambda np, a, b: np.moveaxis(a, 0, -1) * 2,
        "split": lambda np, a, b: [p + 1 for p in np.array_split(a, 2, axis=axis or 0)],
        "take_along_axis": lambda np, a, b: np.take_along_axis(a, np.argsort(a, axis=axis), axis=axis),
        "argmax": lambda np, a, b: np.argmax(a, axis=axis),
        "ravel": lambda np, a, b: np.ravel(a) * 2,
    }
    if name == "triu" and first[1].ndim < 2:
        return
    if name == "percentile" and first[1].dtype.char in "bhBH":
        return  # NumPy subtracts neighbours in their own dtype, which may be too narrow
    call = calls.get(name, lambda np, a, b: getattr(np, name)(a, b))
    what = f"{name}(x{i}, x{j}; {axis}, {k})"
    m.compute(what, lambda np, o: call(np, *o), tuple(first), tuple(second), exact=False)


@step
def out(m: Machine) -> None:
    """Let a function write where one of the arrays is, which may be one of its operands, or overlap one."""
    (i, *first), (j, *second), (k, *target) = m.some(), m.some(), m.some()
    if not target[1].flags.writeable:
        return
    kind = m.pick("unary", "binary", "binary", "binary", "where", "reduction", "clip", "cumsum")
    name = m.pick(*(UNARY if kind == "unary" else REDUCTIONS[:9] if kind == "reduction" else BINARY))
    axis, casting = m.axis(first[1]), m.pick("same_kind", "same_kind", "unsafe")
    mask = m.integers(target[1].shape, 0, 1).astype(bool)
    calls: dict[str, Any] = {
        "unary": lambda np, a, b, t: getattr(np, name)(a, out=t, casting=casting),
        "binary": lambda np, a, b, t: getattr(np, name)(a, b, out=t, casting=casting),
        "where": lambda np, a, b, t: getattr(np, name)(a, b, out=t, where=mask),
        "reduction": lambda np, a, b, t: getattr(np, name)(a, axis=axis, out=t),
        "clip": lambda np, a, b, t: a.clip(0, 3, out=t),
        "cumsum": lambda np, a, b, t: a.cumsum(axis, out=t),
    }
    if is_told_apart(name, first[1], second[1]):
        return
    overlap = any(np.may_share_memory(target[1], a) for a in (first[1], second[1]))
    if kind == "where" and overlap:  # NumPy writes where the mask is false, too
        return
    if name == "real" or (kind == "reduction" and name in ("mean", "var")):
        return
    if kind == "cumsum" and (first[1].shape != target[1].shape or not first[1].ndim):  # NumPy crashes
        return
    m.change(
        f"{kind} {name}(x{i}, x{j}, out=x{k}; {axis}, {casting}, {mask.tolist() if kind == 'where' else ''})",
        lambda np, o: calls[kind](np, *o),
        tuple(first),
        tuple(second),
        tuple(target),
    )


@step
def ufunc_method(m: Machine) -> None:
    (i, *first), (j, *second) = m.some(), m.some()
    name = m.pick("add", "multiply", "maximum", "minimum", "logical_or", "bitwise_xor", "subtract", "hypot")
    kind = m.pick("reduce", "reduce", "accumulate", "outer", "reduceat")
    axis, keep = m.axis(first[1]), m.flip()
    places = m.integers((m.number(1, 3),), 0, 3)
    calls: dict[str, Any] = {
        "reduce": lambda f, a, b: f.reduce(a, axis=axis, keepdims=keep),
        "accumulate": lambda f, a, b: f.accumulate(a, axis),
        "outer": lambda f, a, b: f.outer(a, b),
        "reduceat": lambda f, a, b: f.reduceat(a, places, axis),
    }
    m.compute(
        f"{name}.{kind}(x{i}, x{j}; {axis}, {keep}, {places})",
        lambda np, o: calls[kind](getattr(np, name), *o),
        tuple(first),
        tuple(second),
        exact=False,
    )
