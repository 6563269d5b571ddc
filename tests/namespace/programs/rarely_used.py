import io
import os
import sys

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

print(
    np.genfromtxt(io.StringIO("1,2\n3,4"), delimiter=","),
    np.loadtxt(io.StringIO("1 2\n3 4"), unpack=True),
    np.loadtxt(io.StringIO("# c\n1;2"), delimiter=";", dtype=int),
)
x, y = np.loadtxt(io.StringIO("1 2\n3 4"), unpack=True)
print(x, y, x + y)
np.savetxt(sys.stdout, np.eye(2), fmt="%d")
np.savetxt(sys.stdout, np.column_stack([x, y]), header="x y", fmt=["%.1f", "%5.2f"])
print(
    np.fromstring("1 2", sep=" "),
    np.frombuffer(b"\x01\x00\x02\x00", dtype="<i2"),
    np.fromiter(range(3), int),
    np.array(range(3)),
    np.array(i for i in [1]).shape,
    np.array(list(map(int, "123"))),
    np.array([*"abc"]),
    np.array(bytearray(b"ab")),
    np.array(memoryview(b"ab")),
)
np.array([1.0, 2]).tofile("a.bin")
print(np.fromfile("a.bin"), os.path.getsize("a.bin"))
np.save("b.npy", np.arange(3))
print(np.load("b.npy") + 1, np.load("b.npy", mmap_mode="r")[1])
np.savez_compressed("c.npz", x=x, y=y)
with np.load("c.npz") as f:
    print(sorted(f.keys()), f["x"] * 2)
mm = np.memmap("m.dat", dtype="float32", mode="w+", shape=(3,))
mm[:] = [1, 2, 3]
mm.flush()
print(np.memmap("m.dat", dtype="float32", mode="r"), mm.sum())
print(
    np.dtype("i4"),
    np.dtype(np.float32).itemsize,
    np.iinfo(np.int8).max,
    np.finfo(np.float64).precision,
    np.can_cast(int, float),
    np.result_type(np.int8, np.float32),
    np.promote_types("i4", "f4"),
    np.issubdtype(np.int32, np.integer),
    np.issubdtype(np.arange(2).dtype, np.number),
    np.min_scalar_type(300),
    np.common_type(np.arange(2)),
)
a = np.arange(10, dtype=np.int16)
print(
    a.view(np.uint8)[:4],
    a.byteswap()[:2],
    a.astype(">i2").dtype,
    a.newbyteorder if hasattr(a, "newbyteorder") else "",
    a.tobytes()[:4],
    a.data.nbytes,
    a.flags.writeable,
    a.ctypes.data != 0,
)
b = np.arange(24).reshape(2, 3, 4)
print(
    b.strides,
    b.T.strides,
    b[::2].strides,
    b.flags.c_contiguous,
    b.T.flags.f_contiguous,
    b.ravel("F")[:4],
    b.reshape(4, 6, order="F")[0],
    b.base is None,
    b[0].base is not None,
)

