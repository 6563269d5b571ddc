"""Parts of computed arrays read and written at once, in NumPy's memory, where nobody can tell.

A loop over elements would otherwise record a few nodes for each. What is read directly is a leaf (an element)
or a leaf on the owner's memory (a view); what is written directly goes into that memory, once counts of
references say that no pending node, no other view and nobody outside will look at what was there.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._lazy.config import active
from ..._lazy.cpu import calls
from ..._lazy.cpu.faults import heard, hears_underflow, listener, may_raise, tell, tell_here
from ..._lazy.graph.aval import LARGE as LARGE
from ..._lazy.graph.aval import Aval, aval_of
from ..._lazy.graph.node import NO_PARAMS, Exported, Node, Part, leaf, tapes
from ..._lazy.graph.primitive import Primitive, as_value
from ..._lazy.graph.program import is_literal, pending_order
from ..._lazy.graph.scopes import scopes
from ..._lazy.graph.tape import is_taping
from ..._lazy.native import compiled
from ..._lazy.ops import elementwise as e
from ..._lazy.ops.placement import in_use
from ..._lazy.run.claims import lock, locked
from ..._lazy.run.devices import CPU, device_of
from ..._lazy.run.evaluator import value_of
from ..core.array import (
    Array,
    check_writable,
    current,
    from_value,
    frozen,
    mark,
    ordered,
    part_hook,
)
from ..core.evaluation import fresh_value
from ..core.indexing import as_integers, getitem, put_hook, record_set
from ..core.keys import PLAIN, is_plain
from ..core.order import inverse, lying
from ..core.steps import NO_LEVELS, View

# Bytes from which on parts are recorded: only there do blocks and threads gain what recording costs.
PART = 1 << 22

# Bytes from which on compiled code records elementwise operations, to run them together.
RECORDED = 512

# Numbers of Python that NumPy's assignment takes as we do, for kinds of dtypes.
_FITTING = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}

_new = object.__new__


def known(value: np.ndarray, aval: Aval) -> Array:
    """Return an array of these elements; what `Array(leaf(value))` is, in half the time."""
    node = _new(Part)
    node.aval = aval
    node.value = value
    y = _new(Array)
    y._node = node
    y._levels = NO_LEVELS
    y._view = None
    if scopes:
        mark(y)
    return y


def _anew(value: np.ndarray, aval: Aval) -> Array:
    """Return an array of what NumPy's function gave, in the order in memory that NumPy chose."""
    flags = value.flags
    axes = None if value.ndim < 2 or flags.c_contiguous or not flags.owndata else lying(value)
    if axes is None:
        return known(value, aval)
    turned = value.transpose(axes)
    return ordered(known(turned, aval_of(turned.shape, turned.dtype)), inverse(axes))


# What lists in keys are made of, where nothing in them is an array.
_COUNTED = frozenset({int, bool})


def _for_numpy(key: Any) -> Any:
    """Return a key with NumPy's arrays in the place of ours; None where one is pending, or no index."""
    if type(key) is not tuple:
        return _index(key)
    items = [k if type(k) in PLAIN else _index(k) for k in key]
    # None stands for a new axis in a key, and here for what cannot be told.
    return None if any([n is None and k is not None for n, k in zip(items, key, strict=True)]) else (*items,)


def _index(k: Any) -> Any:
    if type(k) is list and k and set(map(type, k)) <= _COUNTED:
        k = np.asarray(k)
    value = fresh_value(k) if type(k) is Array else k if type(k) is np.ndarray else None
    return value if value is not None and value.dtype.kind in "iub" and value.nbytes < LARGE else None


def places(index: Any, n: int) -> np.ndarray | None:
    """Return what is an index of `n` places as NumPy's array; None where it is pending, or none."""
    value = _index(index)
    if value is None or value.dtype.kind == "b" or not value.size:
        return None
    return value.astype(np.intp) if -n <= value.min() and value.max() < n else None


def _gives_little(aval: Aval, key: Any) -> bool:
    """Say whether a key takes a small part of an array."""
    if aval.nbytes < LARGE and is_plain(key):
        return True
    try:
        return bool(_like(aval)[key].nbytes < LARGE)
    except IndexError:  # told elsewhere, in our words
        return False


def _takes_few(aval: Aval, key: Any, is_part: bool) -> bool:
    """Say whether a key with arrays is for a small array or a part, and integers take little even of that."""
    if type(key) is not np.ndarray or key.dtype.kind not in "iu" or not (aval.size and aval.shape):
        return is_part or aval.nbytes < LARGE
    return key.size < LARGE // (aval.nbytes // aval.shape[0] + 1)


