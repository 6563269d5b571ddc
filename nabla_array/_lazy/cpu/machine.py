"""Programs of small values compiled to machine code by LLVM, their loops included.

Each value is a place in memory of which the shape and strides are known, or a formula for its elements; each
operation becomes loops over elements with known bounds, or a call of the loop of NumPy's ufunc. LLVM puts
small values into registers. Elements are NumPy's to the bit but for the order in which sums are made.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ..graph.aval import Aval, aval_of, aval_of_value
from ..graph.program import Eqn, Program, is_literal
from ..native import compiled
from .kernels import Unfit

# Elements that are written out one by one, and formulas within formulas.
_UNROLLED, _DEEPEST = 8, 32
# Bytes of a value on the stack, and of all of them.
_MOST_ON_STACK, _STACK = 1 << 12, 1 << 16
# Iterations between two looks whether somebody wants to stop, less one; instructions of a program.
_ROUND, _LONGEST = 1023, 40_000

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

    def __init__(self, code: Code, pointer: str, array: np.ndarray, offset: int = 0, root: int = -1) -> None:
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
        further = _address(array) - _address(self.array) if array.size else 0
        return Stored(self.code, self.pointer, array, self.offset + further, self.root)

    def row(self, t: Index) -> Stored:
        """Return one entry along the first axis."""
        first = self.array[0, ...] if len(self.array) else np.empty(self.array.shape[1:], self.array.dtype)
        pointer = self.code.offset_pointer(self.pointer, [(t, self.array.strides[0])], 0)
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


class Code:
    """The code of one program as it is written."""

    type_of = staticmethod(type_of)

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[Any] = []
        self.head: list[str] = []  # what the function begins with: room on the stack
        self.declared: dict[str, None] = {}
        self.block = "entry"
        self.scratch: list[int] = []  # where rooms are in the memory that a call is given
        self.scratch_bytes = self.stack_bytes = self.n = 0
        self.is_short = True
        self.targets: list[Stored | None] = []
        self.kept: list[Any] = []
        outs = [program.aval(k) for k in program.outputs]
        self.inputs, self.outs = (
            [Stored(self, f"%{c}{i}", np.empty(a.shape, a.dtype), 0, self._new()) for i, a in enumerate(some)]
            for c, some in (("x", program.inputs), ("y", outs))
        )
        for a in (*program.inputs, *outs):
            type_of(a.dtype)
        places: dict[int, Stored] = dict(zip(reversed(program.outputs), reversed(self.outs), strict=True))
        for value, out in zip(self.run(program, self.inputs, places), self.outs, strict=True):
            self.copy(value, out)

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

    def constant(self, value: Any, dtype: np.dtype) -> Scalar:
        """Return a number that is known."""
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
        return [self._room(a) if t is None else t for a, t in zip(avals, targets, strict=True)]

    def room(self, aval: Aval) -> Stored:
        """Return a place for the result of an operation."""
        return self.rooms([aval])[0]

    def _room(self, aval: Aval) -> Stored:
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
        out = self._room(value.aval)
        self.copy(value, out)
        return out

    def stored(self, values: Iterable[Value]) -> list[Stored]:
        """Return values in memory."""
        return [v if isinstance(v, Stored) else self.dense(v) for v in values]

    def copied(self, values: Iterable[Value]) -> list[Stored]:
        """Return copies of values."""
        outs = []
        for value in values:
            outs.append(self._room(value.aval))
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
        if is_long and count > _ROUND:
            self._look_whether_stopped(name)
        body(name)
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
        self._look_whether_stopped(i)
        is_true, found = ask()
        self.line(f"br i1 {is_true.name}, label %{inside}, label %{end}")
        self.begin(inside)
        body(found)
        further = self.name(f"add i64 {i}, 1")
        self.lines[at] = f"{i} = phi i64 [0, %{before}], [{further}, %{self.block}]"
        self.line(f"br label %{head}")
        self.begin(end)

    def _look_whether_stopped(self, i: str) -> None:
        look, on, stop = self.label(), self.label(), self.label()
        part = self.name(f"and i64 {i}, {_ROUND}")
        is_time = self.name(f"icmp eq i64 {part}, {_ROUND}")
        self.line(f"br i1 {is_time}, label %{look}, label %{on}")
        self.begin(look)
        found = self.name(f"call i32 {_pointer(compiled.stop_address())}()")
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
        if size <= _UNROLLED:
            for n, at in enumerate(np.ndindex(*shape)):
                body(n if is_flat else list(at))
        elif is_flat:
            self.repeat(size, body)
        else:
            self._axes(shape, [], body)

    def _axes(self, shape: Sequence[int], at: list[Index], body: Callable[[Index], None]) -> None:
        if not shape:
            body(at)
        elif math.prod(shape) <= _UNROLLED:
            for rest in np.ndindex(*shape):
                body([*at, *rest])
        else:
            self.repeat(shape[0], lambda i: self._axes(shape[1:], [*at, i], body))

    def sum(
        self, n: int, first: Scalar, term: Callable[[Index], Scalar], join: Callable[..., Scalar]
    ) -> Scalar:
        """Join terms to one number."""
        total = self._room(aval_of((), first.dtype))
        total.put([], first)
        self.each((n,), lambda i: total.put([], join(total.at([]), term(i))), is_flat=True)
        return total.at([])

    # -- operations ------------------------------------------------------------------------------------

    def run(
        self, program: Program, inputs: Sequence[Value], places: dict[int, Stored] | None = None
    ) -> list[Value]:
        """Write the code of a program; returns the values of its outputs.

        `places`: where outputs are to be.
        """
        base, places = len(inputs), places or {}
        users: dict[int, list[Eqn | None]] = {}
        for eqn in program.eqns:
            for i in eqn.ins:
                users.setdefault(i, []).append(eqn)
        for k in program.outputs:
            users.setdefault(k, []).append(None)
        env = list(inputs)
        for k, eqn in enumerate(program.eqns, base):
            used = users.get(k, [])
            parts = [u for u in used if u is not None and u.prim.role == "projection"]
            if isinstance(eqn.aval, tuple) and len(parts) == len(used):
                outs = {dict(u.params)["index"]: places.get(base + program.eqns.index(u)) for u in parts}
                self.targets = [outs.get(i) for i in range(len(eqn.aval))]
            else:
                self.targets = [places[k]] if k in places else []
            is_once = len(used) == 1 and (used[0] is None or used[0].prim.kind in ("elementwise", "reduce"))
            env.append(self._equation(eqn, [env[i] for i in eqn.ins], is_once))
            self.targets = []
        return [env[k] for k in program.outputs]

    def _equation(self, eqn: Eqn, ins: list[Value], is_once: bool) -> Value:
        prim, params = eqn.prim, dict(eqn.params)
        if is_literal(eqn):
            found = self.constant(params["value"].value, eqn.aval.dtype)
            return Formula(eqn.aval, lambda at: found, True, True)
        if prim.kind in ("view", "broadcast"):
            return self._view(eqn, ins)
        value: Value
        if prim.kind == "elementwise":
            value = self._elementwise(eqn, ins)
        elif prim.kind == "reduce":
            value = self._reduce(eqn, *ins)
        else:
            value = None if prim.llvm is None else prim.llvm(self, eqn.aval, *ins, **params)
        if value is None:
            raise Unfit(f"{prim.name} of {eqn.aval} is not in machine code")
        if isinstance(value, Formula) and not (is_once and value.depth < _DEEPEST):
            out = self.room(eqn.aval)
            self.copy(value, out)
            return out
        return value

    def _view(self, eqn: Eqn, ins: list[Value]) -> Value:
        look, params = eqn.prim.host, dict(eqn.params)
        if len(ins) != 1 or isinstance(ins[0], tuple):  # which of several
            return look(*ins, **params)
        (x,) = ins
        if isinstance(x, Formula) and x.is_uniform:
            return Formula(eqn.aval, x.at, True, True)
        return self.stored([x])[0].view(lambda a: look(a, **params))

    def _elementwise(self, eqn: Eqn, ins: list[Value]) -> Value:
        prim, aval, params = eqn.prim, eqn.aval, dict(eqn.params)
        if any([a.aval.dtype.kind in prim.raises for a in ins]):
            return None
        type_of(aval.dtype)
        rule = prim.llvm
        if rule is None or (tried := self._tried(rule, aval.dtype, ins, params)) is NotImplemented:
            ufunc = prim.host if rule is None else prim.ufunc
            return self._ufunc(ufunc, aval, ins) if isinstance(ufunc, np.ufunc) and not params else None

        if tried is None:
            return None

        def element(at: Index) -> Scalar:
            found: Scalar = rule(self, aval.dtype, *[x.at(at) for x in ins], **params)
            return found

        is_flat = all([x.is_flat if isinstance(x, Formula) else x.is_dense() for x in ins])
        depth = 1 + max([x.depth for x in ins if isinstance(x, Formula)], default=0)
        return Formula(aval, element, False, is_flat, depth)

    def _tried(self, rule: Any, dtype: np.dtype, ins: Sequence[Value], params: dict[str, Any]) -> Any:
        """Return what a rule says for operands of these dtypes, but write nothing."""
        mark = len(self.lines)
        found = rule(self, dtype, *[self.constant(0, x.aval.dtype) for x in ins], **params)
        del self.lines[mark:]
        return found

    def _ufunc(self, ufunc: np.ufunc, aval: Aval, ins: list[Value]) -> Value:
        """Call the loop of a ufunc; what is small is copied, so that it may stay in registers."""
        dtypes = {x.aval.dtype for x in ins}
        found = compiled.loop_address(ufunc, ins[0].aval.dtype) if len(dtypes) == 1 else None
        if found is None or found[2] != aval.dtype.num:
            return None
        out = result = self.room(aval)
        if not aval.size:
            return out
        is_small = aval.size <= _UNROLLED
        operands, steps = [], []
        for x in ins:
            if isinstance(x, Formula) and x.is_uniform:
                x, step = Formula(x.aval.element, x.at, True, True), 0
            else:
                step = x.aval.dtype.itemsize
            operands.append(self.copied([x])[0] if is_small else self.dense(x))
            steps.append(step)
        if is_small or not out.is_dense():
            result = self._room(aval)
        self._call_loop(found, [*operands, result], [aval.size], [*steps, aval.dtype.itemsize])
        self.copy(result, out)
        return out

    def _call_loop(
        self, loop: tuple[int, int, int], arrays: list[Stored], sizes: list[int], steps: list[int]
    ) -> None:
        pointers, dims, strides = (
            self._room(aval_of((len(some),), np.dtype(np.int64))) for some in (arrays, sizes, steps)
        )
        for n, x in enumerate(arrays):
            where = self.offset_pointer(x.pointer, [], x.offset)
            self.line(f"store ptr {where}, ptr {self.offset_pointer(pointers.pointer, [], 8 * n)}")
        for place, numbers in ((dims, sizes), (strides, steps)):
            for n, number in enumerate(numbers):
                place.put(n, self.constant(number, np.dtype(np.int64)))
        args = f"ptr {pointers.pointer}, ptr {dims.pointer}, ptr {strides.pointer}, ptr {_pointer(loop[1])}"
        self.line(f"call void {_pointer(loop[0])}({args})")

    def product(self, x: Value, y: Value, out: Stored) -> Stored | None:
        """Multiply matrices as NumPy's loop does."""
        loop = compiled.loop_address(np.matmul, out.aval.dtype)
        if loop is None:
            return None
        arrays = [*self.stored([x, y]), out]
        arrays = [a if min(a.array.strides, default=0) > 0 else self.copied([a])[0] for a in arrays]
        *lead, m, n = out.aval.shape
        k, inner = x.aval.shape[-1], [s for a in arrays for s in a.array.strides[-2:]]

        def one(at: list[Index]) -> None:
            rows = [
                Stored(
                    self,
                    self.offset_pointer(a.pointer, zip(at, a.array.strides[: len(at)], strict=True), 0),
                    a.array[tuple([0] * len(at))],
                    a.offset,
                    a.root,
                )
                for a in arrays
            ]
            self._call_loop(loop, rows, [1, m, k, n], [0, 0, 0, *inner])

        self.each(lead, one)
        return out

    def _reduce(self, eqn: Eqn, x: Value) -> Value:
        aval, axes, rule = eqn.aval, dict(eqn.params)["axes"], eqn.prim.llvm
        first = self.constant(_first(eqn.prim.reducer, aval.dtype), aval.dtype)
        if rule is None or self._tried(rule, aval.dtype, [x, x], {}) in (None, NotImplemented):
            return None
        shape, out = x.aval.shape, self.room(aval)

        def join(a: Scalar, b: Scalar) -> Scalar:
            found: Scalar = rule(self, aval.dtype, a, b)
            return found

        def index(kept: Sequence[Index], reduced: Sequence[Index]) -> list[Index]:
            left, gone = iter(kept), iter(reduced)
            return [next(gone) if a in axes else next(left) for a in range(len(shape))]

        lost = [shape[a] for a in axes]
        is_flat = x.is_flat if isinstance(x, Formula) else x.is_dense()
        if is_flat and not aval.ndim:
            out.put([], self.sum(x.aval.size, first, x.at, join))
        elif len(shape) - 1 not in axes and aval.size > 1:  # a row after the other
            self.each(aval.shape, lambda at: out.put(at, first))
            self.each(
                lost,
                lambda gone: self.each(
                    aval.shape, lambda at: out.put(at, join(out.at(at), x.at(index(at, gone))))
                ),
            )
        else:
            total = self._room(aval.element)

            def one(at: list[Index]) -> None:
                total.put([], first)
                self.each(lost, lambda gone: total.put([], join(total.at([]), x.at(index(at, gone)))))
                out.put(at, total.at([]))

            self.each(aval.shape, one)
        return out

    # -- the whole -------------------------------------------------------------------------------------

    def formula(self, aval: Aval, function: Callable[[Index], Scalar]) -> Formula:
        """Return a value by what gives its elements."""
        return Formula(aval, function, False, False)

    def __str__(self) -> str:
        arrays = [x.pointer for x in (*self.inputs, *self.outs)]
        rooms = [f"%s{i}" for i in range(len(self.scratch))]
        params = ", ".join([f"ptr noalias {p}" for p in (*arrays, *rooms)])
        lines = [*self.declared, f"define internal i64 @run({params}) noinline {{", "entry:", *self.head]
        lines += [*self.lines, f"ret i64 {_DONE}", "}", "define i64 @main(ptr %bases) {"]
        for n, p in enumerate((*arrays, "%scratch")):
            lines += [f"{p}.at = getelementptr ptr, ptr %bases, i64 {n}", f"{p} = load ptr, ptr {p}.at"]
        for p, at in zip(rooms, self.scratch, strict=True):
            lines.append(f"{p} = getelementptr i8, ptr %scratch, i64 {at}")
        lines += [f"%state = call i64 @run({params.replace('noalias ', '')})", "ret i64 %state", "}"]
        return "\n".join(lines)


