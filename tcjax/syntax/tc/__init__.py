"""The TC notation: Facebook's Tensor Comprehensions, with tcjax's additions."""

from .reader import read
from .writer import write

__all__ = ["read", "write"]
