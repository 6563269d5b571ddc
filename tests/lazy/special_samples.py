"""Operands for SciPy's special functions, within their domains and away from edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nabla_array._lazy.ops.special import PARTIALS, SEVERAL

WHOLE_FIRST = {"pdtr", "pdtrc", "expn", "yn"}
WHOLE_DEGREE = {"eval_hermite", "eval_hermitenorm"}
BELOW_ZERO = {"ndtri_exp"}
# Whose operands are all within 0 and 1; elsewhere the last operand is, where it is a probability or so.
SMALL = {
    *("erfinv", "erfcinv", "ndtri", "logit", "ellipk", "ellipkm1", "ellipe", "ellipkinc", "ellipeinc"),
    *("betainc", "betaincc", "betaincinv", "betainccinv", "gammaincinv", "gammainccinv", "chdtri", "fdtri"),
    *("stdtrit", "hyp2f1", "ellipj"),
}


def samples() -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield the name of every function with derivatives, and operands."""
    for k, (name, partials) in enumerate((PARTIALS | SEVERAL).items()):
        rng = np.random.default_rng(k)
        low, high = (0.2, 0.8) if name in SMALL else (1.2, 2.2)
        operands = [rng.uniform(low, high, (2, 3)) for _ in partials]
        if name in WHOLE_FIRST:
            operands = [np.arange(6.0).reshape(2, 3), np.arange(1.0, 7).reshape(2, 3)]
        if name in BELOW_ZERO:
            operands = [-x for x in operands]
        if name == "_zeta":
            operands[0] += 1
        if name in WHOLE_DEGREE:
            operands[0] = np.arange(6).reshape(2, 3)
        if name == "wofz":
            operands[0] = operands[0] + 0.3j
        if name == "_lambertw":
            operands = [operands[0] + 0.3j, np.array([[0, 1, -1]] * 2), np.full((2, 3), 1e-8)]
        yield name, tuple(operands)
