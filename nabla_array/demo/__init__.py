"""The main job: SciPy and scikit-learn, unchanged, on arrays of ours and on NumPy's."""
