"""Compiled programs on disk, so that the next process starts warm.

A folder holds modules (`HASH.mef`, what MAX compiled, named by the SHA-256 of their bytes) and entries
(`HASH.json`, one a program, named by the hash of the toolchain and the program's text). An entry says
everything that a later process compares before it trusts the entry: this is native code that gets run.
In a folder of its own below, MAX keeps what it compiled on the way.
"""

from __future__ import annotations

import contextlib
import fcntl
import grp
import hashlib
import importlib.metadata
import json
import os
import platform
import pwd
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..config import config

# Attempts after which a program is remembered as one that does not compile.
FAILURES = 2
# Seconds after which a temporary file belongs to nobody: if nobody holds its lock, and without locks.
_UNLOCKED, _STALE = 10.0, 86400.0
# Seconds in which a file of MAX's own cache may still be written.
_FRESH = 600.0
# What begins the names of temporary files, and the folder of MAX's own cache.
_TEMPORARY, _MAX = "tmp-", "max"
# The file of which each program that is being compiled has a byte locked, and seconds between two tries.
_CLAIMS, _POLL = "compiling.lock", 0.1
# Bytes beyond which the log of the workers is begun anew.
_LOG = 1 << 20
_SOURCES = (
    "kernels/*.mojo",
    "../ops/*.py",
    "canonical.py",
    "columns.py",
    "backend.py",
    "rows.py",
)


class Artifact(NamedTuple):
    """A compiled program: the graph `graph` in the module `mef`, whose bytes have the SHA-256 `name`."""

    mef: bytes
    graph: str
    name: str


class Failure(NamedTuple):
    """A program that did not compile, with what was said the last time."""

    message: str


class Entry(NamedTuple):
    """What the folder says of one program, for this toolchain or another.

    `faster` has the outcome of trials: for a size (JSON wants text), whether the compiled form was better.
    """

    key: str
    toolchain: str
    mef: str = ""
    graph: str = ""
    failures: int = 0
    message: str = ""
    faster: dict[str, bool] = {}  # noqa: RUF012


class _Unfit(Exception):
    """A file is not what it should be, and is dropped."""


@lru_cache(1)
def toolchain() -> str:
    """Return what, besides a program's text, decides what it compiles to: MAX, the CPU, our lowerings."""
    try:
        version = importlib.metadata.version("max")
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    here = Path(__file__).parent
    sources = hashlib.sha256()
    for path in sorted(p for pattern in _SOURCES for p in here.glob(pattern)):
        sources.update(b"%s\0%s\0" % (path.name.encode(), path.read_bytes()))
    features = hashlib.sha256(_cpu_features().encode())
    return (
        f"max {version}, {sys.platform} {platform.machine()}, "
        f"cpu {features.hexdigest()[:16]}, nabla_array {sources.hexdigest()[:16]}"
    )


def _cpu_features() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    for line in lines:
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return " ".join(sorted(words.split()))
    return platform.processor() or platform.machine()


def default_folder() -> Path:
    """Return the folder that the settings name, or the one in the user's cache folder."""
    try:
        if config.cache_dir:
            return Path(config.cache_dir).expanduser().absolute()
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "nabla_array"
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (base if base.is_absolute() else Path.home() / ".cache") / "nabla_array"
    except RuntimeError:  # there is no home: what cannot be made turns the store off, and says so
        return Path(os.devnull) / "nabla_array"


_stores: dict[tuple[Path, int], Store] = {}


def default_store() -> Store:
    """Return the store in the configured folder."""
    key = default_folder(), config.cache_size
    # Threads that ask at once get one: a loader's has the problems that `report` tells.
    return _stores.get(key) or _stores.setdefault(key, Store(*key))


