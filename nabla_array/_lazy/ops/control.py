"""Loops and branches: operations whose params are programs.

The inputs of these programs are the operation's operands as one step sees them: what changes from step to
step (the carry), then slices, then what stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..graph.aval import Aval, aval_of
from ..graph.bodies import Flags, batched, holes, moving_outputs, placed, seen, writing, written
from ..graph.node import NO_PARAMS, Node, record
from ..graph.primitive import Primitive
from ..graph.program import Program, run
from ..graph.tape import Entry, made_by, pull_hook, push_hook, taping
from . import machine_control as mc
from .creation import fill_like
from .structure import barrier, project

Axes = tuple[int, ...]
_NOTHING: Mapping[int, Node] = {}


def _results(prim: Primitive, operands: Sequence[Node], params: dict[str, Any]) -> list[Node]:
    node = record(prim, tuple(operands), params)
    return [project(node, index=i) for i in range(len(node.aval))]


def _or_zero(node: Node | None, like: Node) -> Node:
    return fill_like(like, 0) if node is None else node


def _picked(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [v for v, one in zip(values, flags, strict=True) if one]


def _spread(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Undo `_picked`, with None in the gaps."""
    rest = iter(values)
    return [next(rest) if one else None for one in flags]


def _run_above(*operands: Any, **params: Any) -> Any:
    """Stand in for the host functions: `run.control` gives them, as it compiles bodies or schedules them."""
    raise NotImplementedError("loops and branches run once _lazy.run.control is imported")


# -- derivatives of bodies -------------------------------------------------------------------------------


def _record(program: Program, inputs: Sequence[Node], kept: Mapping[int, Node]) -> list[Node]:
    if not kept:
        return run(program, inputs, lambda prim, ins, params: record(prim, tuple(ins), params or NO_PARAMS))
    values = [*inputs]
    for number, eqn in enumerate(program.eqns, len(values)):
        ins, params = tuple([values[i] for i in eqn.ins]), dict(eqn.params) or NO_PARAMS
        if number in kept:
            values.append(barrier(kept[number]))
            made_by(Entry(values[-1], eqn.prim, ins, params))
        else:
            values.append(record(eqn.prim, ins, params))
    return [values[i] for i in program.outputs]


def pushed(
    program: Program,
    inputs: Sequence[Node],
    tangents: Sequence[Node | None],
    kept: Mapping[int, Node] = _NOTHING,
) -> tuple[list[Node], list[Node | None]]:
    """Record a program's outputs, and their tangents; `kept` holds values that are there, by number."""
    given = {id(n): t for n, t in zip(inputs, tangents, strict=True) if t is not None}
    with taping([n for n in inputs if id(n) in given]) as tape:
        outs = _record(program, inputs, kept)
    known = push_hook[0](tape, given, outs)
    return outs, [known.get(id(n)) for n in outs]


def pulled(
    program: Program,
    inputs: Sequence[Node],
    cts: Sequence[Node | None],
    wanted: Sequence[bool],
    kept: Mapping[int, Node] = _NOTHING,
) -> list[Node | None]:
    """Record the cotangents of the wanted inputs for those of a program's outputs; `kept` as for `pushed`."""
    chosen = [n for n, want in zip(inputs, wanted, strict=True) if want]
    with taping(chosen) as tape:
        outs = _record(program, inputs, kept)
    known = pull_hook[0](tape, [(o, c) for o, c in zip(outs, cts, strict=True) if c is not None])
    return [known.get(id(n)) for n in chosen]


@lru_cache(512)
def has_tangents(program: Program, given: Flags) -> Flags:
    """Say which outputs have tangents when the inputs `given` have."""
    values, tangents = holes(program.inputs), _spread(holes(_picked(program.inputs, given)), given)
    with writing(), taping([*values, *[t for t in tangents if t is not None]], derivative=False):
        return tuple([t is not None for t in pushed(program, values, tangents)[1]])


# -- scan ------------------------------------------------------------------------------------------------
# Operands: `carry` of them that the body hands on, one a `x_axes` entry that are cut along that axis, and the
# rest. The body gives the carry, and one result a `y_axes` entry that is stacked along that axis.


def with_axis(aval: Aval, axis: int, length: int) -> Aval:
    return aval_of((*aval.shape[:axis], length, *aval.shape[axis:]), aval.dtype)


def _scan_aval(
    *operands: Aval, program: Program, length: int, reverse: bool, carry: int, x_axes: Axes, y_axes: Axes
) -> tuple[Aval, ...]:
    outs = [program.aval(k) for k in program.outputs]
    stacked = [with_axis(a, axis, length) for a, axis in zip(outs[carry:], y_axes, strict=True)]
    return (*outs[:carry], *stacked)


