"""What other projects' tests ask that is refused here, by class; what fits no class is wrong."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from .page import Class
from .results import Result

# The part of a name in a message where a stand-in has nothing: it says which name.
_NO = r"Refused: (jax|autograd)\."

CLASSES = (
    Class(
        "Programs as JAX keeps them",
        _NO
        + r"(make_jaxpr|core\b|api_util|custom_remat|saved_residuals|interpreters|mlir|pe\b|ad\b|_std_basis"
        r"|fwd_and_bwd|literals|lax\.\w+_p\b|lax\.(dce_sink|create_token)|custom_derivatives\._"
        r"|custom_derivatives\.(zero_from|custom_vjp_primal)|ensure_compile|make_user|check_tracer)"
        r"|(Refused|AttributeError).*(ref\.new_ref|Lowered|'Pullback' object|'function' object|'aval')"
        r"|as_text|optimization_barrier|optimize_remat|UnexpectedTracerError|has length of"
        r"|PjitFunction|my_function|Compiled form|Vectorized (form|version)|TypedInt"
        r"|AttributeError not raised|autograd\.(core|tracer|extend|util|wrap_util|misc)\b"
        r"|make_diagonal|_dot'|__version__|'NoneType'"
        r"|TracerArrayConversionError",
        "Jaxprs, primitives and their rules, lowered text, residuals, tracers that escape, the classes and "
        "private functions of the other library.",
    ),
    Class(
        "Devices and buffers",
        _NO
        + r"(devices|local_devices|device_count|pmap|P\b|default_device|array\.ArrayImpl|xla_bridge|sharding"
        r"|copy_to_host|print_environment|live_arrays|lax\.platform_dependent|is_persistent|allow_f16)"
        r"|platform_dependent|is_deleted|unsafe_buffer_pointer|'delete'|donated buffers"
        r"|RuntimeError not raised|JaxRuntimeError|device_put_with",
        "A device that is named, a buffer that is deleted, a compiler's options.",
    ),
    Class(
        "How often a function is run",
        r"^AssertionError: \d+ != \d+|assert (not True|False)|assert \d+ == \d+ .*len\(|no logs of level"
        r"|KeyError: 'function_name'|Exception not raised|block_until_ready|Lists differ: \[True\]",
        "Caches of compiled functions, counted by what a function does beside its result, logs, lengths of "
        "tracebacks.",
    ),
    Class(
        "Functions that there are not",
        _NO + r"(lax\.|custom_gradient|custom_batching)|'apply'|def_vmap|has no attribute 'defjvp'",
        "Convolutions, windows, `gather` and `scatter` by dimension numbers, `reduce` by any function, "
        "`custom_gradient`, `sequential_vmap`, rules of several kinds for one function.",
    ),
    Class(
        "Leaving for C",
        r"leaves for NumPy|Multiple namespaces|convolve\(\) got",
        "SciPy's own code goes to C where autograd has functions of its own (`stats`, `odeint`, `sqrtm`).",
    ),
    Class(
        "Python's numbers",
        r"'(int|float)' object has no attribute|is not an instance of|test_ad_weak|False is not true"
        r"|dtype\('int64'\) != dtype\('int\d+'\)|carry must keep its shapes and dtypes|OverflowError"
        r"|Python integer is out of bounds",
        "Dtypes are weak in bodies of loops and branches only: a number of Python that has become an array "
        "elsewhere is float64 or int64; one that is given to `compile` stays a number.",
    ),
    Class(
        "`float0` and derivatives by integers",
        r"float0|structured or void|has no derivative|must be hashable .*array\(\(b|arrays of dtype \[",
        "Zeros of the integers' dtype stand for `float0`; `jvp` and `linear_transpose` take no integers.",
    ),
    Class(
        "Dtypes and objects that arrays do not hold",
        r"UnheldDtypeError|bfloat|object dtype|dtype object|dtype=object|PRNGKey|ArrayImpl|key array"
        r"|ShapeDtypeStruct|EasyDict|MaskedArray|SimpleNamespace|gufunc core|Object|asarray casts",
        "bfloat16, keys of random numbers, objects that have a shape and a dtype, `__jax_array__`.",
    ),
    Class(
        "Derivatives of loops of unknown length",
        r"while_loop: no reverse mode",
        "Floating-point bounds that are differentiated themselves; JAX refuses most of these too.",
    ),
    Class(
        "Outputs that stay unbatched",
        r"out_axes is None for an output",
        "What the derivative of a `custom_vmap` function leaves unbatched counts as batched.",
    ),
    Class(
        "The same object",
        r"assert np\.\S+ is np\.",
        "What a branch hands on is another array on the same elements, since arrays can be written to.",
    ),
    Class(
        "More is taken",
        r"not raised|DID NOT RAISE|Expected warning not found",
        "The other library refuses, or warns of, what works here.",
    ),
    Class(
        "Words of messages",
        r"does not match|[Rr]egex|does not start with|Gradient only defined|unsupported operand|aligned"
        r"|could not be broadcast|out of range|must be hashable|is no prefix|Exception message|symbolic"
        r"|negative dimensions|must be a tuple|Pullback\.__call__|as the structure|no positional",
        "The call is refused in both, by another exception or in other words.",
    ),
    Class(
        "Arguments that are refused",
        r"must return one number|needs arrays or numbers|cotangents of|batch_size must"
        r"|backward rule must give|captures an array"
        r"|positional-only|got an unexpected keyword|has no attribute|is not false"
        r"|assert <class|get_global",
        "Gradients of arrays with one element, functions as operands of `cond`, rules that capture what is "
        "differentiated, `perturbed` inside of `compile` (which cannot know).",
    ),
)

# Values that differ because another one was chosen, and by which test that shows.
CHOSEN = {
    "testPowSecondDerivative": "the derivative of x ** 0 at 0 is 0, where JAX has nan",
    "test_jacfwd": "a rule of custom_vmap is used for values, not for what derivatives make of them",
    "test_jvp_dataflow_violation": "as above: the test's rule computes another function",
    "test_abs": "abs has the slope 1 at 0, as in JAX",
    "test_absolute": "abs has the slope 1 at 0, as in JAX",
    "test_std": "std of equal numbers has the derivative nan, as in JAX",
    "test_eigvalh_lower_broadcasting": "a Hermitian operand of eigh varies as one, as in JAX",
    "test_eigvalh_upper_broadcasting": "a Hermitian operand of eigh varies as one, as in JAX",
}
_CHOSEN = Class(
    "Chosen values",
    "",
    "Values at kinks, and rules that compute another function: `CHOSEN` says which, and why.",
)
WRONG = "Wrong"
_WRONG = Class(WRONG, "", "What fits no class.")


def class_of(test: str, message: str) -> Class:
    """Return the class of a failure."""
    name = test.rpartition("::")[2].partition("[")[0].strip()
    if name in CHOSEN and message.startswith("AssertionError"):
        return _CHOSEN
    return next((c for c in CLASSES if re.search(c.pattern, message)), _WRONG)


def classes(results: Iterable[Result]) -> dict[Class, dict[str, str]]:
    """Return the failed tests of each class, and their messages."""
    found: dict[Class, dict[str, str]] = defaultdict(dict)
    for result in results:
        for test, message in result.failures().items():
            found[class_of(test, message)][f"{result.file}::{test}"] = message
    return {c: found[c] for c in (*CLASSES, _CHOSEN, _WRONG) if c in found}


def wrong(result: Result) -> int:
    """Return how many tests of a file fit no class."""
    return sum(class_of(test, message) is _WRONG for test, message in result.failures().items())


def table(results: list[Result]) -> str:
    """Return the table of files, and that of classes, as Markdown."""
    lines = ["| file | passed | refused | wrong | skipped |", "|---|---|---|---|---|"]
    for r in results:
        c, bad = r.counts(), wrong(r)
        lines.append(f"| {r.file} | {c.passed} | {c.failed - bad} | {bad} | {c.skipped} |")
    lines += ["", "| class | tests | |", "|---|---|---|"]
    lines += [f"| {c.name} | {len(tests)} | {c.told} |" for c, tests in classes(results).items()]
    return "\n".join(lines)
