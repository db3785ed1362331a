"""Order statistics in two stages: the first values of blocks, then the values of the first blocks."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.blocked_loop import Tile
from ..planning.data.kernels import InTwoStages, Piece
from ..planning.data.nodes import Axes
from ..planning.data.two_stage import BLOCKS, FIRSTS, PLACE, RANK, VALUES, TwoStage
from ..symbolic import IndexVar
from .blocked_loop import over_tiles
from .context import Context, Lower, align
from .stores import lower_fill_value

Arrays = Mapping[str, jax.Array]


def lower_two_stage(
    plan: InTwoStages,
    axes: Axes,
    arrays: Arrays,
    foreign: Mapping[str, Callable[..., object]],
    run: Callable[[Piece, Arrays], jax.Array],
    lower: Lower,
) -> jax.Array:
    """The nest that was split, with one dimension for each of `axes`; `run` computes one of its nests."""
    sieve = plan.sieve

    def sieved(known: Arrays) -> jax.Array:
        firsts = run(plan.firsts, known)
        # On ties the first value wins: blocks are in order, and positions outside the loop come last.
        blocks = lax.sort(run(plan.blocks, {FIRSTS: firsts}), dimension=0)
        along = (RANK, PLACE, *sieve.free)
        values = align(lower(sieve.values, Context({**known, BLOCKS: blocks}, foreign)), sieve.values.axes, along)
        found = run(plan.rest, {VALUES: _left(values, blocks, sieve)})
        return _places(found, blocks, sieve, axes) if sieve.rest.reduce.reducer.gives_position else found

    if sieve.axis is None:
        return sieved(arrays)
    part = sieve.parts[0]
    extent = arrays[part.tensor].shape[part.dimensions[0]]

    tile = Tile(sieve.axis, IndexVar("o."), 0, sieve.tile, extent)

    def part_of(starts: Mapping[IndexVar, jax.Array], kept: None) -> tuple[list[jax.Array], None]:
        cut = dict(arrays)
        for part in sieve.parts:
            array = arrays[part.tensor]
            for place in part.dimensions:
                array = lax.dynamic_slice_in_dim(array, starts[tile.start], sieve.tile, axis=place)
            # With the slice inside its loops, XLA:CPU would not vectorise them.
            cut[part.name] = lax.optimization_barrier(array)
        return [sieved(cut)], kept

    return over_tiles([tile], [axes], part_of, arrays, None)[0][0]


def _left(values: jax.Array, blocks: jax.Array, sieve: TwoStage) -> jax.Array:
    """The values of the remaining blocks, concatenated; outside the loop, a value that never comes first."""
    values = jnp.broadcast_to(values, (blocks.shape[0], sieve.size, *blocks.shape[1:]))
    if sieve.guarded:
        steps = lax.broadcasted_iota(jnp.int32, values.shape, 1)
        nothing = lower_fill_value(sieve.firsts.reduce.reducer.empty(sieve.values.dtype), sieve.values.dtype)
        values = jnp.where(blocks[:, None] * sieve.size + steps < sieve.extent, values, nothing)
    return lax.reshape(values, (blocks.shape[0] * sieve.size, *blocks.shape[1:]))


def _places(found: jax.Array, blocks: jax.Array, sieve: TwoStage, axes: Axes) -> jax.Array:
    """Positions in the remaining values, converted to positions in the loop."""
    free = [lax.broadcasted_iota(jnp.int32, found.shape, axes.index(axis)) for axis in sieve.free]
    first = blocks.at[(found // sieve.size, *free)].get(mode="clip")
    return first * sieve.size + found % sieve.size
