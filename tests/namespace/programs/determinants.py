import numpy as np
from numpy import linalg as LA


def det(A):
    A = A.astype(float).copy()
    n = len(A)
    d = 1.0
    for i in range(n):
        p = i + np.abs(A[i:, i]).argmax()
        if A[p, i] == 0:
            return 0.0
        if p != i:
            A[[i, p]] = A[[p, i]]
            d = -d
        d *= A[i, i]
        for j in range(i + 1, n):
            A[j, i:] -= A[j, i] / A[i, i] * A[i, i:]
    return d


A = np.array([[2, -1, 0], [-1, 2, -1], [0, -1, 2]])
print(det(A), LA.det(A), LA.inv(A), sep="\n")


def lu(A):
    n = A.shape[0]
    L, U = np.eye(n), A.astype(float)
    for k in range(n):
        L[k + 1 :, k] = U[k + 1 :, k] / U[k, k]
        U[k + 1 :] -= np.outer(L[k + 1 :, k], U[k])
    return L, U


L, U = lu(A)
print(L, U, np.allclose(L @ U, A), sep="\n")


def gauss(A, b):
    M = np.hstack([A.astype(float), b.reshape(-1, 1)])
    n = len(b)
    for i in range(n):
        M[i] /= M[i, i]
        for j in range(n):
            if j != i:
                M[j] -= M[j, i] * M[i]
    return M[:, -1]


b = np.array([1, 2, 3])
print(gauss(A, b), LA.solve(A, b))


def gram_schmidt(V):
    Q = np.zeros_like(V)
    for i in range(V.shape[1]):
        q = V[:, i].copy()
        for j in range(i):
            q -= (Q[:, j] @ V[:, i]) * Q[:, j]
        Q[:, i] = q / LA.norm(q)
    return Q


print(gram_schmidt(np.array([[1.0, 1], [0, 1], [1, 0]])))
x = np.ones(3)
for _ in range(50):
    x = A @ x
    x /= LA.norm(x)
print(x @ A @ x, LA.eigvalsh(A), LA.eigh(A)[0][-1])
print(
    LA.cond(A),
    LA.matrix_rank(A),
    np.trace(A),
    LA.norm(A, "fro"),
    LA.norm(A, 1),
    LA.norm(A, np.inf),
    LA.norm(A, 2),
)
print(
    np.kron(np.eye(2), A[:2, :2]),
    np.triu(A),
    np.tril(A, -1),
    np.block([[A, np.zeros((3, 1))], [np.ones((1, 4))]]),
)
print(np.cross([1, 0, 0], [0, 1, 0]), np.inner(b, b), np.vdot(b, b), b.dot(b), A.dot(b), np.outer(b, b))
try:
    LA.inv(np.zeros((2, 2)))
except LA.LinAlgError:
    print("singular")
try:
    A @ np.ones(4)
except ValueError:
    print("ValueError")
try:
    np.ones(3) + np.ones(4)
except ValueError:
    print("bad shapes")
try:
    A[5]
except IndexError:
    print("no such row")
q, r = LA.qr(A)
print(np.round(q @ r), LA.cholesky(A.astype(float)))
print(
    A.T is A,
    (A.T == A).all(),
    A[::-1, ::-1],
    A.flatten(order="F"),
    A.max(axis=0),
    A[A > 0],
    A.ptp() if hasattr(A, "ptp") else np.ptp(A),
)
print(np.vander([1, 2, 3]), np.diag([1, 2]), np.diag(A), np.fliplr(A), np.rot90(A))
