"""Combines values that go to the same element of a target: JAX's scatters, with derivatives where it has none."""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax import lax

from ..ir import Reducer

Place = tuple[jax.Array, ...]
# A negative position does not count from the end.
DROPPED: Final[dict[str, Any]] = {"mode": "drop", "wrap_negative_indices": False}
CLIPPED: Final[dict[str, Any]] = {"mode": "clip", "wrap_negative_indices": False}


def numbered(target: jax.Array, place: Place) -> tuple[jax.Array, Place]:
    """The target with its first dimensions merged, and each position as a single number, too large if it is outside.

    Otherwise XLA would join the columns of positions in a separate array.
    """
    extents = target.shape[: len(place)]
    size = prod(extents)
    if len(place) == 1 or not isinstance(size, int) or size > jnp.iinfo(jnp.int32).max:
        return target, place
    number, inside = jnp.int32(0), jnp.bool_(True)
    for extent, column in zip(extents, place, strict=True):
        number = number * extent + column
        inside &= (column >= 0) & (column < extent)
    return lax.reshape(target, (size, *target.shape[len(place) :])), (jnp.where(inside, number, size),)


def add(target: jax.Array, place: Place, value: jax.Array) -> jax.Array:
    """Sums; for bools, modulo 2."""
    if target.dtype == jnp.bool_:
        counted = target.astype(jnp.int32).at[place].add(value.astype(jnp.int32), **DROPPED)
        return (counted & 1).astype(jnp.bool_)
    return target.at[place].add(value, **DROPPED)


def multiply(target: jax.Array, place: Place, value: jax.Array) -> jax.Array:
    if target.dtype == jnp.bool_:
        return extremum(target, place, value, largest=False)
    return target.at[place].multiply(value, **DROPPED)


def extremum(target: jax.Array, place: Place, value: jax.Array, *, largest: bool) -> jax.Array:
    if target.dtype == jnp.bool_:
        return extremum(target.astype(jnp.int32), place, value.astype(jnp.int32), largest=largest).astype(jnp.bool_)
    if jnp.issubdtype(target.dtype, jnp.floating):
        return _extremum(largest, target, place, value)
    return _best(target, place, largest)(value, **DROPPED)


def _best(target: jax.Array, place: Place, largest: bool) -> Callable[..., jax.Array]:
    return target.at[place].max if largest else target.at[place].min


def mean(target: jax.Array, place: Place, total: jax.Array, count: jax.Array) -> jax.Array:
    """The sums of all values divided by the number of points."""
    nothing = jnp.zeros(target.shape, total.dtype)
    totals = nothing.at[place].add(total, **DROPPED)
    counts = nothing.at[place].add(count.astype(total.dtype), **DROPPED)
    return jnp.where(counts > 0, totals / jnp.maximum(counts, 1), target)


def first(target: jax.Array, place: Place, position: jax.Array, best: jax.Array, *, largest: bool) -> jax.Array:
    """The position of the extremum of all values of an element, the first one on ties."""
    best = best.astype(jnp.int32) if best.dtype == jnp.bool_ else best
    order = lax.iota(jnp.int32, best.size).reshape(best.shape)
    # The extremes themselves are allowed, so the initial value is one of the values.
    start = jnp.zeros(target.shape, best.dtype).at[place].set(best, **DROPPED)
    extreme = _best(start, place, largest)(best, **DROPPED).at[place].get(**CLIPPED)
    wins = (best == extreme) | (best != best)
    last = jnp.full(target.shape, best.size, jnp.int32)
    earliest = last.at[place].min(jnp.where(wins, order, best.size), **DROPPED).at[place].get(**CLIPPED)
    chosen = jnp.where(wins & (order == earliest), place[0], target.shape[0])
    return target.at[(chosen, *place[1:])].set(position.astype(target.dtype), **DROPPED)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _extremum(largest: bool, target: jax.Array, place: Place, value: jax.Array) -> jax.Array:
    return _best(target, place, largest)(value, **DROPPED)


@_extremum.defjvp
def _(largest: bool, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
    """Equal extrema share the derivative, as in `jnp.max`."""
    target, place, value = primals
    answer = _extremum(largest, target, place, value)
    stays = target == answer
    wins = value == answer.at[place].get(**CLIPPED)
    ways = stays.astype(answer.dtype).at[place].add(wins.astype(answer.dtype), **DROPPED)
    moved = jnp.where(stays, tangents[0], 0).at[place].add(jnp.where(wins, tangents[2], 0), **DROPPED)
    return answer, moved / jnp.maximum(ways, 1)


def scatter_sorted(reducer: Reducer, target: jax.Array, place: Place, value: jax.Array) -> jax.Array:
    """The target with the sum or product of the values at each position, by a segmented scan over sorted positions.

    Thus a product has a derivative without divisions by its factors.
    """
    if value.size == 0 or target.size == 0:
        return target
    combine = jnp.add if reducer is Reducer.SUM else jnp.multiply
    flat, (element,) = numbered(target, place)
    order = jnp.argsort(element.ravel(), stable=True)
    element, values = element.ravel()[order], value.ravel()[order]
    changes = element[1:] != element[:-1]
    edge = jnp.ones((1,), jnp.bool_)

    def together(a: tuple[jax.Array, jax.Array], b: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return jnp.where(b[1], b[0], combine(a[0], b[0])), a[1] | b[1]

    found, _ = lax.associative_scan(together, (values, jnp.concatenate([edge, changes])))
    ends = jnp.where(jnp.concatenate([changes, edge]), element, target.size)
    neutral = jnp.full((target.size,), reducer.nothing, target.dtype)
    return lax.reshape(combine(flat, neutral.at[ends].set(found, **DROPPED)), target.shape)


def logsumexp(target: jax.Array, place: Place, value: jax.Array) -> jax.Array:
    """The logarithms of sums of exponentials, relative to the largest exponent in each element."""
    largest = lax.stop_gradient(target).at[place].max(lax.stop_gradient(value), **DROPPED)
    shift = jnp.where(jnp.isfinite(largest), largest, 0)
    terms = jnp.exp(value - shift.at[place].get(**CLIPPED))
    total = jnp.exp(target - shift).at[place].add(terms, **DROPPED)
    # The derivative must not reach the logarithm of zero.
    nothing = total == 0
    return jnp.where(nothing, -jnp.inf, jnp.log(jnp.where(nothing, 1, total)) + shift)
