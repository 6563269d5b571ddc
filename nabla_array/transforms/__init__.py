"""Transforms of functions: derivatives, vectorization, compilation, control flow."""

from inspect import ismodule as _ismodule

from .._namespace.dispatch.docstrings import refer as _refer
from . import checkpoint_policies as checkpoint_policies
from . import debug as debug
from . import tree as tree
from .batching import *  # noqa: F403
from .callbacks import *  # noqa: F403
from .checkpoint import *  # noqa: F403
from .closures import *  # noqa: F403
from .compile import *  # noqa: F403
from .concretization import *  # noqa: F403
from .control_flow import *  # noqa: F403
from .custom import *  # noqa: F403
from .derivatives import *  # noqa: F403
from .graph_gradients import *  # noqa: F403
from .graphs import *  # noqa: F403
from .implicit import *  # noqa: F403
from .jacobians import *  # noqa: F403
from .libraries import delegation as _delegation  # noqa: F401
from .mapping import *  # noqa: F403
from .paths import *  # noqa: F403
from .pytree import *  # noqa: F403
from .raveling import *  # noqa: F403
from .shapes import *  # noqa: F403
from .taylor import *  # noqa: F403
from .vmap import *  # noqa: F403
from .watching import *  # noqa: F403

# The pages on the functions that these are, or are like.
_JAX = "https://docs.jax.dev/en/latest/"
_POPXL = "https://docs.graphcore.ai/projects/popxl/en/latest/"
_PAGES = {
    "compile": f"{_JAX}_autosummary/jax.jit.html",
    "io_callback": f"{_JAX}_autosummary/jax.experimental.io_callback.html",
    "checkpoint_name": f"{_JAX}gradient-checkpointing.html",
    "jet": f"{_JAX}jax.experimental.jet.html",
    "hvp": f"{_JAX}notebooks/autodiff_cookbook.html",
    "autodiff": f"{_POPXL} (``transforms.autodiff``)",
    "call": f"{_POPXL} (``ops.call``)",
    "call_with_info": f"{_POPXL} (``ops.call_with_info``)",
    "trace": f"{_POPXL} (``Ir.create_graph``)",
}
_JAXS = """
    ShapeDtypeStruct checkpoint closure_convert custom_jvp custom_vjp disable_jit eval_shape grad hessian
    jacfwd jacrev jvp linear_transpose linearize pure_callback value_and_grad vjp vmap
    custom_batching.custom_vmap flatten_util.ravel_pytree lax.associative_scan lax.cond
    lax.custom_linear_solve lax.custom_root lax.fori_loop lax.map lax.scan lax.stop_gradient
    lax.switch lax.while_loop test_util.check_grads tree_util.Partial tree_util.keystr
    tree_util.register_dataclass tree_util.register_pytree_node tree_util.register_pytree_with_keys
    tree_util.tree_all tree_util.tree_map tree_util.tree_map_with_path tree_util.tree_reduce
    tree_util.tree_transpose
"""
for _path in _JAXS.split():
    _PAGES[_path.rpartition(".")[2]] = f"{_JAX}_autosummary/jax.{_path}.html"
for _it in (debug.callback, debug.print):
    _refer(_it, f"{_JAX}_autosummary/jax.debug.{_it.__name__}.html")
for _name, _page in _PAGES.items():
    _refer(globals()[_name], _page)


def __dir__() -> list[str]:
    modules = ("checkpoint_policies", "debug", "tree")
    return [n for n, it in globals().items() if n in modules or not (n[0] == "_" or _ismodule(it))]
