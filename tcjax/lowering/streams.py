"""Reductions block by block: a loop whose carry has a vector of lanes for each element of the result."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..ir import Reducer
from .apart import BARRIERS_HOLD
from .keys import key_of, value_of
from .monoids import NOWHERE, Monoid, Point, Position, State, collapse
from .reducers import make_monoid
from .varying import equally_varying

# The values of a block and where they take part (None: everywhere).
Values = tuple[jax.Array, jax.Array | None]

# Loops over fewer points run faster as one piece of code on one core.
_MANY_POINTS: Final = 1 << 17
_SQUARE: Final = 16


def stream(
    reducer: Reducer,
    *,
    rows: int,
    unroll: int,
    blocks: int,
    body: Callable[[int | jax.Array, int], Values],
    tail: Callable[[], Values] | None = None,
    rank: int | None = None,
    span: tuple[jax.Array, jax.Array] | None = None,
    results: int = 1,
    written_out: bool = False,
) -> State:
    """The reduction over ``(block + u)*rows + r``, `rows` lanes side by side and `unroll` blocks in a trip.

    ``body(block, u)`` has the lanes as its first axis; `block` is traced, or a number for the blocks that run outside
    of the loop. The points of `tail` come after the blocks. For a rank, the result has that many values along its
    first axis. Of blocks with a `span`, only those in this range take part. A place has up to three `results`: itself,
    the value there, and how many points have that. Trips that are `written_out` are kernels without a loop.
    """
    # Without barriers they would be one kernel, which reads more vectors than the nearest cache holds.
    source = _Source(rows, unroll, blocks, body, tail, span, written_out and BARRIERS_HOLD)
    match reducer:
        case _ if reducer.is_ranked:
            assert rank is not None
            descending = reducer.order == "max"
            values, places = _ranked(source, rank, descending=descending)
            return (places if reducer.gives_position else values,)
        case _:
            samples = [point for point in (source.block(0, 0) if blocks else None, source.last()) if point is not None]
            guarded = any(live is not None for _, _, live in samples)
            total = blocks * rows + (0 if tail is None else samples[-1][0].shape[0])
            monoid = make_monoid(reducer, samples[0][0].dtype, None if guarded else total)
            if isinstance(monoid, Position):
                monoid = replace(monoid, tied=blocks.bit_length() or 1) if results > 2 else monoid
                return monoid.found(_reduced(source, monoid))[:results]
            return (monoid.finish(_reduced(source, monoid)),)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the points come from."""

    rows: int
    unroll: int
    blocks: int
    body: Callable[[int | jax.Array, int], Values]
    tail: Callable[[], Values] | None
    span: tuple[jax.Array, jax.Array] | None = None
    written_out: bool = False

    def block(self, first: int | jax.Array, u: int) -> Point:
        return _point(*self.body(first, u), self.rows, first + u)

    def last(self) -> Point | None:
        return None if self.tail is None else _point(*self.tail(), None, 0)


def _reduced(source: _Source, monoid: Monoid) -> State:
    """The state of all points together."""
    rows, blocks = source.rows, source.blocks
    trips, first = _trips(blocks, source.unroll)
    results: list[State] = []
    if blocks:
        state = monoid.empty(source.block(0, 0)[0])
        state = monoid.absorb(state, [source.block(0, u) for u in range(first)]) if first else state
        if source.written_out:
            state = _written_out(monoid, state, source, first, trips)
        elif trips:
            state = _looped(monoid, state, source, first, trips)
        results.append(collapse(monoid, monoid.place(state, rows, 0)))
    last = source.last()
    if last is not None:
        lanes = last[0].shape[0]
        results.append(
            collapse(monoid, monoid.place(monoid.absorb(monoid.empty(last[0]), [last]), lanes, blocks * rows))
        )
    return functools.reduce(monoid.combine, results)


