"""The kernel object and the ways to make one."""

from .entry import Library, kernel, load
from .explain import Explanation
from .indices import indices
from .kernel import Kernel

__all__ = ["Explanation", "Kernel", "Library", "indices", "kernel", "load"]
