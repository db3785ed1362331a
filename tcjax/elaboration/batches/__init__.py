"""The dimensions that ``...`` stands for, written out: a definition for arguments of known ranks.

A tensor that is read with ``...`` has the batch dimensions in front of those that are named. Those of one statement are
aligned from the right, as in NumPy, and get the indices ``b0``, ``b1`` and so on; an extent of 1 beside another one is
read at 0. What comes out has no ``...`` any more, so that nothing behind knows of it.
"""

from .dimensions import Extents, RankUnknownError
from .expansion import Given, expanded, guessed
from .trees import has_batch

__all__ = ["Extents", "Given", "RankUnknownError", "expanded", "guessed", "has_batch"]
