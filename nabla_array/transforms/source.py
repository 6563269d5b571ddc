"""Functions that are written as lines of Python, where nothing is looked up or interpreted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


class Source:
    """Lines of a Python function, and the objects that they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._known: dict[int, str] = {}
        self._numbers = itertools.count()

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(text)

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
