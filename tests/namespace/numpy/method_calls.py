"""What one does with an array itself, for test_calls.py: methods, attributes, what is set; a call a line."""

from __future__ import annotations

METHODS = """
x.all()
x.all(1)
b.all(axis=0)
b.all(0, keepdims=True)
b.all(where=[True, False, True])
x.all(axis=(0, 1))
x.all(axis=2)
b.any(-1)
b.any(axis=1, keepdims=True, where=[[True], [False]])
x.any(3)
x.argmax()
x.argmax(0)
x.argmax(axis=1, keepdims=True)
x.argmax(2)
n.argmax()
e.argmax()
o2 = np.zeros(3, int); x.argmin(0, o2); o2
x.argmin(-1)
np.sort(x)[0, x.argmin(1)[0]]
v.partition(2); v[2]
v.partition([1, 2]); v[1:3]
v.partition(9)
v.partition(1.5)
v[v.argpartition(1)][1]
x.argpartition(1, axis=0).shape
x.argsort()
x.argsort(0)
x.argsort(None)
x.argsort(axis=-1, kind="stable")
x.argsort(kind="mergesort")
x.argsort(kind="other")
x.argsort(stable=True)
x.argsort(2)
x.argsort(order="field")
v.sort(); v
x.sort(0); x
x.sort(axis=-1, kind="heapsort"); x
x.sort(axis=2)
x.T.sort(); x
x[:, 1].sort(); x
s.sort()
x.astype(int)
x.astype("f4")
x.astype(np.float32, copy=False)
x.astype(float, copy=False) is x
x.astype(float) is x
x.astype(complex)
i.astype(bool)
x.astype(np.int8, casting="safe")
i.astype(np.int32, casting="same_kind")
i.astype(np.int32, casting="safe")
x.astype(int, "C", "unsafe", True, False)
c.astype(float)
x[0] = c[0]; x
x[0, 0] = c[0, 0]; x
x[0, 0] = 1j
i[:] = c; i
x[x > 0] = c[0, 0]; x
x.real = c; x
x[0] = "3.5"; x
i[0, 0] = "7"; i
x[0] = None; x
i[0] = None
x[0] = "a"
c.astype(bool)
u.astype("i1")
x.astype("nonsense")
x.astype()
i.astype(np.int16).byteswap()
x.byteswap().byteswap()
c.byteswap()
u.byteswap()
i.byteswap(True); i
x.byteswap(inplace=True)
k.choose([v, v * 2, v * 3, v * 4])
k.choose([v, v])
k.choose([v, v], mode="wrap")
k.choose(v, v * 2, v * 3)
k.choose([v, v], mode="clip")
x.clip(0, 1)
x.clip(0)
x.clip(min=0)
x.clip(max=1)
x.clip(None, 1)
x.clip(0, 1, x); x
x.clip(0, 1, out=x); x
x.clip([0, 1, 2], 3)
i.clip(0, 3)
u.clip(1, 100)
x.clip(0, 1, where=[True, False, True], out=x); x
x.clip()
x.clip(1, 2, 3)
x.compress([True, False], axis=0)
x.compress([0, 1, 1], axis=1)
x.compress([False, True, True])
x.compress([True] * 9)
c.conj()
x.conj()
c.conjugate()
x.copy()
x.copy("F")
x.copy(order="K")
x.T.copy().flags.owndata
x.cumprod()
x.cumprod(1)
i.cumprod(0, float)
x.cumsum()
x.cumsum(axis=0)
i.cumsum(dtype=np.int16)
o2 = np.zeros((2, 3)); x.cumsum(1, out=o2); o2
b.cumsum()
x.cumsum(2)
m.diagonal()
m.diagonal(1)
m.diagonal(offset=-2)
t.diagonal(0, 1, 2)
t.diagonal(axis1=0, axis2=2)
v.diagonal()
m.diagonal().flags.writeable
m.diagonal()[0] = 1; m
x.dot(x.T)
x.dot([1, 2, 3])
v.dot(v)
x.dot(2)
t.dot(m)
x.dot(x)
o2 = np.zeros((2, 2)); x.dot(x.T, o2); o2
o2 = np.zeros((2, 2)); x.dot(x.T, out=o2); o2
x.fill(3); x
i.fill(2.7); i
x[0].fill(7); x
u.fill(300); u
u.fill(-1); u
x.fill([1]); x
x.fill([1, 2]); x
x.fill("a"); x
x.T.fill(2); x
x.flatten()
x.flatten("F")
x.flatten(order="A")
x.flatten("Z")
x.flatten().flags.owndata
x.getfield(np.int32)
x.getfield(np.float32, 4)
c.getfield(float)
c.getfield(float, 8)
c.getfield(float, offset=9)
x.getfield(np.int32, -1)
c.setfield(7, float, 8); c
c.setfield(v[:3], np.float64, 0); c
c.setfield(7, complex, 8); c
x.item(1)
x.item(1, 2)
x.item((1, 2))
x.item(-1)
o.item()
x.item()
x.item(9)
x.item(1, 5)
x.max()
x.max(0)
x.max(axis=1, keepdims=True)
x.max(initial=9)
x.max(where=[True, False, True], initial=-9)
x.max(where=[True, False, True])
x.max((0, 1))
o2 = np.zeros(3); x.max(0, o2); o2
e.max()
e.max(0)
e.max(axis=1)
x.max(axis=5)
n.max()
n.min(1)
x.min(axis=-1)
x.min(out=np.zeros(()))
i.min(initial=-100)
x.mean()
x.mean(0)
x.mean(axis=(0, 1), keepdims=True)
i.mean()
i.mean(dtype=np.float32)
f.mean(dtype=float)
x.mean(where=x > 0)
o2 = np.zeros(3); x.mean(0, None, o2); o2
x.mean(1, where=[True, False, True])
x.mean(axis=4)
x.nonzero()
b.nonzero()
s.nonzero()
x.prod()
x.prod(1)
i.prod(0, np.int8)
x.prod(initial=2, where=b)
u.prod()
o2 = np.zeros(2); x.prod(1, out=o2); o2
x.put([0, 4], [9, 8]); x
x.put([-1], 3); x
x.put([7], 3)
x.put([7], 3, mode="wrap"); x
x.put([7, -9], 3, "clip"); x
i.put([0], [1.5]); i
x.T.put([1], 100); x
x.ravel()
x.ravel("F")
x.ravel(order="K")
x.T.ravel()
x.ravel()[0] = 7; x
x.T.ravel()[0] = 7; x
x.ravel("q")
v[::-1].ravel()[0] = 7; v
y = v[::-1].ravel(); y[0] = 7; v
y = v[::-1].reshape(-1); y[0] = 7; v
y = v[::2].ravel(); y[0] = 7; v
y = x.T.ravel("F"); y[1] = 7; x
y = x.T.ravel("K"); y[1] = 7; x
y = x.T.ravel("A"); y[1] = 7; x
t.transpose(1, 2, 0).ravel("K")
t.transpose(1, 0, 2)[::-1].ravel("A")
y = x.T.reshape(2, 3, order="A"); y[0, 1] = 7; x
y = x.squeeze(); y is x
x.repeat(2)
x.repeat(2, 1)
x.repeat(np.array([4, 5])[0] / 2)
x.repeat(np.float64(2.5))
x.repeat(np.array([2.0]))
x.repeat([1, 2], axis=0)
x.repeat([1, 2], axis=1)
v.repeat([0, 1, 2, 3])
x.repeat(-1)
x.reshape(3, 2)
x.reshape((3, 2))
x.reshape([3, 2])
x.reshape(-1)
x.reshape(3, -1)
x.reshape(6, order="F")
x.reshape((3, 2), order="F")
x.reshape(3, 2, order="A")
x.T.reshape(6)
x.T.reshape(6, copy=False)
x.T.reshape(6, order="F", copy=False)
x.reshape(3, 2, copy=True)
x.reshape(4, 2)
x.reshape(-1, -1)
x.reshape(-2)
x.reshape()
x.reshape(())
o.reshape(())
o.reshape([])
x.reshape(2.0, 3)
x.reshape(3, 2, order="Z")
x.round()
x.round(1)
x.round(decimals=1)
(x * 100).round(-2)
i.round(-1)
o2 = np.zeros((2, 3)); x.round(0, o2); o2
np.sort(v).searchsorted(1)
np.sort(v).searchsorted([0, 3], "right")
v.searchsorted([0, 3], sorter=v.argsort())
x.searchsorted(1)
o.squeeze()
o.squeeze(0)
o.squeeze(axis=(0, 1))
x.squeeze()
x.squeeze(0)
x.std()
x.std(0)
x.std(axis=1, ddof=1)
x.std(1, None, None, 1)
x.std(keepdims=True)
i.std()
f.std(dtype=float)
x.std(where=b)
x.std(1, mean=x.mean(1, keepdims=True))
c.std()
x.sum()
x.sum(0)
x.sum(axis=-1)
x.sum((0, 1))
x.sum(1, np.float32)
i.sum(dtype=np.int8)
b.sum()
u.sum()
u.sum(dtype=np.uint8)
x.sum(keepdims=True)
x.sum(initial=10)
x.sum(where=b)
x.sum(axis=0, initial=1, where=b)
o2 = np.zeros(3); x.sum(0, out=o2); o2
o2 = np.zeros(3); x.sum(0, None, o2) is o2
x.sum(2)
x.sum(0, 1, 2, 3)
x.sum(nonsense=3)
x.swapaxes(0, 1)
x.swapaxes(0, -1)
x.swapaxes(0, 2)
x.swapaxes(0, 1)[0, 1] = 9; x
x.take([0, 5])
x.take([0, 1], axis=1)
x.take(3)
x.take([[0, 1], [1, 2]], 1)
x.take([7])
x.take([7], mode="wrap")
x.take([7], mode="clip")
x.take([-1, -6])
o2 = np.zeros(2); x.take([0, 1], None, o2); o2
x.tobytes() == (x + 0).tobytes()
len(x.tobytes())
x.tobytes("F")
i.T.tobytes()
x.tolist()
s.tolist()
b.tolist()
m.trace()
m.trace(1)
t.trace(0, 1, 2)
m.trace(dtype=np.float32)
i.trace()
v.trace()
o2 = np.zeros(()); m.trace(out=o2); o2
x.transpose()
x.transpose(1, 0)
x.transpose((1, 0))
x.transpose(None)
x.transpose([1, 0])
x.transpose(np.array([1, 0]))
x[0].transpose(np.array([0, 1])[0])
x[0].transpose(np.array([0]))
t.transpose(2, 0, 1)
x.transpose(0)
x.transpose(0, 0)
x.transpose(1, 2)
x.var()
x.var(0, ddof=1)
x.var(axis=1, keepdims=True)
x.var(where=b)
x.var(5)
x.view().flags.owndata
x.view(np.ndarray)
x.view(type=np.ndarray)
x.view(int, np.ndarray)
y = x.view(np.ndarray); y[0] = 1; x
type(x.view(np.ndarray)) == np.ndarray
x.view(int)
x.view(np.int64)
x.view("i8")
x.view(dtype=np.uint8)
x.view(np.complex128)
v.view(complex)
c.view(float)
c.real.view(int)
x[:, ::2].view(np.int32)
x.T.view(np.int32)
f.view(np.int32)
u.view(np.int8)
u.view(np.uint16)
u.view(np.uint32)
u[:3].view(np.uint16)
b.view(np.uint8)
s.view(int)
s.view(np.int32)
x.view(int)[0, 0] = 0; x
y = c.view(float); y[0, 1] = 100; y *= 2; c
y = u.view(np.uint16); y += 1; u
y = x.view(); y[0] = 5; x
y = x.view(); y.shape = 6; x
y = x[1:].view(np.int64); y[...] = 1; x
"""

