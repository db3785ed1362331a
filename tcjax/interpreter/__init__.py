"""The definition of the language: what every function computes, in plain NumPy loops."""

from .differences import differences
from .evaluation import value_of
from .interpret import interpret, states
from .points import FIRST
from .promotion import in_float64
from .steps import Step, show_value
from .tracing import trace

__all__ = ["FIRST", "Step", "differences", "in_float64", "interpret", "show_value", "states", "trace", "value_of"]
