"""The modules that `policies` tell of our arrays what holds of NumPy's, each with the reason.

A row is on once its module is imported.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType

from ..core.views import borrowing, openers, trusted, writing
from .floats import number
from .imports import after_import
from .policies import (
    arrays,
    floats,
    giving,
    interfaces,
    is_shown,
    sampling,
    shown,
    standards,
    symbolic,
)


class Row:  # a named tuple's class takes longer to make than all rows
    """A module (or package, in `sampling`), what it is told, and why."""

    __slots__ = ("module", "reason", "told")

    def __init__(self, module: str, told: set[str], reason: str) -> None:
        self.module, self.told, self.reason = module, told, reason


ROWS = (
    Row("astropy.coordinates.representation.cartesian", arrays, "takes vectors along an axis from no others"),
    Row("astropy.coordinates.sky_coordinate_parsers", arrays, "takes no others for tables of coordinates"),
    Row("astropy.io.fits.convenience", arrays, "writes no others"),
    Row("astropy.io.fits.hdu.compressed._tiled_compression", arrays, "compresses no others"),
    Row("astropy.modeling.bounding_box", arrays, "takes no others for bounds"),
    Row("astropy.modeling.parameters", arrays, "takes no others without axes"),
    Row("astropy.modeling.utils", arrays, "goes through the elements of others, which may have no axes"),
    Row("astropy.nddata.ccddata", arrays, "takes no others for uncertainties"),
    Row("astropy.nddata.flag_collection", arrays, "takes no others for flags"),
    Row("astropy.nddata.nduncertainty", arrays, "takes no others for correlations"),
    Row("astropy.table.groups", arrays, "`group_by` takes no others for keys"),
    Row("astropy.table.index", arrays, "`loc` takes no others for rows"),
    Row("astropy.time.formats", arrays, "takes no others for parts of days"),
    Row("astropy.units.decorators", arrays, "takes no others for quantities without a unit"),
    Row("astropy.table.table", arrays, "makes columns of no others, nor takes them for keys"),
    Row("astropy.convolution.kernels", arrays, "takes no others for kernels"),
    Row("astropy.utils.diff", arrays, "reports no others element by element"),
    Row("astropy.utils.metadata.merge", arrays, "joins no others that two tables have"),
    Row("astropy.utils.misc", arrays, "writes no others as JSON"),
    Row("h5py._hl.selections", arrays, "takes no others for masks"),
    Row("jax._src.numpy.indexing", arrays, "takes no others for indices"),
    Row("librosa.util.utils", arrays, "takes no others for sounds"),
    Row("matplotlib.streamplot", arrays, "`color` and `linewidth` vary if they are NumPy's"),
    Row("mne.utils.check", arrays, "takes no others for signals"),
    Row("msgpack_numpy", arrays, "encodes no others"),
    Row("networkx.algorithms.similarity", arrays, "makes no dict of others"),
    Row("numpy.ctypeslib._ctypeslib", arrays, "`ndpointer` takes no others"),
    Row("ot.backend", arrays, "computes with no others"),
    Row("pandas.core.algorithms", arrays, "`factorize` asks others to do it themselves"),
    Row("pandas.core.common", arrays, "masks and lists are NumPy's, before pandas 3"),
    Row("pandas.core.arrays.period", arrays, "takes no others for parts of dates"),
    Row("pandas.core.frame", arrays, "`set_index` takes others for names of columns"),
    Row("pandas.core.groupby.grouper", arrays, "`groupby` takes others for functions"),
    Row("pandas.core.indexers.utils", arrays, "asks no others how many elements they choose"),
    Row("pandas.core.indexing", arrays, "writes through no others along several axes"),
    Row("pandas.core.reshape.pivot", arrays, "takes others for names of columns"),
    Row("pandas.core.series", arrays, "takes others for a number, if there is a `fill_value`"),
    Row("pandas.io.formats.printing", arrays, "goes into no others"),
    Row("pint.delegates.formatter.plain", arrays, "shows no others by NumPy's options"),
    Row("pint.facets.plain.unit", arrays, "divides no others by a unit"),
    Row("pyamg.blackbox", arrays, "takes no others for candidates"),
    Row("pyamg.gallery.fem", arrays, "takes no others for meshes"),
    Row("pyamg.relaxation.relaxation", arrays, "relaxes no others"),
    Row("pywt._multilevel", arrays, "takes no others for coefficients"),
    Row("scipy.linalg.interpolative", arrays, "takes no others for matrices"),
    Row("scipy.ndimage._interpolation", arrays, "takes the shape of `output` from no others"),
    Row("scipy.ndimage._measurements", arrays, "takes no others for `output`"),
    Row("scipy.ndimage._morphology", arrays, "writes its results to no others"),
    Row("scipy.optimize._nonlin", arrays, "takes no others for Jacobians"),
    Row("scipy.optimize._root_scalar", arrays, "takes no others for a bracket"),
    Row("scipy.signal._peak_finding", arrays, "takes others for the bounds of an interval"),
    Row("scipy.signal._ltisys", arrays, "operators of systems take no others"),
    Row("scipy.sparse._sputils", arrays, "takes no others for dense"),
    Row("scipy.sparse.linalg._interface", arrays, "`aslinearoperator` takes no others"),
    Row("scipy.stats._mgc", arrays, "takes no others"),
    Row("skimage.exposure.exposure", arrays, "`bins` are NumPy's, or a number"),
    Row("skimage.measure._marching_cubes_lewiner", arrays, "takes no others for volumes"),
    Row("skimage.segmentation._watershed", arrays, "`markers` are NumPy's, or a number"),
    Row("sklearn.linear_model._coordinate_descent", arrays, "takes no others for `precompute`"),
    Row("sklearn.manifold._t_sne", arrays, "takes others for names of ways to start"),
    Row("sklearn.neighbors._nca", arrays, "takes others for names of ways to start"),
    Row("sklearn.model_selection._search", arrays, "`ParameterGrid` takes no others"),
    Row("sklearn.utils._param_validation", arrays, "parameters that may be arrays must be NumPy's"),
    Row("statsmodels.distributions.copula.extreme_value", arrays, "takes no others for parameters"),
    Row("statsmodels.imputation.mice", arrays, "draws anew from no others"),
    Row("statsmodels.stats.contingency_tables", arrays, "takes others for lists of tables"),
    Row("statsmodels.stats.diagnostic", arrays, "orders by no others"),
    Row("statsmodels.tools.data", arrays, "models take no others"),
    Row("xarray.backends.zarr", arrays, "writes no others among attributes"),
    Row("xarray.core.dataset", arrays, "`interp` takes no others"),
    Row("xarray.core.indexing", arrays, "reads no others by several arrays at once"),
    Row("xarray.core.utils", arrays, "gives no others that a function returns their labels"),
    Row("xarray.core.variable", arrays, "shows the elements of no others"),
    Row("xarray.core.variable", writing, "`values` of NumPy's may be written to"),
    Row("scipy.fft._realtransforms_backend", giving, "hands over what its C code made"),
    Row("scipy.ndimage._support_alternative_backends", giving, "hands over what its C code made"),
    Row("scipy.signal._signaltools", giving, "hands over what its C code, or NumPy, made"),
    Row("scipy.cluster.vq", borrowing, "hands it to C code, which reads"),
    Row("scipy.fft._realtransforms_backend", borrowing, "hands it to C code, which reads (registered.py)"),
    Row("scipy.integrate._quadrature", borrowing, "computes with it by NumPy, and keeps none"),
    Row("scipy.ndimage._filters", borrowing, "hands it to C code, which reads"),
    Row("scipy.ndimage._interpolation", borrowing, "hands it to C code, which reads"),
    Row("scipy.signal._signaltools", borrowing, "hands it to C code, which reads (`detrend`: registered.py)"),
    Row(
        "scipy.signal._signaltools",
        trusted,
        "writes to no argument; C code copies what it might not write to",
    ),
    Row("scipy.signal._spectral_py", borrowing, "computes with it by NumPy, and keeps none"),
    Row("scipy.ndimage._fourier", writing, "hands `output` to C code, which writes to it"),
    Row("scipy.ndimage._morphology", writing, "hands `distances` and `indices` to C code, too"),
    Row("scipy.ndimage._ni_support", writing, "hands `output` to C code, which writes to it"),
    Row("skimage.morphology.footprints", interfaces, "knows footprints by this protocol"),
    Row("PIL.Image", interfaces, "`fromarray` takes arrays by this protocol only, which NumPy would prefer"),
    Row("wave", shown, "writes what `memoryview` shows"),
    Row("sympy.core.sympify", symbolic, "leaves operators to what it cannot convert, if it hears so"),
    Row("sklearn.metrics._classification", floats, "makes `float` of losses and scores"),
    Row("sklearn.metrics._ranking", floats, "makes `float` of areas, losses and gains"),
    Row("sklearn.metrics._regression", floats, "makes `float` of errors and scores"),
    Row("scipy", sampling, "computes with what it draws by NumPy, in compiled code"),
    Row("sklearn", sampling, "computes with what it draws by NumPy, in compiled code"),
    *[
        Row(f"{package}.{module}", standards, "takes instances of `float` for Python's numbers")
        for package in (
            "array_api_extra",
            "scipy._external.array_api_extra",
            "scipy._lib.array_api_extra",
            "sklearn.externals.array_api_extra",
        )
        for module in (  # of several releases
            *("_agnostic._elementwise", "_delegation", "_elementwise"),
            *("_lib._funcs", "_lib._helpers", "_lib._utils._helpers"),
        )
    ],
)


def _put_on(row: Row, module: ModuleType) -> None:
    row.told.add(row.module)
    if row.told is floats:
        vars(module)["float"] = number  # the classes' own name is looked up behind the module's
    if row.told is shown and is_shown not in openers:
        openers.append(is_shown)


for _row in ROWS:
    after_import(_row.module, partial(_put_on, _row))