ATTRIBUTES = """
x.T
t.T
v.T
s.T
x.mT
t.mT
v.mT
x.base
x[0].base is x
x.T.base is x
x[0][1:].base is x
x[[0]].base
x.flags.c_contiguous
x.flags.f_contiguous
x.T.flags.c_contiguous
x.T.flags.f_contiguous
v.flags.f_contiguous
x[:, 1].flags.c_contiguous
x[:, 1].flags.contiguous
x[:, :1].flags.fortran
x.flags.owndata
x[0].flags.owndata
x.flags.writeable
x.flags["WRITEABLE"]
x.flags["C"]
x.flags["NONSENSE"]
x.flags.aligned
x.flags.behaved
x.flags.carray
x.flags.farray
x.flags.forc
x.flags.fnc
x.flags.num
x.T.flags.num
x[0].flags.num
str(x.flags)
str(x[:, 1].flags)
x.flags == x.copy().flags
np.broadcast_to(v, (2, 4)).flags.writeable
x.flags.nonsense
x.flags.c_contiguous = True
x.flags.writeable = False; x[0] = 1
x.flags.writeable = False; x += 1
x.flags.writeable = False; x.sort()
x.flags.writeable = False; x.fill(0)
x.flags.writeable = False; x[0][0] = 1
x.flags.writeable = False; y = x.copy(); y[0] = 1; y
y = x[0]; x.flags.writeable = False; y[0] = 1; x
y = x[0]; y.flags.writeable = False; x[0] = 1; y
y = x[0]; y.flags.writeable = False; y[0] = 1
x.flags.writeable = False; y = x[0]; y.flags.writeable = True
x.flags.writeable = False; x.flags.writeable = True; x[0] = 1; x
x.flags["WRITEABLE"] = False; x[0] = 1
x.setflags(write=False); x[0] = 1
x.setflags(write=0); x.setflags(write=1); x[0] = 1; x
x.flat[4]
x.flat[-1]
x.flat[1:3]
x.flat[::2]
x.flat[[0, 2]]
x.flat[x.ravel() > 0]
x.flat[...]
x.flat[9]
x.flat[1, 2]
x.T.flat[1]
x.T.flat[1:4]
[float(y) for y in x.flat]
[float(y) for y in x.T.flat]
len(x.flat)
list(zip(x.flat, i.flat))
next(x.flat)
y = x.flat; next(y); next(y); y.index
y = x.flat; next(y); y.coords
y = x.flat; next(y); list(y)
x.flat.base is x
x.flat.copy()
np.array(x.flat)
np.asarray(x.T.flat)
np.sum(x.flat)
x.flat == x.ravel()
x.flat > 0
x.flat[4] = 7; x
x.flat[-1] = 7; x
x.flat[9] = 7
x.flat[1:3] = 7; x
x.flat[:] = [1, 2]; x
x.flat[::2] = [1, 2, 3, 4]; x
x.flat[[0, 2]] = [8, 9]; x
x.flat[x.ravel() > 0] = 0; x
x.flat[x.ravel() > 0] = [1, 2]; x
x.flat[0] = [5, 6]; x
x.T.flat[1] = 50; x
x.T.flat[:3] = [1, 2, 3]; x
i.flat[0] = 2.9; i
x.flat = 3; x
x.flat = [1, 2]; x
x.flat = v; x
x.T.flat = np.arange(6); x
x[0].flat = [7, 8]; x
x.imag
c.imag
c.real
x.real is x
c.imag = 3; c
c.real = x; c
c.imag[0] = 9; c
c.real += 1; c
x.real = 7; x
x.real[0] = 1; x
x.imag = 1
x.imag[0] = 1
c.imag = 1j
c.real = [1, 2]
s.real
x.itemsize
f.itemsize
x.nbytes
x.ndim
x.size
x.shape
x.strides
x.T.strides
x[:, ::2].strides
x[::-1].strides
x[0].strides
x[None].shape
c.real.strides
c.imag.strides
t.transpose(1, 2, 0)[1:, ::2].strides
np.broadcast_to(v, (2, 4)).strides
m.diagonal().strides
x.reshape(3, 2).strides
x.T.reshape(6).strides
s.strides
e.strides
x.shape = (3, 2); x
x.shape = 6; x
x.shape = -1; x
x.shape = (3, -1); x
x.shape = (4, 2)
x.shape = (-1, -1)
y = x[0]; x.shape = 6; y[0] = 9; x
y = x.T; x.shape = 6; x[0] = 9; y
y = x.T; y.shape = 6
y = x.T; y.shape = (3, 2); y
y = x[:, 0]; y.shape = (2, 1); y[0] = 5; x
y = x[:1]; x.shape = (3, 2); z = x[1]; z += 1; y *= 2; x
y = x[0]; x.shape = 6; x.base
y = x[0]; x.shape = 6; y.base is x
x.shape = (6,); x.shape = (2, 3); x
z = x.reshape(6); x.shape = (1, 6); z[0] = 3; x
s.shape = (1, 1); s
x.dtype = np.int64; x
x.dtype = "c16"
v.dtype = complex; v
v.dtype = np.float32; v.shape
f.dtype = np.int32; f
y = v[1:]; v.dtype = np.int64; y[0] = 2.5; v
y = v[1:]; v.dtype = np.int64; v[1] = 0; y
y = v[1:]; v.dtype = complex; v[0] = 7 + 8j; y
x.T.dtype = np.float32
x.dtype = "nonsense"
b.dtype = np.uint8; b
x.data.nbytes
x.data.shape
x.data.format
memoryview(x.data)[0, 1]
bytes(v.data)
x.device
x.ctypes.shape[:]
x.ctypes.strides[:]
x.to_device("cpu")
x.to_device("gpu:9")
x.T = 3
x.size = 3
x.nonsense
x.nonsense = 3
"""

