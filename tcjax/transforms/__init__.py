"""Programs to programs: ir in, ir out."""

from .canonical import canonical
from .guards import guard_ranges
from .specialize import specialize, specialize_expr
from .split import split_floors

__all__ = ["canonical", "guard_ranges", "specialize", "specialize_expr", "split_floors"]
