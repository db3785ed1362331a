"""Programs that must be refused, with the code, and the words of the message that name the cause."""

from .calls import CALLS, KEYWORDS, RANGES
from .refusal import Refusal
from .texts import INDICES, NAMES, SYNTAX, TYPES

__all__ = ["CALLS", "INDICES", "KEYWORDS", "NAMES", "RANGES", "SYNTAX", "TYPES", "Refusal"]