def _like(aval: Aval) -> np.ndarray:
    """Return an array that takes no memory."""
    return np.ndarray(aval.shape, aval.dtype, bytes(aval.dtype.itemsize), strides=(0,) * aval.ndim)


def read(x: Array, key: Any) -> Array | None:
    """Return ``x[key]``; None where it must be recorded."""
    if tapes or x._levels:
        return None
    plain = type(key) is int or is_plain(key)
    if not plain:
        if type(key) is Array and not in_use and _is_mask(key, x):
            return _chosen(x, key)
        key = as_integers(key)
        plain = is_plain(key)
        key = key if plain else _for_numpy(key)
    value = fresh_value(x)
    if x._levels:  # a write has given the owner some
        return None
    seen, node = x._view, x._node
    if not plain and (key is None or not _takes_few(node.aval, key, type(node) is Part)):
        return None
    if value is None:
        # Whoever reads a small part of what is pending will read others.
        if device_of(node) != CPU or not _gives_little(node.aval, key):
            return None
        value = value_of(node)
    try:
        part = value[key]
    except IndexError:  # told elsewhere, in our words
        return None
    if type(part) is not np.ndarray:
        return known(np.asarray(part), node.aval.element)
    if not plain:
        return known(part, aval_of(part.shape, part.dtype)) if part.nbytes < LARGE else None
    if part.nbytes >= PART or (frozen and id(x) in frozen):
        return None
    out = _seen(part, node)
    shape = node.aval.shape
    if seen is None and not x.shape:
        if not out.shape:
            return out
        x = Array(node)  # as in `view`
    if seen is None:
        out._view = View(x, None, node, x, key, shape)
    else:
        out._view = View(seen.base, None, seen.seen, seen, key, shape)
    return out


def _is_mask(key: Array, x: Array) -> bool:
    """Say whether a key chooses among the elements, and may be looked at."""
    current(key)
    if tapes or x._levels or key._levels:
        return False
    return key._node.aval.dtype.kind == "b" and key.shape == x.shape != ()


def _chosen(x: Array, mask: Array) -> Array:
    """Return the elements where a mask is true: how many there are is known once it is computed."""
    whole, chosen = value_of(current(x)), value_of(current(mask))
    value = whole[chosen] if compiled is None else compiled.choose(whole, chosen)
    return _made(value)


def _counts(owner: Array) -> tuple[int, int]:
    node = owner._node
    return sys.getrefcount(node), sys.getrefcount(node.value)


# What `_counts` says where nothing but the array holds its node, and nothing but that its elements.
_ALONE = _counts(Array(Node(None, (), NO_PARAMS, aval_of((1,), np.dtype(float)), 0, np.empty(1))))


def _looks_at(x: Array, owner: Array) -> bool:
    """Say whether a view uses its owner's memory, and nobody but the view knows its node."""
    part = x._node.value
    return part is not None and part.base is owner._node.value and sys.getrefcount(x._node) == _ALONE[0] - 1


def _target(x: Array, new: Any) -> np.ndarray | None:
    """Return the memory of `x` to write `new` to, if nobody else would see that who should not."""
    view = x._view
    owner = x if view is None else view.base
    if owner._node.value is None or not calls.can_write(owner._node.value):
        return None
    if type(owner._node) is Exported:  # nothing but views has it, and those see what is written
        return _shared(x, owner)
    # Beside the owner, a view of it knows its node and uses its memory.
    users = 0
    for y in (x, new):
        if type(y) is Array and y._view is not None and y._view.base is owner:
            if not _looks_at(y, owner):
                return None
            users += 1
    del y
    wanted = (_ALONE[0] + users, _ALONE[1] + users)
    return x._node.value if _counts(owner) == wanted else None


def _shared(x: Array, owner: Array) -> np.ndarray | None:
    """Return the part of exported memory that `x` is, if it may be written to."""
    owner._node = Exported(owner._node.value)  # so that a view that is pending looks again
    current(x)
    return x._node.value if type(x._node) is Exported and x._node.value.flags.writeable else None


def _own_memory(x: Array) -> np.ndarray | None:
    """Give an array that shares its elements with others memory of its own, if it is small or just made.

    Of a view, the owner gets it: what is pending on the elements, and holds them, keeps those of before.
    """
    owner = x if x._view is None else x._view.base
    node = owner._node
    if type(node) is Exported or node.value is None or (node.aval.nbytes >= PART and not is_literal(node)):
        return None
    owner._node = leaf(node.value.copy("K"))  # in the order in memory that views know
    if x is not owner:
        value_of(current(x))
    return _target(x, None)


