"""Settings: defaults, environment variables, and a context manager for a while."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from typing import Any

_PREFIX = "NABLA_ARRAY_"
MODES = ("auto", "host", "max")


@dataclass
class Settings:
    """Everything that can be set.

    Attributes
    ----------
    mode
        Which tier evaluates: "auto", "host" or "max". There is one tier so far, NumPy on the host, so
        all three do the same.
    threads
        Threads that the host tier runs large regions with; 0 means one a core.
    """

    mode: str = "auto"
    threads: int = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "mode" and value not in MODES:
            raise ValueError(f"config: mode is one of {', '.join(MODES)}, not {value!r}")
        if name == "threads" and (type(value) is not int or value < 0):
            raise ValueError(f"config: threads is a number from 0 on, not {value!r}")
        super().__setattr__(name, value)


def names() -> list[str]:
    """Return the names of all settings."""
    return [f.name for f in fields(Settings)]


def check_name(name: str) -> None:
    """Raise AttributeError unless there is such a setting."""
    if name not in names():
        raise AttributeError(f"config: no setting {name!r}; there are {', '.join(names())}")


def _from_environment() -> Settings:
    found = Settings()
    for name in names():
        variable = _PREFIX + name.upper()
        text = os.environ.get(variable, "")
        if text:
            try:
                setattr(found, name, int(text) if text.isdecimal() else text)
            except ValueError as error:
                raise ValueError(f"{variable}={text}: {error}") from None
    return found


settings = _from_environment()


def threads() -> int:
    """Return the number of threads in force."""
    return settings.threads or os.cpu_count() or 1


class _Scope:
    """Changes settings when its `with` block begins and puts them back when it ends."""

    def __init__(self, changes: dict[str, Any]) -> None:
        replace(settings, **changes)  # raises where one is wrong
        self._changes = changes
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> Config:
        self._before.append({name: getattr(settings, name) for name in self._changes})
        for name, value in self._changes.items():
            setattr(settings, name, value)
        return config

    def __exit__(self, *exc: object) -> None:
        for name, value in self._before.pop().items():
            setattr(settings, name, value)


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
        return getattr(settings, name)

    def __setattr__(self, name: str, value: Any) -> None:
        check_name(name)
        setattr(settings, name, value)

    def __dir__(self) -> list[str]:
        return names()

    def __call__(self, **changes: Any) -> _Scope:
        for name in changes:
            check_name(name)
        return _Scope(changes)

    def __repr__(self) -> str:
        return f"config({', '.join(f'{n}={getattr(settings, n)!r}' for n in names())})"


config = Config()
