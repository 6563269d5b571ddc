"""Compiled programs on disk: what is found, what is refused, what goes when the folder is full."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nabla_array._lazy.config import config
from nabla_array._lazy.max import artifacts
from nabla_array._lazy.max.artifacts import Artifact, Failure, Store, default_store, toolchain

from .filling import entry_of, put, reopened, small_disk


def aged(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def killed(store: Store) -> Path:
    """Return a temporary file whose writer is no more."""
    path = store.folder / "tmp-killed"
    path.write_bytes(b"half")
    return path


def maxs(store: Store, name: str, size: int = 4) -> Path:
    """Return a file as MAX caches."""
    path = store.max_folder() / ".max_cache" / "mef" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    return path


def test_what_is_added_is_found_by_another_process(store: Store) -> None:
    put(store, "a", "b")
    other = reopened(store)
    assert other.find("c") is None
    first, second = other.find("a"), other.find("b")
    assert isinstance(first, Artifact)
    assert isinstance(second, Artifact)
    assert (first.mef, first.graph, second.graph) == (b"native code", "g0", "g1")
    assert first.name == second.name == hashlib.sha256(b"native code").hexdigest()
    assert other.found == {"a", "b"}
    assert not other.problems


def test_nothing_but_what_was_added_stays(store: Store) -> None:
    put(store, "a")
    assert sorted(p.suffix for p in store.folder.iterdir()) == [".json", ".mef"]
    assert {p.stat().st_mode & 0o777 for p in store.folder.iterdir()} == {0o600}
    assert store.folder.stat().st_mode & 0o777 == 0o700


@given(st.lists(st.text(), unique=True, min_size=1, max_size=5))
def test_any_text_is_a_key(keys: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        put(store, *keys)
        for i, key in enumerate(keys):
            found = store.find(key)
            assert isinstance(found, Artifact)
            assert found.graph == f"g{i}"
            assert key + " " in keys or store.find(key + " ") is None


def test_a_full_disk_is_an_error_of_add_and_leaves_no_rubbish(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with small_disk(folder):
        store = Store(folder)
        put(store, "a")
        rest = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        path = store.temporary()
        path.write_bytes(bytes(rest))
        with pytest.raises(OSError, match="No space left") as caught:
            store.add(["b"], path)
        assert caught.value.errno == errno.ENOSPC
        assert not list(folder.glob("tmp-*"))
        assert store.add_failure("b", "why") == 1
        store.note("a", 3, True)
        assert len(store.problems) == 1
        assert "No space left" in store.problems[0]
        found = reopened(store)
        assert isinstance(found.find("a"), Artifact)
        assert found.find("b") is None
        assert not found.problems


def test_a_full_disk_simulated(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # The same where no disk can be mounted: the write of the entry fails.
    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = store.temporary()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        store.add(["a"], path)
    assert not list(store.folder.glob("tmp-*"))
    assert store.add_failure("a", "why") == 1
    assert "No space left" in store.problems[0]
    assert store.find("a") is None


# What is remembered.


def test_a_program_that_failed_twice_is_remembered(store: Store) -> None:
    assert store.add_failure("a", "first") == 1
    assert store.find("a") is None
    assert reopened(store).add_failure("a", "second") == 2
    assert reopened(store).find("a") == Failure("second")
    assert store.find("b") is None


def test_a_failure_is_forgotten_when_it_compiles(store: Store) -> None:
    store.add_failure("a", "why", 2)
    assert store.find("a") == Failure("why")
    put(store, "a")
    assert isinstance(store.find("a"), Artifact)


def test_a_failure_is_of_its_toolchain(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add_failure("a", "why", 2)
    monkeypatch.setattr(artifacts, "toolchain", lambda: "max 99")
    assert store.find("a") is None


def test_verdicts_are_remembered_for_what_is_compiled(store: Store) -> None:
    store.note("a", 20, True)
    assert store.verdicts("a") == {}
    put(store, "a")
    store.note("a", 20, True)
    store.note("a", 25, False)
    store.note("a", 20, False)
    assert reopened(store).verdicts("a") == {20: False, 25: False}
    assert isinstance(store.find("a"), Artifact)
    assert not store.problems


def test_what_does_not_load_can_be_dropped(store: Store) -> None:
    put(store, "a", "b")
    store.drop("a", "MAX does not load it")
    assert store.find("a") is None
    assert isinstance(store.find("b"), Artifact)
    assert "MAX does not load it" in store.problems[0]


def test_clear_empties_the_folder_but_for_what_is_not_ours(store: Store) -> None:
    put(store, "a")
    store.add_failure("b", "why")
    store.log().close()
    of_max = maxs(store, "x.mef")
    aged(killed(store), 60)
    used = store.temporary()
    aged(used, 1e6)
    (store.folder / "notes.txt").touch()
    assert {e.key for e in store.entries()} == {"a", "b"}
    assert store.size() > 0
    store.clear()
    assert {p.name for p in store.folder.iterdir()} == {"notes.txt", "max", used.name}
    assert not of_max.exists()
    assert store.entries() == []


# What goes.


def test_the_least_recently_used_goes_first(store: Store) -> None:
    store.megabytes = 2
    mefs = {key: put(store, key, mef=key.encode() * 600_000) for key in "abc"}
    for age, key in enumerate("abc"):
        aged(mefs[key], 300 - age)
        aged(entry_of(store, key), 300 - age)
    assert isinstance(store.find("a"), Artifact)  # which makes b the oldest
    put(store, "d", mef=b"d" * 600_000)
    assert [key for key in "abcd" if store.find(key)] == ["a", "c", "d"]
    assert store.size() <= 2_000_000
    assert not store.problems


def test_an_entry_whose_module_went_is_a_miss_and_can_be_added_again(store: Store) -> None:
    put(store, "a", "b").unlink()
    assert store.find("a") is None
    assert not store.problems
    put(store, "a", mef=b"again")
    assert isinstance(store.find("a"), Artifact)
    assert store.find("b") is None


def test_what_was_just_added_stays_even_if_it_alone_is_too_large(store: Store) -> None:
    store.megabytes = 1
    put(store, "a")
    put(store, "b", mef=bytes(1_500_000))
    assert isinstance(store.find("b"), Artifact)
    assert store.find("a") is None


KILLED = """
import os, sys
from pathlib import Path
from nabla_array._lazy.max.artifacts import Store
path = Store(Path(sys.argv[1])).temporary()
path.write_bytes(b"half")
print(path, flush=True)
sys.stdin.read()
"""


def test_temporary_files_of_the_killed_go_and_those_of_the_living_stay(store: Store) -> None:
    command = [sys.executable, "-c", KILLED, str(store.folder)]
    writers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    dead, living = (Path(w.stdout.readline().strip()) for w in writers)  # type: ignore[union-attr]
    mine, young = store.temporary(), killed(store)
    writers[0].kill()
    writers[0].communicate()
    for path in (dead, living, mine):
        aged(path, 1e6)
    store.sweep()
    assert not dead.exists()
    assert all(p.exists() for p in (living, mine, young))
    writers[1].communicate("")
    put(store, "a")  # which sweeps, too
    assert not living.exists()
    store.discard(mine)
    assert not mine.exists()
    assert not store.problems


def test_without_locks_temporary_files_go_after_a_day(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*args: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(artifacts.fcntl, "flock", no_locks)
    old, new = store.temporary(), store.temporary()
    aged(old, 90_000)
    aged(new, 80_000)
    store.sweep()
    assert not old.exists()
    assert new.exists()


def test_no_descriptor_is_left_of_temporary_files(store: Store) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for turn in range(20):
        put(store, f"{turn}")
        store.add_failure("b", "why")
        store.discard(store.temporary())
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


def test_maxs_own_cache_counts_and_goes_by_age(store: Store, tmp_path: Path) -> None:
    store.megabytes = 1
    old, newer, fresh = (maxs(store, name, 400_000) for name in ("old", "newer", "fresh"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "big").write_bytes(bytes(10))
    (store.max_folder() / "link").symlink_to(outside)
    aged(old, 3000)
    aged(newer, 2000)
    assert store.max_size() >= 1_200_000
    assert store.size() >= store.max_size()
    put(store, "a")
    assert not old.exists()
    assert newer.exists()
    assert fresh.exists()
    assert isinstance(store.find("a"), Artifact)
    put(store, "b", mef=bytes(900_000))
    assert not newer.exists()
    assert fresh.exists()  # it may be being written
    assert (outside / "big").exists()
    assert [e.key for e in store.entries()]
    assert not store.problems


def test_maxs_files_are_not_taken_for_ours(store: Store) -> None:
    maxs(store, "x.json")
    maxs(store, "x.mef")
    assert store.entries() == []
    assert not store.problems


def test_a_folder_of_maxs_that_is_a_link_is_not_followed(store: Store, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x").write_bytes(b"x")
    store.max_folder().symlink_to(tmp_path / "elsewhere")
    assert store.max_size() == 0
    store.clear()
    assert (tmp_path / "elsewhere" / "x").exists()


def test_a_long_log_is_begun_anew(store: Store) -> None:
    with store.log() as log:
        log.write(b"x" * (2 << 20))
    with store.log() as log:
        log.write(b"new")
    assert (store.folder / "worker.log").read_bytes() == b"new"


# Many at once.

RACE = """
import hashlib, sys
from pathlib import Path
from nabla_array._lazy.max.artifacts import Artifact, Failure, Store
folder, me = Path(sys.argv[1]), sys.argv[2]
store = Store(folder, 1)
for turn in range(60):
    keys = [str((turn + i) % 7) for i in range(3)]
    path = store.temporary()
    path.write_bytes((me + str(turn)).encode() * 20_000)  # so that eviction is always at work
    store.add(keys, path)
    store.note(keys[0], turn, True)
    for key in map(str, range(7)):
        found = store.find(key)
        if isinstance(found, Artifact):
            assert hashlib.sha256(found.mef).hexdigest() == found.name
            assert found.graph in ("g0", "g1", "g2")
