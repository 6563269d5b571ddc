"""Run other projects' own test files on our arrays, each in a process of its own.

    python -m tests.upstream [--write] [--keep FOLDER] [FILE ...]

prints for each file how many tests passed, failed and were skipped, how many pass with NumPy itself, and the
classes of failures. FILE is a part of a name, such as `test_einsum`; without one, all of `FILES` run.
`--write` makes docs/reference/numpy-tests.md of it.

    python -m tests.upstream jax|autograd --source FOLDER [--keep FOLDER] [FILE ...]

runs JAX's or autograd's tests, from a clone of their repository, on our transforms: for each file how many
passed, were refused (by class) and are wrong. JAX's need `jax` and `absl-py`, whose helpers they use.

    python -m tests.upstream scripts --source FOLDER [--keep FOLDER] [SCRIPT ...]

runs other people's scripts under the runner and under NumPy, and compares what they print, leave and draw.

    python -m tests.upstream suites --source FOLDER [--path FOLDER] [PYTEST ARGUMENT ...]

runs another project's tests, the project too, under the runner and under NumPy, and compares what passes.

    python -m tests.upstream scipy|sklearn [PYTEST ARGUMENT ...]

runs the array API tests that the installed SciPy or scikit-learn brings, on our arrays.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from . import dispatched, scripts, suites
from .classes import WRONG, classes, table
from .page import PAGE, page, write
from .results import Result, read

SECONDS = 1500  # that a file may take
_JAX = "api custom_api lax_autodiff lax_control_flow lax_vmap lax_vmap_op"
OTHERS = {"autograd": ["test_*.py"], "jax": [f"{name}_test.py" for name in _JAX.split()]}
# JAX's tests compare dtypes, and SciPy asks for our namespace, if these say so.
ENVIRONMENT = {
    "JAX_ENABLE_X64": "1",
    "JAX_PLATFORMS": "cpu",
    "NABLA_ARRAY_MODE": "host",
    "PYTHONHASHSEED": "0",
    "SCIPY_ARRAY_API": "1",
}
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


def run_other(project: str, file: Path, keep: Path | None) -> Result:
    """Run one file of another project's in a process of its own, unless `keep` has its results."""
    with TemporaryDirectory() as folder:
        out = (keep or Path(folder)) / f"{project}_{file.stem}.json"
        if not out.exists():
            command = [sys.executable, "-m", "tests.upstream.others", project, str(file), str(out)]
            environment = {**os.environ, **ENVIRONMENT}
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS, check=False)
        return Result(file.name, read(out))


def others() -> None:
    """Run what the command line says of another project's tests."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream")
    parser.add_argument("project", choices=sorted(OTHERS))
    parser.add_argument("files", nargs="*", metavar="FILE", help="a part of a file's name")
    parser.add_argument("--source", type=Path, required=True, help="a clone of the project's repository")
    parser.add_argument("--keep", type=Path, help="a folder for results: what is there is not run again")
    args = parser.parse_args()
    if args.keep is not None:
        args.keep.mkdir(parents=True, exist_ok=True)
    tests = args.source.resolve() / "tests"
    found = [file for pattern in OTHERS[args.project] for file in sorted(tests.glob(pattern))]
    chosen = [f for f in found if not args.files or any(part in f.name for part in args.files)]
    results = []
    for file in chosen:
        results.append(run_other(args.project, file, args.keep))
        print(f"{file.name}: {results[-1].counts()}", flush=True)
    print(table(results))
    for c, tests in classes(results).items():
        if c.name == WRONG:
            print(*[f"{test}: {message}" for test, message in tests.items()], sep="\n")


def main() -> None:
    """Run what the command line says."""
    if len(sys.argv) > 1 and sys.argv[1] in OTHERS:
        return others()
    if sys.argv[1:2] == ["scripts"]:
        return scripts.main(sys.argv[2:])
    if sys.argv[1:2] == ["suites"]:
        return suites.main(sys.argv[2:])
    if sys.argv[1:2] and sys.argv[1] in dispatched.PROJECTS:
        sys.exit(dispatched.main(*sys.argv[1:]))
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
