"""The demo: what users come for, beside NumPy, and a page of pictures."""
