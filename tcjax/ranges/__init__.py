"""Ranges of index variables: TC's inference with symbols and with numbers, and the check of every access."""

from .assumptions import Assumption, assumed, read_assumption, settled, size_names, unknown_size
from .bind import ForeignShapes, Shape, bind
from .bound import Bound
from .guards import effective_guard, running_guard
from .infer import StatementRanges, SymbolicRanges, infer_ranges
from .limits import MOST_DIMENSIONS
from .sizes import bind_sizes
from .trials import unread_at_any_size

__all__ = [
    "MOST_DIMENSIONS",
    "Assumption",
    "Bound",
    "ForeignShapes",
    "Shape",
    "StatementRanges",
    "SymbolicRanges",
    "assumed",
    "bind",
    "bind_sizes",
    "effective_guard",
    "infer_ranges",
    "read_assumption",
    "running_guard",
    "settled",
    "size_names",
    "unknown_size",
    "unread_at_any_size",
]