RESIZES = """
y = np.arange(6.0); y.resize(3, 2); y
y = np.arange(6.0); y.resize((3, 2)); y
y = np.arange(6.0); y.resize(2); y
y = np.arange(6.0); y.resize((4, 2)); y
y = np.arange(6.0); y.resize(*(3, 3), refcheck=False); y
y = np.arange(6); y.resize([2, 2]); y
y = np.arange(6.0); y.resize(); y
y = np.arange(6.0); y.resize(None); y
y = np.arange(6.0); y.resize(-1)
y = np.arange(6.0); y.resize(0); y
y = np.arange(6.0); y.resize(()); y
y = np.arange(6.0); y.resize(9, order="C")
y = np.arange(6.0); y.resize(9); y[7] = 1; y
y = np.zeros((2, 0)); y.resize(2, 2); y
y = np.array(2.0); y.resize(2, 2); y
y = np.arange(6.0); z = y[0:2]; y.resize(9)
y = np.arange(6.0); z = y[0:2]; z.resize(9)
y = np.arange(6.0); z = y[0:2]; z.resize((2, 1)); z[1] = 7; y
y = np.arange(6.0); z = y[::2]; z.resize((1, 3))
y = np.arange(6.0); y.flags.writeable = False; y.resize(2)
"""

SCALARS = """
float(s)
int(s)
complex(s)
bool(s)
round(x.max())
round(v[0])
round(x.sum())
round(x.sum(), 1)
round(v.mean(), 2)
round(np.float32(2.567) * s, 2)
round(i.sum())
round(x)
hash(v[2]) == hash(2.0)
hash(i.sum()) == hash(13)
hash(b.any()) == hash(True)
hash(x)
{s.sum(): 1}[2.5]
{i.max(): "a"}[7]
len({i.max(), i.max(), 7})
s.sum() in {2.5}
s.sum() in [1, 2.5]
2.5 in x
1.5 in x
i in i
"a" in x
[1, 2] in x
1 < x.max() < 5
1 < x.max() < 3
x.max() > 3 and x.min() < 0
"yes" if x.max() else "no"
not x.any()
x.sum().is_integer()
i.sum().bit_count()
x.sum().as_integer_ratio()
x.sum().hex()
divmod(x.sum(), 3)
divmod(7, i.max())
divmod(x, 2)
pow(x.sum(), 2)
pow(x.sum(), 2, 5)
pow(i.max(), 2, 5)
2 ** i.max()
abs(x.min())
-x.max()
+x.max()
~i.max()
"%d" % x.max()
"%5.2f|%s" % (x.max(), i.max())
"%x" % i.max()
"%s" % x[0]
"%r" % x.max()
f"{x.max():.3f}"
f"{i.max():05d}"
f"{x.max()}"
f"{x.max()!r}"
f"{i}"
f"{x:.3f}"
f"{b.any()}"
f"{c.sum():.2f}"
f"{i.sum():,}"
f"{x.max():>10}"
"{:e}".format(x.sum())
str(x.max())
repr(x.max())
repr(i.max())
repr(b.any())
repr(c.sum())
repr(f.max())
repr(u.max())
repr(x)
repr(f)
repr(u)
repr(e)
str([x.max(), i.max()])
str((x.min(), 1))
str({"a": x.min()})
repr(list(v))
[1, 2, 3][i.min() + 3]
[1, 2, 3][i.max() - 6 : i.max()]
[1, 2, 3][x.max()]
list(range(i.max()))
range(x.max())
"a" * i.max()
[0] * i.max()
np.zeros(i.max())
v[i.min()]
v[k.max()]
math.floor(x.max())
math.ceil(x.min())
math.trunc(x.max())
math.sqrt(x.max())
math.isclose(x.max(), 4.0)
math.gcd(i.max(), 21)
math.floor(x)
float(o)
float(x)
int(x)
bool(x)
bool(e)
bool(o)
bool(v[:0])
len(x)
len(s)
list(s)
[row.sum() for row in x]
[float(y) for row in x for y in row]
a, b2 = x; b2
a, b2, c2 = x
a, *rest = v; rest
(a, b2, c2), d = x; d
sum(v)
max(v)
min(v)
sorted(v)
sorted(v, reverse=True)
list(reversed(v))
list(map(float, v))
any(v > 0)
all(v > 0)
list(enumerate(v))
list(zip(v, k))
dict(zip(k.tolist(), v.tolist()))
list(dict(zip(k, v)).items())
set(k) == {0, 1, 2}
v.sum() == 4.5
v[0] == 3
v[0] is v[0]
v == v
v != "a"
v == None
v[0] == None
x.sum() is None
isinstance(x, np.ndarray)
isinstance(x[0], np.ndarray)
isinstance([1], np.ndarray)
isinstance(x, (list, np.ndarray))
issubclass(type(x), np.ndarray)
type(x) == np.ndarray
np.isscalar(x.max())
np.isscalar(x)
np.isscalar(2)
np.ndarray((2, 3)).shape
np.ndarray(3, dtype=int).dtype
np.ndarray((2,), np.int16).nbytes
np.ndarray.sum(x)
np.ndarray.sum(x, axis=0)
np.ndarray.__add__(v, 1)
np.ndarray.nonsense
np.ndarray(shape=(4,), buffer=v, dtype=float)
np.ndarray((2,), float, v, 8)
np.ndarray((2, 2), order="F").shape
np.ndarray(-1)
np.ndarray()
np.array(s) + 1
x.__len__()
x.__contains__(1.5)
del x[0]
x.__class__.__name__ in ("ndarray", "Array")
iter(s)
next(iter(v))
pickle.loads(pickle.dumps(x))
pickle.loads(x.dumps())
copy.copy(x)
copy.deepcopy(x)
y = copy.copy(x); y[0] = 1; x
y = copy.deepcopy([x, x]); y[0][0] = 1; y[1]
np.array2string(x)
np.array2string(x, precision=1, separator=", ")
np.array_str(x)
np.array_repr(v)
np.array2string(x, formatter={"float": lambda z: "<%.1f>" % z})
np.set_printoptions(precision=2); z = str(x / 3); np.set_printoptions(precision=8); z
np.set_printoptions(suppress=True); z = str(x / 3e9); np.set_printoptions(suppress=False); z
np.set_printoptions(threshold=5, edgeitems=1); z = str(t); np.set_printoptions(threshold=1000, edgeitems=3); z
np.set_printoptions(linewidth=20); z = str(t); np.set_printoptions(linewidth=75); z
np.set_printoptions(legacy="1.13"); z = repr(x); np.set_printoptions(legacy=False); z
np.set_printoptions(formatter={"float": "{:5.1f}".format}); z = str(x); np.set_printoptions(formatter=None); z
str(np.arange(2000.0))
str(np.zeros((50, 50)))
repr(np.arange(2000) / 7)
"""

