"""Types for annotations: what is taken for an array or a dtype, as NumPy's module of that name has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy
import numpy.typing
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import DTypeLike as DTypeLike

from ._namespace.core.types import DType as DType

if TYPE_CHECKING:
    from numpy.typing import NDArray as NDArray
else:  # what checks types at run time asks the class that is named: ours has our arrays as instances, too
    from ._namespace.numpy.ndarray import ndarray

    _Scalar = TypeVar("_Scalar", bound=numpy.generic)
    NDArray = ndarray[tuple[Any, ...], numpy.dtype[_Scalar]]
    if hasattr(numpy.typing.NDArray, "__value__"):  # an alias of its own (PEP 695) since NumPy 2.5
        NDArray = type(numpy.typing.NDArray)("NDArray", NDArray, type_params=(_Scalar,))


def __getattr__(name: str) -> Any:
    return getattr(numpy.typing, name)
