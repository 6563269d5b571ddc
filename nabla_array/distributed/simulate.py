"""`simulate`: what a program would cost on a mesh of any size, without running it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._lazy.graph.bodies import writing
from .._lazy.graph.program import Eqn, Program, is_pending, linearize, pending_order
from .._lazy.ops.placement import is_resident
from .._lazy.run.claims import lock
from .._namespace.core.array import current
from .._namespace.core.evaluation import arrays_in
from ..inspect.text import bytes_text
from ..transforms.pytree import tree_leaves
from .costs import Costs, Machine, StepCost, costs_of
from .errors import ShardingError
from .held import specs_of
from .layouts import Layout
from .mesh import DeviceMesh
from .rules import partition
from .specs import ShardingSpec, spec_of


class Simulation:
    """What a program would cost on a mesh; it prints as a table.

    Attributes
    ----------
    mesh : DeviceMesh
        The devices.
    machine : Machine
        What each of them can do.
    steps : tuple of StepCost
        What happens, in order, and what it costs a device.
    memory : int
        Bytes that a device holds at one time, at the most.
    """

    def __init__(self, mesh: DeviceMesh, machine: Machine, costs: Costs) -> None:
        self.mesh, self.machine = mesh, machine
        self.steps, self.memory = costs

    @property
    def flops(self) -> float:
        """Operations on numbers that a device does."""
        return sum(step.flops for step in self.steps)

    @property
    def nbytes(self) -> float:
        """Bytes that a device receives."""
        return sum(step.nbytes for step in self.steps)

    @property
    def seconds(self) -> float:
        """How long all of it takes."""
        return sum(step.seconds for step in self.steps)

    @property
    def collectives(self) -> tuple[StepCost, ...]:
        """The steps in which something moves."""
        return tuple(step for step in self.steps if step.kind != "devices")

    def __str__(self) -> str:
        moving = sum(step.seconds for step in self.collectives)
        lines = [
            f"{self.mesh}: {self.seconds:.3g} s, {moving:.3g} s of it in {len(self.collectives)} steps that "
            f"move {bytes_text(round(self.nbytes))} to each device; {self.flops:.3g} operations and at most "
            f"{bytes_text(self.memory)} on each"
        ]
        for k, step in enumerate(self.steps, 1):
            does = (
                f"{step.flops:.3g} operations on {bytes_text(round(step.touched))}"
                if step.kind == "devices"
                else f"{bytes_text(round(step.nbytes))} to each device"
            )
            lines.append(f"{k}. {step.title[:100]}: {step.seconds:.3g} s, {does}")
        return "\n".join(lines)

    __repr__ = __str__


def simulate(
    program: Any,
    mesh_shape: int | Sequence[int],
    *args: Any,
    bandwidth: float = 1e10,
    latency: float = 1e-5,
    flops: float = 1e11,
    memory_bandwidth: float = 5e10,
) -> Simulation:
    """Return what a program would cost on a mesh of some shape, without running it there.

    Parameters
    ----------
    program : callable, or pytree of Arrays
        A function, which is recorded on `args`, or arrays that are not computed yet. Its arrays are on a mesh
        of any shape: that of `mesh_shape` takes its place, and its axes' names.
    mesh_shape : int or tuple of ints
        Devices along each axis.
    *args
        What the function is called with. An array that is as large as the data of 4,096 devices need not
        exist: ``shard(xp.zeros(shape), mesh, spec)`` takes no memory before it is computed.
    bandwidth : float
        Bytes a second that a device receives.
    latency : float
        Seconds that a message takes, however short.
    flops : float
        Operations on numbers that a device does a second.
    memory_bandwidth : float
        Bytes a second that a device reads and writes.

    Returns
    -------
    Simulation
        The steps that the partitioner makes, the bytes that they move, and the time that they take by a
        model: a step takes as long as its operations, or as what they read and write, whichever is longer; a
        collective as long as its messages one after the other (a tree's depth, say) and its bytes.

    Raises
    ------
    ShardingError
        If nothing is on a mesh, or the mesh has another number of axes.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh, P, shard, simulate
    >>> x = shard(xp.zeros((1_000_000, 64)), DeviceMesh(2, "dp"), P("dp"))
    >>> found = simulate(lambda x: x.T @ x, 1000, x)
    >>> [step.kind for step in found.steps]
    ['devices', 'all_reduce']
    >>> found.nbytes == 2 * 64 * 64 * 8 * 999 / 1000
    True
    """
    if callable(program):
        with writing():  # a long chain is recorded whole
            roots = arrays_in(tree_leaves(program(*args)))
    elif args:
        raise TypeError("simulate: args are for a function; arrays stand alone")
    else:
        roots = arrays_in(tree_leaves(program))
    with lock:
        nodes = [current(x) for x in roots]
        order = pending_order(nodes)
        line = linearize(order, [n for n in nodes if is_pending(n)])
        held = [n.params["value"] if is_resident(n) else None for n in line.inputs]
    meshes = dict.fromkeys([v.device for v in held if v is not None] + [*_meshes(line.program)])
    shape = (mesh_shape,) if isinstance(mesh_shape, int) else tuple(mesh_shape)
    mesh = DeviceMesh(shape, _names(shape, meshes))
    layouts = [_elsewhere(mesh, v) for v in held]
    machine = Machine(bandwidth, latency, flops, memory_bandwidth)
    specs = [None if s is None else _on(mesh, s) for s in specs_of(line.program, held)]
    made = partition(mesh, _moved(line.program, mesh), layouts, specs)
    return Simulation(mesh, machine, costs_of(made, machine))


def _names(shape: tuple[int, ...], meshes: dict[Any, None]) -> tuple[str, ...]:
    names = {mesh.axis_names: mesh for mesh in meshes if isinstance(mesh, DeviceMesh)}
    if len(names) != 1:
        told = " and ".join(map(str, names.values()))
        raise ShardingError(
            f"simulate: arrays are on {told}; one mesh would work"
            if names
            else "simulate: nothing is to be computed on a mesh; arguments that `shard` has cut would work"
        )
    (found,) = names
    if len(found) != len(shape):
        raise ShardingError(
            f"simulate: a mesh of shape {shape} for arrays on {names[found]}; {len(found)} axes would work"
        )
    return found


def _meshes(program: Program) -> Iterator[Any]:
    """Yield the devices that a program names."""
    for eqn in program.eqns:
        params = dict(eqn.params)
        if isinstance(params.get("spec"), ShardingSpec):
            yield params["spec"].mesh
        elif isinstance(params.get("device"), DeviceMesh):
            yield params["device"]


def _elsewhere(mesh: DeviceMesh, held: Any) -> Any:
    """Return how a value would lie on another mesh."""
    if held is None or held.shards is None:
        return None
    if isinstance(held.layout, Layout):
        return _on(mesh, held.sharding).layout(held.aval.shape)
    pairs = zip(held.layout, held.aval, strict=True)
    return tuple([_on(mesh, spec_of(lay)).layout(a.shape) for lay, a in pairs])


def _on(mesh: DeviceMesh, spec: ShardingSpec) -> ShardingSpec:
    more = {k: getattr(spec, k) for k in ("replicated_axes", "partial_axes")}
    return ShardingSpec(mesh, spec.dim_specs, **more)


def _moved(program: Program, mesh: DeviceMesh) -> Program:
    """Return a program with another mesh in the place of those that it names."""

    def changed(value: Any) -> Any:
        if isinstance(value, ShardingSpec):
            return _on(mesh, value)
        if isinstance(value, DeviceMesh):
            return mesh
        if isinstance(value, Program):
            return _moved(value, mesh)
        return tuple([changed(v) for v in value]) if type(value) is tuple else value

    eqns = [Eqn(e.prim, e.ins, tuple([(k, changed(v)) for k, v in e.params]), e.aval) for e in program.eqns]
    return Program(program.inputs, tuple(eqns), program.outputs)
