"""``%load_ext nabla_array``: in IPython's cells, too, `numpy` means us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .imports import Own, Redirect

_on: list[Redirect] = []


def load_ipython_extension(ipython: Any) -> None:
    """Let `import numpy`, in cells and in modules of the current folder, mean nabla_array from now on.

    What was imported before stays what it is, which is said. ``%unload_ext nabla_array`` ends it.

    Parameters
    ----------
    ipython : InteractiveShell
        The shell, which calls this on ``%load_ext nabla_array``.

    Examples
    --------
    >>> import sys
    >>> import nabla_array
    >>> nabla_array.load_ipython_extension(None)  # what %load_ext does
    >>> nabla_array.unload_ipython_extension(None)
    """
    if not _on:
        _on.append(Redirect(Own(Path.cwd())))
        _on[0].on()
    names = getattr(ipython, "user_ns", {})  # those with an underscore are results of cells
    before = [name for name, value in names.items() if value is np and not name.startswith("_")]
    if before:
        print(f"{', '.join(before)}: imported before, so still NumPy; import it again to have nabla_array")


def unload_ipython_extension(ipython: Any) -> None:
    """Let `import numpy` mean NumPy again.

    Parameters
    ----------
    ipython : InteractiveShell
        The shell, which calls this on ``%unload_ext nabla_array``.

    Examples
    --------
    >>> import nabla_array
    >>> nabla_array.load_ipython_extension(None)
    >>> nabla_array.unload_ipython_extension(None)  # what %unload_ext does
    """
    while _on:
        _on.pop().off()
