import numpy as np

L, nx, c, tmax = 10.0, 101, 1.0, 5.0
dx = L / (nx - 1)
dt = 0.9 * dx / c
nt = int(tmax / dt)
x = np.linspace(0, L, nx)
u = np.zeros((3, nx))
u[0] = np.exp(-((x - 3) ** 2) / 0.5)
u[1, 1:-1] = u[0, 1:-1] + 0.5 * (c * dt / dx) ** 2 * (u[0, 2:] - 2 * u[0, 1:-1] + u[0, :-2])
C2 = (c * dt / dx) ** 2
energy = []
for n in range(nt):
    for i in range(1, nx - 1):
        u[2, i] = 2 * u[1, i] - u[0, i] + C2 * (u[1, i + 1] - 2 * u[1, i] + u[1, i - 1])
    u[2, 0] = u[2, -1] = 0
    u[0], u[1] = u[1].copy(), u[2].copy()
    e = np.sum((np.diff(u[1]) / dx) ** 2) * dx
    energy.append(e)
    if n % 10 == 0:
        print(f"t={n * dt:5.2f}  max={u[1].max():8.5f} at x={x[np.argmax(u[1])]:.2f}  E={e:.6f}")
energy = np.array(energy)
print(energy.mean(), energy.min(), energy.max())
prev, now, nxt = u
print(prev is u, np.shares_memory(prev, u))
print(np.abs(u[1] - u[1][::-1]).max())
v = u[1].copy()
v.sort()
print(v[-5:], np.searchsorted(v, 0.1))
buf = [np.zeros(nx) for _ in range(3)]
buf[0][:] = u[0]
buf[1][:] = u[1]
for _ in range(20):
    buf[2][1:-1] = 2 * buf[1][1:-1] - buf[0][1:-1] + C2 * np.diff(buf[1], 2)
    buf = buf[1:] + buf[:1]
print(buf[1][::10])
