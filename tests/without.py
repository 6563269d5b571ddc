"""What another system, or a smaller installation, does not have; for a process of its own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from typing import Any

# What the modules of the standard library have on POSIX alone, of what programs reach for.
_OS = (
    "chown fchmod fork forkpty geteuid getloadavg getpgid getpriority getuid killpg mkfifo nice pread pwrite "
    "posix_spawn register_at_fork sched_getaffinity sched_param sched_setscheduler sched_yield setpriority "
    "setsid sysconf uname waitid SCHED_IDLE O_CLOEXEC"
)
_SIGNAL = "SIGALRM SIGHUP SIGKILL SIGUSR1 SIGUSR2 pthread_kill pthread_sigmask setitimer"
_MODULES = ["fcntl", "grp", "posix", "pwd", "resource", "syslog", "termios", "tty"]


class _Missing(MetaPathFinder):
    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if any(name == n or name.startswith(f"{n}.") for n in self._names):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def without(modules: Sequence[str]) -> None:
    """Have these modules, and what is below them, fail to import."""
    for loaded in list(sys.modules):
        if any(loaded == n or loaded.startswith(f"{n}.") for n in modules):
            del sys.modules[loaded]
    sys.meta_path.insert(0, _Missing(modules))


def as_on_windows() -> None:
    """Take away what Windows does not have, once NumPy has found out where it runs."""
    import numpy

    assert numpy.__version__
    without([*_MODULES, "max", "nabla_array._lazy.native._fast"])
    for module, names in ((os, _OS), (signal, _SIGNAL)):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