def _scan_batch(params: dict[str, Any], size: int) -> dict[str, Any]:
    return {
        **params,
        "program": batched(params["program"], size),
        "x_axes": tuple([a + 1 for a in params["x_axes"]]),
        "y_axes": tuple([a + 1 for a in params["y_axes"]]),
    }


def _loop_tangents(
    program: Program, carry: int, given: Sequence[bool], of: Callable[..., Flags] = has_tangents
) -> tuple[Flags, Flags]:
    """Say which operands have tangents, also of the carry those that get them later, and which results."""
    flags = list(given)
    while True:
        found = of(program, tuple(flags))
        more = [f or g for f, g in zip(flags, found[:carry], strict=False)]
        if more == flags[:carry]:
            return tuple(flags), (*more, *found[carry:])
        flags[:carry] = more


@lru_cache(512)
def _scan_pushed(
    program: Program, carry: int, cut: int, given: Flags, wanted: Flags
) -> tuple[Program, list[Node]]:
    """Return the body that hands tangents on too, each group of operands before its tangents, and gives those
    of the other results."""
    values, tangents = holes(program.inputs), _spread(holes(_picked(program.inputs, given)), given)
    sources = []
    for some in (slice(carry), slice(carry, carry + cut), slice(carry + cut, None)):
        sources += [*values[some], *[t for t in tangents[some] if t is not None]]

    def make() -> list[Node]:
        outs, ts = pushed(program, values, tangents)
        return [*outs[:carry], *[_or_zero(t, o) for t, o, w in zip(ts, outs, wanted, strict=True) if w]]

    return written(sources, make)


def _scan_jvp(tangents: Sequence[Node | None], out: Any, *operands: Node, **params: Any) -> list[Node | None]:
    program, n, cut = params["program"], params["carry"], len(params["x_axes"])
    given, wanted = _loop_tangents(program, n, [t is not None for t in tangents])
    body, more = _scan_pushed(program, n, cut, given, wanted)
    ts = [_or_zero(t, o) if g else None for t, o, g in zip(tangents, operands, given, strict=True)]
    values: list[Node] = []
    for some in (slice(n), slice(n, n + cut), slice(n + cut, None)):
        values += [*operands[some], *[t for t in ts[some] if t is not None]]
    new = {
        **params,
        "program": body,
        "carry": n + sum(given[:n]),
        "x_axes": (*params["x_axes"], *_picked(params["x_axes"], given[n : n + cut])),
        "y_axes": tuple(_picked(params["y_axes"], wanted[n:])),
    }
    return _spread(_results(scan, [*values, *more], new)[n:], wanted)


@lru_cache(512)
def _scan_pulled(
    program: Program, carry: int, cut: int, given: Flags, wanted: Flags
) -> tuple[Program, list[Node], list[int]]:
    """Return the body of the way back, its further operands, and which carries of the way there it needs.

    It hands on the cotangents of the carry, and sums of those of what stays; it cuts the carries, what was
    cut before, and the cotangents of the other results; it gives the cotangents of what was cut.
    """
    values = holes(program.inputs)
    cts = _spread(holes([program.aval(k) for k in _picked(program.outputs, given)]), given)
    sums = holes(_picked(program.inputs[carry + cut :], wanted[carry + cut :]))
    m, k = sum(wanted[:carry]), sum(wanted[carry : carry + cut])

    def make(sources: list[Node]) -> tuple[Program, list[Node]]:
        def back() -> list[Node]:
            found = [*map(_or_zero, pulled(program, values, cts, wanted), _picked(values, wanted))]
            totals = [s + c for s, c in zip(sums, found[m + k :], strict=True)]
            return [*found[:m], *totals, *found[m : m + k]]

        return written(sources, back)

    first = [*[c for c in cts[:carry] if c is not None], *sums]
    rest = [*values[carry : carry + cut], *[c for c in cts[carry:] if c is not None], *values[carry + cut :]]
    body, _ = make([*first, *values[:carry], *rest])
    used = {i for e in body.eqns for i in e.ins} | set(body.outputs)
    needed = [i for i in range(carry) if len(first) + i in used]
    return *make([*first, *[values[i] for i in needed], *rest]), needed


