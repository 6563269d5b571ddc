"""Write docs/start/tutorial.ipynb of the tutorial's text.

python docs/generate_notebook.py
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "start" / "tutorial.md"
NOTEBOOK = SOURCE.with_suffix(".ipynb")
_CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```\n", re.M | re.S)


def code_cells(text: str) -> list[str]:
    """Return the code of the cells of a page."""
    return [match[1] for match in _CELL.finditer(text)]


def notebook(text: str) -> str:
    """Return a notebook without outputs, as JSON."""
    text = re.sub(r"\A---\n.*?\n---\n+", "", text, flags=re.S)
    text = re.sub(
        r"The page is also a\n\{download\}`[^`]*`\.", "This is the tutorial of the documentation.", text
    )
    text = re.sub(r"\]\((?!https?:)[^)]*\)", "]", text)  # links lead to other pages
    cells: list[dict[str, Any]] = []
    for i, part in enumerate(_CELL.split(text)):
        lines = part.strip().splitlines(keepends=True)
        cell = {
            "cell_type": "code" if i % 2 else "markdown",
            "id": f"cell-{i}",
            "metadata": {},
            "source": lines,
        }
        if i % 2:
            cell |= {"execution_count": None, "outputs": []}
        if lines:
            cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return (
        json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)
        + "\n"
    )


def main() -> None:
    """Write the notebook."""
    NOTEBOOK.write_text(notebook(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{NOTEBOOK.name}\n")


if __name__ == "__main__":
    main()
