"""Programs of small values as lines of a Python function, where nothing is looked up or interpreted.

`compile` makes functions of whole programs, `run/control.py` of loops around them. What a program costs
beyond its NumPy calls is then a few bytecodes an equation. On the way, what depends on nothing but constants
is computed, broadcasting is left to ufuncs, and a ufunc writes over an operand that nothing else needs. The
results have the bits that `evaluate` gives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from ..graph.aval import LARGE, MEDIUM, Aval
from ..graph.primitive import Primitive
from ..graph.program import Eqn, Program, is_literal
from ..ops.elementwise import cast, div, mul, select
from ..ops.structure import (
    broadcast,
    permute,
    project,
    reshape,
    slice_,
    slices,
)
from . import blocks


class Source:
    """Lines of a Python function, and the objects that they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._indent = ""
        self._known: dict[int, str] = {}
        self._numbers = itertools.count()

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(self._indent + text)

    @contextmanager
    def block(self, text: str) -> Iterator[None]:
        """Add a line that ends in a colon; what is added meanwhile is its block."""
        self.line(text)
        self._indent += "    "
        yield
        self._indent = self._indent[4:]

    def variable(self, stem: str = "t") -> str:
        """Return a name that nothing has yet."""
        return f"{stem}{next(self._numbers)}"

    def bind(self, value: Any, stem: str = "c") -> str:
        """Return a name for an object; the same one for the same object."""
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = self.variable(stem + "_")
            self.names[name] = value
        return name

    def text(self, signature: str) -> str:
        """Return the source of the function; `signature` is its name and parameters."""
        return "\n    ".join([f"def {signature}:", *self.lines])

    def function(self, signature: str) -> Callable[..., Any]:
        """Make the function."""
        names = dict(self.names)
        exec(compile(self.text(signature), "<compiled by nabla_array>", "exec"), names)
        made: Callable[..., Any] = names[signature.partition("(")[0]]
        return made


def is_small(program: Program) -> bool:
    """Say whether every value of a program is too small for blocks and threads to pay."""
    return makes_small(program) and all(aval.nbytes < LARGE for aval in program.inputs)


@lru_cache(512)
def makes_small(program: Program) -> bool:
    """Say the same of the values that the equations make."""
    return all(_nbytes(eqn.aval) < LARGE for eqn in program.eqns if not is_literal(eqn))


def _nbytes(aval: Any) -> int:
    """Return the bytes of a value; of several, those of the largest."""
    return max([a.nbytes for a in aval], default=0) if isinstance(aval, tuple) else aval.nbytes


def write(
    program: Program,
    source: Source,
    inputs: Sequence[str],
    constants: Mapping[int, np.ndarray] | None = None,
    scalars: bool = False,
) -> list[str]:
    """Add the lines that run `program`; returns expressions of its outputs, which are ndarrays.

    Parameters
    ----------
    inputs
        A variable for each input that is no constant, in order: ndarrays, which are not written to.
    constants
        The values of the other inputs, by their numbers.
    scalars
        Inputs and outputs without axes may be NumPy's scalars, which ufuncs take and give.
    """
    return _Writer(program, source, inputs, constants or {}, scalars).write()


_ONES = {np.dtype(t): np.ones((), t).tobytes() for t in "efdbhilqBHILQ"}


