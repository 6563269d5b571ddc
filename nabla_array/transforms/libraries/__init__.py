"""Functions of SciPy's and scikit-learn's that leave for NumPy or C: how derivatives pass them."""