def _memory(x: Array, new: Any) -> np.ndarray | None:
    """Return memory for `x` that `new` may be written to; None where that must be recorded."""
    current(x)  # where its owner has moved to other memory, it is a part of that now
    target = _target(x, new)
    return _own_memory(x) if target is None else target


def _is_ready(x: Array, key: Any) -> bool:
    """Compute an array that is to be written to, if that is a small part of it."""
    if tapes or (frozen and id(x) in frozen):
        return False
    if scopes:
        check_writable(x)
    owner = x if x._view is None else x._view.base
    if owner._levels or x._levels:
        return False
    node = owner._node
    if node.value is None:
        if device_of(node) != CPU:
            return False
        if not is_literal(node) and (x._view is not None or not _gives_little(node.aval, key)):
            return False
        value_of(node)
        current(x)
    return True


def fits(value: Any, dtype: np.dtype) -> bool:
    """Say whether this is a number of Python's that arrays of a dtype take as it is."""
    return dtype.kind in _FITTING.get(type(value), "")


def _fitting(value: Any, dtype: np.dtype) -> Any:
    """Return what NumPy's assignment takes for a value; None where ours says more of it."""
    kind = type(value)
    if kind is Array:
        node = current(value)
        if value._levels or (value.dtype is not dtype and not np.can_cast(value.dtype, dtype, "same_kind")):
            return None
        return value_of(node)
    if kind in _FITTING:
        return value if fits(value, dtype) else None
    if isinstance(value, np.number | np.bool):
        return value if np.can_cast(value.dtype, dtype, "same_kind") else None
    return None


def _whole(value: Any, dtype: np.dtype) -> int | None:
    """Return what NumPy's assignment to integers makes of one floating-point number, if they hold it."""
    if type(value) is Array:
        value = None if value._levels or value.ndim else value_of(current(value))
    if dtype.kind not in "iu" or not isinstance(value, float | np.floating | np.ndarray):
        return None
    number, limits = np.asarray(value), np.iinfo(dtype)
    if number.ndim or number.dtype.kind != "f" or not limits.min <= float(number) <= limits.max:
        return None
    return int(number)


def put(x: Array, key: Any, value: Any, cuts: bool = True) -> bool:
    """Do ``x[key] = value``; returns False, having done nothing, where it must be recorded.

    `cuts`: also if of a floating-point number the whole part is written.
    """
    if not is_plain(key):
        takes_long = x.nbytes < LARGE or (type(value) is Array and value.ndim > 0)  # to record, or to run
        if takes_long and type(key) is Array and not in_use and _is_mask(key, x):
            key = value_of(current(key))
        else:
            key = as_integers(key)
            key = key if is_plain(key) else _for_numpy(key)
        if key is None:
            return False
    if type(value) is Array and value._view is not None and value._view.is_part(x, key):
        check_writable(x)
        return True  # Python's last step of ``x[key] += v``, which has been written
    with lock:
        return _put(x, key, value, cuts)


def _put(x: Array, key: Any, value: Any, cuts: bool) -> bool:
    if not _is_ready(x, key):
        return False
    dtype = x._node.aval.dtype
    chooses = type(key) is np.ndarray and key.dtype == bool  # which no program does in less time
    if type(value) is Array and not chooses and value.nbytes >= PART and _goes_with(value):
        is_temporary = sys.getrefcount(value) <= _TEMPORARY
        return _put_as_one(x, key, value, is_temporary)
    fitting = _fitting(value, dtype)
    if fitting is None and cuts:
        fitting = _whole(value, dtype)
    if fitting is None or (type(fitting) is np.ndarray and fitting.nbytes >= PART and not chooses):
        return False
    target = _memory(x, value)
    if target is None:
        return False
    try:
        if compiled is not None and chooses:
            compiled.put(target, key, fitting)
        else:
            target[key] = fitting
    except (IndexError, ValueError, OverflowError):  # told elsewhere, in our words
        return False
    return True


# References to an operand of ``x[key] = value`` in `_put` that nobody else has: the statement's, and those of
# functions of ours.
_TEMPORARY = 6


