"""Tensor reads: slices, reshapes, diagonals and gathers."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import max_dim

from ..planning.data.nodes import Axes, Lookup, Read, Strip
from ..planning.data.views import Padded
from ..symbolic import IndexVar
from .context import Context, Lower, align, transpose
from .positions import Start, cut, numbers, position


def lower_read(node: Read, context: Context, lower: Lower) -> jax.Array:
    looked_up = [n for n, dimension in enumerate(node.dimensions) if isinstance(dimension, Lookup)]
    array = None if looked_up else _cut_and_padded(node, context)
    if array is None:
        array, moved = _pad(node, context)
        array = _cut(array, node.dimensions, moved, context)
    if looked_up:
        array, axes = _gather(array, node, looked_up, context, lower)
    else:
        array, axes = _split(array, [d for d in node.dimensions if isinstance(d, Strip)])
    array, axes = _diagonals(array, axes)
    return transpose(array, axes, node.axes)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The part of a strip that is inside its dimension, and the number of elements before and after it."""

    start: int
    stop: int
    stride: int
    before: int
    behind: int


def _cut_and_padded(node: Read, context: Context) -> jax.Array | None:
    """Slices of a padded tensor as padded slices, which XLA reads without a test; None if the position is not a number.

    Also None if it is one of many terms: they share one padded tensor, while XLA:CPU (0.10) would store each padded
    slice.
    """
    views = list(node.views)
    around: list[Padded] = []
    while views and isinstance(view := views[-1], Padded) and (not around or around[-1].value == view.value):
        around.append(view)
        views.pop()
    strips = [dimension for dimension in node.dimensions if isinstance(dimension, Strip)]
    lows = [strip.low + sum(view.low for view in around if view.dimension == n) for n, strip in enumerate(strips)]
    zeros = any(strip.low or strip.high for strip in strips)
    starts = numbers([position(strip.start, context) for strip in strips])
    many = any(strip.start.variables for strip in strips)
    if many or starts is None or not (around or zeros) or (around and zeros) or context.padded:
        return None
    array = context.viewed(node.tensor, tuple(views))
    if not all(isinstance(extent, int) for extent in array.shape):
        return None
    cuts = [
        _inside(strip, start - low, extent)
        for strip, start, low, extent in zip(strips, starts, lows, array.shape, strict=True)
    ]
    if any(c.start or c.stop != extent or c.stride != 1 for c, extent in zip(cuts, array.shape, strict=True)):
        array = lax.slice(array, [c.start for c in cuts], [c.stop for c in cuts], [c.stride for c in cuts])
    value = jnp.array(around[0].value if around else 0, array.dtype)
    array = lax.pad(array, value, [(c.before, c.behind, 0) for c in cuts])
    backwards = [n for n, strip in enumerate(strips) if strip.stride < 0 and strip.count > 1]
    return lax.rev(array, backwards) if backwards else array


