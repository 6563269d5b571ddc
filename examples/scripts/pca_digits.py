"""Principal components of handwritten digits, and what can be done with few of them."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

digits = load_digits()
X, y = np.asarray(digits.data), np.asarray(digits.target)
n, p = X.shape
print(f"{n} images of {p} pixels, {len(np.unique(y))} classes, {(X == 0).mean():.1%} of the pixels are black")

mean = X.mean(axis=0)
centered = X - mean
U, s, Vt = np.linalg.svd(centered, full_matrices=False)
flip = np.sign(Vt[np.arange(p), np.abs(Vt).argmax(axis=1)])
Vt *= flip[:, None]
U *= flip
variance = s**2 / (n - 1)
ratio = variance / variance.sum()
cumulative = np.cumsum(ratio)
print("variance of the first five:", np.round(ratio[:5], 4))
for goal in (0.5, 0.8, 0.9, 0.95, 0.99):
    print(f"{goal:.0%} of the variance: {np.searchsorted(cumulative, goal) + 1} components")

cov = np.cov(X, rowvar=False)
values = np.linalg.eigvalsh(cov)[::-1]
print("the covariance agrees:", np.allclose(values, variance, atol=1e-8))
print("rank:", np.linalg.matrix_rank(centered))

scores = centered @ Vt.T
print("uncorrelated:", np.abs(np.corrcoef(scores[:, :10].T) - np.eye(10)).max() < 1e-10)
for k in (2, 8, 32):
    restored = scores[:, :k] @ Vt[:k] + mean
    error = np.sqrt(((X - restored) ** 2).mean())
    print(f"{k:2d} components: rms error {error:.4f}, worst image {((X - restored) ** 2).sum(1).argmax()}")

# Nearest class mean, and nearest neighbours, in the space of ten components.
rng = np.random.RandomState(0)
order = rng.permutation(n)
train, test = order[: n * 3 // 4], order[n * 3 // 4 :]
Z = scores[:, :10]
means = np.stack([Z[train][y[train] == c].mean(axis=0) for c in range(10)])
nearest = ((Z[test, None, :] - means) ** 2).sum(-1).argmin(axis=1)
print(f"nearest mean: {np.mean(nearest == y[test]):.4f}")

d2 = (Z[test] ** 2).sum(1)[:, None] - 2 * Z[test] @ Z[train].T + (Z[train] ** 2).sum(1)
neighbours = y[train][np.argsort(d2, axis=1, kind="stable")[:, :5]]
votes = np.apply_along_axis(np.bincount, 1, neighbours, minlength=10)
guess = votes.argmax(axis=1)
print(f"five neighbours: {(guess == y[test]).mean():.4f}")

confusion = np.zeros((10, 10), int)
for i, t in enumerate(test):
    confusion[y[t], guess[i]] += 1
print(confusion)
off = confusion - np.diag(confusion.diagonal())
print("most confused:", np.unravel_index(off.argmax(), off.shape)[0], "errors by class:", off.sum(axis=1))

fig = plt.figure(figsize=(8, 4))
for i in range(8):
    ax = fig.add_subplot(2, 4, i + 1)
    ax.imshow(Vt[i].reshape(8, 8), cmap="RdBu")
    ax.set_title(f"{ratio[i]:.1%}")
    ax.set_axis_off()
fig.savefig("pca_digits.png")
