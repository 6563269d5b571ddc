"""Compilation out of the user's way: a thread here feeds a worker process, which may die as it likes."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import select
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from ..config import config
from ..forks import at_fork
from .artifacts import FAILURES, Store, default_store, toolchain

_BACKEND = "nabla_array._lazy.max.backend"
# Seconds in which requests gather to one batch, and after which a worker without work is let go.
_SETTLE, _IDLE = 0.2, 60.0
# Programs of a batch: the first ones should not wait for all of very many.
_BATCH = 64
# Seconds that a worker gets to exit.
_EXIT = 10.0
# Bytes of an answer, at most, and seconds of a timeout.
_LONGEST, _FOREVER = 1 << 20, 1e6


class Pending:
    """A program that was asked for."""

    def __init__(self, compiler: Compiler, key: str, target: str) -> None:
        self.key = key
        self.target = target
        self.state = "waiting"  # or "compiling", "ready" (the store has it), "failed"
        self.message = ""  # why it failed
        self.attempts = 0
        self._compiler = compiler

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is ready or has failed; returns whether it is so."""
        return self._compiler.wait(self, timeout)


class _Dead(Exception):
    """The worker is no more, because of what it compiled or by itself."""


class _Hung(_Dead):
    """The worker did not answer in time."""


class _Unusable(Exception):
    """Nothing can be compiled in this process."""


