"""Where a statement's values go: the whole target, a region of it, or a scatter."""

import jax
import jax.numpy as jnp
from jax import lax

from ..ir import Reducer
from ..planning import Compute
from ..planning.nodes import Axes, Lookup, Strip
from .context import Context, Lower, align, numeric
from .elementwise import convert, lower_fill
from .reads import position
from .reductions import combine


def lower_store(stage: Compute, value: jax.Array, old: jax.Array | None, context: Context, lower: Lower) -> jax.Array:
    """The target after the statement; `old` is its content before, None where nothing was written yet."""
    store = stage.store
    axes = tuple(
        axis
        for dimension in store.dimensions
        for axis in (
            (index for index, _, _ in dimension.factors) if isinstance(dimension, Strip) else dimension.positions.axes
        )
    )
    if any(isinstance(dimension, Lookup) for dimension in store.dimensions) or len(set(axes)) < len(axes):
        return _scatter(stage, value, old, context, lower)
    strips = [dimension for dimension in store.dimensions if isinstance(dimension, Strip)]
    if any(_gaps(strip) for strip in strips):
        return _scatter(stage, value, old, context, lower)
    counts = tuple(strip.count for strip in strips)
    value = _shaped(value, stage, axes, strips, counts)
    mask = store.mask
    if mask is not None:
        mask = _shaped(lower(mask, context), stage, axes, strips, counts, mask.axes)
    starts = tuple(position(strip.start, context) for strip in strips)
    backwards = [number for number, strip in enumerate(strips) if strip.stride < 0]
    if backwards:
        starts = tuple(s - (c - 1) if d.stride < 0 else s for s, c, d in zip(starts, counts, strips, strict=True))
        value = lax.rev(value, backwards)
        mask = None if mask is None else lax.rev(mask, backwards)
    whole = counts == stage.shape
    if old is None:
        old = _blank(stage)
    here = old if whole else lax.slice(old, starts, [s + c for s, c in zip(starts, counts, strict=True)])
    value = _merged(stage, value, here)
    if mask is not None:
        value = jnp.where(mask, value, here)
    if whole:
        return value
    return lax.dynamic_update_slice(old, value, starts)


def _gaps(strip: Strip) -> bool:
    if abs(strip.stride) != 1 and strip.count > 1:
        return True
    size = 1
    for _, extent, _ in strip.factors:
        size *= extent
    return size != strip.count


def _shaped(
    array: jax.Array,
    stage: Compute,
    axes: Axes,
    strips: list[Strip],
    counts: tuple[int, ...],
    own: Axes | None = None,
) -> jax.Array:
    """The array over all target axes, broadcast and reshaped to the strips' extents."""
    extents = tuple(extent for strip in strips for _, extent, _ in strip.factors)
    array = align(array, stage.value.axes if own is None else own, axes)
    if array.shape != extents:
        array = jnp.broadcast_to(array, extents)
    return array if extents == counts else lax.reshape(array, counts)


def _blank(stage: Compute) -> jax.Array:
    blank = lower_fill_value(stage.store.blank, stage.dtype)
    return jnp.full(stage.shape, blank, numeric(stage.dtype))


def lower_fill_value(value: bool | int | float, dtype: str) -> jax.Array:
    """A constant of a scalar type, its extremes fitted to the type that holds it."""
    from ..planning.nodes import Fill

    return lower_fill(Fill(value, dtype=dtype), Context({}, {}))


def _merged(stage: Compute, value: jax.Array, here: jax.Array) -> jax.Array:
    store = stage.store
    folds = store.keeps and not store.restart and store.combine not in (None, Reducer.ARGMIN, Reducer.ARGMAX)
    if folds and store.combine is not None:
        value = combine(store.combine)(convert(here, stage.accumulate), value)
    return convert(value, stage.dtype)


def _scatter(stage: Compute, value: jax.Array, old: jax.Array | None, context: Context, lower: Lower) -> jax.Array:
    """One `scatter` over all points; targets outside are dropped."""
    store = stage.store
    columns: list[tuple[jax.Array, Axes]] = []
    for dimension, extent in zip(store.dimensions, stage.shape, strict=True):
        match dimension:
            case Lookup(positions):
                found = lower(positions, context)
                # A negative position would count from the end.
                columns.append((jnp.where(found < 0, extent, found), positions.axes))
            case Strip(start, stride, _, _, _, factors):
                columns.append(_positions(position(start, context), stride, factors))
    mask = None if store.mask is None else (lower(store.mask, context), store.mask.axes)
    parts = [a for _, a in columns] + [stage.value.axes] + ([mask[1]] if mask else [])
    axes = tuple(dict.fromkeys(axis for part in parts for axis in part))
    if mask is not None and columns:
        first = columns[0]
        kept = align(mask[0], mask[1], axes)
        columns[0] = (jnp.where(kept, align(*first, axes), stage.shape[0]), axes)
    aligned = [align(array, own, axes) for array, own in columns]
    aligned = jnp.broadcast_arrays(*aligned) if len(aligned) > 1 else aligned
    spread = align(value, stage.value.axes, axes)
    place = tuple(aligned)
    target = _blank(stage) if old is None else old
    shape = jnp.broadcast_shapes(*(a.shape for a in aligned), spread.shape)
    spread = jnp.broadcast_to(spread, shape)
    place = tuple(jnp.broadcast_to(a, shape) for a in place)
    if store.combine is None:
        return target.at[place].set(convert(spread, stage.dtype), mode="drop")
    if store.restart and old is not None:
        blank = lower_fill_value(store.blank, stage.dtype)
        target = target.at[place].set(blank, mode="drop")
    wide = convert(target, stage.accumulate)
    return convert(_accumulated(store.combine, wide, place, convert(spread, stage.accumulate)), stage.dtype)


def _positions(start: int, stride: int, factors: tuple[tuple[object, int, int], ...]) -> tuple[jax.Array, Axes]:
    total = jnp.int32(start)
    for _, extent, unit in factors:
        total = total[..., None] + lax.iota(jnp.int32, extent) * (stride * unit)
    return total, tuple(index for index, _, _ in factors)  # type: ignore[return-value]


def _accumulated(reducer: Reducer, target: jax.Array, place: tuple[jax.Array, ...], value: jax.Array) -> jax.Array:
    at = target.at[place]
    match reducer:
        case Reducer.SUM if target.dtype == jnp.bool_:
            counted = target.astype(jnp.int32).at[place].add(value.astype(jnp.int32), mode="drop")
            return (counted & 1).astype(jnp.bool_)
        case Reducer.SUM:
            return at.add(value, mode="drop")
        case Reducer.PRODUCT:
            return at.multiply(value, mode="drop")
        case Reducer.MIN:
            return at.min(value, mode="drop")
        case Reducer.MAX:
            return at.max(value, mode="drop")
        case Reducer.ANY:
            return target.astype(jnp.int32).at[place].max(value.astype(jnp.int32), mode="drop").astype(jnp.bool_)
        case Reducer.ALL:
            return target.astype(jnp.int32).at[place].min(value.astype(jnp.int32), mode="drop").astype(jnp.bool_)
        case _:
            raise AssertionError(reducer)
