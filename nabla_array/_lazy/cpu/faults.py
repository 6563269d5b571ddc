"""NumPy's floating-point warnings, though elements are computed elsewhere than where they are asked for.

The host evaluates with a listener in NumPy's error state. Only when it hears of a fault, which is rare, does
anybody ask which node it was, and what the error state was when that was recorded. The usual state costs
nothing to record; where another one is in force, a node's params say so (`Marked`).
"""

from __future__ import annotations

import contextvars
import sys
import warnings
from _thread import _local as local  # `threading` takes a millisecond to import
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from ..config import active
from ..graph.node import UNHEARD, Marked, Node, evaluate_hook, user_frame
from ..graph.tape import is_taping, marking
from ..native import compiled

State = dict[str, str]

# NumPy's words for a fault: its name in a state, and its number for a function that is called.
_KINDS = {"divide by zero": ("divide", 1), "overflow": ("over", 2), "underflow": ("under", 4)}
_KINDS["invalid value"] = ("invalid", 8)
# What NumPy's operators call themselves on scalars, which are 0-d arrays here.
_OPERATORS = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "power",
    "negative",
    "absolute",
)


class _Own(NamedTuple):
    """An error state that a thread records under."""

    state: State
    numpys: dict[str, Any]  # NumPy's own meanwhile
    context: contextvars.Context  # in which NumPy's functions compute at once
    always: int  # the faults, by NumPy's numbers, that somebody wants to be told of
    usual: int  # and those where the settings say so


# What NumPy does where nobody asked. "usual" warns where the settings say so.
_USUAL: State = {"divide": "usual", "over": "usual", "under": "ignore", "invalid": "usual"}


def of_numpy(state: State) -> State:
    """Return what NumPy is told where this is asked for."""
    return {kind: "warn" if mode == "usual" else mode for kind, mode in state.items()}


class _Listener(local):
    """What NumPy writes about faults to: each thread hears its own, and has error states of its own."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Node | None]] = []
        # What this thread records under, innermost last.
        self.states: list[_Own] = []
        # The state of what is not marked, and NumPy's own meanwhile; `seterr` changes them.
        self.usual = dict(_USUAL)
        self.numpys = of_numpy(_USUAL)
        # The nodes that `heard_of` computes in this thread.
        self.order: Iterable[Node] = ()

    def write(self, message: str) -> None:
        """Hear what NumPy tells this thread."""
        self.take([(message, _node_at(sys._getframe(1)))])

    def take(self, heard: list[tuple[str, Node | None]]) -> None:
        """Hear what this thread heard just now, or another one did for it."""
        self.heard += heard
        if heard and compiled is not None:
            compiled.hear()


# Whether each context has filters of warnings of its own, which come before those of the module.
_HAS_FILTERS_BY_CONTEXT = bool(getattr(sys.flags, "context_aware_warnings", False))
if compiled is not None and not _HAS_FILTERS_BY_CONTEXT:
    compiled.filter_by(warnings)


def sees_warnings() -> bool:
    """Say whether usual warnings would be seen: by the settings, and the first of Python's filters."""
    if not active.settings["float_warnings"]:
        return False
    if _HAS_FILTERS_BY_CONTEXT or not warnings.filters:
        return True
    action, message, category, module, line = warnings.filters[0]
    is_for_all = message is None and module is None and not line and issubclass(RuntimeWarning, category)
    return not (action == "ignore" and is_for_all)


listener = _Listener()
# Whether anybody has recorded under an error state of their own: it may be computed at any time.
has_states = False


def may_be_told() -> bool:
    """Say whether anybody may ask for faults to be told."""
    return has_states or bool(active.settings["float_warnings"])


# The functions that evaluate one node, in a variable of that name, by their identity: to hash code is slow.
one_by_one: dict[int, CodeType] = {}


def _node_at(frame: FrameType | None) -> Node | None:
    for _ in range(8):
        if frame is None:
            break
        if id(frame.f_code) in one_by_one:
            node: Node = frame.f_locals["node"]
            return node
        frame = frame.f_back
    return None


