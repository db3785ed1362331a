"""One file for each subcommand; modules that need JAX are imported only when it runs."""

from .bench import bench
from .check import check
from .completion import completion
from .errors import errors
from .explain import explain
from .fmt import fmt
from .gallery import gallery
from .grad import grad
from .lsp import lsp
from .run import run
from .translate import translate
from .tune import tune

__all__ = [
    "bench",
    "check",
    "completion",
    "errors",
    "explain",
    "fmt",
    "gallery",
    "grad",
    "lsp",
    "run",
    "translate",
    "tune",
]
