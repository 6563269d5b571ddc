"""What a notebook, a shell and an editor show: pictures, names to complete."""

from __future__ import annotations

import base64
import re
import sys
from types import ModuleType

import pytest

import nabla_array as xp
from nabla_array import distributed, transforms
from nabla_array.transforms import vmap


def pictures(html: str) -> list[str]:
    return [base64.b64decode(x).decode() for x in re.findall(r"base64,([^\"]+)", html)]


def shown(x: xp.Array) -> str:
    html = x._repr_html_()
    assert html is not None
    return html


def test_an_array_shows_its_shape_dtype_and_elements() -> None:
    html = shown(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    assert "2 x 2, float64, 32 B, cpu" in html
    assert "array([[1., 2.],\n       [3., 4.]])" in html
    assert not pictures(html)


def test_ipython_shows_what_was_pending() -> None:
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    formatter.active_types = formatter.format_types
    shown_by_ipython, _ = formatter.format(xp.exp(xp.ones(100_000)) + 1)
    assert len(pictures(shown_by_ipython["text/html"])) == 1
    assert shown_by_ipython["text/plain"].startswith("array([3.71828183, ")
    assert set(formatter.format(xp.sum(xp.ones(3)))[0]) == {"text/plain"}


def test_what_was_pending_shows_its_operations() -> None:
    x = xp.exp(xp.ones(100_000)) + 1
    html = shown(x)
    (picture,) = pictures(html)
    assert picture.startswith("<svg")
    assert "exp" in picture
    assert not pictures(shown(x))  # it is computed now


def test_an_array_on_a_mesh_shows_its_shards() -> None:
    x = distributed.shard(xp.arange(8.0), distributed.DeviceMesh((2,), ("dp",)), "dp")
    xp.eval(x)
    (picture,) = pictures(shown(x))
    assert "device 1" in picture


def test_the_report_is_a_table() -> None:
    assert "<tr><th>evaluations</th>" in xp.report()._repr_html_()


def test_numbers_and_batches_are_shown_as_text() -> None:
    assert xp.sum(xp.ones(3))._repr_html_() is None
    seen = []
    vmap(lambda x: seen.append(x._repr_html_()) or x)(xp.ones((2, 3)))
    assert seen == [None]


@pytest.mark.parametrize("module", [xp, xp.fft, xp.linalg, xp.random, xp.lib, transforms, distributed])
def test_listing_names_shows_public_ones_and_imports_nothing(module: ModuleType) -> None:
    before = {*sys.modules}
    names = dir(module)
    assert {*sys.modules} == before
    assert len(names) > 2
    assert [n for n in names if n.startswith("_") and not n.startswith("__")] == []
    assert [n for n in names if not hasattr(module, n)] == []


def test_listing_an_array_computes_nothing() -> None:
    x = xp.exp(xp.ones(100_000))
    names = dir(x)
    assert [n for n in names if n.startswith("_") and not n.startswith("__")] == []
    assert {"sum", "T", "shape", "to_device"} <= {*names}
    assert "pending" in str(xp.explain(x))
    assert sys.getsizeof(xp.zeros(1000)) > 8000


def test_special_lists_the_names_that_scipy_has() -> None:
    pytest.importorskip("scipy.special")
    assert {"gamma", "erf"} <= {*dir(xp.special)}


@pytest.mark.parametrize("use_jedi", [False, True])
def test_ipython_completes_names(use_jedi: bool) -> None:
    pytest.importorskip("IPython")
    from IPython.core.completer import provisionalcompleter
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.user_ns.update(xp=xp, x=xp.asarray([1.0]))
    shell.Completer.use_jedi = use_jedi

    def found(text: str) -> set[str]:
        with provisionalcompleter():
            return {c.text.rpartition(".")[2] for c in shell.Completer.completions(text, len(text))}

    assert {"arange", "arccos"} <= found("xp.ar")
    assert "solve" in found("xp.linalg.s")
    assert {"default_rng"} <= found("xp.random.def")
    assert {"sum", "std"} <= found("x.s")
