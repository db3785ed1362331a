"""Files of users: only regular ones are read, and one is replaced as a whole or not at all."""

from .reading import opened, read
from .replacing import replacing

__all__ = ["opened", "read", "replacing"]
