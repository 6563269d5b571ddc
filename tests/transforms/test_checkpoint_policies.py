"""What `checkpoint` keeps by its policy, and that it changes no derivative."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    checkpoint,
    checkpoint_name,
    compile,
    grad,
    hessian,
    jvp,
    scan,
    trace,
    value_and_grad,
    vmap,
)
from nabla_array.transforms import checkpoint_policies as policies

W = xp.asarray([[0.5, -0.25], [0.75, 1.0]])
X = xp.asarray([0.3, -0.7])


def layer(W: Any, x: Any) -> Any:
    h = checkpoint_name(xp.exp(W @ x), "exp")
    return xp.sum(xp.sin(checkpoint_name({"h": h * h}, "square")["h"]))


ALL = {
    "none": None,
    "nothing": policies.nothing_saveable,
    "everything": policies.everything_saveable,
    "dots": policies.dots_saveable,
    "dots of few axes": policies.dots_with_no_batch_dims_saveable,
    "exp": policies.save_only_these_names("exp"),
    "all but exp": policies.save_any_names_but_these("exp"),
    "not exp": policies.save_anything_except_these_names("exp"),
    "both": policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("exp")),
}
# How often the value and its gradient compute a product, and an exponential.
COUNTS = {"none": (2, 2), "nothing": (2, 2), "everything": (1, 1), "dots": (1, 2), "both": (1, 2)}


@pytest.mark.parametrize("name", ALL)
def test_policies_change_no_derivative(name: str) -> None:
    def kept(W: Any, x: Any) -> Any:
        return checkpoint(layer, policy=ALL[name])(W, x)

    def close(a: Any, b: Any) -> None:
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-12)

    close(kept(W, X), layer(W, X))
    many = xp.stack([X, 2 * X, 0 * X])
    derivatives = {
        "grad": lambda f: grad(f, 0)(W, X),
        "grad by the other": lambda f: grad(f, 1)(W, X),
        "jvp": lambda f: jvp(f, (W, X), (W, X))[1],
        "hessian": lambda f: hessian(f, 1)(W, X),
        "grad of grad": lambda f: grad(lambda x: xp.sum(grad(f, 0)(W, x) ** 2))(X),
        "vmap of grad": lambda f: vmap(grad(f, 1), in_axes=(None, 0))(W, many),
        "grad of vmap": lambda f: grad(lambda W: vmap(f, in_axes=(None, 0))(W, many).sum())(W),
        "scan": lambda f: grad(lambda W: scan(lambda c, x: (c + f(W, x), None), 0.0, many)[0])(W),
    }
    for derivative in derivatives.values():
        wanted = derivative(layer)
        for f in (kept, compile(kept)):
            close(derivative(f), wanted)


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_kept_is_not_computed_again(name: str) -> None:
    text = str(trace(value_and_grad(lambda x: checkpoint(layer, policy=ALL[name])(W, x)), X))
    text = re.sub(r"program=program.*?return [^\n]*", "", text, flags=re.DOTALL)
    products, exponentials = COUNTS[name]
    assert text.count("= exp(") == exponentials
    # One more takes the cotangent back.
    assert text.count("= matmul(") == products + 1


def test_names_are_seen_by_policies_alone() -> None:
    assert checkpoint_name(X, "x").tolist() == X.tolist()
    assert grad(lambda x: checkpoint_name(x, "x") ** 2)(3.0) == 6.0
    assert checkpoint(static_argnums=(1,))(lambda x, n: x**n)(2.0, 3) == 8.0
