"""Typed index notation as TC's tree, which TC text and the Python notation are written from."""

from .definitions import to_tc

__all__ = ["to_tc"]
