"""`run --report`: what was evaluated, looked at and left to NumPy, by lines of the program."""

from __future__ import annotations

import linecache
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

from .._lazy.stats import Stats, stats
from .._namespace.core.array import Array
from ..inspect import report
from .imports import Own

# Lines that each part of a report shows, and how often makes it worth a hint.
_SHOWN = 10
MANY_ELEMENTS, MANY_LOOKS = 1000, 100


class Line(NamedTuple):
    """A line of a program."""

    file: str
    number: int

    def __str__(self) -> str:
        file = Path(self.file)
        return f"{file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}:{self.number}"

    def text(self) -> str:
        """Return what stands there."""
        return linecache.getline(self.file, self.number).strip()


class Places:
    """Counts what a program does, by its lines; it takes about a microsecond each time."""

    def __init__(self, own: Own) -> None:
        self._own = own
        self.looks: Counter[Line] = Counter()
        self.elements: Counter[Line] = Counter()
        self.fallbacks: Counter[tuple[str, Line]] = Counter()

    def on(self) -> None:
        """Begin."""
        kind = type("Noting", (_Noting,), {"places": self})
        stats.__class__ = kind
        stats.fallbacks = _NotingCounter(stats.fallbacks, self)
        for name in ("__getitem__", "__setitem__"):
            setattr(Array, name, self._counting(getattr(Array, name)))

    def _counting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(x: Array, key: Any, *value: Any) -> Any:
            many = key if type(key) is tuple else (key,)
            if len(many) == len(x.shape) and all(type(i) is int for i in many):
                self.elements[self.line()] += 1
            return method(x, key, *value)

        return counted

    def line(self) -> Line:
        """Return the line of the program that runs now."""
        frame = sys._getframe(1)
        while frame.f_back is not None and not self._own.names(frame.f_globals):
            frame = frame.f_back
        return Line(frame.f_code.co_filename, frame.f_lineno)

    def write(self, out: TextIO) -> None:
        """Write the report."""
        total = report()
        print("\nnabla_array report", file=out)
        print(
            f"  {total.evaluations} evaluations, {total.seconds:.3g} s; "
            f"{total.fusion_groups} fusion groups, {total.compiled} parts run by MAX",
            file=out,
        )
        _rows(out, "looked at", self.looks)
        _rows(out, "element by element", self.elements)
        left: Counter[Line] = Counter()
        names: dict[Line, list[str]] = {}
        for (name, line), n in sorted(self.fallbacks.items()):
            left[line] += n
            names.setdefault(line, []).append(name)
        _rows(out, "left to NumPy", left, names)
        for kernel in total.kernels[:_SHOWN]:
            print(f"  could fuse: {kernel}", file=out)
        for problem in total.problems:
            print(f"  problem: {problem}", file=out)
        hints = self.hints()
        if hints:
            print("  what would help", *hints, sep="\n    ", file=out)

    def hints(self) -> list[str]:
        """Return what would make the program faster, the worst first."""
        out = [
            f"{line}: {n} elements are read or written one at a time; an expression of whole rows or slices "
            "is one operation, and nabla_array.transforms.vmap makes one of a function of an element"
            for line, n in self.elements.most_common(_SHOWN)
            if n >= MANY_ELEMENTS
        ]
        out += [
            f"{line}: {n} looks at values; each ends what runs as one. Look every few rounds, or give the "
            "loop's body to nabla_array.transforms.compile, or the loop to while_loop"
            for line, n in self.looks.most_common(_SHOWN)
            if n >= MANY_LOOKS and self.elements[line] < MANY_ELEMENTS
        ]
        out += [
            f"{line}: {name} runs in NumPy; it is not fused, and has no derivative"
            for (name, line), _ in self.fallbacks.most_common(_SHOWN)
            if not name.startswith("numpy.")
        ]
        return out


def _rows(
    out: TextIO, title: str, counts: Counter[Line], names: Mapping[Line, Sequence[str]] = MappingProxyType({})
) -> None:
    if counts:
        print(f"  {title}", file=out)
    for line, n in counts.most_common(_SHOWN):
        name = f"  {', '.join(names[line])}" if names else ""
        print(f"    {n:>9}  {line!s:<24}{name}  {line.text()}".rstrip(), file=out)
    if len(counts) > _SHOWN:
        print(f"    {sum(counts.values()):>9}  in all, at {len(counts)} lines", file=out)


class _Noting(Stats):
    """Counters that note where they go up."""

    places: Places

    @property
    def evaluations(self) -> int:
        return self.__dict__["evaluations"]

    @evaluations.setter
    def evaluations(self, value: int) -> None:
        if value > self.__dict__["evaluations"]:
            self.places.looks[self.places.line()] += 1
        self.__dict__["evaluations"] = value


class _NotingCounter(Counter[str]):
    def __init__(self, before: Counter[str], places: Places) -> None:
        super().__init__(before)
        self._places = places

    def __setitem__(self, name: str, value: int) -> None:
        if value > self[name]:
            self._places.fallbacks[name, self._places.line()] += 1
        super().__setitem__(name, value)
