"""Arrays that nothing that reads them computes again."""

from collections.abc import Sequence

import jax
from jax import lax

# XLA:CPU removes `optimization_barrier` before it fuses in JAX 0.10.
BARRIERS_HOLD = jax.__version_info__ >= (0, 11)

# Of a loop that LLVM writes out: the most steps of which it makes vectors, and the steps from which on it stays a loop.
# Measured with floats and integers of 2 and 4 bytes.
MOST_STEPS, WRITTEN_OUT = 8, 60
# The elements of 4 bytes in a vector, the best first.
VECTORS = (8, 4)


def keep_apart(array: jax.Array, corner: jax.Array) -> jax.Array:
    """The array, which nothing that reads it computes again; its first element is that of `corner`."""
    if BARRIERS_HOLD:
        return lax.optimization_barrier(array)
    # An update is not fused with what follows: here one of an element by itself, taken from where it came from.
    return _updated(array, corner)


def looped(array: jax.Array, *, cheap: bool) -> jax.Array:
    """The array, computed along the dimensions that it has here: it is reshaped behind the loop, at no cost.

    A loop of XLA:CPU goes along the dimensions of its result. Where several axes become one of these, it would find the
    place in each by a division, for every element. What is `cheap` to compute is so in vectors.
    """
    if not BARRIERS_HOLD:
        return array
    along = lax.reshape(array, in_vectors(array.shape)) if cheap else array
    return lax.reshape(lax.optimization_barrier(along), array.shape)


def in_vectors(extents: tuple[int, ...]) -> tuple[int, ...]:
    """The extents, a short innermost one as two, such that a loop along them is compiled to vectors.

    LLVM writes out an innermost loop of fewer than some 60 steps, and makes vectors along the loop around it only where
    it has written out at most 8: single numbers otherwise, at 2 to 3 times the time. So the innermost loop gets at most
    8 steps, and the one around it as many as a vector has elements, or half of them.
    """
    *outer, inner = extents or (1,)
    if not MOST_STEPS < inner < WRITTEN_OUT:
        return extents
    ways = [n for n in VECTORS if inner % n == 0 and inner // n <= MOST_STEPS]
    return (*outer, ways[0], inner // ways[0]) if ways else extents


def as_stored(array: jax.Array, order: Sequence[int]) -> jax.Array:
    """The array with its dimensions in another order, in memory; as it is where the order is the same.

    XLA:CPU puts a copy behind a barrier into the loop that reads it, which then reads across rows.
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
