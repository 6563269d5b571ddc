"""What the docstrings of public functions share: the page of reference, and how an example begins.

At a function, its example comes last, after a blank line. What its name tells is put in here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NUMPYS = "https://numpy.org/doc/stable/reference/generated/"
_STANDARD = "https://data-apis.org/array-api/2025.12/"
_FUNCTIONS = "API_specification/generated/array_api."
# What chapters give that NumPy alone specifies.
_NUMPY_ONLY = {
    *("array", "atleast_1d", "atleast_2d", "ravel", "swapaxes", "transpose"),
    *("cbrt", "cumprod", "cumsum", "exp2"),
}


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
