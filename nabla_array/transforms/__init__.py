"""Transforms of functions over arrays (none yet)."""
