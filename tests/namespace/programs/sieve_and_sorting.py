import numpy as np


def primes(n):
    s = np.ones(n + 1, dtype=bool)
    s[:2] = False
    s[4::2] = False
    for i in range(3, int(n**0.5) + 1, 2):
        if s[i]:
            s[i * i :: 2 * i] = False
    return np.nonzero(s)[0]


p = primes(1000)
print(p[:20], len(p), p[-1], p.dtype, np.diff(p).max())


def bubble(a):
    n = len(a)
    for i in range(n):
        for j in range(0, n - i - 1):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


a = np.array([5, 2, 9, 1, 5, 6])
print(bubble(a), a)


def quicksort(x):
    if len(x) <= 1:
        return x
    pivot = x[len(x) // 2]
    return np.concatenate((quicksort(x[x < pivot]), x[x == pivot], quicksort(x[x > pivot])))


print(quicksort(np.array([3, 6, 1, 8, 2, 9, 2])))


def binary_search(a, v):
    lo, hi = 0, len(a) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if a[mid] == v:
            return mid
        if a[mid] < v:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1


print(binary_search(p, 541), p[binary_search(p, 541)])
F = np.array([[1, 1], [1, 0]], dtype=object)
M = F
for _ in range(100):
    M = M.dot(F)
print(M[0, 0])
f = np.zeros(20, dtype=np.int64)
f[0:2] = 1
for i in range(2, 20):
    f[i] = f[i - 1] + f[i - 2]
print(f, f[-1] / f[-2])
x = np.array([3, 1, 2])
i = x.argsort()
print(x[i], i, x[::-1], np.sort(x)[::-1], -np.sort(-x))
n = 0
while p[n] < 100:
    n += 1
print(n, p[:n].sum(), p[p < 100].prod(dtype=float), np.gcd.reduce([12, 18, 24]), np.lcm(4, 6))
print(
    np.base_repr(255, 16),
    np.binary_repr(10, 8),
    np.bitwise_xor.reduce(p[:5]),
    np.packbits([1, 0, 1]),
    5 & np.array([4, 3]),
    ~np.array([0]),
    1 << np.arange(4),
)
print(
    np.cumsum(p[:5]),
    np.cumprod(p[:5]),
    np.add.accumulate(p[:5]),
    np.multiply.outer([1, 2], [3, 4]),
    np.maximum.accumulate([1, 3, 2]),
    np.subtract.reduce([9, 1, 2]),
)
tri = np.zeros((6, 6), int)
for r in range(6):
    tri[r, 0] = tri[r, r] = 1
    for c in range(1, r):
        tri[r, c] = tri[r - 1, c - 1] + tri[r - 1, c]
print(tri)
magic = np.zeros((3, 3), dtype=int)
i, j = 0, 1
for k in range(1, 10):
    magic[i, j] = k
    ni, nj = (i - 1) % 3, (j + 1) % 3
    if magic[ni, nj]:
        ni, nj = (i + 1) % 3, j
    i, j = ni, nj
print(magic, magic.sum(0), magic.sum(1), magic.trace(), np.fliplr(magic).trace())
for r in magic:
    print(" ".join(f"{v:2d}" for v in r))
print("\n".join(["\t".join(map(str, row)) for row in magic]))
s = 0
for v in np.nditer(magic):
    s += v
print(s, int(s), sum(magic.flat), sum(map(sum, magic)))
spiral = []
m = np.arange(12).reshape(3, 4)
while m.size:
    spiral += m[0].tolist()
    m = np.rot90(m[1:])
print(spiral)
