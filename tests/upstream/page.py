"""docs/reference/numpy-tests.md: what NumPy's test files give, and the classes that failures fall into."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .results import Counts, Result, message_class

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "numpy-tests.md"
GUIDE = PAGE.parents[1] / "howto" / "porting.md"


class Class(NamedTuple):
    """A class of failures: what their messages match, and what to say of them."""

    name: str
    pattern: str
    told: str


CLASSES = (
    Class(
        "Strings, dates, records, objects",
        r"UnheldDtypeError|no arrays of dtype|dtype\('?[<>|]?[SUOMm]|'[SUOV]'|datetime|timedelta|object dtype"
        r"|dtype object|structured|StringDType|rational|argument \d must be an array, not ndarray|void|field",
        "Our arrays hold booleans and numbers. Others stay NumPy's, and go through NumPy if a whole "
        "function is given them; not every mixture of both works.",
    ),
    Class(
        "Types of results",
        r"<class 'nabla_array|isinstance|type\(|is array\(|is not array\(|\bis (True|False)|numpy\.ndarray'>",
        "The test asks for the very type, or the very object: a scalar is an array without axes here. "
        "`isinstance(x, np.ndarray)` and `type(x) == np.ndarray` hold; `type(x) is np.ndarray` does not.",
    ),
    Class(
        "Byte order and long doubles",
        r"[<>][fiuc]\d|longdouble|float128|clongdouble|complex256|byteorder|newbyteorder",
        "Arrays are in the machine's byte order, and of 64 bits (complex: 128) at most. A dtype of the other "
        "order that is asked for gives NumPy's array.",
    ),
    Class(
        "Memory",
        r"bytes-like|memoryview|C_CONTIGUOUS|OWNDATA|strides|flags|contiguous|_base|buffer|refcount|read-only"
        r"|object __array__ method not producing|overlap|shares_memory|ctypes|interface|__array_struct__",
        "The test looks at memory: alignment, ownership, who shares it. `np.array(memoryview(x), copy=None)` "
        "is a copy here; a view (`x[...]`) shares elements with its base. What C writes to `x.data` or to "
        "`x.ctypes` is in `x`; an array that is written to afterwards has memory of its own.",
    ),
    Class(
        "Private to NumPy",
        r"_core|_impl|module 'nabla_array|ModuleNotFoundError|builtin_function|_multiarray|__array_finalize__"
        r"|__array_wrap__|__array_priority__|_NoValue|ImportError",
        "The test uses a module, a C function or a protocol of NumPy's own.",
    ),
    Class(
        "Words of messages",
        r"Regex pattern did not match|does not match|endswith|startswith|assert '.*' in",
        "The exception is NumPy's, its text is ours: catch classes, do not match texts.",
    ),
    Class(
        "Warnings",
        r"DID NOT WARN|Warning",
        "NumPy warns, of deprecated calls or of slices that are all nan, and we do not. Those of faults in "
        "elements come where an array is looked at, which may be after the test's `with` block.",
    ),
    Class(
        "More is taken",
        r"DID NOT RAISE|not raised",
        "NumPy refuses what works here.",
    ),
    Class(
        "Signatures and attributes",
        r"Signature|unexpected keyword|positional argument|has no attribute|missing \d",
        "A name, or a parameter, that there is not; `inspect.signature(f)` tells ours, and no function has "
        "`__text_signature__`, as those written in C have.",
    ),
    Class(
        "Too long",
        r"Timeout|not run:",
        "A test takes longer than 20 seconds (most of these need gigabytes); or the time for the file was "
        "over, and (the rest) did not run.",
    ),
    Class(
        "Values",
        r"Arrays are not|not almost equal|Not equal to tolerance|Items are not equal|not equal|mismatch"
        r"|^assert|^AssertionError",
        "A value, a shape or a dtype differs; infinities in `floor_divide` and the like, where the standard "
        "wins, are among them.",
    ),
    Class("Exceptions", r".", "A call that NumPy takes raises, or raises another exception."),
)


def _class_of(message: str) -> Class:
    return next(c for c in CLASSES if re.search(c.pattern, message))


def _sum(counts: list[Counts]) -> Counts:
    return Counts(*map(sum, zip(*counts, strict=True))) if counts else Counts(0, 0, 0)


def _part(result: Result) -> str:
    return " *in part*" if "(the rest)" in result.tests else ""


def table(pairs: list[tuple[Result, Result]]) -> list[str]:
    """Return the lines of the table of files."""
    mine = [a.counts() for a, _ in pairs]
    theirs = [b.counts() for _, b in pairs]
    rows = [
        f"| {a.file} | {m.passed}{_part(a)} | {m.failed} | {m.skipped} | {t.passed}{_part(b)} |"
        for (a, b), m, t in zip(pairs, mine, theirs, strict=True)
    ]
    m, t = _sum(mine), _sum(theirs)
    return [
        "| file | passed | failed | skipped | NumPy passes |",
        "|---|---|---|---|---|",
        *rows,
        f"| all | {m.passed} | {m.failed} | {m.skipped} | {t.passed} |",
    ]


def page(pairs: list[tuple[Result, Result]]) -> str:
    """Return the page for pairs of results, ours and NumPy's."""
    lines = [
        "# NumPy's own tests",
        "",
        "NumPy's wheel ships its tests. Here they run with `numpy`, in the test files alone, meaning this "
        f"library (NumPy {np.__version__}, mode `host`); `python -m tests.upstream --write` makes this page.",
        "",
        "Where a number is *in part*, the time for the file was over before its end. Two tests do not run: "
        "`incref_elide`, whose C code takes what it gets for NumPy's own, and `huge_list_error`, which needs "
        "16 GiB.",
        "",
        *table(pairs),
        "",
        "## Classes of failures",
        "",
    ]
    return "\n".join([*lines, *_classes(pairs)]) + "\n"


def write(pairs: list[tuple[Result, Result]]) -> None:
    """Write the page, and its table into the porting guide."""
    PAGE.write_text(page(pairs), encoding="utf-8")
    mark, end = "<!-- files: written by python -m tests.upstream -->\n", "<!-- end of files -->"
    before, _, rest = GUIDE.read_text(encoding="utf-8").partition(mark)
    after = rest.partition(end)[2]
    GUIDE.write_text("\n".join([before + mark.rstrip(), *table(pairs), end]) + after, encoding="utf-8")


def _classes(pairs: list[tuple[Result, Result]]) -> list[str]:
    found: dict[Class, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for mine, _ in pairs:
        for test, message in mine.failures().items():
            found[_class_of(message)][message_class(message)].append(f"{Path(mine.file).stem}::{test}")
    lines = []
    for c in CLASSES:
        messages = sorted(found[c].items(), key=lambda item: -len(item[1]))
        if not messages:
            continue
        lines += [f"### {c.name}: {sum(len(tests) for _, tests in messages)}", "", c.told, ""]
        lines += ["| tests | last line | for example |", "|---|---|---|"]
        for message, tests in messages[:8]:
            shown = message.replace("|", "\\|").replace("`", "'")
            lines.append(f"| {len(tests)} | `{shown}` | `{tests[0][:80]}` |")
        rest = sum(len(tests) for _, tests in messages[8:])
        lines += [f"| {rest} | others | |"] * (rest > 0) + [""]
    return lines[:-1]
