"""The runner of JAX's and autograd's test files works, on small files of our own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .__main__ import run_other
from .classes import class_of, table, wrong
from .results import Result

JAX = """
import jax, jax.numpy as jnp
from jax import lax
from jax._src import test_util as jtu

class SmallTest(jtu.JaxTestCase):
  def test_derivative(self):
    self.assertAllClose(jax.grad(lambda x: jnp.sin(x).sum())(jnp.arange(3.0)), jnp.cos(jnp.arange(3.0)))

  def test_scan(self):
    total, _ = lax.scan(lambda c, x: (lax.add(c, x), None), 0.0, jnp.arange(4.0))
    jtu.check_grads(lambda x: lax.scan(lambda c, x: (c * x, None), 1.0, x)[0], (jnp.ones(3),), 2)
    self.assertEqual(total, 6.0)

  def test_refused(self):
    jax.make_jaxpr(jnp.sin)(1.0)

  def test_wrong(self):
    self.assertAllClose(jax.grad(jnp.sin)(0.5), 0.5)
"""

AUTOGRAD = """
import autograd.numpy as np
from autograd import elementwise_grad, grad
from autograd.test_util import check_grads

def test_derivative():
    assert grad(lambda x: np.sum(x ** 2))(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]

def test_against_differences():
    check_grads(lambda x, y: np.sin(x) * y, (0, 1))(0.5, 2.0)

def test_refused():
    from autograd.extend import primitive
    primitive(np.sin)

def test_wrong():
    check_grads(lambda x: np.sign(x) * np.floor(x))(1.0)
"""


@pytest.mark.parametrize(("project", "text"), [("jax", JAX), ("autograd", AUTOGRAD)])
def test_a_small_file(project: str, text: str, tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="SciPy, whose special functions the stand-ins have, is optional")
    if project == "jax":  # neither is a dependency: whoever runs JAX's tests installs them
        pytest.importorskip("jax")
        pytest.importorskip("absl")
    file = tmp_path / "small_test.py"
    file.write_text(text, encoding="utf-8")
    result = run_other(project, file, None)
    assert (*result.counts(), wrong(result)) == (2, 2, 0, 1)
    assert f"| {file.name} | 2 | 1 | 1 | 0 |" in table([result])


def test_values_are_in_no_class() -> None:
    for message in (
        "AssertionError: Not equal to tolerance",
        "AssertionError: jvp: 1.0 is not 2.0",
        "assert 1 == 2",
    ):
        assert wrong(Result("a.py", {"one": f"failed: {message}"})) == 1


def test_classes_of_refusals() -> None:
    assert class_of("a", "Refused: jax.make_jaxpr").name == "Programs as JAX keeps them"
    assert class_of("a", "AssertionError: TypeError not raised").name == "More is taken"


@pytest.mark.slow
@pytest.mark.parametrize("tests", ["scipy.special.tests.test_logsumexp", "sklearn.utils.tests.test_stats"])
def test_what_scipy_and_sklearn_bring(tests: str) -> None:
    command = [sys.executable, "-m", "tests.upstream", tests.partition(".")[0], tests, "-k", "nabla_array"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b[1-9]\d* passed", done.stdout)
