import numpy as np

grid = """534070902 600195048 198042067 850761003 426803791 700920056 961507284 080419635 345286079"""
board = np.array([list(map(int, row)) for row in grid.split()])
print(board)


def possible(b, r, c, n):
    if n in b[r] or n in b[:, c]:
        return False
    r0, c0 = (r // 3) * 3, (c // 3) * 3
    return n not in b[r0 : r0 + 3, c0 : c0 + 3]


count = 0


def solve(b):
    global count
    count += 1
    empty = np.argwhere(b == 0)
    if len(empty) == 0:
        return True
    best = None
    for r, c in empty[:8]:
        opts = [n for n in range(1, 10) if possible(b, r, c, n)]
        if best is None or len(opts) < len(best[2]):
            best = (r, c, opts)
        if len(opts) <= 1:
            break
    r, c, opts = best
    for n in opts:
        b[r, c] = n
        if solve(b):
            return True
        b[r, c] = 0
    return False


print(solve(board), count)
print(board)
print("\n".join(" ".join(str(v) for v in row) for row in board))
print((board.sum(0) == 45).all(), board.sum(axis=1), all(len(set(row)) == 9 for row in board))
blocks = board.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
print(np.sort(blocks, axis=1)[0], np.array_equal(np.sort(blocks), np.tile(np.arange(1, 10), (9, 1))))
n = 6


def queens(n):
    out = []

    def place(row, cols):
        if row == n:
            out.append(list(cols))
            return
        for c in range(n):
            q = np.array(cols, dtype=int)
            if row == 0 or not ((q == c) | (np.abs(q - c) == row - np.arange(row))).any():
                place(row + 1, [*cols, c])

    place(0, [])
    return np.array(out)


print(queens(n))
