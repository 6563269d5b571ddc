"""Scripts run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def python(*arguments: str, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, where nobody installed anything."""
    root = Path(__file__).parents[2]
    # What other tests have set is not for scripts, where SciPy gets NumPy's arrays beside ours.
    usual = {k: v for k, v in os.environ.items() if k != "SCIPY_ARRAY_API"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**usual, "PYTHONPATH": str(root), "NABLA_ARRAY_MODE": "host"},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def run(*arguments: str, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `python -m nabla_array run` with arguments."""
    return python("-m", "nabla_array", "run", *arguments, folder=folder, stdin=stdin)
