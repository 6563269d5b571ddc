"""What becomes of a number that a function of the user's takes from an array: read from its instructions.

A number that only decides (a branch, a comparison, a printed text) has no derivative to lose. One that is
computed with, stored or handed on may come back as a constant. The answer decides about a warning and changes
no result. The interpretation is abstract: it follows the number over the stack and through local variables,
along every branch, and takes what it does not know for a way out.
"""

from __future__ import annotations

import dis
import logging
import sys
from bisect import bisect_right
from collections.abc import Mapping
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

# Abstract values: no number of ours; the number, or what merely holds it; what was computed from it. A tuple
# whose parts are known is a tuple of these.
OTHER, NUMBER, DERIVED = 0, 1, 2


class Verdict(NamedTuple):
    """Whether the number leaves what can be followed, and what of it the function returns or yields."""

    leaves: bool
    returned: Any = OTHER


_LEAVES = Verdict(True)

# By module, functions that make text, truth values or integers of a number, or that drop it.
_DECIDING = {
    "builtins": "bool int str repr format print len isinstance issubclass type id hash range callable ascii",
    "math": "isnan isinf isfinite isclose floor ceil trunc",
    "cmath": "isnan isinf isfinite isclose",
    "_operator": "truth not_ index lt le eq ne gt ge",
    "numpy": "isclose allclose",
}
# Functions that give something computed from their arguments, and keep nothing.
_CONVERTING = {"builtins": "float complex"}
_COMPUTING = {
    "builtins": "float complex abs max min sum pow divmod round tuple list sorted reversed zip enumerate"
}
_COMPUTING_MODULES = {"math", "cmath", "_operator", "operator"}
_DECIDING_MODULES = {"logging", "warnings"}


def _decides(function: Any) -> bool:
    if isinstance(function, type) and issubclass(function, BaseException):
        return True
    if isinstance(function, np.ufunc):
        return all(kinds.endswith("->?") for kinds in function.types)
    if getattr(function, "__objclass__", None) is str:  # a method: it gives a text
        return True
    return _is_in(function, _DECIDING) or getattr(function, "__module__", None) in _DECIDING_MODULES


