"""Joins the parts of an array."""

from collections.abc import Sequence
from typing import assert_never

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.assembly import Interleave, Join, Overlay, Pad, Part, Whole, Zeros
from .apart import keep_apart


def assemble(whole: Whole, values: Sequence[jax.Array]) -> jax.Array:
    """The array whose parts are the `values`."""
    match whole:
        case Part(stage):
            return values[stage]
        case Zeros(shape):
            return jnp.zeros(shape, values[0].dtype)
        case Join(axis, parts):
            return lax.concatenate([assemble(part, values) for part in parts], axis)
        case Pad(Part(stage), widths):
            return lax.pad(values[stage], jnp.zeros((), values[stage].dtype), widths)
        case Overlay(Part(base), Part(part), widths, apart, everywhere):
            over = values[part] if everywhere else lax.pad(values[part], jnp.zeros((), values[part].dtype), widths)
            found = jnp.where(_inside(over.shape, widths), over, values[base])
            corner = values[base] if any(before for before, _, _ in widths) else values[part]
            return keep_apart(found, corner) if apart else found
        case Interleave(axis, extent, parts):
            stacked = jnp.stack([assemble(part, values) for part in parts], axis + 1)
            shape = stacked.shape
            joined = lax.reshape(stacked, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))
            return lax.slice_in_dim(joined, 0, extent, axis=axis)
        case _:
            assert_never(whole)


def _inside(shape: tuple[int, ...], widths: Sequence[tuple[int, int, int]]) -> jax.Array:
    """Where a part lies, given the widths before and after it."""
    inside = jnp.ones((), bool)
    for axis, (extent, (before, after, _)) in enumerate(zip(shape, widths, strict=True)):
        place = lax.broadcasted_iota(jnp.int32, shape, axis)
        if before:
            inside = inside & (place >= before)
        if after:
            inside = inside & (place < extent - after)
    return inside
