"""Running on an accelerator: what MAX has compiled for it runs there, all else on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..config import config
from ..graph.aval import Aval, aval_of_value
from ..graph.program import Program
from ..max import backend
from ..max.canonical import canonicalize
from ..max.trials import agree, compile_and_wait
from ..schedule.parts import parts, runs_on_max
from ..schedule.plan_cache import keep, plans
from ..schedule.steps import Compiled, Part, Schedule
from .executors import execute
from .tiers import Runner, is_gathered


def names() -> tuple[list[str], str]:
    """Return the names of the accelerators that can be used, and what there is to say of them."""
    if config.mode == "host":
        return [], "the mode is 'host', in which MAX is never started"
    try:
        found = list(backend.accelerators())
    except ImportError as error:
        return [], f"MAX cannot be imported: {error}"
    return found, f"MAX finds {', '.join(found) or 'no accelerator'}"


class Placed:
    """A value of an accelerator's, which nobody changes: its memory there, its elements here, or both.

    What the host has computed for the accelerator stays here until something there needs it.

    Attributes
    ----------
    device
        The accelerator's name.
    aval
        Shape and dtype of the value, or a tuple of them for several.
    """

    __slots__ = ("_here", "_there", "aval", "device")

    sharding = None  # all of it is there

    def __init__(self, device: str, aval: Any, here: Any = None, there: Any = None) -> None:
        self.device = device
        self.aval = aval
        self._here = here
        self._there = there

    def here(self) -> Any:
        """Return the elements in the host's memory, read-only; they are fetched once."""
        if self._here is None:
            value = backend.download(self._there).reshape(self.aval.shape)
            value.flags.writeable = False
            self._here = value
        return self._here

    def there(self) -> Any:
        """Return MAX's buffer; what is only here is sent once."""
        if self._there is None:
            self._there = backend.upload(self._here, self.device)
        return self._there


def placed(device: str, value: Any) -> Placed:
    """Return a value of the host's, or a tuple of them, as one of an accelerator's."""
    aval = tuple([aval_of_value(v) for v in value]) if isinstance(value, tuple) else aval_of_value(value)
    return Placed(device, aval, value)


class Accelerator:
    """An accelerator that arrays are on: what MAX has compiled runs there, and the rest here for it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def place(self, value: Any) -> Placed:
        """Return a value of the host's, or a tuple of them, as one of the accelerator's."""
        return placed(self.name, value)

    def send(self, held: Placed) -> None:
        """Move what MAX has values of."""
        if isinstance(held.aval, Aval) and runs_on_max(held.aval, "fiub"):
            held.there()

    def run(self, program: Program, env: list[Any]) -> None:
        """Run a program over `env`, whose values are on the device."""
        found = self.schedule(program, env)
        runners = [s.runner for s in found.steps if isinstance(s, Compiled)]
        if is_gathered(runners):
            with config(mode="host"):
                execute(found, env)
            return
        if config.mode == "max":
            compile_and_wait([r.kernel for r in runners if r.kernel is not None])
        execute(found, env)

    def schedule(self, program: Program, inputs: Sequence[Any] = ()) -> Schedule:
        """Return how a program runs: each part there where it is compiled, or here for it."""
        key = self.name, program
        found = plans.get(key)
        if found is None:
            target = backend.accelerators()[self.name]
            some = parts(program, everything=True, accelerator=True)
            steps = [Compiled(part, _Runner(part, self.name, target)) for part in some]
            found = keep(key, Schedule(program, steps))
        return found


def find(device: Any) -> Accelerator | None:
    """Return the accelerator of a name."""
    return Accelerator(device) if device in names()[0] else None


class _Runner(Runner):
    """What runs a part of a program on an accelerator, or here for it."""

    def __init__(self, part: Part, device: str, target: str) -> None:
        super().__init__(part, canonicalize(part.program) if part.fusible else None, target)
        self.device = device
        self.avals = [part.program.aval(i) for i in part.program.outputs]

    def is_trusted(self) -> bool:
        """Say that the host only stands in there, until it is compiled."""
        return True

    def run(self, ins: list[Placed]) -> list[Any]:
        """Run it there if it is compiled; the first results of each size are compared with the host's."""
        chosen, mode = self.kernel, config.mode
        if mode == "host":
            return self._run_here(ins, counted=False)
        if chosen is None or not self.is_on_max():
            return self._run_here(ins)
        try:
            there = self.on_max([x.there() for x in ins])
        except Exception as error:  # whatever MAX raises: the host goes on, and `report` tells
            chosen.fail(f"cannot be run: {error}")
            return self._run_here(ins)
        outs = [Placed(self.device, a, there=t) for a, t in zip(self.avals, there, strict=True)]
        if mode == "max" or self.size in chosen.faster:
            return outs
        wanted = self._run_here(ins)
        if all(agree(x.here(), w.here()) for x, w in zip(outs, wanted, strict=True)):
            chosen.note(self.size, True)
        else:
            chosen.distrust()
        return wanted

    def _run_here(self, ins: list[Placed], counted: bool = True) -> list[Placed]:
        return [placed(self.device, v) for v in self.on_host([x.here() for x in ins], counted)]
