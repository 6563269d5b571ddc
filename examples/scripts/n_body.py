"""The solar system's large planets for two hundred years, by leapfrog; and a cluster of stars."""

import matplotlib.pyplot as plt
import numpy as np

G = 4 * np.pi**2  # astronomical units, years, solar masses
NAMES = ["Sun", "Jupiter", "Saturn", "Uranus", "Neptune"]
mass = np.array([1.0, 9.55e-4, 2.86e-4, 4.37e-5, 5.15e-5])
a = np.array([0.0, 5.203, 9.537, 19.19, 30.07])
phase = np.radians([0, 34.4, 50.1, 314.1, 304.3])

bodies = np.zeros(5, dtype=[("m", "f8"), ("r", "f8", 3), ("v", "f8", 3)])
bodies["m"] = mass
pos, vel = np.zeros((5, 3)), np.zeros((5, 3))
pos[:, 0], pos[:, 1] = a * np.cos(phase), a * np.sin(phase)
speed = np.zeros(5)
speed[1:] = np.sqrt(G / a[1:])
vel[:, 0], vel[:, 1] = -speed * np.sin(phase), speed * np.cos(phase)
vel -= (mass[:, None] * vel).sum(0) / mass.sum()
pos -= np.average(pos, axis=0, weights=mass)


def acceleration(pos, mass, soft=0.0):
    d = pos[None, :, :] - pos[:, None, :]
    r2 = (d**2).sum(-1) + soft**2
    np.fill_diagonal(r2, np.inf)
    return G * (d * (mass / r2**1.5)[:, :, None]).sum(axis=1)


def energy(pos, vel, mass, soft=0.0):
    kinetic = 0.5 * np.sum(mass * np.einsum("ij,ij->i", vel, vel))
    i, j = np.triu_indices(len(mass), k=1)
    distance = np.sqrt(np.sum((pos[i] - pos[j]) ** 2, axis=1) + soft**2)
    return kinetic - G * np.sum(mass[i] * mass[j] / distance)


def simulate(pos, vel, mass, dt, steps, every, soft=0.0):
    track = np.empty((steps // every, *pos.shape))
    acc = acceleration(pos, mass, soft)
    for n in range(steps):
        vel += 0.5 * dt * acc
        pos += dt * vel
        acc = acceleration(pos, mass, soft)
        vel += 0.5 * dt * acc
        if n % every == 0:
            track[n // every] = pos
    return track


e0, l0 = energy(pos, vel, mass), np.cross(pos, mass[:, None] * vel).sum(axis=0)
track = simulate(pos, vel, mass, 0.05, 4000, 10)
e1, l1 = energy(pos, vel, mass), np.cross(pos, mass[:, None] * vel).sum(axis=0)
bodies["r"], bodies["v"] = pos, vel
print(f"energy {e0:.8e} -> {e1:.8e}, drift {abs(e1 / e0 - 1):.1e}")
print("angular momentum kept:", np.allclose(l0, l1, rtol=1e-10, atol=1e-12))
np.set_printoptions(precision=3, suppress=True)
for i, body in enumerate(bodies):
    print(f"{NAMES[i]:8s} m = {body['m']:.2e}  r = {body['r']}  v = {body['v']}")
r = np.linalg.norm(track[:, 1:] - track[:, :1], axis=-1)
print("nearest and farthest:", np.c_[r.min(0), r.max(0)].round(2).tolist())
jupiter = np.unwrap(np.arctan2(track[:, 1, 1], track[:, 1, 0]))
print(f"Jupiter's year: {2 * np.pi / np.polyfit(np.arange(400) * 0.5, jupiter, 1)[0]:.3f} years")

rng = np.random.default_rng(1)
stars = rng.normal(size=(60, 3)) * 0.5
speeds = rng.normal(size=(60, 3)) * 0.3
m = np.full(60, 1 / 60)
cluster = simulate(stars, speeds, m, 0.002, 400, 20, soft=0.05)
radius = np.sqrt((cluster**2).sum(-1))
print("half-mass radius:", np.median(radius, axis=1)[::4].round(4))
plt.plot(*track[:, :, :2].transpose(2, 0, 1), lw=0.8)
plt.gca().set_aspect("equal")
plt.legend(NAMES, fontsize=7)
plt.savefig("n_body.png")
