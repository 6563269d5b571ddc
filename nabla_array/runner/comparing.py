"""`python -m nabla_array run --compare`: a script on our arrays against itself on NumPy's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, NamedTuple

from . import figures, texts


class Run(NamedTuple):
    """What a script did in a process of its own."""

    status: int
    printed: str
    errors: str
    seconds: float
    folder: Path


def compare(options: list[str], command: list[str]) -> int:
    """Run a script under NumPy, then on our arrays, and say what differs; returns the exit status."""
    given = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    with TemporaryDirectory() as folder:
        theirs = run_apart(["--numpy", *command], given, Path(folder, "numpy"), show=False)
        ours = run_apart([*options, *command], given, Path(folder, "ours"), show=True)
        lines, same = _verdict(ours, theirs)
    print("\nnabla_array against NumPy", *lines, sep="\n  ", file=sys.stderr)
    return theirs.status if same else 1


def run_apart(arguments: list[str], given: bytes, folder: Path, show: bool) -> Run:
    """Run a script in a process of its own; what it draws, and how long it takes, is kept in a new folder."""
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "nabla_array", "run", "--record", str(folder), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    kept = [bytearray(), bytearray()]
    shown = (sys.stdout.buffer, sys.stderr.buffer) if show else (None, None)
    began = time.perf_counter()
    readers = [
        Thread(target=_relay, args=stream)
        for stream in zip((process.stdout, process.stderr), kept, shown, strict=True)
    ]
    for reader in readers:
        reader.start()
    try:
        process.stdin.write(given)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it has ended, or closed its input
    for reader in readers:
        reader.join()
    status = process.wait()
    seconds = time.perf_counter() - began
    told = folder / "seconds"
    if told.exists():  # not where it ended with `os._exit`
        seconds = float(told.read_text())
    printed, errors = (bytes(b).decode(errors="replace") for b in kept)
    return Run(status, printed, errors, seconds, folder)


def _relay(stream: IO[bytes], kept: bytearray, shown: IO[bytes] | None) -> None:
    while chunk := stream.read1(65536):  # type: ignore[attr-defined]
        kept += chunk
        if shown is not None:
            shown.write(chunk)
            shown.flush()


def _verdict(ours: Run, theirs: Run) -> tuple[list[str], bool]:
    """Return what there is to say, line by line, and whether all is the same."""
    printed = texts.first_difference(ours.printed, theirs.printed)
    number, drawn = figures.first_difference(ours.folder, theirs.folder)
    words = len(texts.tokens(theirs.printed))
    lines = [
        f"printed      {printed or f'the same ({words} words and numbers)'}",
        f"figures      {drawn or (f'the same ({number})' if number else 'none')}",
        f"seconds      {ours.seconds:.3g}, NumPy {theirs.seconds:.3g} "
        f"(x{theirs.seconds / max(ours.seconds, 1e-9):.3g})",
    ]
    if ours.status or theirs.status:
        lines.append(f"exit status  {ours.status}, NumPy {theirs.status}")
        lines += [
            f"{who:<12} {run.errors.splitlines()[-1]}"
            for who, run in (("ours", ours), ("NumPy", theirs))
            if run.errors
        ]
    return lines, not (printed or drawn) and ours.status == theirs.status
