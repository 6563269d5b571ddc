"""Conway's Game of Life on a board that wraps around."""

import numpy as np

GLIDER = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
GOSPER = """
........................O...........
......................O.O...........
............OO......OO............OO
...........O...O....OO............OO
OO........O.....O...OO..............
OO........O...O.OO....O.O...........
..........O.....O.......O...........
...........O...O....................
............OO......................
"""


def parse(text):
    return np.array([[c == "O" for c in line] for line in text.split()], dtype=np.uint8)


def neighbours(board):
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    return sum(np.roll(board, shift, axis=(0, 1)) for shift in shifts)


def step(board):
    n = neighbours(board)
    birth = (n == 3) & (board == 0)
    survive = ((n == 2) | (n == 3)) & (board == 1)
    board[...] = 0
    board[birth | survive] = 1


def show(board):
    print("\n".join("".join(".O"[cell] for cell in row) for row in board))


board = np.zeros((12, 16), dtype=np.uint8)
board[1:4, 1:4] = GLIDER
board[2:4, 11:13] = 1
show(board)
for _ in range(20):
    step(board)
print()
show(board)
print("the block is still there:", board[2:4, 11:13].all())

field = np.zeros((40, 60), np.uint8)
gun = parse(GOSPER)
field[2 : 2 + gun.shape[0], 2 : 2 + gun.shape[1]] |= gun
population = [int(field.sum())]
ages = np.zeros(field.shape, int)
for _ in range(60):
    step(field)
    ages += 1
    ages[field == 0] = 0
    population.append(int(field.sum()))
print("cells of the gun:", population[::10])
print("oldest cells:", ages.max(), "at", np.argwhere(ages == ages.max())[:3].tolist())
print("columns alive:", np.flatnonzero(field.any(axis=0)))

rng = np.random.default_rng(2024)
soup = (rng.random((80, 80)) < 0.35).astype(np.uint8)
for generation in range(100):
    before = soup.copy()
    step(soup)
    if generation % 25 == 0:
        print(f"soup {generation:3d}: {soup.sum():4d} alive, {np.count_nonzero(soup != before):4d} changed")
values, counts = np.unique(neighbours(soup), return_counts=True)
print("neighbours:", {int(v): int(c) for v, c in np.c_[values, counts]})
