"""The evaluator: what is pending is run, on the tier that is best for it."""
