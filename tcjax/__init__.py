"""Write the formula, get a fast, differentiable JAX function.

`kernel` turns a tensor comprehension into a function of arrays, and `load` does so for all definitions of a text or
file. `einsum` takes the usual subscripts, over any semiring; `monoid` registers a reduction of your own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from . import gallery as gallery
    from . import linen as linen
    from . import nn as nn
    from . import symbolic as symbolic
    from . import testing as testing

    # From the modules that define them: mypy takes `kernel` of the package `runtime` for its module of that name.
    from .diagnostics import CompileError, CompileWarning, DataError
    from .planning.schedule import Region, Schedule
    from .runtime.checking import Check, CheckError
    from .runtime.costs import DeviceCost
    from .runtime.einsum import einsum
    from .runtime.entry import Library, kernel, load
    from .runtime.explain import Explanation
    from .runtime.indices import indices
    from .runtime.kernel import Kernel
    from .runtime.monoids import monoid

__version__ = "0.2.0"

__all__ = [
    "Check",
    "CheckError",
    "CompileError",
    "CompileWarning",
    "DataError",
    "DeviceCost",
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

# Where each public name lives. Names are imported on first use: the command `tcjax` checks and formats programs without
# importing JAX, and only schedules need the prover.
_HOMES = {
    "Check": "runtime.checking",
    "CheckError": "runtime.checking",
    "CompileError": "diagnostics",
    "CompileWarning": "diagnostics",
    "DataError": "diagnostics",
    "Region": "planning.schedule",
    "Schedule": "planning.schedule",
    **dict.fromkeys(
        ("DeviceCost", "Explanation", "Kernel", "Library", "einsum", "indices", "kernel", "load", "monoid"), "runtime"
    ),
}
_PUBLIC_ROOMS = ("gallery", "linen", "nn", "symbolic", "testing")
_ROOMS = (*_PUBLIC_ROOMS, "diagnostics", "planning", "runtime", "syntax")


# For type checkers: they read the imports above and report a misspelt name as an error.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
            globals()[name] = value
            return value
        if name in _ROOMS:
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module 'tcjax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*__all__, *_PUBLIC_ROOMS, "__version__"))


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """``%load_ext tcjax``: cells of programs under ``%%tc``."""
    import_module(".notebook", __name__).register(shell)
