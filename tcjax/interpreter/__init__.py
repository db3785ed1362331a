"""The definition of the language: what every function computes, in plain NumPy loops."""

from .differences import differences
from .interpret import interpret
from .promotion import in_float64

__all__ = ["differences", "in_float64", "interpret"]
