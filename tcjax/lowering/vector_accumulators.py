"""Vector accumulators: a loop over blocks whose state has a vector of lanes for each element of the result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

import jax
import jax.numpy as jnp
from jax import lax

from ..ir import Reducer
from ..planning.data.blocked_loop import BlockedLoop
from ..planning.data.nodes import Axes
from ..planning.data.vector_accumulators import VectorAccumulators
from ..symbolic import IndexVar
from .apart import BARRIERS_HOLD
from .blocked_loop import Arrays, Blocks, Foreign, Run, Starts, States, Values, over_blocks, over_tiles, reduced
from .context import Context, Lower, align, transpose
from .keys import key_of, value_of
from .monoids import NOWHERE, Monoid, Point, Position, State, collapse
from .reducers import make_monoid
from .varying import equally_varying

# Loops over fewer points run faster as one piece of code on one core.
_MANY_POINTS: Final = 1 << 17
_SQUARE: Final = 16
# The index over the first values of an order statistic; no program uses such a name.
RANK: Final = IndexVar("k.")


def lower_nest(
    plan: BlockedLoop,
    states: VectorAccumulators,
    axes: Axes,
    arrays: Arrays,
    foreign: Foreign,
    lower: Lower,
    count: int,
) -> tuple[jax.Array, ...]:
    """`count` results of a nest, with one dimension per axis of `axes`; for a position up to three (`accumulated`)."""
    run = Run(plan, arrays, foreign, lower)
    width = 1 if states.inside else plan.width

    def tile(starts: Starts, kept: None) -> tuple[State, None]:
        own = run.blocks(starts)

        def values(visited: Values) -> Values:
            value, live = visited
            return (lax.expand_dims(value, (0,)) if states.inside else value), live

        def body(first: int | jax.Array, u: int) -> Values:
            return values(own.block(first, u).points[0])

        def rest() -> Values:
            assert own.tail is not None
            return values(own.tail().points[0])

        tail = None if own.tail is None else rest
        blocks = Blocks(own.count, body, tail, own.unroll, own.span, own.arrays)
        written_out = states.written_out
        return accumulated(states.reducer, blocks, width, states.ranks, count, written_out=written_out), kept

    own = states.axes if states.ranks is None else (RANK, *states.axes)
    found, _ = over_tiles(plan.tiles, [own] * count, tile, run.read, None)
    if states.ranks is None:
        return tuple(transpose(array, states.axes, axes) for array in found)
    return (_wanted(found[0], states, axes, Context(arrays, foreign), lower),)


def _wanted(found: jax.Array, states: VectorAccumulators, axes: Axes, context: Context, lower: Lower) -> jax.Array:
    """The requested ones of the first values in order, which are along the first dimension."""
    assert states.rank is not None
    rank = lower(states.rank, context)
    own = states.rank.axes
    if not set(own) & set(states.axes):
        result = jnp.take(found, rank, axis=0, mode="clip")
        return transpose(result, (*own, *states.axes), axes)
    spread = align(found, (RANK, *states.axes), (RANK, *axes))
    at = align(rank, own, axes)[None]
    shape = jnp.broadcast_shapes(spread.shape[1:], at.shape[1:])
    spread = jnp.broadcast_to(spread, (spread.shape[0], *shape))
    return jnp.take_along_axis(spread, jnp.broadcast_to(at, (1, *shape)), axis=0)[0]


def accumulated(
    reducer: Reducer,
    blocks: Blocks[Values],
    width: int,
    rank: int | None = None,
    results: int = 1,
    *,
    written_out: bool = False,
) -> State:
    """The reduction over blocks of `width` lanes, which are the first axis of their values.

    For a rank, the result has that many values along its first axis. A position has up to three `results`: itself, its
    value, and the number of points with that value. With `written_out`, trips are kernels without a loop.
    """
    # Without barriers they would be one kernel, which reads more vectors than the nearest cache holds.
    written_out = written_out and BARRIERS_HOLD
    if reducer.is_ranked:
        assert rank is not None
        values, places = _ranked(blocks, width, rank, descending=reducer.order == "max", written_out=written_out)
        return (places if reducer.gives_position else values,)
    points = _points(blocks, width)
    samples = [points.block(0, 0)] if points.count else []
    samples += [] if points.tail is None else [points.tail()]
    guarded = any(live is not None for _, _, live in samples)
    total = points.count * width + (0 if points.tail is None else samples[-1][0].shape[0])
    monoid = make_monoid(reducer, samples[0][0].dtype, None if guarded else total)
    if isinstance(monoid, Position):
        monoid = replace(monoid, tied=points.count.bit_length() or 1) if results > 2 else monoid
    state = reduced(points, _Lanes(monoid, width, points.count, written_out))
    return monoid.found(state)[:results] if isinstance(monoid, Position) else (monoid.finish(state),)


def _ranked(blocks: Blocks[Values], width: int, rank: int, *, descending: bool, written_out: bool) -> State:
    """The first values in order and their positions, along a new first axis.

    Each is a reduction over the values after the previous one: one state that is the same for every rank is faster than
    many, since XLA:CPU computes each array of a state in a separate loop.
    """
    sample = blocks.block(0, 0) if blocks.count else blocks.tail() if blocks.tail is not None else None
    assert sample is not None
    dtype = sample[0].dtype

    def pick(known: State, _: None) -> tuple[State, State]:
        def rest(values: Values, first: int | jax.Array) -> Values:
            value, live = values
            key = key_of(value, descending=descending)
            lane = lax.broadcasted_iota(jnp.int32, (key.shape[0],) + (1,) * (key.ndim - 1), 0)
            after = (key > known[0]) | ((key == known[0]) & (lane + jnp.int32(first) > known[1]))
            return key, after if live is None else live & after

        def body(block: int | jax.Array, u: int) -> Values:
            value, live = blocks.block(block, u)
            whole = jnp.broadcast_to(value, (width, *value.shape[1:]))
            return rest((whole, live), (block + u) * width)

        def tail() -> Values:
            assert blocks.tail is not None
            return rest(blocks.tail(), blocks.count * width)

        left = replace(blocks, block=body, tail=None if blocks.tail is None else tail)
        monoid = Position(False, guarded=True, full=not jnp.issubdtype(dtype, jnp.floating))
        found = reduced(_points(left, width), _Lanes(monoid, width, blocks.count, written_out))
        return found, found

    key = key_of(sample[0][:1], descending=descending)
    start = jnp.full_like(key, jnp.iinfo(key.dtype).min), jnp.full_like(key, -1, dtype=jnp.int32)
    _, (keys, places) = lax.scan(pick, tuple(jnp.squeeze(array, 0) for array in start), None, length=rank)
    values = value_of(keys, dtype, descending=descending)
    return values, jnp.where(places == NOWHERE, jnp.int32(0), places)


def _points(blocks: Blocks[Values], width: int) -> Blocks[Point]:
    """The blocks as points with their block numbers."""

    def tail() -> Point:
        assert blocks.tail is not None
        return _point(*blocks.tail(), None, 0)

    return Blocks(
        blocks.count,
        lambda first, u: _point(*blocks.block(first, u), width, first + u),
        None if blocks.tail is None else tail,
        blocks.unroll,
        blocks.span,
        blocks.arrays,
    )


def _point(value: jax.Array, live: jax.Array | None, width: int | None, block: int | jax.Array) -> Point:
    """A point broadcast to full shape."""
    shape = value.shape if live is None else jnp.broadcast_shapes(value.shape, live.shape)
    if width is not None:
        shape = (width, *shape[1:])
    value = jnp.broadcast_to(value, shape)
    if live is None:
        return value, block, None
    # Accumulators begin with the values' variation, and end with that of both.
    value, live = equally_varying([value, jnp.broadcast_to(live, shape)])
    return value, block, live


@dataclass(frozen=True, slots=True)
class _Lanes(States[State, Point]):
    """The states of a monoid, `width` lanes wide, over the blocks."""

    monoid: Monoid
    width: int
    count: int
    written_out: bool

    def empty(self, sample: Callable[[], Point]) -> State:
        return self.monoid.empty(sample()[0])

    def absorb(self, state: State | None, blocks: Sequence[Point]) -> State:
        return self.monoid.absorb(self.monoid.empty(blocks[0][0]) if state is None else state, blocks)

    def loop(self, state: State, blocks: Blocks[Point], first: int, trips: int) -> State:
        return (_written_out if self.written_out else _looped)(self.monoid, state, blocks, first, trips)

    def closed(self, state: State) -> State:
        return collapse(self.monoid, self.monoid.place(state, self.width, 0))

    def behind(self, state: State | None, tail: Point) -> State:
        lanes = tail[0].shape[0]
        rest = collapse(self.monoid, self.monoid.place(self.absorb(None, [tail]), lanes, self.count * self.width))
        return rest if state is None else self.monoid.combine(state, rest)


def _written_out(monoid: Monoid, state: State, blocks: Blocks[Point], first: int, trips: int) -> State:
    """The state after all trips, each in its own kernel."""
    # A leading axis of one lane makes it 20% slower: XLA:CPU parallelises its kernels over the first axes.
    single = state[0].shape[0] == 1

    def plain(array: jax.Array) -> jax.Array:
        return lax.squeeze(array, (0,)) if single else array

    state = tuple(map(plain, state))
    if first:
        state = lax.optimization_barrier(state)
    for trip in range(trips):
        points = blocks.trip(trip * blocks.unroll + first)
        points = [(plain(value), at, None if live is None else plain(live)) for value, at, live in points]
        # In a single kernel all trips would read more vectors than the nearest cache holds, and several readers of the
        # result would each recompute the last trip.
        state = lax.optimization_barrier(monoid.absorb(state, points))
    return tuple(lax.expand_dims(array, (0,)) for array in state) if single else state


def _looped(monoid: Monoid, state: State, blocks: Blocks[Point], first: int, trips: int) -> State:
    """The state after all trips."""
    size, unroll = prod(state[0].shape), blocks.unroll
    spread = size >= _SQUARE * _SQUARE and size * unroll * trips >= _MANY_POINTS and not _is_divided(state[0])

    def step(trip: jax.Array, carry: State) -> State:
        before = _unpacked(carry, state) if monoid.together else carry
        block = trip * jnp.int32(unroll) + jnp.int32(first)
        if spread:
            block += _nothing(before[0])
        after = monoid.absorb(before, blocks.trip(block))
        return _packed(after) if monoid.together else after

    start = _packed(state) if monoid.together else state
    carry = over_blocks(step, start, blocks.trips(first, trips), blocks.arrays)
    return _unpacked(carry, state) if monoid.together else carry


def _is_divided(array: jax.Array) -> bool:
    """Whether XLA may shard the array: each device would then need all of it."""
    mesh = jax.typeof(array).sharding.mesh
    return not mesh.empty and any(
        kind is jax.sharding.AxisType.Auto and size > 1
        for kind, size in zip(mesh.axis_types, mesh.axis_sizes, strict=True)
    )


def _nothing(array: jax.Array) -> jax.Array:
    """Zero, computed by a matrix product: with one in its body, XLA:CPU (jaxlib 0.12) runs a loop on all cores."""
    some = lax.slice(lax.reshape(array, (prod(array.shape),)), (0,), (_SQUARE * _SQUARE,))
    real = lax.real(some) if jnp.issubdtype(some.dtype, jnp.complexfloating) else some
    square = lax.reshape((real > 0).astype(jnp.float32), (_SQUARE, _SQUARE))
    # A sum of products of zeros and ones is never negative, but XLA does not know this.
    return (jnp.dot(square, square)[0, 0] < 0).astype(jnp.int32)


def _packed(state: State) -> State:
    """A pair as one complex array: XLA:CPU computes one array in one loop, and two arrays in two."""
    if len(state) == 2 and all(_fits(array.dtype) for array in state):
        real, imaginary = (lax.bitcast_convert_type(_wide(array), jnp.float32) for array in state)
        return (lax.complex(real, imaginary),)
    return state


def _unpacked(carry: State, like: State) -> State:
    if len(carry) == len(like):
        return carry
    pieces = (lax.real(carry[0]), lax.imag(carry[0]))
    return tuple(_narrow(piece, array.dtype) for piece, array in zip(pieces, like, strict=True))


def _fits(dtype: jnp.dtype) -> bool:
    return not jnp.issubdtype(dtype, jnp.complexfloating) and dtype.itemsize <= 4


def _wide(array: jax.Array) -> jax.Array:
    """The array in 32 bits, exactly."""
    if array.dtype.itemsize == 4:
        return array
    return array.astype(jnp.float32 if jnp.issubdtype(array.dtype, jnp.floating) else jnp.int32)


def _narrow(bits: jax.Array, dtype: jnp.dtype) -> jax.Array:
    if dtype.itemsize == 4:
        return lax.bitcast_convert_type(bits, dtype)
    wide = jnp.float32 if jnp.issubdtype(dtype, jnp.floating) else jnp.int32
    return lax.bitcast_convert_type(bits, wide).astype(dtype)
