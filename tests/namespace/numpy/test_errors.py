"""Floating-point warnings and errors: NumPy's, by the state in force where an operation is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.cpu import faults
from nabla_array._lazy.native import compiled
from nabla_array._lazy.run import evaluator
from nabla_array.transforms import grad, jvp

from .comparing import known, run

FAULTY = """
z / z
1 / z
w - w
big * 2
big ** 2
np.sqrt(-big)
np.log(z)
np.log1p(z - 1)
np.arctanh(z + 1)
np.arccosh(z)
np.exp(big)
np.sum(big)
np.cumsum(big)
np.add.reduce(big)
np.mean(w)
np.var(w)
np.reciprocal(z)
np.remainder(w, z[0])
np.fmod(w, z[0])
np.array([1, 2]) // 0
np.array([1, 2]) % 0
np.array([1j]) / 0
big.astype(np.float32)
w.astype(int)
big[0] * big[1]
big[0] ** big[1]
z[0] ** -big[0]
np.linalg.norm(w)
np.corrcoef(z, z)
np.tan(w)
np.interp([0.5, np.nan], [0.0, 1.0], [np.nan, np.inf])
np.power(z, -1.5)
(-big) ** 0.5
x = w.copy(); x /= 0; x
"""
SILENT = """
np.isclose(w, w)
np.allclose(w, w)
np.sinc(z)
np.nanstd(n)
np.nanmedian(n)
np.quantile(w, 0.3)
np.logaddexp(-inf, -inf)
np.hypot(inf, inf)
np.divide(1, z, where=z != 0, out=np.zeros(3))
np.log(z, where=z > 0, out=np.zeros(3))
np.nan_to_num(w)
np.maximum(w, 0)
np.sort(w)
w < 0
w == w
np.exp(-big)
np.where(z == 0, 0, 1 / np.where(z == 0, 1, z))
np.linalg.cond(np.zeros((2, 2)))
np.linalg.slogdet(np.zeros((2, 2)))
np.gradient(big / 10)
np.linspace(0, 0, 5)
np.i0(z)
np.clip(w, 0, 1)
np.angle(z + 0j)
np.unwrap(z)
np.histogram(z)
np.bincount([0, 1], weights=[1, np.inf])
np.median(w)
"""


@pytest.fixture(autouse=True)
def _on() -> Iterator[None]:
    usual = dict(faults.listener.usual)
    with xp.config(float_warnings=True, mode="host"):
        yield
    assert faults.listener.usual == usual


def names(namespace: Any) -> dict[str, Any]:
    arrays = {
        "z": [0.0, 0.0, 0.0],
        "w": [1.0, np.inf, np.nan, -np.inf, 0.0],
        "big": [1e308, 1.5e308, 1e308],
        "n": [[np.nan, np.nan], [1.0, np.nan]],
        "inf": [np.inf, -np.inf],
    }
    return {k: namespace.array(v) for k, v in arrays.items()}


def told(work: Callable[[], Any]) -> set[str]:
    """Return the warnings that come of some work."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        known(work())
    # A 0-d array may be NumPy's scalar or not.
    return {str(w.message).replace("scalar ", "") for w in seen if issubclass(w.category, RuntimeWarning)}


@pytest.mark.parametrize("call", FAULTY.strip().splitlines())
def test_warnings_are_numpys(call: str) -> None:
    theirs = {m for m in told(lambda: run(call, np, names(np))) if "encountered" in m}
    assert told(lambda: run(call, xp, names(xp))) == theirs


@pytest.mark.parametrize("call", SILENT.strip().splitlines())
def test_no_warning_where_numpy_gives_none(call: str) -> None:
    assert not told(lambda: run(call, xp, names(xp)))


def test_the_state_counts_where_an_operation_is_written() -> None:
    z = xp.zeros(5000)  # what is done with fewer is done at once
    with xp.errstate(divide="ignore"):
        silent = 1 / z
    assert not told(lambda: silent)
    heard = 1 / z
    with xp.errstate(divide="ignore"):
        assert told(lambda: heard) == {"divide by zero encountered in divide"}


def test_what_another_library_ignores_of_numpy_is_one_kind_of_fault() -> None:
    heard = 1 / xp.zeros(5000), xp.full(5000, 1e308) * 10
    with np.errstate(over="ignore"), xp.errstate(divide="ignore"):
        assert told(lambda: heard) == {"divide by zero encountered in divide"}


