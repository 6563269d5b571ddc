"""Write docs/images/gains.svg: how many times as fast as NumPy, from the tables of the benchmarks.

python docs/generate_gains.py
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "reference" / "benchmarks.md"
PICTURE = Path(__file__).parent / "images" / "gains.svg"
# Suite of the benchmarks -> what its bars are called, and their colour. The second has a dtype in its names.
SUITES = {
    "cold": ("first result in a fresh process", "#8fb8de"),
    "fused": ("once compiled by MAX, in the background", "#2f6db3"),
}
LEFT, WIDTH, ROW, TOP, MOST = 210, 430, 34, 62, 100.0


def ratios(text: str, suite: str) -> dict[str, float]:
    """Return the times relative to NumPy's in a suite's table, by case."""
    table = text.partition(f"<!-- {suite} -->")[2].partition(f"<!-- end {suite} -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    column = rows[0].index("/ numpy")
    pairs = ((row[0], row[column]) for row in rows if len(row) > column)
    return {case: float(value) for case, value in pairs if re.fullmatch(r"[\d.]+", value)}


def place(times: float) -> float:
    """Return where a number of times lies on the axis, which is logarithmic."""
    return LEFT + WIDTH * math.log(times / 0.5) / math.log(MOST / 0.5)


def picture(text: str) -> str:
    """Return the picture."""
    first = ratios(text, "cold")
    later = {
        k.removesuffix(", float64"): v for k, v in ratios(text, "fused").items() if k.endswith(", float64")
    }
    cases = [case for case in later if case in first]
    machine = text.partition("<!-- fused -->\n")[2].partition("\n")[0]
    bottom = TOP + ROW * len(cases)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 40} {bottom + 56}" '
        'font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="20" font-size="15" font-weight="bold">'
        "Times as fast as NumPy (4 million doubles)</text>",
    ]
    for i, (label, colour) in enumerate(SUITES.values()):
        x = 10 + i * 250
        parts.append(f'<rect x="{x}" y="32" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="43">{label}</text>')
    for tick in (1, 2, 5, 10, 20, 50, 100):
        x, colour = place(tick), "#666" if tick == 1 else "#ddd"
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{bottom}" stroke="{colour}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick}</text>')
    for row, case in enumerate(cases):
        y = TOP + ROW * row
        name = case.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        parts.append(f'<text x="{LEFT - 8}" y="{y + 18}" text-anchor="end">{name}</text>')
        for i, (ratio, (_, colour)) in enumerate(
            zip((first[case], later[case]), SUITES.values(), strict=True)
        ):
            ends = sorted((place(1), place(1 / ratio)))
            parts.append(
                f'<rect x="{ends[0]:.1f}" y="{y + 2 + 13 * i}" width="{ends[1] - ends[0]:.1f}" height="12" '
                f'fill="{colour}"/>'
            )
            parts.append(
                f'<text x="{ends[1] + 4:.1f}" y="{y + 12 + 13 * i}" font-size="11">{1 / ratio:.1f}</text>'
            )
    source = f"{machine}; docs/reference/benchmarks.md"
    parts.append(f'<text x="10" y="{bottom + 44}" font-size="11" fill="#666">{source}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(picture(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.name}\n")


if __name__ == "__main__":
    main()
