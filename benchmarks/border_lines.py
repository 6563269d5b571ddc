"""The lines of `benchmarks.borders`: what users of other libraries try first, with arrays in it.

Each line is statements and an expression. `np` is NumPy or we; the arrays of `DATA` are made anew for each.
"""

from __future__ import annotations

from .border_library import Library
from .border_lines_more import MORE

# `pixels()` tells pictures apart.
_PICTURES = """
matplotlib.use("Agg", force=True)
plt.close("all")
plt.figure(figsize=(3, 2))
def pixels():
    import zlib
    plt.gcf().canvas.draw()
    return zlib.crc32(bytes(plt.gcf().canvas.buffer_rgba()))
"""

# A vector, indices, a mask, a table, a square matrix, a picture, and elements and sums, which have no axes.
DATA = """
v = np.array([3.0, 1.0, 2.0, 5.0])
i = np.array([2, 0, 1, 3])
m = v > 1.5
x = np.sin(np.arange(60.0)).reshape(20, 3)
A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
img = (np.arange(16 * 16 * 3).reshape(16, 16, 3) % 251).astype(np.uint8)
f, n = v[1], i[0]
"""

# Compiled code that takes its own kind alone and asks nothing, or (`time.sleep`, since Python 3.14) puts its
# own words in the place of ours: its errors cannot name a conversion, so the page says which line to write.
INSTEAD = {
    "datetime.timedelta(days=v.sum())": "datetime.timedelta(days=float(v.sum()))",
    "decimal.Decimal(v.sum())": "decimal.Decimal(float(v.sum()))",
    "time.sleep(f * 0)": "time.sleep(float(f * 0))",
    "abs((pygame.Vector2(1, 2) * f).x)": "abs((pygame.Vector2(1, 2) * float(f)).x)",
    "pygame.Rect(v * 2).w, pygame.Rect(*v).w": "pygame.Rect((v * 2).tolist()).w",
    "pa.Tensor.from_numpy(x).shape": "pa.Tensor.from_numpy(x.__array__()).shape",
}

