import numpy as np

for dt in (np.float16, np.float32, np.float64, np.int8, np.uint64, bool, complex, np.complex64):
    a = np.arange(6).reshape(2, 3).astype(dt)
    print(a)
    print(repr(a))
    print(a.dtype, a[0, 1], repr(a[0, 1]), str(a[1]), f"{a[1, 2]}")
print(
    np.array([1.123456789, 2.1, 1000000.0]),
    np.array([1e-5, 1.0]),
    np.array([1e16, 1.0]),
    np.array([123456789.123]),
)
print(np.random.RandomState(0).rand(3, 3))
print(np.random.RandomState(0).rand(1100).reshape(110, 10))
np.set_printoptions(precision=3, suppress=True, threshold=20, edgeitems=2, linewidth=60)
print(np.random.RandomState(0).rand(8, 8))
print(np.arange(100))
print(np.array([1e-10, 5]), np.linspace(0, 1, 7))
np.set_printoptions(
    edgeitems=3,
    infstr="inf",
    linewidth=75,
    nanstr="nan",
    precision=8,
    suppress=False,
    threshold=1000,
    formatter=None,
)
a = np.array([[1.5, np.nan], [np.inf, -2]])
print(a, repr(a), a.tolist(), list(a), [x for x in a], tuple(a[0]), {"k": a})
print(
    f"{a}",
    f"{a}",
    f"{a!r}",
    str(a),
    f"{a!r}",
    f"{a[0, 0]:8.3f}|{a[0, 0]:<8}|{a[0, 0]:>8.1e}|{int(a[1, 1]):+d}",
)
print(
    a.shape,
    a.T.shape,
    a.size,
    a.ndim,
    len(a),
    a.dtype,
    a.dtype.name,
    a.dtype.kind,
    a.itemsize,
    a.nbytes,
    type(a.shape),
)
print(np.zeros((0, 3)), np.zeros(0), np.zeros((2, 0, 2)), np.array(3), np.array([[[1]]]))
print(
    np.float64(0.1) + 0.2,
    np.float32(0.1),
    np.int64(3),
    np.bool_(True),
    np.complex128(1 + 2j),
    repr(np.float32(0.1)),
    repr(np.int8(3)),
)
x = np.float64(3.7)
print(
    x.is_integer(),
    x.round(),
    round(x),
    int(x),
    x.dtype,
    x.astype(int),
    x.item(),
    x.ndim,
    x.shape,
    np.floor(x),
    divmod(x, 2),
)
m = np.arange(3)
s = m.sum()
print(
    s,
    s / 2,
    s // 2,
    s**2,
    -s,
    s + 1.5,
    s > 2,
    s == 3,
    not s,
    bool(s),
    float(s),
    [0, 1, 2, 3][s],
    "abc"[m[1]],
    s.item(),
    hash(s) == hash(3),
    s in (3, 4),
    {3: "x"}[s],
    range(s),
    s.dtype,
)
print(
    m.mean(),
    m.std(),
    m.var(ddof=1),
    m.min(),
    m.max(),
    m.argmax(),
    m.any(),
    m.all(),
    m.prod(),
    np.median(m),
    np.ptp(m),
)
print(
    max(m),
    min(m),
    sum(m),
    sorted(m, reverse=True),
    list(reversed(m)),
    list(enumerate(m)),
    list(zip(m, m, strict=False)),
    dict(zip("abc", m, strict=False)),
    *m,
    sep=" | ",
)
print(np.bool_(1) and 5, m[0] or "zero", m[1] and "one", m[2] if m[2] > 1 else None, 1 < m[2] < 3)
print(repr(m[1:2]), repr(m[m > 5]), repr(m == 1), repr(m * 1.0), repr(m.reshape(1, 3)), repr(m[:, None]))
print(
    np.array2string(np.array([1.23456, 2]), precision=2),
    np.array_repr(m),
    np.array_str(m),
    np.format_float_positional(1e-7),
    np.format_float_scientific(12345.678, precision=2),
)
print(
    np.array(["x", "yy"]),
    np.array([None, 1.5]),
    np.array([True, False]),
    ~np.array([True, False]),
    np.array([1, 2.5]),
    np.array([1, 2j]),
    np.array([[1, 2], [3, 4]], dtype=float),
)
