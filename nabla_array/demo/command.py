"""`python -m nabla_array demo`: what users come for, beside NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import nabla_array as xp

from ..distributed import DeviceMesh, P, shard, visualize_sharding
from ..runner.comparing import run_apart
from . import star
from .compare import Outcome, Run, race, table, timed
from .page import SCRIPT, write
from .steps import STEPS, Step, load, mixture, photograph, standard_scores

PARTS = (
    "A NumPy script, unchanged",
    "SciPy, scikit-learn, unchanged",
    "A function with branches",
    "Its gradient",
    "Two devices",
)
# How far finite differences may be off.
ROUGH = 1e-4
# Observations of the star.
MANY, FEW = 20_000, 200


@dataclass
class Demo:
    """What the parts of the demo have found, for the table and for the page."""

    folder: Path
    quick: bool
    wait: Callable[[str], None]
    outcomes: list[Outcome] = field(default_factory=list)
    theirs: dict[str, Any] = field(default_factory=dict)
    ours: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)

    def race(
        self, part: int, title: str, theirs: Callable[[], Run], ours: Callable[[], Run], **options: Any
    ) -> Any:
        """Run something both ways, and keep how it went; returns the results of both."""
        self.wait(title)
        rounds = 1 if self.quick else 3
        outcome, *results = race(PARTS[part], title, theirs, ours, rounds, **options)
        self.outcomes.append(outcome)
        return results

    def script(self) -> None:
        """Part 1: the script, in processes of its own."""
        picture = photograph(self.quick)
        with TemporaryDirectory() as folder:
            path = Path(folder, "photograph.npy")
            np.save(path, picture)

            def run(name: str, *options: str) -> Run:
                result = self.folder / f"developed-by-{name}.jpg"
                command = [*options, str(SCRIPT), str(path), str(result)]
                done = run_apart(command, b"", Path(folder, f"{len(os.listdir(folder))}"), show=False)
                if done.status:
                    raise RuntimeError(f"demo: develop.py ended with {done.status} by {name}: {done.errors}")
                from PIL import Image

                return done.seconds, (np.asarray(Image.open(result)), np.array(done.printed))

            self.race(0, "develop.py", lambda: run("numpy", "--numpy"), lambda: run("nabla_array"))
        self.theirs |= load(picture, self.quick)
        self.ours |= {name: xp.asarray(value) for name, value in self.theirs.items()}

    def libraries(self) -> None:
        """Part 2: every step on NumPy's arrays and on ours, which keep their own results for later steps."""
        for step in STEPS:
            expected, found = self.race(1, step.title, _call(step, self.theirs), _call(step, self.ours))
            self.theirs |= zip(step.gives, expected, strict=True)
            self.ours |= zip(step.gives, found, strict=True)

    def transforms(self) -> None:
        """Parts 3 and 4: the star's velocities at many times, and the gradient of how far a guess is off."""
        count = FEW if self.quick else MANY
        self.wait(f"a telescope's {count:,} observations")
        times, seen = star.observed(count)
        ours, ours_seen = xp.asarray(times), xp.asarray(seen)
        self.shown["curve"] = (
            times,
            seen,
            self.race(
                2,
                "vmap; a loop",
                lambda: timed(star.one_by_one, times, star.GUESS),
                lambda: timed(star.at_once, ours, *star.GUESS),
            )[1][0],
        )
        self.shown["gradients"] = self.race(
            3,
            "grad; finite differences",
            lambda: timed(star.finite_differences, times, seen),
            lambda: timed(star.gradient, ours, ours_seen),
            tolerance=ROUGH,
        )

    def devices(self) -> None:
        """Part 5: rows cut over two threads, and what moves between them."""
        pixels = self.theirs["pixels"]
        mesh = DeviceMesh((2,), ("rows",))
        try:
            cut = xp.eval(shard(pixels, mesh, P("rows")))
            self.race(
                4,
                "GaussianMixture",
                lambda: timed(mixture, pixels),
                lambda: timed(mixture, cut),
            )
            patches = xp.eval(shard(self.theirs["patches"], mesh, P("rows")))
            centred = patches - xp.mean(patches, axis=0)
            covariance = xp.explain(centred.T @ centred)
            self.shown["cut"] = visualize_sharding(patches)
            self.shown["moves"] = [
                f"{s.where}: {s.reads:,} bytes to each device" for s in covariance.steps if s.reads
            ]
            self.shown["whole"] = patches.nbytes
        finally:
            mesh.close()

    def pictures(self) -> None:
        """Keep what the page shows: the graph of a function of SciPy's, and what ran on which tier."""
        self.wait("the page of pictures")
        self.shown["graph"] = xp.explain(standard_scores(self.ours["patches"]))
        self.shown["report"] = xp.report()


def _call(step: Step, known: dict[str, Any]) -> Callable[[], Run]:
    return lambda: timed(step.function, *[known[name] for name in step.needs])


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[str], None]]:
    """Show a bar that says what is being waited for."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        # Besides the steps: imports, the script, observations, two transforms, the mesh, and the page.
        task = progress.add_task("", total=len(STEPS) + 7, completed=-1)

        def wait(what: str) -> None:
            progress.update(task, description=f"{what:<40}", advance=1)

        yield wait
        wait("done")


def run(output: Path, quick: bool, console: Console) -> int:
    """Run the demo; returns 1 where a result differs and 2 where a library is missing."""
    missing = [name for name in ("scipy", "sklearn", "matplotlib", "PIL") if not find_spec(name)]
    if missing:
        console.print(
            f"demo: needs {', '.join(missing)}; pip install 'nabla_array\\[scipy,plot]' installs them"
        )
        return 2
    os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it once, when it is imported
    output.mkdir(parents=True, exist_ok=True)
    with _progress(console) as wait:
        wait("imports of SciPy and scikit-learn")
        import sklearn

        demo = Demo(output, quick, wait)
        with sklearn.config_context(array_api_dispatch=True):
            for part in (demo.script, demo.libraries, demo.transforms, demo.devices, demo.pictures):
                part()
        page = write(output / "demo.html", demo.outcomes, demo.theirs, demo.ours, demo.shown)
    console.print(table(demo.outcomes))
    console.print(
        f"What the covariance of {demo.shown['whole']:,} bytes, cut in two, moves between the devices:"
    )
    for line in demo.shown["moves"]:
        console.print(f"  {line}", markup=False, soft_wrap=True)
    console.print(f"Pictures, the graph, tiers and shards: {page.resolve().as_uri()}", soft_wrap=True)
    return 0 if all(o.agrees for o in demo.outcomes) else 1
