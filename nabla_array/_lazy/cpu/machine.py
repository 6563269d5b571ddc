"""Programs of small values compiled to machine code by LLVM, their loops included.

Each value is a place in memory of which the shape and strides are known, or a formula for its elements; each
operation becomes loops over elements with known bounds, or a call of the loop of NumPy's ufunc. LLVM puts
small values into registers. Results are NumPy's to the bit, but for products of matrices in loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.program import Eqn, Program, is_literal, programs_in
from ..native import compiled
from .instructions import (
    UNROLLED,
    Formula,
    Index,
    Scalar,
    Stored,
    Value,
    Writer,
    pointer_to,
    type_of,
)
from .kernels import MOST_ARRAYS, Unfit

# Formulas within formulas.
_DEEPEST = 32
# Elements that NumPy adds up in so many sums, of longer rows those of each half of halves.
_PAIRS, _SUMS = 128, 8


class Code(Writer):
    """The code of one program."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.inputs, [program.aval(k) for k in program.outputs])
        # What has no loops gives the host's results to the bit, as if it were not compiled.
        self.is_exact = not any([programs_in(eqn) for eqn in program.eqns])
        places: dict[int, Stored] = dict(zip(reversed(program.outputs), reversed(self.outs), strict=True))
        for value, out in zip(self.run(program, self.inputs, places), self.outs, strict=True):
            self.copy(value, out)

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
        is_small = aval.size <= UNROLLED
        operands, steps = [], []
        for x in ins:
            if isinstance(x, Formula) and x.is_uniform:
                x, step = Formula(x.aval.element, x.at, True, True), 0
            else:
                step = x.aval.dtype.itemsize
            operands.append(self.copied([x])[0] if is_small else self.dense(x))
            steps.append(step)
        if is_small or not out.is_dense():
            result = self.room_for(aval)
        self._call_loop(found, [*operands, result], [aval.size], [*steps, aval.dtype.itemsize])
        self.copy(result, out)
        return out

    def _call_loop(
        self, loop: tuple[int, int, int], arrays: list[Stored], sizes: list[int], steps: list[int]
    ) -> None:
        pointers, dims, strides = (
            self.room_for(aval_of((len(some),), np.dtype(np.int64))) for some in (arrays, sizes, steps)
        )
        for n, x in enumerate(arrays):
            where = self.offset_pointer(x.pointer, [], x.offset)
            self.line(f"store ptr {where}, ptr {self.offset_pointer(pointers.pointer, [], 8 * n)}")
        for place, numbers in ((dims, sizes), (strides, steps)):
            for n, number in enumerate(numbers):
                place.put(n, self.constant(number, np.dtype(np.int64)))
        args = f"ptr {pointers.pointer}, ptr {dims.pointer}, ptr {strides.pointer}, ptr {pointer_to(loop[1])}"
        self.line(f"call void {pointer_to(loop[0])}({args})")

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
            rows = [a.part(at) for a in arrays]
            self._call_loop(loop, rows, [1, m, k, n], [0, 0, 0, *inner])

        self.each(lead, one)
        return out

    def _reduce(self, eqn: Eqn, x: Value) -> Value:
        aval, rule = eqn.aval, eqn.prim.llvm
        if rule is None or self._tried(rule, aval.dtype, [x, x], {}) in (None, NotImplemented):
            return None
        first = self.constant(_first(eqn.prim.reducer, aval.dtype, x.aval.size), aval.dtype)
        by_pairs = eqn.prim.reducer is np.add and aval.dtype.kind == "f"
        return self.reduce(aval, x, dict(eqn.params)["axes"], rule, first, by_pairs)

    def reduce(
        self, aval: Aval, x: Value, axes: Sequence[int], rule: Any, first: Scalar, by_pairs: bool = False
    ) -> Stored:
        """Join elements along axes by a rule, beginning with a number.

        `by_pairs`: along the last axes as NumPy adds up.
        """
        shape, out = x.aval.shape, self.room(aval)

        def join(a: Scalar, b: Scalar) -> Scalar:
            found: Scalar = rule(self, aval.dtype, a, b)
            return found

        own = [a for a, n in enumerate(shape) if n != 1]
        run = len(shape)  # from which axis on elements are added by pairs
        while by_pairs and own and own[-1] in axes:
            run = own.pop()
        lost, count = [shape[a] for a in axes if a < run], math.prod(shape[run:])
        if run < len(shape):
            x = self._in_runs(x, run, count)

        def index(kept: Sequence[Index], reduced: Sequence[Index]) -> list[Index]:
            left, gone = iter(kept), iter(reduced)
            return [next(gone) if a in axes else next(left) for a in range(run)]

        if run == len(shape) and len(shape) - 1 not in axes and aval.size > 1:  # a row after the other
            self.each(aval.shape, lambda at: out.put(at, first))
            self.each(
                lost,
                lambda gone: self.each(
                    aval.shape, lambda at: out.put(at, join(out.at(at), x.at(index(at, gone))))
                ),
            )
            return out
        total = self.room_for(aval.element)

        def term(at: list[Index]) -> Scalar:
            return x.at(at) if run == len(shape) else self._added(x, at, count, join)

        def one(at: list[Index]) -> None:
            total.put([], first)
            self.each(lost, lambda gone: total.put([], join(total.at([]), term(index(at, gone)))))
            out.put(at, total.at([]))

        self.each(aval.shape, one)
        return out

    def _in_runs(self, x: Value, run: int, count: int) -> Value:
        """Return a value whose axes from one on are one."""
        shape = x.aval.shape
        if isinstance(x, Formula) and count <= _PAIRS and count in shape[run:]:
            own, after = shape.index(count, run), len(shape)
            zeros = ([0] * (own - run), [0] * (after - own - 1))
            return self.formula(x.aval, lambda at: x.at([*at[:run], *zeros[0], at[-1], *zeros[1]]))
        return self.stored([x])[0].view(lambda a: a.reshape(*shape[:run], count))

    def _added(self, x: Value, at: list[Index], count: int, add: Callable[..., Scalar]) -> Scalar:
        """Add up a row as NumPy does: in eight sums, or one if it is short; its loop does long ones."""
        dtype = x.aval.dtype
        total = self.room_for(x.aval.element)
        total.put([], self.constant(-0.0, dtype))
        if count > _PAIRS:
            loop = compiled.loop_address(np.add, dtype)
            assert loop is not None
            self._call_loop(loop, [total, x.part(at), total], [count], [0, x.array.strides[-1], 0])
            return total.at([])
        left = count
        if count >= _SUMS:
            left = count % _SUMS
            sums = self.room_for(aval_of((_SUMS,), dtype))
            for j in range(_SUMS):
                sums.put(j, x.at([*at, j]))

            def add_up(i: Index) -> None:
                for j in range(_SUMS):
                    place = self.offset(i, _SUMS, _SUMS + j)
                    sums.put(j, add(sums.at(j), x.at([*at, place])))

            self.repeat(count // _SUMS - 1, add_up)
            parts = [sums.at(j) for j in range(_SUMS)]
            while len(parts) > 1:
                parts = [add(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            total.put([], parts[0])
        for i in range(count - left, count):
            total.put([], add(total.at([]), x.at([*at, i])))
        return total.at([])


def _first(reducer: np.ufunc | None, dtype: np.dtype, size: int) -> Any:
    """Return what changes no element that a reduction meets it with."""
    if reducer in (np.maximum, np.minimum) and dtype.kind != "b":
        least, most = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return least if reducer is np.maximum else most
    if reducer is np.add:
        return -0.0 if dtype.kind == "f" and size else 0
    return reducer in (np.multiply, np.logical_and, np.minimum)


class Machine:
    """A program compiled to machine code.

    Raises
    ------
    Unfit
        If something in it is not for machine code.
    """

    def __init__(self, program: Program) -> None:
        if len(program.inputs) + len(program.outputs) > MOST_ARRAYS:
            raise Unfit("it has too many inputs and outputs")
        code = Code(program)
        self.text = str(code)
        self.is_short = code.is_short
        self.outs = program.results
        self._scratch = code.scratch_bytes
        self._engine, self._address = assembled(self.text)

    def run(self, inputs: Sequence[np.ndarray]) -> tuple[list[np.ndarray], int] | None:
        """Run it; returns what it gives, and the floating-point faults that were seen, by NumPy's numbers.

        None where it met what it does not do: an operand that the operation refuses.
        """
        return compiled.run_machine(self._address, tuple(inputs), self.is_short, self.outs, self._scratch)


@lru_cache(None)
def is_available() -> bool:
    """Say whether there is what compiles, and what machine code calls."""
    return compiled is not None and find_spec("llvmlite") is not None


def assembled(text: str) -> tuple[Any, int]:
    """Return the address of the code, and what keeps that."""
    binding, machine = _target()
    try:
        module = _optimized(text, binding, machine, slp=True)
    except RuntimeError:  # LLVM's vectorizer of straight code uses values before it computes them, at times
        module = _optimized(text, binding, machine, slp=False)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, engine.get_function_address("main")


def _optimized(text: str, binding: Any, machine: Any, slp: bool) -> Any:
    """Return the code as LLVM's passes leave it; raises RuntimeError where that would end the process."""
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.loop_unrolling = True
    options.slp_vectorization = slp
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    module.verify()
    return module


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