def _computes(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return (
        _is_in(function, _COMPUTING)
        or isinstance(function, np.ufunc)
        or (isinstance(function, type) and issubclass(function, np.number))
        or module in _COMPUTING_MODULES
        or module.partition(".")[0] == __name__.partition(".")[0]
    )


def _is_in(function: Any, names: Mapping[str, str]) -> bool:
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", None)
    return type(module) is str and name in names.get(module, "").split()


def kind_of(value: Any) -> int:
    """Return the strongest of OTHER, NUMBER and DERIVED in an abstract value."""
    if type(value) is tuple:
        return max(map(kind_of, value), default=OTHER)
    return int(value)


def _merge(a: Any, b: Any) -> Any:
    if a == b or b == OTHER:
        return a
    if a == OTHER:
        return b
    if type(a) is tuple and type(b) is tuple and len(a) == len(b):
        return tuple(map(_merge, a, b))
    return max(kind_of(a), kind_of(b))


class _State(NamedTuple):
    """The stack as far as it is known (below are others), and the local variables that hold numbers."""

    stack: tuple[Any, ...]
    names: Mapping[str, Any]

    def pop(self, n: int) -> tuple[list[Any], _State]:
        """Return the top `n` values, the lowest first, and the rest."""
        if not n:
            return [], self
        top = list(self.stack[-n:])
        return [OTHER] * (n - len(top)) + top, self._replace(stack=self.stack[: -len(top) or None])

    def push(self, *values: Any) -> _State:
        stack = self.stack + values
        lowest = next((i for i, v in enumerate(stack) if v != OTHER), len(stack))
        return self._replace(stack=stack[lowest:])

    def named(self, name: str, value: Any) -> _State:
        names = {k: v for k, v in self.names.items() if k != name}
        if kind_of(value):
            names[name] = value
        return self._replace(names=names)

    def merge(self, other: _State) -> _State:
        n = max(len(self.stack), len(other.stack))
        mine, theirs = ((OTHER,) * (n - len(s.stack)) + s.stack for s in (self, other))
        names = {
            k: _merge(self.names.get(k, OTHER), other.names.get(k, OTHER))
            for k in {**self.names, **other.names}
        }
        return _State(tuple(map(_merge, mine, theirs)), names)

    def is_idle(self) -> bool:
        return not self.names and not any(map(kind_of, self.stack))


_verdicts: dict[tuple[CodeType, int, Any, bool], Verdict] = {}
_MOST_VERDICTS = 4096


def follow(frame: FrameType, value: Any, taken: bool) -> Verdict:
    """Say what becomes of `value`, the abstract result of the instruction that `frame` is at.

    `taken`: the instruction itself took the number from the array, or called a function that returned it.
    """
    key = (frame.f_code, frame.f_lasti, value, taken)
    verdict = _verdicts.get(key)
    if verdict is None:
        if len(_verdicts) >= _MOST_VERDICTS:
            _verdicts.clear()
        verdict = _verdicts[key] = _Walk(frame).run(frame.f_lasti, value, taken)
    return verdict


# Instructions whose one result is that of what they call.
_CALLING = (
    *("CALL", "BINARY_OP", "BINARY_SUBSCR", "UNARY_", "LOAD_ATTR", "LOAD_METHOD"),
    *("FOR_ITER", "SEND", "GET_ITER"),
)
_TEXT = ("FORMAT_", "CONVERT_VALUE", "BUILD_STRING")
_TESTS = ("COMPARE_OP", "IS_OP", "CONTAINS_OP", "UNARY_NOT", "TO_BOOL")
# What other instructions do to the stack.
_GROUPS = {
    "idle": "RESUME NOP CACHE PRECALL EXTENDED_ARG MAKE_CELL COPY_FREE_VARS KW_NAMES NOT_TAKEN DELETE_FAST "
    "DELETE_GLOBAL DELETE_DEREF DELETE_NAME SETUP_ANNOTATIONS GEN_START",
    "load": "LOAD_CONST LOAD_SMALL_INT LOAD_GLOBAL LOAD_NAME LOAD_DEREF LOAD_CLOSURE LOAD_CLASSDEREF "
    "PUSH_NULL LOAD_BUILD_CLASS LOAD_ASSERTION_ERROR LOAD_COMMON_CONSTANT LOAD_LOCALS",
    "pop": "POP_TOP END_FOR POP_ITER POP_EXCEPT",
    "store": "STORE_ATTR STORE_SUBSCR STORE_SLICE STORE_GLOBAL STORE_NAME STORE_DEREF",
    "add": "LIST_APPEND SET_ADD LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE MAP_ADD",
}
_GROUP = {name: group for group, names in _GROUPS.items() for name in names.split()}
_NOWHERE = _State((), {})  # which nobody needs to follow


def _changed(state: _State, effect: int) -> _State:
    """Return a state with as many values more or fewer as an instruction's effect on the stack says."""
    return state.push(*[OTHER] * effect) if effect >= 0 else state.pop(-effect)[1]


def _is_idle(i: dis.Instruction) -> bool:
    return _GROUP.get(i.opname) == "idle"


def _start(i: dis.Instruction) -> tuple[int, int] | None:
    """Return the line and column where an instruction's expression begins."""
    where = i.positions
    if where is None or where.lineno is None or where.col_offset is None:
        return None
    return where.lineno, where.col_offset


def _attribute(owner: Any, name: str) -> Any:
    """Return an attribute of a module, a text or a logger; None of anything else, which might compute it."""
    if isinstance(owner, ModuleType):
        return vars(owner).get(name)
    return getattr(type(owner), name, None) if isinstance(owner, str | logging.Logger) else None


class _Walk:
    """The abstract interpretation of one function from one of its instructions on."""

    def __init__(self, frame: FrameType) -> None:
        self.code = frame.f_code
        self.globals, self.builtins = frame.f_globals, frame.f_builtins
        self.instructions = [i for i in dis.get_instructions(frame.f_code) if i.opname != "CACHE"]
        self.index = {i.offset: k for k, i in enumerate(self.instructions)}
        self.handlers = [k for k, i in enumerate(self.instructions) if i.opname == "PUSH_EXC_INFO"]
        self.raised = _NOWHERE  # what handlers may find: any instruction may raise
        self.states: dict[int, _State] = {}
        self.waiting: list[int] = []
        self.returned: Any = OTHER

    def run(self, lasti: int, value: Any, taken: bool) -> Verdict:
        # While a function of Python's runs, its caller may be at the cache entries after the call.
        k = bisect_right([i.offset for i in self.instructions], lasti) - 1
        k += (
            self.instructions[k].opname == "PRECALL"
        )  # which makes the call itself once 3.11 knows the callee
        after = self._first(k, value, taken)
        if after is None:
            return _LEAVES
        self._reach(k + 1, after)
        while self.waiting:
            k = self.waiting.pop()
            after = self._step(k, self.states[k])
            if after is None:
                return _LEAVES
            self._reach(k + 1, after)
        return Verdict(False, self.returned)

    def _reach(self, k: int, state: _State) -> None:
        """Note that instruction `k` is reached in a state; it is looked at again where that is new."""
        if k >= len(self.instructions) or state.is_idle():
            return
        before = self.states.get(k)
        merged = state if before is None else before.merge(state)
        if merged != before:
            self.states[k] = merged
            self.waiting.append(k)
            raised = self.raised.merge(_State((), state.names))
            if raised != self.raised:
                self.raised = raised
                for handler in self.handlers:
                    self._reach(handler, raised)

    def _first(self, k: int, value: Any, taken: bool) -> _State | None:
        """Return the state after the instruction that gives the value; None where that is a way out."""
        i = self.instructions[k]
        name = i.opname
        if name.startswith((*_TEXT, *_TESTS, "POP_JUMP")) or (
            name == "BINARY_OP" and i.argrepr == "%" and taken
        ):
            return _NOWHERE  # "%f" % x: numbers and arrays answer % themselves
        if _GROUP.get(name) == "add":
            return _NOWHERE.push(kind_of(value), *[OTHER] * ((i.arg or 1) - 1))
        if name in ("UNPACK_SEQUENCE", "UNPACK_EX"):
            return _NOWHERE.push(*[kind_of(value)] * max(1, dis.stack_effect(i.opcode, i.arg) + 1))
        if not name.startswith(_CALLING):
            return None
        if (
            taken
            and name.startswith("CALL")
            and self._is_dropped(k)
            and not _is_in(self._leftmost(k), _CONVERTING)
        ):
            return None  # it gave nothing for the number, so it was called for what it does with it
        return _NOWHERE.push(value)

    def _is_dropped(self, k: int) -> bool:
        following = self.instructions[k + 1 :]
        return bool(following) and following[0].opname == "POP_TOP"

    def _leftmost(self, k: int) -> Any:
        """Return what is called, or stands left of an operator: a global, an attribute of a module, a text.

        It is found by its place in the source, which is where the whole expression begins. None: not known.
        """
        start = _start(self.instructions[k])
        found = None
        for i in self.instructions[:k]:
            if start is None or _start(i) != start or _is_idle(i) or i.opname == "PUSH_NULL":
                continue
            if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                found = self.globals.get(i.argval, self.builtins.get(i.argval))
            elif i.opname == "LOAD_CONST" and type(i.argval) is str:
                found = i.argval
            elif i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                found = _attribute(found, i.argval)
            else:
                found = None
        return found

    def _step(self, k: int, state: _State) -> _State | None:
        """Return the state after instruction `k`; None where the number leaves."""
        i = self.instructions[k]
        name, group = i.opname, _GROUP.get(i.opname)
        if group == "idle":
            return state
        if group == "load":
            return _changed(state, dis.stack_effect(i.opcode, i.arg))
        if name.startswith("LOAD_FAST"):
            names = i.argval if type(i.argval) is tuple else (i.argval,)
            return state.push(*[state.names.get(n, OTHER) for n in names])
        if name.startswith("STORE_FAST"):
            return self._store_fast(i, state)
        if group == "store":
            values, rest = state.pop(-dis.stack_effect(i.opcode, i.arg))
            return None if any(map(kind_of, values)) else rest
        if name.startswith(("RETURN_VALUE", "YIELD_VALUE")):
            (value,), rest = state.pop(1)
            self.returned = _merge(self.returned, value)
            return _NOWHERE if name[0] == "R" else rest.push(OTHER)
        if name.startswith(("RETURN_CONST", "RAISE_VARARGS", "RERAISE", "END_ASYNC_FOR")):
            return _NOWHERE
        if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
            return self._jump(i, state)
        if name.startswith("CALL") and not name.startswith("CALL_INTRINSIC"):
            return self._call(k, i, state)
        return self._compute(k, i, state)

    def _store_fast(self, i: dis.Instruction, state: _State) -> _State:
        if i.opname == "STORE_FAST":
            (value,), rest = state.pop(1)
            return rest.named(i.argval, value)
        first, second = i.argval
        if i.opname == "STORE_FAST_LOAD_FAST":
            (value,), rest = state.pop(1)
            rest = rest.named(first, value)
            return rest.push(rest.names.get(second, OTHER))
        (below, value), rest = state.pop(2)  # STORE_FAST_STORE_FAST
        return rest.named(first, value).named(second, below)

    def _jump(self, i: dis.Instruction, state: _State) -> _State:
        """Follow an instruction that may jump: a test takes the number, a loop gives an element."""
        target = self.index.get(i.argval)
        if target is not None:
            self._reach(target, _changed(state, dis.stack_effect(i.opcode, i.arg, jump=True)))
        if i.opname.startswith("JUMP_") and "IF" not in i.opname:
            return _NOWHERE
        if i.opname == "FOR_ITER":
            return state.push(kind_of(state.pop(1)[0][0]))
        return _changed(state, dis.stack_effect(i.opcode, i.arg, jump=False))

    def _call(self, k: int, i: dis.Instruction, state: _State) -> _State | None:
        is_simple = i.opname == "CALL"
        values, rest = state.pop((i.arg or 0) + 2 if is_simple else 1 - dis.stack_effect(i.opcode, i.arg))
        if not any(map(kind_of, values)):
            return rest.push(OTHER)
        function = self._leftmost(k)
        if any(kind_of(v) for v in values[:2]):  # a method of the number
            return rest.push(DERIVED)
        following = next((j.opname for j in self.instructions[k + 1 :] if not _is_idle(j)), "")
        if _decides(function) or following == "RAISE_VARARGS":
            return rest.push(OTHER)
        return rest.push(DERIVED) if _computes(function) and not self._is_dropped(k) else None

    def _compute(self, k: int, i: dis.Instruction, state: _State) -> _State | None:
        name, arg, effect = i.opname, i.arg or 0, dis.stack_effect(i.opcode, i.arg)
        group = _GROUP.get(name)
        if group == "pop":
            return _changed(state, effect)
        if name in ("COPY", "SWAP"):
            values, rest = state.pop(arg)
            if name == "COPY":
                return rest.push(*values, values[0])
            values[0], values[-1] = values[-1], values[0]
            return rest.push(*values)
        if name in ("LOAD_ATTR", "LOAD_METHOD"):
            return self._attribute(i, state)
        if group == "add":
            values, rest = state.pop(-effect)
            kind = max(map(kind_of, values))
            into, below = rest.pop(arg)
            return below.push(max(kind, kind_of(into[0])), *into[1:]) if kind else rest
        if name == "UNPACK_SEQUENCE":
            (value,), rest = state.pop(1)
            is_known = type(value) is tuple and len(value) == arg
            parts = reversed(value) if is_known else [min(kind_of(value) * 2, DERIVED)] * arg
            return rest.push(*parts)
        if name.startswith((*_TESTS, *_TEXT)):
            return state.pop(1 - effect)[1].push(OTHER)
        if name.startswith(("BUILD_", "BINARY_", "UNARY_", "GET_ITER", "CALL_INTRINSIC_1", "LIST_TO_TUPLE")):
            values, rest = state.pop(1 - effect)
            return rest.push(self._result(k, values))
        # What is not known may take it.
        return None if any(map(kind_of, state.stack[-4:])) else _changed(state, effect)

    def _attribute(self, i: dis.Instruction, state: _State) -> _State:
        (owner,), rest = state.pop(1)
        is_method = i.opname == "LOAD_METHOD" or (sys.version_info >= (3, 12) and bool((i.arg or 0) & 1))
        value = DERIVED if kind_of(owner) else OTHER
        return rest.push(value, OTHER) if is_method else rest.push(value)

    def _result(self, k: int, values: list[Any]) -> Any:
        i = self.instructions[k]
        if i.opname == "BUILD_TUPLE":
            return tuple(values) if any(map(kind_of, values)) else OTHER
        kind = max(map(kind_of, values), default=OTHER)
        if kind and i.opname.startswith(("BINARY_", "UNARY_")):
            is_text = i.argrepr.startswith("%") and type(self._leftmost(k)) is str
            return OTHER if is_text else DERIVED
        return kind
