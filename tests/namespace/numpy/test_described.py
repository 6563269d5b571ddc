"""What makes a function NumPy's of a name: its docstring, the way out, and the short way of small arrays."""

from __future__ import annotations

import doctest
import inspect
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.stats import stats
from nabla_array._namespace.core.promotion import as_array
from nabla_array._namespace.numpy import described
from nabla_array._namespace.numpy.homes import CHAPTERS, FFT, LINALG

NAMES = [name for names in CHAPTERS.values() for name in names.split()]
NAMES += [
    f"{part}.{n}" for part, homes in (("linalg", LINALG), ("fft", FFT)) for n in homes[f"more_{part}"].split()
]


def flatnonzero(a: Any, base: int = 0) -> Any:
    """Return where an array is not zero.

    >>> xp.flatnonzero([0, 5])
    array([1])
    """
    return as_array("flatnonzero", a)._value().nonzero()[0] + base


def test_the_docstring_says_where_numpys_is_and_shows_an_example() -> None:
    made = described.numpys(flatnonzero)
    wanted = """Return where an array is not zero.

Parameters and results are those of NumPy's `numpy.flatnonzero`.

References
----------
https://numpy.org/doc/stable/reference/generated/numpy.flatnonzero.html

Examples
--------
>>> import nabla_array as xp
>>> xp.flatnonzero([0, 5])
array([1])
"""
    assert made.__doc__ == wanted
    assert made.__name__ == "flatnonzero"
    assert inspect.signature(made) == inspect.signature(flatnonzero)


def test_a_docstring_without_an_example_has_no_section_of_them() -> None:
    def iscomplexobj(x: Any) -> bool:
        """Test for a complex dtype."""
        return False

    described.describe(iscomplexobj, "numpy.iscomplexobj")
    assert (iscomplexobj.__doc__ or "").endswith("numpy.iscomplexobj.html\n")


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_numpys_has_a_page_and_an_example_that_is_true(name: str) -> None:
    found: Any = xp
    for part in name.split("."):
        found = getattr(found, part)
    text = inspect.getdoc(found) or ""
    if found is getattr(np, name, None):  # `s_` and `index_exp` are NumPy's own
        return
    if type(found).__module__.startswith("nabla_array") and not callable(found):
        assert type(found).__doc__  # `mgrid`, `r_` and their like
        return
    assert "https://numpy.org/doc/stable/reference/" in text, name
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert example.examples, name
    assert not doctest.DocTestRunner().run(example).failed


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_what_we_cannot_hold_goes_to_numpys_function_and_is_counted() -> None:
    made = described.numpys(flatnonzero)
    before = stats.fallbacks["flatnonzero"]
    np.testing.assert_array_equal(np.asarray(made(np.array(["", "a"]))), [1])
    assert stats.fallbacks["flatnonzero"] == before + 1
    np.testing.assert_array_equal(made(np.array([0, 5])), [1])
    assert stats.fallbacks["flatnonzero"] == before + 1


def test_what_numpy_refuses_too_is_our_error() -> None:
    def ediff1d(ary: Any) -> Any:
        """Fail for what is no number."""
        return as_array("ediff1d", ary)

    with pytest.raises(TypeError, match=r"ediff1d: no arrays of dtype <U1"):
        described.numpys(ediff1d)(np.array(["a", "b"]))


def test_numpys_function_answers_for_small_known_arrays_alone() -> None:
    asked = []

    def ptp(a: Any) -> Any:
        """Return the range of the elements."""
        asked.append(a)
        return xp.max(a) - xp.min(a)

    made = described.eager_numpys()(ptp)
    assert made(xp.asarray([[1, 2], [3, 5]])) == 4
    small = len(asked)
    made(xp.zeros((1000, 1000)) + 1)
    assert len(asked) == small + 1
    assert small == (described.fastpath.compiled is None)


def test_one_of_a_family_has_its_own_name_page_and_example() -> None:
    def call(a: Any) -> Any:
        return a

    made = described.of_family(call, "fliplr", "Turn an array.", "[[1, 2]]", "array([[2, 1]])")
    assert (made.__module__, made.__qualname__) == ("nabla_array", "fliplr")
    text = described.numpys(made).__doc__ or ""
    assert text.startswith("Turn an array.\n\nParameters and results are those of NumPy's `numpy.fliplr`.")
    assert text.endswith(">>> xp.fliplr([[1, 2]])\narray([[2, 1]])\n")
