"""Translates typed index notation back to the syntax trees of the notations."""

from .sac import to_sac
from .tc import to_tc

__all__ = ["to_sac", "to_tc"]
