"""The notation itself: tokens, statements, operators, types, library functions."""

from .library import BUILDING, FOLDS, ORDER, PARTS, SHAPES
from .operators import DIVISION, ELEMENTWISE, LAZY, PRECEDENCE
from .surface import BODIES, LEXIS, SELECTIONS, STATEMENTS
from .types import CASTS, LITERALS, PROMOTION

__all__ = [
    "BODIES",
    "BUILDING",
    "CASTS",
    "DIVISION",
    "ELEMENTWISE",
    "FOLDS",
    "LAZY",
    "LEXIS",
    "LITERALS",
    "ORDER",
    "PARTS",
    "PRECEDENCE",
    "PROMOTION",
    "SELECTIONS",
    "SHAPES",
    "STATEMENTS",
]
