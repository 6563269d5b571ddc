"""What stands in for a name of JAX's that has no counterpart here: whoever uses it in a test is refused."""

from __future__ import annotations

from typing import Any

collecting = [True]  # while a file is imported, anything may be called and defined; only tests are refused


class Refused(NotImplementedError):
    """A test uses a name of JAX's that the stand-in does not have."""


class Missing:
    """A name that is not there: it can be imported, but neither called nor asked about types in a test."""

    def __init__(self, name: str) -> None:
        self._name = self.__name__ = name

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        if collecting[0]:
            return self
        raise Refused(self._name)

    __call__ = __instancecheck__ = __lt__ = __ge__ = __enter__ = __mul__ = __or__ = _refuse
    __hash__ = object.__hash__

    def __iter__(self) -> Any:
        self._refuse()
        return iter(())

    def __exit__(self, *args: object) -> None: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __getitem__(self, key: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "dtype":
            raise AttributeError(name)
        return missing(f"{self._name}.{name}")


def missing(path: str) -> Any:
    """Return what stands for a name; what can be raised can be waited for as well."""
    if path.endswith(("Error", "Warning")):
        return type(path.rpartition(".")[2], (Exception,), {})
    return Missing(path)


class Names:
    """A module's stand-in: names of ours, and `Missing` for all others."""

    def __init__(self, path: str, *sources: Any, **names: Any) -> None:
        self._path, self._sources = path, sources
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for source in self._sources:
            if hasattr(source, name):
                return getattr(source, name)
        found = missing(f"{self._path}.{name}")
        setattr(self, name, found)
        return found
