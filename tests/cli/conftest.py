"""The command for every test of this folder."""

from .commands import shell

__all__ = ["shell"]
