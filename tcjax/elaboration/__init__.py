"""From trees to typed index notation: scopes, types, and the reductions that TC implies."""

from .check import check, guess
from .constants import Constant, with_constants
from .elaborate import elaborate
from .lint import lint, repeated_definitions
from .scope import RESERVED
from .signature import Argument, CellFunction, ForeignFunction, ValueNeeded
from .uses import calls_python, completed, function_as_input, needs_signature, parameters, ranks_from_uses

__all__ = [
    "RESERVED",
    "Argument",
    "CellFunction",
    "Constant",
    "ForeignFunction",
    "ValueNeeded",
    "calls_python",
    "check",
    "completed",
    "elaborate",
    "function_as_input",
    "guess",
    "lint",
    "needs_signature",
    "parameters",
    "ranks_from_uses",
    "repeated_definitions",
    "with_constants",
]
