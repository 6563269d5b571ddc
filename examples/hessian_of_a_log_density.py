"""The Hessian of a log-density that is written with SciPy's special functions.

    python examples/hessian_of_a_log_density.py

Counts follow a negative binomial distribution. Newton's method with `grad` and `hessian` finds the most
likely parameters, and the Hessian there gives their standard errors; `vmap` does that for many samples.
"""

from __future__ import annotations

import os
import sys

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported: its functions take our arrays

import numpy as np
from scipy import special, stats

import nabla_array as xp
from nabla_array.transforms import grad, hessian, vmap


def log_density(parameters: xp.Array, counts: xp.Array) -> xp.Array:
    """Return the log-density of counts, by the logarithms of the distribution's mean and size."""
    mean, size = xp.exp(parameters)
    choose = special.gammaln(counts + size) - special.gammaln(size) - special.gammaln(counts + 1.0)
    total = size + mean
    return xp.sum(choose + special.xlogy(size, size / total) + special.xlogy(counts, mean / total))


def fit(counts: xp.Array) -> tuple[xp.Array, xp.Array]:
    """Return the most likely parameters and their standard errors."""
    parameters = xp.stack([xp.log(xp.mean(counts)), xp.asarray(0.5)])
    slope = grad(log_density)(parameters, counts)
    while xp.max(xp.abs(slope)) > 1e-8:
        step = xp.linalg.solve(hessian(log_density)(parameters, counts), slope)
        parameters = parameters - xp.clip(step, -0.5, 0.5)
        slope = grad(log_density)(parameters, counts)
    information = -hessian(log_density)(parameters, counts)
    return parameters, xp.sqrt(xp.linalg.diagonal(xp.linalg.inv(information)))


def main() -> None:
    rng = np.random.default_rng(0)
    mean, size = 4.0, 2.5
    samples = rng.negative_binomial(size, size / (size + mean), (20, 400)).astype(float)

    at = xp.asarray(np.log([mean, size]))
    ours = float(log_density(at, xp.asarray(samples[0])))
    theirs = float(np.sum(stats.nbinom.logpmf(samples[0], size, size / (size + mean))))
    sys.stdout.write(f"log-density of a sample: {ours:.6f}; scipy.stats.nbinom gives {theirs:.6f}\n")

    found, errors = (np.asarray(x) for x in vmap(fit)(xp.asarray(samples)))
    sys.stdout.write("log mean and log size, as they are:   {:6.3f} {:6.3f}\n".format(*np.asarray(at)))
    sys.stdout.write("  mean over 20 samples:               {:6.3f} {:6.3f}\n".format(*found.mean(axis=0)))
    sys.stdout.write("  their spread over the samples:      {:6.3f} {:6.3f}\n".format(*found.std(axis=0)))
    sys.stdout.write("  standard errors from the Hessian:   {:6.3f} {:6.3f}\n".format(*errors.mean(axis=0)))


if __name__ == "__main__":
    main()
