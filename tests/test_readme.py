"""The README's table compares with other libraries: each row that can be tried here is tried."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, shard, simulate
from nabla_array.transforms import grad, hessian, jvp, vmap

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8").partition("## How it compares")[2]
LINES = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line[:1] == "|"
]
TABLE = {row[0]: dict(zip(LINES[0][1:], row[1:], strict=True)) for row in LINES[2:]}
OURS, NUMPY, JAX, DASK = "nabla_array", "NumPy 2.4", "JAX 0.10", "dask.array"


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def written(a: Any) -> Any:
    view = a[1:]
    view *= 2.0
    a[0] = a[1] * a[2]
    return a[0] + a[1]


def jax() -> ModuleType:
    return pytest.importorskip("jax")


def dask() -> ModuleType:
    return pytest.importorskip("dask.array")


def sees_writes(np: ModuleType) -> bool:
    """Tell whether elements can be set, and a view made before sees it."""
    x = np.asarray([1.0, 2.0, 3.0])
    view = x[1:]
    x[1] = 5.0
    return bool(view[0] == 5.0)


def refuses(call: Callable[[], object], *errors: type[Exception]) -> bool:
    with pytest.raises(errors):
        call()
    return True


def test_every_row_has_a_claim_of_ours() -> None:
    assert all(row[OURS] for row in TABLE.values())
    assert set(TABLE) == set(ROWS)


def _standard(row: dict[str, str]) -> None:
    assert row[OURS] == xp.__array_api_version__
    here = ".".join(np.__version__.split(".")[:2])
    if not NUMPY.endswith(here):
        pytest.skip(f"the table is of {NUMPY}, and this is {here}")
    assert row[NUMPY] == np.__array_api_version__


def _run(row: dict[str, str]) -> None:
    assert row[OURS] == "when a value is needed"
    x = xp.arange(100_000.0)
    assert xp.explain(x * 2).operations() == 1


def _fused(row: dict[str, str]) -> None:
    assert row[OURS].startswith("in blocks, by NumPy's loops")
    x = xp.eval(xp.arange(1_000_000.0))
    assert "1 fusion group" in str(xp.explain(xp.exp(x) * 2 + 1))


def _seeds(row: dict[str, str]) -> None:
    assert (row[OURS], row[NUMPY], row[JAX], row[DASK]) == ("yes", "yes", "no", "no")
    ours = xp.random.default_rng(5).normal(size=4)
    assert np.array_equal(ours, np.random.default_rng(5).normal(size=4))
    theirs = dask().random.default_rng(5).normal(size=4).compute()
    assert not np.array_equal(ours, theirs)


def _writes(row: dict[str, str]) -> None:
    assert row[OURS] == row[NUMPY] == "both"
    assert row[DASK] == "assignment only"
    assert sees_writes(xp)
    assert sees_writes(np)
    assert not sees_writes(dask())


def _floats(row: dict[str, str]) -> None:
    for name, asarray in ((OURS, xp.asarray), (NUMPY, np.asarray), (DASK, dask().asarray)):
        assert row[name] == str(asarray([1.0]).dtype)


def _shapes(row: dict[str, str]) -> None:
    assert row[OURS] == "evaluate"
    x = xp.arange(100_000.0)
    assert x[x > 5].shape == (99_994,)
    assert row[DASK] == "with unknown chunk sizes"
    theirs = dask().arange(10)
    assert np.isnan(theirs[theirs > 5].shape[0])


def _derivatives(row: dict[str, str]) -> None:
    assert row[OURS] == "any order, forward and reverse, through branches, loops and writes"
    assert grad(grad(grad(newton)))(4.0) == pytest.approx(3 / 8 * 4**-2.5)
    assert jvp(newton, (4.0,), (1.0,))[1] == pytest.approx(0.25)
    assert grad(written)(xp.asarray([1.0, 2.0, 3.0])).tolist() == [0.0, 14.0, 8.0]
    assert hessian(written)(xp.asarray([1.0, 2.0, 3.0]))[1, 2] == 4.0


def _batches(row: dict[str, str]) -> None:
    assert row[OURS] == "splits the batch"
    assert np.allclose(vmap(newton)(xp.asarray([4.0, 9.0])), [2.0, 3.0])


def _accelerators(row: dict[str, str]) -> None:
    assert "tested on one H100" in row[OURS]
    page = (ROOT / "docs" / "concepts" / "tiers.md").read_text(encoding="utf-8")
    assert "On one NVIDIA H100" in page
    assert "No other accelerator was at hand" in page


def _devices(row: dict[str, str]) -> None:
    assert row[OURS].startswith("threads of one machine, workers of a Dask cluster")
    x = shard(xp.arange(12.0), DeviceMesh(2, "d"), P("d"))
    x[:3] = 0.0
    assert float(xp.sum(x)) == 63.0
    assert {"local", "dask"} <= set(re.findall(r"\w+", inspect.getdoc(DeviceMesh) or ""))


def _moves(row: dict[str, str]) -> None:
    assert row[OURS].startswith("printed before it runs, with its bytes, and simulated")
    x = shard(xp.ones((8, 4)), DeviceMesh(2, "d"), P("d"))
    assert "all_reduce" in str(xp.explain(x.T @ x))
    assert simulate(lambda x: x.T @ x, 100, x).nbytes > 0


ROWS = {
    "Array API standard": _standard,
    "operations run": _run,
    "elementwise operations fused": _fused,
    "seeds give NumPy's random numbers": _seeds,
    "`x[i] = v`, and views that see it": _writes,
    "float of Python numbers": _floats,
    "results whose shape depends on data": _shapes,
    "derivatives": _derivatives,
    "`vmap` of code that branches on values": _batches,
    "GPUs": _accelerators,
    "arrays cut over devices": _devices,
    "what moves between devices": _moves,
}


@pytest.mark.parametrize("name", ROWS)
def test_the_row_holds(name: str) -> None:
    ROWS[name](TABLE[name])


def test_what_the_table_says_of_jax() -> None:
    numpys = pytest.importorskip("jax.numpy")
    of = jax()
    assert JAX.endswith(".".join(of.__version__.split(".")[:2]))
    assert TABLE["Array API standard"][JAX] == numpys.__array_api_version__
    assert TABLE["float of Python numbers"][JAX] == "float32 unless configured"
    x = numpys.asarray([4.0, 9.0])
    assert refuses(lambda: x.__setitem__(0, 1.0), TypeError)
    assert refuses(lambda: of.jit(lambda x: x[x > 5])(x), IndexError, of.errors.NonConcreteBooleanIndexError)
    assert TABLE["`vmap` of code that branches on values"][JAX] == "refuses"
    assert refuses(lambda: of.vmap(newton)(x), of.errors.TracerBoolConversionError)
    assert grad(newton)(4.0) == pytest.approx(float(of.grad(newton)(4.0)), rel=1e-5)
