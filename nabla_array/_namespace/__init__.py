"""The namespace: arrays, functions, NumPy's names, other libraries. Imports `_lazy` only."""
