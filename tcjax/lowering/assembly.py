"""Parts of an array put together."""

from collections.abc import Sequence
from typing import assert_never

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.assembly import Interleave, Join, Pad, Part, Whole, Zeros


def assemble(whole: Whole, values: Sequence[jax.Array]) -> jax.Array:
    """The array of which the `values` are the parts."""
    match whole:
        case Part(stage):
            return values[stage]
        case Zeros(shape):
            return jnp.zeros(shape, values[0].dtype)
        case Join(axis, parts):
            return lax.concatenate([assemble(part, values) for part in parts], axis)
        case Pad(Part(stage), widths):
            return lax.pad(values[stage], jnp.zeros((), values[stage].dtype), widths)
        case Interleave(axis, extent, parts):
            stacked = jnp.stack([assemble(part, values) for part in parts], axis + 1)
            shape = stacked.shape
            joined = lax.reshape(stacked, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))
            return lax.slice_in_dim(joined, 0, extent, axis=axis)
        case _:
            assert_never(whole)
