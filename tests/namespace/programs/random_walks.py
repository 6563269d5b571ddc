import numpy as np

rng = np.random.default_rng(seed=12345)
nsteps = 1000
draws = rng.integers(0, 2, size=nsteps)
steps = np.where(draws == 0, 1, -1)
walk = steps.cumsum()
print(walk.min(), walk.max(), (np.abs(walk) >= 10).argmax())
nwalks = 500
draws = rng.integers(0, 2, size=(nwalks, nsteps))
steps = np.where(draws > 0, 1, -1)
walks = steps.cumsum(axis=1)
print(walks, walks.max(), walks.min())
hits30 = (np.abs(walks) >= 30).any(axis=1)
print(hits30, hits30.sum())
crossing_times = (np.abs(walks[hits30]) >= 30).argmax(axis=1)
print(crossing_times.mean())
np.random.seed(10)
position, path = 0, [0]
for _ in range(100):
    step = 1 if np.random.randint(0, 2) else -1
    position += step
    path.append(position)
print(path[:20], np.random.choice(["a", "b", "c"], 5), np.random.choice(5, 3, replace=False))
x, y = np.zeros(200), np.zeros(200)
for i in range(1, 200):
    val = np.random.randint(1, 5)
    x[i], y[i] = x[i - 1], y[i - 1]
    if val == 1:
        x[i] += 1
    elif val == 2:
        x[i] -= 1
    elif val == 3:
        y[i] += 1
    else:
        y[i] -= 1
print(x[-1], y[-1], np.hypot(x, y).max(), np.vstack([x, y])[:, :10])
n = 10000
pts = np.random.uniform(-1, 1, (n, 2))
inside = np.linalg.norm(pts, axis=1) <= 1
print("pi ~", 4 * inside.sum() / n, 4 * np.count_nonzero(inside) / n)
a = np.arange(10)
np.random.shuffle(a)
print(a, np.random.permutation(5), np.random.rand(), np.random.randn(2, 2))
hist, edges = np.histogram(np.random.normal(size=1000), bins=10)
print(hist, edges)
print(
    np.random.binomial(10, 0.5, 5),
    np.random.poisson(3, 5),
    np.random.exponential(2.0, 3),
    np.random.beta(1, 2),
)
print(np.random.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 2), np.random.dirichlet([1, 2, 3]))
m = np.array([[0.9, 0.1], [0.5, 0.5]])
state = 0
visits = [0, 0]
for _ in range(1000):
    state = np.random.choice(2, p=m[state])
    visits[state] += 1
print(visits, np.linalg.matrix_power(m, 50))
st = np.random.get_state()
u = np.random.rand()
np.random.set_state(st)
print(u == np.random.rand(), st[0])
print(f"{walks.mean():.4f} ± {walks.std():.4f}", walks[:, -1].var(), np.median(walks[:, -1]))
