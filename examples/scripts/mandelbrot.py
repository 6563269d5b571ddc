"""The Mandelbrot set by masks: points that have left are iterated no further."""

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def mandelbrot(xmin, xmax, ymin, ymax, width, height, limit):
    x = np.linspace(xmin, xmax, width, dtype=np.float64)
    y = np.linspace(ymin, ymax, height)
    C = x + y[:, None] * 1j
    N = np.zeros(C.shape, dtype=int)
    Z = np.zeros_like(C)
    for n in range(limit):
        M = abs(Z) < 2.0
        N[M] = n
        Z[M] = Z[M] ** 2 + C[M]
    return Z, N


def shrink(xmin, xmax, ymin, ymax, limit):
    """The same with arrays that shrink as points leave."""
    c = (np.linspace(xmin, xmax, 200)[None, :] + 1j * np.linspace(ymin, ymax, 160)[:, None]).ravel()
    steps = np.full(c.size, limit)
    alive = np.arange(c.size)
    z = np.zeros(c.size, complex)
    c = c.copy()
    for n in range(limit):
        np.multiply(z, z, z)
        np.add(z, c, z)
        left = z.real**2 + z.imag**2 > 4
        steps[alive[left]] = n
        stay = ~left
        alive, z, c = alive[stay], z[stay], c[stay]
        if not alive.size:
            break
    return steps.reshape(160, 200)


Z, N = mandelbrot(-2.25, 0.75, -1.25, 1.25, 300, 250, 60)
inside = np.equal(N, N.max())
print(N.shape, N.dtype, "inside:", np.sum(inside))
print(f"area: {inside.mean() * 3.0 * 2.5:.4f}")
print("histogram:", np.bincount(N.ravel(), minlength=60)[:12])

steps = shrink(-0.75, -0.73, 0.1, 0.12, 200)
quartiles = np.percentile(steps, [25, 50, 75])
print("quartiles of the zoom:", quartiles)
print("never left:", (steps == 200).sum(), "first to leave:", steps.min())
i, j = np.unravel_index(steps.argmax(), steps.shape)
print("longest at", (int(i), int(j)))

for row in steps[::16, ::5]:
    print("".join(" .:-=+*#%@"[min(int(s) // 20, 9)] for s in row))

with np.errstate(invalid="ignore"):
    smooth = N + 1 - np.log2(np.log(np.abs(Z).clip(2, None))) + 1
smooth[inside] = 0
plt.figure(figsize=(6, 5))
plt.imshow(smooth, cmap=plt.cm.twilight_shifted, extent=(-2.25, 0.75, -1.25, 1.25))
plt.axis("off")
plt.savefig("mandelbrot.png", dpi=80)
