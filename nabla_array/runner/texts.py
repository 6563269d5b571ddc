"""Whether two programs printed the same, where their numbers may differ a little."""

from __future__ import annotations

import math
import re
from itertools import zip_longest
from typing import NamedTuple

_TOKEN = re.compile(r"0x[0-9a-f]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[^\W\d]+|\S")
RELATIVE, ABSOLUTE = 1e-6, 1e-9


class Token(NamedTuple):
    """A word, a number or a sign, and the line that it is on."""

    text: str
    line: int


def tokens(text: str) -> list[Token]:
    """Return what a text consists of but for the space in between, which depends on the width of numbers."""
    return [Token(t, n) for n, line in enumerate(text.splitlines(), 1) for t in _TOKEN.findall(line)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _same(ours: str, theirs: str) -> bool:
    if ours == theirs or (ours.startswith("0x") and theirs.startswith("0x")):  # an address
        return True
    a, b = _number(ours), _number(theirs)
    if a is None or b is None:
        return False
    integers = ours.lstrip("+-").isdigit(), theirs.lstrip("+-").isdigit()
    if all(integers) or (any(integers) and a == b):  # 1 is not 1.
        return False
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def first_difference(ours: str, theirs: str) -> str:
    """Return where two printed texts differ first, and how, or an empty string."""
    end = Token("the end", 0)
    for a, b in zip_longest(tokens(ours), tokens(theirs), fillvalue=end):
        if a is end or b is end or not _same(a.text, b.text):
            line = theirs.splitlines()[b.line - 1] if b.line else "nothing more"
            mine = ours.splitlines()[a.line - 1] if a.line else "nothing more"
            return f"{a.text!r} instead of {b.text!r}, line {a.line or b.line}: {mine!r} instead of {line!r}"
    return ""
