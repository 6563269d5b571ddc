"""What is to be run: which operations go together, and the plans that are kept."""
