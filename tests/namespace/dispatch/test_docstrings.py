"""Docstrings of public functions, as `help` shows them."""

import inspect
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from operator import attrgetter
from pkgutil import iter_modules

import pytest

import nabla_array as xp
from nabla_array._namespace import chapters
from nabla_array._namespace.dispatch.docstrings import described_like, refer

STANDARD = "https://data-apis.org/array-api/2025.12/"
NUMPYS = "https://numpy.org/doc/stable/reference/generated/numpy."


def references(doc: str) -> list[str]:
    return [line for line in doc.split("\n") if line.startswith("https://")]


@pytest.mark.parametrize(
    "name",
    [
        "abs",
        "add",
        "arange",
        "astype",
        "concat",
        "finfo",
        "logical_and",
        "mean",
        "sort",
        "unique_all",
        "where",
    ],
)
def test_functions_of_the_standard_refer_to_it(name: str) -> None:
    doc = inspect.getdoc(getattr(xp, name))
    assert references(doc) == [f"{STANDARD}API_specification/generated/array_api.{name}.html"]


@pytest.mark.parametrize("name", ["fft.fft", "fft.fftfreq", "linalg.det", "linalg.cross", "linalg.svd"])
def test_extensions_refer_to_their_pages(name: str) -> None:
    doc = inspect.getdoc(attrgetter(name)(xp))
    assert references(doc) == [f"{STANDARD}extensions/generated/array_api.{name}.html"]


@pytest.mark.parametrize("name", ["array", "atleast_2d", "cbrt", "cumsum", "exp2", "fmax", "gcd", "median"])
def test_other_functions_refer_to_numpys(name: str) -> None:
    assert references(inspect.getdoc(getattr(xp, name))) == [f"{NUMPYS}{name}.html"]


def test_what_an_extension_has_of_the_main_namespace_is_described_once() -> None:
    assert xp.linalg.vecdot.__doc__ == xp.vecdot.__doc__
    assert xp.arctan2.__doc__ == xp.atan2.__doc__


def public() -> list[str]:
    names = [f"{part}.{name}" for part in ("fft", "linalg") for name in getattr(xp, part).__all__]
    for found in iter_modules(chapters.__path__):
        module = import_module(f"{chapters.__name__}.{found.name}")
        names += [name for name in getattr(module, "__all__", ()) if hasattr(xp, name)]
    return names


@pytest.mark.parametrize("name", public())
def test_every_docstring_is_numpydoc_with_an_example_at_the_end(name: str) -> None:
    function = attrgetter(name)(xp)
    if not callable(function) or isinstance(function, type):
        return
    doc = inspect.getdoc(function)
    lines = doc.split("\n")
    heads = [line for line, rule in pairwise(lines) if line and rule == "-" * len(line)]
    assert heads[-2:] == ["References", "Examples"]
    assert [i for i in heads if i == "References"] == ["References"]
    assert doc.partition("Examples\n--------\n")[2].startswith(">>> import nabla_array as xp\n>>> ")


def test_what_stands_before_an_example_stays() -> None:
    def f() -> None:
        """Do it.

        Returns
        -------
        None

        >>> f()
        >>> f()
        """

    def g() -> None:
        """Do it.

        Returns
        -------
        None
        """

    for function, end in (
        (f, "\n\nExamples\n--------\n>>> import nabla_array as xp\n>>> f()\n>>> f()"),
        (g, ""),
    ):
        refer(function, "https://a.b")
        start = "Do it.\n\nReturns\n-------\nNone\n\nReferences\n----------\nhttps://a.b"
        assert inspect.getdoc(function) == start + end


def first(x: float) -> None:
    """Do it.

    Parameters
    ----------
    x : float
        From 0.

    Returns
    -------
    None

    >>> first(1)
    """


def test_a_docstring_is_completed_by_another() -> None:
    @described_like(first, {"From 0": "Up to 0"})
    def second(x: float) -> None:
        """Undo it.

        Raises
        ------
        ValueError

        >>> second(1)
        2
        """

    sections = "Parameters\n----------\nx : float\n    Up to 0.\n\nReturns\n-------\nNone"
    assert second.__doc__ == f"Undo it.\n\n{sections}\n\nRaises\n------\nValueError\n\n>>> second(1)\n2\n"


def test_sections_of_its_own_stay() -> None:
    @described_like(first)
    def second(x: float) -> None:
        """Undo it.

        Returns
        -------
        Something else

        >>> second(1)
        """

    assert "From 0.\n\nReturns\n-------\nSomething else\n\n>>> second" in second.__doc__


def test_what_the_other_does_not_say_cannot_change() -> None:
    with pytest.raises(ValueError, match="second: first does not say 'From 1'"):

        @described_like(first, {"From 1": "From 2"})
        def second(x: float) -> None:
            """Undo it."""


def test_without_docstrings_there_is_nothing_to_refer() -> None:
    program = "import nabla_array as xp, nabla_array.fft, nabla_array.linalg; assert xp.sum.__doc__ is None"
    subprocess.run([sys.executable, "-OO", "-c", program], check=True)
