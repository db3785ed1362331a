"""A bundle in XLA operations: one block of its matrices after another, each multiplied from both sides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.blocked_loop import BEGIN, BLOCK, BlockedLoop
from ..planning.data.groups import KernelSums
from ..planning.data.kernel_sums import Columns, MatrixProducts, Piece
from ..planning.data.nests import Nest
from ..planning.data.nodes import Axes
from ..symbolic import IndexVar
from .apart import begun
from .blocked_loop import Arrays, Foreign, Run, Starts, States, Visited, over_tiles, reduced
from .context import Context, Lower, align
from .elementwise import convert
from .finite import Factor, product_of_live

# The accumulated products of each matrix and its columns: for sums over columns, those of a tile of rows, and those for
# sums over rows. The tiled axis is the last but one in the former; the loop's axis is the last in the latter, whose
# vectors run along those of the matrix.
State = tuple[list[jax.Array], list[jax.Array]]
# The rows and the columns of a block, and the columns that it is multiplied with.
HEIGHT, WIDTH, SIDE = (IndexVar(name) for name in ("h.", "w.", "s."))


def lower_kernel_sums(
    plan: BlockedLoop, products: MatrixProducts, bundle: KernelSums, arrays: Arrays, foreign: Foreign, lower: Lower
) -> list[jax.Array]:
    """The sums of a bundle, in order."""
    own = _Bundle(products, bundle, Context(arrays, foreign), lower)
    axes = (*products.batch, *products.rows, SIDE)
    below, parts = own.below(), list[list[jax.Array]]()
    loop: BlockedLoop | None = plan
    while loop is not None:
        run = Run(loop, arrays, foreign, lower)

        def tile(
            starts: Starts, kept: list[jax.Array], loop: BlockedLoop = loop, run: Run = run
        ) -> tuple[list[jax.Array], list[jax.Array]]:
            return reduced(run.blocks(starts), _Rows(own, loop, starts), (own.above(loop), kept))

        above, below = over_tiles(loop.tiles, [axes] * len(products.across), tile, run.read, below)
        parts.append(above)
        loop = loop.rest
    whole = [_joined(part, len(axes) - 2) for part in zip(*parts, strict=True)]
    each = zip(bundle.sums, products.pieces, products.summed, strict=True)
    return [own.result(nest, pieces, (below if summed else whole), summed) for nest, pieces, summed in each]


def _joined(parts: Sequence[jax.Array], axis: int) -> jax.Array:
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, axis)


class _Bundle:
    """A bundle over given arrays."""

    def __init__(self, plan: MatrixProducts, bundle: KernelSums, context: Context, lower: Lower) -> None:
        self.plan = plan
        self.bundle = bundle
        self.context = context
        self.lower = lower
        self.batch = plan.shape(plan.batch)
        # The axes of rows and columns that the loop walks along are the last but one of these.
        self.across = [self.columns(one, plan.columns) for one in plan.across]
        self.along = [self.columns(one, plan.rows) for one in plan.along]

    def columns(self, columns: Columns, side: Axes) -> jax.Array:
        """The columns of a matrix, concatenated along the last dimension."""
        plan = self.plan
        shape = (*self.batch, *plan.shape(side))
        found: list[jax.Array] = [jnp.zeros((*shape, 0), plan.dtype)]
        for part, extra, width in zip(columns.parts, columns.extra, columns.widths, strict=True):
            axes = (*plan.batch, *side, *extra)
            value = jnp.ones((), plan.dtype)
            if part is not None:
                value = convert(align(self.lower(part, self.context), part.axes, axes), plan.dtype)
            found.append(lax.reshape(jnp.broadcast_to(value, plan.shape(axes)), (*shape, width)))
        # Computed inside a loop, it would be recomputed in every step.
        return lax.optimization_barrier(lax.concatenate(found, len(shape)))

    def above(self, loop: BlockedLoop) -> list[jax.Array]:
        """Sums over columns for a tile of rows, before any columns."""
        shape = (*self.batch, *loop.shape(self.plan.rows))
        empty = [jnp.zeros((*shape, one.width), self.plan.dtype) for one in self.plan.across]
        return begun(empty, [*self.across, *self.along])

    def below(self) -> list[jax.Array]:
        """Sums over rows before any rows."""
        shape = self.plan.shape(self.plan.columns)
        empty = [jnp.zeros((*self.batch, one.width, *shape), self.plan.dtype) for one in self.plan.along]
        return begun(empty, [*self.across, *self.along])

    def result(self, nest: Nest, pieces: Sequence[Piece], products: Sequence[jax.Array], summed: bool) -> jax.Array:
        plan = self.plan
        total: jax.Array | None = None
        for piece in pieces:
            columns = (plan.along if summed else plan.across)[piece.matrix]
            found = products[piece.matrix]
            start, width = columns.start(piece.part), columns.widths[piece.part]
            axis, extra = len(self.batch) if summed else found.ndim - 1, columns.extra[piece.part]
            found = lax.slice_in_dim(found, start, start + width, axis=axis)
            axes = (*plan.batch, *extra, *plan.columns) if summed else (*plan.batch, *plan.rows, *extra)
            value = align(lax.reshape(found, plan.shape(axes)), axes, nest.axes)
            if piece.factor is not None:
                factor = convert(self.lower(piece.factor, self.context), plan.dtype)
                value = value * align(factor, piece.factor.axes, nest.axes)
            if piece.mask is not None:
                mask = align(self.lower(piece.mask, self.context), piece.mask.axes, nest.axes)
                value = jnp.where(mask, value, jnp.zeros((), value.dtype))
            value = -value if piece.negative else value
            total = value if total is None else total + value
        assert total is not None
        return convert(jnp.broadcast_to(total, nest.shape), nest.reduce.dtype)


@dataclass(frozen=True, slots=True)
class _Rows(States[State, Visited]):
    """The products of a tile of rows."""

    bundle: _Bundle
    plan: BlockedLoop
    starts: Starts

    @property
    def start(self) -> jax.Array:
        """The first of the rows."""
        plan, rows = self.bundle.plan, self.bundle.plan.rows
        if self.plan.tiles:
            [tile] = self.plan.tiles
            return self.starts[tile.start] - jnp.int32(tile.lo)
        return jnp.int32(plan.extents[rows[-1]] - self.plan.extents[rows[-1]])

    def after(self, state: State | None, block: Visited) -> State:
        plan, bundle = self.bundle.plan, self.bundle
        extents = {**self.plan.extents, plan.columns[-1]: block.block.width}
        flat = [math.prod(extents[axis] for axis in side) for side in (plan.rows, plan.columns)]
        begin, height, width = self.start, extents[plan.rows[-1]], block.block.width
        last = plan.extents[plan.columns[-1]] - width
        left = block.at[BLOCK] * jnp.int32(width) if BLOCK in block.at else jnp.int32(last)
        if self.plan.follows is not None:
            left = block.at[BEGIN] - jnp.int32(self.plan.lo)
        assert state is not None, "a tile goes on from the sums over the rows of those before it"
        above, below = map(list, state)
        shape = (*bundle.batch, *flat)
        for place, (value, live) in enumerate(block.points):
            # Stored, so that it is computed once for both products.
            array = lax.optimization_barrier(lax.reshape(convert(value, plan.dtype), shape))
            live = None if live is None else lax.reshape(live, shape)
            matrix = Factor(array, (*plan.batch, HEIGHT, WIDTH), live)
            if bundle.across[place].shape[-1]:
                part = _taken(bundle.across[place], left, width)
                part = lax.reshape(part, (*bundle.batch, flat[1], part.shape[-1]))
                product = _multiplied(matrix, Factor(part, (*plan.batch, WIDTH, SIDE), None))
                above[place] = above[place] + lax.reshape(product, above[place].shape)
            if bundle.along[place].shape[-1]:
                part = _taken(bundle.along[place], begin, height)
                part = jnp.swapaxes(lax.reshape(part, (*bundle.batch, flat[0], part.shape[-1])), -1, -2)
                product = _multiplied(Factor(part, (*plan.batch, SIDE, HEIGHT), None), matrix)
                before = _taken(below[place], left, width, 1)
                below[place] = _put(below[place], before + lax.reshape(product, before.shape), left, 1)
        return above, below


def _taken(array: jax.Array, start: jax.Array, size: int, behind: int = 2) -> jax.Array:
    """`size` values of an axis from `start` on; the axis is the last if `behind` is 1, the last but one if it is 2."""
    axis = array.ndim - behind
    return array if size == array.shape[axis] else lax.dynamic_slice_in_dim(array, start, size, axis)


def _put(array: jax.Array, part: jax.Array, start: jax.Array, behind: int = 2) -> jax.Array:
    """The array with values along such an axis replaced."""
    axis = array.ndim - behind
    return part if part.shape == array.shape else lax.dynamic_update_slice_in_dim(array, part, start, axis)


def _multiplied(left: Factor, right: Factor) -> jax.Array:
    """Matrix products for each element of the leading axes."""
    if left.live is not None or right.live is not None:
        return product_of_live(
            (left, right), (*left.axes[:-1], right.axes[-1]), jnp.result_type(left.array, right.array)
        )
    batch = tuple(range(left.array.ndim - 2))
    inner = ((left.array.ndim - 1,), (right.array.ndim - 2,))
    return lax.dot_general(left.array, right.array, (inner, (batch, batch)))