def _listening() -> contextvars.Context:
    context = contextvars.Context()
    context.run(np.seterrcall, listener)
    context.run(np.seterr, all="log", under="ignore")
    if compiled is not None:
        context.run(compiled.keep_memory)
    return context


listening = _listening()
# A copy of it that is entered without another; whoever finds it entered, by a thread or below, makes one.
_entered = listening.copy()


def heard(function: Callable[..., Any], *args: Any, **params: Any) -> Any:
    """Call a function, which changes nothing, where NumPy's faults are heard."""
    context = _entered
    if has_states and (states := listener.states):
        context = states[-1].context
    try:
        return context.run(function, *args, **params)
    except RuntimeError:
        return listening.copy().run(function, *args, **params)


# Bytes from which on memory is kept when an array dies, for the next.
_KEPT_FROM = 1 << 17


def copied(x: np.ndarray, order: Any = "C") -> np.ndarray:
    """Return a copy of an array; a large one in memory that another one left, which costs no page faults."""
    out: np.ndarray = x.copy(order) if x.nbytes < _KEPT_FROM else heard(x.copy, order)
    return out


def hearing(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function where NumPy's faults are heard; what it hears before an error is forgotten."""
    try:
        # A copy each time: a finalizer may evaluate something in the midst of an evaluation.
        return listening.copy().run(function, *args)
    except BaseException:
        listener.heard.clear()  # nobody will tell of it
        raise


def heard_of(order: Iterable[Node], function: Callable[..., Any], *args: Any) -> Any:
    """Call a function that computes the nodes of `order`, and tell of the faults that it hears."""
    before, listener.order = listener.order, order
    try:
        found = hearing(function, *args)
    finally:
        listener.order = before
    if listener.heard:
        tell(order)
    return found


def is_asked() -> bool:
    """Say whether anybody wants to be told of the faults of what `heard_of` computes."""
    modes = {mode for state in _states_of(listener.order) for mode in state.values()} - {"ignore"}
    return bool(modes - {"usual"}) or (bool(modes) and sees_warnings())


def _states_of(nodes: Iterable[Node]) -> list[State]:
    return [n.params.state if type(n.params) is Marked else listener.usual for n in nodes]


def _name_of(prim: Any) -> str:
    """Return what NumPy calls an operation in its messages."""
    method = {"reduce": "reduce", "scan": "accumulate"}.get(prim.kind)
    return method or (prim.name if prim.ufunc is None else prim.ufunc.__name__)


def _names_at(node: Node) -> Iterable[str]:
    """Return what NumPy calls the operation of a node, or those that it stands for: its param `heard`."""
    names: Iterable[str] = node.params.get("heard", (_name_of(node.prim),))
    return names


def names_heard(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return what NumPy calls, in its messages, the operations of nodes whose faults somebody may hear."""
    heard = [n for n in nodes if n.prim is not None and type(n.params) is not Marked]
    return tuple(dict.fromkeys([name for n in heard for name in _names_at(n)]))


def tell(order: Iterable[Node] = ()) -> None:
    """Warn of the faults that were heard, or raise, as the error state asked when they were recorded.

    `order` holds the nodes of a program that was run as a whole. Raises FloatingPointError.
    """
    heard, listener.heard = listener.heard, []
    errors: list[FloatingPointError] = []
    theirs, ours = _numpys()
    for message, node in dict.fromkeys(heard):
        kind, key, name = _parsed(message)
        nodes = [n for n in (order if node is None else (node,)) if name in _names_at(n)]
        asked = {_mode(n.params, key, theirs[key], ours[key]) for n in nodes}
        if len(asked) == 1:  # else nobody asks, or some who want to hear and some who do not
            _tell_at(errors, asked.pop(), kind, name, nodes[0].aval)
    if errors:
        raise errors[0]


@lru_cache(256)
def _parsed(message: str) -> tuple[str, str, str]:
    """Return of what NumPy writes its word for the fault, the name of that in a state, and the function's."""
    kind, name = message.removeprefix("Warning: ").rstrip().split(" encountered in ")
    return kind, _KINDS[kind][0], name.removeprefix("scalar ")  # of NumPy's numbers: powers without axes


def tell_of_nodes(noted: Iterable[tuple[Any, Any, Any, int]]) -> None:
    """Tell of faults that compiled code saw: of each node the primitive, params, aval, and NumPy's numbers.

    Raises FloatingPointError where the error state asked for it.
    """
    errors: list[FloatingPointError] = []
    theirs, ours = _numpys()
    for prim, params, aval, bits in noted:
        for kind, key in _kinds_of(bits):
            mode = _mode(params, key, theirs[key], ours[key])
            _tell_at(errors, mode, kind, _name_of(prim), aval)
    if errors:
        raise errors[0]


def _mode(params: Any, key: str, theirs: str, ours: str) -> str:
    """Return what becomes of a fault at an operation; `_numpys` tells what `theirs` and `ours` are."""
    is_marked = type(params) is Marked
    if theirs != ours and (theirs == "ignore" or (active.settings["float_warnings"] and not is_marked)):
        return theirs
    mode: str = (params.state if is_marked else listener.usual)[key]
    return mode


@lru_cache(16)
def _kinds_of(bits: int) -> tuple[tuple[str, str], ...]:
    """Return NumPy's words for faults, by its numbers for them, and their names in a state."""
    return tuple([(kind, key) for kind, (key, bit) in _KINDS.items() if bits & bit])


def _tell_at(errors: list[FloatingPointError], mode: str, kind: str, name: str, aval: Any) -> None:
    """Tell of a fault at an operation with a result of this aval, or add to `errors` what is to be raised."""
    where = f"scalar {name}" if name in _OPERATORS and not aval.shape else name
    error = _tell(mode, kind, f"{kind} encountered in {where}")
    if error is not None:
        errors.append(error)


def tell_here() -> None:
    """Tell of the faults that were heard as the error state here asks. Raises FloatingPointError."""
    heard, listener.heard = listener.heard, []
    states = listener.states
    state = states[-1].state if states else listener.usual
    for message in dict.fromkeys([text.removeprefix("Warning: ").rstrip() for text, _ in heard]):
        kind = message.partition(" encountered in ")[0]
        error = _tell(state[_KINDS[kind][0]], kind, message)
        if error is not None:
            raise error


def _numpys() -> tuple[Any, State]:
    """Return NumPy's error state where this is evaluated, and what it is but for blocks of `numpy.errstate`.

    We are not told of such a block, as libraries have around what they compute. What it ignores stays untold,
    and where the settings have faults told, it decides on what was not recorded under a state of ours.
    """
    states = listener.states
    return np.geterr(), states[-1].numpys if states else listener.numpys


def _warn(message: str) -> None:
    frame = user_frame()
    seen = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__", "<unknown>")  # None would silence it
    where = frame.f_code.co_filename, frame.f_lineno
    warnings.warn_explicit(message, RuntimeWarning, *where, module=module, registry=seen)


def warn_of_shape(message: str) -> None:
    """Warn, where that is wanted, of what the shapes of operands show."""
    if active.settings["float_warnings"]:
        _warn(message)


def _tell(mode: str, kind: str, message: str) -> FloatingPointError | None:
    if mode == "warn" or (mode == "usual" and active.settings["float_warnings"]):
        _warn(message)
    elif mode == "raise":
        return FloatingPointError(message)
    elif mode == "print":
        print(f"Warning: {message}", file=sys.stderr)
    elif mode == "call":
        np.geterrcall()(kind, _KINDS[kind][1])  # type: ignore[misc, operator]
    elif mode == "log":
        np.geterrcall().write(f"Warning: {message}\n")  # type: ignore[union-attr]
    return None


def tell_at_once(bits: int, name: str) -> None:
    """Tell of faults, by NumPy's numbers for them, as NumPy's function of this name would here."""
    state = np.geterr()
    for kind, key in _kinds_of(bits):
        if (mode := state[key]) != "ignore":  # type: ignore[literal-required]
            error = _tell(mode, kind, f"{kind} encountered in {name}")
            if error is not None:
                raise error


def is_ignored(bits: int) -> bool:
    """Say whether nobody wants to hear of faults, by NumPy's numbers for them, of what is computed here."""
    if not bits or not is_asked():
        return True
    state = np.geterr()
    return all([state[key] == "ignore" for _, key in _kinds_of(bits)])  # type: ignore[literal-required]


def hears_underflow() -> bool:
    """Say whether this thread records where underflow is told of, the one fault whose result is finite."""
    return has_states and bool(states := listener.states) and states[-1].state["under"] != "ignore"


def is_urgent(state: State) -> bool:
    """Say whether somebody waits for an exception, or for a call, at the line of the operation."""
    return not {"usual", "warn", "ignore"}.issuperset(state.values())


def may_raise() -> bool:
    """Say whether a fault of what is computed now may be an exception.

    Under an error state of its own, what may raise is computed at its line.
    """
    is_told = bool(active.settings["float_warnings"])
    return is_urgent(listener.usual) or (is_told and "error" in [f[0] for f in warnings.filters])


def _marker(state: State) -> Callable[[Node], None]:
    empty = Marked({}, state)
    at_once = is_urgent(state)

    def mark(node: Node) -> None:
        node.params = Marked(node.params, state) if node.params else empty
        if at_once and not is_taping():
            evaluate_hook[0]([node])

    return mark


@lru_cache(256)
def _recording(modes: tuple[str, ...]) -> tuple[_Own, marking]:
    """Return a state with these modes, and what marks nodes with it.

    What is computed at once is told of at once, and need not be recorded for that. But an error is awaited at
    its line.
    """
    state = dict(zip(_USUAL, modes, strict=True))
    context = listening.copy()
    context.run(np.seterr, **{k: "ignore" if mode == "ignore" else "log" for k, mode in state.items()})
    asked = [(bit, state[key]) for key, bit in _KINDS.values()]
    own = _Own(
        state,
        {},
        context,
        sum([bit for bit, mode in asked if mode not in ("usual", "ignore")]),
        sum([bit for bit, mode in asked if mode == "usual"]),
    )
    return own, marking(_marker(state), is_urgent(state))


def _apply(states: list[_Own]) -> None:
    """Tell compiled code of the innermost state."""
    if compiled is not None:
        compiled.under(*(states[-1][2:] if states else (None, 0, 0)))


class recorded_under:
    """Let this thread record under an error state with these changes, which NumPy's has already."""

    __slots__ = ("_changes", "_marking")

    def __init__(self, changes: State) -> None:
        self._changes = changes

    def __enter__(self) -> None:
        """Begin."""
        global has_states, _entered
        has_states = True
        states = listener.states
        outer, theirs = states[-1][:2] if states else (listener.usual, listener.numpys)
        own, self._marking = _recording(tuple((outer | self._changes).values()))
        if own.state["under"] != "ignore":
            listening.run(np.seterr, under="log")
            _entered = listening.copy()
        # A context of its own: other threads may be in the other.
        numpys = theirs | of_numpy(self._changes)
        states.append(_Own(own.state, numpys, own.context.copy(), own.always, own.usual))
        _apply(states)
        self._marking.__enter__()

    def __exit__(self, *error: object) -> None:
        self.unmark()
        listener.states.pop()
        _apply(listener.states)

    def unmark(self) -> None:
        """End for a thread that ends, whose states go with it."""
        self._marking.__exit__()


_unheard = _marker(UNHEARD.state)


def unheard() -> marking:
    """Let this thread record what no warning should come of in a ``with`` block."""
    return marking(_unheard, all_steps=False)
