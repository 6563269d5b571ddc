"""Calls whose derivatives are given, not derived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.bodies import batched, seen
from ..graph.node import Node
from ..graph.primitive import Primitive
from ..graph.program import Program
from .control import pulled, pushed
from .structure import barrier

# The results of a call come first among the operands, `rule.outs` of them, then its arguments and what else
# they depend on. The rule says how tangents and cotangents go past (transforms/custom.py); it is compared by
# identity. It is for the innermost derivative by an argument, which takes the call: those further out
# differentiate what the rule computes.
_HOST: dict[str, Any] = {
    "aval": lambda *operands, rule: operands[: rule.outs],
    "host": lambda *operands, rule: operands[: rule.outs],
    "kind": "view",
}


def _jvp(tangents: Any, out: Any, *operands: Node, rule: Any) -> Any:
    return rule.push(tangents, operands)


def _seen_as(of: Primitive, past: Primitive) -> Any:
    def seen(moves: Sequence[bool], params: dict[str, Any], how: str) -> tuple[Primitive, dict[str, Any]]:
        rule = params["rule"]
        if how == "linear":
            return through, params
        if how == "deeper":
            return of, {"rule": rule.at_depth(rule.depth + 1)}
        if how == "taken" and not any(moves[rule.outs : rule.outs + rule.args]):
            return of, params
        if rule.depth:
            return of, {"rule": rule.at_depth(rule.depth - 1)}
        return (past if how == "taken" else of), params

    return seen


# Derivatives go through the operands that are the results.
through = Primitive(
    "custom_through",
    **_HOST,
    jvp=lambda tangents, out, *operands, rule: tangents[: rule.outs],
    transpose=lambda ct, wanted, *operands, rule: [*ct, *[None] * (len(operands) - rule.outs)],
)

# Derivatives go through the results as the rule for tangents computes them.
custom_jvp_result = Primitive(
    "custom_jvp_result",
    **_HOST,
    jvp=lambda tangents, out, *operands, rule: rule.push_result(tangents, operands),
)

# With a rule for tangents, which serves for cotangents too.
custom_jvp_call = Primitive("custom_jvp_call", **_HOST, jvp=_jvp)
custom_jvp_call.seen = _seen_as(custom_jvp_call, custom_jvp_result)

# With a rule for cotangents.
custom_vjp_call = Primitive(
    "custom_vjp_call",
    **_HOST,
    jvp=_jvp,
    transpose=lambda ct, wanted, *operands, rule: rule.pull(ct, wanted, operands),
)
custom_vjp_call.seen = _seen_as(custom_vjp_call, through)


# -- computed again --------------------------------------------------------------------------------------
# Operands: the results of a program, its inputs, and those of its values that are `kept`, by number. The
# derivative runs the program once more, instead of keeping what else it computed; what is computed from the
# barriers is not taken for what was computed before.


def _parts(operands: Sequence[Any], program: Program, kept: Sequence[int]) -> tuple[Any, Any, dict[int, Any]]:
    n = len(program.outputs)
    m = n + len(program.inputs)
    return operands[:n], operands[n:m], dict(zip(kept, operands[m:], strict=True))


def _again_jvp(
    tangents: Any, out: Any, *operands: Node, program: Program, kept: Sequence[int]
) -> list[Node | None]:
    _, inputs, values = _parts(operands, program, kept)
    return pushed(program, [barrier(x) for x in inputs], _parts(tangents, program, kept)[1], values)[1]


def _again_transpose(
    ct: Any, wanted: Any, *operands: Node, program: Program, kept: Sequence[int]
) -> list[Node | None]:
    outs, inputs, values = _parts(operands, program, kept)
    asked = _parts(wanted, program, kept)[1]
    found = iter(pulled(program, [barrier(x) for x in inputs], ct, asked, values))
    return [None] * len(outs) + [next(found) if want else None for want in asked] + [None] * len(kept)


again_call: Primitive = Primitive(
    "again_call",
    lambda *operands, program, kept: operands[: len(program.outputs)],
    lambda *operands, program, kept: operands[: len(program.outputs)],
    kind="view",
    batch=lambda params, size: {**params, "program": batched(params["program"], size)},
    jvp=_again_jvp,
    transpose=_again_transpose,
    seen=lambda moves, params, how: (
        again_call,
        {**params, "program": seen(params["program"], _parts(moves, **params)[1], how)},
    ),
)
