"""Reductions of the columns of a matrix, or of each of a stack, for CPUs; their operand is computed as it is read.

Threads share parts of the rows and blocks of the columns. How these are cut does not depend on how many threads
there are, so neither do the results.
"""

import extensibility
from extensibility import *
from layout import Coord
from max.algorithm import sync_parallelize
from std.sys import num_physical_cores

from .rows import MAX, MIN, SUM, first, join

# Columns in a block, whose results so far stay in the nearest cache.
comptime BLOCK = 512
# Rows are cut into so many parts at most, of so many rows at least.
comptime PARTS = 16
comptime ROWS = 64


@always_inline
def reduce_block[
    op: Int, wide: DType, X: Loadable, origin: MutOrigin
](
    x: X, matrix: Int, rows: Tuple[Int, Int], columns: Tuple[Int, Int], to: Pointer[Scalar[wide], origin]
):
    """Reduce some rows of some columns; the result of the first column of all is where `to` points."""

    @always_inline
    def element[w: Int](row: Int, j: Int) {imm} -> SIMD[wide, w]:
        comptime if X.rank == 2:
            return x.load[w](Coord(row, j)).cast[wide]()
        else:
            comptime assert X.rank == 3, "columns are of three axes at most"
            return x.load[w](Coord(matrix, row, j)).cast[wide]()

    @always_inline
    def step[w: Int, four: Bool](row: Int, j: Int) {imm}:
        var y = element[w](row, j)
        comptime if four:
            var z = join[op](element[w](row + 2, j), element[w](row + 3, j))
            y = join[op](join[op](y, element[w](row + 1, j)), z)
        to.unsafe_store(j, join[op](to.unsafe_load[width=w](j), y))

    @always_inline
    def line[four: Bool](row: Int) {imm}:
        var j = columns[0]
        while j + 16 <= columns[1]:
            step[16, four](row, j)
            j += 16
        while j + 4 <= columns[1]:
            step[4, four](row, j)
            j += 4
        while j < columns[1]:
            step[1, four](row, j)
            j += 1

    for j in range(columns[0], columns[1]):
        to.unsafe_store(j, first[op, wide]())
    var row = rows[0]
    while row + 4 <= rows[1]:  # four at a time: the results so far are read and written once
        line[True](row)
        row += 4
    while row < rows[1]:
        line[False](row)
        row += 1


@always_inline
def reduce_columns[
    op: Int, dtype: DType, rank: Int, X: Loadable
](output: OutputTensor[dtype=dtype, rank=rank, ...], x: X):
    """Reduce each column of a matrix, or of each of a stack."""
    comptime wide = DType.float64 if dtype.is_floating_point() else dtype
    var m = output.dim_size[rank - 1]()
    var matrices = output.size() // max(m, 1)
    var n = Int(x.shape().product()) // max(output.size(), 1)
    var height = max(ROWS, (n + PARTS - 1) // PARTS)
    var parts = (n + height - 1) // height
    var blocks = (m + BLOCK - 1) // BLOCK
    var results = List[Scalar[wide]](length=matrices * parts * m, fill=0)
    var between = results.unsafe_ptr()
    var to = output.unsafe_ptr()
    var many = 4 * num_physical_cores() if matrices * n * m > (1 << 16) else 1

    def work(task: Int) {imm}:
        var every = matrices * parts * blocks
        for k in range(every * task // many, every * (task + 1) // many):
            var stack = k // blocks  # a part of a matrix
            var part = stack % parts
            var start = k % blocks * BLOCK
            reduce_block[op, wide](
                x,
                stack // parts,
                (part * height, min((part + 1) * height, n)),
                (start, min(start + BLOCK, m)),
                between.unsafe_offset(stack * m),
            )

    def finish(task: Int) {imm}:
        for k in range(matrices * m * task // many, matrices * m * (task + 1) // many):
            var total = first[op, wide]()
            for part in range(parts):
                total = join[op](total, between.unsafe_load((k // m * parts + part) * m + k % m))
            to.unsafe_store(k, total.cast[dtype]())

    sync_parallelize(work, many)
    sync_parallelize(finish, many)
    _ = results


@extensibility.register("nabla.column_sum")
struct ColumnSum:
    @staticmethod
    def execute[
        dtype: DType, rank: Int, X: Input & Fused & Loadable
    ](output: OutputTensor[dtype=dtype, rank=rank, ...], x: X):
        reduce_columns[SUM](output, x)


@extensibility.register("nabla.column_max")
struct ColumnMax:
    @staticmethod
    def execute[
        dtype: DType, rank: Int, X: Input & Fused & Loadable
    ](output: OutputTensor[dtype=dtype, rank=rank, ...], x: X):
        reduce_columns[MAX](output, x)


@extensibility.register("nabla.column_min")
struct ColumnMin:
    @staticmethod
    def execute[
        dtype: DType, rank: Int, X: Input & Fused & Loadable
    ](output: OutputTensor[dtype=dtype, rank=rank, ...], x: X):
        reduce_columns[MIN](output, x)
