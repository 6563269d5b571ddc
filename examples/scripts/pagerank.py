"""PageRank of a small web: the power method, a linear system and the eigenvector agree."""

import numpy as np

LINKS = """
home:about,products,blog,help
about:home,team
team:about,home
products:home,shop,help
shop:products,cart
cart:shop,home
blog:home,post1,post2,post3
post1:blog,products
post2:blog,post1
post3:blog,post2,shop
help:home,contact
contact:
orphan:home
"""

pages = [line.split(":")[0] for line in LINKS.split()]
index = {name: i for i, name in enumerate(pages)}
n = len(pages)
A = np.zeros((n, n))
for line in LINKS.split():
    source, _, targets = line.partition(":")
    for target in filter(None, targets.split(",")):
        A[index[target], index[source]] += 1.0

out = A.sum(axis=0)
dangling = out == 0
print("pages:", n, "links:", int(A.sum()), "dangling:", [pages[i] for i in np.where(dangling)[0]])
M = np.divide(A, out, out=np.zeros_like(A), where=~dangling)
M[:, dangling] = 1 / n

d = 0.85
r = np.ones(n) / n
for k in range(1, 200):
    last = r.copy()
    r = d * M @ r + (1 - d) / n
    delta = np.abs(r - last).sum()
    if k <= 5 or delta < 1e-12:
        print(f"{k:3d}  {delta:.3e}")
    if delta < 1e-12:
        break

solved = np.linalg.solve(np.eye(n) - d * M, np.full(n, (1 - d) / n))
w, v = np.linalg.eig(d * M + (1 - d) / n)
first = np.real(v[:, np.argmax(w.real)])
first /= first.sum()
print("sum:", round(r.sum(), 12), "solve:", np.allclose(r, solved), "eig:", np.allclose(r, first))
second = np.sort(np.abs(w))[-2]
print(f"second eigenvalue: {second:.6f}, so {-100 * np.log10(second):.1f} digits in 100 steps")

print("\nrank page       score")
for place, i in enumerate(np.argsort(-r, kind="stable"), 1):
    print(f"{place:4d} {pages[i]:10s} {r[i]:.6f} {'#' * int(200 * r[i])}")

# A larger web, at random: edges as lists, no matrix.
rng = np.random.default_rng(7)
N, E = 2000, 20000
src = rng.integers(0, N, E)
dst = (rng.pareto(1.5, E) * 20).astype(int) % N
degree = np.bincount(src, minlength=N)
x = np.full(N, 1 / N)
for _ in range(40):
    flow = x[src] / degree[src]
    y = np.bincount(dst, weights=flow, minlength=N)
    y += x[degree == 0].sum() / N
    x = d * y + (1 - d) / N
top = np.argsort(x)[::-1][:5]
print("\ntop of the random web:", top, x[top].round(6))
lorenz = np.cumsum(np.sort(x))
print(f"gini: {1 - 2 * np.trapezoid(lorenz, dx=1 / N):.4f}")
