"""The graph: avals, nodes, primitives, programs, evaluation. Imports NumPy only."""

from .cpu import blas as blas  # before anything imports NumPy
