"""Write the pages of the API reference, one for each public name, before Sphinx reads the sources.

A page is made of the name's docstring by numpydoc. Where that refers to NumPy's function for its parameters,
they are taken from there: so a page has the signature, parameters, results, errors and an example.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import api_names
import numpy as np
from api_docstrings import foreign, linked, quoted, rendered, see_also, text_of

from nabla_array._namespace.numpy.draws import EXAMPLES

FOLDER = Path(__file__).parent / "reference"
API = FOLDER / "api"
NUMPY = "https://numpy.org/doc/stable/reference/"
KINDS = {
    "lazy": "records an operation; nothing is computed until a value is needed.",
    "evaluates": "evaluates its arguments, because the result depends on their elements.",
    "at once": "makes an array from known values and computes nothing.",
    "shape and dtype only": "needs shapes and dtypes only, and evaluates nothing.",
    "native": "recorded in the graph wherever there is something to compute.",
    "host": "computed by NumPy's function on the host, and counted in :func:`nabla_array.report`.",
}


def heading(title: str) -> str:
    """Return a page's heading."""
    return f"{title}\n{'=' * len(title)}\n"


@cache
def evaluations(page: str) -> dict[str, str]:
    """Return what calling each name does, from the table of a page of the reference."""
    text = (FOLDER / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[?`([\w.]+)`\]?(?:\(\S+\))? \| ([^|]*?) \|", text, re.M)
    return {name: KINDS[kind] for name, kind in rows if kind in KINDS}


def value_of(part: str, name: str) -> Any:
    """Return the object that a public name stands for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(api_names.module(part), name)


def signature(value: Any) -> str:
    """Return the signature of a callable without annotations."""
    try:
        found = inspect.signature(value)
        bare = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"]
        text = str(found.replace(parameters=bare, return_annotation=found.empty))
    except (TypeError, ValueError):  # a class of NumPy's, or one without arguments of its own
        return "(...)"
    return re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "...", text.replace("\\", ""))


def parameters(value: Any) -> set[str]:
    """Return the names of the parameters of a callable."""
    return set(re.findall(r"\w+", signature(value)))


def directive(kind: str, name: str, sig: str, body: str) -> str:
    """Return a directive of the Python domain."""
    return f".. py:{kind}:: {name}{sig}\n\n{textwrap.indent(body, '   ')}\n"


def kind_of(value: Any) -> str:
    """Return the kind of a value, as the Python domain calls it."""
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if callable(value) and not is_module(value) else "data"


def is_module(value: Any) -> bool:
    """Tell whether this is one of NumPy's modules behind our name."""
    return type(value).__name__ == "NumpyModule"


def is_ours(part: str, name: str, value: Any) -> bool:
    """Tell whether something is documented here, and not only by NumPy."""
    if part not in ("", "random"):
        return True
    if part == "random" and name in EXAMPLES:  # the examples alone are ours
        return False
    home, doc = getattr(value, "__module__", None) or type(value).__module__, text_of(value)
    changed = part == "" and doc != text_of(getattr(np, name, None))
    return home.startswith("nabla_array") and (changed or "nabla_array" in doc)


def members(value: type, part: str) -> str:
    """Return the public attributes and methods of a class."""
    text = []
    for name in sorted(n for n in dir(value) if not n.startswith("_")):
        own = getattr(value, name)
        doc = text_of(own if callable(own) else inspect.getattr_static(value, name))
        if part == "random":
            body = foreign(doc.partition("\n\n")[0]).replace("*", "\\*")
        else:
            numpys = text_of(getattr(np.ndarray, name, None)) if "NumPy's `" in doc else ""
            body = rendered(doc, part, parameters(own) if callable(own) else set(), numpys)
        kind = "method" if callable(own) else "attribute"
        text.append(directive(kind, name, signature(own) if callable(own) else "", body))
    return "\n".join(text)


def theirs(part: str, name: str, value: Any) -> str:
    """Return the body of the page of what is NumPy's own."""
    if is_module(value):
        title = foreign(text_of(value).strip("= \n").partition("\n")[0]).rstrip(".")
        return f"NumPy's module; its functions take our arrays. {title}." + see_also(
            f"{NUMPY}routines.{name}.html"
        )
    if isinstance(value, type):
        first = text_of(value).partition("\n\n")[0]
        path = (
            f"arrays.scalars.html#numpy.{name}"
            if issubclass(value, np.generic)
            else f"generated/numpy.{name}.html"
        )
        path = "random/bit_generators/index.html" if part == "random" else path
        return f"NumPy's class.\n\n{foreign(first)}" + see_also(NUMPY + path, f"`numpy.{name}`")
    if callable(value):
        path = f"random/generated/numpy.random.{name}.html" if part else f"generated/numpy.{name}.html"
        examples = EXAMPLES.get(name, "") if part == "random" else ""
        return quoted(text_of(value), NUMPY + path, examples.partition("---\n")[2])
    shown = repr(value)
    return f"``{shown}``" if len(shown) < 60 else f"NumPy's {type(value).__name__} ``numpy.{name}``."


def told(part: str, name: str, value: Any) -> str:
    """Return what a page says of the evaluation, and of other names of the same function."""
    text = ""
    key = f"{part}.{name}" if part else name
    kind = evaluations("coverage.md").get(key) or evaluations("numpy-coverage.md").get(key)
    if kind and part in ("", "linalg", "fft"):
        text = f"\n\n*Evaluation*: {kind}"
    home = api_names.module(part).__name__
    if callable(value) and not isinstance(value, type):
        twins = [n for n in api_names.names(part) if n != name and value_of(part, n) is value]
        also = ", ".join(f":py:obj:`{n} <{home}.{n}>`" for n in twins)
        text += f"\n\n*The same function*: {also}." if twins else ""
    return text


def page(part: str, name: str) -> str:
    """Return the page of a public name."""
    home = api_names.module(part).__name__
    value = value_of(part, name)
    if is_ours(part, name, value):
        doc = text_of(value)
        numpys = {"": np, "linalg": np.linalg, "fft": np.fft}.get(part)
        borrowed = text_of(getattr(numpys, name, None)) if "NumPy's `numpy" in doc else ""
        body = rendered(doc, part, parameters(value) if callable(value) else set(), borrowed)
        if isinstance(value, type) and name != "ndarray":
            body += f"\n\n.. rubric:: Attributes and methods\n\n{members(value, part)}"
    else:
        body = theirs(part, name, value)
    kind = kind_of(value)
    sig = "" if kind == "data" else signature(value)
    text = directive(kind, name, sig, body.strip() + told(part, name, value))
    return f"{heading(f'{home}.{name}')}\n.. py:currentmodule:: {home}\n\n{text}"


def summary(part: str, name: str) -> str:
    """Return the line about a name in a table."""
    value = value_of(part, name)
    if is_ours(part, name, value) or (
        callable(value) and not isinstance(value, type) and not is_module(value)
    ):
        first = text_of(value).partition("\n\n")[0].replace("\n", " ")
        return linked(foreign(first), part, parameters(value) if callable(value) else set())
    if isinstance(value, type):
        return "NumPy's class."
    shown = repr(value)
    return "NumPy's module." if is_module(value) else f"``{shown}``" if len(shown) < 60 else ""


def table(part: str, names: list[str]) -> str:
    """Return a table of names with their first lines, and the hidden list of their pages."""
    home = api_names.module(part).__name__
    rows = "\n".join(f"   * - :py:obj:`{n} <{home}.{n}>`\n     - {summary(part, n)}" for n in names)
    pages = "".join(f"   {n} <{api_names.page(part, n)}>\n" for n in names)
    tree = f".. toctree::\n   :hidden:\n   :maxdepth: 1\n\n{pages}"
    return f".. list-table::\n   :widths: 25 75\n\n{rows}\n\n{tree}\n"


def special() -> str:
    """Return the entries of SciPy's special functions, which stand on one page."""
    from scipy import special

    text = []
    for name in api_names.names("special"):
        value = getattr(special, name)
        first = foreign(text_of(value)).partition("\n\n")[0]
        arguments = re.match(rf"{name}\((.*?)\)", inspect.cleandoc(value.__doc__))
        sig = re.sub(r", (out|\*).*", "", arguments[1]) if arguments else "..."
        url = f"https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.{name}.html"
        text.append(directive("function", name, f"({sig})", f"{first} `SciPy's page <{url}>`__"))
    return "\n".join(text)


def module_pages(part: str, title: str) -> dict[str, str]:
    """Return the pages that list the names of a module."""
    module = api_names.module(part)
    home = module.__name__
    intro = linked(text_of(module), part, set())
    head = f"{heading(f'{title} ({home})')}\n.. py:module:: {home}\n\n{intro}\n\n"
    chapters = api_names.contents(part)
    if "" in chapters:
        return {home: head + (special() if part == "special" else table(part, chapters[""]))}
    found = {}
    for chapter, names in chapters.items():
        slug = re.sub(r"\W+", "-", chapter.lower().replace("'", ""))
        found[f"{home}-{slug}"] = f"{heading(chapter)}\n.. py:currentmodule:: {home}\n\n{table(part, names)}"
    pages = "".join(f"   {name}\n" for name in found)
    return found | {home: f"{head}.. toctree::\n   :maxdepth: 1\n\n{pages}"}


def write() -> None:
    """Write all pages; a page that is as it was keeps its time, so that Sphinx does not read it again."""
    texts = module_pages("", "The namespace")
    for part, title in api_names.MODULES.items():
        texts |= module_pages(part, title)
    for part, name in api_names.everything():
        if part != "special":
            texts[api_names.page(part, name)] = page(part, name)
    API.mkdir(exist_ok=True)
    for path in set(API.glob("*.rst")) - {API / f"{name}.rst" for name in texts}:
        path.unlink()
    for name, text in texts.items():
        path = API / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", lambda app: write())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
