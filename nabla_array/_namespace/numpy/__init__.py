"""NumPy's names and methods beyond the standard, imported at first use (`homes`)."""
