from pathlib import Path

import numpy as np

rs = np.random.RandomState(7)
img = rs.randint(0, 256, size=(32, 48), dtype=np.uint8)
hist, bins = np.histogram(img.flatten(), 256, [0, 256])
cdf = hist.cumsum()
cdf_m = np.ma.masked_equal(cdf, 0)
cdf_m = (cdf_m - cdf_m.min()) * 255 / (cdf_m.max() - cdf_m.min())
cdf = np.ma.filled(cdf_m, 0).astype("uint8")
eq = cdf[img]
print(eq.dtype, eq[:2, :8], eq.mean(), hist[:10], bins[:5])


def otsu(img):
    best, th = -1, 0
    h = np.bincount(img.ravel(), minlength=256) / img.size
    for t in range(1, 256, 5):
        w0, w1 = h[:t].sum(), h[t:].sum()
        if w0 == 0 or w1 == 0:
            continue
        m0 = np.dot(np.arange(t), h[:t]) / w0
        m1 = np.dot(np.arange(t, 256), h[t:]) / w1
        v = w0 * w1 * (m0 - m1) ** 2
        if v > best:
            best, th = v, t
    return th, best


print(otsu(img))
rgb = np.stack([img, img[::-1], 255 - img], axis=-1)
print(rgb.shape, rgb[0, 0], rgb.dtype, rgb.max(axis=(0, 1)))
gray = np.dot(rgb[..., :3], [0.2989, 0.5870, 0.1140])
print(gray.dtype, gray[0, :3], gray.astype(np.uint8)[0, :3])
crop = img[4:12, 4:12]
crop[crop > 128] = 0
print((img[4:12, 4:12] > 128).sum())
img[img < 50] = 0
img[:, 0] = 255
img += 10
print(img[:3, :6])
print((img.astype(int) - 300).clip(0, 255).max(), img.astype(np.float32).mean(), np.uint8(img.mean()))
small = img.reshape(16, 2, 24, 2).mean(axis=(1, 3))
print(small.shape, small[0, :4])
big = np.kron(small, np.ones((2, 2)))
print(big.shape, np.repeat(np.repeat(small, 2, 0), 2, 1)[0, :4])
pad = np.pad(small, 1, mode="edge")
print(pad.shape, pad[0, :3])
out = np.empty_like(small)
for i in range(out.shape[0]):
    for j in range(out.shape[1]):
        out[i, j] = np.median(pad[i : i + 3, j : j + 3])
print(out[0, :5], out.sum())
H, xe, ye = np.histogram2d(rs.randn(100), rs.randn(100), bins=4)
print(H, xe.round(2))
print(
    np.digitize([0.2, 6.4, 3.0], np.array([0, 1, 2.5, 4, 10])),
    np.percentile(img, [5, 95]),
    np.bincount(img.ravel() // 64),
)
mask = (img > 100) & (img < 200)
print(mask.sum(), img[mask][:5], np.where(mask, img, 0)[:2, :5])
ys, xs = np.nonzero(mask)
print(ys[:3], xs[:3], (xs.mean(), ys.mean()))
np.savetxt("small.csv", small[:3, :3], fmt="%.2f", delimiter=",")
print(Path("small.csv").read_text(), np.loadtxt("small.csv", delimiter=","))
np.save("small.npy", small)
print(np.load("small.npy")[0, 0])
np.savez("s.npz", a=small, b=img)
with np.load("s.npz") as z:
    print(z.files, z["b"].dtype)
print(
    small[0].tolist()[:2],
    "".join(chr(65 + v // 32) for v in img[0, :10]),
    bytes(img[0, :4]),
    img[0, :2].tobytes(),
)
with np.printoptions(precision=1):
    print(small[0, :5])
print(np.array2string(small[0, :3], formatter={"float_kind": lambda x: f"{x:.1f}"}))
