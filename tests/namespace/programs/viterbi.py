import numpy as np

states = ["Rainy", "Sunny"]
observations = ["walk", "shop", "clean"]
pi = np.array([0.6, 0.4])
A = np.array([[0.7, 0.3], [0.4, 0.6]])
B = np.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])


def viterbi(obs, pi, A, B):
    T, N = len(obs), len(pi)
    delta = np.zeros((T, N))
    psi = np.zeros((T, N), dtype=int)
    delta[0] = pi * B[:, obs[0]]
    for t in range(1, T):
        for j in range(N):
            p = delta[t - 1] * A[:, j]
            psi[t, j] = np.argmax(p)
            delta[t, j] = p.max() * B[j, obs[t]]
    path = np.zeros(T, dtype=int)
    path[-1] = np.argmax(delta[-1])
    for t in reversed(range(T - 1)):
        path[t] = psi[t + 1, path[t + 1]]
    return path, delta


rng = np.random.default_rng(0)
obs = rng.choice(3, 12, p=[0.3, 0.3, 0.4])
path, delta = viterbi(obs, pi, A, B)
print(obs, path, [states[s] for s in path], delta[-1])


def forward(obs):
    a = pi * B[:, obs[0]]
    for o in obs[1:]:
        a = (a @ A) * B[:, o]
    return a.sum()


print(forward(obs), np.log(forward(obs)))
M = np.linalg.matrix_power(A, 20)
print(M, pi @ M)
ev, evec = np.linalg.eigh((A + A.T) / 2)
print(ev, np.abs(evec))


def levenshtein(a, b):
    D = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    D[:, 0] = np.arange(len(a) + 1)
    D[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return D[-1, -1], D


d, D = levenshtein("kitten", "sitting")
print(d)
print(D)
