"""The precision of products, in the forms that Flax's layers accept."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

from .mistakes import not_an_option


def precision_name(precision: Any) -> str | None:
    """The name of a `jax.lax.Precision`, or a name that `jax.default_matmul_precision` accepts.

    Raises `CompileError` (TC0308) for anything else.
    """
    if precision is None or isinstance(precision, str):
        return precision
    if isinstance(precision, jax.lax.Precision):
        return precision.name.lower()
    raise not_an_option(
        "precision",
        precision,
        "precision is None, a jax.lax.Precision, or a name that jax.default_matmul_precision takes",
    )


def is_pair(precision: Any) -> bool:
    """Whether there is one precision per operand of a product, which only JAX's own products support."""
    return isinstance(precision, tuple | list)


def at_precision(precision: Any) -> AbstractContextManager[Any]:
    """Sets the precision of products traced inside; None leaves JAX's setting."""
    name = precision_name(precision)
    return nullcontext() if name is None else jax.default_matmul_precision(name)
