"""Runs loops over blocks: tiles in sequence, blocks between bounds, and states that accumulate points."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..planning.data.blocked_loop import BEGIN, BLOCK, FARTHEST, STEP, Block, BlockedLoop, End, Tile, between
from ..planning.data.layouts import Layout
from ..planning.data.nodes import Axes, Node
from ..symbolic import IndexVar
from .apart import begun, keep_apart
from .context import Context, Lower, align
from .padding import padded
from .varying import steady

Arrays = Mapping[str, jax.Array]
Foreign = Mapping[str, Callable[..., object]]
Starts = Mapping[IndexVar, jax.Array]
Steps = Mapping[IndexVar, int | jax.Array]
# The values at some points, and a mask of the active ones (None: all).
Values = tuple[jax.Array, jax.Array | None]
S = TypeVar("S")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Blocks(Generic[V]):
    """`count` blocks, `unroll` of them per trip, and a `tail` of remaining points.

    ``block(first, u)`` is the block number ``first + u``; `first` is traced, or a number for blocks outside the loop.
    If blocks have a `span`, only those in this range are visited. `arrays` are those that a block may use.
    """

    count: int
    block: Callable[[int | jax.Array, int], V]
    tail: Callable[[], V] | None = None
    unroll: int = 1
    span: tuple[jax.Array, jax.Array] | None = None
    arrays: Arrays = field(default_factory=dict[str, jax.Array])

    def trip(self, first: int | jax.Array, count: int | None = None) -> list[V]:
        """`count` blocks from `first` on."""
        return [self.block(first, u) for u in range(self.unroll if count is None else count)]

    def trips(self, first: int, count: int) -> tuple[Any, Any]:
        """The range of trips to run, out of `count` trips after the first `first` blocks."""
        if self.span is None:
            return np.int32(0), np.int32(count)
        before, behind = (jnp.maximum(block - first, 0) for block in self.span)
        return before // self.unroll, jnp.minimum((behind + self.unroll - 1) // self.unroll, count)


class States(Generic[S, V]):
    """The state accumulated over points: block by block in order, then the tail.

    A single trip is not a loop, unless the states require one.
    """

    always_loops = False

    def empty(self, sample: Callable[[], V]) -> S:
        """The state before any points, which are shaped like those of `sample`; each of its arrays holds one number."""
        raise NotImplementedError

    def after(self, state: S | None, block: V) -> S:
        """The state after a block; with no state before it, the block is the first."""
        raise NotImplementedError

    def absorb(self, state: S | None, blocks: Sequence[V]) -> S:
        """The state after one or more blocks."""
        for block in blocks:
            state = self.after(state, block)
        assert state is not None
        return state

    def loop(self, state: S, blocks: Blocks[V], first: int, trips: int) -> S:
        """The state after `trips` trips, which follow the first `first` blocks."""

        def step(trip: jax.Array, state: S) -> S:
            return self.absorb(state, blocks.trip(trip * jnp.int32(blocks.unroll) + jnp.int32(first)))

        return over_blocks(step, state, blocks.trips(first, trips), blocks.arrays)

    def closed(self, state: S) -> S:
        """The state after all blocks."""
        return state

    def behind(self, state: S | None, tail: V) -> S:
        """The state after the tail."""
        return self.after(state, tail)


class Recomputed(States[S, V]):
    """States that JAX differentiates, block by block.

    Reverse mode stores the state before each run of `length` blocks, and recomputes a run when it reaches it.
    """

    always_loops = True

    @property
    def length(self) -> int:
        return 1

    def loop(self, state: S, blocks: Blocks[V], first: int, trips: int) -> S:
        def step(before: S, number: jax.Array | int) -> tuple[S, None]:
            return self.after(before, blocks.block(number, 0)), None

        def run(before: S, first: jax.Array, count: int = self.length) -> tuple[S, None]:
            if count == 1:
                return step(before, first)
            return lax.scan(jax.checkpoint(step, prevent_cse=False), before, first + jnp.arange(count, dtype=jnp.int32))

        state = steady(lambda before: step(before, first)[0], state, blocks.arrays.values())
        runs, rest = divmod(trips, self.length)
        if rest:
            again = jax.checkpoint(lambda before: run(before, jnp.int32(first), rest)[0], prevent_cse=False)
            state = again(state)
        firsts = first + rest + self.length * jnp.arange(runs, dtype=jnp.int32)
        return lax.scan(jax.checkpoint(run, prevent_cse=False), state, firsts)[0]


def reduced(blocks: Blocks[V], states: States[S, V], state: S | None = None) -> S:
    """The state after all points, continuing from another one if given."""
    trips, first = divmod(blocks.count, blocks.unroll)
    if trips <= 1 and not states.always_loops:
        trips, first = 0, blocks.count
    if blocks.count:
        if first:
            state = states.absorb(state, blocks.trip(0, first))
        elif state is None:
            state = begun(states.empty(lambda: blocks.block(0, 0)), blocks.arrays.values())
        state = states.loop(state, blocks, first, trips) if trips else state
        state = states.closed(state)
    if blocks.tail is not None:
        state = states.behind(state, blocks.tail())
    assert state is not None
    return state


# ---------------------------------------------------------------- a planned loop


@dataclass(frozen=True, slots=True)
class Visited:
    """The points of a block, and the step of the loops at which it is visited."""

    block: Block
    points: tuple[Values, ...]
    at: Steps


@dataclass(frozen=True, slots=True)
class _Operands:
    """The arrays from which points are computed; `padded` are those that are read beyond their ends."""

    arrays: Arrays
    padded: Mapping[str, tuple[jax.Array, tuple[int, ...]]]


class Run:
    """A loop over given arrays."""

    def __init__(self, plan: BlockedLoop, arrays: Arrays, foreign: Foreign, lower: Lower) -> None:
        self.plan = plan
        self.given = arrays
        self.arrays = laid_out(arrays, plan.layouts)
        self.turned = {one.name for one in plan.layouts if one.is_copied}
        self.foreign = foreign
        self.lower = lower
        tensors = {one.tensor for one in plan.layouts}
        # A tensor that has layouts is not needed itself.
        self.read = self.arrays | {name: array for name, array in arrays.items() if name not in tensors}
        self.whole = _Operands(
            self.arrays, padded(self.arrays, [node for part, _ in plan.parts for node in part.nodes])
        )

    def blocks(self, starts: Starts) -> Blocks[Visited]:
        """The blocks for the tile that begins at `starts`."""
        plan = self.plan
        first, behind = self.span(starts)
        limits = (first - plan.lo) // plan.width, (behind + (plan.width - 1 - plan.lo)) // plan.width
        if plan.follows is not None:
            starts = {**starts, BEGIN: jnp.minimum(first, plan.follows)}
        parts: dict[int, tuple[object, _Operands]] = {}

        def block(first: int | jax.Array, step: int) -> Visited:
            assert plan.body is not None
            if id(first) not in parts:
                # The block is kept so that its `id` is not reused.
                parts[id(first)] = first, self._part(first)
            steps = {**starts, BLOCK: first + step, STEP: step}
            return self._visited(plan.body, steps, parts[id(first)][1])

        def tail() -> Visited:
            assert plan.tail is not None
            return self._visited(plan.tail, starts, self.whole)

        rest = None if plan.tail is None else tail
        return Blocks(plan.count, block, rest, plan.unroll, limits if plan.ends else None, self.read)

    def span(self, starts: Starts) -> tuple[jax.Array, jax.Array]:
        """The range of loop values, in whole blocks, in which a point of the tile may be active."""
        plan = self.plan
        context = Context(self.whole.arrays, self.foreign, starts, self.whole.padded)
        firsts = [starts[tile.start] for tile in plan.tiles]

        def limit(end: End) -> jax.Array:
            largest = 0 if end.data is None else jnp.max(self.lower(end.data, context), initial=-FARTHEST)
            return end.limit(firsts, largest)

        every = jnp.int32(plan.lo), jnp.int32(plan.lo + plan.count * plan.width)
        return between([(end, limit(end)) for end in plan.ends], every, jnp.maximum, jnp.minimum)

    def _part(self, first: int | jax.Array) -> _Operands:
        """The arrays; those that are sliced from a block on, only as far as its trip needs them."""
        plan = self.plan
        steps = min(2 * plan.unroll, plan.count - first) if isinstance(first, int) and not first else plan.unroll
        arrays, around = dict(self.whole.arrays), dict(self.whole.padded)
        for cut in plan.cuts:
            start, count, is_turned = first * plan.width + cut.first, steps * plan.width, cut.tensor in self.turned
            arrays[cut.tensor] = _cut(arrays[cut.tensor], start, count, cut.dimension, is_turned)
            if cut.tensor in around:
                # No padding along the loop: all reads there are in bounds.
                wide, lows = around[cut.tensor]
                around[cut.tensor] = _cut(wide, start, count, cut.dimension, is_turned), lows
        return _Operands(arrays, around)

    def _visited(self, block: Block, at: Steps, given: _Operands) -> Visited:
        plan = self.plan
        context = Context(given.arrays, self.foreign, at, given.padded)
        extents = plan.within(block)
        shape = tuple(extents[axis] for axis in plan.axes)

        def found(node: Node) -> jax.Array:
            return jnp.broadcast_to(align(self.lower(node, context), node.axes, plan.axes), shape)

        points = [(found(one.value), None if one.live is None else found(one.live)) for one in block.points]
        return Visited(block, tuple(points), at)


def _cut(array: jax.Array, start: int | jax.Array, count: int, dimension: int, is_turned: bool) -> jax.Array:
    if isinstance(start, int):
        part = lax.slice_in_dim(array, start, start + count, axis=dimension)
        # An array transposed inside the kernel that reads it would be read across rows.
        return lax.optimization_barrier(part) if is_turned else part
    # With the slice inside the loop, XLA:CPU would not vectorise it.
    part = lax.dynamic_slice_in_dim(array, start, count, axis=dimension)
    return keep_apart(part, part)


# ---------------------------------------------------------------- loops


def laid_out(arrays: Arrays, layouts: Iterable[Layout]) -> dict[str, jax.Array]:
    """The arrays in the layout for the loop."""
    found: dict[str, jax.Array] = {}
    for layout in layouts:
        array = lax.transpose(arrays[layout.tensor], layout.order)
        if layout.padding:
            around = [*((0, 0, 0),) * (array.ndim - 1), (0, layout.padding, 0)]
            array = lax.pad(array, np.zeros((), array.dtype), around)
        found[layout.name] = array
    return found


def over_tiles(
    tiles: Sequence[Tile],
    axes: Sequence[Axes],
    run: Callable[[Starts, S], tuple[Sequence[jax.Array], S]],
    arrays: Arrays,
    kept: S,
) -> tuple[list[jax.Array], S]:
    """The results of all tiles, with one dimension for each of their `axes`, and the state passed from tile to tile.

    `run` computes one tile.
    """
    firsts: Starts = {tile.start: jnp.int32(tile.lo) for tile in tiles}
    if all(tile.count == 1 for tile in tiles):
        results, kept = run(firsts, kept)
        return list(results), kept

    def step(number: jax.Array, carry: tuple[list[jax.Array], S]) -> tuple[list[jax.Array], S]:
        results, kept = carry
        starts: dict[IndexVar, jax.Array] = {}
        for tile in reversed(tiles):
            place = lax.rem(number, jnp.int32(tile.count))
            number = lax.div(number, jnp.int32(tile.count))
            starts[tile.start] = jnp.minimum(place * jnp.int32(tile.size), jnp.int32(tile.extent - tile.size)) + tile.lo
        at = {tile.axis: starts[tile.start] - tile.lo for tile in tiles}
        zero = jnp.zeros((), jnp.int32)
        parts, kept = run(starts, kept)
        return [
            lax.dynamic_update_slice(whole, part, [at.get(axis, zero) for axis in own])
            for own, whole, part in zip(axes, results, parts, strict=True)
        ], kept

    extents = {tile.axis: tile.extent for tile in tiles}
    avals, _ = jax.eval_shape(lambda: run(firsts, kept))
    empty = [
        jnp.zeros([extents.get(axis, size) for axis, size in zip(own, aval.shape, strict=True)], aval.dtype)
        for own, aval in zip(axes, avals, strict=True)
    ]
    empty = begun(empty, arrays.values())
    return over_blocks(step, (empty, kept), (np.int32(0), np.int32(prod(tile.count for tile in tiles))), arrays)


def over_blocks(step: Callable[[jax.Array, S], S], state: S, blocks: tuple[Any, Any], arrays: Arrays) -> S:
    """The state after the steps of these blocks, in sequence."""

    def numbered(number: jax.Array, state: S) -> S:
        # With 64-bit types enabled, step numbers have 64 bits.
        return step(lax.convert_element_type(number, jnp.int32), state)

    carry = steady(lambda carry: step(jnp.int32(0), carry), state, arrays.values())
    return lax.fori_loop(*blocks, numbered, carry)
