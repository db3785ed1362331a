"""Fusion barriers: arrays that their readers must not recompute."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax

# In JAX 0.10, XLA:CPU removes `optimization_barrier` before it fuses.
BARRIERS_HOLD = jax.__version_info__ >= (0, 11)

# For a loop that LLVM unrolls completely: the largest number of steps that it vectorises, and the number from which on
# it stays a loop. Measured with floats and integers of 2 and 4 bytes.
MOST_STEPS, WRITTEN_OUT = 8, 60
# The number of 4-byte elements per vector, the best first.
VECTORS = (8, 4)

S = TypeVar("S")


def keep_apart(array: jax.Array, corner: jax.Array) -> jax.Array:
    """The array, protected from recomputation by its readers; its first element is that of `corner`."""
    if BARRIERS_HOLD:
        return lax.optimization_barrier(array)
    # An update is not fused with its readers: this one rewrites a single element with its own value.
    return _updated(array, corner)


def begun(state: S, arrays: Iterable[jax.Array]) -> S:
    """The state of a loop before its first step, made once these arrays are there; each of its arrays holds one number.

    XLA:CPU makes what depends on nothing when the program starts. It would then hold the states of all loops of a
    program, those of derivatives too, until each has run.
    """
    if not BARRIERS_HOLD:
        return state
    given = list(arrays)

    def late(array: jax.Array) -> jax.Array:
        if not array.size:
            return array
        number, _ = lax.optimization_barrier((array[(0,) * array.ndim], given))
        return jnp.full_like(array, number)

    return jax.tree.map(late, state)


def looped(array: jax.Array, *, cheap: bool) -> jax.Array:
    """The array, computed in a loop over its present dimensions: a later reshape is free.

    A loop of XLA:CPU runs over the dimensions of its result. If several axes are merged into one of these, it would
    need a division per element to find the position in each. If the array is `cheap` to compute, the loop is
    vectorised.
    """
    if not BARRIERS_HOLD:
        return array
    along = lax.reshape(array, in_vectors(array.shape)) if cheap else array
    return lax.reshape(lax.optimization_barrier(along), array.shape)


def in_vectors(extents: tuple[int, ...]) -> tuple[int, ...]:
    """The extents, with a short innermost one split in two, such that a loop over them is vectorised.

    LLVM unrolls an innermost loop of fewer than about 60 steps, and vectorises the loop around it only if it unrolled
    at most 8; scalar code takes 2 to 3 times as long. So the innermost loop gets at most 8 steps, and the one around it
    as many as a vector has elements, or half of them.
    """
    *outer, inner = extents or (1,)
    if not MOST_STEPS < inner < WRITTEN_OUT:
        return extents
    ways = [n for n in VECTORS if inner % n == 0 and inner // n <= MOST_STEPS]
    return (*outer, ways[0], inner // ways[0]) if ways else extents


def as_stored(array: jax.Array, order: Sequence[int]) -> jax.Array:
    """The array with its dimensions permuted in memory; unchanged if the order is the same.

    XLA:CPU fuses a copy after a barrier into the loop that reads it, which then reads across rows.
    """
    if tuple(order) == tuple(range(array.ndim)):
        return array
    turned = lax.transpose(array, tuple(order))
    return lax.optimization_barrier(_updated(turned, turned))


def _updated(array: jax.Array, corner: jax.Array) -> jax.Array:
    if not array.size:
        return array
    first = lax.slice(corner, [0] * array.ndim, [1] * array.ndim)
    return lax.dynamic_update_slice(array, first, [0] * array.ndim)
