import numpy as np
from numpy.random import rand

np.random.seed(0)


def initialstate(N):
    return 2 * np.random.randint(2, size=(N, N)) - 1


def mcmove(config, beta, N):
    for _i in range(N):
        for _j in range(N):
            a = np.random.randint(0, N)
            b = np.random.randint(0, N)
            s = config[a, b]
            nb = (
                config[(a + 1) % N, b]
                + config[a, (b + 1) % N]
                + config[(a - 1) % N, b]
                + config[a, (b - 1) % N]
            )
            cost = 2 * s * nb
            if cost < 0 or rand() < np.exp(-cost * beta):
                s *= -1
            config[a, b] = s
    return config


def energy(config, N):
    e = 0
    for i in range(len(config)):
        for j in range(len(config)):
            S = config[i, j]
            nb = (
                config[(i + 1) % N, j]
                + config[i, (j + 1) % N]
                + config[(i - 1) % N, j]
                + config[i, (j - 1) % N]
            )
            e += -nb * S
    return e / 2.0


N = 8
c = initialstate(N)
for _t in range(10):
    mcmove(c, 0.5, N)
print(c)
print(energy(c, N), np.sum(c), abs(c.sum()) / N**2)
E2 = -(c * np.roll(c, 1, 0) + c * np.roll(c, 1, 1)).sum()
print(E2, energy(c, N) == E2)
