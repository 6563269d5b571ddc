"""Examples for the functions of `nabla_array.random`: what each draws after ``seed(0)``."""

from __future__ import annotations

# Lines of code, of which the last one's value is shown, and how that prints.
_DRAWN = """
beta(2.0, 5.0, size=3) | array([0.47917138, 0.6550558 , 0.21501632])
binomial(10, 0.5, size=5) | array([5, 6, 5, 5, 5])
bytes(4) | b'\\xac\\n\\x7f\\x8c'
chisquare(3, size=3) | array([8.59517635, 3.30891648, 9.13960074])
choice([2, 3, 5, 7], size=3, replace=False) | array([5, 7, 3])
dirichlet([1.0, 2.0, 3.0]) | array([0.08199567, 0.29043792, 0.62756641])
exponential(2.0, size=3) | array([1.59174902, 2.51186153, 1.84644629])
f(3, 10, size=3) | array([2.5646928 , 5.33009584, 0.62893293])
gamma(2.0, 1.5, size=3) | array([7.70824436, 3.35772137, 8.14069841])
geometric(0.3, size=5) | array([3, 4, 3, 3, 2])
get_state()[0] | 'MT19937'
gumbel(0.0, 1.0, size=3) | array([ 0.22831376, -0.22787694,  0.07988431])
hypergeometric(7, 5, 6, size=5) | array([3, 3, 4, 2, 4])
laplace(0.0, 1.0, size=3) | array([0.10272733, 0.56278358, 0.23007597])
logistic(0.0, 1.0, size=3) | array([0.19587791, 0.92072284, 0.41699258])
lognormal(0.0, 0.5, size=3) | array([2.41578956, 1.22149877, 1.63128654])
logseries(0.6, size=5) | array([1, 1, 1, 1, 2])
multinomial(10, [0.2, 0.3, 0.5]) | array([2, 4, 4])
negative_binomial(3, 0.4, size=5) | array([10,  8,  6,  6,  9])
noncentral_chisquare(3, 1.0, size=3) | array([4.62489081, 8.09177078, 1.12683271])
noncentral_f(3, 10, 1.0, size=3) | array([0.8671175 , 0.18151088, 5.36201553])
normal(5.0, 2.0, size=3) | array([8.52810469, 5.80031442, 6.95747597])
pareto(3.0, size=3) | array([0.30381098, 0.51989855, 0.36034868])
permutation(5) | array([2, 0, 1, 3, 4])
poisson(4.0, size=5) | array([6, 7, 1, 8, 4])
power(3.0, size=3) | array([0.81873168, 0.89428034, 0.84472553])
rand(3) | array([0.5488135 , 0.71518937, 0.60276338])
randint(10, size=5) | array([5, 0, 3, 3, 7])
randn(3) | array([1.76405235, 0.40015721, 0.97873798])
random(3) | array([0.5488135 , 0.71518937, 0.60276338])
random_sample(3) | array([0.5488135 , 0.71518937, 0.60276338])
ranf(3) | array([0.5488135 , 0.71518937, 0.60276338])
rayleigh(2.0, size=3) | array([2.52329072, 3.16977067, 2.71768011])
sample(3) | array([0.5488135 , 0.71518937, 0.60276338])
standard_cauchy(3) | array([ 4.40839827,  0.43676244, -1.9109795 ])
standard_exponential(3) | array([0.79587451, 1.25593076, 0.92322315])
standard_gamma(2.0, size=3) | array([5.13882958, 2.23848091, 5.42713227])
standard_normal(3) | array([1.76405235, 0.40015721, 0.97873798])
standard_t(5, size=3) | array([ 1.66370595, -1.64009533,  1.07537073])
triangular(0.0, 1.0, 4.0, size=3) | array([1.67314849, 2.15129029, 1.8166907 ])
vonmises(0.0, 4.0, size=3) | array([0.5664411 , 0.55977779, 0.40406878])
wald(1.0, 2.0, size=3) | array([0.30787564, 0.75425984, 0.28948582])
weibull(1.5, size=3) | array([0.85880862, 1.16406473, 0.94813706])
zipf(3.0, size=5) | array([1, 1, 1, 1, 5])
"""
_HEAD = "Examples\n--------\n>>> import nabla_array as xp\n"
_WRITTEN = {
    "random_integers": """
>>> xp.random.seed(0)
>>> xp.random.randint(1, 6 + 1, size=5)  # the same, without a warning
array([5, 6, 1, 4, 4])
""",
    "seed": """
>>> xp.random.seed(0)
>>> xp.random.rand(2)
array([0.5488135 , 0.71518937])
""",
    "set_state": """
>>> state = xp.random.get_state()
>>> x = xp.random.rand(3)
>>> xp.random.set_state(state)
>>> bool((xp.random.rand(3) == x).all())
True
""",
    "shuffle": """
>>> xp.random.seed(0)
>>> x = xp.arange(5)
>>> xp.random.shuffle(x)
>>> x
array([2, 0, 1, 3, 4])
""",
}


def _drawn() -> dict[str, str]:
    lines = [line.split(" | ") for line in _DRAWN.strip().splitlines()]
    return {
        call.partition("(")[0]: f"{_HEAD}>>> xp.random.seed(0)\n>>> xp.random.{call}\n{found}\n"
        for call, found in lines
    }


# The section of examples of a docstring, by the function's name.
EXAMPLES = {**_drawn(), **{name: _HEAD + text.lstrip() for name, text in _WRITTEN.items()}}
