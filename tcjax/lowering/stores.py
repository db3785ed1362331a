"""Stores a statement's values: to the whole target, a region of it, or by a scatter."""

import functools
from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .. import ir
from ..ir import Monoid, Reducer
from ..planning.data.machine import CHEAP
from ..planning.data.nodes import (
    Apply,
    Axes,
    CallBuiltin,
    Fill,
    Iota,
    Lookup,
    Node,
    Read,
    Strip,
    below,
    has,
    is_elementwise,
    tensors_read,
)
from ..planning.data.stages import Compute, Scatter
from ..symbolic import IndexVar
from .apart import BARRIERS_HOLD, looped
from .context import Context, Lower, align, numeric, ranked
from .elementwise import convert, lower_fill
from .positions import Start, cut, numbers, position, put
from .reducers import combine, scatter
from .reductions import lower_contract, rounds
from .registered import nothing
from .scatters import DROPPED, Place, scatter_sorted
from .segments import scatter_elements
from .sizes import as_int32, positive, same
from .varying import steady


def lower_value(stage: Compute, old: jax.Array | None, context: Context, lower: Lower) -> jax.Array:
    """The values of a statement; `old` is the target's content before.

    Derivatives recompute sums and products whose axes the store joins: their operands are broadcast along
    each other's axes. XLA:CPU would store the broadcast operands, as large as the result, if both the result and a sum
    in its derivative read them.
    """
    replaces = stage.store.scatter is None and (_begins(stage, old) or not stage.store.goes_on)
    if replaces and rounds(stage.value, stage.dtype):
        return lower_contract(stage.value, context, lower, stage.dtype)
    strips = [dimension for dimension in stage.store.dimensions if isinstance(dimension, Strip)]
    along = stage.store.scatter is None and _is_joined(strips) and _is_loop_along(stage.value, stage.store.sliced)
    if not BARRIERS_HOLD or not along or not _is_polynomial(stage.value) or context.steps:
        return lower(stage.value, context)

    @jax.checkpoint
    def anew(arrays: dict[str, jax.Array]) -> jax.Array:
        return lower(stage.value, Context(arrays, context.foreign))

    return anew({name: context.arrays[name] for name in sorted(tensors_read(stage.value))})


def lower_store(stage: Compute, value: jax.Array, old: jax.Array | None, context: Context, lower: Lower) -> jax.Array:
    """The target after the statement; `old` is its content before, None if nothing has been written yet."""
    store = stage.store
    axes = tuple(
        axis
        for dimension in store.dimensions
        for axis in (
            (index for index, _, _ in dimension.factors) if isinstance(dimension, Strip) else dimension.positions.axes
        )
    )
    if store.scatter is not None:
        return _scatter(stage, store.scatter, value, old, context, lower)
    strips = [dimension for dimension in store.dimensions if isinstance(dimension, Strip)]
    starts = tuple(position(strip.start, context) for strip in strips)
    apart = any(abs(strip.stride) > 1 and strip.count > 1 for strip in strips)
    counts = tuple(strip.count for strip in strips)
    value = _shaped(value, stage, axes, strips, counts)
    mask = store.mask
    if mask is not None:
        mask = _shaped(lower(mask, context), stage, axes, strips, counts, mask.axes)
    if any(strip.low or strip.high for strip in strips):
        # There are no elements beyond the ends.
        value, mask = _inside(value, strips), None if mask is None else _inside(mask, strips)
        # A start is relative to the first position before the dimension.
        strips = [replace(d, count=d.count - d.low - d.high, low=0, high=0) for d in strips]
        counts = tuple(strip.count for strip in strips)
    if 0 in [count for count in counts if isinstance(count, int)]:
        # The positions may be outside the target.
        return _zeros(stage) if old is None else old
    backwards = [number for number, strip in enumerate(strips) if strip.stride < 0]
    if backwards:
        starts = tuple(
            s + (c - 1) * d.stride if d.stride < 0 else s for s, c, d in zip(starts, counts, strips, strict=True)
        )
        strips = [replace(strip, stride=abs(strip.stride)) for strip in strips]
        value = lax.rev(value, backwards)
        mask = None if mask is None else lax.rev(mask, backwards)
    if apart:
        known = numbers(starts)
        assert known is not None
        return _apart(stage, value, mask, old, known, strips)
    whole = counts == stage.shape
    target = _zeros(stage) if old is None else old
    if _begins(stage, old):
        here = jnp.full(counts, _blank(stage), target.dtype)
    else:
        here = target if whole else cut(target, starts, counts, [1] * len(counts))
        if store.combine is not None and store.goes_on:
            value = combine(store.combine)(convert(here, stage.accumulate), value)
    value = convert(value, stage.dtype)
    if mask is not None:
        value = jnp.where(mask, value, here)
    return value if whole else put(target, value, starts)