class _Writer:
    """Writes one program.

    Attributes
    ----------
    names
        The variable of each value that exists when the program runs.
    constants
        The values that are known now.
    eqns
        What is left to do, by the number of the value.
    spread
        For a value that is only broadcast: the number of what it repeats, and that one's shape with ones.
    root
        Whose memory a value may share.
    last
        The last equation that needs the memory of a value.
    done
        For an equation, the made values that no later one names.
    owned
        Values in fresh memory, which may be written over once nothing needs them.
    """

    def __init__(
        self,
        program: Program,
        source: Source,
        inputs: Sequence[str],
        constants: Mapping[int, np.ndarray],
        scalars: bool,
    ) -> None:
        self.program = program
        self.scalars = scalars
        self.source = source
        self.base = len(program.inputs)
        self.constants: dict[int, np.ndarray] = dict(constants)
        self.elements: dict[int, np.ndarray | None] = {}
        rest = iter(inputs)
        self.names = {k: next(rest) for k in range(self.base) if k not in constants}
        self.eqns: dict[int, Eqn] = {}
        same: dict[int, int] = {}
        for k, eqn in enumerate(program.eqns, self.base):
            eqn = eqn._replace(ins=tuple([same.get(i, i) for i in eqn.ins]))
            if not self._fold(k, eqn):
                eqn = self._without_detour(eqn)
                found = self._same(eqn)
                if found is None:
                    self.eqns[k] = eqn
                else:
                    same[k] = found
        self.outputs = [same.get(k, k) for k in program.outputs]
        self.spread: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.root: dict[int, int] = {}
        self.last: dict[int, float] = {}
        self.done: dict[float, list[int]] = {}
        self.owned: set[int] = set()
        self._drop_unused()
        self._find_last_uses()

    # -- what need not be done -------------------------------------------------------------------------

    def _fold(self, k: int, eqn: Eqn) -> bool:
        """Compute what depends on constants alone."""
        small = isinstance(eqn.aval, Aval) and eqn.aval.nbytes < LARGE
        if not is_literal(eqn) and not (small and all(i in self.constants for i in eqn.ins)):
            return False
        ins = [self.constants[i] for i in eqn.ins]
        try:
            with np.errstate(all="raise"):
                self.constants[k] = blocks.as_value(eqn.prim.host(*ins, **dict(eqn.params)))
        except blocks.DATA_ERRORS:  # to be raised, or warned of, whenever the program runs
            return False
        return True

    def _without_detour(self, eqn: Eqn) -> Eqn:
        """Reshape what was reshaped before at once."""
        if eqn.prim is reshape:
            before = self.eqns.get(eqn.ins[0])
            if before is not None and before.prim is reshape:
                return eqn._replace(ins=before.ins)
        return eqn

    def _same(self, eqn: Eqn) -> int | None:
        """Return the number of the operand that the result equals, where it does."""
        if eqn.prim.keeps_order and self._aval(eqn.ins[0]) is eqn.aval:
            return eqn.ins[0]
        if eqn.prim in (mul, div):
            for one, other in (eqn.ins[::-1], eqn.ins)[: 1 if eqn.prim is div else 2]:
                element = self._element(one)
                if element is not None and element.tobytes() == _ONES.get(eqn.aval.dtype):
                    return other
        return None

    def _drop_unused(self) -> None:
        used = set(self.outputs)
        for k in reversed(self.eqns):
            if k in used:
                used.update(self.eqns[k].ins)
        self.eqns = {k: eqn for k, eqn in self.eqns.items() if k in used}

    def _find_last_uses(self) -> None:
        root, last = self.root, self.last
        for k, eqn in self.eqns.items():
            for i in eqn.ins:
                last[root.get(i, i)] = k
            if not eqn.prim.fresh:  # it may be a view, of any operand
                root[k] = root.get(eqn.ins[0], eqn.ins[0]) if eqn.ins else k
                for i in eqn.ins[1:]:
                    last[root.get(i, i)] = inf
        for k in self.outputs:
            last[root.get(k, k)] = inf
        named: dict[int, float] = dict.fromkeys(self.outputs, inf)
        for k, eqn in reversed(self.eqns.items()):
            for i in eqn.ins:  # what is only broadcast is named where the result is
                named[i] = max(named.get(i, 0), named[k] if eqn.prim is broadcast else k)
        for i, where in named.items():
            if i in self.eqns:
                self.done.setdefault(where, []).append(i)

    # -- operands --------------------------------------------------------------------------------------

    def _aval(self, k: int) -> Any:
        return self.program.aval(k)

    def _name(self, i: int) -> str:
        return self.source.bind(self.constants[i]) if i in self.constants else self.names[i]

    def _whole(self, k: int) -> str:
        """Return an expression of a value as an ndarray of its shape (or a tuple of ndarrays)."""
        if k in self.spread:
            shape = self.source.bind(self._aval(k).shape)
            self.names[k] = f"v{k}"
            spread = self.source.bind(np.broadcast_to, "f")
            self.source.line(f"v{k} = {spread}({self._shaped(*self.spread.pop(k))}, {shape})")
        if self._may_be_scalar(k):
            return f"{self.source.bind(np.asarray, 'f')}({self.names[k]})"
        return self._name(k)

    def _may_be_scalar(self, k: int) -> bool:
        """Say whether a value may be one of NumPy's scalars, which ufuncs give where there are no axes."""
        made = k in self.eqns or (self.scalars and k in self.names)
        return made and isinstance(self._aval(k), Aval) and not self._aval(k).shape

    def _shaped(self, i: int, shape: tuple[int, ...]) -> str:
        """Return an expression of a value with axes of length 1 put in; those in front are left out."""
        while len(shape) > self._aval(i).ndim and shape[0] == 1:
            shape = shape[1:]
        return self._name(i) if shape == self._aval(i).shape else f"{self._name(i)}.reshape({shape})"

    def _operands(self, eqn: Eqn) -> list[str]:
        """Return expressions that broadcast to the result's shape."""
        out, full = [], False
        for i in eqn.ins:
            element = self._element(i)
            if element is not None:
                out.append(self.source.bind(element))
            elif i in self.spread:
                out.append(self._shaped(*self.spread[i]))
            else:
                out.append(self._name(i))
                full = True
        return out if full else [self._whole(i) for i in eqn.ins]

    def _element(self, i: int) -> np.ndarray | None:
        """Return the one element of a constant whose elements are equal."""
        if i not in self.constants:
            return None
        if i not in self.elements:
            value = self.constants[i]
            first = np.array(value[(slice(1),) * value.ndim]).reshape(-1)
            constant = not any(value.strides) or value.tobytes() == first.tobytes() * value.size
            self.elements[i] = first.reshape(()) if value.size and constant else None
        return self.elements[i]

    # -- equations -------------------------------------------------------------------------------------

    def write(self) -> list[str]:
        for k, eqn in self.eqns.items():
            self._eqn(k, eqn)
            self._drop(k)
        scalars = [self.scalars and k not in self.spread and self._may_be_scalar(k) for k in self.outputs]
        pairs = zip(self.outputs, scalars, strict=True)
        return [self.names[k] if scalar else self._whole(k) for k, scalar in pairs]

    def _eqn(self, k: int, eqn: Eqn) -> None:
        prim, params = eqn.prim, dict(eqn.params)
        if prim is broadcast:
            self._broadcast(k, eqn.ins[0], **params)
        elif prim in _VIEWS:
            self._assign(k, self._whole(eqn.ins[0]) + _VIEWS[prim](self.source, **params))
        elif prim is cast and "c" not in (self._aval(eqn.ins[0]).dtype.kind, eqn.aval.dtype.kind):
            self._assign(k, f"{self._whole(eqn.ins[0])}.astype({self.source.bind(eqn.aval.dtype)}, 'C')")
        elif prim.kind == "elementwise" and (
            isinstance(prim.host, np.ufunc) or prim.into is prim.host or prim is select
        ):
            self._elementwise(k, eqn)
        elif prim.kind == "reduce":
            self._reduce(k, eqn, params["axes"])
        else:
            self._call(k, eqn, params)
        if prim.fresh and eqn.aval.ndim:
            self.owned.add(k)

    def _assign(self, k: int, expression: str) -> None:
        self.names[k] = f"v{k}"
        self.source.line(f"v{k} = {expression}")

    def _broadcast(self, k: int, i: int, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        if i in self.spread:
            self._whole(i)
        ones = [1] * len(shape)
        for n, a in zip(self._aval(i).shape, axes, strict=True):
            ones[a] = n
        if tuple(ones) == shape:
            self._assign(k, f"{self._name(i)}.reshape({shape})")
        else:
            self.spread[k] = i, tuple(ones)

    def _elementwise(self, k: int, eqn: Eqn) -> None:
        arguments = ", ".join(self._operands(eqn))
        call = f"{self.source.bind(eqn.prim.host, 'f')}({arguments}"
        if isinstance(eqn.prim.host, np.ufunc):
            for i in eqn.ins:
                if self._is_free(i, k) and self._aval(i) is eqn.aval:
                    self.names[k] = self.names[i]
                    self.source.line(f"{call}, out={self.names[i]})")
                    return
        self._assign(k, f"{call})")

    def _is_free(self, i: int, k: int) -> bool:
        """Say whether equation `k` is the last that needs the memory of value `i`, which is fresh."""
        return i in self.owned and self.last[i] == k

    def _reduce(self, k: int, eqn: Eqn, axes: tuple[int, ...]) -> None:
        reduce = self.source.bind(eqn.prim.reducer.reduce, "f")  # type: ignore[union-attr]
        call = f"{reduce}({self._whole(eqn.ins[0])}, {axes}, {self.source.bind(eqn.aval.dtype)})"
        if eqn.aval.ndim > 1:  # of a transposed operand NumPy would keep the order
            call = f"{self.source.bind(np.asarray, 'f')}({call}, order='C')"
        self._assign(k, call)

    def _call(self, k: int, eqn: Eqn, params: dict[str, Any]) -> None:
        prim = eqn.prim
        function = prim.host
        if prim.inplace is not None and eqn.ins.count(eqn.ins[0]) == 1 and self._is_free(eqn.ins[0], k):
            function = prim.inplace
        arguments = [self._whole(i) for i in eqn.ins]
        arguments += [f"{name}={self.source.bind(value)}" for name, value in params.items()]
        call = f"{self.source.bind(function, 'f')}({', '.join(arguments)})"
        if isinstance(eqn.aval, tuple):
            call = f"{self.source.bind(blocks.as_value, 'f')}({call})"
        self._assign(k, call)

    def _drop(self, k: int) -> None:
        """Let go of what no further equation names, where its memory counts."""
        for i in self.done.get(k, ()):
            name = self.names.get(i)
            if name is not None and name != self.names.get(k) and _nbytes(self._aval(i)) >= MEDIUM:
                self.source.line(f"{name} = None")


# What is put behind a value to get a view of it.
_VIEWS: dict[Primitive, Callable[..., str]] = {
    reshape: lambda source, shape: f".reshape({shape})",
    permute: lambda source, axes: ".T" if axes == (*range(len(axes)),)[::-1] else f".transpose({axes})",
    slice_: lambda source, **params: f"[{source.bind(slices(**params))}]",
    project: lambda source, index: f"[{index}]",
}
