"""Settings: defaults, environment variables, and a context manager for a while."""

from __future__ import annotations

import os
from _thread import _local as local  # `threading` takes a millisecond to import
from collections.abc import Callable
from typing import Any

_PREFIX = "NABLA_ARRAY_"
MODES = ("auto", "host", "max")
_DEFAULTS: dict[str, Any] = {
    "mode": "auto",  # which tier evaluates
    "threads": 0,  # that the host tier runs large fusion groups with; 0 means one a core
    "cache_dir": "",  # of compiled programs; "" means in the user's cache folder
    "cache_size": 1024,  # its limit in megabytes
    "compile_after": 1.0,  # seconds that a part of a program spends on the host before it is compiled
    "compile_timeout": 600.0,  # seconds that a compilation may take
    "float_warnings": False,  # whether floating-point errors of elements warn, as NumPy's do
}
_REAL = (int, float)
_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "mode": (f"one of {', '.join(MODES)}", lambda value: value in MODES),
    "threads": ("a number from 0 on", lambda value: type(value) is int and value >= 0),
    "cache_dir": ("the name of a folder, or ''", lambda value: type(value) is str),
    "cache_size": ("a number of megabytes from 1 on", lambda value: type(value) is int and value >= 1),
    "compile_after": ("a number of seconds from 0 on", lambda value: type(value) in _REAL and value >= 0),
    "compile_timeout": ("a number of seconds above 0", lambda value: type(value) in _REAL and value > 0),
    "float_warnings": ("True or False", lambda value: type(value) is bool),
}


def check_name(name: str) -> None:
    """Raise AttributeError unless there is such a setting."""
    if name not in _DEFAULTS:
        raise AttributeError(f"config: no setting {name!r}; there are {', '.join(_DEFAULTS)}")


def check(name: str, value: Any) -> None:
    """Raise AttributeError for a setting that there is not, ValueError for a value that it cannot have."""
    check_name(name)
    meaning, fits = _RULES[name]
    if not fits(value):
        raise ValueError(f"config: {name} is {meaning}, not {value!r}")


def _parsed(text: str, kind: type) -> Any:
    """Return what an environment variable says, as text if it is not of that kind: `check` names what is."""
    if kind is bool:
        return {"1": True, "0": False}.get(text, text)
    try:
        return kind(text)
    except ValueError:
        return text


def _from_environment() -> dict[str, Any]:
    found = dict(_DEFAULTS)
    for name in found:
        variable = _PREFIX + name.upper()
        text = os.environ.get(variable, "")
        if text:
            found[name] = _parsed(text, type(found[name]))
            try:
                check(name, found[name])
            except ValueError as error:
                raise ValueError(f"{variable}={text}: {error}") from None
    return found


# Those of the process.
settings = _from_environment()


class _Active(local):
    """The settings in force in a thread: those of the process, or of the thread's own `with` block."""

    settings = settings


active = _Active()
# What `with` blocks of all threads have set, innermost last in each thread. The interpreter's lock guards it.
overrides: list[tuple[dict[str, Any], dict[str, Any]]] = []


def with_settings(function: Callable[[], None]) -> Callable[[], None]:
    """Return what calls a function in a thread of its own with the settings that are in force here."""
    mine = active.settings

    def call() -> None:
        active.settings = mine
        function()

    return call


# Asking takes as long as adding two arrays of a thousand elements.
_CORES = os.cpu_count() or 1


def threads() -> int:
    """Return the number of threads in force."""
    return active.settings["threads"] or _CORES


class _Scope:
    """Changes settings when its `with` block begins and puts them back when it ends."""

    def __init__(self, changes: dict[str, Any]) -> None:
        for name, value in changes.items():
            check(name, value)
        self._changes = changes
        self._before: list[dict[str, Any]] = []
        self._entered: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def __enter__(self) -> Config:
        self._before.append(active.settings)
        self._entered.append((self._changes, {**active.settings, **self._changes}))
        overrides.append(self._entered[-1])
        active.settings = self._entered[-1][1]
        return config

    def __exit__(self, *exc: object) -> None:
        active.settings = self._before.pop()
        entered = self._entered.pop()
        overrides[:] = [o for o in overrides if o is not entered]


class Config:
    """The settings in force; see `docs/reference/configuration.md`.

    Set one for the process with ``config.mode = "host"``, or for one thread and a while with
    ``with config(mode="host"):``.

    Examples
    --------
    >>> import nabla_array as xp
    >>> with xp.config(mode="host"):
    ...     print(xp.config.mode)
    host
    """

    def __getattr__(self, name: str) -> Any:
        check_name(name)
        return active.settings[name]

    def __setattr__(self, name: str, value: Any) -> None:
        check(name, value)
        mine = active.settings
        if any(entered is mine and name in changes for changes, entered in tuple(overrides)):
            mine[name] = value  # until the end of the block that has set it
            return
        settings[name] = value
        for changes, entered in tuple(overrides):
            if name not in changes:
                entered[name] = value

    def __dir__(self) -> list[str]:
        return list(_DEFAULTS)

    def __call__(self, **changes: Any) -> _Scope:
        return _Scope(changes)

    def __repr__(self) -> str:
        return f"config({', '.join(f'{name}={value!r}' for name, value in active.settings.items())})"


config = Config()
