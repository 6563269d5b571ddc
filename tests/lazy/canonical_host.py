"""Canonical programs run by NumPy: what MAX would do, if it did nothing wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from nabla_array._lazy.cpu.calls import quiet
from nabla_array._lazy.graph.aval import Aval
from nabla_array._lazy.graph.primitive import as_value
from nabla_array._lazy.graph.program import Eqn, Program
from nabla_array._lazy.max import artifacts, backend, compiler, trials
from nabla_array._lazy.max.backend import primitives
from nabla_array._lazy.max.canonical import CanonicalEqn, Size, parse, slices_of
from nabla_array._lazy.max.columns import taken_apart
from nabla_array._lazy.schedule import parts


def execute(key: str, *inputs: np.ndarray) -> list[np.ndarray]:
    """Run a canonical program as MAX gets it; its sizes come from nothing but the inputs."""
    program = taken_apart(parse(key), primitives())
    sizes: dict[str | int, int] = {}

    def bind(shape: tuple[str | int, ...], value: np.ndarray) -> None:
        assert len(shape) == value.ndim
        for name, n in zip(shape, value.shape, strict=True):
            assert (n == name) if isinstance(name, int) else (sizes.setdefault(name, n) == n), (
                shape,
                value.shape,
            )

    env = list(inputs)
    for (shape, dtype), value in zip(program.inputs, inputs, strict=True):
        assert value.dtype == dtype
        bind(shape, value)
    shapes = [shape for shape, _ in program.inputs]
    for eqn in program.eqns:
        xs = [np.broadcast_to(env[i], [sizes.get(n, n) for n in shapes[i]]) for i in eqn.ins]  # type: ignore[misc]
        value = _apply(eqn, xs, sizes)
        if eqn.prim != "fill":
            bind(eqn.shape, value)
        assert value.dtype == eqn.dtype
        env.append(value)
        shapes.append(eqn.shape)
    return [
        np.broadcast_to(env[i], [sizes.get(n, n) for n in shapes[i]]).copy()  # type: ignore[misc]
        for i in program.outputs
    ]


def _apply(eqn: CanonicalEqn, xs: list[np.ndarray], sizes: dict[str | int, int]) -> np.ndarray:
    prim, params = primitives()[eqn.prim], dict(eqn.params)
    if eqn.prim == "fill":
        value = params["value"]
        return (
            np.asarray(sizes[value.name] - value.less, eqn.dtype)
            if isinstance(value, Size)
            else np.asarray(value.value)
        )
    if eqn.prim == "slice":
        return xs[0][tuple(slices_of(params, eqn.shape))]
    if "shape" in params:
        params["shape"] = tuple(sizes[n] if isinstance(n, str) else n for n in eqn.shape)
    return as_value(prim.host(*xs, **params))


class Store:
    """A cache that has everything that was compiled."""

    def __init__(self) -> None:
        self.compiled: set[str] = set()
        self.noted: dict[str, dict[int, bool]] = {}
        self.failures: dict[str, str] = {}
        self.problems: list[str] = []

    def find(self, key: str) -> artifacts.Artifact | artifacts.Failure | None:
        if key in self.failures:
            return artifacts.Failure(self.failures[key])
        return artifacts.Artifact(b"", key, key) if key in self.compiled else None

    def verdicts(self, key: str) -> dict[int, bool]:
        return self.noted.get(key, {})

    def note(self, key: str, size: int, faster: bool) -> None:
        self.noted.setdefault(key, {})[size] = faster

    def add_failure(self, key: str, message: str, failures: int) -> None:
        self.failures[key] = message


class Compiler:
    """Compiles at once what `refused` does not hold."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.requests: list[str] = []
        self.refused: dict[str, str] = {}

    def request(self, key: str, awaited: bool = False, target: str = "") -> Any:
        self.requests.append(key)
        message = self.refused.get(key, self.refused.get("all", ""))
        if not message:
            self.store.compiled.add(key)
        state = "failed" if message else "ready"
        return SimpleNamespace(state=state, message=message, wait=lambda: True)


Run = Callable[..., list[np.ndarray]]


def runner_of(run: Run) -> Callable[..., Any]:
    """Return a `backend.runner` whose models are canonical programs, for `run(key, *inputs)`."""

    def runner(model: str, inputs: Any, outputs: Any) -> Callable[..., list[np.ndarray]]:
        def call(*arrays: np.ndarray) -> list[np.ndarray]:
            shaped = [np.ascontiguousarray(a).reshape(s) for a, s in zip(arrays, inputs, strict=True)]
            results = quiet.copy().run(run, model, *shaped)
            return [r.reshape(s) for r, s in zip(results, outputs, strict=True)]

        return call

    return runner


def may_be_lowered(eqn: Eqn, program: Program) -> bool:
    """Say whether an operation is of a class of which MAX could have all, on any dtype."""
    prim, avals = eqn.prim, [eqn.aval, *[program.aval(i) for i in eqn.ins]]
    is_usual = prim.max is not None or prim.reducer is not None or prim.kind != "call"
    return is_usual and prim.dims is not None and all(isinstance(a, Aval) and a.size for a in avals)


@contextmanager
def numpy_as_max(run: Run = execute) -> Iterator[Compiler]:
    """Put `run(key, *inputs)` in MAX's place, an empty cache, and a compiler that takes no time."""
    store = Store()
    fake = Compiler(store)

    def everything(name: str, mef: bytes, target: str) -> dict[str, str]:
        return {name: name}

    trials.begin_anew()
    with (
        patch.object(parts, "_is_lowered", may_be_lowered),
        patch.object(artifacts, "default_store", lambda: store),
        patch.object(compiler, "default_compiler", lambda: fake),
        patch.object(backend, "load", everything),
        patch.object(backend, "runner", runner_of(run)),
        patch.object(trials, "_in_background", lambda work: work()),
    ):
        try:
            yield fake
        finally:
            trials.begin_anew()
