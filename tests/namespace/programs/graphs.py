import heapq
from itertools import permutations

import numpy as np

INF = float("inf")
W = np.array([[0, 3, INF, 7], [8, 0, 2, INF], [5, INF, 0, 1], [2, INF, INF, 0]])
D = W.copy()
n = len(D)
for k in range(n):
    for i in range(n):
        for j in range(n):
            if D[i][k] + D[k][j] < D[i][j]:
                D[i][j] = D[i][k] + D[k][j]
print(D)
D2 = W.copy()
for k in range(n):
    D2 = np.minimum(D2, D2[:, k, None] + D2[None, k, :])
print((D == D2).all())


def dijkstra(W, s):
    n = W.shape[0]
    dist = np.full(n, np.inf)
    dist[s] = 0
    done = np.zeros(n, dtype=bool)
    prev = -np.ones(n, dtype=int)
    for _ in range(n):
        u = np.argmin(np.where(done, np.inf, dist))
        done[u] = True
        for v in range(n):
            if not done[v] and dist[u] + W[u, v] < dist[v]:
                dist[v] = dist[u] + W[u, v]
                prev[v] = u
    return dist, prev


print(*dijkstra(W, 0))


def astar(grid, start, goal):
    q = [(0, start)]
    cost = {start: 0}
    came = {}
    while q:
        _, cur = heapq.heappop(q)
        if cur == goal:
            break
        for d in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            nxt = (cur[0] + d[0], cur[1] + d[1])
            if 0 <= nxt[0] < grid.shape[0] and 0 <= nxt[1] < grid.shape[1] and not grid[nxt]:
                c = cost[cur] + 1
                if c < cost.get(nxt, 1e9):
                    cost[nxt] = c
                    came[nxt] = cur
                    heapq.heappush(q, (c + abs(nxt[0] - goal[0]) + abs(nxt[1] - goal[1]), nxt))
    path = [goal]
    while path[-1] != start:
        path.append(came[path[-1]])
    return path[::-1]


rng = np.random.RandomState(4)
grid = rng.rand(8, 8) < 0.25
grid[0, 0] = grid[7, 7] = False
p = astar(grid, (0, 0), (7, 7))
print(len(p), p)
out = np.where(grid, "#", ".")
for i, j in p:
    out[i, j] = "o"
print("\n".join("".join(r) for r in out))
adj = (rng.rand(6, 6) < 0.4).astype(int)
adj = np.triu(adj, 1)
adj = adj + adj.T
deg = adj.sum(0)
L = np.diag(deg) - adj
print(L, np.round(np.linalg.eigvalsh(L), 4) + 0.0, np.linalg.matrix_power(adj, 3).trace() // 6)
cities = rng.rand(7, 2)
d = np.linalg.norm(cities[:, None] - cities[None], axis=-1)
tour = [0]
left = set(range(1, 7))
while left:
    k = min(left, key=lambda c: d[tour[-1], c])
    tour.append(k)
    left.remove(k)
length = sum(d[tour[i], tour[(i + 1) % 7]] for i in range(7))
print(tour, f"{length:.4f}", d[tour, np.roll(tour, -1)].sum().round(4))

best = min(permutations(range(1, 7)), key=lambda q: d[(0, *q), (*q, 0)].sum())
print(best, d[(0, *best), (*best, 0)].sum())
comp = np.arange(6)
changed = True
while changed:
    changed = False
    for i, j in zip(*np.nonzero(adj), strict=False):
        m = min(comp[i], comp[j])
        if comp[i] != m or comp[j] != m:
            comp[i] = comp[j] = m
            changed = True
print(comp, len(set(comp.tolist())), len(set(comp)))
