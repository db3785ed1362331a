"""Replaces ``...`` by explicit dimensions: a definition for arguments of known ranks.

A tensor read with ``...`` has its batch dimensions before the named ones. Those of one statement are aligned from the
right, as in NumPy, and get the indices ``b0``, ``b1`` and so on; an extent of 1 next to a larger one is read at 0. The
result contains no ``...``, so later passes know nothing about it.
"""

from .dimensions import Extents, RankUnknownError
from .expansion import Given, expanded, guessed
from .trees import has_batch

__all__ = ["Extents", "Given", "RankUnknownError", "expanded", "guessed", "has_batch"]
