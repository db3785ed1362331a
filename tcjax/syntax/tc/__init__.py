"""The TC notation: Facebook's Tensor Comprehensions, with tcjax's additions."""

from .parts import Part, parts
from .reader import read, tokens_of
from .writer import write

__all__ = ["Part", "parts", "read", "tokens_of", "write"]
