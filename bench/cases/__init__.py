"""All benchmark cases: TC's own list, kernels common to all index notations, SaC's comprehensions, and loop nests.

The ``full`` sizes are those of TC's published benchmarks (Vasilache et al. 2018 and the programs in its repository),
as far as two cores and 24 GB allow: of the Kronecker chains the one with N = (64, 128, 128), a 1.2 GB input, is left
out, and the look-up tables have 1e5 and 1e6 rows instead of 1e7.  The ``small`` sizes are the same kernels with a
smaller batch; ``tiny`` is for tests.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import (
    comprehensions,
    contractions,
    convolutions,
    kernels,
    layers,
    lookups,
    nests,
    ragged,
    recurrences,
    schedules,
    statistics,
    subscripts,
    windows,
)
from .case import Case, Skipped

FAMILIES = (
    contractions,
    convolutions,
    lookups,
    layers,
    statistics,
    windows,
    subscripts,
    schedules,
    comprehensions,
    nests,
    ragged,
    recurrences,
)
SIZES = ("tiny", "small", "full")


def all_cases(size: str) -> Iterator[Case]:
    """Every case at `size`: ``tiny`` for tests, ``small`` for a quick look, ``full`` for TC's published sizes."""
    table = {case.name: case for case in kernels.cases(size)}
    for family in FAMILIES:
        yield from (case for case in family.cases(size) if case.name not in table)
    yield from table.values()


__all__ = ["SIZES", "Case", "Skipped", "all_cases"]
