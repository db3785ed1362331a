"""The kernel object and the ways to make one."""

from .einsum import einsum
from .entry import Library, kernel, load
from .explain import Explanation
from .indices import indices
from .kernel import Kernel
from .monoids import monoid

__all__ = ["Explanation", "Kernel", "Library", "einsum", "indices", "kernel", "load", "monoid"]
