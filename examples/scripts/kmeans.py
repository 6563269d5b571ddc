"""k-means from scratch, with k-means++ seeding, on clouds of points."""

import numpy as np
from numpy.linalg import norm

np.random.seed(42)


def make_blobs(n, centers, spread):
    points, labels = [], []
    for label, center in enumerate(centers):
        points.append(center + spread * np.random.randn(n, len(center)))
        labels.append(np.full(n, label))
    points, labels = np.vstack(points), np.concatenate(labels)
    order = np.random.permutation(len(points))
    return points[order], labels[order]


def seeds(X, k):
    centers = [X[np.random.choice(len(X))]]
    for _ in range(1, k):
        d2 = np.min([((X - c) ** 2).sum(axis=1) for c in centers], axis=0)
        centers.append(X[np.random.choice(len(X), p=d2 / d2.sum())])
    return np.array(centers)


def kmeans(X, k, iterations=100, tol=1e-6):
    centers = seeds(X, k)
    n = 0
    while n < iterations:
        n += 1
        distances = norm(X[:, np.newaxis] - centers, axis=2)
        labels = distances.argmin(axis=1)
        new = np.empty_like(centers)
        for j in range(k):
            members = X[labels == j]
            new[j] = members.mean(axis=0) if len(members) else X[np.random.randint(len(X))]
        shift = norm(new - centers)
        centers[:] = new
        if shift < tol:
            break
    inertia = np.sum(distances[np.arange(len(X)), labels] ** 2)
    return centers, labels, inertia, n


true_centers = np.array([[0, 0], [5, 5], [-4, 4], [4, -5], [-5, -5]], dtype=float)
X, y = make_blobs(400, true_centers, 1.1)
print("data:", X.shape, X.dtype, "mean", X.mean(axis=0).round(4), "std", X.std(axis=0).round(4))

best = None
for run in range(4):
    centers, labels, inertia, n = kmeans(X, 5)
    print(f"run {run}: {n:2d} iterations, inertia {inertia:.3f}")
    if best is None or inertia < best[2]:
        best = centers, labels, inertia

centers, labels, _ = best
order = np.lexsort((centers[:, 1], centers[:, 0]))
centers = centers[order]
rank = np.empty(5, dtype=int)
rank[order] = np.arange(5)
labels = rank[labels]

confusion = np.zeros((5, 5), dtype=int)
np.add.at(confusion, (y, labels), 1)
print("centres:")
print(np.array2string(centers, precision=3, suppress_small=True))
print("confusion:")
print(confusion)
print(f"purity: {confusion.max(axis=0).sum() / len(X):.4f}")
for k in range(1, 8):
    print(k, "clusters:", round(float(kmeans(X, k)[2]), 2))
