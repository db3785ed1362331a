"""What the runners of loops over blocks share: their operands, tiles after each other, and blocks between ends."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..planning.data.blocked_loop import End, Tile, between
from ..planning.data.layouts import Layout
from ..planning.data.nodes import Axes, Node
from ..symbolic import IndexVar
from .context import Context, Lower, align
from .varying import steady

Arrays = Mapping[str, jax.Array]
Starts = Mapping[IndexVar, jax.Array]
S = TypeVar("S")


def laid_out(arrays: Arrays, layouts: Iterable[Layout]) -> dict[str, jax.Array]:
    """The arrays as they should lie while the loop runs."""
    found: dict[str, jax.Array] = {}
    for layout in layouts:
        array = lax.transpose(arrays[layout.tensor], layout.order)
        if layout.padding:
            around = [*((0, 0, 0),) * (array.ndim - 1), (0, layout.padding, 0)]
            array = lax.pad(array, np.zeros((), array.dtype), around)
        found[layout.name] = array
    return found


def block_of(node: Node, context: Context, lower: Lower, axes: Axes, shape: tuple[int, ...]) -> jax.Array:
    """What a node is in a block that lies along `axes`."""
    return jnp.broadcast_to(align(lower(node, context), node.axes, axes), shape)


def over_tiles(
    tiles: Sequence[Tile], axes: Sequence[Axes], run: Callable[[Starts], Sequence[jax.Array]], arrays: Arrays
) -> list[jax.Array]:
    """The results of all tiles, with one dimension for each of their `axes`; `run` computes those of one."""
    if not tiles:
        return list(run({}))

    def step(number: jax.Array, results: list[jax.Array]) -> list[jax.Array]:
        starts: dict[IndexVar, jax.Array] = {}
        # With 64 bits the number of a step has as many.
        number = lax.convert_element_type(number, jnp.int32)
        for tile in reversed(tiles):
            place = lax.rem(number, jnp.int32(tile.count))
            number = lax.div(number, jnp.int32(tile.count))
            starts[tile.start] = jnp.minimum(place * jnp.int32(tile.size), jnp.int32(tile.extent - tile.size)) + tile.lo
        at = {tile.axis: starts[tile.start] - tile.lo for tile in tiles}
        zero = jnp.zeros((), jnp.int32)
        return [
            lax.dynamic_update_slice(whole, part, [at.get(axis, zero) for axis in own])
            for own, whole, part in zip(axes, results, run(starts), strict=True)
        ]

    extents = {tile.axis: tile.extent for tile in tiles}
    avals = jax.eval_shape(lambda: run({tile.start: jnp.int32(tile.lo) for tile in tiles}))
    empty = [
        jnp.zeros([extents.get(axis, size) for axis, size in zip(own, aval.shape, strict=True)], aval.dtype)
        for own, aval in zip(axes, avals, strict=True)
    ]
    carry = steady(lambda carry: step(jnp.int32(0), carry), empty, arrays.values())
    return lax.fori_loop(np.int32(0), np.int32(prod(tile.count for tile in tiles)), step, carry)


def span(ends: Sequence[End], starts: Sequence[jax.Array], count: int, lo: int, width: int) -> tuple[Any, Any]:
    """Of `count` blocks of `width` values from `lo` on, the first in which a point may count, and that behind the last.

    For the tile that begins at `starts`.
    """
    if not ends:
        return np.int32(0), np.int32(count)
    blocks = jnp.int32(0), jnp.int32(count)
    return between(ends, starts, blocks, lo, width, jnp.maximum, jnp.minimum)


def over_blocks(step: Callable[[jax.Array, S], S], state: S, blocks: tuple[Any, Any], arrays: Arrays) -> S:
    """The state after the steps of these blocks, one after the other."""

    def numbered(number: jax.Array, state: S) -> S:
        # With 64 bits the number of a step has as many.
        return step(lax.convert_element_type(number, jnp.int32), state)

    carry = steady(lambda carry: step(jnp.int32(0), carry), state, arrays.values())
    return lax.fori_loop(*blocks, numbered, carry)
