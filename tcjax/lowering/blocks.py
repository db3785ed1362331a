"""A stream of blocks in XLA operations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.blocked_loop import ROW
from ..planning.data.nodes import Axes
from ..planning.data.streams import BLOCK, STEP, Points, Stream
from ..symbolic import IndexVar
from .apart import keep_apart
from .blocked_loop import block_of, laid_out, over_tiles, span
from .context import Context, Lower, align, transpose
from .padding import padded
from .streams import stream

# The first values of an order statistic, one after the other; no program names an index so.
RANK: Final = IndexVar("k.")

Foreign = Mapping[str, Callable[..., object]]


def lower_stream(
    plan: Stream,
    axes: Axes,
    arrays: Mapping[str, jax.Array],
    foreign: Foreign,
    lower: Lower,
    results: int = 1,
) -> tuple[jax.Array, ...]:
    """The result of a nest, with one dimension for each of `axes`; of a place up to three, as `stream` says."""
    run = _Run(plan, arrays, foreign, lower, results)
    own = plan.axes if plan.ranks is None else (RANK, *plan.axes)
    found = over_tiles(plan.tiles, [own] * results, run.tile, arrays)
    if plan.ranks is None:
        return tuple(transpose(array, plan.axes, axes) for array in found)
    return (_ranked(found[0], plan, axes, arrays, foreign, lower),)


def _ranked(
    found: jax.Array, plan: Stream, axes: Axes, arrays: Mapping[str, jax.Array], foreign: Foreign, lower: Lower
) -> jax.Array:
    """The wanted of the first values in order, which lie along the first dimension."""
    assert plan.rank is not None
    rank = lower(plan.rank, Context(arrays, foreign))
    own = plan.rank.axes
    if not set(own) & set(plan.axes):
        result = jnp.take(found, rank, axis=0, mode="clip")
        return transpose(result, (*own, *plan.axes), axes)
    spread = align(found, (RANK, *plan.axes), (RANK, *axes))
    at = align(rank, own, axes)[None]
    shape = jnp.broadcast_shapes(spread.shape[1:], at.shape[1:])
    spread = jnp.broadcast_to(spread, (spread.shape[0], *shape))
    return jnp.take_along_axis(spread, jnp.broadcast_to(at, (1, *shape)), axis=0)[0]


@dataclass(frozen=True, slots=True)
class _Operands:
    """The arrays that points are computed from, and those among them that are read beyond their ends, `padded`."""

    arrays: Mapping[str, jax.Array]
    padded: Mapping[str, tuple[jax.Array, tuple[int, ...]]]


def _part(array: jax.Array, start: int | jax.Array, count: int, dimension: int, is_turned: bool) -> jax.Array:
    if isinstance(start, int):
        part = lax.slice_in_dim(array, start, start + count, axis=dimension)
        # What is turned round within the kernel that reads it would be read across rows.
        return lax.optimization_barrier(part) if is_turned else part
    # In a loop with the cut inside, XLA:CPU would not use vectors.
    part = lax.dynamic_slice_in_dim(array, start, count, axis=dimension)
    return keep_apart(part, part)


class _Run:
    """A stream over given arrays."""

    def __init__(
        self, plan: Stream, arrays: Mapping[str, jax.Array], foreign: Foreign, lower: Lower, results: int
    ) -> None:
        self.plan = plan
        self.results = results
        self.arrays = laid_out(arrays, plan.layouts)
        self.turned = {one.name for one in plan.layouts if one.is_copied}
        self.foreign = foreign
        self.lower = lower
        roots = [node for points in plan.points for node in (points.value, points.live) if node is not None]
        self.whole = _Operands(self.arrays, padded(self.arrays, roots))

    def tile(self, at: Mapping[IndexVar, jax.Array]) -> tuple[jax.Array, ...]:
        """The results, or one tile of them."""
        plan = self.plan
        parts: dict[int, tuple[object, _Operands]] = {}

        def body(block: int | jax.Array, step: int) -> tuple[jax.Array, jax.Array | None]:
            assert plan.body is not None
            if id(block) not in parts:
                # The block is kept so that its identity stays its own.
                parts[id(block)] = block, self.part(block)
            steps = {**at, BLOCK: block + step, STEP: step}
            return self.points(plan.body, plan.rows, steps, parts[id(block)][1])

        def tail() -> tuple[jax.Array, jax.Array | None]:
            assert plan.tail is not None
            return self.points(plan.tail, plan.last, at, self.whole)

        starts = [at[tile.start] for tile in plan.tiles]
        return stream(
            plan.reducer,
            rows=1 if plan.inside else plan.rows,
            unroll=plan.unroll,
            blocks=plan.blocks,
            body=body,
            tail=tail if plan.last else None,
            rank=plan.ranks,
            span=span(plan.ends, starts, plan.blocks, plan.lo, plan.rows) if plan.ends else None,
            results=self.results,
            written_out=plan.is_written_out,
        )

    def part(self, block: int | jax.Array) -> _Operands:
        """The arrays, those that are cut from a block on as far as its trip needs them."""
        plan = self.plan
        steps = min(2 * plan.unroll, plan.blocks - block) if isinstance(block, int) and not block else plan.unroll
        arrays, around = dict(self.whole.arrays), dict(self.whole.padded)
        for cut in plan.cuts:
            start, count, is_turned = block * plan.rows + cut.first, steps * plan.rows, cut.tensor in self.turned
            arrays[cut.tensor] = _part(arrays[cut.tensor], start, count, cut.dimension, is_turned)
            if cut.tensor in around:
                # No zeros lie along the loop: all reads there are inside of the tensor.
                wide, lows = around[cut.tensor]
                around[cut.tensor] = _part(wide, start, count, cut.dimension, is_turned), lows
        return _Operands(arrays, around)

    def points(
        self,
        points: Points,
        rows: int,
        at: Mapping[IndexVar, int | jax.Array],
        given: _Operands,
    ) -> tuple[jax.Array, jax.Array | None]:
        """The values of a block, its rows first, and which of them take part."""
        plan = self.plan
        context = Context(given.arrays, self.foreign, at, given.padded)
        axes = plan.axes if plan.inside else (ROW, *plan.axes)
        shape = plan.shape if plan.inside else (rows, *plan.shape)
        value = block_of(points.value, context, self.lower, axes, shape)
        if plan.inside:
            value = lax.expand_dims(value, (0,))
        if points.live is None:
            return value, None
        return value, block_of(points.live, context, self.lower, axes, shape)
