"""What `benchmarks.borders` knows of a library."""

from __future__ import annotations

from typing import NamedTuple


class Library(NamedTuple):
    """What to import, what the lines need besides, and the lines; `is_small`: they run as tests."""

    imports: str
    lines: tuple[str, ...]
    setup: str = ""
    is_small: bool = False

    @property
    def packages(self) -> list[str]:
        """The packages that must be installed."""
        return list(dict.fromkeys(p.split(" as ")[0].split(".")[0] for p in self.imports.split("; ")))
