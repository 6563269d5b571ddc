"""NumPy's names beyond the standard, and some of its chapters: one module each, imported at first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from ..._lazy.forks import late
from ..interop.functions import find_hook

# Module -> its public names. A name that is not NumPy's has no place here.
CHAPTERS = {
    "predicates": (
        "iscomplexobj isfortran isrealobj isscalar iterable may_share_memory ndim shape shares_memory size"
    ),
    "bits": "packbits unpackbits",
    "calling": "broadcast ndenumerate nditer vectorize",
    "choosing": (
        "apply_along_axis apply_over_axes argwhere choose compress copyto diagonal extract fill_diagonal "
        "flatnonzero ix_ piecewise place put put_along_axis putmask ravel_multi_index select trace "
        "unravel_index"
    ),
    "constructing": (
        "asanyarray asarray_chkfinite ascontiguousarray asfortranarray bartlett blackman common_type "
        "copy diag diag_indices diag_indices_from diagflat frombuffer fromfunction geomspace hamming hanning "
        "identity indices kaiser logspace mask_indices require tri tril_indices tril_indices_from "
        "triu_indices triu_indices_from vander"
    ),
    "errors": "errstate seterr",
    "grids": "c_ index_exp mgrid ogrid r_ s_",
    "joining": (
        "append array_split atleast_3d block column_stack delete dsplit dstack fliplr flipud hsplit "
        "hstack insert resize rollaxis rot90 row_stack split trim_zeros vsplit vstack"
    ),
    "numbers": (
        "allclose angle array_equal array_equiv convolve correlate ediff1d fix gradient i0 interp "
        "isclose iscomplex isneginf isposinf isreal nan_to_num real_if_close sinc trapezoid unwrap"
    ),
    "ordering": "argpartition lexsort partition sort_complex",
    "padding": "pad",
    "polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "products": "cross dot einsum einsum_path inner kron matvec outer vdot vecmat",
    "statistics": (
        "average bincount corrcoef cov digitize histogram histogram2d histogram_bin_edges histogramdd "
        "median percentile ptp quantile"
    ),
    "ufuncs": (
        "bitwise_count deg2rad degrees divmod fabs float_power fmax fmin fmod frexp gcd heaviside lcm ldexp "
        "logaddexp2 modf rad2deg radians rint spacing ufunc"
    ),
    "uniques": "intersect1d setdiff1d setxor1d union1d unique",
    "without_nan": (
        "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod "
        "nanquantile nanstd nansum nanvar"
    ),
}
# Chapters of the standard; only that of elementwise functions comes with the package.
STANDARD = {
    ".chapters.creation": "arange array asarray eye from_dlpack linspace meshgrid tril triu",
    ".chapters.data_types": (
        "astype bool can_cast complex128 complex64 finfo float32 float64 iinfo int16 int32 "
        "int64 int8 isdtype result_type uint16 uint32 uint64 uint8"
    ),
    ".chapters.filling": "empty empty_like full full_like ones ones_like zeros zeros_like",
    ".chapters.indexing_functions": "take take_along_axis",
    ".chapters.joining": "concat concatenate repeat stack tile unstack",
    ".chapters.linear_algebra": "matmul matrix_transpose tensordot vecdot",
    ".chapters.manipulation": (
        "atleast_1d atleast_2d broadcast_arrays broadcast_shapes broadcast_to expand_dims flip moveaxis "
        "permute_dims ravel reshape roll squeeze swapaxes transpose"
    ),
    ".chapters.moments": "mean std var",
    ".chapters.scans": "cumprod cumsum cumulative_prod cumulative_sum",
    ".chapters.searching": "argmax argmin count_nonzero nonzero searchsorted where",
    ".chapters.sets": "isin unique_all unique_counts unique_inverse unique_values",
    ".chapters.sorting": "argsort sort",
    ".chapters.statistical": "max min prod sum",
    ".chapters.utility": "all any diff",
}
LINALG = {"more_linalg": "cond lstsq multi_dot norm tensorinv tensorsolve"}
FFT = {"more_fft": "fft2 ifft2 irfft2 rfft2"}
LIB = {"strides": "as_strided sliding_window_view"}


def _homes(chapters: dict[str, str]) -> dict[str, str]:
    return {name: module for module, names in chapters.items() for name in names.split()}


HOMES = {"": _homes(CHAPTERS | STANDARD), "linalg": _homes(LINALG), "fft": _homes(FFT), "lib": _homes(LIB)}


@cache
def _module(home: str) -> ModuleType:
    return late(f".{home}", __package__)


def find(name: str, part: str = "") -> Any:
    """Return what a name of NumPy's (of a `part` of it) is here, or None where we have nothing for it."""
    home = HOMES[part].get(name)
    return None if home is None else getattr(_module(home), name)


def getter(part: str, names: dict[str, Any]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that has a part of NumPy's names, among its own."""

    def get(name: str) -> Any:
        found = find(name, part)
        if found is None:
            raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}")
        names[name] = found
        return found

    return get


find_hook.append(find)