def _scan_transpose(
    ct: Sequence[Node | None], wanted: Sequence[bool], *operands: Node, **params: Any
) -> list[Node | None]:
    program, n, cut = params["program"], params["carry"], len(params["x_axes"])
    moving = _loop_tangents(program, n, wanted, moving_outputs)[0][:n]
    given = (*moving, *[c is not None for c in ct[n:]])
    asked = (*moving, *wanted[n:])
    body, more, needed = _scan_pulled(program, n, cut, given, asked)
    sums = [fill_like(v, 0) for v in _picked(operands[n + cut :], asked[n + cut :])]
    cts = [_or_zero(c, o) for c, o, g in zip(ct, operands[:n], moving, strict=False) if g]
    values = [
        *cts,
        *sums,
        *_carries(operands, {**params, "program": seen(program, asked, "taken")}, needed),
        *operands[n : n + cut],
        *_picked(ct[n:], given[n:]),
        *operands[n + cut :],
        *more,
    ]
    new = {
        "program": body,
        "length": params["length"],
        "reverse": not params["reverse"],
        "carry": len(cts) + len(sums),
        "x_axes": (*[0] * len(needed), *params["x_axes"], *_picked(params["y_axes"], given[n:])),
        "y_axes": tuple(_picked(params["x_axes"], asked[n : n + cut])),
    }
    results = _results(scan, values, new)
    m, k = len(cts), len(cts) + len(sums)
    found = _spread([*results[:m], *results[k:], *results[m:k]], asked)
    return [c if want else None for c, want in zip(found, wanted, strict=True)]


def _carries(operands: Sequence[Node], params: dict[str, Any], needed: list[int]) -> list[Node]:
    """Run forwards for the carries that each step starts with."""
    if not needed:
        return []
    program, n = params["program"], params["carry"]
    forwards = Program(program.inputs, program.eqns, (*program.outputs[:n], *needed))
    return _results(scan, operands, {**params, "program": forwards, "y_axes": (0,) * len(needed)})[n:]


def _scan_seen(moves: Flags, params: dict[str, Any], how: str) -> tuple[Primitive, dict[str, Any]]:
    program = params["program"]
    given, _ = _loop_tangents(program, params["carry"], moves, moving_outputs)
    return scan, {**params, "program": seen(program, given, how)}


scan = Primitive(
    "scan",
    _scan_aval,
    _run_above,
    batch=_scan_batch,
    jvp=_scan_jvp,
    transpose=_scan_transpose,
    seen=_scan_seen,
    llvm=mc.scan,
)


# -- while -----------------------------------------------------------------------------------------------
# Operands: `carry` of them that the body hands on, and the rest. Where the condition is an array, its axes
# lead the carry, and those of the rest that have `rows`: a step is for the entries where it holds.


def _while_batch(params: dict[str, Any], size: int) -> dict[str, Any]:
    cond = params["cond"]
    alone = not cond.aval(cond.outputs[0]).ndim
    return {
        **params,
        "cond": batched(cond, size),
        "body": batched(params["body"], size),
        "rows": tuple([alone or r for r in params["rows"]]),
    }


def _while_jvp(
    tangents: Sequence[Node | None], out: Any, *operands: Node, **params: Any
) -> list[Node | None]:
    body, n = params["body"], params["carry"]
    given, wanted = _loop_tangents(body, n, [t is not None for t in tangents])
    new, more = _scan_pushed(body, n, 0, given, wanted)
    ts = [_or_zero(t, o) if g else None for t, o, g in zip(tangents, operands, given, strict=True)]
    moving, fixed = [t for t in ts[:n] if t is not None], [t for t in ts[n:] if t is not None]
    where = [*range(n), *range(n + len(moving), len(operands) + len(moving))]
    new_params = {
        "cond": placed(params["cond"], new.inputs, where),
        "body": new,
        "carry": n + len(moving),
        "rows": (*params["rows"], *_picked(params["rows"], given[n:]), *[False] * len(more)),
    }
    values = [*operands[:n], *moving, *operands[n:], *fixed, *more]
    return _spread(_results(while_, values, new_params)[n:], wanted)


def _while_transpose(ct: Any, wanted: Any, *operands: Node, **params: Any) -> Any:
    raise NotImplementedError(
        "while_loop: no reverse mode, as the number of steps is not known beforehand: forward mode (jvp, "
        "jacfwd) works, and so does reverse mode through scan, or fori_loop with bounds that are known"
    )


def _while_seen(moves: Flags, params: dict[str, Any], how: str) -> tuple[Primitive, dict[str, Any]]:
    given, _ = _loop_tangents(params["body"], params["carry"], moves, moving_outputs)
    return while_, {**params, "body": seen(params["body"], given, how)}


while_ = Primitive(
    "while",
    lambda *operands, cond, body, carry, rows: tuple(operands[:carry]),
    _run_above,
    batch=_while_batch,
    jvp=_while_jvp,
    transpose=_while_transpose,
    seen=_while_seen,
    llvm=mc.while_,
)


