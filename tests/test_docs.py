"""What the docs show is what happens: their code runs, their links lead somewhere, tables are up to date."""

from __future__ import annotations

import doctest
import importlib.util
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nabla_array._lazy.config import config
from nabla_array._lazy.max import trials

from .lazy.canonical_host import numpy_as_max

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)


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


def run(page: Path) -> dict[str, Any]:
    """Run a page's examples, in one namespace; returns that."""
    text = examples(page.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    names = test.globs
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST)
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)
    return names


@pages
def test_examples_run(page: Path) -> None:
    # On max.md something is compiled, which takes half a minute: NumPy does it, in no time.
    with numpy_as_max() if page.name == "max.md" else nullcontext():
        names = run(page)
    if page.name == "laziness.md":
        picture = page.parent / "images" / "explain.svg"
        assert picture.read_text(encoding="utf-8") == names["svg"], f"write `svg` to {picture.name} again"


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


def generator() -> ModuleType:
    path = ROOT / "docs" / "generate_coverage.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_coverage_table_is_up_to_date() -> None:
    module = generator()
    text = module.page()
    assert module.PAGE.read_text(encoding="utf-8") == text, "run `python docs/generate_coverage.py`"
    assert "**missing**" not in text


def test_the_table_of_settings_names_them_all() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for name in dir(config):
        assert f"| `{name}` | `NABLA_ARRAY_{name.upper()}` |" in text
