"""Libraries that ask for NumPy's arrays do with ours what they do with NumPy's."""

from __future__ import annotations

import importlib
import io
import textwrap
import warnings
import wave
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.core.views import borrowing, reading, trusted
from nabla_array._namespace.interop import rows
from nabla_array._namespace.interop.functions import HostFallbackWarning
from nabla_array._namespace.interop.policies import floats, giving, standards
from nabla_array._namespace.interop.rows import Row

from ...optional import HAS_BUFFERS, NO_BUFFERS
from .row_calls import CALLS, NAMES

V = {
    "A": np.array([3.0, 1.0, 3.0, 2.0, 5.0, 1.0]),
    "I": np.array([1, 2, 2, 1, 3, 1]),
    "B": np.array([True, False, True, False, True, False]),
    "N": np.arange(6),
    "T": np.arange(12.0).reshape(6, 2),
    "S": np.arange(36.0).reshape(6, 6) % 7,
}

# What is always on, as NumPy itself is always there, is in no table.
# C code behind these reads our memory.
BUFFERS = {"sklearn.linear_model._coordinate_descent", "wave"}
# Modules that ask what a scalar is, and need no row: it is what NumPy's are.
SCALARS = {
    *("_pytest.approx", "fractions", "scipy.interpolate._fitpack2", "scipy.interpolate._interpolate"),
    *("scipy.signal._short_time_fft", "scipy.stats._stats_py", "zarr.core.common"),
}
ROWS = (*rows.ROWS, Row("numpy.lib._stride_tricks_impl", reading, "counts on the strides that we tell"))
# Rows for other releases of a library than those that the tests are run with, by what changed it, ...
ELSEWHERE = {"pandas.core.common": "pandas 3"}
# ... or for what has tests of its own.
ELSEWHERE |= {
    row.module: "test_scalars_are_arrays_for_array_api_extra" for row in ROWS if row.told is standards
}
ELSEWHERE |= {row.module: "test_floats.py" for row in ROWS if row.told is floats}
ELSEWHERE |= {
    row.module: "test_lent.py" for row in ROWS if any(row.told is t for t in (borrowing, trusted, giving))
}


def names_for(module: str, f: Callable[[Any], Any]) -> dict[str, Any]:
    """Return what the calls of a module's row are evaluated with."""
    package = module.partition(".")[0]
    pytest.importorskip(package, reason=f"{package} is optional")
    names: dict[str, Any] = {**V, "f": f, "ns": xp if f is xp.asarray else np, "np": np, "pytest": pytest}
    for entry in NAMES.get(package, []):
        path, _, name = entry.partition(" as ")
        home, _, last = path.rpartition(".")
        names[name or last] = (
            importlib.import_module(path) if name else getattr(importlib.import_module(home), last)
        )
    if package == "matplotlib":
        names["pyplot"].switch_backend("Agg")
        names["streamplot"] = names["pyplot"].figure().gca().streamplot
        names["pyplot"].close()
        names["lines"] = lambda plot: [
            plot.lines.get_array(),
            plot.lines.get_linewidths(),
            plot.lines.get_segments(),
        ]
    if package == "pandas":
        names["d"] = names["pd"].DataFrame({"a": np.arange(6), "b": np.arange(6) * 0.5, "d": list("xyxyxy")})
        names["w"] = names["pd"].DataFrame(V["T"].copy())
        names["s"] = names["pd"].Series(V["A"].copy())
    if package == "astropy":
        names["indexed"] = names["Table"]({"a": V["I"], "b": V["A"]})
        names["indexed"].add_index("a")
        uncertainty = names["nddata"].StdDevUncertainty(V["A"] / 9)
        names["measured"] = names["nddata"].NDDataRef(V["A"], uncertainty=uncertainty)
        names["fits_of"] = partial(fits_of, names["fits"])
    if package == "pyamg":
        names |= {"TRIANGLE": TRIANGLE, "poisson": poisson, "relaxed": relaxed}
    if package == "pint":
        names["units"] = names["pint"].UnitRegistry()
    if package == "statsmodels":
        names["imputed"] = names["mice"].MICEData(names["pd"].DataFrame(V["T"], columns=["a", "b"]))
    if package == "h5py":
        names["H5"] = memory_file()
    if package == "sympy":
        names["x"] = names["sympy"].Symbol("x")
    return names | {
        "written": written,
        "written_values": written_values,
        "Fraction": Fraction,
        "put": put,
        "fails": fails,
        "is_numpys": is_numpys,
        "into": Into(f),
    }


