import itertools

import numpy as np


class Node:
    def __init__(s, feature=None, thr=None, left=None, right=None, value=None):
        s.feature, s.thr, s.left, s.right, s.value = feature, thr, left, right, value


def gini(y):
    _, c = np.unique(y, return_counts=True)
    p = c / c.sum()
    return 1 - np.sum(p**2)


def build(X, y, depth=0):
    if depth == 3 or len(np.unique(y)) == 1:
        return Node(value=np.bincount(y).argmax())
    best = (None, None, np.inf)
    for f in range(X.shape[1]):
        for t in np.unique(X[:, f])[::4]:
            left, r = y[X[:, f] <= t], y[X[:, f] > t]
            if len(left) == 0 or len(r) == 0:
                continue
            g = (len(left) * gini(left) + len(r) * gini(r)) / len(y)
            if g < best[2]:
                best = (f, t, g)
    f, t, _ = best
    m = X[:, f] <= t
    return Node(f, t, build(X[m], y[m], depth + 1), build(X[~m], y[~m], depth + 1))


def predict(n, x):
    while n.value is None:
        n = n.left if x[n.feature] <= n.thr else n.right
    return n.value


rng = np.random.RandomState(42)
X = rng.randn(60, 3)
y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
tree = build(X, y)
pred = np.array([predict(tree, x) for x in X])
print(pred, (pred == y).mean(), tree.feature, tree.thr)


class NB:
    def fit(self, X, y):
        self.c = np.unique(y)
        self.mu = np.array([X[y == c].mean(0) for c in self.c])
        self.var = np.array([X[y == c].var(0) for c in self.c])
        self.pr = np.array([np.mean(y == c) for c in self.c])

    def predict(self, X):
        ll = [
            np.log(p) - 0.5 * np.sum(np.log(2 * np.pi * v)) - 0.5 * np.sum((X - m) ** 2 / v, axis=1)
            for m, v, p in zip(self.mu, self.var, self.pr, strict=False)
        ]
        return self.c[np.argmax(np.array(ll).T, axis=1)]


nb = NB()
nb.fit(X, y)
print((nb.predict(X) == y).mean(), nb.mu, nb.pr)


class Net:
    def __init__(self, sizes):
        self.W = [rng.randn(a, b) * np.sqrt(2 / a) for a, b in itertools.pairwise(sizes)]
        self.b = [np.zeros(s) for s in sizes[1:]]

    def forward(self, x):
        self.a = [x]
        for i, (W, b) in enumerate(zip(self.W, self.b, strict=False)):
            z = self.a[-1] @ W + b
            self.a.append(np.maximum(z, 0) if i < len(self.W) - 1 else 1 / (1 + np.exp(-z)))
        return self.a[-1]

    def step(self, x, t, lr):
        d = (self.forward(x) - t) / len(x)
        for i in reversed(range(len(self.W))):
            gW, gb = self.a[i].T @ d, d.sum(0)
            d = (d @ self.W[i].T) * (self.a[i] > 0)
            self.W[i] -= lr * gW
            self.b[i] -= lr * gb


net = Net([3, 8, 1])
for e in range(200):
    net.step(X, y[:, None], 0.5)
    if e % 50 == 0:
        p = net.forward(X)
        print(e, -np.mean(y[:, None] * np.log(p) + (1 - y[:, None]) * np.log(1 - p)))
print(((net.forward(X) > 0.5).ravel() == y).mean(), [W.shape for W in net.W])


def em(x, k=2, it=30):
    mu = x[[0, -1]].astype(float)
    s = np.ones(k)
    w = np.ones(k) / k
    for _ in range(it):
        r = w * np.exp(-((x[:, None] - mu) ** 2) / (2 * s**2)) / s
        r /= r.sum(1, keepdims=True)
        n = r.sum(0)
        mu = (r * x[:, None]).sum(0) / n
        s = np.sqrt((r * (x[:, None] - mu) ** 2).sum(0) / n)
        w = n / len(x)
    return mu, s, w


print(*em(np.sort(np.r_[rng.randn(50), rng.randn(50) * 0.5 + 4])))
alphabet = sorted(set("hello world"))
ix = {c: i for i, c in enumerate(alphabet)}
one = np.eye(len(alphabet))[[ix[c] for c in "hello"]]
print(one.argmax(1), "".join(alphabet[i] for i in one.argmax(1)))
vocab = {}
[vocab.setdefault(w, len(vocab)) for w in ["a", "b", "a", "c"]]
counts = np.zeros(len(vocab))
np.add.at(counts, [vocab[w] for w in ["a", "b", "a", "c"]], 1)
print(counts, counts / counts.sum(), -(counts / counts.sum() * np.log2(counts / counts.sum())).sum())


def batches(X, n):
    idx = np.arange(len(X))
    np.random.seed(3)
    np.random.shuffle(idx)
    for s in range(0, len(X), n):
        yield X[idx[s : s + n]]


print([b.shape for b in batches(X, 25)], next(batches(X, 2)))
q = np.zeros((4, 2))
rs = np.random.RandomState(0)
s = 0
for _ in range(200):
    a = rs.randint(2) if rs.rand() < 0.2 else q[s].argmax()
    s2 = min(s + 1, 3) if a else max(s - 1, 0)
    rew = 1.0 if s2 == 3 else 0.0
    q[s, a] += 0.5 * (rew + 0.9 * q[s2].max() - q[s, a])
    s = 0 if s2 == 3 else s2
print(q.round(3))
