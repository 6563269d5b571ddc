"""Settings: defaults, environment variables, and a context manager for a while."""

from __future__ import annotations

import os
from typing import Any

_PREFIX = "NABLA_ARRAY_"
MODES = ("auto", "host", "max")
# Which tier evaluates (there is one so far, NumPy on the host, so all modes do the same); threads that the
# host tier runs large regions with (0 means one a core).
_DEFAULTS: dict[str, Any] = {"mode": "auto", "threads": 0}


def check_name(name: str) -> None:
    """Raise AttributeError unless there is such a setting."""
    if name not in _DEFAULTS:
        raise AttributeError(f"config: no setting {name!r}; there are {', '.join(_DEFAULTS)}")


def check(name: str, value: Any) -> None:
    """Raise AttributeError for a setting that there is not, ValueError for a value that it cannot have."""
    check_name(name)
    if name == "mode" and value not in MODES:
        raise ValueError(f"config: mode is one of {', '.join(MODES)}, not {value!r}")
    if name == "threads" and (type(value) is not int or value < 0):
        raise ValueError(f"config: threads is a number from 0 on, not {value!r}")


def _from_environment() -> dict[str, Any]:
    found = dict(_DEFAULTS)
    for name in found:
        variable = _PREFIX + name.upper()
        text = os.environ.get(variable, "")
        if text:
            found[name] = int(text) if text.isdecimal() else text
            try:
                check(name, found[name])
            except ValueError as error:
                raise ValueError(f"{variable}={text}: {error}") from None
    return found


_settings = _from_environment()


def threads() -> int:
    """Return the number of threads in force."""
    return _settings["threads"] or os.cpu_count() or 1


class _Scope:
    """Changes settings when its `with` block begins and puts them back when it ends."""

    def __init__(self, changes: dict[str, Any]) -> None:
        for name, value in changes.items():
            check(name, value)
        self._changes = changes
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> Config:
        self._before.append({name: _settings[name] for name in self._changes})
        _settings.update(self._changes)
        return config

    def __exit__(self, *exc: object) -> None:
        _settings.update(self._before.pop())


class Config:
    """The settings in force; see `docs/configuration.md`.

    Set one for good with ``config.mode = "host"``, or for a while with ``with config(mode="host"):``.
    They are one for the process, not one a thread.

    Examples
    --------
    >>> import nabla_array as xp
    >>> with xp.config(mode="host"):
    ...     print(xp.config.mode)
    host
    """

    def __getattr__(self, name: str) -> Any:
        check_name(name)
        return _settings[name]

    def __setattr__(self, name: str, value: Any) -> None:
        check(name, value)
        _settings[name] = value

    def __dir__(self) -> list[str]:
        return list(_DEFAULTS)

    def __call__(self, **changes: Any) -> _Scope:
        return _Scope(changes)

    def __repr__(self) -> str:
        return f"config({', '.join(f'{name}={value!r}' for name, value in _settings.items())})"


config = Config()
