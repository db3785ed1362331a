"""Reductions as states: their initial value, their update by a point, their combination, and their result.

They run on tiles in a kernel and on whole arrays when partial results of several programs are combined, with operations
that Triton lowers: for reductions, sums, minima and maxima. Its minima and maxima of floats ignore NaN, unlike index
notation, so comparisons are used here.
"""

from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import triton

from ...ir import Reducer, types
from ..context import numeric

State = tuple[jax.Array, ...]
Shape = tuple[int, ...]

# The position that stands for "no point".
_NOWHERE: Final = np.int32(2**31 - 1)


def scalar(value: bool | int | float, dtype: Any) -> Any:
    """A constant of a type, known while a kernel is traced; an extreme of 64 bits is fitted to 32 bits."""
    kind = np.dtype(dtype)
    if isinstance(value, int) and not isinstance(value, bool) and kind.kind in "iu":
        info = np.iinfo(kind)
        value = min(max(value, int(info.min)), int(info.max))
    return np.asarray(value, kind)[()]


def running_type(reducer: Reducer, accumulate: str) -> Any:
    """The type of the running values: 16-bit floats that are only compared run in float32."""
    if reducer.takes_bool or accumulate == "bool":
        return np.dtype(np.int32)
    if accumulate in types.HALVES:
        return np.dtype(np.float32)
    return numeric(accumulate)


def has_lanes(reducer: Reducer) -> bool:
    """Whether the values within a tile can be combined with each other."""
    return reducer is not Reducer.PRODUCT


def begin(reducer: Reducer, accumulate: str, shape: Shape, *, counted: bool) -> State:
    """The state before any point. If `counted`, a mean counts its points, and a position the points with its value."""
    kind = running_type(reducer, accumulate)

    def full(value: bool | int | float, dtype: Any = kind) -> jax.Array:
        return jnp.full(shape, scalar(value, dtype), dtype)

    match reducer:
        case Reducer.MEAN:
            return (full(0), full(0)) if counted else (full(0),)
        case Reducer.LOGSUMEXP:
            return full(float("-inf")), full(0)
        case _ if reducer.gives_position:
            ties = (full(0, np.int32),) if counted else ()
            return full(reducer.variant(gives_position=False).empty(accumulate)), full(int(_NOWHERE), np.int32), *ties
        case _:
            return (full(reducer.empty(accumulate)),)


def step(
    reducer: Reducer,
    accumulate: str,
    state: State,
    value: jax.Array,
    mask: jax.Array | None,
    position: Any,
    *,
    on_device: bool = False,
) -> State:
    """The state after one more point in every lane where the mask holds.

    `position` is the number of the point, ascending in every lane. `on_device` says that this is lowered for an NVIDIA
    device and may use its instructions.
    """
    kind = running_type(reducer, accumulate)
    value = value.astype(kind)
    if not reducer.gives_position and mask is not None:
        nothing = reducer.empty(accumulate) if reducer.continues else 0
        value = jnp.where(mask, value, scalar(nothing, kind))
    match reducer, state:
        case Reducer.SUM, (total,):
            return (total ^ value if accumulate == "bool" else total + value,)
        case Reducer.PRODUCT, (total,):
            return (total * value,)
        case Reducer.ANY, (found,):
            return (found | value,)
        case Reducer.ALL, (found,):
            return (found & value,)
        case Reducer.MEAN, (total,):
            return (total + value,)
        case Reducer.MEAN, (total, count):
            one = scalar(1, kind)
            return total + value, count + (one if mask is None else jnp.where(mask, one, scalar(0, kind)))
        case Reducer(is_extremum=True), (best,) if on_device and kind == jnp.float32:
            return (_instruction(reducer.value, value, best),)
        case Reducer(is_extremum=True), (best,):
            return (jnp.where(precedes(reducer, value, best), value, best),)
        case Reducer.LOGSUMEXP, (largest, total):
            return _online(largest, total, value)
        case Reducer(gives_position=True), (best, place, *ties):
            better = precedes(reducer, value, best) | (place == _NOWHERE)
            if jnp.issubdtype(kind, jnp.floating):
                # The first NaN is kept.
                better &= (best == best) | (place == _NOWHERE)
            same = value == best
            if mask is not None:
                better, same = better & mask, same & mask
            one = scalar(1, np.int32)
            ties = [jnp.where(better, one, jnp.where(same, count + one, count)) for count in ties]
            return jnp.where(better, value, best), jnp.where(better, position, place), *ties
        case _:
            raise AssertionError(reducer)


