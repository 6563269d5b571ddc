"""NumPy's own test files, which its wheel ships, run on our arrays."""
