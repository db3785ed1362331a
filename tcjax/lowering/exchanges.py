"""What a device asks of others: their part of a result, and of tensors what it needs along a dimension."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import assert_never

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..planning.sharding import Collective, Combine, Exchange, Move, Part, Start, Whole
from .elementwise import convert
from .reducers import across_devices, combine


def function_of(collective: Collective) -> Callable[..., jax.Array]:
    """What a plan calls by a name, inside of `jax.shard_map`."""
    match collective:
        case Start(_, axes, extent):
            return lambda: jnp.int32(extent) * lax.axis_index(axes)
        case Combine():
            return partial(_combined, collective)
        case Exchange():
            return partial(_exchanged, fetch=collective)
        case Whole():
            return partial(_whole, fetch=collective)
        case Part():
            return partial(_part, fetch=collective)
        case _:
            assert_never(collective)


def _combined(how: Combine, part: jax.Array, *before: jax.Array) -> jax.Array:
    whole = convert(across_devices(part, how.reducer, how.axes), how.dtype)
    for old in before:
        whole = convert(combine(how.reducer)(old, whole), how.dtype)
    return whole


def _whole(array: jax.Array, fetch: Whole) -> jax.Array:
    every = lax.all_gather(array, fetch.axes, axis=fetch.dimension, tiled=True)
    return lax.slice_in_dim(every, 0, fetch.extent, axis=fetch.dimension)


def _exchanged(array: jax.Array, fetch: Exchange) -> jax.Array:
    """What the moves bring, side by side."""
    dimension, number = fetch.dimension, lax.axis_index(fetch.axes)
    brought = [_brought(array, move, fetch) for move in fetch.moves]
    ends = sorted({0, fetch.count, *(p for m in fetch.moves for p in (m.place, m.place + m.count))})
    pieces: list[jax.Array] = []
    for lo, hi in pairwise(ends):
        shape = (*array.shape[:dimension], hi - lo, *array.shape[dimension + 1 :])
        piece = jnp.full(shape, fetch.fill.value, array.dtype)
        for move, part in zip(fetch.moves, brought, strict=True):
            if move.place <= lo and hi <= move.place + move.count:
                own = lax.slice_in_dim(part, lo - move.place, hi - move.place, axis=dimension)
                piece = (
                    own if len(move.pairs) == lax.axis_size(fetch.axes) else jnp.where(_takes(move, number), own, piece)
                )
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else lax.concatenate(pieces, dimension)


def _brought(array: jax.Array, move: Move, fetch: Exchange) -> jax.Array:
    """The elements of a move, where they go; zero on devices that take none."""
    whole = array.shape
    for dimension, lo, hi in () if move.is_local else fetch.inside:
        array = lax.slice_in_dim(array, lo, hi, axis=dimension)
    piece = _elements(array, move.start, move.stride, 1 if move.stride == 0 else move.count, fetch.dimension)
    if not move.is_local:
        piece = lax.ppermute(piece, fetch.axes, move.pairs)
    if piece.shape[fetch.dimension] != move.count:
        piece = jnp.repeat(piece, move.count, axis=fetch.dimension)
    if move.is_local or not fetch.inside:
        return piece
    around = {dimension: (lo, whole[dimension] - hi, 0) for dimension, lo, hi in fetch.inside}
    sides = [around.get(dimension, (0, 0, 0)) for dimension in range(array.ndim)]
    return lax.pad(piece, jnp.asarray(fetch.fill.value, array.dtype), sides)


def _elements(array: jax.Array, start: int, stride: int, count: int, dimension: int) -> jax.Array:
    if stride < 0:
        first = start + stride * (count - 1)
        return lax.rev(_elements(array, first, -stride, count, dimension), (dimension,))
    return lax.slice_in_dim(array, start, start + max(stride, 1) * (count - 1) + 1, max(stride, 1), dimension)


def _takes(move: Move, number: jax.Array) -> jax.Array:
    """Whether the device with this number takes part."""
    takers = sorted(taker for _, taker in move.pairs)
    if takers == list(range(takers[0], takers[-1] + 1)):
        return (number >= takers[0]) & (number <= takers[-1])
    return jnp.asarray(_table(takers))[number]


def _table(takers: Sequence[int]) -> np.ndarray:
    table = np.zeros(takers[-1] + 2, bool)
    table[takers] = True
    return table


def _part(array: jax.Array, fetch: Part) -> jax.Array:
    """The device's places of a dimension that it has whole."""
    dimension, last = fetch.dimension, fetch.step * (fetch.parts - 1)
    lo, hi = fetch.lo + min(0, last), fetch.lo + max(0, last) + fetch.count
    pieces: list[jax.Array] = []
    place = lo

    def beyond(count: int) -> jax.Array:
        shape = (*array.shape[:dimension], count, *array.shape[dimension + 1 :])
        return jnp.full(shape, fetch.fill.value, array.dtype)

    for stretch in fetch.stretches:
        start, stop = max(lo, stretch.place), min(hi, stretch.end)
        if stretch.run is None or start >= stop:
            continue
        if start > place:
            pieces.append(beyond(start - place))
        run = stretch.run.part(start - stretch.place, stop - start)
        piece = _elements(array, run.start, run.stride, 1 if run.stride == 0 else run.count, dimension)
        pieces.append(piece if run.stride else jnp.repeat(piece, run.count, axis=dimension))
        place = stop
    if place < hi:
        pieces.append(beyond(hi - place))
    every = lax.concatenate(pieces, dimension)
    start = fetch.step * lax.axis_index(fetch.axes) - min(0, last)
    return lax.dynamic_slice_in_dim(every, start, fetch.count, dimension)