def _goes_with(value: Array) -> bool:
    """Say whether what is pending may be computed where it is written: nothing in it can raise an error."""
    node = value._node
    if node.value is not None or value._levels or may_raise() or device_of(node) != CPU:
        return False
    below = [n for n in pending_order([node]) if not is_literal(n)]
    kinds = {n.prim.kind for n in below if n.prim is not None}
    return kinds <= {"elementwise", "view", "broadcast"} and not any(map(_may_fail, below))


def _may_fail(node: Node) -> bool:
    return node.prim is None or node.aval.dtype.kind in node.prim.raises


def _put_as_one(x: Array, key: Any, value: Array, is_temporary: bool) -> bool:
    """Do ``x[key] = value`` of something large that is pending, as one program, which writes it there."""
    record_set(x, key, value)
    node = (x if x._view is None else x._view.base)._node
    is_written = node.prim is not None and node.prim.patches is not None and node.inputs[1] is value._node
    if is_temporary and is_written and value._view is None:
        # It need not be kept. Should somebody have it after all, it is what was written.
        value._node = current(getitem(x, key))
    value_of(node)
    return True


@locked
def change(function: Callable[..., Any], x: Array, value: Any, *given: np.ndarray) -> bool:
    """Do ``function(x, *given, value)``, which writes numbers of the same dtype; returns what `put` does."""
    if scopes:
        check_writable(x)
    if fresh_value(x) is None or (frozen and id(x) in frozen):
        return False
    dtype = x._node.aval.dtype
    if type(value) is Array and (value.dtype is not dtype or not 0 < value.nbytes < LARGE):
        return False
    fitting = _fitting(value, dtype)
    if fitting is None:
        return False
    try:
        new = np.asarray(fitting, dtype)
    except OverflowError:  # told elsewhere, in our words
        return False
    target = _memory(x, value)
    if target is None or not target.flags.writeable:
        return False
    function(target, *[a.copy() if np.may_share_memory(a, target) else a for a in (*given, new)])
    return True


def put_whole(x: Array, new: Array) -> bool:
    """Make all elements of a view equal those of `new`, which has its shape and dtype."""
    return x._view is not None and x._node.aval.nbytes < PART and put(x, (), new)


def _moved(x: Array) -> np.ndarray | None:
    """Return what `fresh_value` does; of a view that is pending, too, since no data moves."""
    value = fresh_value(x)
    node = x._node
    if value is not None or tapes or x._levels or node.prim is None or node.prim.kind != "view":
        return value
    values = [n.value for n in node.inputs]
    return None if any([v is None for v in values]) else node.prim.host(*values, **node.params)


def product(function: Callable[..., Any], x: Array, y: Array) -> Array | None:
    """Return what `numpy.matmul` or `numpy.dot` gives for parts, or small vectors; None if it is recorded.

    On operands that are no BLAS's, as reversed ones, the two round differently.
    """
    a, b = _moved(x), _moved(y)
    if a is None or b is None:
        return None
    # A vector of a part may meet a large matrix: what comes out is small.
    small, large = sorted((a.nbytes, b.nbytes))
    if large >= PART and (small >= PART or {a.ndim, b.ndim} != {1, 2}):
        return None
    if not (a.ndim == b.ndim == 1 or type(x._node) is Part or type(y._node) is Part):
        return None
    try:
        value = np.asarray(heard(function, a, b))
    except ValueError:  # told elsewhere, in our words
        return None
    if listener.heard:  # told of where it is looked at
        listener.heard.clear()
        return None
    return known(value, aval_of(value.shape, value.dtype))


def _seen(value: np.ndarray, node: Node) -> Array:
    """Return an array of elements in the memory of a leaf; it sees what is written to an exported one."""
    out = known(value, aval_of(value.shape, value.dtype))
    if type(node) is Exported:
        out._node = Exported(value)
    return out


def at_hand(x: Array) -> np.ndarray | None:
    """Return the elements of an array that are known, and that MAX is not to see: it may run all it can."""
    return None if active.settings["mode"] == "max" else _moved(x)


def evaluated(x: Array) -> np.ndarray | None:
    """Return the elements as `at_hand` does; those of small arrays are computed, unless a transform runs."""
    value = at_hand(x)
    if value is not None or active.settings["mode"] == "max" or x.nbytes >= PART or x._levels:
        return value
    return None if is_taping() else x._value()


