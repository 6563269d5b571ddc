"""The graph: avals, nodes, primitives, programs, evaluation. Imports NumPy only."""
