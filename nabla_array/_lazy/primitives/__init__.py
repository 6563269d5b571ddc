"""The primitives, one module a family; an operation and its transpose share a module."""