def _ranked(source: _Source, rank: int, *, descending: bool) -> State:
    """The first values in order and their positions, along a new first axis.

    Each is a reduction of what follows the one before it: one state that is the same for every rank is faster than
    many, since XLA:CPU computes each array of a state in a loop of its own.
    """
    sample = source.block(0, 0) if source.blocks else source.last()
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
            value, live = source.body(block, u)
            whole = jnp.broadcast_to(value, (source.rows, *value.shape[1:]))
            return rest((whole, live), (block + u) * source.rows)

        def tail() -> Values:
            assert source.tail is not None
            return rest(source.tail(), source.blocks * source.rows)

        left = replace(source, body=body, tail=None if source.tail is None else tail)
        found = _reduced(left, Position(False, guarded=True, full=not jnp.issubdtype(dtype, jnp.floating)))
        return found, found

    key = key_of(sample[0][:1], descending=descending)
    start = jnp.full_like(key, jnp.iinfo(key.dtype).min), jnp.full_like(key, -1, dtype=jnp.int32)
    _, (keys, places) = lax.scan(pick, tuple(jnp.squeeze(array, 0) for array in start), None, length=rank)
    values = value_of(keys, dtype, descending=descending)
    return values, jnp.where(places == NOWHERE, jnp.int32(0), places)


def _trips(blocks: int, unroll: int) -> tuple[int, int]:
    """How many trips of `unroll` blocks, and how many blocks before them."""
    trips, first = divmod(blocks, unroll)
    return (0, blocks) if trips <= 1 else (trips, first)


def _point(value: jax.Array, live: jax.Array | None, rows: int | None, block: int | jax.Array) -> Point:
    """A point of full shape."""
    shape = value.shape if live is None else jnp.broadcast_shapes(value.shape, live.shape)
    if rows is not None:
        shape = (rows, *shape[1:])
    value = jnp.broadcast_to(value, shape)
    if live is None:
        return value, block, None
    # Accumulators begin like the values, and end as both.
    value, live = equally_varying([value, jnp.broadcast_to(live, shape)])
    return value, block, live


def _written_out(monoid: Monoid, state: State, source: _Source, first: int, trips: int) -> State:
    """The state after all trips, each of which is a kernel of its own."""
    # An axis of one lane in front of all others costs a fifth: XLA:CPU divides its kernels along the first axes.
    single = state[0].shape[0] == 1

    def plain(array: jax.Array) -> jax.Array:
        return lax.squeeze(array, (0,)) if single else array

    state = tuple(map(plain, state))
    if first:
        state = lax.optimization_barrier(state)
    for trip in range(trips):
        block = trip * source.unroll + first
        points = [source.block(block, u) for u in range(source.unroll)]
        points = [(plain(value), at, None if live is None else plain(live)) for value, at, live in points]
        # In one kernel all trips would read more vectors than the nearest cache holds; of the result, several readers
        # would each compute the last one.
        state = lax.optimization_barrier(monoid.absorb(state, points))
    return tuple(lax.expand_dims(array, (0,)) for array in state) if single else state


def _looped(monoid: Monoid, state: State, source: _Source, first: int, trips: int) -> State:
    """The state after all trips."""
    size, unroll = prod(state[0].shape), source.unroll
    spread = size >= _SQUARE * _SQUARE and size * unroll * trips >= _MANY_POINTS and not _is_divided(state[0])

    def step(trip: jax.Array, carry: State) -> State:
        before = _unpacked(carry, state) if monoid.together else carry
        block = trip * jnp.int32(unroll) + jnp.int32(first)
        if spread:
            block += _nothing(before[0])
        after = monoid.absorb(before, [source.block(block, u) for u in range(unroll)])
        return _packed(after) if monoid.together else after

    begin, end = np.int32(0), np.int32(trips)
    if source.span is not None:
        before, behind = (jnp.maximum(block - first, 0) for block in source.span)
        begin, end = before // unroll, jnp.minimum((behind + unroll - 1) // unroll, trips)
    carry = lax.fori_loop(begin, end, step, _packed(state) if monoid.together else state)
    return _unpacked(carry, state) if monoid.together else carry


def _is_divided(array: jax.Array) -> bool:
    """Whether XLA may divide the array between devices: each of them would have to see all of it."""
    mesh = jax.typeof(array).sharding.mesh
    return not mesh.empty and any(
        kind is jax.sharding.AxisType.Auto and size > 1
        for kind, size in zip(mesh.axis_types, mesh.axis_sizes, strict=True)
    )


def _nothing(array: jax.Array) -> jax.Array:
    """Zero, by a matrix product: with one in its body, XLA:CPU (jaxlib 0.12) runs a loop on all cores."""
    some = lax.slice(lax.reshape(array, (prod(array.shape),)), (0,), (_SQUARE * _SQUARE,))
    real = lax.real(some) if jnp.issubdtype(some.dtype, jnp.complexfloating) else some
    square = lax.reshape((real > 0).astype(jnp.float32), (_SQUARE, _SQUARE))
    # A sum of products of zeros and ones is never negative: XLA does not know.
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
