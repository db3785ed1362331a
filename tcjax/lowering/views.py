"""Extends, repeats, merges and splits arrays by slices, concatenations, reshapes and transposes: no gather."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from typing import assert_never

import jax
import jax.numpy as jnp
from jax import lax

from ..ir import types
from ..planning.data.views import (
    MOST_SLICES,
    Divide,
    Halo,
    Merge,
    Padded,
    Pieces,
    Repeat,
    Slant,
    Slide,
    Tile,
    View,
    Zeros,
    shaped,
)
from ..symbolic.runs import Run
from .placing import is_placed


def viewed(array: jax.Array, views: Iterable[View]) -> jax.Array:
    """The array after all views, in order."""
    return reduce(_viewed, views, array)


def _viewed(array: jax.Array, view: View) -> jax.Array:
    shape = array.shape
    match view:
        case Pieces(_, _, fused=True):
            return _added(array, Halo((view,)))
        case Pieces(d, runs):
            parts = [_run(array, d, run) for run in runs]
            return parts[0] if len(parts) == 1 else lax.concatenate(parts, d)
        case Halo():
            return _put_together(array, view)
        case Padded(d, low, high, value):
            return _laid_out(array, d, low, high, value)
        case Repeat(d, times):
            return _spread(array, d + 1, times, d)
        case Tile(d, times):
            return _spread(array, d, times, d)
        case Merge(first, second):
            order = [number for number in range(array.ndim) if number != second]
            order.insert(order.index(first) + 1, second)
            array = lax.transpose(array, order)
            place = order.index(first)
            return _flattened(array, place)
        case Divide(d, inner):
            return lax.reshape(array, (*shape[:d], shape[d] // inner, inner, *shape[d + 1 :]))
        case Slide():
            return _slid(array, view)
        case Slant():
            return _slanted(array, view)
        case _:
            assert_never(view)


def _put_together(array: jax.Array, halo: Halo) -> jax.Array:
    """Dimensions in pieces, written block by block into zeros: the array is copied once, and stored.

    Its derivative is the sum of its blocks, each padded with zeros; that of an update would need an array per block.
    """
    if is_placed(array):
        return viewed(array, halo.sides)

    def run(array: jax.Array) -> jax.Array:
        whole = jnp.zeros(shaped(array.shape, halo), array.dtype)
        # The largest one first: XLA copies and pads it in one pass, which runs on several cores.
        for block, place in sorted(_blocks(array, halo), key=lambda part: -part[0].size):
            whole = lax.dynamic_update_slice(whole, block, place)
        return lax.optimization_barrier(whole)

    if not jnp.issubdtype(array.dtype, jnp.inexact):
        return run(array)
    derived = jax.custom_jvp(run)

    @derived.defjvp
    def derive(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
        return derived(*primals), lax.optimization_barrier(_added(*tangents, halo))

    return derived(array)


def _blocks(array: jax.Array, halo: Halo) -> Iterator[tuple[jax.Array, list[int]]]:
    """The blocks of dimensions in pieces, and where each begins."""
    numbered = [list(enumerate(side.runs)) for side in halo.sides]
    middles = [max(runs, key=lambda pair: pair[1].count)[0] for runs in numbered]
    for runs in itertools.product(*numbered):
        outside = sum(number != middle for (number, _), middle in zip(runs, middles, strict=True))
        if outside > 1 and not halo.corners:
            continue
        block, place = array, [0] * array.ndim
        for side, (number, run) in zip(halo.sides, runs, strict=True):
            block = _run(block, side.dimension, run)
            place[side.dimension] = sum(before.count for before in side.runs[:number])
        yield block, place


def _added(array: jax.Array, halo: Halo) -> jax.Array:
    """Dimensions in pieces, as a sum of padded blocks: XLA:CPU stores concatenations.

    Stencils on a torus take a fifth of the time, and so do their derivatives.
    """
    kind = array.dtype
    if not jnp.issubdtype(kind, jnp.number) or kind.name not in types.SCALARS:
        return viewed(array, (replace(side, fused=False) for side in halo.sides))
    # Adding negative zero, and only that, leaves every number unchanged.
    nothing = 0 if jnp.issubdtype(kind, jnp.integer) else -0.0
    nothing = jnp.array(complex(-0.0, -0.0) if jnp.issubdtype(kind, jnp.complexfloating) else nothing, kind)
    shape = shaped(array.shape, halo)
    ends = [
        lax.pad(block, nothing, [(low, n - low - m, 0) for low, m, n in zip(place, block.shape, shape, strict=True)])
        for block, place in _blocks(array, halo)
    ]
    return reduce(lax.add, ends)


def _laid_out(array: jax.Array, d: int, low: int, high: int, value: complex) -> jax.Array:
    """The array padded with elements of one value."""
    widths = [(low, high, 0) if n == d else (0, 0, 0) for n in range(array.ndim)]
    return lax.pad(array, jnp.array(value, array.dtype), widths)


def _run(array: jax.Array, d: int, run: Run | Zeros) -> jax.Array:
    if isinstance(run, Zeros):
        return jnp.zeros((*array.shape[:d], run.count, *array.shape[d + 1 :]), array.dtype)
    if run.stride == 0:
        one = lax.slice_in_dim(array, run.start, run.start + 1, axis=d)
        return (
            one
            if run.count == 1
            else lax.broadcast_in_dim(
                one, (*array.shape[:d], run.count, *array.shape[d + 1 :]), tuple(range(array.ndim))
            )
        )
    lo, hi = min(run.start, run.last), max(run.start, run.last)
    part = array
    if (lo, hi + 1, abs(run.stride)) != (0, array.shape[d], 1):
        part = lax.slice_in_dim(array, lo, hi + 1, stride=abs(run.stride), axis=d)
    return lax.rev(part, (d,)) if run.stride < 0 else part


def _spread(array: jax.Array, place: int, times: int, d: int) -> jax.Array:
    """The array repeated along a new dimension at `place`, which is merged with the adjacent one."""
    shape = (*array.shape[:place], times, *array.shape[place:])
    kept = tuple(number for number in range(array.ndim + 1) if number != place)
    return _flattened(lax.broadcast_in_dim(array, shape, kept), d)


def _flattened(array: jax.Array, d: int) -> jax.Array:
    """Dimension `d` and the next as one."""
    shape = array.shape
    return lax.reshape(array, (*shape[:d], shape[d] * shape[d + 1], *shape[d + 2 :]))


def _slid(array: jax.Array, view: Slide) -> jax.Array:
    """The overlapping rows, or the columns if there are fewer, joined."""
    d = view.dimension
    by_row = view.rows <= view.columns
    count, apart = (view.rows, view.row_step) if by_row else (view.columns, 1)
    length, stride = (view.columns, 1) if by_row else (view.rows, view.row_step)
    parts = [
        lax.slice_in_dim(array, n * apart, n * apart + stride * (length - 1) + 1, stride=stride, axis=d)
        for n in range(count)
    ]
    return jnp.stack(parts, d if by_row else d + 1)


def _slanted(array: jax.Array, view: Slant) -> jax.Array:
    """Each row from its start: slices if there are few rows, a single one of the rest."""
    rows = array.shape[view.by]
    if not 0 < rows <= MOST_SLICES:
        return _skewed(array, view)
    starts = [view.first + view.weight * row for row in range(rows)]
    extent = array.shape[view.along]
    low, high = max(0, -min(starts)), max(0, max(starts) + view.count - extent)
    if low or high:
        array = _laid_out(array, view.along, low, high, 0)
    parts = [
        lax.slice_in_dim(
            lax.slice_in_dim(array, row, row + 1, axis=view.by), start + low, start + low + view.count, axis=view.along
        )
        for row, start in enumerate(starts)
    ]
    return lax.concatenate(parts, view.by)


def _skewed(array: jax.Array, view: Slant) -> jax.Array:
    """The rows of a matrix joined and read as rows that are shorter or longer, so that each begins at another offset.

    Zeros after every row separate the elements of adjacent rows.
    """
    weight, count = view.weight, view.count
    front = [d for d in range(array.ndim) if d < min(view.by, view.along)]
    behind = [d for d in range(array.ndim) if d not in (*front, view.by, view.along)]
    order = (*front, view.by, view.along, *behind)
    array, place = lax.transpose(array, order), len(front)
    rows, extent = array.shape[place], array.shape[place + 1]
    before = max(0, -view.first)
    first, last = view.first + before, view.first + before + count - 1
    reach = weight * (rows - 1)
    width = max(extent + before - min(0, first + reach), last + 1 + max(0, reach), count - weight)
    array = _laid_out(array, place + 1, before, width - extent - before, 0)
    flat, length = _flattened(array, place), rows * (width + weight)
    stop = min(first + length, rows * width)
    flat = _laid_out(lax.slice_in_dim(flat, first, stop, axis=place), place, 0, length - (stop - first), 0)
    found = lax.reshape(flat, (*flat.shape[:place], rows, width + weight, *flat.shape[place + 1 :]))
    found = lax.slice_in_dim(found, 0, count, axis=place + 1)
    return lax.transpose(found, [order.index(d) for d in range(found.ndim)])
