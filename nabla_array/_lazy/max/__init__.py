"""The compiled tier: canonical programs, kernels, artifacts, the compile worker."""
