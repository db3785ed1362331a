"""The SaC notation: array comprehensions of Single Assignment C, with tcjax's additions."""

from .dialect import is_sac
from .reader import read
from .writer import write, write_expr

__all__ = ["is_sac", "read", "write", "write_expr"]
