"""Reductions of the rows of a matrix, or of a vector, for CPUs; what makes their operand is computed as it is read.

MAX's own loop adds one vector at a time to the one before, and waits for each; a sum that needs another of
the same row goes over all rows once more.
"""

import extensibility
from extensibility import *
from layout import Coord
from max.algorithm import sync_parallelize
from std.sys import num_physical_cores

from . import arithmetic

comptime SUM = 0
comptime MAX = 1
comptime MIN = 2
# The sum of the squares of what elements are from a mean.
comptime SPREAD = 3

# So many elements are joined side by side.
comptime LANES = 32
# Elements of a row that are joined apart, so that a result is the same however many threads there are.
comptime PART = 1 << 14


@always_inline
def first[op: Int, dtype: DType]() -> Scalar[dtype]:
    """Return what joins every element to itself."""
    comptime if op == MAX:
        return Scalar[dtype].MIN
    elif op == MIN:
        return Scalar[dtype].MAX
    else:
        return 0


@always_inline
def join[op: Int, dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    comptime if op == MAX:
        return max(x, y)
    elif op == MIN:
        return min(x, y)
    else:
        return x + y


@always_inline
def joined[op: Int, dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> Scalar[dtype]:
    comptime if op == MAX:
        return x.reduce_max()
    elif op == MIN:
        return x.reduce_min()
    else:
        return x.reduce_add()


@always_inline
def load[w: Int, X: Loadable](x: X, row: Int, inner: Int, i: Int) -> SIMD[X.dtype, w]:
    """Return elements of a row, which is in a stack of `inner` rows where there are three axes."""
    comptime if X.rank == 1:
        return x.load[w](Coord(i))
    elif X.rank == 2:
        return x.load[w](Coord(row, i))
    else:
        comptime assert X.rank == 3, "rows are of three axes at most"
        return x.load[w](Coord(row // inner, row % inner, i))


@always_inline
def reduce_part[
    op: Int, wide: DType, X: Loadable
](x: X, row: Int, inner: Int, start: Int, stop: Int, mean: Scalar[X.dtype]) -> Scalar[wide]:
    """Reduce a part of a row."""

    @always_inline
    def element[w: Int](i: Int) {imm} -> SIMD[wide, w]:
        var y = load[w](x, row, inner, i)
        comptime if op == SPREAD:
            var d = arithmetic.sub(y, SIMD[X.dtype, w](mean))
            y = arithmetic.mul(d, d)
        return y.cast[wide]()

    comptime none = first[op, wide]()
    var many = SIMD[wide, LANES](none)
    var some = SIMD[wide, 4](none)
    var one = none
    var i = start
    while i + LANES <= stop:
        many = join[op](many, element[LANES](i))
        i += LANES
    while i + 4 <= stop:
        some = join[op](some, element[4](i))
        i += 4
    while i < stop:
        one = join[op](one, element[1](i))
        i += 1
    return join[op](join[op](joined[op](many), joined[op](some)), one)


@always_inline
def reduce_row[
    op: Int, wide: DType, X: Loadable
](x: X, row: Int, inner: Int, n: Int, tasks: Int, mean: Scalar[X.dtype]) -> Scalar[wide]:
    """Reduce a row, whose parts so many tasks share."""
    if n <= PART:
        return reduce_part[op, wide](x, row, inner, 0, n, mean)
    var parts = (n + PART - 1) // PART
    var results = List[Scalar[wide]](length=parts, fill=0)
    var to = results.unsafe_ptr()

    def work(task: Int) {imm}:
        for part in range(parts * task // tasks, parts * (task + 1) // tasks):
            var stop = min((part + 1) * PART, n)
            to.unsafe_store(part, reduce_part[op, wide](x, row, inner, part * PART, stop, mean))

    sync_parallelize(work, tasks)
    var total = first[op, wide]()
    for part in range(parts):
        total = join[op](total, results[part])
    return total


@always_inline
def reduce_rows[
    op: Int, dtype: DType, rank: Int, X: Loadable
](output: OutputTensor[dtype=dtype, rank=rank, ...], x: X):
    """Reduce a vector, or each row of a matrix or of a stack of them."""
    comptime wide = DType.float64 if dtype.is_floating_point() else dtype
    var rows = output.size()
    var inner = output.dim_size[rank - 1]()
    var n = Int(x.shape().product()) // max(rows, 1)
    var tasks = 4 * num_physical_cores() if rows * n > 4 * PART else 1
    # Tasks share the rows; where these are few, the parts of each.
    var of_rows = tasks if rows >= tasks else 1
    var of_parts = tasks if rows < tasks else 1
    var to = output.unsafe_ptr()

    def work(task: Int) {imm}:
        for row in range(rows * task // of_rows, rows * (task + 1) // of_rows):
            var total: Scalar[wide]
            comptime if op == SPREAD:
                var sum = reduce_row[SUM, wide](x, row, inner, n, of_parts, 0).cast[X.dtype]()
                total = reduce_row[SPREAD, wide](x, row, inner, n, of_parts, arithmetic.div(sum, Scalar[X.dtype](n)))
            else:
                total = reduce_row[op, wide](x, row, inner, n, of_parts, 0)
            to.unsafe_store(row, total.cast[dtype]())

    sync_parallelize(work, of_rows)


@extensibility.register("nabla.row_sum")
struct RowSum:
    @staticmethod
    def execute[
        dtype: DType, rank: Int, X: Input & Fused & Loadable
    ](output: OutputTensor[dtype=dtype, rank=rank, ...], x: X):
        reduce_rows[SUM](output, x)


@extensibility.register("nabla.row_max")
struct RowMax:
    @staticmethod
    def execute[
        dtype: DType, rank: Int, X: Input & Fused & Loadable
    ](output: OutputTensor[dtype=dtype, rank=rank, ...], x: X):
        reduce_rows[MAX](output, x)


@extensibility.register("nabla.row_min")
struct RowMin:
    @staticmethod
    def execute[
        dtype: DType, rank: Int, X: Input & Fused & Loadable
    ](output: OutputTensor[dtype=dtype, rank=rank, ...], x: X):
        reduce_rows[MIN](output, x)


@extensibility.register("nabla.row_spread")
struct RowSpread:
    @staticmethod
    def execute[
        dtype: DType, rank: Int, X: Input & Fused & Loadable
    ](output: OutputTensor[dtype=dtype, rank=rank, ...], x: X):
        reduce_rows[SPREAD](output, x)
