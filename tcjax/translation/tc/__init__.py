"""Typed index notation as TC's syntax tree, from which TC text and the Python notation are written."""

from .definitions import to_tc

__all__ = ["to_tc"]
