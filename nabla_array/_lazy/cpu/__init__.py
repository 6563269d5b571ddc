"""Executors on the host: calls, blocks, row tiles, threads, BLAS, floating-point errors."""
