"""The JAX operations for each builtin reduction: one row each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax import lax

from .. import ir
from ..ir import Reducer
from ..planning.sharding import Axes
from . import collectives, monoids, registered, scatters
from .elementwise import OPERATORS

Join = Callable[[jax.Array, jax.Array], jax.Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The operations of one reduction; None if unused.

    `state` makes the loop's monoid: for a type, and a number of points if known. `scatter` combines values that go to
    the same elements. `join` combines two results elementwise, and `fold` reduces along some dimensions; `operator`
    does that in windows, and `running` for each prefix. `collective` combines the results of all devices.
    """

    state: Callable[[jnp.dtype, int | None], monoids.Monoid] | None = None
    scatter: Callable[..., jax.Array] | None = None
    join: Join | None = None
    fold: Callable[..., jax.Array] | None = None
    operator: Callable[[Any, Any], jax.Array] | None = None
    running: Callable[..., jax.Array] | None = None
    collective: Callable[[jax.Array, Axes], jax.Array] | None = None


def _sum_state(dtype: jnp.dtype, count: int | None) -> monoids.Monoid:
    return monoids.Operator(lax.bitwise_xor if dtype == jnp.bool_ else lax.add, 0)


def _product_state(dtype: jnp.dtype, count: int | None) -> monoids.Monoid:
    return monoids.Operator(lax.bitwise_and if dtype == jnp.bool_ else lax.mul, 1)


ROWS: Final[Mapping[Reducer, Row]] = {
    Reducer.SUM: Row(
        state=_sum_state,
        scatter=scatters.add,
        join=OPERATORS["+"],
        fold=lambda array, dimensions: jnp.sum(array, dimensions, dtype=array.dtype),
        operator=lax.add,
        running=lax.cumsum,
        collective=lax.psum,
    ),
    Reducer.PRODUCT: Row(
        state=_product_state,
        scatter=scatters.multiply,
        join=OPERATORS["*"],
        fold=lambda array, dimensions: jnp.prod(array, dimensions, dtype=array.dtype),
        operator=lax.mul,
        running=lax.cumprod,
    ),
    Reducer.MIN: Row(
        state=lambda dtype, count: monoids.Extremum(descending=False),
        scatter=partial(scatters.extremum, largest=False),
        join=jnp.minimum,
        fold=jnp.min,
        operator=lax.min,
        running=lax.cummin,
        collective=collectives.minimum,
    ),
    Reducer.MAX: Row(
        state=lambda dtype, count: monoids.Extremum(descending=True),
        scatter=partial(scatters.extremum, largest=True),
        join=jnp.maximum,
        fold=jnp.max,
        operator=lax.max,
        running=lax.cummax,
        collective=collectives.maximum,
    ),
    Reducer.ANY: Row(
        state=lambda dtype, count: monoids.Operator(lax.bitwise_or, False),
        scatter=partial(scatters.extremum, largest=True),
        join=jnp.logical_or,
        fold=jnp.any,
        collective=collectives.any_of,
    ),
    Reducer.ALL: Row(
        state=lambda dtype, count: monoids.Operator(lax.bitwise_and, True),
        scatter=partial(scatters.extremum, largest=False),
        join=jnp.logical_and,
        fold=jnp.all,
        collective=collectives.all_of,
    ),
    Reducer.MEAN: Row(
        state=lambda dtype, count: monoids.Mean(count),
        scatter=scatters.mean,
        join=OPERATORS["+"],
        collective=collectives.mean,
    ),
    Reducer.LOGSUMEXP: Row(
        state=lambda dtype, count: monoids.LogSumExp(),
        scatter=scatters.logsumexp,
        join=jnp.logaddexp,
        collective=collectives.logsumexp,
    ),
    Reducer.ARGMIN: Row(
        state=lambda dtype, count: monoids.Position(descending=False, guarded=count is None),
        scatter=partial(scatters.first, largest=False),
    ),
    Reducer.ARGMAX: Row(
        state=lambda dtype, count: monoids.Position(descending=True, guarded=count is None),
        scatter=partial(scatters.first, largest=True),
    ),
}


def make_monoid(reducer: Reducer, dtype: jnp.dtype, count: int | None) -> monoids.Monoid:
    """The monoid for a reduction of `count` values; None if only active ones count."""
    make = ROWS[reducer].state
    assert make is not None, reducer
    return make(dtype, count)


def combine(reducer: Reducer | ir.Monoid) -> Join:
    """The function that combines two partial results of a reduction."""
    if isinstance(reducer, ir.Monoid):
        return lambda a, b: registered.combine(reducer, (a,), (b,))[0]
    join = ROWS[reducer].join
    assert join is not None, reducer
    return join


def across_devices(part: jax.Array, reducer: Reducer | ir.Monoid, axes: Axes) -> jax.Array:
    """The combined parts of all devices along the axes; every device has the result."""
    collective = None if isinstance(reducer, ir.Monoid) else ROWS[reducer].collective
    return collectives.one_by_one(combine(reducer), part, axes) if collective is None else collective(part, axes)


def states_across_devices(parts: tuple[jax.Array, ...], reducer: Reducer | ir.Monoid, axes: Axes) -> jax.Array:
    """The result of the states of all devices, of which each has the components."""
    assert isinstance(reducer, ir.Monoid), "only a registered reduction has states of its own"
    return registered.finish(reducer, collectives.one_by_one(partial(registered.combine, reducer), parts, axes))


def scatter(
    reducer: Reducer | None, target: jax.Array, place: scatters.Place, value: jax.Array, weight: jax.Array | None
) -> jax.Array:
    """The target, with values combined with its elements at `place` and with each other; those outside are dropped.

    For a mean `value` is the sum and `weight` the number of points; for a position, `weight` is the extremum. Both
    replace the element. Without a weight, or without a reducer, positions are distinct.
    """
    # XLA writes a single position in place, but copies a target that it sees only through a reshape.
    one = all(column.ndim == 0 for column in place)
    flat, places = (target, place) if one else scatters.numbered(target, place)
    if reducer is None or (weight is None and not reducer.continues):
        met = flat.at[places].set(value, **scatters.DROPPED)
    else:
        function = ROWS[reducer].scatter
        assert function is not None, reducer
        met = function(flat, places, value, *(() if weight is None else (weight,)))
    return lax.reshape(met, target.shape)
