"""Other projects' own tests, run on our arrays: NumPy's, which its wheel ships, JAX's and autograd's."""
