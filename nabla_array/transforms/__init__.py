"""Transforms of functions: derivatives, vectorization, compilation, control flow."""

from .compile import *  # noqa: F403
from .concretization import *  # noqa: F403
from .control_flow import *  # noqa: F403
from .custom import *  # noqa: F403
from .derivatives import *  # noqa: F403
from .graph_gradients import *  # noqa: F403
from .graphs import *  # noqa: F403
from .jacobians import *  # noqa: F403
from .mapping import *  # noqa: F403
from .pytree import *  # noqa: F403
from .vmap import *  # noqa: F403
