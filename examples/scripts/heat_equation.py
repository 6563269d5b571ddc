"""A plate that is heated on one side: the 2-D heat equation by explicit finite differences."""

import matplotlib.pyplot as plt
import numpy as np

N = 120
ALPHA = 1.0e-4  # m^2/s
LENGTH = 1.0  # m
dx = LENGTH / (N - 1)
dt = 0.2 * dx**2 / ALPHA

x = np.linspace(0, LENGTH, N)
X, Y = np.meshgrid(x, x, indexing="ij")

T = np.full((N, N), 20.0)
T[0, :] = 100 * np.sin(np.pi * x)
T[-1, :] = 0.0
hot = (X - 0.6) ** 2 + (Y - 0.5) ** 2 < 0.1**2
T[hot] = 80.0

inside = T[1:-1, 1:-1]
north, south = T[:-2, 1:-1], T[2:, 1:-1]
west, east = T[1:-1, :-2], T[1:-1, 2:]

print(f"grid {T.shape}, dx = {dx:.4f} m, dt = {dt:.3f} s")
print("step    mean     max  centre    flux")
history = []
for step in range(801):
    if step % 100 == 0:
        flux = -np.gradient(T, dx, axis=0)[0].mean()
        print(f"{step:4d} {T.mean():7.3f} {T.max():7.3f} {T[N // 2, N // 2]:7.3f} {flux:8.2f}")
        history.append(T[:, N // 2].copy())
    inside += ALPHA * dt / dx**2 * (north + south + west + east - 4 * inside)
    T[:, 0] = T[:, 1]  # insulated
    T[:, -1] = T[:, -2]

history = np.array(history)
cooling = np.diff(history[:, N // 2])
print("profile along the middle:", np.round(history[-1, ::20], 2))
print("change at the centre:", np.round(cooling, 3))
print("hottest row inside:", np.argmax(inside.max(axis=1)) + 1)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.imshow(T, origin="lower", cmap="inferno", extent=(0, LENGTH, 0, LENGTH))
right.plot(x, history.T)
right.set(xlabel="x [m]", ylabel="T [deg C]")
fig.savefig("heat_equation.png")