def _inside(array: jax.Array, strips: Sequence[Strip]) -> jax.Array:
    """The part of the values with positions in the target."""
    return lax.slice(array, [strip.low for strip in strips], [strip.count - strip.high for strip in strips])


def _apart(
    stage: Compute,
    value: jax.Array,
    mask: jax.Array | None,
    old: jax.Array | None,
    starts: Sequence[int],
    strips: list[Strip],
) -> jax.Array:
    """The target with values at regular distances: dilated to its size, and selected where they are active.

    A scatter would do as well, at many times the cost.
    """
    target = _zeros(stage) if old is None else old
    widths = [
        (start, extent - (start + strip.stride * (strip.count - 1) + 1), strip.stride - 1)
        for start, strip, extent in zip(starts, strips, stage.shape, strict=True)
    ]
    counts = jnp.ones(value.shape, bool) if mask is None else mask
    here = lax.pad(counts, jnp.zeros((), bool), widths)
    spread = lax.pad(value, jnp.zeros((), value.dtype), widths)
    if _begins(stage, old):
        named = lax.pad(jnp.ones(value.shape, bool), jnp.zeros((), bool), widths)
        target = jnp.where(named, _blank(stage), target)
    elif stage.store.combine is not None and stage.store.goes_on:
        spread = combine(stage.store.combine)(convert(target, stage.accumulate), spread)
    return jnp.where(here, convert(spread, stage.dtype), target)


def boxed(stage: Compute, value: jax.Array) -> jax.Array:
    """The values of a stage that writes a box, with one dimension for each of the target's."""
    strips = [dimension for dimension in stage.store.dimensions if isinstance(dimension, Strip)]
    counts = tuple(strip.count for strip in strips)
    return convert(_shaped(value, stage, stage.store.sliced, strips, counts), stage.dtype)


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
    if extents == counts:
        return array
    if own is None and _is_joined(strips) and _is_loop_along(stage.value, axes):
        array = looped(array, cheap=_is_cheap(stage.value))
    return lax.reshape(array, counts)


def _is_joined(strips: Sequence[Strip]) -> bool:
    """Whether several axes are merged into one dimension."""
    several = (strip for strip in strips if len(strip.factors) > 1)
    return any(sum(extent > 1 for _, extent, _ in strip.factors) > 1 for strip in several)


def _is_loop_along(value: Node, axes: Axes) -> bool:
    """Whether the arithmetic is one loop over these axes, for which no operand is transposed."""
    if isinstance(value, Read) or not is_elementwise(value):
        return False
    reads = [node for node in below(value) if isinstance(node, Read)]
    stored = [[axis for d in read.dimensions if isinstance(d, Strip) for axis, _, _ in d.factors] for read in reads]
    return all(own == [axis for axis in axes if axis in own] for own in stored)


def _is_cheap(value: Node) -> bool:
    """Whether it contains only operators and cheap functions: LLVM unrolls fewer steps of others."""

    def is_one(node: Node) -> bool:
        match node:
            case Read(dimensions=dimensions):
                return all(isinstance(dimension, Strip) for dimension in dimensions)
            case CallBuiltin(function=function):
                return function in CHEAP
            case _:
                return isinstance(node, Apply | Fill | Iota)

    return all(map(is_one, below(value)))


def _is_polynomial(value: Node) -> bool:
    """Whether it contains only sums and products of elements: recomputing a choice in a derivative costs more."""
    operators = [node.operator for node in below(value) if isinstance(node, Apply)]
    return _is_cheap(value) and not set(operators) - {"+", "-", "*", "neg"} and not has(value, CallBuiltin, Iota)


