"""PCA and logistic regression, unchanged from scikit-learn, of a file that is larger than a worker's memory.

The workers map the file into memory, each reads its own parts when it computes with them, and nobody ever has
all of it. Run it with threads of this process as devices, or with two workers of a Dask cluster that may use
256 MB each:

    python examples/distributed/out_of_core.py
    python examples/distributed/out_of_core.py --engine dask
    python examples/distributed/out_of_core.py --engine dask --small
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported: its functions take our arrays

import argparse
import tempfile
from contextlib import ExitStack
from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, load

FEATURES, COMPONENTS = 50, 8
LIMIT = 256 << 20  # bytes of memory that a worker may use
CHUNK = 20_000


def write_data(folder: str, rows: int) -> tuple[str, str]:
    """Write examples of two classes, some rows at a time; returns the names of the files."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(COMPONENTS, FEATURES)) * np.linspace(3, 1, COMPONENTS)[:, None]
    names = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
    x = np.lib.format.open_memmap(names[0], "w+", np.float64, (rows, FEATURES))
    y = np.lib.format.open_memmap(names[1], "w+", np.int64, (rows,))
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        hidden = rng.normal(size=(n, COMPONENTS))
        x[start : start + n] = hidden @ mixing + 0.1 * rng.normal(size=(n, FEATURES)) + 5
        y[start : start + n] = hidden[:, 0] - hidden[:, 1] > 0.5 * rng.normal(size=n)
    return names


def variances(name: str) -> np.ndarray:
    """Return the variances along the principal axes, by NumPy, some rows at a time."""
    x = np.load(name, mmap_mode="r")
    total, products = np.zeros(FEATURES), np.zeros((FEATURES, FEATURES))
    for start in range(0, len(x), CHUNK):
        part = np.asarray(x[start : start + CHUNK])
        total += part.sum(axis=0)
        products += part.T @ part
    covariance = (products - np.outer(total, total) / len(x)) / (len(x) - 1)
    return np.linalg.eigvalsh(covariance)[::-1][:COMPONENTS]


def peak(dask_worker: Any) -> int:
    """Return the most memory that a worker was seen to use, in bytes."""
    return max(dask_worker.monitor.quantities["memory"])


def fitted(x: Any, y: Any) -> tuple[Any, float]:
    """Return the PCA of the examples, and which share of them a classifier of its components tells right."""
    # Here, since workers import this file too, and have no memory to spare.
    from sklearn import config_context
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression

    with config_context(array_api_dispatch=True):
        pca = PCA(n_components=COMPONENTS, svd_solver="covariance_eigh", whiten=True).fit(x)
        reduced = pca.transform(x)
        model = LogisticRegression().fit(reduced, y)
        right = xp.astype(model.predict(reduced) == y, xp.float64)
    return pca, float(xp.mean(right))


def main(engine: str, small: bool) -> None:
    rows = 20_000 if small else 1_000_000
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        x_file, y_file = write_data(folder, rows)
        client = None
        if engine == "dask":
            from distributed import Client, LocalCluster

            cluster = LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit=LIMIT,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            )
            client = stack.enter_context(Client(stack.enter_context(cluster)))
        # Many devices: a worker has the part of one in its memory at a time.
        mesh = DeviceMesh((16,), ("rows",), engine=engine, client=client)
        stack.callback(mesh.close)
        x, y = load(x_file, mesh, P("rows")), load(y_file, mesh, P("rows"))
        print(f"{x.nbytes >> 20} MB on {mesh}: {x.sharding.partition_spec}")
        pca, share = fitted(x, y)
        print(f"PCA explains {float(xp.sum(pca.explained_variance_ratio_)):.4f} of the variance,")
        print(f"{share:.4f} of the examples are told right")
        same = np.allclose(np.asarray(pca.explained_variance_), variances(x_file))
        print(f"the same as with NumPy, chunk by chunk: {same}")
        if client is not None:
            used = max(client.run(peak).values())
            print(f"a worker used {used >> 20} MB at the most, of {LIMIT >> 20} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", default="local", choices=["local", "dask"])
    parser.add_argument("--small", action="store_true", help="a file of 8 MB instead of one of 400 MB")
    given = parser.parse_args()
    main(given.engine, given.small)
