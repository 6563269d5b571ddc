"""What users get wrong most often: errors are of NumPy's classes, and name the function and the arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as ours
from nabla_array import distributed, transforms
from tests.namespace.mistakes import NUMPY_MISTAKES, OUR_MISTAKES

_NAMES = {"t": transforms, "d": distributed}


def _error(code: str, xp: Any) -> Exception:
    """Return what the code raises; it may be an expression or statements."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 the table says which
        exec(code, _NAMES | {"xp": xp, "M": xp.zeros((2, 3)), "V": xp.zeros(3)})
    return caught.value


def _public(error: Exception) -> type:
    """Return the first class of an error's that users can name: NumPy has private ones below `TypeError`."""
    return next(c for c in type(error).__mro__ if not c.__module__.startswith(("numpy._", "nabla_array._")))


def _says(error: Exception, words: str) -> None:
    """Look for words, apart by ``|``, in a message, which starts with those that end in a colon."""
    for word in words.split("|"):
        at = str(error).find(word)
        assert at == 0 if word.endswith(":") else at >= 0, f"{word!r} is not in {str(error)!r}"


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5
@pytest.mark.parametrize(("code", "words"), NUMPY_MISTAKES, ids=[c for c, _ in NUMPY_MISTAKES])
def test_a_mistake_in_numpys_names(code: str, words: str) -> None:
    error = _error(code, ours)
    _says(error, words)
    assert isinstance(error, _public(_error(code, np)))


@pytest.mark.parametrize(("code", "kind", "words"), OUR_MISTAKES, ids=[c for c, _, _ in OUR_MISTAKES])
def test_a_mistake_in_our_own_names(code: str, kind: type[Exception], words: str) -> None:
    error = _error(code, ours)
    assert isinstance(error, kind)
    _says(error, words)


@pytest.mark.parametrize(
    "code",
    [
        *("compress([1, 0], M, axis=5)", "logspace(0, 1, -3)", "ptp(M, axis=5)", "nansum(M, axis=5)"),
        *("fft.fft2(V)", "average(M, axis=5)", "trapezoid(M, axis=5)", "array([1, 2], copy=False)"),
    ],
)
def test_an_error_names_what_was_called_and_nothing_behind_it(code: str) -> None:
    name = code.partition("(")[0].rpartition(".")[2]
    _says(_error(f"xp.{code}", ours), f"{name}:")


def test_an_axis_that_is_not_there_is_told_as_numbers_too() -> None:
    for code in ("xp.sum(M, axis=5)", "xp.compress([1, 0], M, axis=5)"):
        error = _error(code, ours)
        assert isinstance(error, np.exceptions.AxisError)
        assert (error.axis, error.ndim) == (5, 2)


def test_an_error_of_the_users_own_function_stays_what_it_is() -> None:
    def fails(row: Any) -> Any:
        raise ValueError("sum: of nothing")

    with pytest.raises(ValueError, match=r"^sum: of nothing"):
        ours.apply_along_axis(fails, 0, ours.ones((2, 3)))
