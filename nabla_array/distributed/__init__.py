"""Sharded arrays (none yet)."""
