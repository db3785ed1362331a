"""Typed index notation as SaC's tree: array comprehensions, folds over them, and functions."""

from .functions import to_sac

__all__ = ["to_sac"]
