"""What the docs show is what happens: their code runs, their links lead somewhere, tables are up to date."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import io
import pkgutil
import re
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nabla_array
from nabla_array._lazy.config import config
from nabla_array._lazy.max import trials
from nabla_array._lazy.native import compiled

from .lazy.canonical_host import numpy_as_max

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/[!_]*/*.md"))]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    trials.begin_anew()  # a page reads as if nothing had run before it
    with config(mode=config.mode, threads=config.threads):
        yield


def examples(text: str) -> str:
    """The lines within python fences, everything else blank, so that line numbers stay."""
    inside, lines = False, []
    for line in text.splitlines():
        fence = line.startswith("```")
        lines.append(line if inside and not fence else "")
        inside = line == "```python" if fence else inside
    return "\n".join(lines)


class Runner(doctest.DocTestRunner):
    """Raises what an example raises: where a library is not installed, the test is skipped for that."""

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        raise AssertionError(f"{test.name}: {example.source}") from exc_info[1]


# What prints something else where nothing is compiled: there are no tiles then, and no loops.
_OF_COMPILED = ("print(xp.explain(examples.T", "print(lowered.as_text())")


def run(page: Path) -> dict[str, Any]:
    """Run a page's examples, in one namespace; returns that."""
    text = examples(page.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    if compiled is None:
        for example in test.examples:
            if any(line in example.source for line in _OF_COMPILED):
                example.options[doctest.SKIP] = True
    names = test.globs
    report: list[str] = []
    runner = Runner(optionflags=doctest.FAIL_FAST)
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)
    return names


@pages
def test_examples_run(page: Path) -> None:
    # On this page something is compiled, which takes half a minute: NumPy does it, in no time.
    with numpy_as_max() if page.name == "tiers.md" else nullcontext():
        names = run(page)
    if page.name == "laziness.md":
        picture = ROOT / "docs" / "images" / "explain.svg"
        assert picture.read_text(encoding="utf-8") == names["svg"], f"write `svg` to {picture.name} again"


@pytest.mark.slow
def test_the_tutorial_runs() -> None:
    """Its cells in one namespace, as the notebook's; the site shows what they print and draw."""
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("scipy")
    generate = script("generate_notebook")
    text = generate.SOURCE.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "tutorial"}
    shown = io.StringIO()
    with redirect_stdout(shown):
        for i, code in enumerate(generate.code_cells(text)):
            exec(compile(code, f"cell {i} of {generate.SOURCE.name}", "exec"), names)
    assert shown.getvalue().count("the same bits: True") == 2
    assert abs(float(names["k"]) - 0.17) < 0.002
    assert generate.NOTEBOOK.read_text(encoding="utf-8") == generate.notebook(text), (
        "run `python docs/generate_notebook.py`"
    )


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


@pages
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(found.read_text(encoding="utf-8")), f"{page.name} links to {target}"


def script(name: str) -> ModuleType:
    path = ROOT / "docs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Parts of the package that users run, or that hold what they find elsewhere, and import nothing of.
_UNLISTED = {"__main__", "cache_command", "demo", "inspect", "lib", "runner", "typing", "version"}
_GONE = {"row_stack"}  # which NumPy 2.5 lists no longer
_FOREIGN = {"Any", "ModuleType", "TYPE_CHECKING", "annotations", "import_module"}


def test_each_public_module_and_name_has_a_page() -> None:
    """`make docs` compares what is listed here with the pages of the site."""
    listed = script("api_names")
    modules = {m.name for m in pkgutil.iter_modules(nabla_array.__path__) if not m.name.startswith("_")}
    assert modules - _UNLISTED == {m for m in listed.MODULES if "." not in m}
    assert {n for n in np.__all__ if hasattr(nabla_array, n)} - modules <= set(listed.names(""))
    for part in ("", *listed.MODULES):
        module = listed.module(part)
        public = {n for n in dir(module) if not n.startswith("_") and _is_ours(getattr(module, n))}
        if part in ("", "transforms"):  # the others have an `__all__`
            assert public - modules - _GONE <= set(listed.names(part))
        assert {*getattr(module, "__all__", ())} - _FOREIGN <= {*listed.names(part)} | modules
    assert sorted(n for names in listed.contents("").values() for n in names) == listed.names("")
    index = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    for part in ("", *listed.MODULES):
        assert f"api/{listed.module(part).__name__}\n" in index


def test_each_public_function_and_class_of_ours_has_an_example() -> None:
    listed = script("api_names")
    shows_the_machine = {"show_config", "show_runtime", "test"}
    for part in ("", *listed.MODULES):
        if part == "special":  # one line each, which leads to SciPy's documentation
            continue
        for name in {*listed.names(part)} - shows_the_machine:
            value = getattr(listed.module(part), name)
            home = str(getattr(value, "__module__", None) or type(value).__module__)
            if home.startswith("nabla_array") and not inspect.ismodule(value):
                assert ">>>" in str(value.__doc__), f"{listed.module(part).__name__}.{name}"


def _is_ours(value: Any) -> bool:
    home = getattr(value, "__module__", None)
    return isinstance(home, str) and home.startswith("nabla_array") and not inspect.ismodule(value)


def test_coverage_table_is_up_to_date() -> None:
    module = script("generate_coverage")
    text = module.page()
    assert module.PAGE.read_text(encoding="utf-8") == text, "run `python docs/generate_coverage.py`"
    assert "**missing**" not in text


def test_pictures_of_the_site_are_small() -> None:
    pictures = [*(ROOT / "docs" / "images").glob("site-*.png")]
    assert len(pictures) == 3
    assert all(picture.stat().st_size < 200_000 for picture in pictures)


def test_the_picture_of_gains_is_up_to_date() -> None:
    module = script("generate_gains")
    text = module.picture(module.PAGE.read_text(encoding="utf-8"))
    assert module.PICTURE.read_text(encoding="utf-8") == text, "run `python docs/generate_gains.py`"


def test_the_table_of_settings_names_them_all() -> None:
    text = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    for name in dir(config):
        assert f"| `{name}` | `NABLA_ARRAY_{name.upper()}` |" in text