def _zeros(stage: Compute) -> jax.Array:
    return jnp.zeros(stage.shape, numeric(stage.dtype))


def _begins(stage: Compute, old: jax.Array | None) -> bool:
    """Whether the elements named by the left side start from the identity."""
    return stage.store.combine is not None and (stage.store.restart or old is None)


def _blank(stage: Compute) -> jax.Array:
    """The identity of the statement's reduction."""
    if isinstance(stage.store.combine, Monoid):
        return convert(nothing(stage.store.combine, _running(stage)), stage.dtype)
    return convert(lower_fill_value(stage.store.blank, stage.accumulate), stage.dtype)


def _running(stage: Compute) -> str:
    """The type of the elements that are reduced."""
    assert isinstance(stage.statement, ir.Accumulate)
    return stage.statement.accumulate


def lower_fill_value(value: bool | int | float, dtype: str) -> jax.Array:
    """A constant of a scalar type, with extremes fitted to the type that represents it."""
    return lower_fill(Fill(value, dtype=dtype), Context({}, {}))


def begun(stage: Compute, old: jax.Array | None, context: Context, lower: Lower) -> jax.Array:
    """The target of a scatter before its first point."""
    target = _zeros(stage) if old is None else old
    return _restarted(stage, target, _columns(stage, context, lower)) if _begins(stage, old) else target


def _columns(stage: Compute, context: Context, lower: Lower) -> list[tuple[jax.Array, Axes]]:
    """The positions in each dimension."""
    columns: list[tuple[jax.Array, Axes]] = []
    for dimension in stage.store.dimensions:
        match dimension:
            case Lookup(positions):
                columns.append((lower(positions, context), positions.axes))
            case Strip(start, stride, _, _, _, factors):
                columns.append(_positions(position(start, context), stride, factors))
    return columns


def _scatter(
    stage: Compute, scatter: Scatter, value: jax.Array, old: jax.Array | None, context: Context, lower: Lower
) -> jax.Array:
    """The target after a scatter over all points; targets outside are dropped. Rows lie last while the values meet."""
    store = stage.store
    target = _zeros(stage) if old is None else old
    if target.size == 0:
        # Every position is outside, and JAX cannot read from an empty array, which derivatives would have to do.
        return target
    columns = _columns(stage, context, lower)
    if _begins(stage, old):
        target = _restarted(stage, target, columns)
    rows = scatter.rows
    order = [*(number for number in range(len(columns)) if number not in rows), *rows]
    inside = tuple(axis for number in rows for axis in columns[number][1])
    found = [columns[number] for number in order if number not in rows]
    mask = None if store.mask is None else (lower(store.mask, context), store.mask.axes)
    weight = None if store.weight is None else (lower(store.weight, context), store.weight.axes)
    axes = tuple(axis for axis in scatter.points if axis not in inside)
    if isinstance(store.combine, Monoid):
        axes = tuple(sorted(axes, key=_order(stage).index))
    if mask is not None:
        found[0] = (jnp.where(align(*mask, axes), align(*found[0], axes), stage.shape[order[0]]), axes)
    every = (*axes, *inside)
    place = [ranked(align(array, own, axes), len(axes)) for array, own in found]
    spread = ranked(align(value, stage.value.axes, every), len(every))
    count = None if weight is None else ranked(align(*weight, every), len(every))
    target = lax.transpose(target, order)
    if scatter.along is not None:
        assert isinstance(store.combine, Reducer)
        wide, along = convert(target, stage.accumulate), axes.index(scatter.along)
        result = _in_slices(store.combine, wide, place, convert(spread, stage.accumulate), along)
    else:
        result = _combined(stage, target, *_everywhere(place, spread, count), goes_on=not _begins(stage, old))
    return lax.transpose(convert(result, stage.dtype), np.argsort(order))


