"""The TC notation: Facebook's Tensor Comprehensions, with tcjax's additions."""

from .parts import Part, parts
from .reader import read, tokens_of
from .writer import loop_head, write, write_type

__all__ = ["Part", "loop_head", "parts", "read", "tokens_of", "write", "write_type"]
