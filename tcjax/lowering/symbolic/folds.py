"""Reductions over boxes of any size, one point after the other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax import lax

from ... import ir
from ...ir import Reducer
from ...planning.scope import fill
from ...symbolic import IndexVar
from ..context import Context
from ..elementwise import lower_fill
from ..reductions import combine
from .sizes import Dim, as_int32, positive

# So few values of an index are written out.
UNROLLED: Final = 16

At = Mapping[IndexVar, jax.Array]
# The value at a point, and whether it takes part (None: it does).
Element = Callable[[At], tuple[jax.Array, jax.Array | None]]


def fold(
    reducer: Reducer | ir.Monoid,
    box: Sequence[tuple[IndexVar, Dim, Dim]],
    element: Element,
    running: str,
    shape: tuple[Dim, ...],
) -> jax.Array | None:
    """The reduction over a box, ``(index, first, extent)`` each; None for a reducer that needs all points at once."""
    start = jnp.broadcast_to(nothing(reducer, running), shape)
    match reducer:
        case Reducer.ARGMIN | Reducer.ARGMAX:
            return _position(box, element, reducer is Reducer.ARGMIN, shape)
        case Reducer.MEAN:
            zero = jnp.zeros_like(start)
            total, count = _walk(box, lambda carry, at: _counted(carry, element(at)), (zero, zero))
            return total / count
        case Reducer.MINK | Reducer.MAXK | Reducer.ARGMINK | Reducer.ARGMAXK:
            return None
        case ir.Monoid() if not reducer.continues:
            return None
    join = combine(reducer)

    def step(carry: jax.Array, at: At) -> jax.Array:
        value, live = element(at)
        joined = join(carry, value)
        return (joined if live is None else jnp.where(live, joined, carry)).astype(carry.dtype)

    return _walk(box, step, start)


def nothing(reducer: Reducer | ir.Monoid, dtype: str) -> jax.Array:
    """What the reduction of no points is."""
    number = reducer.identity[0] if isinstance(reducer, ir.Monoid) else reducer.empty(dtype)
    return lower_fill(fill(number, dtype), Context({}, {}))  # type: ignore[arg-type]


def _walk(box: Sequence[tuple[IndexVar, Dim, Dim]], step: Callable[[Any, At], Any], carry: Any) -> Any:
    """The carry after all points of the box, the last index fastest."""

    def walk(depth: int, carry: Any, at: At) -> Any:
        if depth == len(box):
            return step(carry, at)
        index, first, extent = box[depth]
        if isinstance(extent, int) and extent <= UNROLLED:
            for number in range(extent):
                carry = walk(depth + 1, carry, {**at, index: as_int32(first + number)})
            return carry
        begin = as_int32(first)
        trips = positive(extent)

        def trip(inner: Any, number: jax.Array) -> tuple[Any, None]:
            after = walk(depth + 1, inner, {**at, index: number + begin})
            if trips is not extent:
                after = jax.tree.map(lambda new, old: jnp.where(number < as_int32(extent), new, old), after, inner)
            return after, None

        # A scan rather than a loop: it has derivatives.
        return lax.scan(trip, carry, jnp.arange(trips, dtype="int32"))[0]

    return walk(0, carry, {})


def _counted(
    carry: tuple[jax.Array, jax.Array], found: tuple[jax.Array, jax.Array | None]
) -> tuple[jax.Array, jax.Array]:
    (total, count), (value, live) = carry, found
    if live is None:
        return total + value, count + 1
    return jnp.where(live, total + value, total), jnp.where(live, count + 1, count)


def _position(
    box: Sequence[tuple[IndexVar, Dim, Dim]], element: Element, least: bool, shape: tuple[Dim, ...]
) -> jax.Array:
    """The number of the first extremum among the points of the box; 0 where no point takes part."""
    kind = jax.eval_shape(lambda: element({index: jnp.int32(0) for index, _, _ in box})[0]).dtype

    def step(carry: tuple[jax.Array, ...], at: At) -> tuple[jax.Array, ...]:
        best, place, number = carry
        value, live = element(at)
        better = (value < best) if least else (value > best)
        # A NaN is both the smallest and the largest value.
        better = (better | ((value != value) & (best == best)) | (place < 0)) & (True if live is None else live)
        return jnp.where(better, value, best), jnp.where(better, number, place), number + 1

    start = jnp.zeros(shape, kind), jnp.full(shape, -1, "int32"), jnp.int32(0)
    return jnp.maximum(_walk(box, step, start)[1], 0)
