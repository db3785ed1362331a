"""Write the formula, get a fast, differentiable JAX function.

`kernel` turns a tensor comprehension into a function of arrays, `load` all definitions of a text or file, `einsum` the
subscripts that everyone knows, over any semiring; `monoid` registers a reduction of your own.
"""

from typing import TYPE_CHECKING

from .diagnostics import CompileError, CompileWarning
from .runtime import Explanation, Kernel, Library, einsum, indices, kernel, load, monoid

if TYPE_CHECKING:
    from .planning.schedule import Region, Schedule

__version__ = "0.1.0"

__all__ = [
    "CompileError",
    "CompileWarning",
    "Explanation",
    "Kernel",
    "Library",
    "Region",
    "Schedule",
    "einsum",
    "indices",
    "kernel",
    "load",
    "monoid",
]


def __getattr__(name: str) -> object:
    # Schedules and the prover behind them are imported by who uses them.
    if name in ("Region", "Schedule"):
        from .planning import schedule

        return getattr(schedule, name)
    raise AttributeError(f"module 'tcjax' has no attribute {name!r}")
