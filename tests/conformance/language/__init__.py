"""The language itself: spelling, precedence, types, casts, builtins, statements."""

from .functions import FUNCTIONS
from .operators import CASTS, DIVISION, PRECEDENCE
from .spelling import SPELLING
from .statements import STATEMENTS
from .types import JOINED, TYPES

__all__ = ["CASTS", "DIVISION", "FUNCTIONS", "JOINED", "PRECEDENCE", "SPELLING", "STATEMENTS", "TYPES"]
