"""`Array`: a mutable handle on a node of the immutable graph (operators come from operators.py)."""

from __future__ import annotations

import math
import operator
import weakref
from _thread import _local as local  # `threading` takes a millisecond to import
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.config import active
from ..._lazy.graph.aval import LARGE
from ..._lazy.graph.node import NO_PARAMS, Exported, Node, Part, kept, leaf, record, tapes
from ..._lazy.graph.primitive import Primitive
from ..._lazy.graph.scopes import is_captured, refuse_write, scopes
from ..._lazy.native import compiled
from ..._lazy.ops.elementwise import imag, real
from ..._lazy.ops.placement import finders, in_use, transfer
from ..._lazy.ops.structure import permute, project
from ..._lazy.rules.concretization import differentiating, is_traced
from ..._lazy.rules.levels import Levels, bind
from ..._lazy.run.claims import lock
from ..._lazy.run.devices import CPU, device_of
from ..._lazy.run.evaluator import evaluate, value_of
from .order import Axes, inverse, lying
from .steps import NO_LEVELS, Step, View, add_step, order_step, same_part

if TYPE_CHECKING:
    from types import ModuleType

    from ._methods import Device, Methods, Sharding  # a stub: what methods.py puts into the class
    from .types import DType
else:
    Methods = object


class NoLengthError(TypeError, AttributeError):
    """An array without axes has no length: a TypeError for `len`; who asks for `__len__` finds none."""


