"""A bundle in XLA operations: a block of its matrices, which is multiplied from both sides, after the other."""

import math
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..planning.data.blocked_loop import FIRST, ROW
from ..planning.data.groups import KernelSums
from ..planning.data.kernel_sums import COLUMN, Columns, Cut, KernelSumBlocks, Matrix, Piece
from ..planning.data.nests import Nest
from ..planning.data.nodes import Axes, Node
from ..symbolic import IndexVar
from .blocked_loop import block_of, laid_out, over_blocks, span
from .context import Context, Lower, align
from .elementwise import convert
from .finite import Factor, product_of_live
from .padding import padded

# What each matrix times its columns is so far: for sums over columns, and for those over rows. The axis that is walked
# along is the last but one in the former, and the last in the latter, whose vectors lie along those of the matrix.
State = tuple[list[jax.Array], list[jax.Array]]
# The matrices of a block for each part of the columns.
Parts = tuple[tuple[Cut, tuple[Matrix, ...]], ...]
# The rows and the columns of a block, and those that it is multiplied with.
HEIGHT, WIDTH, SIDE = (IndexVar(name) for name in ("h.", "w.", "s."))


def lower_kernel_sums(
    plan: KernelSumBlocks,
    bundle: KernelSums,
    arrays: Mapping[str, jax.Array],
    foreign: Mapping[str, Callable[..., object]],
    lower: Lower,
) -> list[jax.Array]:
    """The sums of a bundle, in order."""
    return _Run(plan, bundle, Context(arrays, foreign), lower).results()


