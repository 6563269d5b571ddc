"""What the docstrings of public functions share: the page of reference, and how an example begins.

At a function, its example comes last, after a blank line. What its name tells is put in here.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

NUMPYS = "https://numpy.org/doc/stable/reference/generated/"
_STANDARD = "https://data-apis.org/array-api/2025.12/"
_FUNCTIONS = "API_specification/generated/array_api."
# What chapters give that NumPy alone specifies.
_NUMPY_ONLY = {
    *("array", "atleast_1d", "atleast_2d", "ravel", "swapaxes", "transpose"),
    *("cbrt", "cumprod", "cumsum", "exp2"),
}


def _dedented(docstring: str) -> str:
    """Return what `inspect.cleandoc` does, at once where the last line is the margin."""
    margin = docstring.rpartition("\n")[2]
    return docstring.replace(f"\n{margin}", "\n").strip() if margin.isspace() else cleandoc(docstring)


def _parts(docstring: str) -> tuple[str, dict[str, str], str]:
    """Return the summary of a docstring, its sections by their titles, and its example."""
    text, _, example = _dedented(docstring).partition("\n\n>>> ")
    summary, *more = text.split("\n\n")
    sections: dict[str, str] = {}
    title = ""
    for paragraph in more:
        first, _, rest = paragraph.partition("\n")
        if rest.startswith("---"):
            title = first
            sections[title] = paragraph
        elif title:
            sections[title] += f"\n\n{paragraph}"
        else:
            summary += f"\n\n{paragraph}"
    return summary, sections, f">>> {example}\n"


def described_like(other: Callable[..., Any], changes: dict[str, str] | None = None) -> Callable[[F], F]:
    """Complete the docstring of a function by the sections of another's that it does not have itself.

    The changes are texts in those sections, with what takes their places.
    """

    def decorate(function: F) -> F:
        if not function.__doc__:  # python -OO
            return function
        summary, own, example = _parts(function.__doc__)
        _, theirs, _ = _parts(other.__doc__ or "")
        text = "\n\n".join({**theirs, **own}.values())
        for old, new in (changes or {}).items():
            if old not in text:
                raise ValueError(f"{function.__name__}: {other.__name__} does not say {old!r}")
            text = text.replace(old, new)
        function.__doc__ = f"{summary}\n\n{text}\n\n{example}"
        return function

    return decorate


def refer(function: Callable[..., Any], page: str) -> None:
    """Put the page that specifies a function into its docstring, before the example that ends it."""
    if not function.__doc__:  # python -OO
        return
    text, shown, example = function.__doc__.partition(">>> ")
    margin = text.rpartition("\n")[2]
    lines = [text.rstrip(), "", "References", "----------", page, ""]
    if shown:
        lines += ["Examples", "--------", ">>> import nabla_array as xp", shown + example]
    function.__doc__ = f"\n{margin}".join(lines)


def specify(namespace: dict[str, Any], extension: str = "") -> None:
    """Refer the functions in a chapter's `__all__` to their pages, but for those of other chapters."""
    folder = f"extensions/generated/array_api.{extension}." if extension else _FUNCTIONS
    for name in namespace["__all__"]:
        function = namespace[name]
        if not isinstance(function, type) and "References" not in (function.__doc__ or ""):
            page = NUMPYS + f"numpy.{name}" if name in _NUMPY_ONLY else _STANDARD + folder + name
            refer(function, f"{page}.html")
