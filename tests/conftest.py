"""Settings of the whole suite."""

from hypothesis import HealthCheck, settings

# `deadline` off: the first example of a test may load what later ones find. No database: the tree stays
# clean, and a failing example is printed as code.
settings.register_profile(
    "default",
    deadline=None,
    database=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")
