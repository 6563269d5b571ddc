"""Functions of other libraries that take NumPy's arrays, or Python's numbers, and nothing else.

Compiled code cannot be told what our arrays are: it reads memory, and asks no protocol. In front of each
function of `DOORS` stands one that hands it NumPy's arrays and scalars for ours, as they are or in lists,
tuples and dicts, and returns what it returns. Doors are put in as soon as their module is imported.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..._lazy.run.devices import CPU
from ..core.array import Array, from_value, write
from ..core.promotion import HOLDERS, as_array
from ..core.views import memory
from .imports import after_import, unknown


def number(x: Array) -> Any:
    """Return NumPy's scalar of an array without axes; another stays what it is."""
    return x if x.shape else np.asarray(x)[()]


def same(x: Array) -> Any:
    """Return an array as it is."""
    return x


def copy(x: Array) -> Any:
    """Return a copy of the elements, NumPy's."""
    return np.asarray(x)[()]


def shared(x: Array) -> Any:
    """Return NumPy's array on the memory of ours, which may be written to; a copy of one on a device."""
    return memory(x) if x.shape and x.device == CPU else np.asarray(x)[()]


def _put_back(x: Array, value: Any) -> None:
    """Write to an array on a device what was written to the copy that `shared` gave of it."""
    if x.shape and x.device != CPU and value.tobytes() != np.asarray(x).tobytes():
        write(x, from_value(value))


def lent(x: Array) -> Any:
    """Return NumPy's array on the memory of ours, which is read at once and let go of."""
    return np.asarray(x, copy=False) if x.shape else np.asarray(x)[()]


def in_rows(x: Array) -> Any:
    """Return NumPy's array in C order, on the memory of ours where that lies so, which is read at once."""
    return np.ascontiguousarray(lent(x)) if x.shape else lent(x)


class Door(NamedTuple):
    """A module, names of its functions (or of methods, `Class.method`), what they are given, and why.

    The name `*` stands for all compiled functions of the module; `function.method` for a method of what the
    function returns, where its class is compiled and keeps its methods. With `lists`, positional arguments
    that are lists of our numbers become arrays.
    """

    module: str
    names: str
    give: Callable[[Array], Any]
    reason: str
    lists: bool = False


# Modules of scikit-image whose functions Cython made for several dtypes.
_FUSED = (
    "feature._haar",
    "measure._moments_cy",
    "morphology._max_tree",
    "morphology._misc_cy",
    "util._remap",
)
# BLAS that changes vectors in place, of each dtype.
_IN_PLACE = " ".join([t + f for f in ("axpy", "copy", "scal", "swap") for t in "sdcz"])

_CLASSES = "compiled code looks for the classes of numbers"

