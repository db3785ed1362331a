"""Users' files: only regular ones are read, and a file is replaced atomically."""

from .reading import opened, read
from .replacing import remove_abandoned, replacing

__all__ = ["opened", "read", "remove_abandoned", "replacing"]
