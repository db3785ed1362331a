"""Elaborates SaC: from array expressions to typed index notation, for the ranks, shapes and values of one call."""

from ..signature import ValueNeeded
from .constants import with_constants
from .elaborate import Argument, Entry, check, elaborate, entry_of
from .guess import guess
from .lint import lint

__all__ = ["Argument", "Entry", "ValueNeeded", "check", "elaborate", "entry_of", "guess", "lint", "with_constants"]
