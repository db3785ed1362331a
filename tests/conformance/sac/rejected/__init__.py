"""Programs that must be refused, by the kind of mistake."""

from .cells import GENERATORS, HOMOGENEITY, INDICES, STATIC
from .refusal import Refusal
from .texts import NAMES, SYNTAX
from .types import BOUNDS, RANKS, SHAPES, TYPES

KINDS = {
    "syntax": SYNTAX,
    "name": NAMES,
    "type": TYPES,
    "rank": RANKS,
    "bound": BOUNDS,
    "shape": SHAPES,
    "homogeneity": HOMOGENEITY,
    "generator": GENERATORS,
    "index": INDICES,
}

__all__ = ["KINDS", "STATIC", "SYNTAX", "Refusal"]