def _inside(strip: Strip, first: int, extent: int) -> _Cut:
    """The part inside of a strip whose first element would be `first`; a backward one is cut forward."""
    count, stride = strip.count, abs(strip.stride) if strip.count > 1 else 1
    first = first if strip.stride > 0 or count < 2 else first - stride * (count - 1)
    before = min(count, max(0, -(first // stride)))
    last = min(count - 1, (extent - 1 - first) // stride)
    if last < before:
        return _Cut(0, 0, 1, count, 0)
    start = first + stride * before
    return _Cut(start, first + stride * last + 1, stride, before, count - 1 - last)


def _pad(node: Read, context: Context) -> tuple[jax.Array, list[int]]:
    """The tensor padded with zeros, and the number of zeros at the front beyond those that each strip asked for."""
    lows = [d.low if isinstance(d, Strip) else 0 for d in node.dimensions]
    sliced = all(isinstance(dimension, Strip) for dimension in node.dimensions)
    if sliced and not node.views and node.tensor in context.padded:
        array, before = context.padded[node.tensor]
        return array, [given - low for given, low in zip(before, lows, strict=True)]
    array = context.viewed(node.tensor, node.views)
    highs = [d.high if isinstance(d, Strip) else 0 for d in node.dimensions]
    return pad(array, lows, highs), [0] * array.ndim


def pad(array: jax.Array, lows: Sequence[int], highs: Sequence[int]) -> jax.Array:
    """The array padded with zeros."""
    if not any(lows) and not any(highs):
        return array
    widths = [(low, high, 0) for low, high in zip(lows, highs, strict=True)]
    return lax.pad(array, jnp.zeros((), array.dtype), widths)


def _cut(array: jax.Array, dimensions: tuple[Strip | Lookup, ...], moved: list[int], context: Context) -> jax.Array:
    """Each strip's elements, in order."""
    starts: list[Start] = []
    counts, strides, backwards = [], [], []
    for number, dimension in enumerate(dimensions):
        match dimension:
            case Lookup():
                starts.append(0)
                counts.append(array.shape[number])
                strides.append(1)
            case Strip(start, stride, count):
                first = position(start, context) + moved[number]
                if stride < 0 and count > 1:
                    first = first + stride * (count - 1)
                    backwards.append(number)
                starts.append(first if count else 0)
                counts.append(count)
                strides.append(abs(stride) if abs(stride) > 1 and count > 1 else 1)
    array = cut(array, starts, counts, strides)
    return lax.rev(array, backwards) if backwards else array


def _split(array: jax.Array, strips: list[Strip], first: int = 0) -> tuple[jax.Array, Axes]:
    """The strips, the dimensions from `first` on, reshaped to one per factor, without their unused tails."""
    axes: list[IndexVar] = []
    for strip in strips:
        dimension = first + len(axes)
        head, tail = array.shape[:dimension], array.shape[dimension + 1 :]
        if len(strip.factors) == 1 and strip.factors[0][2] == 1:
            axes.append(strip.factors[0][0])
            continue
        if strip.count == 0:
            extents = tuple(extent for _, extent, _ in strip.factors)
            array = lax.reshape(array, (*head, *extents, *tail))
        else:
            block = strip.count
            for number, (_, extent, unit) in enumerate(strip.factors):
                if extent * unit < block:
                    array = lax.slice_in_dim(array, 0, extent * unit, axis=dimension + number)
                array = lax.reshape(array, (*array.shape[: dimension + number], extent, unit, *tail))
                block = unit
            # The last block has one element: drop its dimension (and that of a strip without an axis).
            array = lax.squeeze(array, (dimension + len(strip.factors),))
        axes.extend(index for index, _, _ in strip.factors)
    return array, tuple(axes)


def _diagonals(array: jax.Array, axes: Axes) -> tuple[jax.Array, Axes]:
    """Two dimensions of one axis become their diagonal: every (n + 1)-th element of the flattened square."""
    while len(set(axes)) < len(axes):
        axis = next(axis for axis in axes if axes.count(axis) > 1)
        first = axes.index(axis)
        second = axes.index(axis, first + 1)
        rest = [number for number in range(len(axes)) if number not in (first, second)]
        array = lax.transpose(array, (first, second, *rest))
        extent, shape = array.shape[0], array.shape[2:]
        flat = lax.reshape(array, (extent * extent, *shape))
        array = lax.slice_in_dim(flat, 0, None, stride=extent + 1, axis=0) if extent > 1 else flat
        axes = (axis, *(axes[number] for number in rest))
    return array, axes


def _gather(
    array: jax.Array, node: Read, looked_up: list[int], context: Context, lower: Lower
) -> tuple[jax.Array, Axes]:
    """The elements (or rows) at looked-up positions: one gather, with offset dimensions for the slices."""
    lookups = [d for d in node.dimensions if isinstance(d, Lookup)]
    axes = tuple(axis for axis in node.axes if any(axis in lookup.positions.axes for lookup in lookups))
    columns = []
    for number, lookup in zip(looked_up, lookups, strict=True):
        found = align(lower(lookup.positions, context), lookup.positions.axes, axes)
        if lookup.clamp:
            found = jnp.clip(found, 0, max_dim(0, array.shape[number] - 1))
        columns.append(found)
    columns = jnp.broadcast_arrays(*columns)
    positions = jnp.stack(columns, axis=-1)
    kept = [number for number in range(array.ndim) if number not in looked_up]
    rank = positions.ndim - 1
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(rank, rank + len(kept))),
        collapsed_slice_dims=tuple(looked_up),
        start_index_map=tuple(looked_up),
    )
    sizes = [1 if number in looked_up else extent for number, extent in enumerate(array.shape)]
    if any(array.shape[number] == 0 for number in looked_up):
        # It is inside a condition that never holds, or it would have been refused.
        found = jnp.zeros((*positions.shape[:-1], *(array.shape[number] for number in kept)), array.dtype)
    else:
        found = lax.gather(array, positions, numbers, sizes, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)
    strips = [node.dimensions[number] for number in kept]
    # The gathered axes come first.
    found, rest = _split(found, [d for d in strips if isinstance(d, Strip)], rank)
    return found, (*axes, *rest)
