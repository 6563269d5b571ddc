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
        Which tier evaluates: "auto", "host" or "max".
    threads
        Threads that the host tier runs large regions with; 0 means one a core.
    """

    mode: str = "auto"
    threads: int = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dataclass_fields__:
            raise AttributeError(f"config: no setting {name!r}; there are {', '.join(names())}")
        if name == "mode" and value not in MODES:
            raise ValueError(f"config: mode is one of {', '.join(MODES)}, not {value!r}")
        if name == "threads" and (not isinstance(value, int) or value < 0):
            raise ValueError(f"config: threads is a number from 0 on, not {value!r}")
        super().__setattr__(name, value)


def names() -> list[str]:
    """Return the names of all settings."""
    return [f.name for f in fields(Settings)]


def _from_environment() -> Settings:
    given = {f: os.environ[_PREFIX + f.upper()] for f in names() if _PREFIX + f.upper() in os.environ}
    if "threads" in given:
        try:
            return Settings(**{**given, "threads": int(given["threads"])})  # type: ignore[arg-type]
        except ValueError:
            raise ValueError(f"{_PREFIX}THREADS: a number from 0 on, not {given['threads']!r}") from None
    return Settings(**given)  # type: ignore[arg-type]


settings = _from_environment()


def threads() -> int:
    """Return the number of threads in force."""
    return settings.threads or os.cpu_count() or 1


class _Scope:
    """Puts settings back when its `with` block ends."""

    def __init__(self, before: Settings) -> None:
        self._before = before

    def __enter__(self) -> Config:
        return config

    def __exit__(self, *exc: object) -> None:
        for name in names():
            setattr(settings, name, getattr(self._before, name))


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
        return getattr(settings, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(settings, name, value)

    def __dir__(self) -> list[str]:
        return names()

    def __call__(self, **changes: Any) -> _Scope:
        scope = _Scope(replace(settings))
        replaced = replace(settings)
        for name, value in changes.items():
            setattr(replaced, name, value)  # all of them are checked before any is set
        for name, value in changes.items():
            setattr(settings, name, value)
        return scope

    def __repr__(self) -> str:
        return f"config({', '.join(f'{n}={getattr(settings, n)!r}' for n in names())})"


config = Config()