class _Elements:
    """An array as `iter` asks it: for x[0], x[1], ... when each is wanted, as NumPy's."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, i: int) -> Array:
        return self._array[i]


class Array(Methods):
    """An array with NumPy's behaviour whose elements are computed when somebody looks at them.

    Arrays come from functions (`asarray`, `zeros`, `arange`, ...), not from calling the class. An
    operation on arrays records a node of a graph; `print`, `bool`, `float`, `numpy.asarray`, DLPack or
    `nabla_array.eval` evaluate what is needed of it. Basic indexing, `.T`, `reshape` and the like give
    views that alias as NumPy's do, in both directions.

    Examples
    --------
    >>> import nabla_array as xp
    >>> x = xp.asarray([1.0, 2.0, 3.0])
    >>> y = x[1:]
    >>> y *= 10
    >>> x
    array([ 1., 20., 30.])
    """

    __slots__ = ("__weakref__", "_born", "_levels", "_node", "_view")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    _node: Node
    _levels: Levels
    _view: View | None
    _born: int  # the scope that it was made in (scopes.py); not set outside of all

    def __init__(self, node: Any, levels: Levels = NO_LEVELS) -> None:
        if not isinstance(node, Node):  # as NumPy's types of numbers are called: by `statistics`, say
            node = from_value(np.asarray(node if isinstance(node, int | complex) else float(node)))._node
        self._node = kept(node)
        self._levels = levels
        self._view = None
        if scopes:
            mark(self)

    # -- what it is --------------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]:
        """What `isinstance` takes it for besides (policies.py)."""
        return class_hook[0](self) if type(self) is Array else type(self)

    if compiled is not None:
        __class__ = compiled.attribute("class", __class__)  # type: ignore[assignment, arg-type]

    @property
    def dtype(self) -> DType:
        """Data type of the elements, a `numpy.dtype`."""
        return self._node.aval.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        shape: tuple[int, ...] = self._node.aval.shape
        return shape[len(self._levels) :] if self._levels else shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def device(self) -> Device:
        """The device that holds the array: ``"cpu"``, an accelerator as ``"gpu:0"``, or a mesh."""
        return device_of(current(self)) if in_use else CPU

    @property
    def sharding(self) -> Sharding | None:
        """How an array on a mesh is cut over it; None for others. Its value is computed for that."""
        node = current(self)
        if device_of(node) == CPU:
            return None
        evaluate((node,))
        return node.params["value"].sharding

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        """Return the array on `device`, which may be itself; raises ValueError for one that is not there."""
        check_device("to_device", device)
        if stream is not None:
            raise ValueError(f"to_device: there are no streams; stream must be None, not {stream!r}")
        return placed(self, device)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Return the `nabla_array` module; raises ValueError for a version that it does not have."""
        return namespace_hook[0](api_version)

    # -- values ------------------------------------------------------------------------------------

    def _value(self) -> np.ndarray:
        """Return the elements, evaluated. The memory is shared: nobody may write to it."""
        if tapes:
            look_hook[0](self)
        if self._levels:
            return split_hook[0](self)
        value: np.ndarray = value_of(current(self))
        return value

    def item(self, /, *args: Any) -> bool | int | float | complex:
        """Return one element as a Python scalar."""
        note_number(self)
        number: bool | int | float | complex = self._value().item(*args)
        return number

    def tolist(self, /) -> Any:
        """Return the elements as nested lists of Python scalars."""
        note_number(self)
        return self._value().tolist()

    def __bool__(self) -> bool:
        return bool(self._value())

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        note_number(self)
        return float(self._scalar("float"))

    def __complex__(self, /) -> complex:
        note_number(self)
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        value = self._scalar("index")
        try:
            return operator.index(value)
        except TypeError as error:
            raise TypeError(f"{error}; int(x) or float(x) of an array x can") from None

    def _scalar(self, what: str) -> Any:
        if self.shape:
            raise error_hook[0](f"{what}: needs an array without axes, not one of shape {self.shape}")
        return self._value()[()]

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise NoLengthError("len: a 0-d array has no length")
        return shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("iter: cannot iterate over a 0-d array")
        return iter(_Elements(self))

    def __repr__(self) -> str:
        return self._shown(repr)

    def __str__(self) -> str:
        return self._shown(str)

    def _shown(self, show: Callable[[Any], str]) -> str:
        """Return what `show` makes of the value; a sum, say, is a scalar in NumPy."""
        current(self)
        if self._levels:
            return self._batched()
        return show(self._value()[()] if is_scalar(self) else self._value())

    def _batched(self) -> str:
        """Describe an array under `vmap`; to look at its value would split the batch."""
        lead = self._node.aval.shape[: len(self._levels)]
        return f"<{self.dtype} array of shape {self.shape} in a batch of {' x '.join(map(str, lead))}>"

    def _repr_html_(self) -> str | None:
        return html_hook[0](self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the same for IPython, which asks for this before it prints and so computes the array."""
        html = self._repr_html_()
        return {} if html is None else {"text/html": html}

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name[0] != "_" or name[:2] == "__"]

    def __format__(self, spec: str) -> str:
        return self._shown(lambda value: format(value, spec))

    def __reduce__(self) -> tuple[Any, ...]:
        check_leaves("pickle", self)
        return (from_value if self._view is None else from_shared), (self.__array__(),)

    # -- views -------------------------------------------------------------------------------------

    @property
    def T(self) -> Array:
        """The array with its axes reversed, as a view (the standard asks for two axes; NumPy takes any)."""
        return view(self, permute, axes=tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> Array:
        """The array with its last two axes swapped, as a view; raises ValueError below two axes."""
        n = self.ndim
        if n < 2:
            raise ValueError(f"mT: needs two axes or more, not shape {self.shape}")
        return view(self, permute, axes=(*range(n - 2), n - 1, n - 2))

    @property
    def real(self) -> Array:
        """The real part, as a view."""
        return view(self, real) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Array:
        """The imaginary part, as a view; zeros where the dtype is real."""
        if self.dtype.kind == "c":
            return view(self, imag)
        zeros = placed(from_value(np.zeros(self.shape, self.dtype)), self.device)
        zeros = zeros if is_scalar(self) else zero_d(zeros)
        freeze(zeros)
        return zeros


def read_only(value: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to."""
    view = value.view()
    view.setflags(False)  # type: ignore[call-arg]  # by keyword it takes three times as long
    return view


def current(x: Array) -> Node:
    """Return the node that `x` names now, after any write through another view.

    The levels of `x` are those of this node only after the call: a write may have changed them.
    """
    seen = x._view
    if seen is not None and seen.base._node is not seen.seen:
        with lock:
            _renew(x)
    return x._node


def _renew(x: Array) -> None:
    """Give a view the node that it has of its owner's; the lock is held."""
    seen = x._view
    if seen is None or seen.base._node is seen.seen:  # another thread did
        return
    owned, node, levels = seen.base._node, seen.base._node, seen.base._levels
    if type(x._node) is Part and not (levels or x._levels or tapes) and active.settings["mode"] != "max":
        part = same_part(x._node.value, seen.seen.value, owned.value)
        if part is not None:
            x._node = Exported(part) if type(owned) is Exported else Part(part)
            x._view = View(seen.base, seen._steps, owned, seen._of, seen._key, seen._shape)
            return
    steps = seen.steps
    if node.aval is not seen.seen.aval:
        back = seen.back()
        if back is None:  # the owner was resized and has let go of what this looks at
            x._view = None
            return
        steps = (*back, *steps)
    for step in steps:
        indices = [(current(i), i._levels) for i in step.indices]
        if type(node) is Exported and not (indices or levels or tapes):
            found = part_hook[1](step.prim, node, step.params)
            if found is not None:  # it stays where its owner is
                node = found._node
                continue
        node, levels = bind(step.prim, ((node, levels), *indices), step.params)
    x._node, x._levels = node, levels
    x._view = View(seen.base, steps, owned)


def apply(prim: Primitive, *arrays: Array, **params: Any) -> Array:
    """Record a primitive on arrays that already have the shapes and dtypes that it wants."""
    nodes = [x._node if x._view is None else current(x) for x in arrays]
    levels = [x._levels for x in arrays]
    if not any(levels):
        if not tapes and (is_direct(prim, nodes) or takes_little(prim, nodes, params)):
            found: Array | None
            found = part_hook[0](prim, nodes, prim.aval(*[n.aval for n in nodes], **params), params)
            if found is not None:
                return found
        return Array(record(prim, tuple(nodes), params or NO_PARAMS))
    return Array(*bind(prim, list(zip(nodes, levels, strict=True)), params or NO_PARAMS))


if compiled is not None:
    apply = compiled.wrap("apply", apply, "apply")


def is_direct(prim: Primitive, nodes: Sequence[Node]) -> bool:
    """Say whether an operation is better done at once: on parts of arrays, or on numbers."""
    for n in nodes:
        if type(n) is Part:
            return True
    return prim.kind == "elementwise" and all([n.aval.ndim == 0 for n in nodes])


def takes_little(prim: Primitive, nodes: Sequence[Node], params: dict[str, Any]) -> bool:
    """Say whether an operation takes a small part of a large array that is known; `max` mode records it."""
    if not nodes or not prim.picks:
        return False
    if nodes[0].value is None or active.settings["mode"] == "max":
        return False
    return nodes[0].aval.nbytes >= LARGE > prim.aval(*[n.aval for n in nodes], **params).nbytes


def apply_many(prim: Primitive, *arrays: Array, **params: Any) -> tuple[Array, ...]:
    """Record a primitive that has several results."""
    found: tuple[Array, ...] | None = part_hook[2](prim, arrays, params)
    if found is not None:
        return found
    node, levels = bind(prim, [(current(x), x._levels) for x in arrays], params or NO_PARAMS)
    return tuple(Array(record(project, (node,), {"index": i}), levels) for i in range(len(node.aval)))


# Bytes below which what is known is computed with at once.
TINY = 1 << 14


def from_value(value: np.ndarray) -> Array:
    """Return an array of these elements; nobody may write to `value` from now on.

    Operations on few elements take less time than it takes to record them; `max` mode shows MAX all it can.
    """
    axes = lying(value) if value.ndim > 1 and not value.flags.c_contiguous else None
    if axes is not None:
        return ordered(from_value(value.transpose(axes)), inverse(axes))
    is_tiny = value.nbytes < TINY and active.settings["mode"] != "max"
    return Array(Part(value) if is_tiny else leaf(value))


def ordered(owner: Array, axes: Axes) -> Array:
    """Return an array that owns its elements, in another order: of these axes of one that nobody else has."""
    x = view(owner, permute, axes=axes)
    x._view = View(owner, (order_step(axes),), owner._node)
    return x


def view(x: Array, prim: Primitive, *indices: Array, **params: Any) -> Array:
    """Return a view of `x` through a primitive that moves elements; writes go both ways."""
    current(x)
    seen = x._view  # before the node: what another thread has renewed since is made anew
    node = x._node
    others = [(current(i), i._levels) for i in indices] if indices else ()
    out = None
    # What is known gives a part at once, unless MAX is to see all it can.
    at_once = type(node) is Part or (type(node.value) is np.ndarray and active.settings["mode"] != "max")
    if at_once and not (tapes or indices or x._levels):
        out = part_hook[1](prim, node, params)
    if out is None:
        out = Array(*bind(prim, ((node, x._levels), *others), params or NO_PARAMS))
    if seen is None and not x.shape:
        if not out.shape:  # the transpose of a scalar is one
            return out
        x = Array(node, x._levels)  # nobody writes to a scalar
    seen = seen or View(x, (), node)
    out._view = View(seen.base, None, seen.seen, seen, Step(prim, params, indices))
    if frozen and id(x) in frozen:
        freeze(out)
    return out


def is_scalar(x: Array) -> bool:
    """Say whether an array is what NumPy has a scalar for: a sum, or ``x[0]``, has no axes and is no view."""
    return x._view is None and not x.shape


def zero_d(x: Array) -> Array:
    """Return an array as it is; of a scalar, what NumPy has as ``array(5)``, written to as a view is."""
    if not is_scalar(x):
        return x
    out = Array(x._node, x._levels)
    out._view = View(Array(x._node, x._levels), (), x._node)
    return out


def as_scalar(x: Array) -> Array:
    """Return an array as it is; of one without axes, the scalar that most of NumPy's functions give."""
    return x if x._view is None or x.shape else Array(current(x), x._levels)


# The arrays, by id, that must not be written to, and whether that is for good.
frozen: dict[int, tuple[weakref.ref[Array], bool]] = {}


def freeze(x: Array, for_good: bool = False) -> None:
    """Let nobody write to `x`, nor to views of it that are made from now on."""
    key = id(x)
    frozen[key] = weakref.ref(x, lambda _: frozen.pop(key, None)), for_good


def thaw(x: Array) -> bool:
    """Let `x` be written to again; returns False where it, or what it is a view of, must not be."""
    owner = x if x._view is None else x._view.base
    if (x is not owner and id(owner) in frozen) or frozen.get(id(x), (None, False))[1]:
        return False
    frozen.pop(id(x), None)
    return True


def from_shared(value: np.ndarray) -> Array:
    """Return an array on memory that others know, too: read-only, for good, where that is."""
    x = zero_d(from_value(value))
    if not value.flags.writeable:
        freeze(x, for_good=True)
    return x


def mark(x: Array) -> None:
    """Mark an array with the scope that it is made in."""
    x._born = max(scopes, default=0)  # another thread may leave its own meanwhile


def is_from_outside(x: Array) -> bool:
    """Say whether an array, or what it is a view of, was there before the scope that runs."""
    return is_captured(getattr(x if x._view is None else x._view.base, "_born", 0))


def check_writable(x: Array) -> None:
    """Raise ValueError for a view that is read-only, as in NumPy; leave a scope that captures the array."""
    if scopes and is_from_outside(x):
        refuse_write()
    if frozen and id(x) in frozen:
        raise ValueError("setitem: assignment destination is read-only")
    if x._view is not None:
        for step in x._view.steps:
            if step.prim.read_only:
                raise ValueError(f"setitem: the array is read-only (it comes from {step.prim.name})")


def write(x: Array, new: Array, part: Step | None = None) -> None:
    """Make `x`, or the `part` of it, equal `new` (of its shape and dtype) for all that share elements."""
    rewrite(x, lambda: new, part)


def rewrite(x: Array, make: Callable[[], Array], part: Step | None = None) -> None:
    """Do `write` with what `make` gives, which may read `x`: no other thread's write comes in between."""
    check_writable(x)
    owner = x if x._view is None else x._view.base
    with lock:
        while True:  # an evaluation on the way may let another thread write first
            before, new = owner._node, make()
            if in_use:
                new = placed(new, x.device)  # what is written does not move the array
            if owner._node is before and _write(x, new, part):
                return


def _write(x: Array, new: Array, part: Step | None) -> bool:
    """Write once; returns False where an evaluation on the way let another thread write first."""
    if x._view is not None and x._view.base._node.aval is not x._view.seen.aval:
        current(x)
    seen = x._view or View(x, (), x._node)
    base, steps = seen.base, seen.steps
    if part is not None:
        steps = add_step(steps, part)
    before = base._node
    old = [Array(before, base._levels)]
    for step in steps[:-1]:
        old.append(apply(step.prim, old[-1], *step.indices, **step.params))
    node = kept(current(new))  # now: it may be a view of what changes
    written = new
    for step in reversed(steps):
        written = step.prim.put(apply, old.pop(), written, *step.indices, **step.params)
    after = node if written is new else kept(current(written))
    is_seen = type(before) is Exported and before.aval is after.aval and before.value.flags.writeable
    if is_seen and not (written._levels or (tapes and differentiating(after))):
        value = value_of(after)
        if base._node is not before:
            return False
        np.copyto(before.value, value)  # for those who have the memory
        base._node = Exported(before.value)  # for views, which look again
        return True
    if base._node is not before:
        return False
    base._node, base._levels = after, written._levels
    if x is not base and part is None and new._levels == written._levels:
        x._node, x._levels = node, new._levels
        x._view = View(base, steps, base._node)
    return True


def check_leaves(function: str, x: Array, how: str = "for NumPy (or C)") -> None:
    """Raise TypeError where an array leaves the graph whose derivative is being taken."""
    if tapes and differentiating(current(x)):
        raise TypeError(
            f"{function}: a value that is being differentiated leaves {how}, where no derivative "
            "follows it; stop_gradient makes it a constant, custom_jvp or custom_vjp would give a derivative"
        )


def note_number(x: Array) -> None:
    """Let derivatives know that a value becomes a Python number with which may be computed.

    Integers, truth values and hashes are not told of: as functions of the value they are piecewise constant.
    """
    if tapes:
        for tell in number_hook:
            tell(x)


def is_lazy(x: Array) -> bool:
    """Say whether values cannot be looked at, since a program is made of what is computed with them."""
    if not is_traced(current(x)):
        return False
    for tell in asked_hook:
        tell()
    return True


def check_device(function: str, device: Any) -> None:
    """Raise ValueError unless `device` is None, the CPU or an accelerator that MAX finds."""
    if device is None or (isinstance(device, str) and device == CPU):
        return
    if isinstance(device, Hashable) and device in in_use:
        return
    more, found = list(finders), ""
    if isinstance(device, str) and device.startswith("gpu:"):
        from ..._lazy.run import accelerator

        more.append(accelerator.find)
        found = f" ({accelerator.names()[1]})"
    for find in more:
        there = find(device)
        if there is not None:
            in_use[device] = there
            return
    raise ValueError(f"{function}: no device {device!r}{found}; 'cpu' would work")


class _Default(local):
    """Where a thread's new arrays are put for which no device is named.

    Attributes
    ----------
    device
        The device of the innermost `with` block.
    place
        What puts an array there; None: it stays where it is.
    """

    device: Any = None
    place: Callable[[Array], Array] | None = None


default = _Default()
# The default devices that are in force in any thread: compiled code makes no arrays meanwhile.
defaults: list[Any] = []


@contextmanager
def default_device(device: Any, place: Callable[[Array], Array]) -> Iterator[None]:
    """Put this thread's new arrays on a device meanwhile, as `place` does."""
    before = default.device, default.place
    default.device, default.place = device, place
    defaults.append(device)
    limit_hook[0]()
    try:
        yield
    finally:
        default.device, default.place = before
        defaults.remove(device)
        limit_hook[0]()


def placed(x: Array, device: Any) -> Array:
    """Return an array on a device that `check_device` has let through; None is the thread's default."""
    if device is None and default.place is not None and x.device == CPU:
        return default.place(x)
    if not in_use or device is None or device == x.device:
        return x
    return Array(*bind(transfer, ((current(x), x._levels),), {"source": x.device, "device": device}))


# `policies` puts here what says whose instance an array is to the code that asks, ...
class_hook: list[Callable[[Array], type[Any]]] = []
# ... and the error for an array with axes that is taken for a number.
error_hook: list[Callable[[str], Exception]] = []
# `vmap` puts here what gives the one value that a batched array has for all examples that go on together.
split_hook: list[Callable[[Array], np.ndarray]] = []
# And `compile` what is told of an array whose value somebody wants while a tape runs.
look_hook: list[Callable[[Array], None]] = [lambda x: None]
# And what is told of an array whose value becomes a Python number while a tape runs.
number_hook: list[Callable[[Array], None]] = []
# `fastpath` puts here what tells compiled code what it may do at once.
limit_hook: list[Callable[[], None]] = []
# And what is told that a library asked whether it may look, and heard no.
asked_hook: list[Callable[[], None]] = []
# `direct` puts here what applies a primitive to parts of arrays at once, if it can, what gives views, and
# what gives several results at once.
part_hook: list[Callable[..., Any]] = []


# The package puts itself here once it is whole; `Array` cannot import it. And what notebooks show.
namespace_hook: list[Callable[[str | None], ModuleType]] = []
html_hook: list[Callable[[Array], str | None]] = []