def numpys(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], at_once: bool = False
) -> Any:
    """Return what NumPy's function makes, anew, of arrays that are known; None if it may not.

    What has faults is left to be recorded. `at_once`: faults are told of here, and small arrays are evaluated
    unless a transform runs: what would be recorded is a long chain.
    """
    look = evaluated if at_once else at_hand
    values = {id(x): look(x) for x in (*args, *kwargs.values()) if type(x) is Array}
    if any([v is None for v in values.values()]):
        return None
    named = {k: values.get(id(x), x) for k, x in kwargs.items()}
    try:
        found = heard(function, *[values.get(id(x), x) for x in args], **named)
    except (TypeError, *calls.DATA_ERRORS):  # told elsewhere, in our words
        found = None
    if at_once and found is not None:
        tell_here()
    elif listener.heard:  # told of where it is looked at
        listener.heard.clear()
        found = None
    if found is None:
        return None
    if type(found) is tuple:
        return tuple(map(_made, found))
    return found if type(found) is bool else _made(found)


def taken(function: Callable[..., Any], x: Any, *args: Any) -> Array | None:
    """Return the little that ``function(x, *args)``, one of NumPy's, takes of an array that is known."""
    if type(x) is not Array:
        return None
    found = numpys(lambda *given: np.array(function(*given)), (x, *args), {})
    return found if found is not None and found.nbytes < LARGE else None


# What functions take beside arrays that says nothing of other arrays, nor lets them write to one.
_OPTIONS = (type(None), bool, int, float, str, slice)
_WRITING = frozenset({"out", "overwrite_input", "copy"})


