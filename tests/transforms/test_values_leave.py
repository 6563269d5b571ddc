"""Values that leave the graph while a derivative is taken: right, refused or told, never wrong in silence."""

from __future__ import annotations

import concurrent.futures
import copy
import struct
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy import integrate, optimize
from sklearn.metrics import mean_squared_error

import nabla_array as xp
from nabla_array import transforms as T
from nabla_array.transforms import ValueLeftWarning, grad

from ..optional import HAS_BUFFERS, NO_BUFFERS
from .leaving_functions import DECIDES, LOSES, REFUSED, Function


@pytest.fixture(autouse=True)
def _arrays_for_scikit_learn() -> Iterator[None]:
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.mark.parametrize("name", LOSES)
def test_what_leaves_as_a_number_and_comes_back_is_told(name: str) -> None:
    f = LOSES[name]
    with pytest.warns(ValueLeftWarning, match="stop_gradient"):
        grad(f)(2.0)
    with pytest.raises(Exception) as caught:  # noqa: PT011  (C code may raise its own after ours)
        grad(f, strict=True)(2.0)
    assert type(caught.value) in (TypeError, ValueError, RuntimeError, SystemError, struct.error)
    with pytest.warns(ValueLeftWarning):
        T.jvp(f, (2.0,), (1.0,))


@pytest.mark.parametrize("name", DECIDES)
def test_a_number_that_only_decides_goes_without_a_word(name: str) -> None:
    assert float(grad(DECIDES[name], strict=True)(2.0)) == pytest.approx(4.0)  # and warnings are errors


@pytest.mark.parametrize("name", REFUSED)
def test_what_leaves_as_an_array_is_refused(name: str) -> None:
    if name == "a file" and not HAS_BUFFERS:
        pytest.skip(NO_BUFFERS)
    with pytest.raises(TypeError, match="is being differentiated leaves"):
        grad(lambda x: REFUSED[name](x) * x)(2.0)


def test_parts_of_complex_numbers_are_no_bits() -> None:
    f = lambda x: xp.sum(abs((x * (1 + 2j)).view(np.float64)))  # noqa: E731
    assert float(grad(f)(xp.asarray([3.0]))[0]) == pytest.approx(3.0)


# -- what goes through other threads -------------------------------------------------------------------------


def test_other_threads_record_on_the_tape() -> None:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:

        def f(x: Any) -> Any:
            parts = pool.map(lambda k: xp.sin(x * k), [1.0, 2.0, 3.0])
            return sum(parts) * x

        def plain(x: Any) -> Any:
            return sum(xp.sin(x * k) for k in (1.0, 2.0, 3.0)) * x

        for g in (grad, lambda f: grad(grad(f)), lambda f: T.jacfwd(T.jacrev(f))):
            np.testing.assert_allclose(np.asarray(g(f)(0.5)), np.asarray(g(plain)(0.5)))
        per_example = T.vmap(grad(f))(xp.asarray([0.5, 2.0]))
        np.testing.assert_allclose(np.asarray(per_example), [float(grad(plain)(a)) for a in (0.5, 2.0)])


def test_a_derivative_within_another_thread() -> None:
    def f(x: Any) -> Any:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: grad(lambda y: y**3 * x)(x)).result()  # 3 x**3

    assert float(grad(f)(2.0)) == pytest.approx(36.0)


def test_a_number_taken_in_another_thread_is_told() -> None:
    def f(x: Any) -> Any:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: float(x)).result() * x

    with pytest.warns(ValueLeftWarning):
        grad(f)(2.0)


def test_a_compiled_function_that_uses_threads() -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        f = T.compile(lambda x: pool.submit(lambda: x * x).result() + x)
        for k in (2.0, 3.0, 4.0):
            assert float(f(xp.asarray(k))) == k * k + k


# -- the warning itself --------------------------------------------------------------------------------------


def test_the_warning_names_the_line_and_comes_once_a_line() -> None:
    def f(x: Any) -> Any:
        total = x * 0
        for _ in range(5):
            total = total + x * float(x)
        return total

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            grad(f)(2.0)
    assert [w.filename for w in seen] == [__file__]
    assert seen[0].lineno == f.__code__.co_firstlineno + 3


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("quad of its function", "quad_vec and cubature"),
        ("brentq", "scipy.optimize.newton"),
        ("float", "keep the array"),
    ],
)
def test_the_warning_says_what_to_write(name: str, remedy: str) -> None:
    with pytest.warns(ValueLeftWarning, match=remedy):
        grad(LOSES[name])(2.0)


def test_what_to_write_instead_is_right() -> None:
    y = np.asarray([1.0, 2.0])
    p = xp.asarray([3.0, 4.0])
    for f, slope in (
        (lambda a: a * integrate.quad_vec(lambda t: a * t, 0, 1)[0], 3.0),
        (lambda a: a * integrate.cubature(lambda t: a * t[:, 0], [0.0], [1.0]).estimate, 3.0),
        (lambda a: a * optimize.newton(lambda t: t**3 - a, 1.5), 4 / 3 * 3 ** (1 / 3)),
        (lambda a: xp.mean((y - p * a) ** 2), np.mean(2 * (np.asarray([3.0, 4.0]) * 3 - y) * [3.0, 4.0])),
    ):
        assert float(grad(f, strict=True)(3.0)) == pytest.approx(slope)


STRICT: dict[str, Callable[[Function], Any]] = {
    "grad": lambda f: grad(f, strict=True)(2.0),
    "value_and_grad": lambda f: T.value_and_grad(f, strict=True)(2.0),
    "vjp": lambda f: T.vjp(f, 2.0, strict=True),
    "jvp": lambda f: T.jvp(f, (2.0,), (1.0,), strict=True),
    "linearize": lambda f: T.linearize(f, 2.0, strict=True),
    "jacfwd": lambda f: T.jacfwd(f, strict=True)(2.0),
    "jacrev": lambda f: T.jacrev(f, strict=True)(2.0),
    "hessian": lambda f: T.hessian(f, strict=True)(2.0),
    "hvp": lambda f: T.hvp(f, (2.0,), (1.0,), strict=True),
    "grad of vmap": lambda f: grad(lambda x: T.vmap(f)(x[None])[0], strict=True)(2.0),
    "vmap of grad": lambda f: T.vmap(grad(f, strict=True))(xp.asarray([2.0])),
    "grad of grad": lambda f: grad(grad(f), strict=True)(2.0),
    "grad of compile": lambda f: grad(T.compile(f), strict=True)(2.0),
    "grad of checkpoint": lambda f: grad(T.checkpoint(f), strict=True)(2.0),
}


@pytest.mark.parametrize("name", STRICT)
def test_strict_raises(name: str) -> None:
    with pytest.raises(TypeError, match="with strict=True"):
        STRICT[name](lambda x: x * float(x))


def test_a_plain_number_as_the_result_is_refused_without_a_warning() -> None:
    with pytest.raises(TypeError, match="no array"):
        grad(lambda x: float(x * x))(2.0)
    assert float(grad(lambda x: mean_squared_error(xp.ones(2), x * xp.ones(2)))(2.0)) == 2.0
    assert float(grad(lambda x: 1.0 if float(x) > 0 else x)(2.0)) == 0  # a constant is what it is


def test_numbers_beside_the_result_are_nobodys_concern() -> None:
    found, aux = grad(lambda x: (x * x, {"loss": float(x)}), has_aux=True, strict=True)(2.0)
    assert (float(found), aux) == (4.0, {"loss": 2.0})


def test_copies_follow() -> None:
    assert float(grad(lambda x: copy.copy(x) * copy.deepcopy(x))(2.0)) == 4.0
