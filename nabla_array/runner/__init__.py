"""`python -m nabla_array run`: NumPy scripts, unchanged, on our arrays."""
