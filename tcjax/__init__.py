"""Write the formula, get a fast, differentiable JAX function.

`kernel` turns a tensor comprehension into a function of arrays, `load` all definitions of a text or file.
"""

from .diagnostics import CompileError, CompileWarning
from .runtime import Explanation, Kernel, Library, indices, kernel, load

__version__ = "0.1.0"

__all__ = ["CompileError", "CompileWarning", "Explanation", "Kernel", "Library", "indices", "kernel", "load"]
