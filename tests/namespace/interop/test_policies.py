"""Nobody but the modules of the table (test_rows.py) is told anything but the truth."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.interop.mixed import COMPAT
from nabla_array._namespace.interop.policies import standards
from nabla_array._namespace.interop.rows import ROWS
from nabla_array.distributed import DeviceMesh, P, shard
from nabla_array.transforms import compile, grad, trace, vmap

# Functions of libraries that once were told more by their names, whoever had written them.
FUNCTIONS = [
    *("streamplot", "factorize", "get_grouper", "_convert_grouper", "aslinearoperator", "_get_output"),
    *("as_strided", "is_lazy_array", "sympify", "_as_numpy_array", "isscalar", "_ensure_arraylike"),
    *("convert_to_list_like", "is_bool_indexer", "is_array_like_deprecate_non_pandas"),
]
METHODS = [
    *("DataFrame.set_index", "Dataset._validate_interp_indexers", "Grouping.__init__", "Fraction.__new__"),
    *("ParameterGrid.__init__", "_InstancesOf.is_satisfied_by", "_ndptr.from_param"),
]
BODY = """
is_array = isinstance(x, np.ndarray), isinstance(x, (list, np.ndarray)), issubclass(x.__class__, np.ndarray)
copy = np.asarray(x)
copy[0] = 7
assert isinstance(s, float) and isinstance(s, np.floating) and s.__class__ is np.float64
return {*is_array, hasattr(x, "__array_interface__"), hasattr(x, "__sympy__"), bool(x[0] == 7)}
"""


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_a_function_of_a_users_is_told_the_truth(name: str) -> None:
    body = textwrap.indent(BODY, "    ")
    *owner, name = name.split(".")
    code = f"def {name}(x, s, strict=True):{body}"
    if owner:
        code = f"class {owner[0]}:\n" + textwrap.indent(code.replace("(x", "(self, x", 1), "    ")
    for module in ("mine", "__main__", "streamplot", "pandas_tools", "scipy_like.ndimage"):
        names: dict[str, Any] = {"np": np, "__name__": module, "__package__": "scipy.ndimage"}
        exec(code, names)
        x = xp.asarray(np.array([3.0, 1.0, 2.0]))
        found = vars(names[owner[0]])[name](None, x, x[0]) if owner else names[name](x, x[0])
        assert found == {False}


EXTRAS = sorted({row.module.partition("array_api_extra")[0] for row in ROWS if row.told is standards})


@pytest.mark.parametrize("home", EXTRAS)
def test_scalars_are_arrays_for_array_api_extra(home: str) -> None:
    xpx = pytest.importorskip(f"{home}array_api_extra", reason="another release, or library, has it")
    numbers = xp.asarray([0.5, 1.5])

    def chosen(x: xp.Array) -> xp.Array:
        return xpx.apply_where(x > 1, x, lambda x: x * 3, fill_value=x)

    assert [float(chosen(x)) for x in numbers] == [0.5, 4.5]
    assert [float(grad(chosen)(x)) for x in numbers] == [1.0, 3.0]
    mesh = DeviceMesh((2,), ("x",))
    total = xp.sum(shard(xp.ones(4), mesh, P("x")))
    assert xpx.apply_where(False, total, xp.round, fill_value=total).device == mesh


def test_a_generator_gives_ours_to_everybody_else() -> None:
    for code in ("import numpy as np", "import numpy", "import pandas as pd, numpy as np", ""):
        names: dict[str, Any] = {"__name__": "mine"}
        exec(f"{code}\ndef draw(rng):\n    return rng.random(3)", names)
        for rng in (xp.random.default_rng(0), xp.random.RandomState(0)):
            assert type(names["draw"](rng)) is xp.Array


LAZY = [f"{package}.common._helpers" for package in COMPAT]


@pytest.mark.parametrize("module", LAZY)
def test_is_lazy_array(module: str) -> None:
    is_lazy = pytest.importorskip(
        module, reason="SciPy, scikit-learn or array-api-compat has it"
    ).is_lazy_array
    x, answers = xp.asarray([0.3, 0.5, 0.7]), []

    def f(x: xp.Array) -> xp.Array:
        answers.append(is_lazy(x > 0.4))
        return x * 2

    f(x)
    vmap(f)(x)  # in one run: nothing was looked at
    grad(lambda x: xp.sum(f(x)))(x)
    assert answers == [False] * 3
    compile(f, fullgraph=True)(x)
    trace(f, x)
    assert answers[3:] == [True] * 2


@pytest.mark.parametrize("module", LAZY)
def test_what_is_recorded_waits_when_asked_whether_it_is_lazy(module: str) -> None:
    is_lazy = pytest.importorskip(
        module, reason="SciPy, scikit-learn or array-api-compat has it"
    ).is_lazy_array
    x = xp.asarray(np.arange(800_000.0).reshape(4, -1))
    for y in (x - 1.0, xp.max(x - 1.0)):
        assert y._node.value is None
        assert not is_lazy(y)
        assert y._node.value is None
        assert y[(0,) * y.ndim] in (-1.0, 799_998.0)


def test_a_users_function_of_that_name_looks_at_values() -> None:
    answers = []

    def is_lazy_array(x: xp.Array) -> bool:
        answers.append(bool(x))
        return False

    def f(x: xp.Array) -> xp.Array:
        is_lazy_array(x > 0.4)
        return x * 2

    vmap(f)(xp.asarray([0.3, 0.5, 0.7]))
    assert sorted(answers) == [False, True]
    with pytest.raises(TypeError, match="fullgraph"):
        compile(f, fullgraph=True)(xp.asarray(0.3))


def test_nobody_is_looked_at_until_a_library_of_the_table_is_imported() -> None:
    code = """
    import sys
    import nabla_array as xp
    from nabla_array._namespace.interop import policies as p
    on = lambda: p.arrays | p.symbolic | p.sampling
    assert not on(), on()
    import matplotlib.streamplot as s
    assert "matplotlib.streamplot" in p.arrays
    assert s.__loader__ is s.__spec__.loader and type(s.__loader__).__module__ != "nabla_array"
    """
    pytest.importorskip("matplotlib", reason="Matplotlib is optional")
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_libraries_may_be_imported_first() -> None:
    code = "import fractions, nabla_array as xp; assert fractions.Fraction(xp.asarray(0.5)[()]) == 0.5"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory_of_an_array_goes_to_c_only_by_ctypes() -> None:
    x = xp.asarray(np.array([3.0, 1.0, 2.0]))
    np.ctypeslib.ndpointer(np.float64).from_param(x)
    ctypes.memset(x.ctypes.data, 0, 8)
    assert x.tolist() == [0.0, 1.0, 2.0]
