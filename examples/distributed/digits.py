"""scikit-learn's PCA and logistic regression, unchanged, on rows that are cut over four devices.

Run it with threads of this process as devices, or with the workers of a Dask cluster:

    python examples/distributed/digits.py
    python examples/distributed/digits.py --engine dask
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported: its functions take our arrays

import numpy as np
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, shard


def main(argv: Sequence[str] | None = None) -> None:
    """Fit both on the mesh, and compare with NumPy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="local", choices=["local", "dask"])
    engine = parser.parse_args(argv).engine

    images, digits = load_digits(return_X_y=True)
    images = images / 16.0

    mesh = DeviceMesh((4,), ("rows",), engine=engine)
    try:
        x, y = shard(images, mesh, P("rows")), shard(digits, mesh, P("rows"))
        print(f"{x.shape[0]} images on {mesh}: {x.sharding.partition_spec}")
        print("\nhow a Gram matrix is computed there:")
        centred = x - xp.mean(x, axis=0)
        print(xp.explain(centred.T @ centred))

        with config_context(array_api_dispatch=True):
            pca = PCA(n_components=16, svd_solver="covariance_eigh").fit(x)
            reduced = pca.transform(x)
            model = LogisticRegression(max_iter=300).fit(reduced, y)
            right = model.predict(reduced) == y
            share = float(xp.mean(xp.astype(right, xp.float64)))
        print(f"\nPCA explains {float(xp.sum(pca.explained_variance_ratio_)):.4f} of the variance,")
        print(f"{share:.4f} of the images are told right; the reduced images are {reduced.sharding}")

        theirs = PCA(n_components=16, svd_solver="covariance_eigh").fit(images)
        same = np.allclose(np.asarray(pca.explained_variance_), theirs.explained_variance_)
        wanted = LogisticRegression(max_iter=300).fit(theirs.transform(images), digits)
        same &= bool(np.allclose(np.abs(np.asarray(model.coef_)), np.abs(wanted.coef_), rtol=1e-3, atol=1e-4))
        print(f"the same as with NumPy: {same}")
    finally:
        mesh.close()


if __name__ == "__main__":
    main()
