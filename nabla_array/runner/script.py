"""Run a script or a module as Python itself does: its arguments, its errors, its end."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from . import imports, protocols

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def run_as_main(command: list[str], module: bool) -> None:
    """Run ``command[0]``, a script or a module, as `__main__`, with the rest as its arguments."""
    sys.argv = list(command)
    try:
        if module:
            runpy.run_module(command[0], run_name="__main__", alter_sys=True)
        else:
            _run_file(command[0])
    except BaseException:
        sys.excepthook = _without_us(sys.excepthook)
        raise


def _run_file(script: str) -> None:
    file = os.path.join(os.getcwd(), script)
    path = Path(file)
    if not sys.flags.safe_path:  # there is this folder, put there for `python -m`
        sys.path[0] = str(path.resolve().parent)
    main = ModuleType("__main__")
    main.__file__ = file
    main.__dict__.update(__builtins__=builtins, __loader__=SourceFileLoader("__main__", file))
    if sys.version_info < (3, 15):
        main.__dict__["__cached__"] = None
    # It stays there until the process ends, as its functions may run then.
    sys.modules["__main__"] = main
    exec(compile(path.read_bytes(), file, "exec", dont_inherit=True), main.__dict__)


def _without_us(hook: Hook) -> Hook:
    """Return an excepthook that shows what happened in the program, without our frames."""

    def show(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
        seen: set[BaseException] = set()
        chain: list[BaseException | None] = [error]
        while chain:
            one = chain.pop()
            if one is not None and one not in seen:
                seen.add(one)
                one.__traceback__ = _of_program(one.__traceback__)
                chain += [one.__cause__, one.__context__]
        hook(kind, error, error.__traceback__)

    return show


def _of_program(tb: TracebackType | None) -> TracebackType | None:
    """Return a traceback without what began the program, and without our `import` and `class` within it."""
    kept: list[TracebackType] = []
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if file == __file__:
            kept.clear()
        elif file not in (imports.__file__, protocols.__file__):
            kept.append(tb)
        tb = tb.tb_next
    for one in reversed(kept):
        tb = TracebackType(tb, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return tb
