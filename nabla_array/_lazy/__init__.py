"""The graph: avals, nodes, primitives, programs, evaluation. Imports NumPy only."""

from . import blas as blas  # before anything imports NumPy