LIBRARIES = {
    "standard library": Library(
        "json; datetime; decimal; time; struct; array; statistics; fractions; random; pickle; copy; math; "
        "ctypes; wave; io; csv; collections; itertools; operator; bisect; heapq",
        (
            'json.dumps({"mean": v.mean(), "all": v.tolist()})',
            "json.dumps([v.sum(), v.max()])",
            "datetime.timedelta(days=v.sum())",
            "datetime.timedelta(days=float(v.sum()))",
            "datetime.date(2024, 1, 1) + datetime.timedelta(days=int(n))",
            "decimal.Decimal(v.sum())",
            "decimal.Decimal(float(v.sum()))",
            "time.sleep(f * 0)",
            "time.sleep(float(f * 0))",
            'struct.pack("<d", f), struct.pack("<i", n)',
            'array.array("d", v).tolist()',
            'array.array("d", v.tobytes())',
            "statistics.mean(v), statistics.stdev(v), statistics.median(v)",
            "fractions.Fraction(f)",
            "random.seed(0); random.choice(v)",
            "random.seed(0); random.sample(list(i), 2)",
            "random.seed(0); random.gauss(f, f)",
            "pickle.loads(pickle.dumps(v))",
            "copy.deepcopy({'a': v, 'b': [i]})",
            "math.sqrt(f), math.factorial(n), math.fsum(v), math.isclose(f, 1.0)",
            "math.prod(i + 1), sum(v), max(v), min(v), sorted(v)",
            "(ctypes.c_double * 4)(*v)[:]",
            "ctypes.c_double(f).value, ctypes.c_int(n).value",
            "v.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[1]",
            "memoryview(v).nbytes, memoryview(v).format, memoryview(x).shape",
            "len(bytearray(v)), len(bytes(v))",
            "io.BytesIO(v).read()[:8]",
            "b = io.BytesIO(); b.write(v); b.getvalue()",
            "b = io.BytesIO(); w = wave.open(b, 'wb'); w.setnchannels(1); w.setsampwidth(2); "
            "w.setframerate(8000); w.writeframes((v * 100).astype(np.int16)); w.close(); b.getvalue()",
            "b = io.StringIO(); csv.writer(b).writerows(x[:2].round(3)); b.getvalue()",
            "collections.Counter(np.array([1, 1, 2]).tolist())",
            "collections.Counter(np.array([1, 1, 2]))[1]",
            "list(itertools.accumulate(v)), list(itertools.repeat(1, n))",
            "bisect.bisect(np.sort(v), 2.5), heapq.nlargest(2, v)",
            "[1, 2, 3][n], 'ab' * n, list(range(n)), operator.index(n)",
            "'%d %.2f %s' % (n, f, f), f'{f:.3e} {n:04d}', '{:>8}'.format(f)",
            "hash(f) == hash(1.0), {f: 'a'}[1.0], round(f), round(v.std(), 3), divmod(n, 2)",
            "hasattr(f, '__len__'), getattr(n, '__iter__', None), hasattr(v, '__len__')",
            "isinstance(v, collections.abc.Sequence), isinstance(v, collections.abc.Iterable)",
            "complex(f, n), int(f), float(n), bool(m[0]), chr(n + 65), bin(n), pow(2, n)",
            "fractions.Fraction(1, 2) * f, decimal.Decimal(int(n)), fractions.Fraction(int(n), 3)",
        ),
        is_small=True,
    ),
    "Matplotlib": Library(
        "matplotlib; matplotlib.colors; matplotlib.pyplot as plt",
        (
            "plt.plot(x); pixels()",
            "plt.plot(v, v**2, 'o-'); pixels()",
            "plt.plot(x[:, :2], x[:, 1:]); pixels()",
            "plt.hist(x); pixels()",
            "plt.hist(v, bins=np.linspace(0, 6, 4)); pixels()",
            "plt.hist([v, v + 1], stacked=True); pixels()",
            "plt.boxplot(x); pixels()",
            "plt.violinplot(x); pixels()",
            "plt.scatter(v, i, c=v, s=v * 10); pixels()",
            "plt.bar(i, v, yerr=v / 5); pixels()",
            "plt.imshow(x, vmin=x.min(), vmax=x.max()); pixels()",
            "plt.imshow(img); pixels()",
            "plt.contourf(A, levels=np.linspace(0, 4, 5)); pixels()",
            "plt.pcolormesh(A); plt.colorbar(); pixels()",
            "plt.quiver(v, i, v, i); pixels()",
            "plt.fill_between(v, v - 1, v + f); pixels()",
            "plt.errorbar(v, i, xerr=f, yerr=[v / 9, v / 8]); pixels()",
            "plt.hist2d(x[:, 0], x[:, 1]); pixels()",
            "plt.stackplot(i, x[:4].T); pixels()",
            "plt.eventplot(x[:4]); pixels()",
            "plt.pie(v); pixels()",
            "plt.axhline(v.mean()); plt.xlim(v.min(), v.max()); plt.text(f, f, 'a'); plt.xticks(v); pixels()",
            "plt.plot(v, label=f'{f:.2f}', color=v[:3] / 5, lw=f); plt.legend(); pixels()",
            "plt.streamplot(np.arange(3), np.arange(3), A, A.T, color=A); pixels()",
            "plt.subplot(projection='3d').plot_surface(*np.meshgrid(np.arange(3), np.arange(3)), A); "
            "pixels()",
            "matplotlib.colors.LightSource(315, 45).hillshade(A)",
            "matplotlib.colors.LightSource(315, 45).shade(A, plt.cm.viridis)",
            "plt.cm.viridis(f / 5), plt.cm.viridis(v / 5), matplotlib.colors.to_hex(v[:3] / 5)",
            "matplotlib.colors.Normalize(v.min(), v.max())(v)",
            "ax = plt.subplots(2, 2)[1]; ax.ravel()[n].plot(v); pixels()",
        ),
        setup=_PICTURES,
        is_small=True,
    ),
    "pandas": Library(
        "pandas as pd",
        (
            "pd.DataFrame(x)",
            "pd.DataFrame({'a': v, 'b': i, 'c': f})",
            "pd.Series(v, index=i)",
            "d + x",
            "d * x[0], x + d, d - v.sum()",
            "d > x, d @ A, d.dot(A[0])",
            "d['e'] = x[:, 0]; d['g'] = v.mean(); d",
            "d.iloc[n, n], d.iloc[i], d.iloc[i, n]",
            "d.at[n, 'a'], d.iat[n, n], d.loc[n, 'b'], d.loc[i]",
            "d.head(n), d.tail(n), d.sample(n, random_state=0)",
            "d[x[:, 0] > 0], d.loc[x[:, 0] > 0, 'a']",
            "pd.date_range('2024-01-01', periods=n)",
            "pd.Timedelta(f, unit='D'), pd.Timedelta(n, unit='h')",
            "pd.to_datetime(i, unit='D'), pd.to_timedelta(v, unit='s')",
            "d['a'].rolling(n).mean(), d.shift(n), d.diff(n)",
            "pd.cut(v, bins=np.array([0.0, 2.0, 4.0, 6.0])), pd.qcut(v, 2)",
            "s.map(lambda y: np.sqrt(abs(y))), s.apply(np.exp), d.apply(np.sum)",
            "d.groupby(i[np.arange(20) % 4]).mean()",
            "s.isin(v), s.fillna(f), s.clip(f, v.max()), s.replace(s[0], f)",
            "s.quantile(v / 5), s.searchsorted(f), s.where(x[:, 0] > 0, f)",
            "pd.concat([pd.Series(v), pd.Series(i)]), pd.unique(i), pd.factorize(i)",
            "pd.Index(i), pd.MultiIndex.from_arrays([i, v]), pd.Series(v, dtype='float32')",
            "d.to_numpy() @ A, np.sin(d), np.mean(d), np.where(d['a'] > 0, 1, 0)",
            "d['k'] = [v.sum()] * 20; d.dtypes.astype(str).tolist()",
            "pd.DataFrame([[v.sum(), n], [v.mean(), n]]).dtypes.astype(str).tolist()",
            "pd.Series([v.sum(), v.mean()]).dtype.name, pd.isna(v), pd.isna(f)",
            "pd.Series({'a': v.sum(), 'b': v.mean()})",
            "pd.Timestamp('2024-01-01') + pd.Timedelta(days=int(n)), pd.DateOffset(days=int(n))",
            "s.iloc[n] = f; s[i] = v; s",
            "d.sort_values('a').iloc[::n], d.corr(), d.describe()",
            "pd.isna(np.log(v - v)[0] * f * 0), pd.notna(f), s.isin([f, v[0] / 2, s[0]])",
            "pd.arrays.NumpyExtensionArray(v), pd.util.hash_array(i)",
            "pd.api.extensions.take(v, [0, -1], allow_fill=True)",
            "pd.arrays.IntegerArray(i, m), pd.arrays.FloatingArray(v, m), pd.arrays.BooleanArray(m, m)",
            "d.rolling(Ahead()).sum()",
        ),
        setup="""
class Ahead(pd.api.indexers.BaseIndexer):
    def get_window_bounds(self, num_values=0, min_periods=None, center=None, closed=None, step=None):
        start = np.arange(num_values)
        return start, np.minimum(start + 2, num_values)
d = pd.DataFrame({"a": [(k * 7 % 11) / 2 - 2 for k in range(20)], "b": range(20), "c": 1.5})
s = d["a"].copy()
""",
        is_small=True,
    ),
    "PyTorch": Library(
        "torch; torch.utils.data",
        (
            "torch.from_numpy(v)",
            "torch.tensor(v)",
            "torch.as_tensor(x), torch.asarray(i)",
            "torch.tensor([v.sum(), 2.0])",
            "torch.tensor(v.sum()), torch.tensor(f, dtype=torch.float32)",
            "torch.Tensor(x)",
            "torch.FloatTensor(v)",
            "torch.from_dlpack(v)",
            "torch.arange(4.0)[m]",
            "torch.arange(4.0)[i], torch.arange(4.0)[n]",
            "T = torch.zeros(3); T[0] = v.sum(); T",
            "torch.full((2,), v.sum())",
            "torch.zeros(3) + f, torch.ones(3) * v.mean()",
            "torch.ones(4) + torch.from_numpy(v)",
            "torch.utils.data.default_collate([v, v])",
            "torch.utils.data.default_collate([(v, n), (v, n)])",
            "next(iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.as_tensor(x)), 4)))",
            "next(iter(torch.utils.data.DataLoader(x, batch_size=4)))",
            "np.asarray(torch.ones(3)) + 1, np.array(torch.ones(3)), v[:3] + torch.ones(3).numpy()",
            "torch.nn.Linear(3, 1).double()(torch.from_numpy(x)).shape",
            "torch.zeros(int(n), 2), torch.zeros(n), torch.eye(n)",
            "torch.clamp(torch.arange(4.0), min=f), torch.linspace(0, f, 3)",
            "torch.where(torch.from_numpy(m), f, 0.0), torch.distributions.Normal(f, v[0]).mean",
            "torch.stack([torch.as_tensor(r) for r in x[:2]])",
            "torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=f / 10).param_groups[0]['lr']",
        ),
        setup="torch.manual_seed(0)",
    ),
    "JAX": Library(
        "jax; jax.numpy as jnp",
        (
            "jnp.asarray(v)",
            "jnp.array(x), jnp.array([v, v])",
            "jnp.sin(v)",
            "jnp.sin(v) + v, v + jnp.sin(v)",
            "jax.jit(lambda a: a * 2)(v)",
            "jax.jit(lambda a: a['w'] @ a['w'].T)({'w': x})",
            "jax.device_put(v)",
            "jax.grad(lambda a: (a**2).sum())(v)",
            "jax.vmap(lambda a: a * 2)(x)",
            "jnp.dot(A, A), jnp.linalg.solve(A, A[0])",
            "jnp.arange(4)[i], jnp.arange(4.0)[m], jnp.zeros(3).at[n].set(f)",
            "jnp.zeros(3) + f, jnp.full((2,), v.sum()), jnp.arange(n), jnp.zeros(n)",
            "jnp.where(m, v, 0), jnp.concatenate([v, v]), jnp.stack([v, v])",
            "np.asarray(jnp.ones(3)) + 1, np.sin(jnp.ones(3)), np.sum(jnp.ones(3))",
            "jax.tree.map(lambda a: a * 2, {'a': v})",
            "jax.lax.scan(lambda c, a: (c + a, c), 0.0, v)",
            "jax.random.choice(jax.random.key(0), v)",
            "jnp.from_dlpack(v)",
        ),
        setup='jax.config.update("jax_enable_x64", True)',
    ),
    "pyarrow": Library(
        "pyarrow as pa; pyarrow.compute as pc; pyarrow.parquet as pq; io",
        (
            "pa.array(v)",
            "pa.array(i), pa.array(m), pa.array(v.astype(np.float32))",
            "pa.array([v.sum(), 2.0])",
            "pa.array([n, n])",
            "pa.array(list(v))",
            "pa.table({'a': v, 'b': i})",
            "pa.chunked_array([v, v])",
            "pa.scalar(f), pa.scalar(n)",
            "pa.array(v, mask=m)",
            "pa.RecordBatch.from_arrays([pa.array(v)], ['a'])",
            "pc.add(pa.array(v), f)",
            "pc.is_in(pa.array(v), value_set=pa.array(v[:2]))",
            "pa.array(v).take(pa.array(i)), pa.array(v)[n], pa.array(v).slice(n)",
            "pa.array(v).filter(pa.array(m))",
            "b = io.BytesIO(); pq.write_table(pa.table({'a': v}), b); pq.read_table(b)['a'].to_pylist()",
            "np.asarray(pa.array([1.0, 2.0])) + 1",
            "pa.Tensor.from_numpy(x).shape",
            "pa.Tensor.from_numpy(x.__array__()).shape",
            "pa.py_buffer(v).size",
            "pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 3)",
        ),
    ),
    "Polars": Library(
        "polars as pl",
        (
            "pl.Series(v)",
            "pl.Series('a', i), pl.Series(m), pl.Series(v.astype(np.float32))",
            "pl.Series([v.sum(), 2.0])",
            "pl.Series(x[:3])",
            "pl.DataFrame({'a': v, 'b': i})",
            "pl.DataFrame(x)",
            "pl.DataFrame({'a': [v.sum()], 'b': [n]})",
            "pl.from_numpy(x)",
            "pl.lit(f), pl.select(pl.lit(v))",
            "d.with_columns(e=v)",
            "d.with_columns(pl.Series('e', v))",
            "d.filter(m), d.filter(pl.col('a') > f)",
            "d[i], d['a'][n], d[n, 'a']",
            "d.head(n), d.limit(n), d['a'].shift(n)",
            "d['a'] + v, d['a'] * f",
            "d['a'].is_in(v), d.filter(pl.col('a').is_in(v))",
            "np.sin(d['a']), np.asarray(d['a']) + 1, d['a'].to_numpy() + v",
            "pl.Series('a', [1.0, 2.0]).append(pl.Series(v))",
            "pl.DataFrame([{'a': v.sum(), 'b': n}])",
        ),
        setup='d = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1, 2, 3, 4]})',
    ),
    "einops": Library(
        "einops",
        (
            "einops.rearrange(x, 'a b -> b a')",
            "einops.rearrange(img, 'h w c -> c h w')",
            "einops.rearrange(img, '(h a) w c -> h (a w) c', a=2)",
            "einops.reduce(x, 'a b -> b', 'mean')",
            "einops.reduce(img, 'h w c -> c', 'max')",
            "einops.reduce(x, '(a two) b -> a b', 'sum', two=2)",
            "einops.reduce(x, 'a b -> ', 'prod')",
            "einops.repeat(v, 'a -> a b', b=3)",
            "einops.repeat(x, 'a b -> a (b r)', r=n)",
            "einops.einsum(A, A, 'i j, j k -> i k')",
            "einops.pack([x, x], 'a *')",
            "einops.unpack(x, [[1], [2]], 'a *')",
            "einops.rearrange([v, v], 'l a -> a l')",
            "einops.parse_shape(img, 'h w c')",
            "einops.asnumpy(v)",
            "einops.reduce(m, 'a -> ', 'any')",
        ),
    ),
    "dask": Library(
        "dask.array as da; dask",
        (
            "da.from_array(x, chunks=5).sum().compute()",
            "da.asarray(v).compute(), da.array(x).compute()",
            "(d + x).compute()",
            "(x + d).compute(), (d * f).compute(), (f * d).compute()",
            "(d @ A).compute(), da.dot(d, A).compute()",
            "d[i].compute(), d[n].compute(), d[x[:, 0] > 0].compute()",
            "da.where(d > 0, d, f).compute(), da.where(x > 0, d, 0).compute()",
            "da.concatenate([d, x]).compute(), da.stack([d, d]).compute()",
            "da.map_blocks(lambda b: b * 2, d).compute(), d.map_blocks(np.sin).compute()",
            "da.full((2, 2), f).compute(), da.arange(n).compute(), da.linspace(0, f, 3).compute()",
            "np.sin(d).compute(), np.sum(d).compute(), np.mean(d, axis=0).compute()",
            "da.from_array(v, chunks=2).map_blocks(np.cumsum, dtype=float).compute()",
            "dask.delayed(np.sum)(x).compute(), dask.compute(v, d.sum())",
            "da.histogram(d, bins=np.linspace(-1, 1, 5))[0].compute()",
            "e = d.copy(); e[0] = f; e[1] = x[0]; e.compute()",
            "da.isin(d, x[0]).compute(), da.searchsorted(da.arange(5, chunks=5), da.from_array(v, "
            "4)).compute()",
            "da.percentile(da.from_array(v, 4), v[:2]).compute()",
        ),
        setup="import numpy\nd = da.from_array(numpy.sin(numpy.arange(60.0)).reshape(20, 3), chunks=(10, 3))",
        is_small=True,
    ),
    "h5py": Library(
        "h5py",
        (
            "h.create_dataset('x', data=x)[...]",
            "h['y'] = v; h['y'][:]",
            "h.create_dataset('x', x.shape, x.dtype)[...].sum()",
            "h.create_dataset('x', shape=(n, n), dtype='f8').shape",
            "h['d'][n], h['d'][i[1]], h['d'][: i[0]]",
            "h['d'][np.array([0, 2])], h['d'][np.arange(5) > 2]",
            "h['d'][1:3] = v[:2]; h['d'][:]",
            "h['d'][...] = np.arange(5.0); h['d'][:]",
            "h['d'][n] = f; h['d'][n]",
            "out = np.zeros(5); h['d'].read_direct(out); out",
            "h['d'].write_direct(np.arange(5.0)); h['d'][:]",
            "h.attrs['a'] = f; h.attrs['b'] = v; h.attrs['a'], h.attrs['b']",
            "np.asarray(h['d']) + 1, np.sum(h['d']), np.mean(h['d'][:])",
            "v[0] * h['d'][:], h['d'][:] + np.arange(5)",
            "h.create_dataset('z', data=img, compression='gzip', chunks=(4, 4, 3))[n, n].tolist()",
            "h.create_dataset('s', data=v.sum())[()]",
            "r = h.create_dataset('r', (2, 3), maxshape=(None, 3)); r.resize(x.shape); r[:] = x; r[n]",
        ),
        setup="""
import numpy
h = h5py.File("memory", "w", driver="core", backing_store=False)
h["d"] = numpy.arange(5.0)
""",
        is_small=True,
    ),
    "OpenCV": Library(
        "cv2",
        (
            "cv2.cvtColor(img, cv2.COLOR_RGB2GRAY)",
            "cv2.GaussianBlur(img, (3, 3), 0)",
            "cv2.resize(img, (8, 8))",
            "cv2.resize(img, None, fx=f / 2, fy=f / 2)",
            "cv2.threshold(img[..., 0], 100, 255, cv2.THRESH_BINARY)[1]",
            "cv2.Canny(img, 50, 150)",
            "cv2.filter2D(x, -1, np.ones((3, 3)) / 9)",
            "cv2.imencode('.png', img)[1].shape",
            "cv2.rectangle(img, (1, 1), (5, 5), (255, 0, 0), 1)",
            "cv2.line(img, (0, 0), (n, n), (0, 255, 0)); img",
            "cv2.warpAffine(img, np.array([[1.0, 0, 2], [0, 1, 1]]), (16, 16))",
            "cv2.calcHist([img], [0], None, [8], [0, 256])",
            "cv2.dilate(img[..., 0], np.ones((3, 3), np.uint8))",
            "cv2.normalize(x, None, 0, 1, cv2.NORM_MINMAX)",
            "cv2.split(img)[0], cv2.merge([img[..., 0], img[..., 1], img[..., 2]])",
            "cv2.addWeighted(img, 0.5, img, 0.5, 0), cv2.bitwise_not(img)",
            "cv2.solve(A, A[:, :1])",
        ),
    ),
    "Numba": Library(
        "numba",
        (
            "total(v)",
            "total(x[:, 0])",
            "total(v + 1)",
            "norm(x)",
            "scaled(v, f)",
            "scaled(v, 2.0)",
            "filled(v); v",
            "rooted(v)",
            "numba.vectorize(lambda a: a * 2)(v)",
            "numba.typeof(v)",
            "numba.njit(lambda k: k + 1)(n)",
            "numba.njit(lambda y: y + 1)(f)",
            "numba.typed.List(v)[0]",
        ),
        setup="""
def _total(a):
    s = 0.0
    for k in range(a.shape[0]):
        s += a[k]
    return s
def _norm(a):
    return (a**2).sum() ** 0.5
def _scaled(a, s):
    return a * s
def _filled(a):
    a[:] = 7.0
def _rooted(a):
    return np.sqrt(a).sum() + np.linalg.norm(np.zeros(3)) + np.pi
total, norm, scaled, filled, rooted = map(numba.njit, (_total, _norm, _scaled, _filled, _rooted))
""",
    ),
    "NetworkX": Library(
        "networkx as nx",
        (
            "nx.from_numpy_array(A).number_of_edges()",
            "sorted(nx.from_numpy_array(A > 0.4).edges())",
            "nx.to_numpy_array(g) @ A",
            "nx.pagerank(nx.from_numpy_array(A))",
            "g.add_edge(n, 7, weight=f); sorted(g.edges(data='weight'))",
            "g.add_nodes_from(i); sorted(g.nodes)",
            "g.add_weighted_edges_from([(a, b, w) for a, b, w in zip(i, i[::-1], v)]); g.size('weight')",
            "n in g, g.degree(n), list(g.neighbors(n))",
            "nx.spring_layout(g, seed=0, pos={0: v[:2], 1: v[1:3], 2: v[2:]})[0]",
            "nx.shortest_path(g, i[1], i[0])",
            "nx.relabel_nodes(g, dict(zip(i, 'abcd'))).number_of_nodes()",
            "nx.adjacency_matrix(g).toarray() @ A, nx.laplacian_matrix(g).toarray() @ A",
            "nx.set_node_attributes(g, dict(enumerate(v)), 'v'); g.nodes[0]['v']",
            "nx.erdos_renyi_graph(n + 3, f / 2, seed=0).number_of_edges()",
        ),
        setup="g = nx.path_graph(3)",
    ),
    "statsmodels": Library(
        "statsmodels.api as sm; statsmodels.formula.api as smf; statsmodels.tsa.api as tsa; pandas as pd; "
        "statsmodels.stats.api as sms; statsmodels.stats.correlation_tools",
        (
            "statsmodels.stats.correlation_tools.corr_nearest_factor(np.corrcoef(x.T), 1).corr.to_matrix()",
            "sm.OLS(x[:, 0], sm.add_constant(x[:, 1:])).fit().params",
            "sm.OLS(x[:, 0], sm.add_constant(x[:, 1:])).fit().rsquared",
            "sm.WLS(x[:, 0], x[:, 1:], weights=x[:, 1] ** 2 + 1).fit().params",
            "sm.GLM(x[:, 0] ** 2 + 1, sm.add_constant(x[:, 1:]), "
            "sm.families.Gamma(sm.families.links.Log()))"
            ".fit().params",
            "sm.Logit(x[:, 0] > 0.3, sm.add_constant(np.cos(np.arange(20.0) * 5))).fit(disp=0).params",
            "smf.ols('a ~ b', {'a': x[:, 0], 'b': x[:, 1]}).fit().params.tolist()",
            "smf.ols('a ~ b', pd.DataFrame(x, columns=list('abc'))).fit().pvalues.tolist()",
            "tsa.acf(x[:, 0], nlags=n), tsa.adfuller(x[:, 0])[0]",
            "tsa.AutoReg(x[:, 0], n).fit().params",
            "sms.DescrStatsW(v, weights=i + 1).mean, sms.ttest_ind(v, v + 1)",
            "sm.nonparametric.KDEUnivariate(v).fit(); sm.nonparametric.lowess(x[:, 0], x[:, 1])",
            "sm.OLS(x[:, 0], x[:, 1:]).fit().predict(x[:2, 1:])",
            "sm.stats.multipletests(v / 10)[1], sm.stats.proportion_confint(n, 10)",
            "sm.robust.scale.mad(v), sm.tools.eval_measures.rmse(v, v + 1)",
        ),
    ),
    "xarray": Library(
        "xarray as xr",
        (
            "xr.DataArray(x, dims=('a', 'b')).mean('a').values",
            "xr.DataArray(v, [('t', i)]).sel(t=n).item()",
            "xr.DataArray(v, [('t', i)]).isel(t=n).item(), xr.DataArray(v, [('t', i)])[i].values",
            "xr.Dataset({'x': (('a', 'b'), x)}).x.sum().item()",
            "(xr.DataArray(x) + x).values, (x + xr.DataArray(x)).values",
            "(xr.DataArray(v) * f).values, (f * xr.DataArray(v)).values",
            "np.sin(xr.DataArray(v)).values, np.mean(xr.DataArray(v)).item()",
            "xr.DataArray(v, [('t', np.arange(4.0))]).interp(t=v[:2] / 2).values",
            "xr.where(xr.DataArray(v) > f, v, 0).values, xr.DataArray(v).where(m).values",
            "xr.DataArray(v, [('t', i)]).sortby('t').values, xr.DataArray(v, [('t', "
            "i)]).groupby('t').mean().values",
            "xr.apply_ufunc(np.sqrt, xr.DataArray(v)).values",
            "xr.DataArray(x).to_pandas(), xr.DataArray(x).to_numpy() @ A",
            "d = xr.DataArray(v); d[n] = f; d[:] = v; d.values",
            "xr.concat([xr.DataArray(v), xr.DataArray(v)], 'k').values, "
            "xr.DataArray(v).rolling(dim_0=n).mean().values",
            "xr.DataArray(v).assign_coords(c=('dim_0', i)).c.values, xr.DataArray(v).attrs | {'f': f}",
        ),
    ),
    "SymPy": Library(
        "sympy",
        (
            "str(sympy.Matrix(A.round(1)))",
            "str(sympy.sympify(f)), str(sympy.Float(f)), str(sympy.Integer(n)), str(sympy.Rational(n, 3))",
            "str(t * f), str(f * t), str(t + n), str(t**n)",
            "str(v * t), str((t + v).tolist())",
            "str((t**2 + 1).subs(t, f)), str((t**2).subs({t: n}))",
            "(t**2).evalf(subs={t: f}) == 1",
            "sympy.lambdify(t, sympy.sin(t) + t**2)(v)",
            "sympy.lambdify(t, t * 2)(f), sympy.lambdify([t], [t, t**2])(v)",
            "str(sympy.nsimplify(f / 2)), str(sympy.N(f)), str(sympy.sqrt(n))",
            "str(sympy.interpolate(list(zip(i.tolist(), v.tolist())), t))",
            "str(sympy.Array(i)), sympy.Matrix([[f, n]]).shape",
            "np.array(sympy.Matrix([[1, 2]])).astype(float) + 1",
            "sympy.isprime(n), sympy.factorial(n), sympy.binomial(5, n), str(sympy.Range(n))",
            "str(sympy.Piecewise((t, t > f), (0, True))), str(sympy.integrate(t, (t, 0, n)))",
            "[str(sympy.sympify(a)) for a in v], str(sympy.Poly(i.tolist(), t))",
        ),
        setup="t = sympy.Symbol('t')",
        is_small=True,
    ),
    "scikit-image": Library(
        "skimage.filters; skimage.measure; skimage.transform; skimage.color; skimage.morphology; "
        "skimage.segmentation; "
        "skimage.exposure; skimage.feature; skimage.util; skimage.draw; skimage.metrics",
        (
            "skimage.filters.gaussian(img, 1, channel_axis=-1)",
            "skimage.filters.sobel(A), skimage.filters.threshold_otsu(img[..., 0])",
            "skimage.color.rgb2gray(img), skimage.color.rgb2hsv(img)",
            "skimage.measure.label(img[..., 0] > 100), skimage.measure.find_contours(A, f)[0]",
            "[r.area for r in skimage.measure.regionprops(skimage.measure.label(img[..., 0] > 100))]",
            "skimage.transform.resize(img, (8, 8)), skimage.transform.rotate(A, 30 * f)",
            "skimage.transform.rescale(A, f * 2), skimage.transform.downscale_local_mean(x, (2, 1))",
            "skimage.morphology.erosion(img[..., 0]), skimage.morphology.remove_small_objects(img[..., "
            "0] > 100, max_size=4)",
            "skimage.segmentation.slic(img, n_segments=4, start_label=1)",
            "skimage.exposure.equalize_hist(img[..., 0]), skimage.exposure.rescale_intensity(img)",
            "skimage.feature.canny(A), skimage.feature.peak_local_max(A, min_distance=n)",
            "skimage.util.img_as_float(img), skimage.util.img_as_ubyte(A / 4), "
            "skimage.util.random_noise(A / 4, rng=0)",
            "rr, cc = skimage.draw.disk((8, 8), n); img[rr, cc] = 255; img",
            "skimage.metrics.structural_similarity(x, x + 0.1, win_size=3, data_range=v.max())",
            "skimage.metrics.mean_squared_error(img, img // 2)",
            "skimage.transform.warp(img, np.eye(3)), skimage.transform.hough_line(A > f)[0]",
            "skimage.segmentation.relabel_sequential(img[..., 0] // 9 * 2)[0]",
            "skimage.segmentation.join_segmentations(i[:, None], i[:, None] // 2)",
            "skimage.feature.haar_like_feature(skimage.transform.integral_image(A), 0, 0, 2, 2, 'type-2-x')",
            "skimage.morphology.remove_objects_by_distance(i, n)",
            "skimage.util.random_noise(A / 4, rng=n)",
        ),
    ),
    "Astropy": Library(
        "astropy.units as u; astropy.table; astropy.time; astropy.coordinates; astropy.stats; "
        "astropy.io.fits as fits; io; "
        "astropy.convolution",
        (
            "(v * u.m).to_value(u.cm)",
            "u.Quantity(v, u.s).value, (f * u.km).to_value(u.m)",
            "(v * u.m / (2 * u.s)).unit.to_string(), ((v * u.m) ** 2).sum().value",
            "np.sin(v * u.deg).value, np.mean(v * u.m).value",
            "astropy.table.Table({'a': v, 'b': i})['a'].sum()",
            "astropy.table.Table(x, names=list('abc'))['b'][n]",
            "t = astropy.table.Table({'a': v}); t['c'] = i; t.add_row([f, n]); len(t[t['a'] > f])",
            "astropy.time.Time(v, format='mjd').jd, astropy.time.Time(2450000.0 + f, format='jd').iso",
            "astropy.coordinates.SkyCoord(v, i, unit='deg').ra.rad",
            "astropy.coordinates.Angle(v, 'deg').to_string().tolist()",
            "astropy.stats.sigma_clip(x).mean(), astropy.stats.sigma_clipped_stats(x)",
            "b = io.BytesIO(); fits.PrimaryHDU(x).writeto(b); b.seek(0); fits.getdata(b)",
            "b = fits.Header(); b['F'] = f; b['N'] = n; repr(b)",
            "astropy.convolution.convolve(v, np.array([0.25, 0.5, 0.25]))",
            "(v * u.m)[n].value, (v * u.m)[m].value, u.Quantity([f * u.m, f * u.m]).value",
        ),
    ),
    "Pillow": Library(
        "PIL.Image as Image; PIL.ImageDraw as ImageDraw; PIL.ImageFilter; io",
        (
            "Image.fromarray(img).tobytes()",
            "Image.fromarray(img[..., 0]).mode, Image.fromarray(x.astype(np.float32)).mode",
            "Image.fromarray(img[::2, ::2]).size, Image.fromarray(img[..., 0] > 100).mode",
            "Image.fromarray(img).resize((8, 8)).tobytes()",
            "Image.fromarray(img).resize((n, n)).size, Image.fromarray(img).rotate(f * 90).size",
            "np.asarray(Image.new('RGB', (4, 4), (1, 2, 3)))",
            "np.array(Image.fromarray(img).convert('L')) / 255",
            "b = io.BytesIO(); Image.fromarray(img).save(b, 'PNG'); "
            "np.array(Image.open(io.BytesIO(b.getvalue())))",
            "Image.fromarray(img).crop((0, 0, n, n)).size, Image.fromarray(img).getpixel((n, n))",
            "Image.new('RGB', (4, 4), tuple(img[0, 1])).getpixel((0, 0))",
            "Image.fromarray(img).putpixel((n, n), (1, 2, 3)), "
            "Image.fromarray(img).point(lambda p: p // 2).tobytes()",
            "d = Image.new('L', (8, 8)); ImageDraw.Draw(d).line([(0, 0), (n, n)], fill=255); d.tobytes()",
            "d = Image.new('L', (8, 8)); ImageDraw.Draw(d).polygon(list(map(tuple, x[:3])), fill=1); "
            "d.tobytes()",
            "Image.frombytes('RGB', (16, 16), img).tobytes()",
            "Image.frombuffer('RGB', (16, 16), img, 'raw', 'RGB', 0, 1).tobytes()",
            "Image.blend(Image.fromarray(img), Image.fromarray(img // 2), f / 2).tobytes()",
            "Image.fromarray(img).filter(PIL.ImageFilter.GaussianBlur(f)).tobytes()",
        ),
        is_small=True,
    ),
    "seaborn": Library(
        "seaborn as sns; matplotlib; matplotlib.pyplot as plt; pandas as pd",
        (
            "sns.histplot(v); pixels()",
            "sns.histplot(x); pixels()",
            "sns.kdeplot(x[:, 0]); pixels()",
            "sns.scatterplot(x=v, y=i); pixels()",
            "sns.scatterplot(x=v, y=i, hue=i, size=v); pixels()",
            "sns.lineplot(x=i, y=v); pixels()",
            "sns.boxplot(x); pixels()",
            "sns.boxplot(data=x); pixels()",
            "sns.violinplot(data=x); pixels()",
            "sns.heatmap(A, annot=True, vmin=v.min()); pixels()",
            "sns.barplot(x=i, y=v); pixels()",
            "sns.regplot(x=x[:, 0], y=x[:, 1], seed=0); pixels()",
            "sns.stripplot(data=x, jitter=False); pixels()",
            "sns.histplot(pd.DataFrame(x, columns=list('abc'))); pixels()",
            "sns.ecdfplot(v); plt.axvline(v.mean()); pixels()",
        ),
        setup=_PICTURES,
    ),
    **MORE,
}
