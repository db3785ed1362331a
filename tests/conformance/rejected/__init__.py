"""What has to be refused, with which code, and which words of the message name the culprit."""

from .calls import CALLS, KEYWORDS, RANGES
from .refusal import Refusal
from .texts import INDICES, NAMES, SYNTAX, TYPES

__all__ = ["CALLS", "INDICES", "KEYWORDS", "NAMES", "RANGES", "SYNTAX", "TYPES", "Refusal"]
