"""``python -m bench.rewrites``: does a program's speed depend on its spelling?

Times many spellings of each computation against the best hand-written JAX, forward and with the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import attention, contractions, graphs, lookups, pairwise, scatters, sequences, statistics, windows
from .computation import SIZES, Computation

THEMES = (contractions, attention, statistics, scatters, graphs, lookups, windows, pairwise, sequences)


def all_computations(size: str) -> Iterator[Computation]:
    """Every computation at `size`: ``small`` for tests, ``full`` to be timed."""
    for theme in THEMES:
        yield from theme.computations(size)


__all__ = ["SIZES", "Computation", "all_computations"]
