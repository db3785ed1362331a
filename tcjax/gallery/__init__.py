"""Programs of one page: a formula, its data, an independent reference, what one writes by hand, and a picture.

``tcjax gallery`` lists them and copies one; `entries` says what there is, `load` imports one, and a `Program` checks
itself: values, gradients, memory.
"""

from .catalogue import GROUPS, Entry, entries, entry, load
from .program import Program

__all__ = ["GROUPS", "Entry", "Program", "entries", "entry", "load"]
