"""Loops: one step after the other, by `lax.scan`."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.steps import Kept, Lagged, State, Steps, Value, Whole, Window
from .context import numeric

Arrays = Mapping[str, jax.Array]
# What the steps so far leave: rows of each tensor, the last one first; states as a whole.
Carry = dict[str, tuple[jax.Array, ...]]
Step = Callable[[Arrays], tuple[jax.Array, ...]]


def lower_steps(steps: Steps, known: Arrays, step: Step) -> dict[str, jax.Array]:
    """What a loop writes that something behind it needs; `step` computes the results of one step."""
    whole = {name: known[taken.tensor] for name, taken in steps.inputs if isinstance(taken, Whole)}
    moving = {name: _moving(taken, steps, known) for name, taken in steps.inputs if isinstance(taken, Window)}
    before = {
        name: _before(_of(steps, taken.tensor), steps, known)
        for name, taken in steps.inputs
        if isinstance(taken, Lagged) and not taken.lag
    }
    values = jnp.arange(steps.count, dtype="int32") * steps.apart + steps.low

    def body(carry: Carry, given: tuple[Arrays, jax.Array]) -> tuple[Carry, list[jax.Array]]:
        arrays = {**whole, **given[0]}
        for name, taken in steps.inputs:
            match taken:
                case Lagged(tensor, lag) if lag:
                    arrays[name] = carry[tensor][lag - 1]
                case State(tensor):
                    [arrays[name]] = carry[tensor]
                case Value():
                    arrays[name] = given[1]
                case _:
                    continue
        results = step(arrays)
        after: Carry = {}
        rows: list[jax.Array] = []
        for kept, result in zip(steps.kept, results, strict=True):
            if kept.dimension is None:
                after[kept.tensor] = (result,)
                continue
            after[kept.tensor] = (result, *carry[kept.tensor])[: kept.order]
            if kept.stays:
                rows.append(result)
        return after, rows

    first = {kept.tensor: _first(kept, steps, known) for kept in steps.kept}
    if not steps.count:
        return {kept.tensor: _content(kept, known) for kept in steps.kept if kept.stays}
    last, stacked = lax.scan(body, first, ({**moving, **before}, values), reverse=steps.backwards)
    rows = iter(stacked)
    return {
        kept.tensor: last[kept.tensor][0] if kept.dimension is None else _joined(kept, steps, known, next(rows))
        for kept in steps.kept
        if kept.stays
    }


def _of(steps: Steps, tensor: str) -> Kept:
    """How the loop keeps a tensor that only the row of a step has."""
    return next(kept for kept in steps.kept if kept.tensor == tensor)


def _content(kept: Kept, known: Arrays) -> jax.Array:
    """A tensor before the loop: zeros where nothing was written."""
    found = known.get(kept.tensor)
    return jnp.zeros(kept.shape, numeric(kept.dtype)) if found is None else found


def _first(kept: Kept, steps: Steps, known: Arrays) -> tuple[jax.Array, ...]:
    """What the first step is given of a tensor: the rows before it, or all of it."""
    if kept.dimension is None:
        return (_content(kept, known),)
    rest = (*kept.shape[: kept.dimension], *kept.shape[kept.dimension + 1 :])
    rows: list[jax.Array] = []
    for lag in range(1, kept.order + 1):
        at = steps.value(-lag) + kept.offset
        if kept.tensor in known and 0 <= at < kept.shape[kept.dimension]:
            rows.append(lax.index_in_dim(known[kept.tensor], at, kept.dimension, keepdims=False))
        else:
            rows.append(jnp.zeros(rest, numeric(kept.dtype)))
    return tuple(rows)


def _before(kept: Kept, steps: Steps, known: Arrays) -> jax.Array:
    """The rows that the steps write, as they are before the loop."""
    assert kept.dimension is not None
    count, content = steps.count, _content(kept, known)
    rows = _strided(content, kept.dimension, steps.low + kept.offset, steps.apart, count)
    return jnp.moveaxis(rows, kept.dimension, 0)


def _joined(kept: Kept, steps: Steps, known: Arrays, rows: jax.Array) -> jax.Array:
    """The tensor with the rows of all steps in it."""
    dimension = kept.dimension
    assert dimension is not None
    found = jnp.moveaxis(rows, 0, dimension)
    extent, low = kept.shape[dimension], steps.low + kept.offset
    if steps.apart == 1:
        content = None if low == 0 and steps.count == extent else _content(kept, known)
        if content is None:
            return found
        parts = [
            lax.slice_in_dim(content, 0, low, axis=dimension),
            found,
            lax.slice_in_dim(content, low + steps.count, extent, axis=dimension),
        ]
        return lax.concatenate([part for part in parts if part.shape[dimension]], dimension)
    places = (slice(None),) * dimension + (slice(low, low + steps.apart * (steps.count - 1) + 1, steps.apart),)
    return _content(kept, known).at[places].set(found)


def _strided(array: jax.Array, dimension: int, start: int, stride: int, count: int) -> jax.Array:
    """Elements along a dimension from `start` on; zeros beyond the ends."""
    lowest, highest = min(start, start + stride * (count - 1)), max(start, start + stride * (count - 1))
    low, high = max(0, -lowest), max(0, highest + 1 - array.shape[dimension])
    if low or high:
        widths = [(low, high, 0) if d == dimension else (0, 0, 0) for d in range(array.ndim)]
        array = lax.pad(array, jnp.zeros((), array.dtype), widths)
    lowest, highest = lowest + low, highest + low
    found = lax.slice_in_dim(array, lowest, highest + 1, abs(stride) or 1, dimension)
    return lax.rev(found, (dimension,)) if stride < 0 else found


def _moving(window: Window, steps: Steps, known: Arrays) -> jax.Array:
    """The parts that the steps are given, one for each value of the index upwards."""
    array = known[window.tensor]
    moving = [d for d, (weight, _) in enumerate(window.begins) if weight]
    if len(moving) == 1 and window.counts[moving[0]] is None:
        [dimension] = moving
        weight, start = window.begins[dimension]
        start += weight * steps.low
        return jnp.moveaxis(_strided(array, dimension, start, weight * steps.apart, steps.count), dimension, 0)
    # Several dimensions move, or parts overlap: positions for each step and each element of the part.
    widths: list[tuple[int, int, int]] = []
    places: list[jax.Array] = []
    sizes = [count for count in window.counts if count is not None]
    rank = 1 + len(sizes)
    axis = 1
    steps_at = jnp.arange(steps.count, dtype="int32")
    for d, ((weight, start), count) in enumerate(zip(window.begins, window.counts, strict=True)):
        at = steps_at.reshape(-1, *[1] * (rank - 1)) * (weight * steps.apart)
        ends = [start + weight * (steps.low + steps.apart * k) for k in (0, steps.count - 1)]
        length = count or 1
        low, high = max(0, -min(ends)), max(0, max(ends) + length - array.shape[d])
        widths.append((low, high, 0))
        at = at + (start + weight * steps.low + low)
        if count is not None:
            at = at + jnp.arange(count, dtype="int32").reshape(-1, *[1] * (rank - 1 - axis))
            axis += 1
        places.append(at)
    if any(low or high for low, high, _ in widths):
        array = lax.pad(array, jnp.zeros((), array.dtype), widths)
    return array[tuple(jnp.broadcast_arrays(*places))]