class _Run:
    """A bundle over given arrays."""

    def __init__(self, plan: KernelSumBlocks, bundle: KernelSums, context: Context, lower: Lower) -> None:
        self.plan = plan
        self.bundle = bundle
        self.context = context
        self.lower = lower
        self.laid_out = laid_out(context.arrays, plan.layouts)
        self.around = padded(self.laid_out, [node for _, _, nodes in plan.matrices for node in nodes])
        self.batch = plan.shape(plan.batch)
        # The axes of rows and columns that are walked along are the last but one of these.
        self.across = [self.columns(one, plan.columns) for one in plan.across]
        self.along = [self.columns(one, plan.rows) for one in plan.along]

    def columns(self, columns: Columns, side: Axes) -> jax.Array:
        """The columns of a matrix side by side, along the last dimension."""
        plan = self.plan
        shape = (*self.batch, *plan.shape(side))
        found: list[jax.Array] = [jnp.zeros((*shape, 0), plan.dtype)]
        for part, extra, width in zip(columns.parts, columns.extra, columns.widths, strict=True):
            axes = (*plan.batch, *side, *extra)
            value = jnp.ones((), plan.dtype)
            if part is not None:
                value = convert(align(self.lower(part, self.context), part.axes, axes), plan.dtype)
            found.append(lax.reshape(jnp.broadcast_to(value, plan.shape(axes)), (*shape, width)))
        # Whoever computed it in a loop would do so again and again.
        return lax.optimization_barrier(lax.concatenate(found, len(shape)))

    def results(self) -> list[jax.Array]:
        plan = self.plan
        state: State = (
            [jnp.zeros((*self.batch, *plan.shape(plan.rows), one.width), plan.dtype) for one in plan.across],
            [jnp.zeros((*self.batch, one.width, *plan.shape(plan.columns)), plan.dtype) for one in plan.along],
        )
        for rows, parts in plan.blocks:

            def step(number: jax.Array, state: State, rows: Cut = rows, parts: Parts = parts) -> State:
                return self.row(state, rows, parts, number)

            state = self.looped(step, state, rows.count)
        return [
            self.result(nest, pieces, summed, state)
            for nest, pieces, summed in zip(self.bundle.sums, plan.pieces, plan.summed, strict=True)
        ]

    def looped(
        self,
        step: Callable[[jax.Array, State], State],
        state: State,
        count: int,
        ends: tuple[jax.Array, jax.Array] | None = None,
    ) -> State:
        """The state after so many steps, or after those between the `ends`."""
        if count == 1 and ends is None:
            return step(jnp.int32(0), state)
        return over_blocks(step, state, ends or (np.int32(0), np.int32(count)), self.context.arrays)

    def row(self, state: State, rows: Cut, parts: Parts, number: jax.Array) -> State:
        """The state after a block of rows, all its columns."""
        plan = self.plan
        begin = number * jnp.int32(rows.size) + jnp.int32(rows.first)
        above, below = state
        shape = (*self.batch, *plan.shape(plan.rows[:-1]), rows.size)
        own: State = ([jnp.zeros((*shape, one.shape[-1]), plan.dtype) for one in above], below)
        for columns, matrices in parts:

            def step(
                number: jax.Array, own: State, columns: Cut = columns, found: Sequence[Matrix] = matrices
            ) -> State:
                return self.block(own, found, rows, columns, (begin, number))

            ends = None
            if plan.ends and columns.count > 1:
                row, column = plan.lows
                ends = span(plan.ends, [begin + row], columns.count, column + columns.first, columns.size)
            own = self.looped(step, own, columns.count, ends)
        put = [_put(whole, part, begin) for whole, part in zip(above, own[0], strict=True)]
        return put, own[1]

    def block(
        self, state: State, matrices: Sequence[Matrix], rows: Cut, columns: Cut, at: tuple[jax.Array, jax.Array]
    ) -> State:
        """The state of some rows after a block of them."""
        plan = self.plan
        begin = at[0]
        left = at[1] * jnp.int32(columns.size) + jnp.int32(columns.first)
        steps = {FIRST: begin + jnp.int32(plan.lows[0]), COLUMN: left + jnp.int32(plan.lows[1])}
        context = Context(self.laid_out, self.context.foreign, steps, self.around)
        extents = plan.within(rows, columns)
        flat = [math.prod(plan.shape(axes, extents)) for axes in ((*plan.rows[:-1], ROW), plan.columns)]
        above, below = list(state[0]), list(state[1])
        shape = (*self.batch, *flat)

        def whole(node: Node) -> jax.Array:
            return lax.reshape(block_of(node, context, self.lower, plan.axes, plan.shape(plan.axes, extents)), shape)

        for place, one in enumerate(matrices):
            # Stored, it is computed once for both products.
            array = lax.optimization_barrier(convert(whole(one.node), plan.dtype))
            live = None if one.live is None else whole(one.live)
            matrix = Factor(array, (*plan.batch, HEIGHT, WIDTH), live)
            if self.across[place].shape[-1]:
                part = _taken(self.across[place], left, columns.size)
                part = lax.reshape(part, (*self.batch, flat[1], part.shape[-1]))
                product = _multiplied(matrix, Factor(part, (*plan.batch, WIDTH, SIDE), None))
                above[place] = above[place] + lax.reshape(product, above[place].shape)
            if self.along[place].shape[-1]:
                part = _taken(self.along[place], begin, rows.size)
                part = jnp.swapaxes(lax.reshape(part, (*self.batch, flat[0], part.shape[-1])), -1, -2)
                product = _multiplied(Factor(part, (*plan.batch, SIDE, HEIGHT), None), matrix)
                before = _taken(below[place], left, columns.size, 1)
                below[place] = _put(below[place], before + lax.reshape(product, before.shape), left, 1)
        return above, below

    def result(self, nest: Nest, pieces: Sequence[Piece], summed: bool, state: State) -> jax.Array:
        plan = self.plan
        total: jax.Array | None = None
        for piece in pieces:
            columns = (plan.along if summed else plan.across)[piece.matrix]
            found = state[1 if summed else 0][piece.matrix]
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


def _taken(array: jax.Array, start: jax.Array, size: int, behind: int = 2) -> jax.Array:
    """So many values of an axis, which is the last if `behind` is 1, and the last but one if it is 2."""
    axis = array.ndim - behind
    return array if size == array.shape[axis] else lax.dynamic_slice_in_dim(array, start, size, axis)


def _put(array: jax.Array, part: jax.Array, start: jax.Array, behind: int = 2) -> jax.Array:
    """The array with values along such an axis replaced."""
    axis = array.ndim - behind
    return part if part.shape == array.shape else lax.dynamic_update_slice_in_dim(array, part, start, axis)


def _multiplied(left: Factor, right: Factor) -> jax.Array:
    """Matrix products, for each element of the leading axes."""
    if left.live is not None or right.live is not None:
        return product_of_live(
            (left, right), (*left.axes[:-1], right.axes[-1]), jnp.result_type(left.array, right.array)
        )
    batch = tuple(range(left.array.ndim - 2))
    inner = ((left.array.ndim - 1,), (right.array.ndim - 2,))
    return lax.dot_general(left.array, right.array, (inner, (batch, batch)))
