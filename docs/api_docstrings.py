"""Docstrings, ours and those that we borrow of NumPy and SciPy, as reStructuredText."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import api_names
from numpydoc.docscrape_sphinx import SphinxDocString

# What is borrowed of NumPy's docstrings; the rest refers to pages of theirs.
BORROWED = ("Parameters", "Returns", "Yields", "Raises")
_OTHERS = r"^(?:See Also|Notes|References|Examples|Warnings)\n-+\n(?:.*\n?)*?(?=^[A-Z][\w ]+\n---|\Z)"
_REFERENCES = r"^References\n-+\n(?:.*\n?)*?(?=^Examples\n-+|\Z)"
_ROLE = r":\w+(?::\w+)?:`~?([^`<]*?)(?: ?<[^`]*>)?`"
_QUOTED = r"(?<![`:\w])`([^`<>\n]+)`(?![`_\w])"
_BLOCK = (
    r"\n[ ]*\.\. (?:versionadded|versionchanged|deprecated|note|math|warning)::[^\n]*"
    r"(?:\n[ ]+[^\n]*|\n)*?(?=\n[ ]{0,3}\S|\Z)"
)
_SAME = r"\n*Parameters and results are those of NumPy's `[\w.]+`[^\n]*\n?"
_SITES = {"numpy.org": "NumPy", "jax.dev": "JAX", "graphcore": "PopXL", "data-apis": "The Array API standard"}


def text_of(value: Any) -> str:
    """Return a docstring without its indentation, and without a first line that is a signature."""
    doc = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    first, _, rest = doc.partition("\n")
    return rest.lstrip() if re.match(r"[\w.]+\(.*\)$", first) else doc


def linked(text: str, part: str, parameters: set[str]) -> str:
    """Turn names in single backquotes into references where they are public, else into code."""
    home = api_names.module(part).__name__

    def one(match: re.Match[str]) -> str:
        name = match[1].removesuffix("()")
        known = name in api_names.names(part) and name not in parameters
        return f":py:obj:`{match[1]} <{home}.{name}>`" if known else f"``{match[1]}``"

    return re.sub(_QUOTED, one, text)


def foreign(text: str) -> str:
    """Return a docstring of NumPy's or SciPy's without footnotes and what refers to their own pages."""
    text = re.sub(_OTHERS, "", text, flags=re.M)
    text = re.sub(_ROLE, r"``\1``", text)
    text = re.sub(_BLOCK, "\n", text)
    text = re.sub(r"\s?\[\w+\]_", "", text)
    text = re.sub(_QUOTED, r"``\1``", text)
    return re.sub(r"(?<!\w)([A-Za-z]\w*)_(?=[\s,.;)])", r"\1\\_", text)


def parsed(doc: str) -> SphinxDocString:
    """Return the sections of a docstring."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = SphinxDocString(doc, config={"show_class_members": False})
    found["Signature"] = ""
    return found


def see_also(url: str, what: str = "") -> str:
    """Return a reference to a page on another site."""
    site = next(name for part, name in _SITES.items() if part in url)
    label = what.strip("`") or url.rpartition("/")[2].removesuffix(".html")
    return f"\n\n.. seealso:: {site}: `{label} <{url}>`__"


def rendered(doc: str, part: str, parameters: set[str], borrowed: str = "") -> str:
    """Return a docstring of ours as reStructuredText; `borrowed` is NumPy's, for parameters and results."""
    pages = re.findall(r"^(https://\S+)(?: \((.*)\))?$", doc, re.M)
    doc = re.sub(_REFERENCES, "", doc, flags=re.M)
    if borrowed:
        doc = re.sub(_SAME, "\n", doc)
    text = parsed(linked(doc, part, parameters))
    if borrowed:
        other = parsed(foreign(borrowed))
        for name in BORROWED:
            text[name] = text[name] or other[name]
    return str(text).strip() + "".join(see_also(url, what) for url, what in pages)


def quoted(doc: str, url: str, examples: str = "") -> str:
    """Return a docstring of NumPy's as reStructuredText: what it does, parameters, results; and examples."""
    text = parsed(foreign(doc))
    for name in list(text):
        if name not in ("Signature", "Summary", *BORROWED):
            text[name] = type(text[name])()
    shown = f"\n\n.. rubric:: Examples\n\n{examples}" if examples else ""
    return str(text).strip() + shown + see_also(url)
