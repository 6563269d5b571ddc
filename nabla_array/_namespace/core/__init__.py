"""`Array`, its views, keys, promotion and outputs."""
