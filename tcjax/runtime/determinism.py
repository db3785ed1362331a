"""The same bits in every run: what a kernel must not depend on."""

import os
from typing import Final

import jax

from ..diagnostics import Code, CompileError
from .frontends import Frontend

# Without it, XLA:GPU adds what meets in one element of a scatter in any order.
FLAG: Final = "--xla_gpu_deterministic_ops=true"


def check_deterministic(frontend: Frontend) -> None:
    """Raises `CompileError` (TC0308) where XLA would not compute the same in every run."""
    if jax.default_backend() != "gpu" or FLAG in os.environ.get("XLA_FLAGS", ""):
        return
    raise CompileError(
        Code.BAD_OPTION,
        f"`{frontend.name}` is to be deterministic, but on a GPU XLA adds the values that meet in an element in any "
        "order",
        frontend.span,
        help=f"set XLA_FLAGS={FLAG} before JAX starts",
    )
