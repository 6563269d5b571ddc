"""Benchmarks: nabla_array beside NumPy and JAX, in one run."""
