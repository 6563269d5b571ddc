"""The primitives' records, one module a family, with their MAX lowerings."""
