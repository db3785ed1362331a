"""Registered reductions: a block as a tree of combinations, and blocks in sequence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt, prod

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.nodes import Axes, MonoidFold, Read, below
from ..symbolic import IndexVar
from .blocked_loop import Blocks, Recomputed, reduced
from .context import Context, Lower, align, numeric
from .padding import padded
from .reductions import flattened
from .registered import States, blank, choose, combine, finish, fold, inject

Step = int | jax.Array


def lower_monoid_fold(node: MonoidFold, context: Context, lower: Lower) -> jax.Array:
    """The reduction, in the type of the first component."""
    if node.lanes:
        context = replace(context, padded={**context.padded, **_padded(node, context)})
    states = _steps(node, lambda step: _block(node, context, lower, step), context.arrays)
    if node.lanes:
        states = fold(node.monoid, states)
    axes = _inner(node)
    states = tuple(align(part, axes, node.axes) for part in states)
    if node.before is not None and _is_there(node, context):
        old = align(lower(node.before, context), node.before.axes, node.axes)
        states = combine(node.monoid, inject(node.monoid, old, node.element), states)
    if node.live is not None:
        # In a branch that is not taken, `finish` may have an infinite derivative.
        live = align(lower(node.live, context), node.live.axes, node.axes)
        shape = jnp.broadcast_shapes(live.shape, states[0].shape)
        states = tuple(jnp.broadcast_to(part, shape) for part in states)
        other = inject(node.monoid, jnp.ones(shape, numeric(node.element)), node.element)
        states = choose(jnp.broadcast_to(live, shape), states, other)
    return finish(node.monoid, states)


def _steps(node: MonoidFold, block: Callable[[Step], States], arrays: Mapping[str, jax.Array]) -> States:
    """The `States` of the loop over blocks."""
    rest = Blocks(prod(b.steps for b in node.blocks) - 1, lambda first, u: block(first + u + 1), arrays=arrays)
    return reduced(rest, _Folded(node), block(0))


@dataclass(frozen=True)
class _Folded(Recomputed[States, States]):
    """The combined states of some blocks, in order."""

    node: MonoidFold

    @property
    def length(self) -> int:
        # A block of many points is a run of its own.
        return isqrt(prod(b.steps for b in self.node.blocks)) if self.node.lanes else 1

    def after(self, state: States | None, block: States) -> States:
        return block if state is None else combine(self.node.monoid, state, block)


def _padded(node: MonoidFold, context: Context) -> Mapping[str, tuple[jax.Array, tuple[int, ...]]]:
    """The tensors that a step reads beyond their ends, padded once."""
    roots = [part for part in (node.operand, node.mask) if part is not None]
    return padded(context.arrays, roots)


def _inner(node: MonoidFold) -> Axes:
    """The axes of the states of a block."""
    parts = (node.operand, *(() if node.mask is None else (node.mask,)))
    own = {axis for part in parts for axis in part.axes}
    return tuple(axis for axis in node.axes if axis in own)


def _block(node: MonoidFold, context: Context, lower: Lower, step: Step) -> States:
    """The states of the points of one block, for each point of the free axes."""
    starts, first = _starts(node, step)
    if starts:
        context = context.at(starts)
    axes = _inner(node)

    def flat(array: jax.Array, own: Axes) -> jax.Array:
        return flattened(array, own, axes, node.indices, node.extents)

    states = inject(node.monoid, flat(lower(node.operand, context), node.operand.axes), node.element)
    masks = [] if node.mask is None else [flat(lower(node.mask, context), node.mask.axes)]
    for row, skipped in first:
        rows = lax.iota(jnp.int32, node.extents[node.indices.index(row)])
        masks.append(flat(rows >= skipped, (row,)))
    if masks:
        live = _all(masks)
        shape = jnp.broadcast_shapes(live.shape, states[0].shape)
        empty = blank(node.monoid, shape, node.element)
        states = choose(jnp.broadcast_to(live, shape), tuple(jnp.broadcast_to(s, shape) for s in states), empty)
    return states if node.lanes else fold(node.monoid, states)


def _all(masks: Sequence[jax.Array]) -> jax.Array:
    found = masks[0]
    for mask in masks[1:]:
        found = found & mask
    return found


def _starts(node: MonoidFold, step: Step) -> tuple[dict[IndexVar, Step], list[tuple[IndexVar, jax.Array]]]:
    """The position of each loop over blocks in a step, and the number of rows that another block already covered."""
    starts: dict[IndexVar, Step] = {}
    first: list[tuple[IndexVar, jax.Array]] = []
    for block in reversed(node.blocks):
        step, number = (step // block.steps, step % block.steps) if block is not node.blocks[0] else (0, step)
        wanted = number * block.rows + block.lo
        last = block.hi - block.rows
        if (block.hi - block.lo) % block.rows == 0 or block.row is None:
            starts[block.start] = wanted
            continue
        starts[block.start] = min(wanted, last) if isinstance(wanted, int) else jnp.minimum(wanted, last)
        first.append((block.row, jnp.int32(wanted - starts[block.start])))
    return starts, first


def _is_there(node: MonoidFold, context: Context) -> bool:
    """Whether the tensor from which the node continues has content: a caller may not have passed any."""
    parts = () if node.before is None else below(node.before)
    return all(part.tensor in context.arrays for part in parts if isinstance(part, Read))