@pytest.mark.parametrize("n", [3, 1 << 17])
def test_a_program_run_in_blocks_warns_too(n: int) -> None:
    x = xp.full(n, 1e308)
    assert told(lambda: xp.exp(-(x * x)) + 1) == {"overflow encountered in multiply"}
    with xp.errstate(over="ignore"):
        y = xp.exp(-(x * x)) + 1
    assert not told(lambda: y)


def test_states_nest_and_end() -> None:
    z = xp.zeros(2)
    with xp.errstate(all="ignore"):
        with xp.errstate(divide="warn"):
            assert told(lambda: 1 / z) == {"divide by zero encountered in divide"}
            assert not told(lambda: z / z)
        assert not told(lambda: 1 / z)
    assert told(lambda: z / z) == {"invalid value encountered in divide"}


def test_small_arrays_are_computed_at_once_under_a_state() -> None:
    z, x = xp.zeros(2), xp.arange(3.0)
    usual = 1 + z
    with xp.errstate(divide="ignore", invalid="ignore"):
        assert ((1 / z)._node.value is None) == (usual._node.value is None)
        for work in (lambda: 1 / z, lambda: xp.log(z), lambda: x.mean() / 0, lambda: z[0] / 0, lambda: z / z):
            assert not told(work)
        assert told(lambda: xp.exp(x * 1000)) == {"overflow encountered in exp"}
        with xp.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
            xp.exp(x * 1000)
        x += 1 / z[0]
        assert not told(lambda: x)
    assert told(lambda: xp.zeros(2) / 0) == {"invalid value encountered in divide"}


def test_a_function_can_be_decorated() -> None:
    @xp.errstate(divide="ignore")
    def inverse(x: xp.Array) -> xp.Array:
        return 1 / x

    assert not told(lambda: inverse(xp.zeros(2)))


def test_raise_raises_at_the_line() -> None:
    z = xp.zeros(2)
    with xp.errstate(all="raise"):
        for work in (lambda: 1 / z, lambda: xp.log(z), lambda: xp.exp(z - 1000), lambda: xp.sqrt(z - 1)):
            with pytest.raises(FloatingPointError, match="encountered in"):
                work()
        x = xp.asarray([1.0, 2.0])
        with pytest.raises(FloatingPointError):
            x /= 0
        np.testing.assert_array_equal(np.asarray(x), [1.0, 2.0])
    known(1 / (z + 1))


