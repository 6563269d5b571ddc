from collections import Counter

import numpy as np


def euclidean(a, b):
    return np.sqrt(np.sum((a - b) ** 2))


class KNN:
    def __init__(self, k=3):
        self.k = k

    def fit(self, X, y):
        self.X, self.y = X, y

    def predict(self, X):
        return np.array([self._predict(x) for x in X])

    def _predict(self, x):
        d = [euclidean(x, t) for t in self.X]
        idx = np.argsort(d)[: self.k]
        labels = [self.y[i] for i in idx]
        return Counter(labels).most_common(1)[0][0]


rng = np.random.default_rng(5)
X = np.concatenate([rng.normal(m, 0.8, (20, 2)) for m in (0, 2, 4)])
y = np.repeat([0, 1, 2], 20)
idx = rng.permutation(60)
tr, te = idx[:45], idx[45:]
knn = KNN(3)
knn.fit(X[tr], y[tr])
pred = knn.predict(X[te])
print(pred, y[te], (pred == y[te]).mean(), pred.dtype)
print(Counter(y.tolist()), Counter(pred), dict(Counter(list(y))))
D = np.sqrt(((X[te][:, None] - X[tr][None]) ** 2).sum(-1))
near = np.argpartition(D, 3, axis=1)[:, :3]
vote = np.array([np.bincount(y[tr][n]).argmax() for n in near])
print((vote == pred).all(), D.shape, D.min(), D.max(), np.unravel_index(np.argmin(D), D.shape))
d = {}
for label in np.unique(y):
    d[label] = X[y == label].mean(axis=0)
print(d)
for k, v in d.items():
    print(k, v, k == y[0])
groups = [X[y == k] for k in range(3)]
print([g.shape for g in groups], np.linalg.norm(groups[0].mean(0) - groups[1].mean(0)))
cm = np.zeros((3, 3), dtype=int)
for t, p in zip(y[te], pred, strict=False):
    cm[t, p] += 1
print(cm, cm.trace() / cm.sum(), np.diag(cm) / cm.sum(axis=1))
print(np.unique(y[te], return_counts=True))
lst = X.tolist()
print(len(lst), lst[0][:1], X[0].tolist() == lst[0])
print(sorted(zip(D[0], y[tr], strict=False))[:3])
print(min(D[0]), max(D[0], key=lambda v: -v), sum(D[0]) / len(D[0]))
