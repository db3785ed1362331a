"""Ranges of index variables: TC's inference with symbols and with numbers, and the check of every access."""

from .bind import ForeignShapes, Shape, bind
from .bound import Bound, Box
from .guards import effective_guard
from .infer import StatementRanges, SymbolicRanges, infer_ranges
from .sizes import bind_sizes

__all__ = [
    "Bound",
    "Box",
    "ForeignShapes",
    "Shape",
    "StatementRanges",
    "SymbolicRanges",
    "bind",
    "bind_sizes",
    "effective_guard",
    "infer_ranges",
]