class Store:
    """Compiled programs in a folder. Its methods raise nothing but what `add` says; `problems` tells."""

    def __init__(self, folder: Path, megabytes: int = 1024) -> None:
        self.folder = folder
        self.megabytes = megabytes
        self.problems: list[str] = []  # what went wrong so far, each thing once
        self.found: set[str] = set()  # the programs that were found compiled
        self.off = ""  # why the folder is not used at all
        self._written: dict[Path, int] = {}  # temporary files, and descriptors that hold their locks
        try:
            for path in (*reversed(folder.parents), folder):
                path.mkdir(mode=0o700, exist_ok=True)
            refusal = _distrust_folder(folder)
        except OSError as error:
            refusal = f"cannot be made ({_said(error)}); make it, or set NABLA_ARRAY_CACHE_DIR to another"
        if refusal:
            self.off = f"the cache of compiled programs is off: the folder {folder} {refusal}"
            self.tell(self.off)

    def tell(self, problem: str) -> None:
        """Remember a problem for `report()`."""
        if problem not in self.problems and len(self.problems) < 100:
            self.problems.append(problem)

    def find(self, key: str) -> Artifact | Failure | None:
        """Return what is known of a program: compiled, or failing too often; None if nothing is."""
        entry = self._entry(self._path(key), key)
        if entry is None:
            return None
        if entry.failures:
            return Failure(entry.message) if entry.failures >= FAILURES else None
        path = self.folder / f"{entry.mef}.mef"
        mef = self._read(path)
        if mef is None:
            return None
        if hashlib.sha256(mef).hexdigest() != entry.mef:
            self._drop(path, "its checksum is wrong")
            return None
        self.found.add(key)
        return Artifact(mef, entry.graph, entry.mef)

    def add(self, keys: Sequence[str], mef: Path) -> None:
        """Move a module of `keys`, whose graphs are named g0, g1, ..., from `mef` (see `temporary`) here.

        Raises OSError where the folder cannot be written to, or is full.
        """
        name = hashlib.sha256(mef.read_bytes()).hexdigest()
        mef.chmod(0o600)
        mef.replace(self.folder / f"{name}.mef")
        self._release(mef)
        for i, key in enumerate(keys):
            self._write(Entry(key, toolchain(), mef=name, graph=f"g{i}"))
        self._evict({f"{name}.mef", *(self._path(key).name for key in keys)})

    def add_failure(self, key: str, message: str, failures: int = 1) -> int:
        """Note that a program did not compile, after so many attempts of this process; returns how many.

        Those of other processes count too.
        """
        before = self._entry(self._path(key), key)
        failures = max(failures, 1 + (before.failures if before else 0))
        self._try_to_write(Entry(key, toolchain(), failures=failures, message=message))
        return failures

    def note(self, key: str, size: int, faster: bool) -> None:
        """Remember the outcome of a trial of a compiled program with inputs of some size class."""
        entry = self._entry(self._path(key), key)
        if entry is not None and not entry.failures:
            self._try_to_write(entry._replace(faster={**entry.faster, str(size): faster}))

    def verdicts(self, key: str) -> dict[int, bool]:
        """Return what was noted of a program, by size class."""
        entry = self._entry(self._path(key), key)
        return {int(size): faster for size, faster in entry.faster.items()} if entry is not None else {}

    def drop(self, key: str, why: str) -> None:
        """Forget a program, because its artifact does not load or is wrong."""
        self._drop(self._path(key), why)

    def temporary(self) -> Path:
        """Return a new empty file of the folder, for a module that is then moved in with `add`, or discarded.

        Its lock, which ends with this process, tells others that it is in use.
        """
        descriptor, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=self.folder)
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path = Path(name)
        self._written[path] = descriptor
        return path

    def discard(self, path: Path) -> None:
        """Delete what is left of a temporary file."""
        self._delete(path)
        self._release(path)

    def _release(self, path: Path) -> None:
        descriptor = self._written.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)

    def sweep(self) -> None:
        """Delete the temporary files of writers that are no more."""
        for path, status in self._scan():
            if path.name.startswith(_TEMPORARY) and _is_left(path, time.time() - status.st_mtime):
                self._delete(path)

    @contextlib.contextmanager
    def claimed(self, keys: Sequence[str], patience: float = 0.0) -> Iterator[list[str]]:
        """Give those programs that no other process compiles now, and keep others from them meanwhile.

        For one that is taken, wait until it is free, for `patience` seconds; then it is given all the same.
        """
        end = time.monotonic() + patience
        try:
            file = open(self.folder / _CLAIMS, "ab", opener=_open_private)  # noqa: SIM115
        except OSError:  # which matters when there is an artifact to be written
            yield list(keys)
            return
        with file:  # its end releases what is claimed
            ours = set()
            for place, key in sorted([(_place(key), key) for key in keys]):  # two that wait go the same way
                while not (free := _locks(file, place)) and time.monotonic() < end:
                    time.sleep(_POLL)
                if free or patience:
                    ours.add(key)
            yield [key for key in keys if key in ours]

    def max_folder(self) -> Path:
        """Return the folder where MAX, in a worker, keeps what it compiles on the way."""
        return self.folder / _MAX

    def log(self) -> BinaryIO:
        """Open the file that workers write to, emptied when it is long; the null device if that fails."""
        try:
            file = open(self.folder / "worker.log", "ab", opener=_open_private)  # noqa: SIM115
            if file.tell() > _LOG:
                file.truncate(0)
        except OSError:  # the folder is read-only, which matters when there is an artifact to be written
            file = open(os.devnull, "ab")  # noqa: SIM115
        return file

    def entries(self) -> list[Entry]:
        """Return what is here, of every toolchain."""
        paths = [path for path, _ in self._scan() if path.suffix == ".json"]
        return [e for path in paths if (e := self._entry(path)) is not None]

    def size(self) -> int:
        """Return the bytes that are taken, by MAX's own cache too."""
        return sum(status.st_size for _, status in (*self._scan(), *self._scan_max()))

    def max_size(self) -> int:
        """Return the bytes that MAX's own cache takes of these."""
        return sum(status.st_size for _, status in self._scan_max())

    def clear(self) -> None:
        """Delete everything that is here; what belongs to others, or is being written, stays."""
        self.sweep()
        ours = [path for path, _ in self._scan() if path.suffix in (".mef", ".json", ".log", ".lock")]
        for path in (*ours, *[path for path, _ in self._scan_max()]):
            self._delete(path)

    def _path(self, key: str) -> Path:
        name = hashlib.sha256(f"{toolchain()}\0{key}".encode()).hexdigest()
        return self.folder / f"{name}.json"

    def _scan(self) -> Iterator[tuple[Path, os.stat_result]]:
        if self.off:
            return
        try:
            paths = list(self.folder.iterdir())
        except OSError as error:
            self.tell(f"cannot read the cache {self.folder}: {_said(error)}")
            return
        for path in paths:
            with contextlib.suppress(FileNotFoundError):  # another process may have deleted it
                yield path, path.lstat()

    def _scan_max(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Yield the files of MAX's own cache; links are not followed."""
        if self.off or self.max_folder().is_symlink():
            return
        for folder, _, names in os.walk(self.max_folder()):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    yield (path := Path(folder, name)), path.lstat()

    def _entry(self, path: Path, key: str | None = None) -> Entry | None:
        """Read an entry: that of `key`, or any."""
        text = self._read(path)
        if text is None:
            return None
        try:
            entry = _parsed(text)
            if key is not None and (entry.key, entry.toolchain) != (key, toolchain()):
                raise _Unfit("it is of another program")
        except _Unfit as error:
            self._drop(path, str(error))
            return None
        return entry

    def _read(self, path: Path) -> bytes | None:
        """Return a file's bytes, or None if there is none, or none that may be trusted."""
        if self.off:
            return None
        try:
            with open(path, "rb", opener=_open) as file:
                status = os.fstat(file.fileno())
                refusal = _distrust(status, 0o600) if stat.S_ISREG(status.st_mode) else "is not a file"
                if refusal:
                    self._drop(path, f"it {refusal}")
                    return None
                with contextlib.suppress(OSError):  # for eviction alone: a read-only folder can be read
                    os.utime(path)
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:  # it stays, as the reason may pass: a new one would take its place
            self.tell(f"cannot read {path} of the cache: {_said(error)}")
            return None

    def _write(self, entry: Entry) -> None:
        body = json.dumps(entry._asdict()).encode()
        check = hashlib.sha256(body).hexdigest().encode()
        temporary = self.temporary()
        try:
            temporary.write_bytes(check + b"\n" + body)
            temporary.replace(self._path(entry.key))
        finally:
            self.discard(temporary)

    def _try_to_write(self, entry: Entry) -> None:
        if self.off:
            return
        try:
            self._write(entry)
        except OSError as error:
            self.tell(f"cannot write to the cache {self.folder}: {_said(error)}")

    def _drop(self, path: Path, why: str) -> None:
        self.tell(f"dropped {path} from the cache: {why}")
        self._delete(path)

    def _delete(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            self.tell(f"cannot delete {path} from the cache: {_said(error)}")

    def _evict(self, fresh: set[str]) -> None:
        """Delete what was used least recently until the rest fits, `fresh` apart.

        An entry whose module is gone is a miss, and a module without entries ages: no order matters.
        """
        self.sweep()
        own = [
            item for item in self._scan() if item[0].suffix in (".mef", ".json") and item[0].name not in fresh
        ]
        maxs = [item for item in self._scan_max() if time.time() - item[1].st_mtime > _FRESH]
        excess = self.size() - self.megabytes * 1_000_000
        for path, status in sorted(own + maxs, key=lambda item: item[1].st_mtime):
            if excess <= 0:
                break
            self._delete(path)
            excess -= status.st_size


def _parsed(text: bytes) -> Entry:
    check, _, body = text.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != check:
        raise _Unfit("its checksum is wrong")
    try:
        fields: dict[str, Any] = json.loads(body)
        return Entry(**fields)
    except (ValueError, TypeError) as error:
        raise _Unfit(f"it is no entry of this version ({error})") from None


def _distrust(status: os.stat_result, mode: int) -> str:
    """Say why native code is not loaded from such a file or folder; an empty text if it may be."""
    if status.st_uid != os.geteuid():
        return (
            f"belongs to the user {status.st_uid}, not to {os.geteuid()}, who could put native code there; "
            "set NABLA_ARRAY_CACHE_DIR to a folder of your own"
        )
    if status.st_mode & 0o022:
        return f"can be written to by others, who could put native code there; `chmod {mode:o}` it"
    return ""


def _distrust_folder(folder: Path) -> str:
    """Say why nothing is kept in a folder: who can put another in its place decides what we run."""
    if folder.is_symlink():
        return (
            "is a link, and links are not followed; set NABLA_ARRAY_CACHE_DIR to the folder that it leads to"
        )
    refusal = _distrust(folder.stat(), 0o700)
    if refusal:
        return refusal
    for path in _ways(folder):
        status = path.lstat()
        told = f"is reached through {path}, which"
        if status.st_uid not in (0, os.geteuid()):
            return (
                f"{told} belongs to the user {status.st_uid}, who could put native code there; "
                "set NABLA_ARRAY_CACHE_DIR to a folder below your own"
            )
        others = 0o002 if _is_own_group(status.st_gid) else 0o022
        if status.st_mode & others and not (path.is_symlink() or status.st_mode & stat.S_ISVTX):
            return f"{told} can be written to by others, who could put native code there; `chmod go-w` it"
    return ""


def _ways(folder: Path) -> Iterator[Path]:
    """Yield the folders and links that lead to a folder, from the nearest one on."""
    seen, waiting = set(), [folder.parent]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            yield path
            waiting.append(path.parent)
            if path.is_symlink():
                waiting.append(path.parent / os.readlink(path))


def _is_own_group(group: int) -> bool:
    """Say whether a group is the user's alone: of that name, as many systems make one for each."""
    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and {*found.gr_mem} <= {user}


def _is_left(path: Path, age: float) -> bool:
    """Say whether nobody writes to a temporary file of that age any more."""
    if age < _UNLOCKED:  # it may be about to be locked
        return False
    try:
        with open(path, "rb", opener=_open) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return age > _STALE
    return True


def _place(key: str) -> int:
    """Return which byte of the file of claims is a program's."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:7], "big")


def _locks(file: BinaryIO, place: int) -> bool:
    """Lock a byte, unless another process has; says whether it is ours."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    os.fchmod(descriptor, 0o600)  # it may be from a version that let others read it
    return descriptor


def _open(path: str, flags: int) -> int:
    # Not through a link, and not waiting for one who writes to a pipe.
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _said(error: OSError) -> str:
    return error.strerror or str(error)
