"""nabla_array."""

from ._namespace.constants import *  # noqa: F403
from ._namespace.creation import *  # noqa: F403
from ._namespace.data_types import *  # noqa: F403
from ._namespace.elementwise import *  # noqa: F403
from ._namespace.indexing_functions import *  # noqa: F403
from ._namespace.info import *  # noqa: F403
from ._namespace.linear_algebra import *  # noqa: F403
from ._namespace.manipulation import *  # noqa: F403
from ._namespace.searching import *  # noqa: F403
from ._namespace.sets import *  # noqa: F403
from ._namespace.sorting import *  # noqa: F403
from ._namespace.statistical import *  # noqa: F403
from ._namespace.utility import *  # noqa: F403
from ._namespace import linalg, fft, operators  # noqa: F401
from .version import __version__ as __version__