DOORS = (
    Door(
        "MDAnalysis.lib.distances", "distance_array self_distance_array", shared, "compiled; takes no others"
    ),
    Door(
        "MDAnalysis.lib.distances",
        "calc_bonds calc_angles calc_dihedrals",
        shared,
        "compiled; takes no others",
    ),
    Door("PIL.Image", "Image.putdata", copy, "compiled; takes others for pixels", lists=True),
    Door("SimpleITK.SimpleITK", "Image.SetSpacing Image.SetOrigin Image.SetDirection", copy, "compiled"),
    Door("_pytest.approx", "approx", number, "takes what has a length for a sequence"),
    Door("_pytest.python_api", "approx", number, "the home of `approx` before pytest 9.2"),
    Door("astropy.io.fits.card", "Card.__init__", number, "keeps the values of keywords"),
    Door("astropy.io.fits.header", "Header.__setitem__ Header.set", number, "keeps the values of keywords"),
    Door("astropy.io.misc.yaml", "AstropyDumper.represent_data", copy, "looks for the class among NumPy's"),
    Door("casadi.casadi", "DM.__init__ MX.__init__ SX.__init__", copy, "compiled; takes no other tables"),
    Door("catboost.core", "Pool.__init__ CatBoost._fit", copy, "takes no other tables"),
    Door("catboost.core", "CatBoost._process_predict_input_data", copy, "takes no other tables"),
    Door("cv2", "*", shared, "compiled code that takes no other arrays, and draws on those it is given"),
    Door("dask.array.core", "Array.__setitem__", number, "takes others for arrays"),
    Door("gymnasium.spaces.box", "Box.__init__ Box.contains", copy, "bounds are NumPy's, or numbers"),
    Door(
        "gymnasium.spaces.discrete",
        "Discrete.__init__ Discrete.contains Discrete.sample",
        copy,
        "asks `type`",
    ),
    Door(
        "gymnasium.spaces.multi_binary", "MultiBinary.__init__ MultiBinary.contains", copy, "takes no others"
    ),
    Door(
        "gymnasium.spaces.multi_discrete",
        "MultiDiscrete.__init__ MultiDiscrete.contains",
        copy,
        "takes no others",
    ),
    Door("gymnasium.wrappers.utils", "rescale_box", copy, "bounds are NumPy's, or numbers"),
    Door("h5py._hl.dataset", "Dataset.read_direct", shared, "compiled code writes to its argument"),
    Door("h5py._hl.dataset", "Dataset.write_direct", copy, "compiled code takes no others"),
    Door("keras.src.optimizers.base_optimizer", "BaseOptimizer.__init__", number, "asks for `float`"),
    Door(
        "lightgbm.basic",
        "Dataset.__init__ Dataset.set_field Dataset.set_label Dataset.set_weight Booster.predict "
        "Booster._Booster__boost",
        copy,
        "hands memory to compiled code, and takes no others",
    ),
    Door(
        "matplotlib.axes._axes",
        "Axes.plot Axes.scatter",
        same,
        "NumPy asks each number of a list",
        lists=True,
    ),
    Door("matplotlib.collections", "LineCollection.set_segments", copy, "makes an array of each row"),
    Door("matplotlib.collections", "PolyCollection.set_verts", copy, "makes an array of each row"),
    Door("matplotlib.colors", "LightSource.hillshade", copy, "makes arrays of the class of its argument"),
    Door("matplotlib.colors", "to_rgba_array", copy, "asks each number of what is not NumPy's"),
    Door("matplotlib.markers", "MarkerStyle._set_marker", copy, "takes others for names"),
    Door("networkx.convert", "to_networkx_graph", copy, "knows matrices of NumPy's alone"),
    Door("numpy.random", "default_rng", copy, "compiled; takes no others for seeds"),
    Door(
        "onnxruntime.capi.onnxruntime_inference_collection",
        "InferenceSession.run OrtValue.ortvalue_from_numpy",
        copy,
        "compiled; takes no others",
    ),
    Door("openpyxl.cell.cell", "Cell._bind_value", number, "knows numbers of NumPy's and Python's alone"),
    Door("pandas._libs.tslibs.timedeltas", "Timedelta.__new__", number, "takes numbers of NumPy's alone"),
    Door("pandas._libs.tslibs.timestamps", "Timestamp.__new__", number, "takes numbers of NumPy's alone"),
    Door("pandas._libs._ujson", "ujson_dumps", copy, "compiled; writes no others"),
    Door("pandas._libs.lib", "infer_dtype", copy, "compiled; knows no others"),
    Door("pandas._libs.missing", "checknull", number, "knows numbers of NumPy's and Python's alone"),
    Door("pandas._libs.window.aggregations", "*", copy, "compiled; takes no others for bounds"),
    Door("pandas.core.algorithms", "isin take", copy, "takes others for objects, or for arrays of pandas'"),
    Door("pandas.core.arrays.boolean", "BooleanArray.__init__", shared, "takes no others"),
    Door("pandas.core.arrays.numeric", "NumericArray.__init__", shared, "takes no others"),
    Door("pandas.core.arrays.numpy_", "NumpyExtensionArray.__init__", shared, "takes no others"),
    Door(
        "pandas.core.dtypes.cast",
        "construct_1d_arraylike_from_scalar infer_dtype_from_scalar",
        number,
        _CLASSES,
    ),
    Door("pandas.core.indexes.base", "Index.__contains__ Index.get_loc Index.delete", copy, _CLASSES),
    Door("pandas.core.indexes.category", "CategoricalIndex.__contains__", copy, _CLASSES),
    Door(
        "pandas.core.indexes.multi",
        "MultiIndex.__contains__ MultiIndex.get_loc MultiIndex._get_loc_level",
        copy,
        _CLASSES,
    ),
    Door("pandas.core.tools.numeric", "to_numeric", copy, "takes others for its own"),
    Door("pandas.core.internals.construction", "ndarray_to_mgr", copy, "goes through others row by row"),
    Door("pandas.core.util.hashing", "hash_array", copy, "takes no others"),
    Door("pandas.core.window.rolling", "BaseWindow.__init__", number, "the window goes into compiled code"),
    Door("polars.series.series", "Series.__init__", copy, "takes other arrays for objects"),
    Door(
        "polars.series.series", "Series._arithmetic Series._comp", copy, "knows arrays and numbers of NumPy's"
    ),
    Door("polars.functions.lit", "lit", copy, "knows arrays and numbers of NumPy's"),
    Door("polars.dataframe.frame", "DataFrame.filter DataFrame.with_columns", copy, "knows masks of NumPy's"),
    Door("polars.dataframe.frame", "DataFrame.__init__", copy, "takes other arrays for objects"),
    Door(
        "pyarrow.lib", "array scalar table chunked_array record_batch", copy, "knows numbers of NumPy's alone"
    ),
    Door("pygame.draw", "*", copy, "compiled; takes no others for points and numbers"),
    Door("pytensor.compile.sharedvalue", "shared SharedVariable.set_value", copy, "keeps the values"),
    Door("qiskit.circuit.quantumcircuit", "QuantumCircuit._append_standard_gate", copy, "compiled"),
    Door(
        "qiskit.circuit.instruction", "Instruction.__init__", copy, "knows parameters of NumPy's and Python's"
    ),
    Door("qiskit.quantum_info.operators.operator", "Operator.__init__", copy, "takes no others"),
    Door(
        "qiskit.quantum_info.operators.symplectic.sparse_pauli_op",
        "SparsePauliOp.__init__",
        copy,
        "takes no others",
    ),
    Door("qiskit.quantum_info.states.densitymatrix", "DensityMatrix.__init__", copy, "takes no others"),
    Door("qiskit.quantum_info.states.statevector", "Statevector.__init__", copy, "takes no others"),
    Door("qutip.core.coefficient", "coefficient", copy, "takes no others for values at times"),
    Door("scipy.linalg._fblas", f"{_IN_PLACE} csscal zdscal", shared, "writes to its arguments"),
    Door("scipy.interpolate._rbfinterp_pythran", "*", in_rows, "compiled; takes no others"),
    Door("scipy.optimize._group_columns", "group_dense group_sparse", copy, "compiled; takes no others"),
    Door("scipy.linalg._matfuncs", "_funm_loops", copy, "compiled; takes no others"),
    Door("scipy.ndimage._ni_label", "_label", shared, "compiled code writes to no others"),
    Door(
        "scipy.signal._spectral_py",
        "csd",
        lent,
        "transforms twice what is no longer one array after `asarray`",
    ),
    Door("scipy.sparse._sparsetools", "*", shared, "compiled; writes to its arguments"),
    Door("scipy.sparse.linalg._dsolve.linsolve", "splu.solve spilu.solve", copy, "compiled; takes no others"),
    Door("skimage.filters.rank.generic", "_preprocess_input", shared, "compiled code takes no others"),
    Door(
        "skimage.feature._fisher_vector", "learn_gmm fisher_vector", copy, "takes no others for descriptors"
    ),
    *[Door(f"skimage.{module}", "*", shared, "compiled; asks others for no dtype") for module in _FUSED],
    Door("skimage.transform._hough_transform", "*", shared, "compiled; takes no others"),
    Door("skimage.transform._warps", "warp", copy, "takes others for functions"),
    Door("sklearn._isotonic", "*", shared, "compiled; asks others for no dtype"),
    Door(
        "sklearn._loss.loss",
        "BaseLoss.gradient BaseLoss.gradient_hessian BaseLoss.loss BaseLoss.loss_gradient "
        "HalfMultinomialLoss.gradient_proba",
        shared,
        "hands them to compiled code, which asks others for no dtype",
    ),
    Door(
        "sklearn.multiclass",
        "OneVsRestClassifier.fit OneVsRestClassifier.partial_fit",
        copy,
        "makes sparse targets of no others",
    ),
    Door("sklearn.preprocessing._target_encoder_fast", "*", shared, "compiled; asks others for no dtype"),
    Door("sklearn.utils.arrayfuncs", "*", shared, "compiled; asks others for no dtype"),
    Door(
        "skimage.util.shape", "view_as_blocks view_as_windows", shared, "gives views of NumPy's arrays alone"
    ),
    Door("scipy.special._basic", "factorial factorial2 factorialk", number, "asks for the class of integers"),
    Door("sparse.numba_backend._coo.core", "COO.__init__", copy, "takes others for iterables"),
    Door("sparse.numba_backend._compressed.compressed", "GCXS.__init__", copy, "takes others for sequences"),
    Door("sparse.numba_backend._common", "dot matmul tensordot", copy, "takes no others"),
    Door("statsmodels.stats.correlation_tools", "corr_nearest_factor", copy, "asks `type`"),
    Door("statsmodels.tsa.ar_model", "AutoReg.__init__", number, "takes others for several lags"),
    Door("sympy.tensor.array.dense_ndim_array", "ImmutableDenseNDimArray.__new__", copy, "goes into numbers"),
    Door("sympy.tensor.array.dense_ndim_array", "MutableDenseNDimArray.__new__", copy, "goes into numbers"),
    Door("tables.flavor", "flavor_of array_as_internal", copy, "knows no others"),
    Door(
        "tensorflow.python.framework.constant_op",
        "convert_to_eager_tensor",
        copy,
        "asks the length of numbers",
    ),
    Door("torch", "from_numpy", shared, "takes no others, and shares their memory"),
    Door("torch", "as_tensor asarray", shared, "shares the memory of NumPy's arrays alone"),
    Door(
        "torch", "tensor full full_like clamp linspace arange where", copy, "knows numbers of NumPy's alone"
    ),
    Door("torch", "Tensor.__getitem__ Tensor.__setitem__", copy, "takes others for sequences"),
    Door("torch.distributions.utils", "broadcast_all", number, "knows numbers of NumPy's and Python's"),
    Door("xgboost.objective", "_grad_arrinf", shared, "returns where the memory is: a copy would be gone"),
)


