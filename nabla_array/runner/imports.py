"""`numpy`, imported by a program's own code, means us; to all others it stays NumPy."""

from __future__ import annotations

import builtins
import importlib
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import numpy

from .. import version
from .._lazy.native import compiled
from .._namespace.core.views import openers
from .._namespace.interop.policies import program_files, program_hook
from .protocols import Classes

_PACKAGE = Path(__file__).parents[1]
_package = sys.modules["nabla_array"]
_INSTALLED = set(sysconfig.get_paths().values())
_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


_folder = lru_cache(os.path.realpath)


def _real(name: str) -> str:
    """Return the path of a file without symbolic links: its folder has many, and is looked at once."""
    folder, base = os.path.split(name)
    if not os.path.isabs(folder):
        return os.path.realpath(name)
    found = os.path.join(_folder(folder), base)
    return os.path.realpath(found) if os.path.islink(found) else found


@lru_cache(None)
def _project(folder: str) -> str | None:
    """Return the nearest folder, from `folder` up, that a project begins in."""
    if any([os.path.exists(os.path.join(folder, marker)) for marker in _MARKERS]):
        return folder
    above = os.path.dirname(folder)
    return None if above == folder else _project(above)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


class Own:
    """What code is a program's own: the files of its folder, and those of the project that this is in.

    Files that are in no project are its own where they lie below a folder above its own in ``sys.path``.

    Installed libraries, the standard library and this package never are, wherever they are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.normcase(os.path.realpath(folder))
        self._project = _project(self._folder)
        # A program in the folder of an environment is not a part of it.
        installed = [f for f in map(os.path.normcase, _INSTALLED) if not _is_below(self._folder, f)]
        self._libraries = tuple([os.path.join(f, "") for f in (os.path.normcase(_PACKAGE), *installed)])
        self.known: dict[str, bool] = {}  # of files that were asked for

    def file(self, name: str) -> bool:
        """Say whether this is a file of the program's."""
        if name not in self.known:
            self.known[name] = self._look(os.path.normcase(_real(name)))
        return self.known[name]

    def _look(self, name: str) -> bool:
        if name.startswith(self._libraries) or {"site-packages", "dist-packages"} & {*name.split(os.sep)}:
            return False
        if _is_below(name, self._folder):
            return True
        project = _project(os.path.dirname(name))
        if project is not None:
            return project == self._project
        folders = [os.path.normcase(os.path.realpath(folder)) for folder in sys.path]
        return any([_is_below(name, f) and _is_below(self._folder, f) for f in folders])

    def names(self, names: dict[str, Any]) -> bool:
        """Say whether these are the global names of a module of the program's, or of its `__main__`."""
        file = names.get("__file__")
        return names.get("__name__") == "__main__" or (file is not None and self.file(file))

    def frame(self, frame: FrameType | None) -> bool:
        """Say whether code of the program's runs in this frame; what `exec` runs belongs to its caller."""
        while frame is not None and "__file__" not in frame.f_globals:
            if self.names(frame.f_globals):
                return True
            frame = frame.f_back
        return frame is not None and self.names(frame.f_globals)


def _meant(name: str) -> str:
    """Return the name of our module for one of NumPy's; private ones, and its version, stay what they are."""
    parts = name.split(".")
    if parts[0] != "numpy" or parts[1:2] == ["version"] or any(part.startswith("_") for part in parts):
        return name
    return ".".join(["nabla_array", *parts[1:]])


class Redirect:
    """While it is on, `import numpy` and its kin mean us in a program's own code."""

    def __init__(self, own: Own) -> None:
        self.own = own
        self._names = own.names
        self._classes = Classes(own.names)
        self._import = builtins.__import__
        self._import_module: Callable[..., ModuleType] = importlib.import_module

    def on(self) -> None:
        """Begin."""
        program_hook.append(self._names)
        program_files.append(self.own.known)
        openers.append(self._names)
        self._import = builtins.__import__
        is_pythons = getattr(self._import, "__self__", None) is builtins
        can_be_compiled = compiled is not None and is_pythons
        builtins.__import__ = compiled.importing(self._statement) if can_be_compiled else self._statement
        self._import_module, importlib.import_module = importlib.import_module, self._function
        self._classes.on()
        vars(_package).update(__version__=numpy.__version__, version=numpy.version)

    def off(self) -> None:
        """End: what is imported from now on is what it says."""
        builtins.__import__ = self._import
        importlib.import_module = self._import_module
        self._classes.off()
        vars(_package).update(__version__=version.__version__, version=version)
        program_hook.remove(self._names)
        program_files[:] = [files for files in program_files if files is not self.own.known]
        openers.remove(self._names)

    def _statement(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        is_cs = type(fromlist) is list and not fromlist and globals is locals  # C code in a call from there
        if level == 0 and name.startswith("numpy") and not is_cs and self.own.frame(sys._getframe(1)):
            name = _meant(name)
        return self._import(name, globals, locals, fromlist or (), level)

    def _function(self, name: str, package: str | None = None) -> ModuleType:
        if name.startswith("numpy") and self.own.frame(sys._getframe(1)):
            name = _meant(name)
        return self._import_module(name, package)
