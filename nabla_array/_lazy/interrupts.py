"""Ctrl-C while memory is written over: it waits until that is done, and known to the graph."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enums of it: 1 ms
from types import FrameType
from typing import Any


class Uninterrupted:
    """A context in which SIGINT waits. Python handles it in the main thread, so others need no such thing."""

    def __enter__(self) -> None:
        self._came: list[tuple[int, FrameType | None]] = []
        self._handler: Any = _signal.getsignal(_signal.SIGINT)
        if callable(self._handler):
            try:
                _signal.signal(_signal.SIGINT, self._note)
            except ValueError:  # this is another thread
                self._handler = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.append((number, frame))

    def __exit__(self, *error: object) -> None:
        if callable(self._handler):
            _signal.signal(_signal.SIGINT, self._handler)
            if self._came:
                self._handler(*self._came[0])
