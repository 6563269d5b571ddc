"""Written by `python -m tests.typing.stubs`."""

from ._namespace.chapters.linalg import LinAlgError as LinAlgError
from ._namespace.chapters.linalg import cholesky as cholesky
from ._namespace.chapters.linalg import cross as cross
from ._namespace.chapters.linalg import det as det
from ._namespace.chapters.linalg import diagonal as diagonal
from ._namespace.chapters.linalg import eig as eig
from ._namespace.chapters.linalg import eigh as eigh
from ._namespace.chapters.linalg import eigvals as eigvals
from ._namespace.chapters.linalg import eigvalsh as eigvalsh
from ._namespace.chapters.linalg import inv as inv
from ._namespace.chapters.linalg import matmul as matmul
from ._namespace.chapters.linalg import matrix_norm as matrix_norm
from ._namespace.chapters.linalg import matrix_power as matrix_power
from ._namespace.chapters.linalg import matrix_rank as matrix_rank
from ._namespace.chapters.linalg import matrix_transpose as matrix_transpose
from ._namespace.chapters.linalg import outer as outer
from ._namespace.chapters.linalg import pinv as pinv
from ._namespace.chapters.linalg import qr as qr
from ._namespace.chapters.linalg import slogdet as slogdet
from ._namespace.chapters.linalg import solve as solve
from ._namespace.chapters.linalg import svd as svd
from ._namespace.chapters.linalg import svdvals as svdvals
from ._namespace.chapters.linalg import tensordot as tensordot
from ._namespace.chapters.linalg import trace as trace
from ._namespace.chapters.linalg import vecdot as vecdot
from ._namespace.chapters.linalg import vector_norm as vector_norm
from ._namespace.numpy.more_linalg import cond as cond
from ._namespace.numpy.more_linalg import lstsq as lstsq
from ._namespace.numpy.more_linalg import multi_dot as multi_dot
from ._namespace.numpy.more_linalg import norm as norm
from ._namespace.numpy.more_linalg import tensorinv as tensorinv
from ._namespace.numpy.more_linalg import tensorsolve as tensorsolve

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
