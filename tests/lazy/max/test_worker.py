"""The compile worker by itself: its lines of JSON, and whom it blames for what goes wrong."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nabla_array._lazy.max import worker
from nabla_array._lazy.max.artifacts import Artifact, Store, toolchain

ROOT = Path(__file__).parents[3]
SOON = 60.0


class Worker:
    """A process that somebody else than our compiler talks to."""

    def __init__(self, folder: Path, log: Path, backend: str) -> None:
        command = [sys.executable, "-m", "nabla_array._lazy.max.worker"]
        command += ["--folder", str(folder), "--megabytes", "10", "--backend", backend]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "FAKE_LOG": str(log)}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment, text=True
        )

    def ask(self, *keys: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"keys": keys, "timeout": SOON}) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[str, int]:
        """Say no more; returns what it says yet, and its status."""
        out, _ = self.process.communicate(timeout=SOON)
        return out, self.process.returncode


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    made: list[Worker] = []

    def new(backend: str = "tests.lazy.fake_backend") -> Worker:
        made.append(Worker(tmp_path / "cache", tmp_path / "log", backend))
        return made[-1]

    yield new
    for each in made:
        each.process.kill()
        each.process.communicate()


def test_it_says_its_toolchain_and_answers_each_request(start: Callable[..., Worker], tmp_path: Path) -> None:
    """Whatever is printed on the way: that goes to its log."""
    process = start()
    process.ask("ok:a", "ok:b")
    process.ask("fail:c")
    process.ask("ok:a")
    assert [process.hear() for _ in range(4)] == [
        {"toolchain": toolchain()},
        {"done": ""},
        {"error": "ValueError: no such operation"},
        {"done": ""},
    ]
    assert process.end() == ("", 0)
    store = Store(tmp_path / "cache")
    assert isinstance(store.find("ok:a"), Artifact)
    assert store.find("fail:c") is None  # to remember that is not its business
    batches = [json.loads(line)["keys"] for line in (tmp_path / "log").read_text().splitlines()]
    assert batches == [["ok:a", "ok:b"], ["fail:c"]]  # and nothing is compiled twice


def test_two_that_are_asked_for_the_same_compile_it_once(
    start: Callable[..., Worker], tmp_path: Path
) -> None:
    one, other = start(), start()
    for process in (one, other):
        assert process.hear() == {"toolchain": toolchain()}
    one.ask("slow:a", "ok:b")
    other.ask("ok:b", "slow:a", "ok:c")
    assert [one.hear(), other.hear()] == [{"done": ""}, {"done": ""}]
    batches = [json.loads(line)["keys"] for line in (tmp_path / "log").read_text().splitlines()]
    assert sorted([key for batch in batches for key in batch]) == ["ok:b", "ok:c", "slow:a"]


def test_one_that_takes_too_long_for_another_is_compiled_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be at a lower priority, and get no time at all."""
    store = Store(tmp_path / "cache")
    holding = "import sys; from pathlib import Path; from nabla_array._lazy.max.artifacts import Store\n"
    holding += (
        f"with Store(Path({str(store.folder)!r})).claimed(['ok:a']): print(flush=True); sys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", holding], stdin=pipe, stdout=pipe, env=environment) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with store.claimed(["ok:a", "ok:b"]) as ours:
            assert ours == ["ok:b"]
        with store.claimed(["ok:a"], 0.2) as ours:
            assert ours == ["ok:a"]
    with store.claimed(["ok:a"]) as ours:
        assert ours == ["ok:a"]


def test_what_it_is_at_is_finished_when_nobody_listens_any_more(
    start: Callable[..., Worker], tmp_path: Path
) -> None:
    process = start()
    process.ask("slow:a")
    assert process.end() == (json.dumps({"toolchain": toolchain()}) + '\n{"done": ""}\n', 0)
    assert isinstance(Store(tmp_path / "cache").find("slow:a"), Artifact)


def test_without_max_nothing_compiles(start: Callable[..., Worker]) -> None:
    out, status = start("tests.lazy.no_such_backend").end()
    (what, text), = json.loads(out).items()  # fmt: skip
    assert (what, status) == ("unusable", 0)
    assert text.startswith("MAX cannot be used: ModuleNotFoundError: No module named")


def test_nor_where_the_folder_is_not_to_be_trusted(start: Callable[..., Worker], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    out, _ = start().end()
    assert "can be written to by others" in json.loads(out)["unusable"]


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("error", "free", "what", "text"),
    [
        (ValueError("no such operation"), 1 << 40, "error", "ValueError: no such operation"),
        (ImportError("libmax.so"), 1 << 40, "unusable", "MAX cannot be used: ImportError: libmax.so"),
        (FULL, 1 << 40, "unusable", "cannot write to the cache"),
        (FULL, 3 << 20, "unusable", "has 3 MB left: OSError"),
        (ValueError("no such operation"), 3 << 20, "unusable", "has 3 MB left: ValueError"),
    ],
    ids=str,
)
def test_programs_are_blamed_for_what_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, free: int, what: str, text: str
) -> None:
    def compile_programs(keys: Sequence[str], path: Path) -> None:
        path.write_bytes(b"a part")
        raise error

    monkeypatch.setattr(worker, "_free", lambda folder: free)
    store = Store(tmp_path / "cache")
    answer, said = worker._compile(store, SimpleNamespace(compile_programs=compile_programs), ["a"])
    assert answer == what
    assert text in said
    assert [path.name for path in store.folder.iterdir()] == ["compiling.lock"]


def test_a_folder_that_is_gone_is_not_full(tmp_path: Path) -> None:
    assert worker._free(tmp_path) > 0
    assert worker._free(tmp_path / "gone") == worker._FULL
