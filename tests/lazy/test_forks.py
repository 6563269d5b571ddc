"""Functions around forks, and systems without forks."""

from __future__ import annotations

import os

import pytest

from nabla_array._lazy.forks import at_fork


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_child_runs_what_was_registered() -> None:
    read, write = os.pipe()
    in_child = []
    at_fork(after_in_child=lambda: in_child.append(True))
    child = os.fork()
    if child == 0:
        os.write(write, b"ran" if in_child else b"did not")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 10) == b"ran"
    assert not in_child
    os.close(read)
    os.close(write)


def test_nothing_happens_where_there_are_no_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork", raising=False)
    at_fork(before=pytest.fail)
