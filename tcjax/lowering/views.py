"""Arrays extended, repeated, merged and divided by slices, concatenations, reshapes and transposes: no gather."""

from collections.abc import Iterable
from typing import assert_never

import jax
import jax.numpy as jnp
from jax import lax

from ..ir import types
from ..planning.data.views import Divide, Merge, Padded, Pieces, Repeat, Slant, Slide, Tile, View, Zeros, are_blocks
from ..symbolic.runs import Run


def viewed(array: jax.Array, views: Iterable[View]) -> jax.Array:
    """The array after all views, one after the other."""
    views = tuple(views)
    done = 0
    while done < len(views):
        match views[done : done + 2]:
            case (Pieces() as first, Pieces() as second) if are_blocks(first, second):
                array = _put_together(array, first, second)
                done += 2
            case _:
                array = _viewed(array, views[done])
                done += 1
    return array


def _put_together(array: jax.Array, first: Pieces, second: Pieces) -> jax.Array:
    """Two dimensions in pieces, block by block."""
    shape = list(array.shape)
    for pieces in (first, second):
        shape[pieces.dimension] = sum(run.count for run in pieces.runs)
    whole = jnp.zeros(shape, array.dtype)
    place = [0] * array.ndim
    for run in first.runs:
        place[second.dimension] = 0
        for other in second.runs:
            if isinstance(run, Run) and isinstance(other, Run):
                block = _run(_run(array, first.dimension, run), second.dimension, other)
                whole = lax.dynamic_update_slice(whole, block, place)
            place[second.dimension] += other.count
        place[first.dimension] += run.count
    return whole


def _viewed(array: jax.Array, view: View) -> jax.Array:
    shape = array.shape
    match view:
        case Pieces(d, runs, fused):
            parts = [_run(array, d, run) for run in runs]
            return _added(parts, d) if fused else parts[0] if len(parts) == 1 else lax.concatenate(parts, d)
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


def _added(parts: list[jax.Array], d: int) -> jax.Array:
    """The parts behind each other along a dimension, as a sum of padded ones: XLA:CPU stores concatenations.

    Stencils on a torus take a fifth of the time, and so do their derivatives.
    """
    kind = parts[0].dtype
    if not jnp.issubdtype(kind, jnp.number) or kind.name not in types.SCALARS:
        return lax.concatenate(parts, d)
    # Of all numbers negative zero alone leaves every other as it is.
    nothing = 0 if jnp.issubdtype(kind, jnp.integer) else -0.0
    nothing = complex(-0.0, -0.0) if jnp.issubdtype(kind, jnp.complexfloating) else nothing
    extent, place = sum(part.shape[d] for part in parts), 0
    total: jax.Array | None = None
    for part in parts:
        count = part.shape[d]
        laid = _laid_out(part, d, place, extent - place - count, nothing)
        total, place = laid if total is None else total + laid, place + count
    assert total is not None
    return total


def _laid_out(array: jax.Array, d: int, low: int, high: int, value: complex) -> jax.Array:
    """The array with elements of one value before it and behind it."""
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
    """The array repeated along a new dimension at `place`, which is merged with the one beside it."""
    shape = (*array.shape[:place], times, *array.shape[place:])
    kept = tuple(number for number in range(array.ndim + 1) if number != place)
    return _flattened(lax.broadcast_in_dim(array, shape, kept), d)


def _flattened(array: jax.Array, d: int) -> jax.Array:
    """Dimension `d` and the next as one."""
    shape = array.shape
    return lax.reshape(array, (*shape[:d], shape[d] * shape[d + 1], *shape[d + 2 :]))


def _slid(array: jax.Array, view: Slide) -> jax.Array:
    """The overlapping rows, or the columns where they are fewer, behind each other."""
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
    """The rows of a matrix behind each other, read as rows that are shorter or longer: each begins somewhere else.

    Zeros behind every row keep apart what is in one from what is in the next.
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
