"""Written by `python -m tests.typing.stubs`."""

from typing import TypeAlias
from . import views
from ..chapters import elementwise
from ..chapters import indexing_functions
from ..chapters import joining
from ..chapters import manipulation
from ..chapters import moments
from ..chapters import scans
from ..chapters import searching
from ..chapters import sorting
from ..chapters import statistical
from ..chapters import utility
from ..numpy import choosing
from ..numpy import methods
from ..numpy import ordering
from ..numpy import products
from ._operators import Operators
from ...distributed.mesh import DeviceMesh
from ...distributed.specs import ShardingSpec

Device: TypeAlias = str | DeviceMesh
Sharding: TypeAlias = ShardingSpec

class Methods(Operators):
    all = utility.all
    any = utility.any
    argmax = searching.argmax
    argmin = searching.argmin
    argpartition = ordering.argpartition
    argsort = sorting.argsort
    astype = methods.astype
    byteswap = methods.byteswap
    choose = methods.choose
    clip = methods.clip
    compress = methods.compress
    conj = methods.conj
    conjugate = methods.conj
    copy = methods.copy
    cumprod = scans.cumprod
    cumsum = scans.cumsum
    diagonal = choosing.diagonal
    dot = products.dot
    dump = methods.dump
    dumps = methods.dumps
    fill = methods.fill
    flatten = methods.flatten
    getfield = views.field
    max = statistical.max
    mean = moments.mean
    min = statistical.min
    nonzero = searching.nonzero
    partition = methods.partition
    prod = statistical.prod
    put = methods.put
    ravel = methods.ravel
    repeat = joining.repeat
    reshape = methods.reshape
    round = elementwise.round
    searchsorted = searching.searchsorted
    setfield = methods.setfield
    sort = methods.sort
    squeeze = manipulation.squeeze
    std = moments.std
    sum = statistical.sum
    swapaxes = manipulation.swapaxes
    take = indexing_functions.take
    to_numpy = methods.to_numpy
    tobytes = methods.tobytes
    tofile = methods.tofile
    trace = choosing.trace
    transpose = methods.transpose
    var = moments.var
    view = methods.view_as