def _given(x: Any, give: Callable[[Array], Any], lists: bool, known: dict[int, tuple[Array, Any]]) -> Any:
    """Return an argument with what `give` makes of our arrays in it; itself where there are none.

    What it has made of an array that is given more than once is `known`: it stays one array.
    """
    kind = type(x)
    if kind is Array:
        if id(x) not in known:
            known[id(x)] = x, give(x)
        return known[id(x)][1]
    if lists and kind is list and x and type(x[0]) is Array and not x[0].shape:
        with suppress(ValueError, TypeError):  # where not all of them are numbers
            return np.asarray(as_array("asarray", x))
    if kind is list or kind is tuple:
        if HOLDERS.isdisjoint(map(type, x)):  # a long list of numbers
            return x
        made = [_given(i, give, lists, known) for i in x]
        return kind(made) if any([a is not b for a, b in zip(made, x, strict=True)]) else x
    if kind is dict:
        return {k: _given(v, give, lists, known) for k, v in x.items()}
    return x


def door(
    function: Callable[..., Any], give: Callable[[Array], Any], lists: bool = False
) -> Callable[..., Any]:
    """Return a function that hands another one NumPy's arrays for ours."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and HOLDERS.isdisjoint(map(type, args)):
            return function(*args)
        known: dict[int, tuple[Array, Any]] = {}
        given = [_given(a, give, lists, known) for a in args]
        found = function(*given, **{k: _given(v, give, False, known) for k, v in kwargs.items()})
        if give is shared:
            for x, value in known.values():
                _put_back(x, value)
        return found

    return call


class _Returned:
    """What a function returned, with a door in the place of one of its methods."""

    __class__ = property(lambda self: type(self._returned))

    def __init__(self, returned: Any, method: str, give: Callable[[Array], Any]) -> None:
        self._returned = returned
        setattr(self, method, door(getattr(returned, method), give))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._returned, name)


def _returning(function: Callable[..., Any], method: str, give: Callable[[Array], Any]) -> Callable[..., Any]:
    """Return a function of whose result a method is a door."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _Returned(function(*args, **kwargs), method, give)

    return call


