"""The public functions, one module a chapter of the standard."""