class Compiler:
    """Has programs compiled by a worker process; what goes wrong there is told, never raised.

    What fails is tried again in halves, in a new worker if that one died. A program that fails twice,
    the last time alone, has failed.
    """

    def __init__(
        self, store: Store, backend: str = _BACKEND, settle: float = _SETTLE, idle: float = _IDLE
    ) -> None:
        self.store = store
        self._backend = backend
        self._settle, self._idle = settle, idle
        self._pendings: dict[str, Pending] = {}
        self._waiting: deque[Pending] = deque()
        self._again: deque[list[Pending]] = deque()
        self._unusable = ""
        # Seconds, as they were in force at the last request.
        self._timeout = _FOREVER
        self._awaited = False
        # Whether there is no time that nobody else wants: of one core, or where every core is kept busy.
        self._starves = os.cpu_count() == 1
        self._worker: _Worker | None = None
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()

    def request(self, key: str, awaited: bool = False, target: str = "") -> Pending:
        """Ask for a program, and return at once; asking again is the same request.

        Only programs of one `target` are compiled together. A worker that is started while something is
        `awaited` does not stand aside for others.
        """
        with self._changed:
            self._awaited |= awaited
            self._timeout = min(config.compile_timeout, _FOREVER)
            pending = self._pendings.get(key)
            if pending is None:
                pending = Pending(self, key, target)
                self._pendings[key] = pending
                self._waiting.append(pending)
                self._start_thread()
                self._changed.notify_all()
        return pending

    def wait(self, pending: Pending, timeout: float | None) -> bool:
        """Do what `Pending.wait` says."""
        with self._changed:
            self._start_thread()
            return self._changed.wait_for(lambda: pending.state in ("ready", "failed"), timeout)

    def close(self) -> None:
        """Start nothing more; a worker finishes what it is at, and exits."""
        with self._changed:
            self._give_up("the compiler is closed")
            self._changed.notify_all()

    def after_fork(self) -> None:
        """Begin anew in a child process: the worker is its parent's."""
        self._changed = threading.Condition()
        self._thread = None
        if self._worker is not None:
            self._worker.disown()
            self._worker = None
        self._again.clear()
        self._waiting.clear()
        for pending in self._pendings.values():
            if pending.state != "failed":
                pending.state = "waiting"
                self._waiting.append(pending)

    def _start_thread(self) -> None:
        if self._unusable:
            self._give_up(self._unusable)
        elif self._thread is None and self._waiting:
            self._thread = threading.Thread(target=self._run, name="nabla_array compiler", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # there are too many, or the interpreter exits
                self._thread = None
                self._give_up(f"no thread to compile from: {error}")

    def _run(self) -> None:
        try:
            if reason := _reason_against(self.store):
                raise _Unusable(reason)
            while batch := self._next():
                self._compile(batch)
        except Exception as error:
            known = isinstance(error, _Unusable | OSError)
            reason = f"nothing is compiled: {error if known else repr(error)}"
            self.store.tell(reason)
            with self._changed:
                self._give_up(reason)
                worker = self._leave()
            if worker is not None:
                worker.stop()

    def _next(self) -> list[Pending]:
        """Wait for work, and return some; if there is none, the worker is let go, and so is this thread."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._again or self._unusable, self._idle)
        time.sleep(self._settle)
        with self._changed:
            # What has failed before waits for what has not.
            if self._waiting:
                target = self._waiting[0].target
                batch = [p for p in self._waiting if p.target == target][:_BATCH]
                self._waiting = deque(p for p in self._waiting if p not in batch)
            else:
                batch = self._again.popleft() if self._again else []
            for pending in batch:
                pending.state = "compiling"
            worker = None if batch else self._leave()
        if worker is not None:
            worker.stop()
        return batch

    def _leave(self) -> _Worker | None:
        """Make the next request start another thread and worker; returns this worker."""
        worker, self._worker, self._thread, self._awaited = self._worker, None, None, False
        return worker

    def _compile(self, batch: list[Pending]) -> None:
        worker = self._worker
        if worker is not None and worker.ended():
            worker.kill()
            worker = None
        if worker is None:
            worker = self._worker = self._start()
        timeout = self._timeout
        try:
            what, text = worker.ask({"keys": [p.key for p in batch], "timeout": timeout}, timeout)
        except _Dead as error:
            worker.kill()
            self._worker = None
            # On a busy machine minutes become hours: that is no reason never to try again.
            self._starves |= isinstance(error, _Hung)
            self._failed(batch, str(error), remember=not isinstance(error, _Hung))
            return
        if what == "unusable":
            raise _Unusable(text)
        if what == "error":
            self._failed(batch, text)
            return
        with self._changed:
            for pending in batch:
                pending.state = "ready"
                # Should it be evicted, it can be asked for again.
                self._pendings.pop(pending.key, None)
            self._changed.notify_all()

    def _failed(self, batch: list[Pending], message: str, remember: bool = True) -> None:
        for pending in batch:
            pending.attempts += 1
        if len(batch) == 1:
            (pending,) = batch
            if remember:
                pending.attempts = self.store.add_failure(pending.key, message, pending.attempts)
            if pending.attempts >= FAILURES:
                with self._changed:
                    self._fail(pending, message)
                    self._changed.notify_all()
                return
        middle = len(batch) // 2
        with self._changed:
            if self._unusable:  # closed meanwhile
                return
            for pending in batch:
                pending.state = "waiting"
            self._again.extend(part for part in (batch[:middle], batch[middle:]) if part)

    def _fail(self, pending: Pending, message: str) -> None:
        pending.message = message
        pending.state = "failed"

    def _give_up(self, reason: str) -> None:
        """Fail all that is asked for, now and later."""
        self._unusable = reason
        self._waiting.clear()
        self._again.clear()
        for pending in self._pendings.values():
            if pending.state != "failed":
                self._fail(pending, reason)
        self._changed.notify_all()

    def _start(self) -> _Worker:
        """Start a worker; if one dies before it has begun, another."""
        for last in (False, True):
            aside = "" if self._awaited else "partly" if self._starves else "wholly"
            worker = _Worker(self.store, self._backend, aside)
            try:
                what, text = worker.ask(None, self._timeout)
            except _Dead as error:
                worker.kill()
                self._starves |= isinstance(error, _Hung)
                if last:
                    raise _Unusable(f"as it started, {error}") from None
                continue
            if (what, text) == ("toolchain", toolchain()):
                return worker
            worker.stop()
            raise _Unusable(text if what == "unusable" else f"the worker has another toolchain: {text}")
        raise AssertionError


class _Worker:
    """A worker process and its pipes."""

    def __init__(self, store: Store, backend: str, aside: str) -> None:
        command = [sys.executable, "-P", "-m", "nabla_array._lazy.max.worker", "--folder", str(store.folder)]
        command += ["--megabytes", str(store.megabytes), "--backend", backend]
        command += ["--aside", aside] if aside else []
        # It finds us and MAX where we found them, and does not compile for itself.
        paths = [*filter(None, [os.environ.get("PYTHONPATH")]), *_origins()]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NABLA_ARRAY_MODE": "host"}
        # What MAX caches is native code, too: unless the user says where, it is with ours, and counts.
        environment.setdefault("MODULAR_CACHE_DIR", str(store.max_folder()))
        with store.log() as log:
            self._log = log.name
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                process_group=0,  # Ctrl-C is for the user's program
            )
        self._received = bytearray()

    def ended(self) -> bool:
        """Say whether the process runs no more."""
        return self._process.poll() is not None

    def ask(self, request: dict[str, Any] | None, timeout: float) -> tuple[str, str]:
        """Send a request, if any, and return the next answer; raises _Dead if there will be none."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        unsent = b"" if request is None else json.dumps(request).encode() + b"\n"
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(answers, selectors.EVENT_READ)
            if unsent:
                selector.register(requests, selectors.EVENT_WRITE)
            while b"\n" not in self._received:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise _Hung(f"the worker did not answer within {timeout:g} s{self._see()}")
                for file, _ in ready:
                    if file.fileobj is requests:
                        unsent = unsent[self._send(unsent[: select.PIPE_BUF]) :]
                        if not unsent:
                            selector.unregister(requests)
                    else:
                        self._receive()
        line, _, rest = self._received.partition(b"\n")
        if rest:
            raise _Dead(f"the worker answered twice{self._see()}")
        self._received.clear()
        return self._parsed(bytes(line))

    def _parsed(self, line: bytes) -> tuple[str, str]:
        try:
            ((what, text),) = json.loads(line).items()
        except (ValueError, AttributeError, RecursionError):
            what = text = None
        if what not in ("toolchain", "done", "error", "unusable") or not isinstance(text, str):
            raise _Dead(f"the worker said {line[:80]!r}, which is no answer{self._see()}")
        return what, text

    def _send(self, data: bytes) -> int:
        try:
            return os.write(self._process.stdin.fileno(), data)  # type: ignore[union-attr]
        except BrokenPipeError:
            raise _Dead(self._end()) from None

    def _receive(self) -> None:
        data = os.read(self._process.stdout.fileno(), 1 << 16)  # type: ignore[union-attr]
        if not data:
            raise _Dead(self._end())
        self._received += data
        if len(self._received) > _LONGEST:
            raise _Dead(f"the worker's answer has no end{self._see()}")

    def _end(self) -> str:
        """Say how the process ended, now that its pipes are closed."""
        try:
            code = self._process.wait(_EXIT)
        except subprocess.TimeoutExpired:
            return f"the worker closed its pipes{self._see()}"
        if code < 0:
            return f"the worker was ended by signal {-code} ({signal.strsignal(-code)}){self._see()}"
        return f"the worker exited with status {code}{self._see()}"

    def _see(self) -> str:
        return f"; its log is {self._log}"

    def stop(self) -> None:
        """Let the process exit, which it does unless it hangs."""
        self._process.stdin.close()  # type: ignore[union-attr]
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT)
        self.kill()

    def kill(self) -> None:
        """End the process and what it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all of them have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT)
        self.disown()

    def disown(self) -> None:
        """Close our ends of the pipes, and leave the process alone."""
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()  # type: ignore[union-attr]
        if self._process.returncode is None:
            self._process.returncode = 0  # so that nobody warns of it, or waits for it


def _reason_against(store: Store) -> str:
    """Say why nothing can be compiled here; an empty text if it can."""
    if store.off:
        return store.off
    if not _max_folders():
        return "MAX is not installed; `pip install max` installs it"
    if not sys.executable or getattr(sys, "frozen", False):
        return "there is no Python interpreter to start a worker with"
    return ""


def _max_folders() -> list[str]:
    """Return the folders that MAX is in, without importing it."""
    try:
        spec = importlib.util.find_spec("max")
    except (ImportError, ValueError):  # a finder forbids it, or something else has taken the name
        return []
    places = spec.submodule_search_locations if spec is not None else None
    return [str(Path(p).parent) for p in places or () if Path(p, "engine").is_dir()]


def _origins() -> list[str]:
    return [str(Path(__file__).parents[3]), *_max_folders()]


_lock = threading.RLock()
_current: Compiler | None = None


def default_compiler() -> Compiler:
    """Return the compiler of this process, for the configured store."""
    global _current
    store = default_store()
    with _lock:
        if _current is None or _current.store is not store:
            _current = Compiler(store)
        return _current


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()
    if _current is not None:
        _current.after_fork()


@atexit.register
def _at_exit() -> None:
    if _current is not None:
        _current.close()


at_fork(after_in_child=_after_fork)
