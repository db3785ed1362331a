"""The kernel object and the ways to make one."""

from .costs import DeviceCost
from .einsum import einsum
from .explain import Explanation
from .indices import indices
from .kernel import Kernel
from .monoids import monoid

# isort: split
# Behind the module `kernel`, which type checkers would otherwise take for the function of this name.
from .entry import Library, kernel, load

__all__ = ["DeviceCost", "Explanation", "Kernel", "Library", "einsum", "indices", "kernel", "load", "monoid"]
