"""The SaC notation: array comprehensions of Single Assignment C, with tcjax's additions."""

from .dialect import is_sac
from .reader import read, tokens_of
from .writer import write, write_expr, write_type

__all__ = ["is_sac", "read", "tokens_of", "write", "write_expr", "write_type"]
