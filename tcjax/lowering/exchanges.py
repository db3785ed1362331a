"""Exchanges between devices: parts of a result, and the elements of tensors needed along a dimension."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from math import prod
from typing import assert_never

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..ir import Reducer
from ..planning.sharding import Collective, Combine, Exchange, Move, Part, Send, Start, Whole
from ..symbolic.runs import Run
from .elementwise import convert
from .reducers import across_devices, combine, states_across_devices


def function_of(collective: Collective, sizes: Mapping[str, int]) -> Callable[..., jax.Array]:
    """The function that a plan calls under this name inside `jax.shard_map`; `sizes` are those of the mesh's axes."""
    match collective:
        case Start(_, axes, extent):
            return lambda: jnp.int32(extent) * lax.axis_index(axes)
        case Combine():
            return partial(_combined, collective)
        case Send():
            return partial(_sent, send=collective, sizes=sizes)
        case Exchange():
            return partial(_exchanged, fetch=collective)
        case Whole():
            return partial(_whole, fetch=collective)
        case Part():
            return partial(_part, fetch=collective)
        case _:
            assert_never(collective)


def _combined(how: Combine, *given: jax.Array) -> jax.Array:
    parts = given[: max(1, len(how.states))]
    whole = convert(_scattered(how, parts), how.dtype)
    for old in given[len(parts) :]:
        whole = convert(combine(how.reducer)(old, whole), how.dtype)
    return whole


def _scattered(how: Combine, parts: tuple[jax.Array, ...]) -> jax.Array:
    """The parts of all devices as one, of which each keeps its block; of a state each component is a part."""
    if how.states:
        whole = states_across_devices(parts, how.reducer, how.axes)
    else:
        (part,) = parts
        for dimension, axes, _ in how.scattered:
            part = lax.psum_scatter(part, axes, scatter_dimension=dimension, tiled=True)
        if how.reducer is Reducer.MEAN:
            part = part / prod(count for _, _, count in how.scattered)
        whole = across_devices(part, how.reducer, how.left) if how.left else part
    for dimension, axes, count in how.kept:
        if (dimension, axes, count) not in how.scattered:
            size = whole.shape[dimension] // count
            whole = lax.dynamic_slice_in_dim(whole, lax.axis_index(axes) * size, size, dimension)
    return whole


def _whole(array: jax.Array, fetch: Whole) -> jax.Array:
    kind = "invarying" if fetch.is_shared else "varying"
    every = lax.all_gather(array, fetch.axes, axis=fetch.dimension, tiled=True, to=kind)
    return lax.slice_in_dim(every, 0, fetch.extent, axis=fetch.dimension)


def _sent(array: jax.Array, send: Send, sizes: Mapping[str, int]) -> jax.Array:
    for dimension, lo, hi in send.inside:
        array = lax.slice_in_dim(array, lo, hi, axis=dimension)
    piece = _elements(array, Run(send.move.start, send.move.stride, send.move.count), send.dimension)
    # JAX numbers the devices of `ppermute` in the order of the mesh's axes.
    axes = tuple(axis for axis in sizes if axis in send.axes)
    coordinates = np.unravel_index(np.array(send.move.pairs), [sizes[axis] for axis in send.axes])
    numbers = dict(zip(send.axes, coordinates, strict=True))
    pairs = np.ravel_multi_index([numbers[axis] for axis in axes], [sizes[axis] for axis in axes])
    return lax.ppermute(piece, axes, pairs.tolist())


def _exchanged(array: jax.Array, *sent: jax.Array, fetch: Exchange) -> jax.Array:
    """The elements brought by the moves, concatenated."""
    dimension, number, parts = fetch.dimension, lax.axis_index(fetch.axes), lax.axis_size(fetch.axes)
    left = iter(sent)
    brought = [_brought(array, None if move.is_local else next(left), move, fetch) for move in fetch.moves]
    ends = sorted({0, fetch.count, *(p for m in fetch.moves for p in (m.place, m.place + m.count))})
    pieces: list[jax.Array] = []
    for lo, hi in pairwise(ends):
        shape = (*array.shape[:dimension], hi - lo, *array.shape[dimension + 1 :])
        piece = jnp.full(shape, fetch.fill.value, array.dtype)
        for move, part in zip(fetch.moves, brought, strict=True):
            if move.place <= lo and hi <= move.place + move.count:
                own = lax.slice_in_dim(part, lo - move.place, hi - move.place, axis=dimension)
                piece = own if len(move.pairs) == parts else jnp.where(_takers(move, parts)[number], own, piece)
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else lax.concatenate(pieces, dimension)


def _brought(array: jax.Array, sent: jax.Array | None, move: Move, fetch: Exchange) -> jax.Array:
    """The elements of a move at their destination: the device's own, or those that were sent to it."""
    if sent is None:
        own = _elements(array, Run(move.start, move.stride, move.count), fetch.dimension)
        return _repeated(own, move.count, fetch.dimension)
    piece = _repeated(sent, move.count, fetch.dimension)
    if not fetch.inside:
        return piece
    around = {dimension: (lo, array.shape[dimension] - hi, 0) for dimension, lo, hi in fetch.inside}
    sides = [around.get(dimension, (0, 0, 0)) for dimension in range(array.ndim)]
    return lax.pad(piece, jnp.asarray(fetch.fill.value, array.dtype), sides)


def _elements(array: jax.Array, run: Run, dimension: int) -> jax.Array:
    """The elements of a run along a dimension; a single element for a stationary run."""
    if run.stride == 0:
        return lax.slice_in_dim(array, run.start, run.start + 1, axis=dimension)
    if run.stride < 0:
        return lax.rev(_elements(array, Run(run.last, -run.stride, run.count), dimension), (dimension,))
    return lax.slice_in_dim(array, run.start, run.last + 1, run.stride, dimension)


def _repeated(piece: jax.Array, count: int, dimension: int) -> jax.Array:
    return piece if piece.shape[dimension] == count else jnp.repeat(piece, count, axis=dimension)


def _takers(move: Move, parts: int) -> jax.Array:
    """Which devices receive elements."""
    table = np.zeros(parts, bool)
    table[[taker for _, taker in move.pairs]] = True
    return jnp.asarray(table)


def _part(array: jax.Array, fetch: Part) -> jax.Array:
    """The device's part of a dimension that it holds completely."""
    dimension, last = fetch.dimension, fetch.step * (fetch.parts - 1)
    lo, hi = fetch.places
    pieces: list[jax.Array] = []
    place = lo

    def beyond(count: int) -> jax.Array:
        shape = (*array.shape[:dimension], count, *array.shape[dimension + 1 :])
        return jnp.full(shape, fetch.fill.value, array.dtype)

    for stretch in fetch.stretches:
        if stretch.run is None:
            continue
        if stretch.place > place:
            pieces.append(beyond(stretch.place - place))
        pieces.append(_repeated(_elements(array, stretch.run, dimension), stretch.count, dimension))
        place = stretch.end
    if place < hi:
        pieces.append(beyond(hi - place))
    every = lax.concatenate(pieces, dimension)
    start = fetch.step * lax.axis_index(fetch.axes) - min(0, last)
    return lax.dynamic_slice_in_dim(every, start, fetch.count, dimension)