# -- switch ----------------------------------------------------------------------------------------------
# Operands: the number of a branch, and what the branches take. Where it is an array of numbers, its `lead`
# axes lead every result but `sums`, and the operands of some `roles`: each entry goes its way.
# ROW: an entry of the operand is one of the index. COTANGENT: as well, and results are linear in it, so that
# zero makes the sums of a branch forget the entries that go another way. SHARED: the same for all entries.

ROW, COTANGENT, SHARED = "row", "cotangent", "shared"
Roles = tuple[str, ...]


def _switch_aval(index: Aval, *operands: Aval, branches: tuple[Program, ...], **params: Any) -> Any:
    return branches[0].results


def _switch_batch(params: dict[str, Any], size: int) -> dict[str, Any]:
    lead = params["lead"]
    return {
        "branches": tuple([batched(b, size) for b in params["branches"]]),
        "lead": lead + 1,
        "roles": params["roles"] if lead else (ROW,) * len(params["roles"]),
        "sums": params["sums"] if lead else (False,) * len(params["sums"]),
    }


def together(
    made: Sequence[tuple[Program, list[Node]]], shared: int
) -> tuple[tuple[Program, ...], list[Node]]:
    """Give programs that share their first inputs all inputs of all of them; returns the further ones too."""
    inputs = [*made[0][0].inputs[:shared]]
    starts = []
    for program, _ in made:
        starts.append(len(inputs))
        inputs += program.inputs[shared:]
    programs = [
        placed(p, inputs, [*range(shared), *range(start, start + len(more))])
        for (p, more), start in zip(made, starts, strict=True)
    ]
    return tuple(programs), [n for _, more in made for n in more]


@lru_cache(512)
def _branch_pushed(branch: Program, given: Flags, wanted: Flags) -> tuple[Program, list[Node]]:
    values, ts = holes(branch.inputs), holes(_picked(branch.inputs, given))

    def make() -> list[Node]:
        outs, found = pushed(branch, values, _spread(ts, given))
        return [_or_zero(t, o) for t, o, w in zip(found, outs, wanted, strict=True) if w]

    return written([*values, *ts], make)


@lru_cache(512)
def _branch_pulled(branch: Program, given: Flags, wanted: Flags) -> tuple[Program, list[Node]]:
    values = holes(branch.inputs)
    cts = holes([branch.aval(k) for k in _picked(branch.outputs, given)])

    def make() -> list[Node]:
        found = pulled(branch, values, _spread(cts, given), wanted)
        return [*map(_or_zero, found, _picked(values, wanted))]

    return written([*values, *cts], make)


def _switch_jvp(
    tangents: Sequence[Node | None], out: Any, index: Node, *operands: Node, **params: Any
) -> list[Node | None]:
    branches, roles = params["branches"], params["roles"]
    given = tuple([t is not None for t in tangents[1:]])
    found = [has_tangents(b, given) for b in branches]
    wanted = tuple([any(some) for some in zip(*found, strict=True)])
    ts = _picked(tangents[1:], given)
    made, more = together([_branch_pushed(b, given, wanted) for b in branches], len(operands) + len(ts))
    new = {
        "branches": made,
        "lead": params["lead"],
        "roles": (*roles, *_picked(roles, given), *[SHARED] * len(more)),
        "sums": tuple(_picked(params["sums"], wanted)),
    }
    return _spread(_results(switch, [index, *operands, *ts, *more], new), wanted)


def _switch_transpose(
    ct: Sequence[Node | None], wanted: Sequence[bool], index: Node, *operands: Node, **params: Any
) -> list[Node | None]:
    branches, roles, lead = params["branches"], params["roles"], params["lead"]
    given, asked = tuple([c is not None for c in ct]), tuple(wanted[1:])
    cts = _picked(ct, given)
    made, more = together([_branch_pulled(b, given, asked) for b in branches], len(operands) + len(cts))
    new_roles = [SHARED if s else COTANGENT for s in _picked(params["sums"], given)]
    new = {
        "branches": made,
        "lead": lead,
        "roles": (*roles, *new_roles, *[SHARED] * len(more)),
        "sums": tuple([bool(lead) and r == SHARED for r in _picked(roles, asked)]),
    }
    return [None, *_spread(_results(switch, [index, *operands, *cts, *more], new), asked)]


def _switch_seen(moves: Flags, params: dict[str, Any], how: str) -> tuple[Primitive, dict[str, Any]]:
    branches = tuple([seen(b, moves[1:], how) for b in params["branches"]])
    return switch, {**params, "branches": branches}


switch = Primitive(
    "switch",
    _switch_aval,
    _run_above,
    batch=_switch_batch,
    jvp=_switch_jvp,
    transpose=_switch_transpose,
    seen=_switch_seen,
    llvm=mc.switch,
)
