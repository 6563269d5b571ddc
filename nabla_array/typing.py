"""Types for annotations: what is taken for an array or a dtype, as NumPy's module of that name has them."""

from __future__ import annotations

from typing import Any

import numpy.typing
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import DTypeLike as DTypeLike
from numpy.typing import NDArray as NDArray

from ._namespace.core.types import DType as DType


def __getattr__(name: str) -> Any:
    return getattr(numpy.typing, name)
