"""Compiling takes most of the time of a derivative: as one computation, and with less work for XLA."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import jax

from tests.effort import deep

# `make deep` compiles everything as users do.
DEEP = deep()
ONE_OF = 5
OPTION = "jax_disable_most_optimizations"


@contextmanager
def _leaving_out(most: bool) -> Iterator[None]:
    before = jax.config.read(OPTION)
    jax.config.update(OPTION, most)
    try:
        yield
    finally:
        jax.config.update(OPTION, before)


def quickly() -> AbstractContextManager[None]:
    """XLA leaves most optimisations out, but in a deep profile."""
    return _leaving_out(not DEEP)


def thoroughly() -> AbstractContextManager[None]:
    """XLA does all that it can, also in a module that is compiled quickly: for what is stored."""
    return _leaving_out(False)


def whole(function: Callable[..., Any], text: str) -> Callable[..., Any]:
    """`function` as one computation; for one of five programs as it is, where JAX compiles operation by operation."""
    return jax.jit(function) if len(text) % ONE_OF else function