print(
    sliding_window_view(np.arange(5), 3),
    as_strided(np.arange(5), (3, 3), (8, 8)),
    sliding_window_view(np.eye(3), (2, 2)).sum((2, 3)),
)
print(
    np.broadcast_shapes((2, 1), (3,)),
    np.broadcast_to(np.arange(2), (2, 2)),
    [v.shape for v in np.broadcast_arrays(np.ones((2, 1)), np.ones(3))],
    np.broadcast(np.ones((2, 1)), np.ones(3)).shape,
)
print(
    np.einsum("ij,jk->ik", np.eye(2), np.ones((2, 2))),
    np.einsum("ii", np.eye(3)),
    np.einsum("i,j", [1, 2], [3, 4]),
    np.einsum("...j->...", np.ones((2, 3))),
    np.tensordot(b, b, axes=([0, 1, 2], [0, 1, 2])),
    np.einsum_path("ij,jk", np.eye(2), np.eye(2))[0],
)
c = np.poly1d([1, -3, 2])
print(
    c.roots,
    c(3),
    c.deriv(),
    c * c,
    np.polyder([1, 2, 3]),
    np.polyint([2, 1]),
    np.polymul([1, 1], [1, -1]),
    np.polydiv([1, 0, -1], [1, 1]),
)
P = np.polynomial.Polynomial([1, 2, 3])
print(P(2), P.deriv(), P.roots(), np.polynomial.chebyshev.chebval(0.5, [1, 2]))
print(
    np.char.add(["a"], ["b"]),
    np.char.split("a b"),
    np.strings.upper(np.array(["a"])),
    np.array(["b", "a"]).argsort(),
    np.array(["x"]) + np.array(["y"]) if False else "",
)
r = np.rec.array([(1, 2.0)], dtype=[("a", int), ("b", float)])
print(r.a, r.b, r[0].a)
t = np.array([("x", 1), ("y", 2)], dtype="U5,i4")
print(t["f1"].sum(), t[t["f1"] > 1]["f0"])
s = np.zeros(3, dtype=[("pos", float, 2), ("id", int)])
s["pos"][:, 0] = 1
s["id"] = np.arange(3)
s["pos"] += [0.5, 1]
print(s, s["pos"].sum(0), np.sort(s, order="id")[::-1]["id"], s.dtype.fields.keys())
d = np.array(["2024-01-01", "2024-03-01"], dtype="datetime64[D]")
print(
    d[1] - d[0],
    (d[1] - d[0]).astype(int),
    d.astype("datetime64[M]"),
    np.datetime64("now") > d[0],
    np.timedelta64(1, "D") / np.timedelta64(1, "h"),
    d + np.timedelta64(1, "D"),
    np.is_busday("2024-01-01"),
)
z = np.ma.masked_where(np.arange(4) > 2, np.arange(4))
print(z, z.sum(), z.filled(-1), np.ma.masked_invalid([1, np.nan]).mean())
M = np.matrix([[1, 2], [3, 4]])
print(M * M, M.T, M.I, M.A, M[0, 1], np.asarray(M) * 2)


class Arr(np.ndarray):
    def __new__(cls, v):
        return np.asarray(v).view(cls)

    def double(self):
        return self * 2


try:
    print(Arr([1, 2]).double(), type(Arr([1, 2])).__name__)
except Exception as e:
    print(type(e).__name__)
print(
    np.ndarray((2,), dtype=int, buffer=np.array([1, 2])) if False else "",
    np.testing.assert_allclose([1, 2], np.array([1, 2])),
    np.testing.assert_array_equal(np.arange(2), [0, 1]),
    np.allclose([1, np.nan], [1, np.nan], equal_nan=True),
    np.array_equiv([1], [1, 1]),
)
try:
    np.testing.assert_array_equal(np.arange(2), [0, 2])
except AssertionError:
    print("differs")
print(
    np.lib.NumpyVersion("1.2.3") < "1.3.0",
    hasattr(np, "float_"),
    np.__name__ if False else "",
    np.typename("d"),
    np.ScalarType is not None,
    np.sctypeDict["float64"],
    np.typecodes["Float"],
)
for k, w in {"bartlett": np.bartlett, "kaiser": lambda n: np.kaiser(n, 5)}.items():
    print(k, w(5))
g = np.mgrid[0:2, 0:3]
print(
    g.shape,
    g[1],
    np.ogrid[0:2, 0:3][0],
    np.indices((2, 2))[0],
    np.ix_([0, 1], [1]),
    np.ravel_multi_index((1, 2), (3, 4)),
    np.unravel_index([5, 7], (3, 4)),
    np.tril_indices(2),
    np.diag_indices(2),
    np.triu(np.ones((3, 3)), 1),
    np.tri(2),
)
print(
    np.apply_over_axes(np.sum, b, [0, 2]).ravel(),
    np.apply_along_axis(sorted, 0, [[2, 1], [1, 2]]),
    np.piecewise([-1.0, 1], [np.array([True, False])], [0, lambda v: v * 2]),
    np.put_along_axis is not None,
    np.take_along_axis(np.array([[3, 1]]), np.array([[1, 0]]), 1),
    np.partition([3, 1, 2], 1)[1],
    np.resize([1, 2], 3),
    np.rot90(np.eye(2)),
    np.kron([1, 2], [1, 1]),
    np.cross([1, 2, 3], [3, 2, 1]),
    np.setdiff1d([1, 2], [2]),
    np.union1d([1], [2]),
    np.intersect1d([1, 2], [2]),
    np.ediff1d([1, 3]),
    np.gradient([1, 3, 6]),
    np.convolve([1, 2], [1, 1]),
    np.correlate([1, 2, 3], [0, 1]),
    np.nanmedian([1, np.nan]),
    np.count_nonzero(np.eye(2)),
    np.nonzero([1, 0])[0],
)
