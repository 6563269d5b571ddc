from numpy import argwhere, array, nonzero, transpose, where, zeros


def iterate(Z):
    N = (
        Z[0:-2, 0:-2]
        + Z[0:-2, 1:-1]
        + Z[0:-2, 2:]
        + Z[1:-1, 0:-2]
        + Z[1:-1, 2:]
        + Z[2:, 0:-2]
        + Z[2:, 1:-1]
        + Z[2:, 2:]
    )
    birth = (N == 3) & (Z[1:-1, 1:-1] == 0)
    survive = ((N == 2) | (N == 3)) & (Z[1:-1, 1:-1] == 1)
    Z[...] = 0
    Z[1:-1, 1:-1][birth | survive] = 1
    return Z


Z = zeros((8, 8), dtype=int)
Z[1:4, 1:4] = array([[0, 0, 1], [1, 0, 1], [0, 1, 1]])
print(Z)
for _ in range(4):
    Z = iterate(Z)
print(Z, Z.sum(), type(Z.sum()) is not int)


def pretty(Z):
    for row in Z:
        print("".join("#" if c else "." for c in row))


pretty(Z)
for i in range(Z.shape[0]):
    for j in range(Z.shape[1]):
        if Z[i][j] == 1:
            print((i, j), end=" ")
print()
x, y = where(Z)
print(x, y, list(zip(x, y, strict=False)))
print(argwhere(Z), nonzero(Z))
print({(int(a), int(b)) for a, b in transpose(nonzero(Z))} == set(map(tuple, argwhere(Z).tolist())))