def put_in(module: ModuleType, functions: dict[str, Callable[..., Any]]) -> None:
    """Put functions in the places of a module's own, also where its package has them under other names."""
    after = {id(getattr(module, name)): function for name, function in functions.items()}
    package = module.__name__.partition(".")[0].lstrip("_")  # that of `_pytest` is called `pytest`, too
    for name, loaded in list(sys.modules.items()):
        if name.partition(".")[0].lstrip("_") == package:
            for key, value in list(getattr(loaded, "__dict__", {}).items()):
                if id(value) in after:
                    setattr(loaded, key, after[id(value)])


def keep_capabilities(original: Callable[..., Any], made: Callable[..., Any]) -> None:
    """Let SciPy, which looks by the function for what namespaces it takes, find that of one in its place."""
    known = getattr(sys.modules.get("scipy._lib._array_api"), "xp_capabilities_table", {})
    if original in known:
        known[made] = known[original]


def is_compiled(function: object) -> bool:
    """Say whether this is a compiled function: C's, or Cython's, whose releases have classes of their own."""
    cythons = ("cython_function_or_method", "fused_cython_function")
    return isinstance(function, BuiltinFunctionType) or type(function).__name__ in cythons


def _is_there(name: str, module: ModuleType) -> bool:
    """Say whether a module has a name of a row; what a function returns is seen when it is called."""
    first, _, last = name.partition(".")
    owner = getattr(module, first, None)
    return owner is not None and (not last or isinstance(owner, FunctionType) or hasattr(owner, last))


def _open(row: Door, module: ModuleType) -> None:
    names = row.names.split()
    if names == ["*"]:
        names = [n for n, f in vars(module).items() if is_compiled(f)]
    if missing := [n for n in names if not _is_there(n, module)]:  # in this release of the library
        unknown(module, f"it has no {', '.join(missing)}")
        names = [n for n in names if n not in missing]
    put_in(module, {n: door(getattr(module, n), row.give, row.lists) for n in names if "." not in n})
    for kind, _, name in (n.partition(".") for n in names if "." in n):
        owner = getattr(module, kind)
        if isinstance(owner, FunctionType):
            put_in(module, {kind: _returning(owner, name, row.give)})
            continue
        made = door(getattr(owner, name), row.give, row.lists)
        is_static = isinstance(inspect.getattr_static(owner, name), staticmethod) or name == "__new__"
        setattr(owner, name, staticmethod(made) if is_static else made)


for _row in DOORS:
    after_import(_row.module, partial(_open, _row))
