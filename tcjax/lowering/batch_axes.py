"""Where `jax.vmap` leaves the axis of a batch."""

from typing import TypeVar

import jax
from jax import lax

Tree = TypeVar("Tree")


def batch_first(arrays: Tree) -> Tree:
    """The same arrays; under `jax.vmap` the batch is their first axis.

    For what a `jax.custom_jvp` function returns, and its rule as primals, where the two are computed differently: JAX
    0.10 to 0.12 takes the batch axes from the one where it batches the function, and from the other where it takes the
    derivative of that, and mixes up the two where they differ.
    """
    # The batching rule of what adds an axis moves the batch to the front.
    return jax.tree.map(lambda array: lax.squeeze(lax.expand_dims(array, (0,)), (0,)), arrays)
