"""Seed for seed NumPy's numbers, in our arrays."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import grad, vmap

# Calls, `a` being the namespace's `asarray`: of methods that Generator and RandomState share, ...
BOTH = """
random() random(3) random((2, 3)) random(size=()) random(size=a(2))
beta(2.0, 0.5, 4) beta(a([1.0, 2.0]), 3.0)
binomial(10, 0.3, size=5) binomial(a([5, 9]), a([0.2, 0.7]))
bytes(5)
chisquare(3.0, (2, 2)) chisquare(a([1.0, 2.0]))
choice(10) choice(10, 3) choice(a([1.5, 2.5, 3.5]), (2, 2)) choice(a([1, 2, 3, 4]), 4, replace=False)
choice(a([3, 5]), 6, p=a([0.1, 0.9])) choice(["x", "y"], 3) choice([2, 4, 6], 3, True, [0.2, 0.3, 0.5])
dirichlet(a([1.0, 2.0, 3.0])) dirichlet([0.1, 5.0], 3)
exponential() exponential(2.0, 3) exponential(a([1.0, 2.0]))
f(2.0, 5.0, 3) f(a([2.0, 3.0]), 4.0)
gamma(2.0) gamma(a([0.5, 2.0]), 3.0, (3, 2))
geometric(0.2, 5) geometric(a([0.2, 0.9]))
gumbel(size=3) gumbel(a([0.0, 1.0]), 2.0)
hypergeometric(10, 5, 3, 4) hypergeometric(a([10, 20]), 5, 3)
laplace(1.0, 2.0, 3) laplace(a([1.0, 2.0]))
logistic(size=3) logistic(a([1.0, 2.0]), 0.5)
lognormal(0.0, 0.5, 3) lognormal(a([1.0, 2.0]))
logseries(0.4, 5) logseries(a([0.1, 0.8]))
multinomial(20, [0.25, 0.75]) multinomial(20, a([0.2, 0.3, 0.5]), size=3)
multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], 3)
multivariate_normal(a([0.0, 1.0]), a([[2.0, 0.5], [0.5, 1.0]]))
negative_binomial(3, 0.4, 4) negative_binomial(a([3.0, 4.0]), 0.5)
noncentral_chisquare(3.0, 1.0, 4) noncentral_chisquare(a([1.0, 2.0]), 0.5)
noncentral_f(3.0, 4.0, 1.0, 4) noncentral_f(a([3.0, 4.0]), 4.0, 1.0)
normal() normal(1.0, 2.0, 5) normal(a([1.0, 2.0]), a([0.1, 9.0])) normal(a(0.0)) normal(size=(3, 0))
pareto(3.0, 4) pareto(a([1.0, 2.0]))
permutation(6) permutation(a([1.0, 2.0, 3.0])) permutation(a([[1, 2], [3, 4], [5, 6]])) permutation([3, 1, 2])
permutation(a([6, 2])[0]) choice(a([6, 2])[0], a([3])[0]) normal(a([1.0])[0], 2, a([3])[0])
poisson() poisson(3.0, 5) poisson(a([0.5, 50.0]), (3, 2))
power(2.0, 4) power(a([1.0, 2.0]))
rayleigh(2.0, 4) rayleigh(a([1.0, 2.0]))
standard_cauchy() standard_cauchy(4)
standard_exponential() standard_exponential(4)
standard_gamma(2.0, 4) standard_gamma(a([0.5, 2.0]))
standard_normal() standard_normal(4) standard_normal((2, 2))
standard_t(4.0, 4) standard_t(a([1.0, 9.0]))
triangular(-1.0, 0.0, 2.0, 4) triangular(a([0.0, 1.0]), 1.5, 2.0)
uniform() uniform(-1.0, 1.0, (2, 3)) uniform(a([0.0, 5.0]), a([1.0, 6.0]))
vonmises(0.0, 2.0, 4) vonmises(a([0.0, 1.0]), 2.0)
wald(1.0, 2.0, 4) wald(a([1.0, 2.0]), 2.0)
weibull(1.5, 4) weibull(a([1.0, 2.0]))
zipf(3.0, 4) zipf(a([2.0, 3.0]))
"""
# ... of Generator alone, ...
NEW = """
random(4, dtype=a(0.0, "float32").dtype) standard_normal(4, "float32")
standard_exponential(4, "float32", "inv") standard_gamma(2.0, 3, "float32")
integers(10) integers(2, 7, 5) integers(0, 255, 4, dtype="uint8")
integers(a([2, 3]), a([10, 20]), endpoint=True)
choice(a([[1, 2, 3], [4, 5, 6]]), 2, axis=1, shuffle=False) choice(a([[1, 2], [3, 4]]))
multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], 3, method="cholesky")
multivariate_hypergeometric(a([10, 5, 3]), 6) multivariate_hypergeometric([10, 5], 6, 3, method="count")
multinomial(a([5, 9]), a([[0.2, 0.8], [0.5, 0.5]]))
permuted(a([[1, 2, 3], [4, 5, 6]])) permuted(a([[1, 2, 3], [4, 5, 6]]), axis=1) permuted([1, 2, 3])
permutation(a([[1, 2, 3], [4, 5, 6]]), axis=1)
"""
# ... and of RandomState alone, which the module's functions are those of.
LEGACY = """
rand() rand(2, 3) randn() randn(4) randint(10) randint(3, 9, (2, 2)) randint(0, 9, 3, "uint8")
randint(a([1, 2]), a([10, 20])) random_sample() random_sample(3) tomaxint(3)
"""
ALIASES = "ranf() ranf(3) sample(3) sample((2, 2))"
WRITING = {"shuffle"}  # these have tests of their own
STATE = {"get_state", "seed", "set_state", "spawn", "random_integers"}


def calls(table: str) -> list[str]:
    found: list[str] = []
    for word in table.split():
        whole = not found or found[-1].count("(") == found[-1].count(")")
        if whole:
            found.append(word)
        else:
            found[-1] += f" {word}"
    return found


def methods(kind: type) -> set[str]:
    return {n for n, m in vars(kind).items() if callable(m) and not n.startswith("_")}


def draw(call: str, source: Any, namespace: ModuleType, module: str = "a_module") -> Any:
    names = {name: getattr(source, name) for name in [call.partition("(")[0]]}
    return eval(call, {**names, "a": namespace.asarray, "__name__": module})


def same(ours: Any, theirs: Any) -> None:
    """Check that two samples have the same bits, and that ours is of the kind that it should be."""
    held = isinstance(theirs, np.ndarray) and theirs.dtype.kind in "biufc"
    assert type(ours) is (xp.Array if held else type(theirs))
    if isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert np.asarray(ours).tobytes() == theirs.tobytes()
    else:
        assert ours == theirs


@pytest.mark.parametrize("call", calls(BOTH + NEW))
def test_generator(call: str) -> None:
    ours, theirs = xp.random.default_rng(11), np.random.default_rng(11)
    for module in ("a_module", "__main__"):
        same(draw(call, ours, xp, module), draw(call, theirs, np, module))
    assert ours.random() == theirs.random()


@pytest.mark.parametrize("call", calls(BOTH + LEGACY))
def test_random_state(call: str) -> None:
    ours, theirs = xp.random.RandomState(11), np.random.RandomState(11)
    for module in ("a_module", "__main__"):
        same(draw(call, ours, xp, module), draw(call, theirs, np, module))
    assert ours.random() == theirs.random()


@pytest.mark.parametrize("call", [c for c in calls(BOTH + LEGACY + ALIASES) if "tomaxint" not in c])
def test_the_functions(call: str) -> None:
    for module in ("a_module", "__main__"):
        xp.random.seed(11)
        ours = draw(call, xp.random, xp, module)
        np.random.seed(11)
        same(ours, draw(call, np.random, np))


def test_the_tables_are_whole() -> None:
    new, old = ({c.partition("(")[0] for c in calls(t)} for t in (BOTH + NEW, BOTH + LEGACY))
    assert methods(np.random.Generator) - STATE - WRITING == new
    assert methods(np.random.RandomState) - STATE - WRITING == old
    functions = {n for n in np.random.__all__ if not isinstance(getattr(np.random, n), type)}
    assert functions - STATE - WRITING - {"default_rng"} <= old | {"ranf", "sample"}
    assert set(xp.random.__all__) == set(np.random.__all__)
    for name in np.random.__all__:
        assert hasattr(xp.random, name)


def test_numpys_state_is_ours() -> None:
    np.random.seed(3)
    want = np.random.normal(size=3)
    xp.random.seed(3)
    assert np.random.normal(size=2).tolist() == want[:2].tolist()
    assert xp.random.normal() == want[2]
    state = xp.random.get_state()  # with a gaussian in store
    first = xp.random.normal(size=3)
    np.random.set_state(state)
    assert np.random.normal(size=3).tolist() == first.tolist()
    xp.random.seed(xp.asarray([1, 2]))
    ours = xp.random.random()
    np.random.seed([1, 2])
    assert ours == np.random.random()


def test_random_integers() -> None:
    with pytest.warns(DeprecationWarning, match="randint"):
        ours = xp.random.RandomState(1).random_integers(6, size=3)
    same(ours, np.random.RandomState(1).randint(1, 7, size=3))


SEEDS: list[Callable[[ModuleType], Any]] = [
    lambda m: 5,
    lambda m: [1, 2, 3],
    lambda m: m.asarray([1, 2, 3]),
    lambda m: m.random.SeedSequence(4),
    lambda m: m.random.PCG64(4),
    lambda m: m.random.MT19937(4),
    lambda m: m.random.Philox(4),
    lambda m: m.random.SFC64(4),
    lambda m: m.random.PCG64DXSM(4),
    lambda m: m.random.RandomState(4),
    lambda m: np.random.default_rng(4),
    lambda m: m.asarray([3, 4]).sum(),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds_of_default_rng(seed: Callable[[ModuleType], Any]) -> None:
    ours, theirs = xp.random.default_rng(seed(xp)), np.random.default_rng(seed(np))
    assert type(ours.bit_generator) is type(theirs.bit_generator)
    same(ours.normal(size=4), theirs.normal(size=4))
    assert xp.random.default_rng(ours) is ours


def test_spawn() -> None:
    children = zip(xp.random.default_rng(1).spawn(2), np.random.default_rng(1).spawn(2), strict=True)
    for ours, theirs in children:
        same(ours.random(2), theirs.random(2))


def test_seeds_of_random_state() -> None:
    for seed in (3, [1, 2], xp.asarray([1, 2]), np.random.PCG64(1)):
        theirs = np.random.RandomState(np.random.PCG64(1) if isinstance(seed, np.random.PCG64) else seed)
        same(xp.random.RandomState(seed).randn(3), theirs.randn(3))


@pytest.mark.parametrize("make", [lambda m: m.default_rng(2), lambda m: m.RandomState(2)])
def test_generators_are_numpys_and_travel(make: Callable[[Any], Any]) -> None:
    ours, theirs = make(xp.random), make(np.random)
    kind = type(theirs).__name__
    assert isinstance(ours, getattr(xp.random, kind))
    assert isinstance(ours, type(theirs))
    same(ours.normal(size=3), theirs.normal(size=3))  # leaves a gaussian in RandomState's store
    for twin in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert type(twin) is type(ours)
        same(twin.normal(size=3), copy.deepcopy(theirs).normal(size=3))


@pytest.mark.parametrize("make", [lambda m: m.default_rng(2), lambda m: m.RandomState(2), lambda m: m])
def test_shuffle_in_place(make: Callable[[Any], Any]) -> None:
    results = []
    for m in (xp, np):
        m.random.seed(9)
        rng = make(m.random)
        x = m.arange(12.0)
        odd, square, pair = x[1::2], m.arange(12).reshape(4, 3), [m.asarray([1]), m.asarray([2]), 3]
        assert rng.shuffle(odd) is None
        rng.shuffle(square)
        rng.shuffle(square.T)
        rng.shuffle(x=x[:4])
        rng.shuffle(pair)
        results.append((odd.tolist(), x.tolist(), square.tolist(), [int(np.asarray(i).item()) for i in pair]))
    assert results[0] == results[1]
    assert results[0][1] != list(range(12))


def test_shuffle_along_an_axis_and_of_read_only_arrays() -> None:
    for m in (xp, np):
        x = m.arange(6).reshape(2, 3)
        m.random.default_rng(0).shuffle(x, axis=1)
        assert x.tolist() == [[2, 0, 1], [5, 3, 4]]
        with pytest.raises(ValueError, match="read-only"):
            m.random.default_rng(0).shuffle(m.broadcast_to(m.asarray([1, 2, 3]), (3, 3)))


OUT = """
random(out=o) random(None, "float64", o) standard_normal(out=o) standard_exponential(method="inv", out=o)
standard_gamma(2.0, out=o) permuted(x, out=o) permuted(o, out=o, axis=0)
"""


@pytest.mark.parametrize("call", calls(OUT))
def test_out(call: str) -> None:
    results = []
    for m in (xp, np):
        rng, whole = m.random.default_rng(5), m.arange(8.0)
        o = whole[2:6]
        names = {n: getattr(rng, n) for n in [call.partition("(")[0]]}
        assert eval(call, {**names, "o": o, "x": m.asarray([1.0, 2.0, 3.0, 4.0])}) is o
        results.append((o.tolist(), whole.tolist()))
    assert results[0] == results[1]
    assert results[0][0] != [2.0, 3.0, 4.0, 5.0]


def test_out_of_numpys() -> None:
    out = np.empty(3)
    assert xp.random.default_rng(5).random(out=out) is out


WRONG = """
normal(scale=-1.0) uniform(size=-1) choice(0) choice(3, 5, replace=False) choice(3, p=[0.5, 0.5]) beta(1.0)
multinomial(3, [0.9, 0.9, 0.1]) normal(nonsense=1) permutation() dirichlet([-1.0]) hypergeometric(-1, 2, 3)
poisson(-1)
"""


@pytest.mark.parametrize("call", calls(WRONG))
def test_wrong_calls(call: str) -> None:
    for make in (lambda m: m.default_rng(1), lambda m: m.RandomState(1), lambda m: m):
        with pytest.raises(Exception) as theirs:  # noqa: PT011
            draw(call, make(np.random), np)
        with pytest.raises(theirs.type):
            draw(call, make(xp.random), xp)


def test_a_wrong_out() -> None:
    for m in (xp, np):
        with pytest.raises(TypeError):
            m.random.default_rng(1).random(out=m.zeros(3, dtype=m.int64))
        with pytest.raises(ValueError, match="size must match out"):
            m.random.default_rng(1).random(4, out=m.zeros(3))


ARRAYS = {
    "rng.choice(5, 8, p=p)": "probabilities",
    "rng.choice(x, 3)": "numbers to choose from",
    "rng.permutation(x.reshape(5, 1))": "rows",
    "rng.permutation(x)": "what is copied",
    "rng.normal(x, p)": "parameters",
    "rng.multivariate_normal([0, 1], [[2, 0], [0, 2]], 3)": "nested lists",
    "rng.choice(['a', 'b', None])": "texts",
    "rng.binomial(3, p[2])": "a scalar",
    "rng.normal(x[1:], size=(2, 4))": "a view",
    "rng.integers(x.astype(int) + 10)": "what is pending",
}


@pytest.mark.parametrize("call", ARRAYS)
@pytest.mark.parametrize("kind", ["default_rng", "RandomState"])
def test_draws_with_arrays(call: str, kind: str) -> None:
    if kind == "RandomState":
        call = call.replace("integers", "randint")
    found = []
    for module in (xp, np):
        x, p = module.arange(5.0), module.full(5, 0.2)
        found.append(eval(call, {"rng": getattr(module.random, kind)(3), "x": x, "p": p}))
        x[0] = 7.0
        found.append(found[-1] if isinstance(found[-1], str | None) else np.array(found[-1]))
        assert float(x[0]) == 7.0
    assert (type(found[0]) is xp.Array) == isinstance(found[2], np.ndarray)
    np.testing.assert_array_equal(found[1], found[3])


def test_samples_are_constants() -> None:
    def noisy(x: Any) -> Any:
        return x * xp.random.default_rng(3).normal()

    noise = np.random.default_rng(3).normal()
    assert grad(noisy)(xp.asarray(2.0)).tolist() == noise
    assert vmap(noisy)(xp.asarray([1.0, 2.0])).tolist() == [noise, 2 * noise]


def test_libraries_get_numpys_arrays() -> None:
    stats = pytest.importorskip("scipy.stats", reason="SciPy is optional")
    for m in (np, xp):
        drawn = [
            stats.norm.rvs(size=3, random_state=m.random.default_rng(1)),
            stats.gamma.rvs(2.0, size=3, random_state=m.random.RandomState(1)),
            stats.qmc.Sobol(2, rng=m.random.default_rng(1)).random(4),
            stats.multivariate_normal.rvs(
                [0, 1], [[2, 1], [1, 2]], size=2, random_state=m.random.default_rng(1)
            ),
        ]
        assert all(type(d) is np.ndarray for d in drawn)
        if m is np:
            want = drawn
    for mine, theirs in zip(drawn, want, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("ignore:Could not find the number of physical cores:UserWarning")  # in containers
def test_scikit_learn_takes_our_generators() -> None:
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn is optional")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    x = np.random.default_rng(0).normal(size=(60, 3))
    y = (x[:, 0] > 0).astype(int)

    def fit(m: ModuleType) -> list[Any]:
        rng = m.random.RandomState(0)
        centres = cluster.KMeans(3, n_init=2, random_state=rng).fit(x).cluster_centers_
        forest = RandomForestClassifier(5, random_state=rng).fit(x, y).predict_proba(x)
        return [centres, forest, *train_test_split(x, random_state=rng)]

    for mine, theirs in zip(fit(xp), fit(np), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "line",
    [
        "import nabla_array.random",
        "from nabla_array.random import default_rng",
        "from nabla_array import random",
        "import nabla_array; nabla_array.random",
    ],
)
def test_numpys_module_is_imported_late(line: str) -> None:
    there = "print('numpy.random' in sys.modules)"
    code = f"import sys, nabla_array; {there}; {line}; {there}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("name", ["laplace", "gumbel"])
def test_a_derived_generator_calls_the_method_once(name: str) -> None:
    """Also the first time, when the method is wrapped."""

    class Twice(xp.random.Generator):
        pass

    def draw(self: Any, *args: Any, **kwargs: Any) -> Any:
        return 2 * getattr(super(Twice, self), name)(*args, **kwargs)

    setattr(Twice, name, draw)
    wanted = 2 * getattr(np.random.default_rng(3), name)(size=4)
    np.testing.assert_array_equal(np.asarray(getattr(Twice(np.random.PCG64(3)), name)(size=4)), wanted)


def test_generators_of_numpys_are_instances_of_our_classes() -> None:
    class Derived(xp.random.Generator):
        pass

    theirs = np.random.default_rng(1)
    assert isinstance(theirs, xp.random.Generator)
    assert isinstance(np.random.RandomState(1), xp.random.RandomState)
    assert isinstance(xp.random.default_rng(1), np.random.Generator)
    assert not isinstance(theirs, xp.random.RandomState)
    assert not isinstance(theirs, Derived)
    assert isinstance(Derived(np.random.PCG64(1)), xp.random.Generator)
    assert type(xp.random.default_rng(theirs).random(2)) is xp.Array  # it shares the state


def test_seeds_are_taken_where_no_other_library_has_come() -> None:
    lines = (
        "import sys, nabla_array as xp",
        "rng = xp.random.default_rng(xp.asarray(3))",
        "assert 'nabla_array._namespace.interop.libraries' not in sys.modules",
        "assert rng.random() == xp.random.default_rng(3).random()",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
