"""A stand-in for MAX in the compile worker: a program's text says what compiling it does.

``how:name``: the part before the colon is a function below, or ``ok``. A ``how`` that ends in ``_once`` does
it only the first time. Batches are noted in the file that `FAKE_LOG` names.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import stat
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def compile_programs(keys: Sequence[str], path: Path) -> None:
    """Write the programs' texts, unless one of them has something else in mind."""
    log = Path(os.environ["FAKE_LOG"])
    with log.open("a") as file:
        file.write(json.dumps({"pid": os.getpid(), "keys": keys}) + "\n")
    print("noise on standard output", flush=True)
    os.system("echo more noise")  # what a linker might say
    for key in keys:
        how, _, _ = key.partition(":")
        done = log.with_name(f"{key}.once")
        if how.endswith("_once"):
            if done.exists():
                continue
            done.touch()
        if how != "ok":
            globals()[f"_{how.removesuffix('_once')}"]()
    path.write_text(json.dumps(keys))


def _fail() -> None:
    raise ValueError("no such operation")


def _slow() -> None:
    time.sleep(1)


def _hang() -> None:
    time.sleep(1000)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _segfault() -> None:
    ctypes.string_at(0)


def _abort() -> None:
    os.abort()


def _exit() -> None:
    os._exit(3)


def _leave() -> None:
    sys.exit("had enough")


def _recurse() -> None:
    _recurse()


def _exhaust() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    bytearray(1 << 40)


def _import() -> None:
    import max.engine  # noqa: F401


def _inspect() -> None:
    state = {
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "policy": os.sched_getscheduler(0) if hasattr(os, "SCHED_IDLE") else None,
        "group": os.getpgid(0),
        "mode": os.environ.get("NABLA_ARRAY_MODE"),
        "cache": os.environ.get("MODULAR_CACHE_DIR"),
        "umask": os.umask(0o077),
        "main": sys.modules["__main__"].__spec__.name,  # type: ignore[union-attr]
        "input": sys.stdin.read(),
    }
    Path(os.environ["FAKE_LOG"]).with_name("state.json").write_text(json.dumps(state))


def _pipes() -> list[int]:
    """Return the descriptors that answers go to, which a backend does not know of."""
    found = []
    for descriptor in range(3, 64):
        try:
            status = os.fstat(descriptor)
            if stat.S_ISFIFO(status.st_mode):
                os.write(descriptor, b"")
                found.append(descriptor)
        except OSError:
            continue
    return found


def _say(text: bytes) -> None:
    for descriptor in _pipes():
        os.write(descriptor, text)


def _garbage() -> None:
    _say(b"\x00\xff what?\n")
    _hang()


def _nested() -> None:
    _say(b"[" * 30_000 + b"\n")
    _hang()


def _flood() -> None:
    while True:
        _say(b"x" * 65536)


def _twice() -> None:
    _say(b'{"done": ""}\n{"done": ""}\n')
    _hang()


def _numbers() -> None:
    _say(b'{"done": 1}\n')
    _hang()


def _closed() -> None:
    for descriptor in _pipes():
        os.close(descriptor)
    time.sleep(1000)