TABLES = (METHODS, ATTRIBUTES, RESIZES, SCALARS)

# What leaves for NumPy, since arrays here cannot hold the result.
HOST = """
x.astype(str)
x.astype("S3")
i.astype(object)
i.astype("M8[s]")
x.view("S8")
i.view("M8[ns]")
np.ndarray((2,), dtype=object)
np.ndarray((2,), dtype="S3").dtype
np.ndarray((2,), dtype=[("a", int)]).dtype
np.ndarray((2, 2), buffer=bytearray(32))
np.ndarray((2,), buffer=v, strides=(16,))
r = np.zeros(3, dtype=[("a", float), ("b", int)]); r["a"] = v[:3]; r["a"]
r = np.zeros(3, dtype=[("a", float), ("b", int)]); r["a"][:] = v[:3]; r["a"] + v[:3]
r = np.zeros(3, dtype=[("a", float), ("b", int)]); r["a"] += v[:3]; r["a"]
r = np.zeros(3, dtype=[("a", float), ("b", int)]); r["a"][1] = v[0]; r["a"]
r = np.zeros(3, dtype=[("a", float), ("b", int)]); r["b"][k[:3]] = 7; r["b"]
r = np.zeros(3, dtype=[("a", float), ("b", int)]); r["a"][v[:3] > 0] = 7; r["a"]
r = np.zeros(3, dtype=[("a", float), ("b", int)]); r[1] = (v[0], 2); r["a"]
r = np.zeros(3, dtype=[("a", float), ("b", int)]); v[:3] += r["a"]; v
r = np.zeros(3, dtype=[("a", float), ("b", int)]); v[:3] = r["a"]; v
r = np.array([(1.5, 2), (2.5, 3)], dtype=[("a", float), ("b", int)]); r["a"] * r["b"]
r = np.array([(1.5, 2), (2.5, 3)], dtype=[("a", float), ("b", int)]); np.sum(r["a"])
r = np.array([(1.5, 2), (2.5, 3)], dtype=[("a", float), ("b", int)]); v[r["b"]]
r = np.array([(1.5, 2), (2.5, 3)], dtype=[("a", float), ("b", int)]); r[r["a"] > 2]["b"]
r = np.array([(1.5, 2), (2.5, 3)], dtype=[("a", float), ("b", int)]); [float(q["a"]) for q in r]
r = np.array([(1.5, 2), (2.5, 3)], dtype=[("a", float), ("b", int)]); np.sort(r, order="b")["a"]
r = np.zeros(2, dtype=[("p", float, (3,))]); r["p"] = x; r["p"] @ v[:3]
r = np.zeros(2, dtype=[("p", float, (3,))]); r["p"][0] = x[0]; r["p"].sum(axis=1)
q = np.array(["a", "b", "c"]); q[k[:3]]
q = np.array(["a", "b", "c"]); q[v[:3] > 0]
q = np.array(["a", "b", "c"]); q[k[0]]
q = np.array(["a", "b", "c"]); q == "a"
q = np.array(["a", "b", "c"]); np.where(q == "a", v[:3], 0.0)
q = np.array(["a", "b", "c"]); v[:3][q == "a"]
q = np.array([1, None, "x"], dtype=object); q[0] = v; q[0]
q = np.array([1, 2, 3], dtype=object); q + k[:3]
q = np.array([1, 2, 3], dtype=object); k[:3] + q
q = np.array(["2020-01-01", "2020-01-03"], dtype="M8[D]"); np.diff(q)
q = np.array(["2020-01-01", "2020-01-03"], dtype="M8[D]"); q + k[:2].astype("m8[D]")
q = np.arange(np.datetime64("2020-01-01"), np.datetime64("2020-01-05")); q[k[0]]
q = np.arange(np.datetime64("2020-01-01"), np.datetime64("2020-01-05")); q[v > 1]
"""
