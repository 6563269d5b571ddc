"""Run NumPy's own test files on our arrays, each in a process of its own, and on NumPy's.

    python -m tests.upstream [--write] [--keep FOLDER] [FILE ...]

prints for each file how many tests passed, failed and were skipped, how many pass with NumPy itself, and the
classes of failures. FILE is a part of a name, such as `test_einsum`; without one, all of `FILES` run.
`--write` makes docs/numpy-tests.md of it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from .page import PAGE, page, write
from .results import Result, read

SECONDS = 1500  # that a file may take
FILES = [
    *(f"_core/tests/test_{name}.py" for name in ("einsum", "errstate", "function_base", "indexing")),
    *(f"_core/tests/test_{name}.py" for name in ("indexerrors", "item_selection", "multiarray", "numeric")),
    *(f"_core/tests/test_{name}.py" for name in ("shape_base", "ufunc", "umath", "umath_complex")),
    "fft/tests/test_helper.py",
    "fft/tests/test_pocketfft.py",
    *(f"lib/tests/test_{name}.py" for name in ("arraypad", "arraysetops", "function_base", "histograms")),
    *(f"lib/tests/test_{name}.py" for name in ("index_tricks", "nanfunctions", "packbits", "polynomial")),
    *(f"lib/tests/test_{name}.py" for name in ("shape_base", "stride_tricks", "twodim_base", "type_check")),
    "lib/tests/test_ufunclike.py",
    "linalg/tests/test_linalg.py",
    "linalg/tests/test_regression.py",
]


def run(file: str, ours: bool, keep: Path | None = None) -> Result:
    """Run one file in a process of its own, unless its results are in the folder `keep`."""
    with TemporaryDirectory() as folder:
        out = (keep or Path(folder)) / f"{file.replace('/', '_')}{'' if ours else '.numpy'}.json"
        if out.exists():
            return Result(file, read(out))
        command = [sys.executable, "-m", "tests.upstream.one", file, str(out), *["--ours"] * ours]
        environment = {**os.environ, "NABLA_ARRAY_MODE": "host", "PYTHONHASHSEED": "0"}
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS, check=False)
        return Result(file, read(out))


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.upstream", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="a part of a file's name")
    parser.add_argument("--keep", type=Path, help="a folder for results: what is there is not run again")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args()
    if args.keep is not None:
        args.keep.mkdir(parents=True, exist_ok=True)
    chosen = [f for f in FILES if not args.files or any(part in f for part in args.files)]
    pairs = []
    for file in chosen:
        mine, theirs = run(file, True, args.keep), run(file, False, args.keep)
        pairs.append((mine, theirs))
        print(f"{file}: {mine.counts()}; NumPy: {theirs.counts()}", flush=True)
    if args.write:
        write(pairs)
    else:
        print(page(pairs).partition("## Classes of failures")[2])


if __name__ == "__main__":
    main()
