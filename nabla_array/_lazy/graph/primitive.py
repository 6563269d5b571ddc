"""The record that holds every fact about one operation, and the families that make common ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from .aval import Aval, aval_of
from .node import UNHEARD, Node, record

Kind = Literal["elementwise", "reduce", "scan", "broadcast", "view", "call"]
Role = Literal["literal", "resident", "alias", "projection", "transfer", "ordinary"]
Dims = tuple[tuple[int, ...], ...]

# The last primitive of each role: of literals and of what is resident there is one.
with_role: dict[Role, Primitive] = {}


def unchanged(params: dict[str, Any], size: int) -> dict[str, Any]:
    """Batch rule of a primitive whose params do not mention axes."""
    return params


def shift(*names: str) -> Callable[[dict[str, Any], int], dict[str, Any]]:
    """Batch rule: the named params are an axis, or a tuple of axes, that move up by one."""

    def batch(params: dict[str, Any], size: int) -> dict[str, Any]:
        moved = {
            k: tuple(a + 1 for a in params[k]) if isinstance(params[k], tuple) else params[k] + 1
            for k in names
        }
        return {**params, **moved}

    return batch


def prefix(**entries: Callable[[int], Any]) -> Callable[[dict[str, Any], int], dict[str, Any]]:
    """Batch rule: each named param is a tuple with an entry a dimension; prepend `entries[k](size)`."""

    def batch(params: dict[str, Any], size: int) -> dict[str, Any]:
        return {**params, **{k: (f(size), *params[k]) for k, f in entries.items()}}

    return batch


def alike(*avals: Aval, **params: Any) -> Dims:
    """Dims of an elementwise operation: axis by axis."""
    return (tuple(range(avals[0].ndim)),) * (len(avals) + 1)


def whole(*names: str) -> Callable[..., Dims]:
    """Dims of an operation that keeps the shape and needs the axes that the named params say whole."""

    def dims(*avals: Aval, **params: Any) -> Dims:
        axes = [params[name] for name in names]
        labels = tuple(-1 - i if i in axes else i for i in range(avals[0].ndim))
        return (labels,) * (len(avals) + 1)

    return dims


class Primitive:
    """One operation: strict (equal shapes and dtypes, sorted non-negative axes), with all its rules."""

    # Its name in printed programs.
    name: str
    # ``(*avals, **params) -> Aval`` (or a tuple of avals): the result's shape and dtype.
    aval: Callable[..., Any]
    # ``(*ndarrays, **params) -> ndarray`` (or a tuple): the meaning of the operation. It may return a view
    # of an argument and never writes to one.
    host: Callable[..., Any]
    # How the host tier may run it: "elementwise" and "reduce" in blocks, "broadcast" as a view inside a
    # block, "view" at no cost, "call" as one call. A "scan" is a call too, and the one kind of call that
    # MAX runs faster alone.
    kind: Kind = "call"
    # What it means to whoever walks a graph. A "literal" is part of the program, not an input of it; a
    # "resident" value is on an accelerator; an "alias" is its operand, and left out of programs; a
    # "projection" is one result of an operation that has several; a "transfer" is on the device that its
    # param `device` names.
    role: Role = "ordinary"
    # ``(params, size) -> params`` for one more leading axis, of that size, on every input.
    batch: Callable[[dict[str, Any], int], dict[str, Any]] = unchanged
    # Elementwise only: ``(*ndarrays, out, **params)``, the same written into `out`.
    into: Callable[..., Any] | None = None
    # The NumPy ufunc whose dtype resolution this operation has.
    ufunc: np.ufunc | None = None
    # Reductions, scans and products: the ufunc that joins partial results.
    reducer: np.ufunc | None = None
    # ``(first, *rest, **params)``: the same, written over the first argument, used when nobody else can see
    # that memory.
    inplace: Callable[..., Any] | None = None
    # ``(*avals, **params) -> (labels, ..., labels)``: a label for each axis of each input and of each
    # result. Axes of one label are one axis, which the operation treats pointwise or reduces; of one with a
    # negative label it needs the whole. An elementwise operation goes axis by axis.
    dims: Callable[..., Dims] | None = None
    # How MAX runs it: the name of a function of `max.graph.ops`, of one of our Mojo kernels ("nabla.exp"),
    # or ``(builder, *tensors, out, **params) -> tensor`` (see backend.py). None keeps it on the host.
    max: str | Callable[..., Any] | None = None
    # The host goes element by element, so that MAX may be faster at this operation alone.
    serial: bool = False
    # Kinds of dtypes for which that was proven; "f" stands for float32 and float64.
    max_kinds: str = "fiub"
    # Elementwise only: for each operand the derivative by it, as ``(out, *inputs, **params) -> Node``, a
    # number, or None where it is zero.
    partials: tuple[Any, ...] | None = None
    # ``(tangents, out, *inputs, **params) -> tangent``, for what `partials` cannot say; `tangents` are None
    # where they are zero, and so may the result be. With several results, `out` and the result are tuples
    # (the results' tangents may be None one by one).
    jvp: Callable[..., Any] | None = None
    # ``(ct, wanted, *inputs, **params) -> cotangents``: one for each operand that is wanted (None
    # elsewhere, or where it is zero). Without `jvp`, the operation is linear in all inexact operands
    # together. With it, in each of them.
    transpose: Callable[..., Any] | None = None
    # ``(operands, batched, lead, **params) -> Node`` or None: a better way than to repeat the operands that
    # are not batched along the axes that lead the others, which have the shape `lead`.
    mixed: Callable[..., Any] | None = None
    # ``(moves, params, how) -> (prim, params)``, of what is or holds calls with rules of their own: what it
    # is for derivatives further out. "taken": one has met it, whose tangents come by the operands that
    # `moves` marks. "deeper": it is part of a forward rule. "shallower": that rule has been taken.
    # "linear": nobody takes it here.
    seen: Callable[..., Any] | None = None
    # The result never shares memory with an operand. It follows for reductions, for a ufunc and what is
    # written like one, and where there is `inplace`; other records say so.
    fresh: bool = False
    # Elementwise only: the kinds of dtypes of which elements can make it raise. It may not write over its
    # operands then.
    raises: str = ""
    # Elementwise only: it divides, so that NumPy warns of zeros among integers as it is called.
    divides: bool = False
    # Elementwise only: NumPy leaves elements out where it writes to an array that is not contiguous.
    contiguous: bool = False
    # How machine code does it: a rule, of which `ops/machine.py` says more. None leaves it to the loop of the
    # ufunc that is `host`; what has no such loop stays with Python.
    llvm: Callable[..., Any] | None = None
    # For each operand the number that, in its place, makes the result equal the other one, bit for bit (of
    # real numbers, and integers); None where there is no such number.
    units: tuple[Any, ...] = ()
    # ``(*avals, **params) -> keys``: where in the result the elements of each operand are, unchanged.
    places: Callable[..., tuple[tuple[slice, ...], ...]] | None = None
    # ``(*avals, **params) -> key``: where in its first operand it puts the second one; the rest stays.
    patches: Callable[..., tuple[slice, ...]] | None = None
    # Joining elements by it, in any order, gives the same but for rounding.
    associative: bool = False
    # Views: the result has all elements of the operand, in the same order.
    keeps_order: bool = False
    # Views: ``(params) -> shape``, where only the shape changes, so that NumPy may have to copy for it.
    reshapes: Callable[..., tuple[int, ...]] | None = None
    # Views: ``(first, second) -> params``: what does as much as two of it in a row.
    merge: Callable[..., dict[str, Any]] | None = None
    # Views: several elements of the result may be one, or NumPy refuses to write to them.
    read_only: bool = False
    # The result is some elements of the first operand, so that a small one is cheap however large that is.
    # It follows for views.
    picks: bool = False
    # ``(apply, old, new, *more, **params)``: its operand `old` after `new` was written to its result. With
    # it, the result is a view for whoever writes to it. ``apply(prim, *operands, **params)`` does an
    # operation.
    put: Callable[..., Any] | None = None
    # Calls: of rows along an axis that need not be whole the host makes what it makes of them among all, and
    # lets other threads run meanwhile.
    by_rows: bool = False
    # Calls that compute with one matrix after the other, for each place of the leading axes, which all
    # operands and results have: bytes from which threads share small ones.
    by_matrices: int | None = None
    # By rows, of one operand: ``(x, each, axis, **params)`` makes the result for one long row, of which
    # threads share ``each(function, items)``.
    joined: Callable[..., Any] | None = None
    # ``(x, **params) -> result`` or None: of operands for which a way is shorter than sharing the work.
    shortcut: Callable[..., Any] | None = None
    # Reductions: we have a kernel that reduces rows on the CPU.
    row_kernel: bool = False
    # Every derivative is zero: a tape for derivatives does not follow it.
    is_constant: bool
    # A fusion group can write its result, or a part of it, to memory with gaps between the rows.
    can_place: bool
    # Elementwise: (avals) -> result aval, filled as calls come; `resolve` fills the other for dtypes.
    rules: dict[Any, Aval]
    dtypes: dict[Any, Any]

    def __init__(self, name: str, aval: Callable[..., Any], host: Callable[..., Any], **fields: Any) -> None:
        unknown = fields.keys() - Primitive.__annotations__.keys()
        if unknown:
            raise TypeError(f"{name}: records have no {' or '.join(sorted(unknown))}")
        vars(self).update(_DEFAULTS, name=name, aval=aval, host=host, rules={}, dtypes={}, **fields)
        with_role[self.role] = self
        is_elementwise = self.kind == "elementwise"
        if is_elementwise and self.dims is None:
            self.dims = alike
        self.picks |= self.kind == "view"
        self.fresh |= self.kind == "reduce" or self.inplace is not None
        self.fresh |= is_elementwise and (isinstance(host, np.ufunc) or self.into is host)
        self.can_place = self.places is not None or (is_elementwise and not self.contiguous)
        self.is_constant = self.partials is not None and all(p is None for p in self.partials)

    def __call__(self, *inputs: Node, **params: Any) -> Node:
        """Record the operation on nodes, as rules do: no warning comes of it."""
        return record(self, inputs, params or UNHEARD)

    def __repr__(self) -> str:
        return self.name


_DEFAULTS = {name: vars(Primitive)[name] for name in Primitive.__annotations__ if name in vars(Primitive)}


def as_value(result: Any) -> Any:
    """Return what a host rule gave as an ndarray (NumPy gives scalars for 0-d), or a tuple of them."""
    if type(result) is np.ndarray:
        return result
    return tuple(map(np.asarray, result)) if isinstance(result, tuple) else np.asarray(result)


def resolve(prim: Primitive, kinds: tuple[Any, ...], function: str | None = None) -> tuple[np.dtype, ...]:
    """Return the dtypes that the operation takes and gives for operands of the given ones.

    `kinds` holds an `np.dtype` an operand, or `int`, `float` or `complex` for a Python scalar, which
    is weak. Raises TypeError where the operation has no loop for them; it names `function`, or the primitive.
    """
    found = prim.dtypes.get(kinds)
    if found is None:
        assert prim.ufunc is not None
        try:
            found = prim.ufunc.resolve_dtypes((*kinds, *[None] * prim.ufunc.nout))
        except TypeError:
            names = ", ".join(k.name if isinstance(k, np.dtype) else k.__name__ for k in kinds)
            allowed = _allowed(prim.ufunc)
            raise TypeError(
                f"{function or prim.name}: no such operation on {names}; {allowed} would work"
            ) from None
        prim.dtypes[kinds] = found
    return found


def _allowed(ufunc: np.ufunc) -> str:
    names = {"?": "bool", "bhilq": "integers", "fd": "floats", "FD": "complex"}
    loops = {t[0] for t in ufunc.types}
    return " or ".join(word for chars, word in names.items() if loops & set(chars))


def elementwise(name: str, ufunc: np.ufunc, **rules: Any) -> Primitive:
    """Make the record of an operation that is one NumPy ufunc; `rules` overrides fields."""

    def aval(*avals: Aval) -> Aval:
        first = avals[0]
        for other in avals[1:]:
            if other.shape != first.shape:
                raise ValueError(f"{name}: shapes differ: {first} and {other}")
        takes_gives = resolve(prim, tuple(a.dtype for a in avals))
        if takes_gives[:-1] != tuple(a.dtype for a in avals):
            raise TypeError(f"{name}: no such operation on {avals} without a cast")
        return aval_of(first.shape, takes_gives[-1])

    fields = {"aval": aval, "host": ufunc, "kind": "elementwise", "ufunc": ufunc, **rules}
    prim = Primitive(name, **{"into": fields["host"], **fields})
    return prim


def reduction(name: str, ufunc: np.ufunc, **rules: Any) -> Primitive:
    """Make the record of a reduction by `ufunc` over `axes`, which the result lacks."""

    @lru_cache(1 << 10)
    def aval(x: Aval, axes: tuple[int, ...]) -> Aval:
        shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
        if ufunc.identity is None and x.size == 0 and any(x.shape[i] == 0 for i in axes):
            raise ValueError(f"{name}: no value for an empty axis: {x} over axes {axes}")
        return aval_of(shape, x.dtype)

    def host(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        # In C order, as a block writes it: NumPy would keep the order of a transposed operand.
        return np.asarray(ufunc.reduce(x, axis=axes, dtype=x.dtype), order="C")

    def dims(x: Aval, axes: tuple[int, ...]) -> Dims:
        return tuple(range(x.ndim)), tuple(i for i in range(x.ndim) if i not in axes)

    fields = {
        "aval": aval,
        "host": host,
        "kind": "reduce",
        "batch": shift("axes"),
        "reducer": ufunc,
        "dims": dims,
    }
    return Primitive(name, **{**fields, **rules})
