import numpy as np

n = 20
u = np.zeros((n, n))
f = np.zeros((n, n))
f[5:8, 5:8] = 1
h = 1 / (n - 1)
u[0, :] = 1.0
it = 0
while it < 200:
    it += 1
    un = u.copy()
    u[1:-1, 1:-1] = 0.25 * (
        un[2:, 1:-1] + un[:-2, 1:-1] + un[1:-1, 2:] + un[1:-1, :-2] + h * h * f[1:-1, 1:-1]
    )
    err = np.abs(u - un).max()
    if err < 1e-5:
        break
print(it, err, u[::5, ::5])
v = np.zeros((8, 8))
v[0] = 1
for _s in range(20):
    for i in range(1, 7):
        for j in range(1, 7):
            v[i, j] += 1.5 * ((v[i + 1, j] + v[i - 1, j] + v[i, j + 1] + v[i, j - 1]) / 4 - v[i, j])
print(v)
u = np.ones(41)
u[int(0.5 / 0.05) : int(1 / 0.05 + 1)] = 2
for _ in range(25):
    un = u.copy()
    u[1:] = un[1:] - un[1:] * 0.02 / 0.05 * (un[1:] - un[:-1])
print(u)
a, b, c, d = (np.full(5, v) for v in (-1.0, 4.0, -1.0, 2.0))
cp, dp = np.empty(5), np.empty(5)
cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
for i in range(1, 5):
    m = b[i] - a[i] * cp[i - 1]
    cp[i] = c[i] / m
    dp[i] = (d[i] - a[i] * dp[i - 1]) / m
x = np.zeros(5)
x[-1] = dp[-1]
for i in range(3, -1, -1):
    x[i] = dp[i] - cp[i] * x[i + 1]
print(x, np.linalg.solve(np.diag(b) + np.diag(a[1:], -1) + np.diag(c[:-1], 1), d))


def cg(A, b, tol=1e-10):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    k = 0
    while k < 100:
        k += 1
        Ap = A @ p
        al = rs / (p @ Ap)
        x += al * p
        r -= al * Ap
        new = r @ r
        if np.sqrt(new) < tol:
            break
        p = r + new / rs * p
        rs = new
    return x, k


A = np.random.RandomState(0).rand(6, 6)
A = A @ A.T + 6 * np.eye(6)
x, k = cg(A, np.ones(6))
print(x, k, np.allclose(A @ x, 1))
K = np.zeros((5, 5))
k_e = np.array([[1, -1], [-1, 1]]) * 4
for e in range(4):
    K[e : e + 2, e : e + 2] += k_e
K[np.ix_([0, 4], range(5))] = 0
K[0, 0] = K[4, 4] = 1
print(K, np.linalg.solve(K, [0, 1, 1, 1, 0]))


def simpson(f, a, b, n=10):
    x = np.linspace(a, b, n + 1)
    y = f(x)
    return (b - a) / n / 3 * np.sum(y[0:-1:2] + 4 * y[1::2] + y[2::2])


print(simpson(np.sin, 0, np.pi), np.trapezoid(np.sin(np.linspace(0, np.pi, 50)), dx=np.pi / 49))


def newton(f, x, it=10):
    for _ in range(it):
        x -= f(x) / ((f(x + 1e-6) - f(x - 1e-6)) / 2e-6)
    return x


print(
    newton(lambda x: x**2 - 2, 1.0),
    newton(lambda x: np.cos(x) - x, np.array([0.5, 1.0])),
    newton(lambda x: x**3 - 8, np.float64(3)),
)
p, q = np.polynomial.legendre.leggauss(5)
print((q * np.exp(p)).sum(), np.polynomial.Polynomial.fit(p, np.exp(p), 2).coef.round(4))
print(
    np.gradient(np.array([1.0, 4, 9, 16])),
    np.gradient(u.reshape(1, -1)[:, :4], axis=1),
    np.interp(2.5, [1, 2, 3], [3, 2, 0]),
)
