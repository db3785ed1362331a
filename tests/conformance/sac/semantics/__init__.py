"""What comprehensions and functions mean: bounds, dots, partitions, cells, ranks."""

from .bounds import DOTS, INFERRED, STEPS, WRITTEN
from .cells import EMPTY, NESTED, RAGGED, UNNEEDED_SHAPES
from .dots import PATTERNS, PLACES, SELECTED
from .functions import BODIES, FOREIGN, RECURSION, RESULTS, STATIC
from .functions import PATTERNS as TYPE_PATTERNS
from .partitions import EMPTY_GENERATORS, EVALUATION, HOLES, MIXED, PRIORITY
from .ranks import RANKS

__all__ = [
    "BODIES",
    "DOTS",
    "EMPTY",
    "EMPTY_GENERATORS",
    "EVALUATION",
    "FOREIGN",
    "HOLES",
    "INFERRED",
    "MIXED",
    "NESTED",
    "PATTERNS",
    "PLACES",
    "PRIORITY",
    "RAGGED",
    "RANKS",
    "RECURSION",
    "RESULTS",
    "SELECTED",
    "STATIC",
    "STEPS",
    "TYPE_PATTERNS",
    "UNNEEDED_SHAPES",
    "WRITTEN",
]
