"""Arrays that nothing that reads them computes again."""

from collections.abc import Sequence

import jax
from jax import lax

# XLA:CPU removes `optimization_barrier` before it fuses in JAX 0.10.
BARRIERS_HOLD = jax.__version_info__ >= (0, 11)


def keep_apart(array: jax.Array, corner: jax.Array) -> jax.Array:
    """The array, which nothing that reads it computes again; its first element is that of `corner`."""
    if BARRIERS_HOLD:
        return lax.optimization_barrier(array)
    # An update is not fused with what follows: here one of an element by itself, taken from where it came from.
    return _updated(array, corner)


def looped(array: jax.Array) -> jax.Array:
    """The array, computed along the dimensions that it has here: it is reshaped behind the loop, at no cost.

    A loop of XLA:CPU goes along the dimensions of its result. Where several axes become one of these, it would find the
    place in each by a division, for every element.
    """
    return lax.optimization_barrier(array) if BARRIERS_HOLD else array


def as_stored(array: jax.Array, order: Sequence[int]) -> jax.Array:
    """The array with its dimensions in another order, in memory; as it is where the order is the same.

    XLA:CPU puts a copy behind a barrier into the loop that reads it, which then reads across rows.
    """
    if tuple(order) == tuple(range(array.ndim)) or not array.size:
        return array
    turned = lax.transpose(array, tuple(order))
    return lax.optimization_barrier(_updated(turned, turned))


def _updated(array: jax.Array, corner: jax.Array) -> jax.Array:
    first = lax.slice(corner, [0] * array.ndim, [1] * array.ndim)
    return lax.dynamic_update_slice(array, first, [0] * array.ndim)
