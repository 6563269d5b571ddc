"""Settings: defaults, environment, scopes."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from nabla_array._lazy.config import config, threads


def test_a_scope_restores_what_it_changed() -> None:
    before = config.mode, config.threads
    with config(mode="host", threads=3) as inside:
        assert inside is config
        assert (config.mode, config.threads, threads()) == ("host", 3, 3)
        with config(threads=1):
            assert (config.mode, config.threads) == ("host", 1)
        assert config.threads == 3
    assert (config.mode, config.threads) == before


def test_a_scope_restores_after_an_error() -> None:
    before = config.mode
    with pytest.raises(KeyError), config(mode="host"):
        raise KeyError
    assert config.mode == before


def test_a_scope_changes_nothing_before_it_begins_and_can_be_used_again() -> None:
    before = config.threads
    scope = config(threads=5)
    assert config.threads == before
    for _ in range(2):
        with scope, scope:
            assert config.threads == 5
        assert config.threads == before


def test_a_scope_leaves_other_settings_alone() -> None:
    before = config.threads
    try:
        with config(mode="host"):
            config.threads = 7
        assert config.threads == 7
    finally:
        config.threads = before


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"mode": "fast"}, ValueError, r"config: mode is one of auto, host, max, not 'fast'"),
        ({"threads": -1}, ValueError, r"config: threads is a number from 0 on, not -1"),
        ({"threads": 1.5}, ValueError, r"config: threads is a number from 0 on, not 1.5"),
        ({"cache_dir": 3}, ValueError, r"config: cache_dir is the name of a folder, or '', not 3"),
        ({"cache_size": 0}, ValueError, r"config: cache_size is a number of megabytes from 1 on, not 0"),
        ({"compile_after": -0.5}, ValueError, r"config: compile_after is a number of seconds from 0 on"),
        ({"compile_after": float("nan")}, ValueError, r"compile_after is .*, not nan"),
        ({"compile_timeout": True}, ValueError, r"compile_timeout is a number of seconds above 0, not True"),
        ({"speed": 1}, AttributeError, r"config: no setting 'speed'; there are mode, threads"),
        ({"mode": "host", "threads": "2"}, ValueError, r"config: threads"),
    ],
)
def test_wrong_settings_change_nothing(changes: dict, error: type, message: str) -> None:
    before = repr(config)
    with pytest.raises(error, match=message):
        config(**changes)
    name, value = list(changes.items())[-1]
    with pytest.raises(error, match=message):
        setattr(config, name, value)
    assert repr(config) == before


def test_unknown_settings_cannot_be_read() -> None:
    with pytest.raises(AttributeError, match="no setting 'speed'"):
        _ = config.speed


def test_threads_default_to_one_a_core() -> None:
    with config(threads=0):
        assert threads() == os.cpu_count()


def _in_a_new_process(**variables: str) -> subprocess.CompletedProcess:
    code = "from nabla_array._lazy.config import config; print(config)"
    env = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


def test_environment_variables() -> None:
    done = _in_a_new_process(
        NABLA_ARRAY_MODE="host",
        NABLA_ARRAY_THREADS="2",
        NABLA_ARRAY_CACHE_DIR="7",
        NABLA_ARRAY_COMPILE_AFTER="0.25",
        NABLA_ARRAY_COMPILE_TIMEOUT="inf",
    )
    for setting in (
        "mode='host'",
        "threads=2",
        "cache_dir='7'",
        "compile_after=0.25",
        "compile_timeout=inf",
    ):
        assert setting in done.stdout, done.stderr


def test_a_wrong_environment_variable_is_named() -> None:
    done = _in_a_new_process(NABLA_ARRAY_THREADS="two")
    assert "NABLA_ARRAY_THREADS=two: config: threads is a number from 0 on, not 'two'" in done.stderr
    assert done.returncode


def test_a_scope_is_of_the_thread_that_is_in_it() -> None:
    with config(mode="host"), ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: config.mode).result()
        assert config.mode == "host"
        assert other == "auto"

        def inside() -> str:
            with config(mode="max"):
                return config.mode

        assert pool.submit(inside).result() == "max"
        assert config.mode == "host"


def test_what_is_set_for_the_process_is_seen_within_scopes_that_say_nothing_of_it() -> None:
    before = config.cache_size
    try:
        with config(mode="host"), ThreadPoolExecutor(1) as pool:
            pool.submit(setattr, config, "cache_size", 77).result()
            assert config.cache_size == 77
            config.mode = "max"
            assert config.mode == "max"
            assert pool.submit(lambda: config.mode).result() == "auto"
        assert (config.mode, config.cache_size) == ("auto", 77)
    finally:
        config.cache_size = before
