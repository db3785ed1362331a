"""Translates syntax trees to typed index notation: scopes, types, and the reductions that TC implies."""

from .batches import Extents, Given, RankUnknownError, expanded, guessed, has_batch
from .check import check, guess, likely
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
    "Extents",
    "ForeignFunction",
    "Given",
    "RankUnknownError",
    "ValueNeeded",
    "calls_python",
    "check",
    "completed",
    "elaborate",
    "expanded",
    "function_as_input",
    "guess",
    "guessed",
    "has_batch",
    "likely",
    "lint",
    "needs_signature",
    "parameters",
    "ranks_from_uses",
    "repeated_definitions",
    "with_constants",
]
