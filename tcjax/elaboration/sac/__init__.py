"""SaC: array expressions to typed index notation, for the ranks, shapes and values of one call."""

from ..signature import ValueNeeded
from .elaborate import Argument, Entry, elaborate, entry_of
from .guess import guess

__all__ = ["Argument", "Entry", "ValueNeeded", "elaborate", "entry_of", "guess"]