assert not store.problems, store.problems
"""


def test_processes_that_race_for_the_same_keys_see_whole_files(store: Store) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(store.folder), name], stderr=subprocess.PIPE, text=True
        )
        for name in ("one", "two", "three")
    ]
    errors = [racer.communicate(timeout=60)[1] for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0], errors
    assert not list(store.folder.glob("tmp-*"))
    assert store.size() < 2_000_000


def test_threads_may_share_a_store(store: Store) -> None:
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for turn in range(20):
                put(store, name, "shared", mef=f"{name}{turn}".encode())
                assert isinstance(store.find(name), Artifact)
                assert isinstance(store.find("shared"), Artifact)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(str(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert not store.problems


# Where, and for what.


def test_the_toolchain_names_all_that_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def text() -> str:
        return toolchain.__wrapped__()

    assert re.fullmatch(r"max [\w.]+, \w+ \w+, cpu [0-9a-f]{16}, nabla_array [0-9a-f]{16}", before := text())
    with monkeypatch.context() as patch:
        patch.setattr("importlib.metadata.version", lambda name: "0.1")
        assert text().startswith("max 0.1,")
    with monkeypatch.context() as patch:
        patch.setattr(artifacts, "_cpu_features", lambda: "mmx")
        assert text() != before
    with monkeypatch.context() as patch:
        patch.setattr(artifacts, "_SOURCES", ("primitives/*.py",))
        assert text() != before
    assert text() == before


def test_a_changed_source_is_another_toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels").mkdir()
    kernel = tmp_path / "kernels" / "core.mojo"
    monkeypatch.setattr(artifacts, "__file__", str(tmp_path / "artifacts.py"))
    texts = set()
    for content in ("one", "two"):
        kernel.write_text(content)
        texts.add(toolchain.__wrapped__())
    kernel.rename(tmp_path / "kernels" / "other.mojo")
    texts.add(toolchain.__wrapped__())
    assert len(texts) == 3


def test_the_folder_follows_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with config(cache_dir=""):
        assert artifacts.default_folder() == tmp_path / ".cache" / "nabla_array"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which its specification says to ignore
        assert artifacts.default_folder() == tmp_path / ".cache" / "nabla_array"
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert artifacts.default_folder() == tmp_path / "xdg" / "nabla_array"
        monkeypatch.setattr(sys, "platform", "darwin")
        assert artifacts.default_folder() == tmp_path / "Library" / "Caches" / "nabla_array"
    with config(cache_dir="~/mine", cache_size=5):
        assert default_store().folder == tmp_path / "mine"
        assert default_store() is default_store()
        assert default_store().megabytes == 5


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with config(cache_dir=""):
        assert "cannot be made" in default_store().off


def test_threads_that_ask_at_once_get_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NABLA_ARRAY_CACHE_DIR", str(tmp_path / "cache"))
    usual = Store.__init__

    def slow(self: Store, *args: object) -> None:
        time.sleep(0.05)
        usual(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "__init__", slow)
    found: list[Store] = []
    threads = [threading.Thread(target=lambda: found.append(default_store())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len({id(store) for store in found}) == 1
