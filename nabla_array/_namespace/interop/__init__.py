"""NumPy and other libraries that meet our arrays."""
