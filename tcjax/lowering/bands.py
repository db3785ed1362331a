"""Band matrix products: blocks of rows times everything that they meet, and back to rows and shifts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec

from ..planning.data.bands import Blocks
from ..planning.data.nodes import Axes, Band, Node
from ..symbolic import IndexVar
from .context import Context, Lower, align, numeric, ranked, transpose
from .finite import live_sum
from .placing import is_placed
from .varying import equally_varying

# The number of a block, and a position in it.
BLOCK, PLACE = IndexVar("block"), IndexVar("place")


def lower_band(node: Band, context: Context, lower: Lower) -> jax.Array:
    """The band; elements that a block computes outside it are masked, even infinities and NaN."""
    still, sliding = lower(node.still, context), lower(node.sliding, context)
    conditions = ((node.live, node.still.axes), (node.counts, node.axes))
    live, counts = (None if c is None else _aligned(c, lower(c, context), axes) for c, axes in conditions)

    arrays = [array for array in (still, sliding, live, counts) if array is not None]

    def run(*arrays: jax.Array) -> jax.Array:
        still, sliding, *conditions = equally_varying(arrays)
        live = conditions.pop(0) if node.live is not None else None
        counts = conditions.pop(0) if node.counts is not None else None
        blocked = _Blocked.of(node, still, sliding)
        return blocked.summed(still, sliding, live, counts) if node.is_summed else blocked.kept(still, sliding, counts)

    if not any(map(is_placed, arrays)):
        return run(*arrays)
    pairs = ((node.sliding.axes, sliding), (node.still.axes, still))
    lies = {axis: at for axes, one in pairs for axis, at in zip(axes, jax.typeof(one).sharding.spec, strict=True)}
    placed: Callable[..., Any] = jax.sharding.auto_axes
    return placed(run, out_sharding=PartitionSpec(*map(lies.get, node.axes)))(*arrays)


def _aligned(condition: Node, array: jax.Array, axes: Axes) -> jax.Array:
    """A condition with a dimension for each axis, of extent 1 where it does not depend on it."""
    return align(array, condition.axes, axes) if condition.axes else ranked(array, len(axes))


@dataclass(frozen=True, slots=True)
class _Blocked:
    """The sizes of a band in rows and shifts, its blocks, and the axes common to all arrays."""

    node: Band
    rows: int
    shifts: int
    blocks: Blocks
    batch: Axes

    @staticmethod
    def of(node: Band, still: jax.Array, sliding: jax.Array) -> "_Blocked":
        window = node.window
        rows = still.shape[node.still.axes.index(window.output)]
        places = sliding.shape[node.sliding.axes.index(window.position)]
        shifts = (places - 1 - window.stride * (rows - 1)) // window.dilation + 1
        batch = tuple(axis for axis in node.still.axes if axis in node.sliding.axes and axis in node.axes)
        return _Blocked(node, rows, shifts, Blocks.of(node.rows, rows, shifts, window), batch)

    def kept(self, still: jax.Array, sliding: jax.Array, counts: jax.Array | None) -> jax.Array:
        """The products of each block, of which the diagonals are kept."""
        node, row, shift = self.node, self.node.window.output, self.node.window.kernel
        # XLA chooses the operands' layout for the product: with a given order, it would copy them twice.
        first, second = self.in_blocks(node.still.axes), self.in_windows()
        axes = (*self.front(node.axes, row, shift), row, PLACE)
        inside = self.band(counts, node.axes, axes)
        factors = self.by_rows(still, node.still.axes, first), self.windows(sliding)
        product = live_sum(factors, (first, second, axes), (None, None, inside), numeric(node.dtype))
        return self.whole(self.diagonals(product), (*axes[:-1], shift))

    def summed(
        self, still: jax.Array, sliding: jax.Array, live: jax.Array | None, counts: jax.Array | None
    ) -> jax.Array:
        """Each block of weights, placed on the diagonals of a matrix, times the values that it meets."""
        node, row, shift = self.node, self.node.window.output, self.node.window.kernel
        left = (*self.front(node.still.axes, row, shift), row, shift)
        first, second = (*left[:-1], PLACE), self.in_windows()
        axes = (*self.batch, BLOCK, row, *self.front(node.axes, row)[len(self.batch) + 1 :])
        matrix = self.spread(self.by_rows(still, node.still.axes, left))
        inside = self.band(live, node.still.axes, first)
        used = None if counts is None else self.by_rows(counts, node.axes, axes)
        factors = matrix, self.windows(sliding)
        product = live_sum(factors, (first, second, axes), (inside, None, used), numeric(node.dtype))
        return self.whole(product, axes)

    def front(self, axes: Axes, *without: IndexVar) -> Axes:
        """The batch, the number of the block, and the other axes except those in `without`."""
        return (*self.batch, BLOCK, *(axis for axis in axes if axis not in (*self.batch, *without)))

    def in_blocks(self, axes: Axes) -> Axes:
        """These axes with the number of the block before the rows."""
        place = axes.index(self.node.window.output)
        return (*axes[:place], BLOCK, *axes[place:])

    def in_windows(self) -> Axes:
        """The axes of the sliding operand, split into blocks and positions."""
        axes = self.node.sliding.axes
        place = axes.index(self.node.window.position)
        return (*axes[:place], BLOCK, PLACE, *axes[place + 1 :])

    def turned(self, array: jax.Array, axes: Axes) -> jax.Array:
        """The array with rows and shifts ordered by ascending position, or back."""
        window = self.node.window
        flips = ((window.output, window.flip_output), (window.kernel, window.flip_kernel))
        dimensions = [axes.index(axis) for axis, turned in flips if turned and axis in axes]
        return lax.rev(array, dimensions) if dimensions else array

    def by_rows(self, array: jax.Array, axes: Axes, wanted: Axes) -> jax.Array:
        """The array, whose axes are `axes`, with its rows split into blocks, the last one padded with zeros."""
        place = axes.index(self.node.window.output)
        array = self.turned(array, axes)
        if array.shape[place] > 1:
            array = _cut(array, place, self.blocks.count, self.blocks.rows)
        else:
            array = lax.expand_dims(array, (place,))
        return transpose(array, self.in_blocks(axes), wanted)

    def windows(self, sliding: jax.Array) -> jax.Array:
        """The positions that each block meets, the last ones padded with zeros."""
        blocks, axes = self.blocks, self.node.sliding.axes
        place = axes.index(self.node.window.position)
        over = blocks.overlapping
        steps = _cut(sliding, place, blocks.count + over - 1, blocks.step)
        parts = [lax.slice_in_dim(steps, n, n + blocks.count, axis=place) for n in range(over)]
        # Cut first: the joined array is stored.
        parts[-1] = lax.slice_in_dim(parts[-1], 0, blocks.width - (over - 1) * blocks.step, axis=place + 1)
        return lax.concatenate(parts, place + 1)

    def whole(self, array: jax.Array, axes: Axes) -> jax.Array:
        """The result from its blocks, whose axes are `axes`."""
        wanted = self.node.axes
        place = wanted.index(self.node.window.output)
        array = lax.collapse(transpose(array, axes, (*wanted[:place], BLOCK, *wanted[place:])), place, place + 2)
        return self.turned(lax.slice_in_dim(array, 0, self.rows, axis=place), wanted)

    def band(self, condition: jax.Array | None, axes: Axes, wanted: Axes) -> jax.Array:
        """Whether a row of a block meets a position, and a condition with these `axes` holds."""
        window, blocks = self.node.window, self.blocks
        if condition is not None:
            extents = {window.output: self.rows, window.kernel: self.shifts}
            shape = [extents.get(axis, size) for axis, size in zip(axes, condition.shape, strict=True)]
            return self.spread(self.by_rows(jnp.broadcast_to(condition, shape), axes, (*wanted[:-1], window.kernel)))
        row, place = (lax.broadcasted_iota("int32", (blocks.rows, blocks.width), n) for n in range(2))
        apart = place - window.stride * row
        inside = (apart >= 0) & (apart <= window.dilation * (self.shifts - 1)) & (apart % window.dilation == 0)
        return lax.expand_dims(inside, range(len(wanted) - 2))

    def spread(self, array: jax.Array) -> jax.Array:
        """Rows and shifts, the last dimensions, as rows and positions: each row begins one stride after the last."""
        *before, rows, shifts = array.shape
        window, width = self.node.window, self.blocks.width
        behind = width + window.stride - window.dilation * (shifts - 1) - 1
        padding = [*((0, 0, 0) for _ in (*before, rows)), (0, behind, window.dilation - 1)]
        flat = lax.collapse(lax.pad(array, jnp.zeros((), array.dtype), padding), len(before))
        return lax.reshape(flat[..., : rows * width], (*before, rows, width))

    def diagonals(self, array: jax.Array) -> jax.Array:
        """Rows and positions, the last dimensions, as rows and shifts."""
        *before, rows, width = array.shape
        window = self.node.window
        skewed = _cut(lax.collapse(array, len(before)), len(before), rows, width + window.stride)
        reach = window.dilation * (self.shifts - 1) + 1
        return lax.slice_in_dim(skewed, 0, reach, window.dilation, axis=len(before) + 1)


def _cut(array: jax.Array, place: int, count: int, size: int) -> jax.Array:
    """The array with a dimension split into `count` blocks of this size, padded with zeros."""
    padding = [(0, 0, 0)] * array.ndim
    padding[place] = (0, count * size - array.shape[place], 0)
    array = lax.pad(array, jnp.zeros((), array.dtype), padding)
    return lax.reshape(array, (*array.shape[:place], count, size, *array.shape[place + 1 :]))