def _instruction(name: str, one: jax.Array, other: jax.Array) -> jax.Array:
    """The minimum or maximum that is NaN if either operand is: one instruction instead of two comparisons and a select.

    PTX ISA, section 9.7.3.11 (``min.NaN.f32``, from sm_80 on).
    """
    operands = jnp.broadcast_arrays(one, other)
    out = [jax.ShapeDtypeStruct(operands[0].shape, jnp.float32)]
    asm = f"{name}.NaN.f32 $0, $1, $2;"
    (result,) = triton.elementwise_inline_asm(asm, args=operands, constraints="=f,f,f", pack=1, result_shape_dtypes=out)
    return result


def precedes(reducer: Reducer, value: jax.Array, best: jax.Array) -> jax.Array:
    """Whether the value replaces the best so far; NaN does, and stays."""
    better = value > best if reducer.order == "max" else value < best
    if jnp.issubdtype(best.dtype, jnp.floating):
        better |= value != value
    return better


def _online(largest: jax.Array, total: jax.Array, value: jax.Array) -> State:
    """``total = sum exp(. - largest)`` with one more value, using one exponential.

    If both exponents are minus infinity the total counts empty lanes: its logarithm plus minus infinity is still minus
    infinity, and the first finite value multiplies it by zero.
    """
    difference = value - largest
    factor = jnp.where(value == largest, scalar(1, value.dtype), jnp.exp(-jnp.abs(difference)))
    risen = difference > 0
    return jnp.where(risen, value, largest), jnp.where(risen, total * factor + 1, total + factor)


def across(reducer: Reducer, state: State, axis: int) -> State:
    """The combined state of all lanes along an axis, which is kept with extent 1. Not for products."""
    match reducer, state:
        case Reducer(is_linear=True), _:
            return tuple(jnp.sum(part, axis, dtype=part.dtype, keepdims=True) for part in state)
        case Reducer.ANY, (found,):
            return (jnp.max(found, axis, keepdims=True),)
        case Reducer.ALL, (found,):
            return (jnp.min(found, axis, keepdims=True),)
        case Reducer(is_extremum=True), (best,):
            return (extremum(reducer, best, axis),)
        case Reducer.LOGSUMEXP, (largest, total):
            top = jnp.max(largest, axis, keepdims=True)
            same = largest == top
            scaled = total * jnp.where(same, scalar(1, total.dtype), jnp.exp(largest - top))
            return top, jnp.sum(scaled, axis, keepdims=True)
        case Reducer(gives_position=True), (best, place, *ties):
            value = extremum(reducer, best, axis)
            same = best == value
            first = same
            if jnp.issubdtype(best.dtype, jnp.floating):
                first |= (best != best) & (value != value)
            found = jnp.min(jnp.where(first, place, _NOWHERE), axis, keepdims=True)
            # NaN equals nothing but NaN here.
            counts = (jnp.where(same | (place == found), count, scalar(0, np.int32)) for count in ties)
            return value, found, *(jnp.sum(count, axis, dtype=np.int32, keepdims=True) for count in counts)
        case _:
            raise AssertionError(reducer)


def extremum(reducer: Reducer, values: jax.Array, axis: int) -> jax.Array:
    """The minimum or maximum along an axis, which is kept; NaN if any value is."""
    find = jnp.max if reducer.order == "max" else jnp.min
    best = find(values, axis, keepdims=True)
    if not jnp.issubdtype(values.dtype, jnp.floating):
        return best
    missing = jnp.max((values != values).astype(jnp.int32), axis, keepdims=True)
    return jnp.where(missing > 0, scalar(float("nan"), values.dtype), best)


def joined(reducer: Reducer, state: State) -> State:
    """The partial states of several programs, along the first axis, combined. Runs in XLA, not in a kernel."""
    if reducer is Reducer.PRODUCT:
        return tuple(jnp.prod(part, 0, dtype=part.dtype) for part in state)
    return tuple(part[0] for part in across(reducer, state, 0))


def finish(reducer: Reducer, accumulate: str, state: State, points: int) -> jax.Array:
    """The value of a reduction over `points` points, in `running_type` or, for positions, int32."""
    match reducer, state:
        case Reducer.SUM, (total,) if accumulate == "bool":
            return total & 1
        case Reducer.MEAN, (total,):
            return total / scalar(float(points), total.dtype)
        case Reducer.MEAN, (total, count):
            # 0 / 0 gives the NaN of a mean over no points.
            return total / count
        case Reducer.LOGSUMEXP, (largest, total):
            return largest + jnp.log(total)
        case Reducer(gives_position=True), (_, place, *_):
            return jnp.where(place == _NOWHERE, np.int32(0), place)
        case _, (value,):
            return value
        case _:
            raise AssertionError(reducer)
