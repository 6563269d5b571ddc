"""Filters on a photograph: grey, blur, edges, sharpening, equalization, mosaic, masks."""

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_sample_image

image = np.array(load_sample_image("china.jpg"))[1::2, 1::2]
h, w, channels = image.shape
print("picture", image.shape, image.dtype, "mean colour", image.mean(axis=(0, 1)).round(2))

grey = image @ np.array([0.299, 0.587, 0.114])


def convolve(a, kernel):
    k = kernel.shape[0] // 2
    padded = np.pad(a, k, mode="reflect")
    windows = sliding_window_view(padded, kernel.shape)
    return np.einsum("ijkl,kl->ij", windows, kernel[::-1, ::-1])


def gaussian(sigma):
    r = int(3 * sigma)
    y, x = np.mgrid[-r : r + 1, -r : r + 1]
    g = np.exp(-(x**2 + y**2) / (2 * sigma**2))
    return g / g.sum()


def report(name, a):
    print(f"{name:10s} min {a.min():8.2f} max {a.max():8.2f} mean {a.mean():8.3f} std {a.std():7.3f}")


blurred = convolve(grey, gaussian(1.5))
sobel = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])
gx, gy = convolve(grey, sobel), convolve(grey, sobel.T)
edges = np.hypot(gx, gy)
angle = np.rad2deg(np.arctan2(gy, gx)) % 180
sharp = np.clip(grey + 1.5 * (grey - blurred), 0, 255)
for name, a in [("grey", grey), ("blurred", blurred), ("edges", edges), ("sharp", sharp)]:
    report(name, a)
strong = edges > np.percentile(edges, 95)
hist, bins = np.histogram(angle[strong], bins=6, range=(0, 180))
print("directions of strong edges:", hist, "between", bins)

levels = np.round(grey).astype(np.uint8)
counts = np.bincount(levels.flat, minlength=256)
cdf = counts.cumsum()
lut = ((cdf - cdf.min()) * 255 // (levels.size - cdf.min())).astype("uint8")
equalized = lut[levels]
report("equalized", equalized)

size = 16
mosaic = image[: h // size * size, : w // size * size].astype(float)
tiles = mosaic.reshape(h // size, size, w // size, size, channels)
tiles[:] = tiles.mean(axis=(1, 3), keepdims=True)
print("mosaic", mosaic.shape, mosaic[::64, ::128, 0].round(1).tolist())

r, g, b = np.moveaxis(image.astype(np.int16), -1, 0)
sky = (b > r + 10) & (b > 120)
print(f"sky: {sky.mean():.2%} of the picture, {sky[: h // 2].sum()} of {sky.sum()} pixels in the upper half")
tinted = image.copy()
tinted[sky] = [255, 140, 0]
tinted[~sky] //= 2
noisy = grey.copy()
random = np.random.RandomState(1)
noisy[random.rand(h, w) < 0.1] = 0
noisy.flat[random.choice(noisy.size, 2000, replace=False)] = 255
median = np.median(sliding_window_view(noisy, (3, 3)), axis=(-2, -1))
for name, a, b in [("noise", noisy, grey), ("median", median, grey[1:-1, 1:-1])]:
    print(f"rms error of the {name}: {np.sqrt(np.mean((a - b) ** 2)):.3f}")

fig, axes = plt.subplots(2, 3, figsize=(12, 6))
pictures = [image, blurred, edges, equalized, mosaic.astype(np.uint8), tinted]
for i, a in enumerate(pictures):
    axes.flat[i].imshow(a, cmap="gray")
    axes.flat[i].axis("off")
plt.tight_layout()
plt.savefig("image_filters.png")
