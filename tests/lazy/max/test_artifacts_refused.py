"""Compiled programs on disk that are not trusted: changed, cut, foreign, or open to others."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nabla_array._lazy.max import artifacts
from nabla_array._lazy.max.artifacts import Artifact, Store

from .filling import entry_of, put, reopened

NOBODY = 65534
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file to another user"
)


# What is not trusted.


@given(st.data())
def test_a_changed_byte_anywhere_is_noticed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        mef = put(store, "a", "b", mef=bytes(range(256)))
        path = data.draw(st.sampled_from([mef, entry_of(store, "b")]))
        damaged = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] ^= data.draw(st.integers(1, 255))
        path.write_bytes(damaged)
        assert store.find("b") is None
        assert not path.exists()
        assert len(store.problems) == 1
        assert path.name in store.problems[0]
        put(store, "a", "b", mef=bytes(range(256)))
        assert isinstance(store.find("b"), Artifact)


@given(st.data())
def test_a_truncated_file_is_noticed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        path = data.draw(st.sampled_from([put(store, "a"), entry_of(store, "a")]))
        os.truncate(path, data.draw(st.integers(0, path.stat().st_size - 1)))
        assert store.find("a") is None
        assert not path.exists()
        assert "its checksum is wrong" in store.problems[0]


@given(st.binary(max_size=200))
def test_a_foreign_file_in_the_place_of_an_entry_is_dropped(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for text in (content, hashlib.sha256(content).hexdigest().encode() + b"\n" + content):
            entry_of(store, "a").write_bytes(text)
            entry_of(store, "a").chmod(0o600)
            assert store.find("a") is None
            assert not entry_of(store, "a").exists()


def test_an_entry_of_another_program_or_toolchain_is_dropped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if two programs had the same hash: names alone are never believed.
    put(store, "a")
    entry_of(store, "a").rename(entry_of(store, "b"))
    assert store.find("b") is None
    assert "it is of another program" in store.problems[0]
    put(store, "a")
    before = entry_of(store, "a")
    monkeypatch.setattr(artifacts, "toolchain", lambda: "max 99")
    assert store.find("a") is None
    before.rename(entry_of(store, "a"))
    assert store.find("a") is None
    assert not entry_of(store, "a").exists()


def test_a_link_is_not_followed(store: Store, tmp_path: Path) -> None:
    mef = put(store, "a")
    mef.rename(tmp_path / "elsewhere.mef")
    mef.symlink_to(tmp_path / "elsewhere.mef")
    assert store.find("a") is None
    assert mef.name in store.problems[0]


@pytest.mark.parametrize("target", ["kept", "missing"])
def test_a_folder_that_is_a_link_is_refused(target: str, tmp_path: Path) -> None:
    put(Store(tmp_path / "kept"), "a")
    (tmp_path / "link").symlink_to(tmp_path / target)
    refused = Store(tmp_path / "link")
    assert refused.find("a") is None
    assert f"is off: the folder {tmp_path / 'link'} " in refused.off
    assert (
        target == "missing"
        or "is a link, and links are not followed; set NABLA_ARRAY_CACHE_DIR" in refused.off
    )
    assert refused.problems == [refused.off]


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o702])
def test_a_folder_below_one_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    shared = tmp_path / "shared"
    put(Store(shared / "mine" / "cache"), "a")
    shared.chmod(mode)
    refused = Store(shared / "mine" / "cache")
    assert refused.find("a") is None
    assert f"is reached through {shared}, which can be written to by others" in refused.off
    assert "`chmod go-w` it" in refused.off
    assert not list((shared / "mine" / "cache").glob("tmp-*"))


@pytest.mark.parametrize("mode", [0o1777, 0o755, 0o711, 0o700])
def test_a_folder_below_one_that_is_sticky_or_closed_is_fine(tmp_path: Path, mode: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    assert not Store(shared / "cache").off


def test_a_group_of_the_users_own_may_write_to_what_leads_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o775)
    for own in (True, False):
        monkeypatch.setattr(artifacts, "_is_own_group", lambda group, own=own: own)
        assert ("can be written to by others" in Store(shared / "cache").off) is not own


def test_links_that_lead_there_count_with_what_they_lead_through(tmp_path: Path) -> None:
    real, shared = tmp_path / "real", tmp_path / "shared"
    for folder in (real / "deep", shared):
        folder.mkdir(parents=True)
    (shared / "link").symlink_to(real / "deep")
    (tmp_path / "link").symlink_to(Path("shared") / "link")
    assert not Store(tmp_path / "link" / "cache").off
    shared.chmod(0o777)  # somebody could change the second link
    assert f"is reached through {shared}, which" in Store(tmp_path / "link" / "cache").off
    shared.chmod(0o700)
    real.chmod(0o777)
    assert f"is reached through {real}, which" in Store(tmp_path / "link" / "cache").off


@as_root
def test_a_folder_below_anothers_is_refused(tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.mkdir(mode=0o755)
    os.chown(others, NOBODY, NOBODY)
    assert f"is reached through {others}, which belongs to the user {NOBODY}" in Store(others / "cache").off
    assert "a folder below your own" in Store(others / "cache").off


def test_folders_that_are_made_are_for_nobody_else(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = Store(tmp_path / "a" / "b" / "cache")
    finally:
        os.umask(before)
    assert not store.off
    for folder in (tmp_path / "a", tmp_path / "a" / "b", store.folder):
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [None, 0o644, 0o666])
def test_the_log_is_for_nobody_else(store: Store, mode: int | None) -> None:
    path = store.folder / "worker.log"
    if mode is not None:
        path.touch()
        path.chmod(mode)
    store.log().close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_is_a_link_is_not_written_to(store: Store, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    (store.folder / "worker.log").symlink_to(tmp_path / "mine")
    with store.log() as log:
        log.write(b"x")
    assert not (tmp_path / "mine").read_bytes()


def test_a_pipe_or_a_folder_in_the_place_of_a_file_is_a_miss(store: Store) -> None:
    os.mkfifo(entry_of(store, "a"))  # opening it would wait for a writer
    entry_of(store, "b").mkdir()
    assert store.find("a") is None
    assert store.find("b") is None
    assert len(store.problems) == 2


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
@pytest.mark.parametrize("which", ["mef", "entry"])
def test_a_file_that_others_can_write_to_is_refused(store: Store, mode: int, which: str) -> None:
    mef = put(store, "a")
    (mef if which == "mef" else entry_of(store, "a")).chmod(mode)
    assert store.find("a") is None
    assert "can be written to by others, who could put native code there; `chmod 600` it" in store.problems[0]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_to_is_refused(store: Store, mode: int) -> None:
    put(store, "a")
    store.folder.chmod(mode)
    refused = reopened(store)
    assert refused.find("a") is None
    assert refused.entries() == []
    message = f"is off: the folder {store.folder} can be written to by others, .*; `chmod 700` it"
    assert re.search(message, refused.off)
    assert refused.problems == [refused.off]
    store.folder.chmod(0o700)
    assert isinstance(reopened(store).find("a"), Artifact)


@as_root
def test_a_folder_of_another_user_is_refused(store: Store) -> None:
    put(store, "a")
    os.chown(store.folder, NOBODY, NOBODY)
    refused = reopened(store)
    assert refused.find("a") is None
    assert f"belongs to the user {NOBODY}, not to 0" in refused.off
    assert "set NABLA_ARRAY_CACHE_DIR to a folder of your own" in refused.off


@as_root
@pytest.mark.parametrize("which", ["mef", "entry"])
def test_a_file_of_another_user_is_refused(store: Store, which: str) -> None:
    mef = put(store, "a")
    os.chown(mef if which == "mef" else entry_of(store, "a"), NOBODY, NOBODY)
    assert store.find("a") is None
    assert f"belongs to the user {NOBODY}, not to 0" in store.problems[0]


def test_a_folder_that_cannot_be_made_turns_the_store_off(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        store = Store(folder)
        assert "cannot be made" in store.off
        assert "NABLA_ARRAY_CACHE_DIR" in store.off
        assert store.find("a") is None
        assert store.add_failure("a", "why") == 1
        store.clear()
        assert (store.size(), store.entries(), store.problems) == (0, [], [store.off])


READ_ONLY = """
import os, sys
from pathlib import Path
from nabla_array._lazy.max.artifacts import Store, toolchain
toolchain()
if os.geteuid() == 0:  # whom permissions do not bind
    os.setuid({uid})
store = Store(Path(sys.argv[1]))
print(store.find("a").graph, store.off, store.problems)
print(store.add_failure("b", "why"), store.problems)
store.clear()
try:
    store.temporary()
except PermissionError as error:
    print("refused", error.errno)
"""


def test_a_read_only_folder_is_read(tmp_path: Path) -> None:
    root = os.geteuid() == 0
    # Everything on the way must be open to that user, which pytest's own folders are not.
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "cache"
        put(Store(folder), "a")
        if root:
            Path(base).chmod(0o755)
            for path in (folder, *folder.iterdir()):
                os.chown(path, NOBODY, NOBODY)
        folder.chmod(0o500)
        code = READ_ONLY.format(uid=NOBODY)
        done = subprocess.run(
            [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False
        )
        folder.chmod(0o700)
        lines = done.stdout.splitlines()
        assert lines, done.stderr
        assert lines[0] == "g0  []"
        assert re.fullmatch(r"1 \['cannot write to the cache .*: Permission denied'\]", lines[1])
        assert lines[2] == f"refused {errno.EACCES}"
        assert len(list(folder.iterdir())) == 2
