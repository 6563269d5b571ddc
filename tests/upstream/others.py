"""Run one test file of another project's, copied, on our transforms, and write down what each test did.

    python -m tests.upstream.others jax|autograd FILE RESULT

In the file, that project's name means a stand-in of ours: `as_jax`, `as_autograd`.
"""

from __future__ import annotations

import builtins
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from .as_jax.missing import collecting
from .one import Recorder

OPTIONS = ("-q", "--tb=short", "-p", "no:cacheprovider", "--timeout=30", "-W", "ignore", "--rootdir")


class StandIn:
    """While it is on, `import jax` in the files of a folder means something else."""

    def __init__(self, name: str, modules: Any, folder: Path) -> None:
        self._name, self._modules, self._folder = name, modules, str(folder)
        self._import = builtins.__import__

    def on(self) -> None:
        """Begin; the process runs nothing else, so that there is no end."""
        builtins.__import__ = self._statement

    def _statement(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        file = str((globals or {}).get("__file__", ""))
        if level == 0 and name.partition(".")[0] == self._name and file.startswith(self._folder):
            return self._modules.statement(name, fromlist)
        return self._import(name, globals, locals, fromlist or (), level)


class Collected:
    """Tells the stand-in when tests begin."""

    def pytest_collection_finish(self) -> None:
        collecting[0] = False


def _modules(project: str) -> Any:
    """Return the stand-in for a project."""
    if project == "jax":
        from .as_jax import Jax

        return Jax()
    from .as_autograd import Autograd

    return Autograd()


def main(project: str, file: str, result: str, *more: str) -> None:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        for beside in Path(file).parent.glob("*.py"):
            shutil.copyfile(beside, folder / beside.name)
        copy = folder / Path(file).name
        StandIn(project, _modules(project), folder).on()
        pytest.main([str(copy), *OPTIONS, str(folder), *more], plugins=[Recorder(result), Collected()])


if __name__ == "__main__":
    main(*sys.argv[1:])