def test_call_log_and_print(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[Any] = []

    class Log:
        def write(self, message: str) -> None:
            heard.append(message)

    z = xp.zeros(2)
    with xp.errstate(divide="call", call=lambda kind, flag: heard.append((kind, flag))):
        known(1 / z)
    with xp.errstate(divide="log", call=Log()):
        known(1 / z)
    with xp.errstate(divide="print"):
        known(1 / z)
    assert heard == [("divide by zero", 1), "Warning: divide by zero encountered in divide\n"]
    assert capsys.readouterr().err == "Warning: divide by zero encountered in divide\n"


def test_seterr_lasts() -> None:
    z = xp.zeros(2)
    before = xp.seterr(divide="ignore")
    try:
        assert before == np.geterr() | {"divide": "warn"}
        assert not told(lambda: 1 / z)
        assert told(lambda: z / z)
        xp.seterr(divide="raise")
        with pytest.raises(FloatingPointError):
            1 / z
    finally:
        xp.seterr(**before)
    assert told(lambda: 1 / z)


def test_settings_silence_what_nobody_asked_for() -> None:
    z = xp.zeros(2)
    with xp.config(float_warnings=False):
        assert not told(lambda: 1 / z)
        with xp.errstate(divide="raise"), pytest.raises(FloatingPointError):
            1 / z
        with xp.errstate(divide="warn"):
            assert told(lambda: 1 / z)
            assert told(lambda: xp.log(z))
            assert not told(lambda: z / z)


def test_numpys_own_state_counts_where_something_is_evaluated() -> None:
    z = xp.zeros(2)
    with np.errstate(all="ignore"):
        assert not told(lambda: 1 / z)
    with xp.errstate(divide="warn"), np.errstate(divide="ignore"):
        assert not told(lambda: 1 / z)


@pytest.mark.parametrize("n", [0, 3, 2500, 1 << 17])
def test_a_block_of_numpys_own_decides(n: int) -> None:
    # SciPy's line search awaits the error of a division by zero in a block of NumPy's.
    x, z = xp.eval(xp.full(n or (), 1.0), xp.full(n or (), 0.0))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        xp.eval(x / z)
    with np.errstate(over="raise"):
        assert told(lambda: x / z)
    with xp.errstate(divide="warn"), np.errstate(divide="raise"):
        assert told(lambda: x / z)


@pytest.mark.parametrize("n", [3, 2500, 1 << 17])
def test_a_warning_is_told_of_the_line_that_computes(n: int) -> None:
    x, z = xp.eval(xp.ones(n), xp.zeros(n))
    lines = {
        lambda: xp.eval(x / z),
        lambda: float((x / z)[0]),
        lambda: xp.eval(xp.divide(x, z, out=xp.eval(xp.ones(n)))),
        lambda: repr(x / z),
        lambda: np.asarray(x / z),
    }
    for line in lines:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            line()
        assert {(w.filename, w.lineno) for w in heard} == {(__file__, line.__code__.co_firstlineno)}
        assert {str(w.message) for w in heard} == {"divide by zero encountered in divide"}


def test_derivatives_do_not_warn() -> None:
    z = xp.zeros(3)
    for f in (xp.sqrt, xp.cbrt, lambda x: xp.hypot(x, x), lambda x: x**0.5):
        assert not told(lambda f=f: grad(lambda x: xp.sum(f(x)))(z))  # type: ignore[misc]
        assert not told(lambda f=f: jvp(f, (z,), (z + 1,)))  # type: ignore[misc]


def test_a_state_belongs_to_its_thread() -> None:
    inside, out = threading.Event(), threading.Event()

    def other() -> None:
        with xp.errstate(all="ignore"):
            inside.set()
            out.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    heard = told(lambda: 1 / xp.zeros(2))
    out.set()
    thread.join()
    assert heard


def test_a_warning_names_the_users_line_and_comes_once() -> None:
    script = "import nabla_array as np\nfor _ in range(3):\n    x = 1 / np.zeros(5000)\n    print(x)\n"
    environment = {**os.environ, "NABLA_ARRAY_FLOAT_WARNINGS": "1", "NABLA_ARRAY_MODE": "host"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stderr.count("RuntimeWarning: divide by zero encountered in divide") == 1
    assert done.stderr.startswith("<string>:4:")


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(TypeError):
        xp.errstate(speed="ignore")
    with pytest.raises(ValueError, match="never"):
        xp.seterr(divide="never")


@pytest.mark.parametrize("name", ["eig", "eigh", "svd", "qr", "slogdet", "lstsq"])
def test_decompositions_where_faults_raise(name):
    x = xp.asarray([[2.0, 1.0], [1.0, 3.0]])
    arguments = (x, x) if name == "lstsq" else (x,)
    expected = getattr(np.linalg, name)(*map(np.asarray, arguments))
    with xp.errstate(all="raise"):
        result = getattr(xp.linalg, name)(*arguments)
    for mine, theirs in zip(result, expected, strict=True):
        np.testing.assert_allclose(np.asarray(mine), theirs, atol=1e-12)


def test_a_decomposition_of_nan_raises_where_faults_do() -> None:
    for linalg, make in ((np.linalg, np.asarray), (xp.linalg, xp.asarray)):
        with (
            xp.errstate(all="raise"),
            pytest.raises(FloatingPointError, match="invalid value encountered in slogdet"),
        ):
            linalg.slogdet(make([[np.nan, 1.0], [2.0, 3.0]]))


def test_asking_in_a_block_of_numpys_own_takes_nothing_over_from_it() -> None:
    with np.errstate(all="ignore"):
        xp.seterr()
        xp.seterr(over="warn")
    heard = 1 / xp.zeros(5000)
    with np.errstate(divide="ignore"):
        assert not told(lambda: heard)
    heard = 1 / xp.zeros(5000)
    with xp.errstate(divide="ignore"):
        assert told(lambda: heard) == {"divide by zero encountered in divide"}


def test_seterr_takes_its_arguments_in_numpys_order():
    before = xp.seterr("ignore")
    try:
        assert np.geterr() == dict.fromkeys(before, "ignore")
        assert xp.seterr("warn", "raise") == dict.fromkeys(before, "ignore")
        assert np.geterr() == {**dict.fromkeys(before, "warn"), "divide": "raise"}
    finally:
        xp.seterr(**before)


_FEW = {
    "all nan": [np.nan, np.nan],
    "a column of nan": [[np.nan, 1.0], [np.nan, 2.0]],
    "none": [],
    "no rows": np.empty((0, 2)),
    "many": np.concatenate([np.full((2, 1), np.nan), np.ones((2, 40_000))], axis=1),
}


@pytest.mark.parametrize("few", _FEW)
@pytest.mark.parametrize(
    "name",
    ["mean", "std", "var", *(f"nan{n}" for n in ("max", "mean", "median", "min", "quantile", "std", "var"))],
)
def test_slices_with_too_few_numbers_warn_as_numpys(name: str, few: str) -> None:
    fraction = (0.3,) if name == "nanquantile" else ()
    for axis in (None, 0):
        found = []
        for ns in (np, xp):
            x = ns.asarray(_FEW[few])
            with warnings.catch_warnings(record=True) as caught, xp.config(float_warnings=True):
                warnings.simplefilter("always")
                try:
                    np.asarray(getattr(ns, name)(x, *fraction, axis=axis))
                except ValueError:
                    caught.append("an error")
            # Whether a division by nothing is told of, too, differs among NumPy's own.
            found.append(
                {str(getattr(w, "message", w)) for w in caught}
                - {"invalid value encountered in divide", "invalid value encountered in scalar divide"}
            )
        assert found[0] == found[1], axis


@pytest.mark.parametrize("way", ["in place", "setitem", "out", "part"])
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_what_is_written_over_is_not_computed_again_to_tell_of_faults(way: str) -> None:
    a, b = np.arange(1.0, 3001.0), np.arange(3000.0) % 7
    with xp.config(float_warnings=True):
        x, y = xp.asarray(a) * 1.0, xp.asarray(b)
        assert float(x[0]) == 1.0
        if way == "in place":
            x /= y
        elif way == "setitem":
            x[...] = x / y
        elif way == "out":
            xp.divide(x, y, out=x)
        else:
            x[:] = x[:] / y[:]
        got = np.asarray(x)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(got, a / b)


UNDERFLOWS = """
tiny * tiny
tiny * 1e-200
tiny / (1 / tiny)
tiny ** 2
np.exp(-1 / tiny * 0 - 800)
np.exp(tiny * 0 - 800.0) * 2 + 1
np.square(tiny)
np.sum(tiny * 1e-200)
np.prod(np.append(tiny, [1e-200, 1e-200]))
np.logaddexp(tiny, -800.0)
tiny[0] * 1e-200
tiny.astype(np.float32) * np.float32(1e-30)
tiny *= 1e-200; tiny
"""


@pytest.mark.parametrize("program", UNDERFLOWS.strip().splitlines())
@pytest.mark.parametrize("n", [1, 3, 3000, 200_000])
def test_underflow_is_told_of_where_it_is_asked_for(program: str, n: int) -> None:
    for mode in ("warn", "ignore"):
        found = []
        for np_ in (xp, np):
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                with np_.errstate(under=mode):
                    known(run(program, np_, {"tiny": np_.full(n, 1e-200)}))
            found.append({str(w.message) for w in heard})
        assert found[0] == found[1]
        assert bool(found[0]) == (mode == "warn")


def test_seterr_is_seen_by_no_other_thread():
    """NumPy's state is each thread's own, and begins as usual in a new one, whatever an earlier one left."""

    def ask(x: Any) -> set[str]:
        with xp.config(float_warnings=True):  # a thread of its own, too
            return told(lambda: 1 / x)

    def leave_behind(mode: str) -> None:
        xp.seterr(divide=mode)
        xp.zeros(3) + 1

    with ThreadPoolExecutor(1) as other:
        for mode in ("raise", "ignore", "warn"):
            thread = threading.Thread(target=leave_behind, args=(mode,))
            thread.start()
            thread.join()
            for size in (3, 5000):
                for run in (ask, lambda x: other.submit(ask, x).result()):
                    assert run(xp.zeros(size)) == {"divide by zero encountered in divide"}
        before = xp.seterr(divide="raise")
        try:
            assert other.submit(ask, xp.zeros(3)).result() == {"divide by zero encountered in divide"}
            with pytest.raises(FloatingPointError):
                1 / xp.zeros(3)
        finally:
            xp.seterr(**before)


def test_the_interpreter_ends_quietly_where_seterr_asks_for_errors() -> None:
    program = """
import threading
import nabla_array as xp
xp.seterr(divide="raise")
asked = threading.Event()
def ask():
    xp.seterr(over="raise")
    asked.set()
    threading.Event().wait()
threading.Thread(target=ask, daemon=True).start()
asked.wait()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_seterr_in_a_block_counts_until_its_end():
    for mode in ("raise", "print", "warn"):
        with xp.errstate(divide="ignore"):
            before = xp.seterr(over=mode)
            xp.seterr(invalid="ignore")
            assert np.geterr() == {**before, "over": mode, "invalid": "ignore"}
            assert not told(lambda: 1 / xp.zeros(3))
            assert not told(lambda: xp.sqrt(xp.zeros(3) - 1))
            if mode == "raise":
                with pytest.raises(FloatingPointError, match="overflow"):
                    xp.exp(xp.full((3,), 1e4))
        assert told(lambda: 1 / xp.zeros(3)) == {"divide by zero encountered in divide"}
        assert told(lambda: xp.exp(xp.full((3,), 1e4))) == {"overflow encountered in exp"}
        assert told(lambda: xp.sqrt(xp.zeros(3) - 1)) == {"invalid value encountered in sqrt"}


@pytest.mark.parametrize(
    ("filters", "is_seen"),
    [
        ([], True),
        ([("ignore", None, Warning, None, 0)], False),
        ([("ignore", None, RuntimeWarning, None, 0)], False),
        ([("ignore", None, DeprecationWarning, None, 0)], True),
        ([("ignore", re.compile("overflow"), Warning, None, 0)], True),
        ([("ignore", None, Warning, re.compile("scipy"), 0)], True),
        ([("ignore", None, Warning, None, 7)], True),
        ([("default", None, Warning, None, 0), ("ignore", None, Warning, None, 0)], True),
    ],
)
def test_warnings_are_seen_unless_the_first_filter_ignores_all(filters: list[Any], is_seen: bool) -> None:
    with warnings.catch_warnings():
        warnings.filters[:] = filters  # type: ignore[index]
        assert faults.sees_warnings() is is_seen
        assert compiled is None or compiled.sees_warnings() is is_seen


def test_no_warnings_are_seen_where_the_settings_want_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with xp.config(float_warnings=False):
            assert not faults.sees_warnings()
            assert compiled is None or not compiled.sees_warnings()


@pytest.mark.skipif(compiled is None, reason="Python's own path computes when somebody looks")
def test_what_is_ignored_is_not_told_later() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = xp.log(xp.zeros(3))
        y = x[0] - x[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.tolist() == [-np.inf] * 3
        assert np.isnan(float(y))


LOOKS: dict[str, Callable[[Any], Any]] = {
    "an element": lambda y: y[3],
    "the first of all": lambda y: next(iter(y)),
    "a mask": lambda y: y.__setitem__(y == 0, 1.0),
    "what is written": lambda y: xp.zeros(y.shape).__setitem__(slice(None), y),
    "bytes": lambda y: y.tobytes(),
    "a copy": np.asarray,
    "a sum": lambda y: float(y.sum()),
}


@pytest.mark.skipif(compiled is None, reason="Python's own path computes one by one")
@pytest.mark.parametrize("look", LOOKS)
def test_what_loops_computed_with_faults_is_told_of_and_kept(
    look: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pending() -> Any:
        x = xp.linspace(0, 1, 20_000)
        y = (1 / x + x) * 2
        assert y._node.value is None
        return y

    monkeypatch.setattr(evaluator, "_run_one", lambda node: pytest.fail("computed one by one"))
    with pytest.warns(RuntimeWarning) as told:
        LOOKS[look](pending())
    assert [(str(w.message), w.filename) for w in told] == [
        ("divide by zero encountered in divide", __file__)
    ]
    y = pending()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
            LOOKS[look](y)
        assert float(y[1]) == 2 * (19_999 + 1 / 19_999)  # told of once


@pytest.mark.skipif(compiled is None, reason="Python's own path computes one by one")
def test_each_operation_with_faults_is_named() -> None:
    x = xp.linspace(0, 1, 20_000)
    y = xp.log(x) * 1e308 + 1 / x
    with pytest.warns(RuntimeWarning) as told:
        y[0].item()
    a = np.linspace(0, 1, 20_000)
    with pytest.warns(RuntimeWarning) as wanted:
        _ = np.log(a) * 1e308 + 1 / a
    assert {str(w.message) for w in told} == {str(w.message) for w in wanted}
    assert len(told) == len(wanted) > 2


def test_threads_that_look_at_the_same_are_told_of_it() -> None:
    x = xp.linspace(0, 1, 60_000)
    y = (1 / x + x) * 2

    def look(_: int) -> float:
        with xp.config(float_warnings=True, mode="host"):
            return float(y[1])

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with ThreadPoolExecutor(4) as pool:
            found = set(pool.map(look, range(8)))
    a = np.linspace(0, 1, 60_000)[1]
    assert found == {(1 / a + a) * 2}
    assert [str(w.message) for w in told] == ["divide by zero encountered in divide"]