def _combined(
    stage: Compute, target: jax.Array, place: Place, value: jax.Array, count: jax.Array | None, *, goes_on: bool
) -> jax.Array:
    """The target after a scatter that needs more than an operator."""
    combine = stage.store.combine
    if combine is None:
        return scatter(None, target, place, convert(value, stage.dtype), None)
    if isinstance(combine, Monoid):
        return scatter_elements(combine, target, place, value, _running(stage), goes_on=goes_on)
    assert stage.store.scatter is not None
    if stage.store.scatter.is_sorted:
        wide = convert(target, stage.accumulate)
        return scatter_sorted(combine, wide, place, convert(value, stage.accumulate))
    if combine.gives_position:
        return scatter(combine, target, place, convert(value, stage.dtype), count)
    return scatter(combine, convert(target, stage.accumulate), place, convert(value, stage.accumulate), count)


def _everywhere(
    place: Sequence[jax.Array], value: jax.Array, count: jax.Array | None
) -> tuple[Place, jax.Array, jax.Array | None]:
    """The positions for every point; the values, and how many points each stands for, for every point and row."""
    rank = place[0].ndim
    own = [part.shape[:rank] for part in (value, count) if part is not None]
    points = jnp.broadcast_shapes(*(column.shape for column in place), *own)
    whole = (*points, *value.shape[rank:])
    columns = tuple(jnp.broadcast_to(column, points) for column in place)
    return columns, jnp.broadcast_to(value, whole), None if count is None else jnp.broadcast_to(count, whole)


def _in_slices(
    combine: Reducer, target: jax.Array, place: Sequence[jax.Array], value: jax.Array, axis: int
) -> jax.Array:
    """The target with the value combined at its positions, one slice of an axis of the points after another."""

    def step(number: jax.Array, running: jax.Array) -> jax.Array:
        def sliced(part: jax.Array) -> jax.Array:
            return part if part.shape[axis] == 1 else lax.dynamic_slice_in_dim(part, number, 1, axis)

        columns, spread, _ = _everywhere([*map(sliced, place)], sliced(value), None)
        return scatter(combine, running, columns, spread, None)

    target = steady(lambda running: step(jnp.int32(0), running), target, (*place, value))
    return lax.fori_loop(0, max(part.shape[axis] for part in (*place, value)), step, target)


def _order(stage: Compute) -> list[IndexVar]:
    """The indices of a statement in the order of its points: first those of the left side."""
    assert isinstance(stage.statement, ir.Accumulate)
    left = [index for subscript in stage.statement.indices for index in sorted(subscript.variables, key=str)]
    return list(dict.fromkeys((*left, *stage.statement.reduction)))


def _restarted(stage: Compute, target: jax.Array, columns: list[tuple[jax.Array, Axes]]) -> jax.Array:
    """The target with the identity wherever the left side can name an element, for any data."""
    extents = dict.fromkeys(extent for array, _ in columns for extent in array.shape)
    if any(same(extent, 0) for extent in extents):
        return target
    # A symbolic size may be 0 at run time.
    maybe_none = [as_int32(extent) for extent in extents if positive(extent) is not extent]
    named = functools.reduce(jnp.logical_and, [extent > 0 for extent in maybe_none], jnp.bool_(True))

    def begun(found: jax.Array) -> jax.Array:
        return jnp.where(named, found, target) if maybe_none else found

    rows = () if stage.store.scatter is None else stage.store.scatter.rows
    every = {*stage.store.open, *rows}
    fixed = [columns[number] for number in range(len(columns)) if number not in every]
    if not fixed:
        return begun(jnp.full(target.shape, _blank(stage), target.dtype))
    axes = tuple(dict.fromkeys(axis for _, own in fixed for axis in own))
    aligned = iter([align(array, own, axes) for array, own in fixed])
    place = tuple(slice(None) if number in every else next(aligned) for number in range(len(columns)))
    return begun(target.at[place].set(_blank(stage), **DROPPED))


def _positions(start: Start, stride: int, factors: tuple[tuple[object, int, int], ...]) -> tuple[jax.Array, Axes]:
    total = jnp.int32(start)
    for _, extent, unit in factors:
        total = total[..., None] + lax.iota(jnp.int32, extent) * (stride * unit)
    return total, tuple(index for index, _, _ in factors)  # type: ignore[return-value]
