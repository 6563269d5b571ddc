"""Random programs that make views and write through them, against NumPy running the same program."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nabla_array as xp

DTYPES = [np.bool, np.int32, np.float32, np.float64, np.complex128]
ERRORS = (IndexError, TypeError, ValueError, OverflowError)

# Nothing is compared that a transposed result would make differ: NumPy gives some copies in Fortran
# order, and then a reshape of them is a view where ours, always in C order, is not, or the other way round.


def counted(shape: tuple[int, ...], modulus: int, dtype: Any) -> np.ndarray:
    return (np.arange(1, np.prod(shape, dtype=int) + 1) % modulus).astype(dtype).reshape(shape)


class Machine:
    """Live arrays, ours and NumPy's side by side, and the steps that a program is made of."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.pairs: list[tuple[Any, np.ndarray]] = []
        self.log: list[str] = []

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def new(self, shape: tuple[int, ...]) -> None:
        dtype = np.dtype(self.pick(*DTYPES))
        theirs = counted(shape, 7, dtype)
        if dtype.kind == "c":
            theirs += 1j * theirs[::-1] if shape else 2j
        self.log.append(f"x{len(self.pairs)} = {dtype}{shape}")
        self.pairs.append((xp.asarray(theirs), theirs))

    def random_shape(self) -> tuple[int, ...]:
        return tuple(self.draw(st.lists(st.sampled_from([2, 3, 4, 2, 1, 0]), max_size=3)))

    def some(self) -> tuple[int, Any, np.ndarray]:
        # Often the newest, so that views of views of views are made.
        i = len(self.pairs) - 1 if self.pick(True, False) else self.number(0, len(self.pairs) - 1)
        return i, *self.pairs[i]

    # -- keys and values ---------------------------------------------------------------------------

    def slice(self, n: int) -> slice:
        bounds = st.none() | st.integers(-n - 1, n + 1)
        return slice(self.draw(bounds), self.draw(bounds), self.pick(None, 1, 2, -1, -2, 3))

    def key(self, shape: tuple[int, ...], basic: bool) -> tuple[Any, Any]:
        """Return a key for us (whose arrays may be ours) and for NumPy."""
        items: list[Any] = []
        axis = 0
        gap = False
        index_shape = tuple(self.draw(st.lists(st.integers(1, 2), max_size=2)))
        while axis < len(shape):
            n = shape[axis]
            kinds = ["slice", "slice", "int", "new", "all", "gap"]
            kinds += [] if basic else ["ints", "ints", "mask", "flag", "masks"]
            kind = self.pick(*kinds)
            if kind == "gap":
                if gap:
                    break
                items.append(Ellipsis)
                gap = True
                axis += self.number(0, len(shape) - axis)
                continue
            if kind == "new":
                items.append(None)
                continue
            if kind == "flag":
                items.append(self.pick(True, False, np.array(True)))
                continue
            if kind == "masks" and axis + 1 < len(shape):
                items.append(np.arange(n * shape[axis + 1]).reshape(shape[axis : axis + 2]) % 3 == 1)
                axis += 2
                continue
            if kind == "int" and n:
                items.append(self.number(-n, n - 1))
            elif kind == "ints" and n:
                size = int(np.prod(index_shape, dtype=int))
                flat = self.draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size))
                items.append(np.array(flat, int).reshape(index_shape))
            elif kind == "mask":
                items.append(np.array(self.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool))
            else:
                items.append(self.slice(n) if kind == "slice" else slice(None))
            axis += 1
        ours = [self.foreign(i) if isinstance(i, np.ndarray) else i for i in items]
        if len(items) == 1 and self.pick(True, False):
            return ours[0], items[0]
        return tuple(ours), tuple(items)

    def foreign(self, a: np.ndarray) -> Any:
        kind = self.pick("ours", "numpy", "list")
        if kind == "list" and a.size and a.ndim:
            return a.tolist()
        return xp.asarray(a) if kind == "ours" else a

    def value(self, dtype: np.dtype, shape: tuple[int, ...]) -> tuple[Any, Any]:
        kind = self.pick("scalar", "scalar", "array", "live")
        if kind == "scalar":
            one = self.pick(0, 1, 3, True, 2.5)
            return one, one
        if kind == "live":
            _, ours, theirs = self.some()
            if theirs.dtype.kind != "c" or dtype.kind == "c":
                return ours, theirs
        own = tuple(self.pick(n, n, 1) for n in shape)[self.number(0, len(shape)) :]
        theirs = counted(own, 5, self.pick(np.int64, np.float64, bool))
        return (xp.asarray(theirs) if self.pick(True, False) else theirs), theirs

    def shape_at(self, a: np.ndarray, key: Any) -> tuple[int, ...]:
        try:
            return a[key].shape
        except IndexError:
            return ()

    def odd(self, a: np.ndarray, key: Any, value: Any) -> bool:
        """Say whether NumPy's answer to a value with too many axes depends on more than the shapes."""
        shape = self.shape_at(a, key)
        lead = np.shape(value)[: max(0, np.ndim(value) - len(shape))]
        basic = not any(isinstance(i, np.ndarray) for i in (key if isinstance(key, tuple) else (key,)))
        return bool(lead) and not (shape and basic and set(lead) == {1})

    # -- steps -------------------------------------------------------------------------------------

    def both(self, what: str, ours: Any, theirs: Any) -> tuple[Any, Any] | None:
        """Run two thunks; None where NumPy fails, and then we must fail in the same way."""
        self.log.append(what)
        try:
            with np.errstate(all="ignore"):
                wanted = theirs()
        except ERRORS as error:
            kind: Any = next(k for k in ERRORS if isinstance(error, k))
            if what[0] == "i":  # in place: dtypes and shapes can be wrong both
                kind = ERRORS
            with pytest.raises(kind):
                ours()
            return None
        return ours(), wanted

    def keep(self, what: str, ours: Any, theirs: Any) -> None:
        made = self.both(f"x{len(self.pairs)} = {what}", ours, theirs)
        if made is not None:
            out, wanted = made[0], np.asarray(made[1])
            assert out.shape == wanted.shape
            assert out.dtype == wanted.dtype
            self.pairs.append((out, wanted))
        else:
            self.log[-1] += "  # fails"

    def view(self) -> None:
        i, ours, theirs = self.some()
        kind = self.pick(
            "key",
            "key",
            "key",
            "T",
            "mT",
            "reshape",
            "reshape",
            "part",
            "flip",
            "broadcast",
            "item",
            "permute",
        )
        if kind == "key":
            mine, its = self.key(theirs.shape, basic=True)
            self.keep(f"x{i}[{its}]", lambda: ours[mine], lambda: theirs[its])
        elif kind in ("T", "mT"):
            self.keep(f"x{i}.{kind}", lambda: getattr(ours, kind), lambda: getattr(theirs, kind))
        elif kind == "part" and theirs.dtype.kind == "c":
            part = self.pick("real", "imag")
            self.keep(f"x{i}.{part}", lambda: getattr(ours, part), lambda: getattr(theirs, part))
        elif kind == "reshape":
            shape = self.other_shape(theirs)
            self.keep(
                f"reshape(x{i}, {shape})", lambda: xp.reshape(ours, shape), lambda: theirs.reshape(shape)
            )
        elif kind == "flip" and theirs.ndim:
            axis = self.pick(None, *range(-theirs.ndim, theirs.ndim))
            self.keep(f"flip(x{i}, {axis})", lambda: xp.flip(ours, axis=axis), lambda: np.flip(theirs, axis))
        elif kind == "permute":
            axes = tuple(self.draw(st.permutations(range(theirs.ndim))))
            self.keep(
                f"permute(x{i}, {axes})",
                lambda: xp.permute_dims(ours, axes),
                lambda: theirs.transpose(axes),
            )
        elif kind == "broadcast":
            shape = (*self.pick((), (2,)), *(self.pick(n, 2) if n == 1 else n for n in theirs.shape))
            self.keep(
                f"broadcast(x{i}, {shape})",
                lambda: xp.broadcast_to(ours, shape),
                lambda: np.broadcast_to(theirs, shape),
            )
        elif kind == "item" and theirs.ndim and len(theirs):
            k = self.number(0, len(theirs) - 1)
            self.keep(f"list(x{i})[{k}]", lambda: list(ours)[k], lambda: list(theirs)[k])

    def other_shape(self, a: np.ndarray) -> tuple[int, ...]:
        splits = [(a.size,), (-1,), (1, a.size), a.shape, a.shape[::-1], (1, *a.shape)]
        splits += [(n, a.size // n) for n in (2, 3, 4) if a.size and a.size % n == 0]
        splits += [(*a.shape[:-2], a.shape[-2] * a.shape[-1])] if a.ndim > 1 else []
        return self.pick(*splits) if a.size else self.pick(a.shape, (0,), (2, 0), a.shape[::-1])

    def copy(self) -> None:
        i, ours, theirs = self.some()
        if self.pick(True, False):
            self.keep(f"x{i} * 1", lambda: ours * True, lambda: np.array(theirs * True, order="C"))
        else:
            mine, its = self.key(theirs.shape, basic=False)
            self.keep(
                f"x{i}[{its}].copy()", lambda: ours[mine].copy(), lambda: np.array(theirs[its], order="C")
            )

    def write(self) -> None:
        i, ours, theirs = self.some()
        mine, its = self.key(theirs.shape, basic=False)
        new, wanted = self.value(theirs.dtype, self.shape_at(theirs, its))
        if self.odd(theirs, its, wanted):
            return
        self.both(
            f"x{i}[{its}] = {wanted!r}",
            lambda: operator.setitem(ours, mine, new),
            lambda: operator.setitem(theirs, its, wanted),
        )

    def in_place(self) -> None:
        i, ours, theirs = self.some()
        name = self.pick("iadd", "isub", "imul")
        function = getattr(operator, name)
        new, wanted = self.value(theirs.dtype, theirs.shape)
        if not theirs.shape and ours._view is None:
            # What would be a scalar in NumPy: `+=` makes a new one.
            self.keep(
                f"{name}(x{i}[()], {wanted!r})",
                lambda: function(ours, new),
                lambda: function(theirs[()], wanted),
            )
            return
        if self.pick(True, False):
            # NumPy finds out that it may not write after it has found out the rest, or before.
            if theirs.flags.writeable:
                self.both(
                    f"{name}(x{i}, {wanted!r})", lambda: function(ours, new), lambda: function(theirs, wanted)
                )
            return
        mine, its = self.key(theirs.shape, basic=False)

        def update(x: Any, key: Any, value: Any) -> None:
            x[key] = function(x[key], value)

        if theirs.flags.writeable and not self.odd(theirs, its, wanted):
            self.both(
                f"{name}(x{i}[{its}], {wanted!r})",
                lambda: update(ours, mine, new),
                lambda: update(theirs, its, wanted),
            )

    def look(self) -> None:
        i, ours, theirs = self.some()
        self.log.append(f"look at x{i}")
        np.testing.assert_array_equal(np.asarray(ours), theirs, strict=True)


@settings(
    max_examples=400, deadline=None, report_multiple_bugs=False, suppress_health_check=list(HealthCheck)
)
@given(st.data())
def test_random_programs(data: st.DataObject) -> None:
    machine = Machine(data.draw)
    machine.new(machine.random_shape())
    steps = [machine.view] * 4 + [machine.write] * 4 + [machine.in_place] * 2 + [machine.copy, machine.look]
    try:
        for _ in range(machine.number(4, 16)):
            machine.pick(*steps)()
        for ours, theirs in machine.pairs:
            np.testing.assert_array_equal(np.asarray(ours), theirs, strict=True)
    except (Exception, pytest.fail.Exception) as error:
        error.add_note("\n".join(machine.log))
        raise
