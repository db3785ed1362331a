"""The kernel object and the ways to make one."""

from .entry import Library, kernel, load
from .explain import Explanation
from .kernel import Kernel

__all__ = ["Explanation", "Kernel", "Library", "kernel", "load"]
