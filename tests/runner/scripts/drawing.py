"""Matplotlib takes arrays wherever a script hands them over."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.colors import ListedColormap, LogNorm

rng = np.random.default_rng(0)
x = np.linspace(0, 2 * np.pi, 200)
y = np.sin(x)

figure, axes = plt.subplots(2, 3, figsize=(12, 7))
axes[0, 0].plot(x, y, x, np.cos(x), "--", label="cos")
axes[0, 0].axhline(y.mean())
axes[0, 0].axvspan(x[20], x[50], alpha=0.3)
axes[0, 0].set_xlim(x.min(), x.max())
axes[0, 0].set_xticks(np.arange(0, 7, 2))
axes[0, 0].set_title(f"maximum {y.max():.3f} at {x[y.argmax()]:.2f}")
axes[0, 0].annotate("top", (x[50], y[50]))
axes[0, 0].text(x[100], y[100], str(y[100]))
axes[0, 1].imshow(np.outer(y, y), extent=[x[0], x[-1], x[0], x[-1]], vmin=y.min(), vmax=y.max())
axes[0, 2].hist(rng.normal(size=1000), bins=np.linspace(-3, 3, 31), weights=np.full(1000, 2.0))
axes[1, 0].scatter(rng.random(50), rng.random(50), c=rng.random(50), s=100 * rng.random(50))
grid_x, grid_y = np.meshgrid(x, x)
contours = axes[1, 1].contourf(grid_x, grid_y, np.sin(grid_x) * np.cos(grid_y), levels=np.linspace(-1, 1, 9))
axes[1, 1].contour(grid_x, grid_y, grid_x + grid_y, levels=3)
figure.colorbar(contours)
axes[1, 2].errorbar(x[::20], y[::20], yerr=np.abs(y[::20]) / 5, xerr=0.1, fmt="o")
axes[1, 2].fill_between(x, y - 0.2, y + 0.2, where=y > 0, alpha=0.5)
figure.savefig("grid.png")
plt.close(figure)

figure, axes = plt.subplots(2, 3, figsize=(12, 7))
axes[0, 0].quiver(
    grid_x[::25, ::25], grid_y[::25, ::25], np.cos(grid_y[::25, ::25]), np.sin(grid_x[::25, ::25])
)
axes[0, 1].bar(np.arange(5), np.arange(5) ** 2, width=0.5, yerr=np.ones(5), color=["r", "g", "b", "c", "m"])
axes[0, 1].barh(np.arange(5), -np.arange(5))
axes[0, 2].pcolormesh(
    grid_x[::4, ::4], grid_y[::4, ::4], np.exp(grid_x * grid_y / 10)[::4, ::4], norm=LogNorm()
)
axes[1, 0].boxplot([rng.normal(size=50), rng.normal(size=50) + 1])
axes[1, 1].stackplot(x, np.abs(y), np.abs(np.cos(x)))
axes[1, 1].step(x[::10], 3 + y[::10])
axes[1, 2].hist2d(rng.normal(size=500), rng.normal(size=500), bins=20, cmap=ListedColormap(np.eye(3)))
axes[1, 2].streamplot(np.arange(5) / 2.0, np.arange(5) / 2.0, np.ones((5, 5)), grid_x[:5, :5])
plt.show()
plt.close(figure)

figure = plt.figure(figsize=(9, 4))
surface = figure.add_subplot(1, 2, 1, projection="3d")
surface.plot_surface(grid_x[::10, ::10], grid_y[::10, ::10], np.sin(grid_x + grid_y)[::10, ::10])
surface.scatter(rng.random(9), rng.random(9), rng.random(9))
polar = figure.add_subplot(1, 2, 2, projection="polar")
polar.semilogy(x, 1 + x)
polar.fill(x, np.ones(200) * 3)
plt.savefig("more.png", dpi=50)
plt.close(figure)

figure, axes = plt.subplots()
(line,) = axes.plot(x, y)


def update(k):
    line.set_data(x, np.sin(x + k / 3))
    line.set_ydata(line.get_ydata() * 0.5)
    return (line,)


FuncAnimation(figure, update, frames=np.arange(4), blit=True).save("wave.gif", PillowWriter(10))
picture = plt.imread("more.png")
print(picture.shape, picture.dtype, np.mean(picture).round(4))
plt.imsave("saved.png", (np.clip(picture[..., :3] * np.array([1, 0.5, 0.25]), 0, 1) * 255).astype(np.uint8))
print(plt.imread("saved.png").sum(axis=(0, 1)))
