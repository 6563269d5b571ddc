import numpy as np

np.random.seed(0)
X = 2 * np.random.rand(100, 1)
y = 4 + 3 * X + np.random.randn(100, 1)
X_b = np.c_[np.ones((100, 1)), X]
theta_best = np.linalg.inv(X_b.T.dot(X_b)).dot(X_b.T).dot(y)
print("theta", theta_best)
print(theta_best.ravel(), theta_best[0][0])
X_new = np.array([[0], [2]])
X_new_b = np.c_[np.ones((2, 1)), X_new]
print(X_new_b.dot(theta_best))
eta = 0.1
m = 100
theta = np.random.randn(2, 1)
for _iteration in range(1000):
    gradients = 2 / m * X_b.T.dot(X_b.dot(theta) - y)
    theta = theta - eta * gradients
print(theta)
n_epochs, t0, t1 = 20, 5, 50


def schedule(t):
    return t0 / (t + t1)


for epoch in range(n_epochs):
    for i in range(m):
        k = np.random.randint(m)
        xi, yi = X_b[k : k + 1], y[k : k + 1]
        gradients = 2 * xi.T.dot(xi.dot(theta) - yi)
        theta = theta - schedule(epoch * m + i) * gradients
print(theta)
U, s, Vt = np.linalg.svd(X_b, full_matrices=False)
print(U.shape, s, Vt, sep="\n")
coef, res, rank, sv = np.linalg.lstsq(X_b, y, rcond=None)
print(coef, res, rank, sv)
print(np.corrcoef(X.ravel(), y.ravel()))
print(np.polyfit(X[:, 0], y[:, 0], deg=2))
p = np.poly1d(np.polyfit(X[:, 0], y[:, 0], 1))
print(p)


class Scaler:
    def fit(self, X):
        self.mean_, self.std_ = X.mean(axis=0), X.std(axis=0)
        return self

    def transform(self, X):
        return (X - self.mean_) / self.std_


s = Scaler().fit(X)
print(s.mean_, s.std_, s.transform(X)[:3])
mse = ((X_b @ theta_best - y) ** 2).mean()
print(f"mse = {mse:f}, rmse = {np.sqrt(mse):.4g}")
