"""Cheaper compilation of derivatives, which dominates test time: as one computation, with fewer optimisations."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import jax

from tests.effort import deep

# `make deep` compiles everything as for users.
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
    """XLA skips most optimisations, except in a deep profile."""
    return _leaving_out(not DEEP)


def thoroughly() -> AbstractContextManager[None]:
    """XLA optimises fully even in a module that is compiled quickly: for tests of what is stored."""
    return _leaving_out(False)


def whole(function: Callable[..., Any], text: str) -> Callable[..., Any]:
    """`function` as one computation; for one program in five as it is, so that JAX compiles operation by operation."""
    return jax.jit(function) if len(text) % ONE_OF else function
