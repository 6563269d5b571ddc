"""How a call becomes an operation: at once, or recorded; operators and ufuncs."""
