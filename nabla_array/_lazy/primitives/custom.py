"""Calls whose derivatives are given, not derived."""

from __future__ import annotations

from typing import Any

from ..node import Node
from ..primitive import Primitive

# The results of a call come first among the operands, `rule.outs` of them, then what they depend on. The rule
# says how tangents and cotangents go past (transforms/custom.py); it is compared by identity.
_HOST: dict[str, Any] = {
    "aval": lambda *operands, rule: operands[: rule.outs],
    "host": lambda *operands, rule: operands[: rule.outs],
    "kind": "view",
}


def _jvp(tangents: Any, out: Any, *operands: Node, rule: Any) -> Any:
    return rule.push(tangents, operands)


# With a rule for tangents, which serves for cotangents too.
custom_jvp_call = Primitive("custom_jvp_call", **_HOST, jvp=_jvp)

# With a rule for cotangents. Tangents go through the operands that are the results.
custom_vjp_call = Primitive(
    "custom_vjp_call",
    **_HOST,
    jvp=lambda tangents, out, *operands, rule: tangents[: rule.outs],
    transpose=lambda ct, wanted, *operands, rule: rule.pull(ct, wanted, operands),
)

# Computed again for its derivative: with rules for both.
again_call = Primitive(
    "again_call",
    **_HOST,
    jvp=_jvp,
    transpose=lambda ct, wanted, *operands, rule: rule.pull(ct, operands),
)
