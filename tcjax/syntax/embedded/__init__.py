"""The Python notation: a function whose body is index notation, read from its source and never executed."""

from .reading import Reading, docstring_only, read, read_text
from .writer import write

__all__ = ["Reading", "docstring_only", "read", "read_text", "write"]
