"""Flax's pooling functions as comprehensions; both of its interfaces have the same ones."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from .programs.windows import Padding, pooling


def max_pool(
    inputs: jax.Array, window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Padding = "VALID"
) -> jax.Array:
    """The maximum over windows of inputs ``(.., spatial.., channels)``; padding is ignored."""
    return pooling(inputs, "max", window_shape, strides, padding)


def min_pool(
    inputs: jax.Array, window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Padding = "VALID"
) -> jax.Array:
    """The minimum over windows of inputs ``(.., spatial.., channels)``; padding is ignored."""
    return pooling(inputs, "min", window_shape, strides, padding)


def avg_pool(
    inputs: jax.Array,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    count_include_pad: bool = True,
) -> jax.Array:
    """The mean over windows of inputs ``(.., spatial.., channels)``; padding counts as zeros, or not at all.

    The type is Flax's: integers give float32, and if padding does not count the result has at least 32 bits.
    """
    if not (count_include_pad and jnp.issubdtype(inputs.dtype, jnp.inexact)):
        inputs = inputs.astype(jnp.promote_types(inputs.dtype, jnp.float32))
    reducer = "average" if count_include_pad else "mean"
    return pooling(inputs, reducer, window_shape, strides, padding)