def whole(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do what `numpys` does, where compiled code leaves arrays to Python for their size; None elsewhere."""
    given = (*args, *kwargs.values())
    size = sum([x._node.aval.nbytes for x in given if type(x) is Array])
    if size < PART or _WRITING & set(kwargs):
        return None
    if not all([type(x) is Array or _is_option(x) for x in given]):
        return None
    return numpys(function, args, kwargs)


def _is_option(x: Any) -> bool:
    if type(x) in (tuple, list):
        return all(map(_is_option, x))
    return type(x) is not Array and isinstance(x, _OPTIONS)


def _made(value: Any) -> Array:
    value = np.asarray(value)
    return _anew(value, aval_of(value.shape, value.dtype)) if value.nbytes < PART else from_value(value)


COMPARISONS: dict[Primitive, Callable[[Any, Any], Any]] = {
    e.eq: operator.eq,
    e.ne: operator.ne,
    e.lt: operator.lt,
    e.le: operator.le,
    e.gt: operator.gt,
    e.ge: operator.ge,
}
# What Python's numbers give bit for bit as NumPy's do, as long as the result is finite, or fits.
_ARITHMETIC = {e.add: operator.add, e.sub: operator.sub, e.mul: operator.mul, e.div: operator.truediv}
_QUICK = {**_ARITHMETIC, **COMPARISONS}
_FLOAT = aval_of((), np.dtype(np.float64))
_BITS = {e.and_: operator.and_, e.or_: operator.or_, e.xor: operator.xor, e.shift_right: operator.rshift}
_QUICK_INTEGERS = {**_QUICK, **_BITS, e.floor_divide: operator.floordiv, e.remainder: operator.mod}
del _QUICK_INTEGERS[e.div]
_BOUNDS = {aval_of((), np.dtype(t)): (int(np.iinfo(t).min), int(np.iinfo(t).max)) for t in "bhilqBHILQ"}


def _quickly(prim: Primitive, of: Aval, x: Any, y: Any) -> Any:
    """Return what Python makes of two numbers of one dtype; None where that may not be NumPy's result."""
    try:
        if of is _FLOAT:
            value = _QUICK[prim](x.item(), y.item())
            is_told = value - value != 0 or hears_underflow()  # what is finite has no other fault
            return None if is_told else value
        low, high = _BOUNDS[of]
        value = _QUICK_INTEGERS[prim](x.item(), y.item())
        return value if low <= value <= high else None
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def divides_integers(prim: Primitive, of: Aval) -> bool:
    """Say whether this divides integers, which is done at once: NumPy tells of zeros then."""
    if not prim.divides or of.dtype.kind not in "iu" or of.nbytes >= PART:
        return False
    return active.settings["mode"] != "max"


def elementwise(prim: Primitive, aval: Aval, a: Node, b: Node | None = None) -> Array | None:
    """Return what a primitive gives for numbers or parts that are known; None if they are not."""
    x = a.value
    if x is None:
        return None
    y = None
    if b is not None:
        y = b.value
        if y is None:
            return None
        if not aval.shape and a.aval is b.aval:
            value = _quickly(prim, a.aval, x, y)
            if value is not None:
                return known(np.array(value, aval.dtype), aval)
    if prim is e.pow_ and not aval.shape and aval.dtype.kind == "f" and b is not None and a.aval is b.aval:
        # NumPy's numbers have other last bits than its arrays.
        value = heard(operator.pow, x[()], y[()])  # type: ignore[index]
    else:
        value = heard(prim.host, x) if b is None else heard(prim.host, x, y)
    if listener.heard:
        tell([Node(prim, (a,) if b is None else (a, b), NO_PARAMS, aval, 0)])
    return _anew(value if type(value) is np.ndarray else np.asarray(value), aval)


# The avals that results have, by what they are made of: the last ones.
_spread: dict[tuple[Primitive, Aval, Aval], Aval | None] = {}


def broadcast(prim: Primitive, a: Node, b: Node) -> Array | None:
    """Return what `elementwise` does for parts of one dtype that broadcast; None if they do not."""
    if a.value is None or b.value is None or a.aval is b.aval:
        return None
    key = prim, a.aval, b.aval
    try:
        aval = _spread[key]
    except KeyError:
        if len(_spread) > 1000:
            _spread.clear()
        aval = _spread[key] = _spread_aval(*key)
    if aval is None or (aval.nbytes >= LARGE and not type(a) is type(b) is Part):
        return None
    return elementwise(prim, aval, a, b)


def _spread_aval(prim: Primitive, a: Aval, b: Aval) -> Aval | None:
    if a.dtype is not b.dtype or a.dtype.kind not in "iufc":
        return None
    try:
        whole = aval_of(np.broadcast_shapes(a.shape, b.shape), a.dtype)
        return prim.aval(whole, whole) if _is_small(whole) else None
    except (TypeError, ValueError):  # told elsewhere, in our words
        return None


def _is_small(aval: Any) -> bool:
    return type(aval) is Aval and aval.nbytes < PART


def apply(prim: Primitive, nodes: Sequence[Node], aval: Any, params: dict[str, Any]) -> Array | None:
    """Return what a primitive gives for parts that are known; None where it must be recorded."""
    if not _is_small(aval):
        return None
    # What parts are spread to, on the way to something large, is for blocks; so is a choice: they make it
    # without branches.
    if aval.nbytes >= LARGE and (prim is e.select or not any([n.aval.nbytes >= LARGE for n in nodes])):
        return None
    value = _computed(prim, nodes, aval, params)
    return None if value is None else _anew(value, aval)


def apply_many(prim: Primitive, arrays: Sequence[Array], params: dict[str, Any]) -> tuple[Array, ...] | None:
    """Return what a primitive with several results, a library's call, gives for what is known and not large.

    What loops give for its operands is known, as it is to compiled code (`whole`).
    """
    if active.settings["mode"] == "max" or any([fresh_value(x) is None for x in arrays]):
        return None
    nodes = [x._node for x in arrays]
    avals = prim.aval(*[n.aval for n in nodes], **params)
    if sum([n.aval.nbytes for n in nodes]) >= PART or not all(map(_is_small, avals)):
        return None
    values = _computed(prim, nodes, avals, params)
    return None if values is None else tuple(map(_anew, values, avals))


def _computed(prim: Primitive, nodes: Sequence[Node], aval: Any, params: dict[str, Any]) -> Any:
    """Return the value, or the values, of what is known; None where it is not, or the data are wrong."""
    values = [n.value for n in nodes]  # numbers have theirs from the start
    if any([v is None for v in values]):
        return None
    # The sums of small arrays have NumPy's bits, which those that threads share need not have.
    function = prim.host if prim.kind == "reduce" else calls.whole(prim, values)
    try:
        value = as_value(heard(function, *values, **params))
    except calls.DATA_ERRORS:  # told where it is looked at
        listener.heard.clear()
        return None
    if listener.heard:
        tell([Node(prim, tuple(nodes), params, aval, 0)])
    return value


def view(prim: Primitive, node: Node, params: dict[str, Any]) -> Array | None:
    """Return what a primitive that moves no elements gives for a part; None where it must be recorded."""
    assert node.value is not None
    try:
        value = as_value(prim.host(node.value, **params))
    except calls.DATA_ERRORS:  # told elsewhere, in our words
        return None
    # As in `apply`: what is spread to something large is for blocks.
    is_large = value.nbytes >= PART or value.nbytes >= LARGE > node.aval.nbytes
    return None if is_large and type(node) is not Exported else _seen(value, node)


part_hook += [apply, view, apply_many]
put_hook.append(put)