# Corners, and the numbers of those of each triangle.
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[0, 1, 2], [1, 3, 2]])


def poisson(n: int) -> Any:
    return importlib.import_module("pyamg.gallery").poisson((n,), format="csr")


def relaxed(method: Callable[..., Any], x: Any, b: Any) -> Any:
    """Return what a method of relaxation, which writes to `x`, makes of it."""
    method(poisson(8), x, b, iterations=3)
    return x


def fits_of(fits: Any, write: Callable[[io.BytesIO], Any]) -> Any:
    file = io.BytesIO()
    write(file)
    with fits.open(io.BytesIO(file.getvalue())) as found:
        return found[-1].data


def memory_file() -> Any:
    h5py = importlib.import_module("h5py")
    file = h5py.File("memory", "w", driver="core", backing_store=False)
    file["a"] = V["A"]
    return file


def written(frames: Any) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(frames)
    return file.getvalue()


def written_values(array: Any) -> Any:
    array.values[1] = 9.0
    return array


def put(target: Any, key: Any, value: Any) -> Any:
    target[key] = value
    return target.obj if hasattr(target, "obj") else target


def fails(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def is_numpys(drawn: Any) -> Any:
    assert type(drawn) is np.ndarray
    return drawn


class Into:
    """Calls a function with an output of ours, or NumPy's, and returns what was written to it."""

    def __init__(self, f: Callable[[Any], Any]) -> None:
        self.f = f

    def __call__(self, function: Callable[[Any], Any], dtype: Any = float) -> Any:
        out = self.f(np.full((6, 6), 9, dtype))
        function(out)
        return np.asarray(out)


def plain(value: Any) -> Any:
    """Return a result as it prints, whoever's arrays are in it; but pandas holds none of ours."""
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    assert not any(
        type(block.values) is xp.Array for block in getattr(getattr(value, "_mgr", None), "blocks", ())
    )
    return repr(np.asarray(value) if type(value) is xp.Array else value)


def outcomes(module: str, f: Callable[[Any], Any]) -> list[Any]:
    found = []
    for call in textwrap.dedent(CALLS[module]).strip().splitlines():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", HostFallbackWarning)
                found.append((call, plain(eval(call, names_for(module, f)))))
        except Exception as error:
            found.append((call, error))
    return found


def test_every_row_has_a_test() -> None:
    assert {row.module for row in ROWS} | SCALARS == {*CALLS, *ELSEWHERE}
    assert all(row.reason for row in ROWS)


@pytest.mark.parametrize("module", CALLS)
def test_a_library_does_the_same_with_our_arrays(module: str) -> None:
    if module in BUFFERS and not HAS_BUFFERS:
        pytest.skip(NO_BUFFERS)
    for ours, numpys in zip(outcomes(module, xp.asarray), outcomes(module, lambda a: a), strict=True):
        assert ours == numpys


@pytest.mark.parametrize("row", [r for r in ROWS if r.module not in ELSEWHERE], ids=lambda r: r.reason)
def test_it_would_not_without_the_row(row: Row) -> None:
    if row.reason == "`aslinearoperator` takes no others" and version("scipy") >= "1.18":
        pytest.skip("it takes others since SciPy 1.18")
    if row.module in BUFFERS and not HAS_BUFFERS:
        pytest.skip(NO_BUFFERS)
    wanted = [str(found) for found in outcomes(row.module, xp.asarray)]
    row.told.remove(row.module)
    try:
        assert [str(found) for found in outcomes(row.module, xp.asarray)] != wanted
    finally:
        row.told.add(row.module)
