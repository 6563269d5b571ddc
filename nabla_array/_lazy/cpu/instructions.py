"""Instructions for LLVM: numbers, values in memory and formulas, loops and branches."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..graph.aval import Aval, aval_of, aval_of_value
from ..native import compiled
from .kernels import Unfit

# Elements that are written out one by one.
UNROLLED = 8
# Bytes of a value on the stack, and of all of them.
_MOST_ON_STACK, _STACK = 1 << 12, 1 << 16
# Iterations between two looks whether somebody wants to stop, as a power of two; those of a loop of which
# nobody knows how many; lines of a program: LLVM takes a second for them, or two.
_ROUND, _UNKNOWN, _LONGEST = 10, 64, 8_000

_TYPES = {"b1": "i1", "f4": "float", "f8": "double"}
_INTRINSICS = {"float": "f32", "double": "f64"}
_DONE, _ODD, _STOPPED = range(3)

Index = Any  # a number for each axis, or one for all elements in C order: an int, or a name


class Scalar(NamedTuple):
    """A number that code has: its name there, or what it is."""

    name: str
    dtype: np.dtype

    @property
    def type(self) -> str:
        """What LLVM calls its dtype."""
        return type_of(self.dtype)


@lru_cache(None)
def type_of(dtype: np.dtype) -> str:
    """Return what LLVM calls a dtype."""
    if not dtype.isnative:
        raise Unfit(f"{dtype} is not native")
    name = dtype.str[1:]
    if name in _TYPES:
        return _TYPES[name]
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    raise Unfit(f"there is no {dtype.name} in machine code")


class Stored:
    """A value in memory: `array` has its shape and strides, and begins `offset` bytes after `pointer`."""

    def __init__(
        self, code: Writer, pointer: str, array: np.ndarray, offset: int = 0, root: int = -1
    ) -> None:
        self.code, self.pointer, self.array, self.offset, self.root = code, pointer, array, offset, root
        self.aval = aval_of_value(array)

    def is_dense(self) -> bool:
        """Say whether its elements lie in C order, without gaps."""
        return bool(self.array.flags.c_contiguous)

    def view(self, look: Callable[[np.ndarray], np.ndarray]) -> Stored:
        """Look at it in another way; at a copy in C order where NumPy would make one."""
        array = look(self.array)
        if array.size and not np.may_share_memory(array, self.array):
            return self.code.dense(self).view(look)
        further = address_of(array) - address_of(self.array) if array.size else 0
        return Stored(self.code, self.pointer, array, self.offset + further, self.root)

    def part(self, at: Sequence[Index]) -> Stored:
        """Return what is at an index of the first axes."""
        key: Any = (*[0] * len(at), ...)
        first = (
            self.array[key] if self.array.size else np.empty(self.array.shape[len(at) :], self.array.dtype)
        )
        pointer = self.code.offset_pointer(self.pointer, zip(at, self.array.strides, strict=False), 0)
        return Stored(self.code, pointer, first, self.offset, self.root)

    def _where(self, index: Index) -> str:
        strides = self.array.strides if isinstance(index, list) else (self.array.itemsize,)
        parts = zip(index if isinstance(index, list) else [index], strides, strict=True)
        return self.code.offset_pointer(self.pointer, parts, self.offset)

    def at(self, index: Index) -> Scalar:
        """Read an element."""
        dtype, where = self.aval.dtype, self._where(index)
        if dtype.kind != "b":
            return self.code.scalar(f"load {type_of(dtype)}, ptr {where}", dtype)
        byte = self.code.name(f"load i8, ptr {where}")
        return self.code.scalar(f"icmp ne i8 {byte}, 0", dtype)

    def put(self, index: Index, x: Scalar) -> None:
        """Write an element."""
        where = self._where(index)
        if x.dtype.kind == "b":
            self.code.line(f"store i8 {self.code.name(f'zext i1 {x.name} to i8')}, ptr {where}")
        else:
            self.code.line(f"store {x.type} {x.name}, ptr {where}")


class Formula:
    """A value whose elements are computed where they are needed.

    Attributes
    ----------
    function
        Gives the element at an index.
    is_uniform
        Whether all elements are one.
    is_flat
        Whether one number may be the index.
    """

    def __init__(
        self, aval: Aval, function: Callable[[Index], Scalar], is_uniform: bool, is_flat: bool, depth: int = 0
    ) -> None:
        self.aval, self.at = aval, function
        self.is_uniform, self.is_flat, self.depth = is_uniform, is_flat, depth


Value = Any  # a Stored, a Formula, or a tuple of them


class Writer:
    """Writes a function of arrays: the inputs are `%x0` and so on, the outputs `%y0` and so on."""

    type_of = staticmethod(type_of)

    def __init__(self, inputs: Sequence[Aval], outputs: Sequence[Aval]) -> None:
        self.lines: list[str] = []
        self.head: list[str] = []  # what the function begins with: room on the stack
        self.declared: dict[str, None] = {}
        self.block = "entry"
        self.scratch: list[int] = []  # where rooms are in the memory that a call is given
        self.scratch_bytes = self.stack_bytes = self.n = 0
        self.is_short = True
        self.inside = 1  # iterations of loops in what is being written
        self.targets: list[Stored | None] = []
        for aval in (*inputs, *outputs):
            type_of(aval.dtype)
        self.inputs, self.outs = (
            [Stored(self, f"%{c}{i}", np.empty(a.shape, a.dtype), 0, self._new()) for i, a in enumerate(some)]
            for c, some in (("x", inputs), ("y", outputs))
        )

    # -- instructions ----------------------------------------------------------------------------------

    def _new(self) -> int:
        self.n += 1
        return self.n

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append(text)
        if len(self.lines) > _LONGEST:
            raise Unfit("it is too long")

    def name(self, instruction: str) -> str:
        """Write an instruction; returns the name of its result."""
        name = f"%v{self._new()}"
        self.line(f"{name} = {instruction}")
        return name

    def scalar(self, instruction: str, dtype: np.dtype) -> Scalar:
        """Write an instruction whose result is a number."""
        return Scalar(self.name(instruction), dtype)

    def integer(self, instruction: str) -> str:
        """Write an instruction whose result is an index."""
        return self.name(instruction)

    def named(self, name: str, dtype: np.dtype) -> Scalar:
        """Return a number that has a name already, as one of another dtype."""
        return Scalar(name, dtype)

    def offset(self, i: Index, times: int, plus: int) -> Index:
        """Return an index times a number, and plus another one."""
        if isinstance(i, int):
            return i * times + plus
        product = i if times == 1 else self.name(f"mul nsw i64 {i}, {times}")
        return self.name(f"add nsw i64 {product}, {plus}")

    def position(self, i: Scalar, n: int) -> str:
        """Return where an index is along an axis, which counts from the end if it is negative."""
        name = i.name
        if i.type != "i64":
            name = self.name(f"{'sext' if i.dtype.kind == 'i' else 'zext'} {i.type} {name} to i64")
        if i.dtype.kind == "i":
            is_negative, other = self.name(f"icmp slt i64 {name}, 0"), self.name(f"add i64 {name}, {n}")
            name = self.name(f"select i1 {is_negative}, i64 {other}, i64 {name}")
        self.unless(self.scalar(f"icmp ult i64 {name}, {n}", np.dtype(bool)))
        return name

    def constant(self, value: Any, dtype: np.dtype) -> Scalar:
        """Return a number that is known."""
        type_of(dtype)  # raises for what there is not, complex numbers say
        x = dtype.type(value)
        if dtype.kind == "f":  # LLVM writes singles as doubles, too
            return Scalar(f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}", dtype)
        return Scalar(str(bool(x)).lower() if dtype.kind == "b" else str(int(x)), dtype)

    def call(self, function: str, dtype: np.dtype, *xs: Scalar, more: str = "") -> Scalar:
        """Call one of LLVM's functions of numbers of one dtype."""
        t = type_of(dtype)
        full = f"@llvm.{function}.{_INTRINSICS.get(t, t)}"
        more_types = "".join([", " + one.split()[0] for one in more.split(", ") if one])
        self.declared[f"declare {t} {full}({', '.join([t] * len(xs))}{more_types})"] = None
        return self.scalar(f"call {t} {full}({', '.join([f'{t} {x.name}' for x in xs])}{more})", dtype)

    def offset_pointer(self, pointer: str, parts: Iterable[tuple[Index, int]], fixed: int) -> str:
        """Return a pointer so many bytes further: a number that is known, and others times theirs."""
        moving = []
        for i, by in parts:
            if isinstance(i, int):
                fixed += i * by
            elif by:
                moving.append(self.name(f"mul nsw i64 {i}, {by}"))
        for offset in (*moving, *([fixed] if fixed else [])):
            pointer = self.name(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return pointer

    # -- memory ----------------------------------------------------------------------------------------

    def rooms(self, avals: Sequence[Aval]) -> list[Stored]:
        """Return places for the results of an operation."""
        targets, self.targets = self.targets or [None] * len(avals), []
        return [self.room_for(a) if t is None else t for a, t in zip(avals, targets, strict=True)]

    def room(self, aval: Aval) -> Stored:
        """Return a place for the result of an operation."""
        return self.rooms([aval])[0]

    def room_for(self, aval: Aval) -> Stored:
        """Return a place for a value."""
        root, size = self._new(), max(aval.nbytes, 1)
        pointer = f"%p{root}"
        type_of(aval.dtype)
        if size <= _MOST_ON_STACK and self.stack_bytes + size <= _STACK:
            self.stack_bytes += size
            self.head.append(f"{pointer} = alloca [{size} x i8], align {min(64, 8 if size <= 16 else 64)}")
        else:
            pointer = f"%s{len(self.scratch)}"
            self.scratch.append(self.scratch_bytes)
            self.scratch_bytes += -(-size // 64) * 64
        return Stored(self, pointer, np.empty(aval.shape, aval.dtype), 0, root)

    def copy(self, source: Value, target: Stored) -> None:
        """Write a value to a place."""
        if isinstance(source, Stored):
            if source.pointer == target.pointer and source.array is target.array:
                return
            is_flat = source.is_dense()
        else:
            is_flat = source.is_flat
        self.each(target.aval.shape, lambda at: target.put(at, source.at(at)), is_flat and target.is_dense())

    def dense(self, value: Value) -> Stored:
        """Return a value in memory, in C order."""
        if isinstance(value, Stored) and value.is_dense():
            return value
        out = self.room_for(value.aval)
        self.copy(value, out)
        return out

    def stored(self, values: Iterable[Value]) -> list[Stored]:
        """Return values in memory."""
        return [v if isinstance(v, Stored) else self.dense(v) for v in values]

    def copied(self, values: Iterable[Value]) -> list[Stored]:
        """Return copies of values."""
        outs = []
        for value in values:
            outs.append(self.room_for(value.aval))
            self.copy(value, outs[-1])
        return outs

    def hand_on(self, values: Sequence[Value], state: Sequence[Stored]) -> None:
        """Write new values over old ones, of which they may be parts."""
        roots = {s.root for s in state}
        moves = [(v, s) for v, s in zip(values, state, strict=True) if v is not s]
        fresh = [
            v if isinstance(v, Stored) and v.root not in roots else self.copied([v])[0] for v, _ in moves
        ]
        for new, (_, old) in zip(fresh, moves, strict=True):
            self.copy(new, old)

    # -- control ---------------------------------------------------------------------------------------

    def label(self) -> str:
        """Return the name of a new block."""
        return f"b{self._new()}"

    def begin(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def repeat(self, count: int, body: Callable[[str | int], None], is_long: bool = False) -> None:
        """Do something for each number below `count`; `is_long`: somebody may want to stop it."""
        if count <= 1:
            for i in range(count):
                body(i)
            return
        before, head, end, name = self.block, self.label(), self.label(), f"%i{self._new()}"
        self.line(f"br label %{head}")
        self.begin(head)
        first = len(self.lines)
        self.line("")
        self.is_short &= not is_long
        outside, self.inside = self.inside, 1
        body(name)
        if is_long:
            self._look_whether_stopped(name, count)
        self.inside = max(outside, self.inside * count) if is_long else outside
        further = self.name(f"add nuw nsw i64 {name}, 1")
        self.lines[first] = f"{name} = phi i64 [0, %{before}], [{further}, %{self.block}]"
        more = self.name(f"icmp ult i64 {further}, {count}")
        self.line(f"br i1 {more}, label %{head}, label %{end}")
        self.begin(end)

    def repeat_while(self, ask: Callable[[], tuple[Scalar, Any]], body: Callable[[Any], None]) -> None:
        """Do something as long as what is asked is true."""
        before, head, inside, end = self.block, self.label(), self.label(), self.label()
        i = f"%i{self._new()}"
        self.is_short = False
        self.line(f"br label %{head}")
        self.begin(head)
        at = len(self.lines)
        self.line("")
        outside, self.inside = self.inside, 1
        is_true, found = ask()
        self.line(f"br i1 {is_true.name}, label %{inside}, label %{end}")
        self.begin(inside)
        body(found)
        self._look_whether_stopped(i)
        self.inside = max(outside, self.inside * _UNKNOWN)
        further = self.name(f"add i64 {i}, 1")
        self.lines[at] = f"{i} = phi i64 [0, %{before}], [{further}, %{self.block}]"
        self.line(f"br label %{head}")
        self.begin(end)

    def _look_whether_stopped(self, i: str, count: int = 1 << 63) -> None:
        """Look, in iteration i of so many, each thousand iterations of what is inside."""
        part_of = (1 << max(_ROUND + 1 - self.inside.bit_length(), 0)) - 1
        if count <= part_of:
            return
        look, on, stop = self.label(), self.label(), self.label()
        part = self.name(f"and i64 {i}, {part_of}")
        is_time = self.name(f"icmp eq i64 {part}, {part_of}")
        self.line(f"br i1 {is_time}, label %{look}, label %{on}")
        self.begin(look)
        found = self.name(f"call i32 {pointer_to(compiled.stop_address())}()")
        is_stopped = self.name(f"icmp ne i32 {found}, 0")
        self.line(f"br i1 {is_stopped}, label %{stop}, label %{on}")
        self.begin(stop)
        self.line(f"ret i64 {_STOPPED}")
        self.begin(on)

    def choose(self, number: Scalar, branches: Sequence[Callable[[], None]]) -> None:
        """Do what has a number, and nothing else; Python does what there is for others."""
        end, odd = self.label(), self.label()
        labels = [self.label() for _ in branches]
        cases = " ".join([f"{number.type} {n}, label %{label}" for n, label in enumerate(labels)])
        self.line(f"switch {number.type} {number.name}, label %{odd} [{cases}]")
        self.begin(odd)
        self.line(f"ret i64 {_ODD}")
        for label, branch in zip(labels, branches, strict=True):
            self.begin(label)
            branch()
            self.line(f"br label %{end}")
        self.begin(end)

    def unless(self, is_fine: Scalar) -> None:
        """Leave the whole to Python unless something is true."""
        on, odd = self.label(), self.label()
        self.line(f"br i1 {is_fine.name}, label %{on}, label %{odd}")
        self.begin(odd)
        self.line(f"ret i64 {_ODD}")
        self.begin(on)

    def each(self, shape: Sequence[int], body: Callable[[Index], None], is_flat: bool = False) -> None:
        """Do something for each index of a shape, or for each number of an element in C order."""
        size = math.prod(shape)
        if not size:
            return
        if size <= UNROLLED:
            for n, at in enumerate(np.ndindex(*shape)):
                body(n if is_flat else list(at))
        elif is_flat:
            self.repeat(size, body)
        else:
            self._axes(shape, [], body)

    def _axes(self, shape: Sequence[int], at: list[Index], body: Callable[[Index], None]) -> None:
        if math.prod(shape) <= UNROLLED:
            for rest in np.ndindex(*shape):
                body([*at, *rest])
        else:
            self.repeat(shape[0], lambda i: self._axes(shape[1:], [*at, i], body))

    def loops(self, shape: Sequence[int], at: list[Index], body: Callable[[Index], None]) -> None:
        """Do something for each index of a shape, written once."""
        if not shape:
            body(at)
        else:
            self.repeat(shape[0], lambda i: self.loops(shape[1:], [*at, i], body))

    def fold(self, n: int, first: Scalar, join: Callable[[Scalar, Index], Scalar]) -> Scalar:
        """Return what becomes of a number when it is joined to something for each of so many indices."""
        total = self.room_for(aval_of((), first.dtype))
        total.put([], first)
        self.each((n,), lambda i: total.put([], join(total.at([]), i)), is_flat=True)
        return total.at([])

    def formula(self, aval: Aval, function: Callable[[Index], Scalar]) -> Formula:
        """Return a value by what gives its elements."""
        return Formula(aval, function, False, False)

    def __str__(self) -> str:
        arrays = [x.pointer for x in (*self.inputs, *self.outs)]
        rooms = [f"%s{i}" for i in range(len(self.scratch))]
        params = ", ".join([f"ptr noalias {p}" for p in (*arrays, *rooms)])
        lines = [*self.declared, f"define internal i64 @run({params}) noinline {{", "entry:", *self.head]
        lines += [*self.lines, f"ret i64 {_DONE}", "}", "define i64 @main(ptr %bases) {"]
        for n, p in enumerate((*arrays, *(["%scratch"] if rooms else []))):
            lines += [f"{p}.at = getelementptr ptr, ptr %bases, i64 {n}", f"{p} = load ptr, ptr {p}.at"]
        for p, at in zip(rooms, self.scratch, strict=True):
            lines.append(f"{p} = getelementptr i8, ptr %scratch, i64 {at}")
        lines += [f"%state = call i64 @run({params.replace('noalias ', '')})", "ret i64 %state", "}"]
        return "\n".join(lines)


def pointer_to(address: int) -> str:
    return f"inttoptr (i64 {address} to ptr)" if address else "null"


def address_of(array: np.ndarray) -> int:
    found: int = array.__array_interface__["data"][0]
    return found