def _first(reducer: np.ufunc | None, dtype: np.dtype) -> Any:
    """Return what changes no element that a reduction meets it with."""
    if reducer in (np.maximum, np.minimum) and dtype.kind != "b":
        least, most = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return least if reducer is np.maximum else most
    if reducer is np.add:
        return -0.0 if dtype.kind == "f" else 0
    return reducer in (np.multiply, np.logical_and, np.minimum)


def _pointer(address: int) -> str:
    return f"inttoptr (i64 {address} to ptr)" if address else "null"


def _address(array: np.ndarray) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


class Machine:
    """A program compiled to machine code.

    Raises
    ------
    Unfit
        If something in it is not for machine code.
    """

    def __init__(self, program: Program) -> None:
        code = Code(program)
        self.text = str(code)
        self.is_short = code.is_short
        self.outs = [program.aval(k) for k in program.outputs]
        self._scratch = code.scratch_bytes
        self._engine, self._address = _compiled(self.text)

    def run(self, inputs: Sequence[np.ndarray]) -> tuple[list[np.ndarray], int] | None:
        """Run it; returns what it gives, and the floating-point faults that were seen, by NumPy's numbers.

        None where it met what it does not do: an operand that the operation refuses.
        """
        ins = [x if x.flags.carray else np.require(x, None, ["C", "A"]) for x in inputs]
        outs = [np.empty(a.shape, a.dtype) for a in self.outs]
        scratch = np.empty(self._scratch + 64, np.uint8)
        scratch = scratch[-_address(scratch) % 64 :]
        faults = compiled.run_machine(self._address, (*ins, *outs, scratch), self.is_short)
        return None if faults is None else (outs, faults)


@lru_cache(None)
def is_available() -> bool:
    """Say whether there is what compiles, and what machine code calls."""
    return compiled is not None and find_spec("llvmlite") is not None


def _compiled(text: str) -> tuple[Any, int]:
    """Return the address of the code, and what keeps that."""
    binding, machine = _target()
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, engine.get_function_address("main")


def _target() -> tuple[Any, Any]:
    """Return LLVM, and what makes code for this processor: an engine takes it over."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    features = binding.get_host_cpu_features().flatten()
    made = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features, opt=3
    )
    return binding, made
