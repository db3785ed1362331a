"""For tests of your own kernels: random arguments that fit, and assertions about values, gradients and memory."""

from ..runtime.checking import Check, CheckError
from .assertions import assert_gradients, assert_matches, assert_no_large_temporaries
from .strategies import arguments, calls, shapes

__all__ = [
    "Check",
    "CheckError",
    "arguments",
    "assert_gradients",
    "assert_matches",
    "assert_no_large_temporaries",
    "calls",
    "shapes",
]
