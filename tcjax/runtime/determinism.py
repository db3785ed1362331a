"""Bitwise reproducible results: what a deterministic kernel must avoid."""

import os
from typing import Final

import jax

from ..diagnostics import Code, CompileError
from .frontends import Frontend

# Without it, XLA:GPU adds values that meet in an element of a scatter in arbitrary order.
FLAG: Final = "--xla_gpu_deterministic_ops=true"


def check_deterministic(frontend: Frontend) -> None:
    """Raises `CompileError` (TC0308) if XLA's results would differ between runs."""
    if jax.default_backend() != "gpu" or FLAG in os.environ.get("XLA_FLAGS", ""):
        return
    raise CompileError(
        Code.BAD_OPTION,
        f"`{frontend.name}` is to be deterministic, but on a GPU XLA adds the values that meet in an element in any "
        "order",
        frontend.span,
        help=f"set XLA_FLAGS={FLAG} before JAX starts",
    )
